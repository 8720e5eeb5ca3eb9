//! Writes tables to a zip.

use std::{
    fmt,
    io::{self, Seek, Write},
};

use zip::{CompressionMethod, DateTime, ZipWriter, write::SimpleFileOptions};

use super::{TableWriter, append_csv_row};
use crate::{Error, ErrorKind};

/// Number of bytes of rows that are buffered before compression.
const CHUNK_BYTES: usize = 64 << 10;

/// A writer of a dataset as a zip. Equal rows give equal bytes, because entries have no timestamp.
///
/// Memory: one chunk of rows and the compressor, in addition to the underlying writer.
pub struct ZipTableWriter<W: Write + Seek> {
    zip: ZipWriter<W>,
    rows: Vec<u8>,
}

impl<W: Write + Seek> fmt::Debug for ZipTableWriter<W> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ZipTables").finish_non_exhaustive()
    }
}

impl<W: Write + Seek> ZipTableWriter<W> {
    /// Creates an archive without tables.
    pub fn new(writer: W) -> ZipTableWriter<W> {
        ZipTableWriter { zip: ZipWriter::new(writer), rows: Vec::new() }
    }

    /// Flushes the rows and writes the directory, which ends the archive.
    ///
    /// # Errors
    ///
    /// Returns an error if writing fails.
    pub fn finish_archive(mut self) -> Result<W, Error> {
        self.flush_rows()?;
        self.zip.finish().map_err(|error| error_from_write(error.into()))
    }

    fn flush_rows(&mut self) -> Result<(), Error> {
        self.zip.write_all(&self.rows).map_err(error_from_write)?;
        self.rows.clear();
        Ok(())
    }
}

impl<W: Write + Seek> TableWriter for ZipTableWriter<W> {
    fn begin_table(&mut self, table: &'static str, columns: &[&str]) -> Result<(), Error> {
        self.flush_rows()?;
        let options = SimpleFileOptions::default()
            .compression_method(CompressionMethod::Deflated)
            .last_modified_time(DateTime::default());
        self.zip.start_file(table, options).map_err(|error| error_from_write(error.into()))?;
        self.write_row(columns)
    }

    fn write_row(&mut self, cells: &[&str]) -> Result<(), Error> {
        append_csv_row(&mut self.rows, cells);
        if self.rows.len() < CHUNK_BYTES { Ok(()) } else { self.flush_rows() }
    }

    /// Writes the completed row, because readers of a zip may refuse incomplete rows.
    fn write_row_with_placeholders(&mut self, _: &[&str], completed: &[&str]) -> Result<(), Error> {
        self.write_row(completed)
    }
}

fn error_from_write(error: io::Error) -> Error {
    Error::new(ErrorKind::Io, format!("the zip archive cannot be written: {error}"))
}
