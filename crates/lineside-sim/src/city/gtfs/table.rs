//! CSV tables in a zip, written as a stream.

use std::fmt::{Display, Write as _};
use std::io::{self, BufWriter, Seek, Write};

use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, DateTime, ZipWriter};

/// The bytes that are buffered before compression.
const BUFFER: usize = 256 * 1024;

/// The compression level: half the time of the default level, for a few percent more bytes.
const COMPRESSION: i64 = 3;

pub(super) struct GtfsArchive<W: Write + Seek> {
    zip: ZipWriter<W>,
}

impl<W: Write + Seek> GtfsArchive<W> {
    pub(super) fn new(writer: W) -> Self {
        Self { zip: ZipWriter::new(writer) }
    }

    /// Begins a file; `header` lists its columns.
    pub(super) fn begin_table(&mut self, name: &str, header: &str) -> io::Result<CsvTable<'_, W>> {
        // Files have the zip format's earliest date, so that the same city gives the same bytes.
        let options = SimpleFileOptions::default()
            .compression_method(CompressionMethod::Deflated)
            .compression_level(Some(COMPRESSION))
            .last_modified_time(DateTime::default())
            .large_file(false);
        self.zip.start_file(name, options).map_err(io::Error::other)?;
        let mut out = BufWriter::with_capacity(BUFFER, &mut self.zip);
        out.write_all(header.as_bytes())?;
        out.write_all(b"\n")?;
        Ok(CsvTable { out, row: String::new(), columns: header.split(',').count(), filled: 0 })
    }

    pub(super) fn finish_archive(self) -> io::Result<W> {
        self.zip.finish().map_err(io::Error::other)
    }
}

pub(super) struct CsvTable<'a, W: Write + Seek> {
    out: BufWriter<&'a mut ZipWriter<W>>,
    row: String,
    columns: usize,
    filled: usize,
}

impl<W: Write + Seek> CsvTable<'_, W> {
    fn begin_cell(&mut self) {
        if self.filled > 0 {
            self.row.push(',');
        }
        self.filled += 1;
    }

    /// Writes a text cell, quoted if necessary.
    pub(super) fn write_text_cell(&mut self, text: &str) -> &mut Self {
        self.begin_cell();
        push_csv_cell(&mut self.row, text);
        self
    }

    /// Writes a cell that never needs quotes, such as a number.
    pub(super) fn write_unquoted_cell(&mut self, value: impl Display) -> &mut Self {
        self.begin_cell();
        // Writing to a String cannot fail.
        let _ = write!(self.row, "{value}");
        self
    }

    /// Writes several cells that are already separated.
    pub(super) fn write_raw_cells(&mut self, cells: &str) -> &mut Self {
        self.begin_cell();
        self.filled += cells.matches(',').count();
        self.row.push_str(cells);
        self
    }

    pub(super) fn end_row(&mut self) -> io::Result<()> {
        debug_assert_eq!(
            self.filled, self.columns,
            "the row has as many cells as the table has columns: {}",
            self.row
        );
        self.row.push('\n');
        self.out.write_all(self.row.as_bytes())?;
        self.row.clear();
        self.filled = 0;
        Ok(())
    }

    pub(super) fn flush_table(mut self) -> io::Result<()> {
        self.out.flush()
    }
}

/// Appends a cell by RFC 4180: quotes around a comma, a quote or a line break; inner quotes are
/// doubled.
fn push_csv_cell(row: &mut String, text: &str) {
    if !text.contains([',', '"', '\n', '\r']) {
        row.push_str(text);
        return;
    }
    row.push('"');
    row.push_str(&text.replace('"', "\"\""));
    row.push('"');
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_are_quoted_only_where_necessary() {
        let cases = [
            ("Mill Lane", "Mill Lane"),
            ("Old Town, Mill Lane", "\"Old Town, Mill Lane\""),
            ("the \"Lido\"", "\"the \"\"Lido\"\"\""),
        ];
        for (text, expected) in cases {
            let mut row = String::new();
            push_csv_cell(&mut row, text);
            assert_eq!(row, expected);
        }
    }
}
