//! Rows to tables: to a zip that any reader of GTFS takes, or to tables in memory.
//!
//! A conversion writes rows and does not know which of the two it is: [`TableWriter`].

mod memory;
mod stop_times;
mod zip;

use std::borrow::Cow;

use crate::Error;

pub(crate) use self::stop_times::format_clock;
pub use self::{
    memory::MemoryTables,
    stop_times::{BoardingType, StopTimeRow},
    zip::ZipTables,
};

/// Where rows go: one table after the other, each begun once.
pub trait TableWriter {
    /// Begins a table of the reference, such as `stops.txt`, and writes its header.
    ///
    /// # Errors
    ///
    /// If it cannot be written.
    fn begin_table(&mut self, table: &'static str, columns: &[&str]) -> Result<(), Error>;

    /// Writes a row of the table that was begun last, in the order of its columns. What GTFS does not allow in a value
    /// is made sound: white space around it is left out, line breaks and other control characters become spaces.
    ///
    /// # Errors
    ///
    /// If it cannot be written.
    fn write_row(&mut self, cells: &[&str]) -> Result<(), Error>;

    /// Writes a row that lacks a value that GTFS requires. `completed` is the row with a documented stand-in, for files
    /// that other software has to load; tables that are not such a file take `cells`.
    ///
    /// # Errors
    ///
    /// If it cannot be written.
    fn write_incomplete_row(&mut self, cells: &[&str], completed: &[&str]) -> Result<(), Error> {
        let _ = completed;
        self.write_row(cells)
    }

    /// Whether rows are still wanted: asked where much is worked out before the next one.
    ///
    /// # Errors
    ///
    /// If they are not.
    fn check_cancelled(&mut self) -> Result<(), Error> {
        Ok(())
    }

    /// Writes a row of `stop_times.txt`, which was begun last, with [`StopTimeRow::COLUMNS`].
    ///
    /// # Errors
    ///
    /// If it cannot be written.
    fn write_stop_time(&mut self, row: &StopTimeRow<'_>) -> Result<(), Error> {
        row.write_cells_with(|cells| self.write_row(cells))
    }
}

/// Both get every row.
impl<A: TableWriter, B: TableWriter> TableWriter for (A, B) {
    fn begin_table(&mut self, table: &'static str, columns: &[&str]) -> Result<(), Error> {
        self.0.begin_table(table, columns)?;
        self.1.begin_table(table, columns)
    }

    fn write_row(&mut self, cells: &[&str]) -> Result<(), Error> {
        self.0.write_row(cells)?;
        self.1.write_row(cells)
    }

    fn write_incomplete_row(&mut self, cells: &[&str], completed: &[&str]) -> Result<(), Error> {
        self.0.write_incomplete_row(cells, completed)?;
        self.1.write_incomplete_row(cells, completed)
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

/// A value as it is read out of a row that was written.
pub(crate) fn normalize_cell(cell: &str) -> Cow<'_, str> {
    let cell = cell.trim();
    if !cell.bytes().any(|byte| byte.is_ascii_control()) {
        return Cow::Borrowed(cell);
    }
    let spaced = cell.replace(|letter: char| letter.is_ascii_control(), " ");
    Cow::Owned(spaced.trim_ascii().to_owned())
}

/// Appends a row, with its line break.
fn append_row(line: &mut Vec<u8>, cells: &[&str]) {
    for (at, cell) in cells.iter().enumerate() {
        if at > 0 {
            line.push(b',');
        }
        append_cell(line, cell.trim());
    }
    line.push(b'\n');
}

fn append_cell(line: &mut Vec<u8>, cell: &str) {
    // A lone empty cell would be an empty line, which readers pass over; no table has one column that may be empty.
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
    use super::append_row;

    fn check(cells: &[&str], expected: &str) {
        let mut line = Vec::new();
        append_row(&mut line, cells);
        assert_eq!(String::from_utf8(line).unwrap(), expected);
    }

    #[test]
    fn cells_are_quoted_where_they_must_be() {
        check(&["a", "", "c"], "a,,c\n");
        check(&["Oslo, S", "the \"old\" pier"], "\"Oslo, S\",\"the \"\"old\"\" pier\"\n");
        check(&[" a\t", "two\nlines\r"], "a,\"two lines\"\n");
        check(&["Ålesund"], "Ålesund\n");
    }
}
