//! Writes rows to tables: to a zip for any reader of GTFS, or to memory.
//!
//! A conversion writes to a [`TableWriter`] and does not depend on the kind of output.

mod memory;
mod stop_times;
mod zip;

use std::borrow::Cow;

use crate::Error;

pub(crate) use self::stop_times::format_gtfs_time;
pub use self::{
    memory::InMemoryTables,
    stop_times::{BoardingType, StopTimeRow},
    zip::ZipTableWriter,
};

/// An output for rows: one table after the other, each begun once.
pub trait TableWriter {
    /// Begins a table of the reference, such as `stops.txt`, and writes its header.
    ///
    /// # Errors
    ///
    /// Returns an error if writing fails.
    fn begin_table(&mut self, table: &'static str, columns: &[&str]) -> Result<(), Error>;

    /// Writes a row of the current table, in the order of its columns. Values are adapted to GTFS: surrounding white
    /// space is removed; line breaks and other control characters become spaces.
    ///
    /// # Errors
    ///
    /// Returns an error if writing fails.
    fn write_row(&mut self, cells: &[&str]) -> Result<(), Error>;

    /// Writes a row that lacks a value that GTFS requires. `completed` is the row with a documented placeholder, for
    /// files that other software loads; other outputs use `cells`.
    ///
    /// # Errors
    ///
    /// Returns an error if writing fails.
    fn write_row_with_placeholders(
        &mut self,
        cells: &[&str],
        completed: &[&str],
    ) -> Result<(), Error> {
        let _ = completed;
        self.write_row(cells)
    }

    /// Checks for cancellation; called before expensive steps between rows.
    ///
    /// # Errors
    ///
    /// Returns an error if the conversion was cancelled.
    fn check_cancelled(&mut self) -> Result<(), Error> {
        Ok(())
    }

    /// Writes a row of `stop_times.txt`, the current table, with the columns [`StopTimeRow::COLUMNS`].
    ///
    /// # Errors
    ///
    /// Returns an error if writing fails.
    fn write_stop_time(&mut self, row: &StopTimeRow<'_>) -> Result<(), Error> {
        row.pass_row_cells_to(|cells| self.write_row(cells))
    }
}

/// Writes each row to both outputs.
impl<A: TableWriter, B: TableWriter> TableWriter for (A, B) {
    fn begin_table(&mut self, table: &'static str, columns: &[&str]) -> Result<(), Error> {
        self.0.begin_table(table, columns)?;
        self.1.begin_table(table, columns)
    }

    fn write_row(&mut self, cells: &[&str]) -> Result<(), Error> {
        self.0.write_row(cells)?;
        self.1.write_row(cells)
    }

    fn write_row_with_placeholders(
        &mut self,
        cells: &[&str],
        completed: &[&str],
    ) -> Result<(), Error> {
        self.0.write_row_with_placeholders(cells, completed)?;
        self.1.write_row_with_placeholders(cells, completed)
    }

    fn check_cancelled(&mut self) -> Result<(), Error> {
        self.0.check_cancelled()?;
        self.1.check_cancelled()
    }

    fn write_stop_time(&mut self, row: &StopTimeRow<'_>) -> Result<(), Error> {
        self.0.write_stop_time(row)?;
        self.1.write_stop_time(row)
    }
}

/// Returns a value as a reader of the written row sees it.
pub(crate) fn normalize_cell_whitespace(cell: &str) -> Cow<'_, str> {
    let cell = cell.trim();
    if !cell.bytes().any(|byte| byte.is_ascii_control()) {
        return Cow::Borrowed(cell);
    }
    let spaced = cell.replace(|letter: char| letter.is_ascii_control(), " ");
    Cow::Owned(spaced.trim_ascii().to_owned())
}

/// Appends a row with its line break.
fn append_csv_row(line: &mut Vec<u8>, cells: &[&str]) {
    for (at, cell) in cells.iter().enumerate() {
        if at > 0 {
            line.push(b',');
        }
        append_csv_cell(line, cell.trim());
    }
    line.push(b'\n');
}

fn append_csv_cell(line: &mut Vec<u8>, cell: &str) {
    // A lone empty cell would be an empty line, which readers skip; no table has a single column that may be empty.
    if !cell.bytes().any(|byte| matches!(byte, b',' | b'"') || byte.is_ascii_control()) {
        line.extend_from_slice(cell.as_bytes());
        return;
    }
    line.push(b'"');
    for byte in cell.bytes() {
        match byte {
            b'"' => line.extend_from_slice(b"\"\""),
            byte if byte.is_ascii_control() => line.push(b' '),
            byte => line.push(byte),
        }
    }
    line.push(b'"');
}

#[cfg(test)]
mod tests {
    use super::append_csv_row;

    fn check(cells: &[&str], expected: &str) {
        let mut line = Vec::new();
        append_csv_row(&mut line, cells);
        assert_eq!(String::from_utf8(line).unwrap(), expected);
    }

    #[test]
    fn cells_are_quoted_only_where_necessary() {
        check(&["a", "", "c"], "a,,c\n");
        check(&["Oslo, S", "the \"old\" pier"], "\"Oslo, S\",\"the \"\"old\"\" pier\"\n");
        check(&[" a\t", "two\nlines\r"], "a,\"two lines\"\n");
        check(&["Ålesund"], "Ålesund\n");
    }
}
