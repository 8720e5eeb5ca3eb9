//! Streams the rows of one table: each row is counted, and its cells are checked against the field tables.

mod plain;
mod split;

use std::io::Read;

pub use self::split::{CsvRecord, CsvSplitter, RecordSearchResult, RecordText};
use super::{
    DatasetLimits,
    fields::{FieldKind, FieldPresence, FieldSpec, FileSpec},
    values::{self, CellFault},
};
use crate::{Error, ErrorKind, Problem, Problems, body_prefix::looks_like_html};

/// Number of leading bytes that are examined to recognize text.
const PREFIX_BYTES: usize = 1_024;

/// A reader of one table.
pub struct TableReader<R> {
    splitter: CsvSplitter<R>,
    spec: &'static FileSpec,
    /// The field of the reference at each position of the header, if any.
    header: Vec<Option<&'static FieldSpec>>,
    required: Vec<(usize, &'static FieldSpec)>,
    checked: Vec<(usize, &'static FieldSpec)>,
    /// A hint about a fault of the header as a whole.
    hint: &'static str,
    count: u64,
    rows_max: u64,
}

impl<R> std::fmt::Debug for TableReader<R> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("TableReader")
            .field("file", &self.spec.name)
            .field("count", &self.count)
            .finish_non_exhaustive()
    }
}

/// The position of a reference field in the rows of a table.
#[derive(Clone, Copy, Debug)]
pub struct TableColumn {
    name: &'static str,
    /// The position, or [`ABSENT`] if the table lacks the column.
    position: usize,
    /// True if the caller claimed the column and its cells are required.
    required: bool,
    /// A hint about a fault of the header as a whole, for the problem that this column is missing.
    hint: &'static str,
}

/// The position of a missing column: beyond the fields of any row.
const ABSENT: usize = usize::MAX;

impl TableColumn {
    /// Returns true if the table has this column.
    pub fn is_present(self) -> bool {
        self.position != ABSENT
    }

    /// Returns a hint to append to the problem that the table lacks this column; usually empty.
    pub(crate) fn missing_column_hint(self) -> &'static str {
        self.hint
    }
}

impl<R: Read> TableReader<R> {
    /// Reads the header of a table. If the file is empty, reports a problem and returns `None`.
    ///
    /// # Errors
    ///
    /// Returns an error if the file cannot be read, is a web page, or is text in UTF-16.
    pub fn new(
        reader: R,
        spec: &'static FileSpec,
        limits: &DatasetLimits,
        problems: &mut Problems,
    ) -> Result<Option<TableReader<R>>, Error> {
        let mut splitter = CsvSplitter::new(reader, limits.line_bytes);
        let start = splitter
            .peek_bytes(PREFIX_BYTES)
            .map_err(|error| Error::from_io(error).with_file(spec.name))?;
        reject_non_text_table(start).map_err(|error| error.with_file(spec.name))?;
        let has_mark = start.starts_with(b"\xEF\xBB\xBF");
        splitter.skip_bytes(if has_mark { 3 } else { 0 });
        let mut rows = TableReader {
            splitter,
            spec,
            header: Vec::new(),
            required: Vec::new(),
            checked: Vec::new(),
            hint: "",
            count: 0,
            rows_max: limits.rows,
        };
        match rows
            .splitter
            .find_next_record()
            .map_err(|error| Error::from_io(error).with_file(spec.name))?
        {
            RecordSearchResult::Record => {
                let (line, record) = (rows.splitter.record_line(), rows.splitter.current_record());
                rows.hint = separator_hint(&record);
                rows.header = parse_header(spec, line, &record, problems);
                rows.choose_cells_to_check(problems);
                Ok(Some(rows))
            }
            RecordSearchResult::TooLong(_) => {
                Err(Error::new(ErrorKind::BadHeader, "the header is longer than the limit")
                    .with_file(spec.name))
            }
            RecordSearchResult::End => {
                problems.push(Problem::new(spec.name, "empty_file", "is empty and has no header"));
                Ok(None)
            }
        }
    }

    /// Determines which cells of a row are checked.
    fn choose_cells_to_check(&mut self, problems: &mut Problems) {
        for field in self.spec.fields {
            let position = self
                .header
                .iter()
                .position(|other| other.is_some_and(|other| other.name == field.name));
            let required = field.presence == FieldPresence::Required;
            match position {
                Some(position) => {
                    if required {
                        self.required.push((position, field));
                    }
                    if !matches!(field.kind, FieldKind::Id | FieldKind::Ref(_) | FieldKind::Text) {
                        self.checked.push((position, field));
                    }
                }
                None if required => {
                    let detail = format!("is missing from the header{}", self.hint);
                    let problem = Problem::new(self.spec.name, "missing_required_column", detail);
                    problems.push(problem.with_line(1).with_field(field.name));
                }
                None => {}
            }
        }
    }

    /// Returns the column of a field.
    pub fn find_column(&self, name: &'static str) -> TableColumn {
        let is_it =
            |field: &Option<&'static FieldSpec>| field.is_some_and(|field| field.name == name);
        let position = self.header.iter().position(is_it).unwrap_or(ABSENT);
        TableColumn { name, position, required: false, hint: self.hint }
    }

    /// Returns the column of a field and stops checking it here: the caller [parses](TableRow::parse_cell) its cells
    /// and reports their faults.
    pub(crate) fn find_column_checked_by_caller(&mut self, name: &'static str) -> TableColumn {
        self.checked.retain(|(_, field)| field.name != name);
        let n_required = self.required.len();
        self.required.retain(|(_, field)| field.name != name);
        TableColumn { required: self.required.len() < n_required, ..self.find_column(name) }
    }

    /// Returns the number of rows so far, including rows that were skipped because of their length.
    pub fn row_count(&self) -> u64 {
        self.count
    }

    /// Checks and returns the next row; `None` at the end of the file.
    ///
    /// # Errors
    ///
    /// Returns an error if reading fails.
    #[inline]
    pub fn next_row(&mut self, problems: &mut Problems) -> Result<Option<TableRow<'_>>, Error> {
        Ok(if self.advance_to_next_row(problems)? { Some(self.current_row()) } else { None })
    }

    #[inline]
    fn current_row(&self) -> TableRow<'_> {
        TableRow {
            record: self.splitter.current_record(),
            line: self.splitter.record_line(),
            file: self.spec.name,
        }
    }

    /// Finds and checks the next row; returns false at the end of the file.
    fn advance_to_next_row(&mut self, problems: &mut Problems) -> Result<bool, Error> {
        let name = self.spec.name;
        loop {
            match self
                .splitter
                .find_next_record()
                .map_err(|error| Error::from_io(error).with_file(name))?
            {
                RecordSearchResult::Record => {
                    let is_long =
                        self.splitter.current_record().byte_len() > DatasetLimits::ID_BYTES;
                    if !is_long || self.report_long_cells(problems) {
                        break;
                    }
                    self.count += 1;
                }
                RecordSearchResult::TooLong(line) => {
                    self.count += 1;
                    let too_long = || {
                        Problem::new(
                            name,
                            "row_too_long",
                            "is longer than the limit and is skipped",
                        )
                    };
                    problems.push_lazily(name, "row_too_long", || too_long().with_line(line));
                }
                RecordSearchResult::End => return Ok(false),
            }
        }
        if self.count >= self.rows_max {
            problems.push(Problem::new(
                name,
                "too_many_rows",
                "has more rows than the limit; the rest is ignored",
            ));
            return Ok(false);
        }
        self.count += 1;
        let is_odd = self.splitter.current_record().len() != self.header.len()
            || self.splitter.is_latin1()
            || self.splitter.has_nul_byte();
        if is_odd {
            self.report_whole_row_faults(problems);
        }
        if !self.required.is_empty() || !self.checked.is_empty() {
            self.report_invalid_cells(problems);
        }
        Ok(true)
    }

    /// Reports the cells of a row that are too long. Returns false if one of them is an id: without it the row is
    /// useless, and a cut id is a different one.
    #[cold]
    fn report_long_cells(&self, problems: &mut Problems) -> bool {
        let row = self.current_row();
        let mut are_short = true;
        for (position, field) in self.header.iter().enumerate() {
            let Some(field) = field else { continue };
            let length = row.record.field_bytes(position).trim_ascii().len();
            let is_id = matches!(field.kind, FieldKind::Id | FieldKind::Ref(_));
            if is_id && length > DatasetLimits::ID_BYTES {
                row.report_field_fault(
                    field.name,
                    row.cell_bytes_at(position),
                    ID_TOO_LONG,
                    problems,
                );
                are_short = false;
            } else if length > DatasetLimits::CELL_BYTES {
                row.report_field_fault(
                    field.name,
                    row.cell_bytes_at(position),
                    TEXT_TOO_LONG,
                    problems,
                );
            }
        }
        are_short
    }

    fn report_invalid_cells(&self, problems: &mut Problems) {
        let row = self.current_row();
        for &(position, field) in &self.required {
            if row.cell_bytes_at(position).is_empty() {
                row.report_field_fault(field.name, b"", MISSING, problems);
            }
        }
        for &(position, field) in &self.checked {
            let cell = row.cell_bytes_at(position);
            if !cell.is_empty()
                && let Err(fault) = values::check_cell_by_kind(field.kind, cell)
            {
                row.report_field_fault(field.name, cell, fault, problems);
            }
        }
    }

    #[cold]
    fn report_whole_row_faults(&self, problems: &mut Problems) {
        let (row, name) = (self.current_row(), self.spec.name);
        let (n_fields, n_columns) = (row.record.len(), self.header.len());
        if n_fields != n_columns {
            problems.push_lazily(name, "invalid_row_length", || {
                let detail = format!("has {n_fields} cells, but the header has {n_columns}");
                Problem::new(name, "invalid_row_length", detail).with_line(row.line_number())
            });
        }
        let mut complain = |detail, is_odd: fn(&str) -> bool| {
            problems.push_lazily(name, "invalid_character", || {
                let cell = (0..n_fields)
                    .map(|at| utf8_or_empty(row.cell_bytes_at(at)))
                    .find(|cell| is_odd(cell));
                let problem =
                    Problem::new(name, "invalid_character", detail).with_line(row.line_number());
                problem.with_value(cell.unwrap_or_default())
            });
        };
        if self.splitter.is_latin1() {
            complain("is not UTF-8 and is read as Latin-1", |cell| !cell.is_ascii());
        }
        if self.splitter.has_nul_byte() {
            complain("contains a NUL byte", |cell| cell.contains('\0'));
        }
    }
}

pub(crate) const MISSING: CellFault =
    CellFault { code: "missing_required_field", detail: "is required but empty" };

const ID_TOO_LONG: CellFault =
    CellFault { code: "id_too_long", detail: "is longer than 1 KiB; the row is skipped" };
const TEXT_TOO_LONG: CellFault =
    CellFault { code: "text_too_long", detail: "is longer than 64 KiB and is truncated" };

#[cold]
pub(crate) fn report_cell_fault(
    (file, line, field): (&str, u64, &str),
    value: &[u8],
    fault: CellFault,
    problems: &mut Problems,
) {
    problems.push_lazily(file, fault.code, || {
        let problem =
            Problem::new(file, fault.code, fault.detail).with_line(line).with_field(field);
        if value.is_empty() { problem } else { problem.with_value(utf8_or_empty(value)) }
    });
}

fn reject_non_text_table(start: &[u8]) -> Result<(), Error> {
    let prefix = &start[..start.len().min(PREFIX_BYTES)];
    let wide = prefix.starts_with(b"\xFF\xFE") || prefix.starts_with(b"\xFE\xFF");
    let n_nuls = memchr::memchr_iter(0, prefix).count();
    // Latin text in UTF-16 is half NULs; a single NUL is a mistake.
    if wide || n_nuls > prefix.len() / 8 {
        return Err(Error::new(ErrorKind::Encoding, "is UTF-16 or binary, not UTF-8"));
    }
    if looks_like_html(start) {
        return Err(Error::new(ErrorKind::Html, "is a web page, not a table"));
    }
    Ok(())
}

/// Returns a hint for a header of one column whose names are not separated by commas.
fn separator_hint(record: &CsvRecord<'_>) -> &'static str {
    let only = record.field_bytes(0);
    if record.len() == 1 && (only.contains(&b';') || only.contains(&b'\t')) {
        "; columns must be separated by commas"
    } else {
        ""
    }
}

fn parse_header(
    spec: &'static FileSpec,
    line: u64,
    record: &CsvRecord<'_>,
    problems: &mut Problems,
) -> Vec<Option<&'static FieldSpec>> {
    let mut header: Vec<Option<&'static FieldSpec>> = Vec::new();
    for position in 0..record.len() {
        let name = utf8_or_empty(record.field_bytes(position)).trim();
        let complaint =
            |code, detail| Problem::new(spec.name, code, detail).with_line(line).with_field(name);
        let field = spec.fields.iter().find(|field| field.name.eq_ignore_ascii_case(name));
        if name.is_empty() {
            problems.push(complaint("empty_column_name", "the header has a column without a name"));
        }
        let is_duplicate = field
            .is_some_and(|field| header.iter().flatten().any(|other| other.name == field.name));
        if is_duplicate {
            problems.push(complaint(
                "duplicated_column",
                "the header has this column twice; the first is used",
            ));
        }
        header.push(field.filter(|_| !is_duplicate));
    }
    header
}

/// Cuts a cell to [`DatasetLimits::CELL_BYTES`].
#[cold]
fn truncate_cell(cell: &[u8]) -> &[u8] {
    let text = utf8_or_empty(cell.trim_ascii());
    &text.as_bytes()[..text.floor_char_boundary(DatasetLimits::CELL_BYTES)]
}

/// Returns the text of a cell. All cells are UTF-8 or were converted to it.
fn utf8_or_empty(cell: &[u8]) -> &str {
    std::str::from_utf8(cell).unwrap_or_default()
}

/// One row of a table.
#[derive(Clone, Copy, Debug)]
pub struct TableRow<'a> {
    record: CsvRecord<'a>,
    line: u64,
    file: &'static str,
}

impl<'a> TableRow<'a> {
    /// Returns the line on which the row begins, counted from 1 including the header.
    #[inline]
    pub fn line_number(&self) -> u64 {
        self.line
    }

    /// Returns a cell without surrounding white space; empty if the column or the cell is missing.
    #[inline]
    pub fn get(&self, column: TableColumn) -> &'a str {
        utf8_or_empty(self.cell_bytes(column))
    }

    /// Returns a cell like [`get`](TableRow::get), as UTF-8 bytes.
    #[inline]
    pub fn cell_bytes(&self, column: TableColumn) -> &'a [u8] {
        self.cell_bytes_at(column.position)
    }

    #[inline]
    fn cell_bytes_at(&self, position: usize) -> &'a [u8] {
        let cell = self.record.field_bytes(position);
        let cell = if cell.len() > DatasetLimits::CELL_BYTES { truncate_cell(cell) } else { cell };
        match cell {
            // Only white space and control characters are at or below the space; few cells begin or end with one.
            [first, .., last] if *first > b' ' && *last > b' ' => cell,
            [only] if *only > b' ' => cell,
            _ => cell.trim_ascii(),
        }
    }

    /// Parses a cell of a claimed column with `parse`. Returns `None` if the cell is empty, and reports a problem if it
    /// is invalid or if a required cell is empty.
    #[inline]
    pub(crate) fn parse_cell<T>(
        &self,
        column: TableColumn,
        parse: impl FnOnce(&'a [u8]) -> Result<T, CellFault>,
        problems: &mut Problems,
    ) -> Option<T> {
        let cell = self.cell_bytes(column);
        if cell.is_empty() {
            if column.required {
                self.report_field_fault(column.name, cell, MISSING, problems);
            }
            return None;
        }
        match parse(cell) {
            Ok(value) => Some(value),
            Err(fault) => {
                self.report_field_fault(column.name, cell, fault, problems);
                None
            }
        }
    }

    #[cold]
    pub(crate) fn report_column_fault(
        &self,
        column: TableColumn,
        fault: CellFault,
        problems: &mut Problems,
    ) {
        self.report_field_fault(column.name, self.cell_bytes(column), fault, problems);
    }

    #[cold]
    fn report_field_fault(
        &self,
        field: &str,
        value: &[u8],
        fault: CellFault,
        problems: &mut Problems,
    ) {
        report_cell_fault((self.file, self.line, field), value, fault, problems);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gtfs::fields::find_file_spec;

    /// Reads all rows of `stops.txt` and compares the values and the problems.
    fn check(text: &[u8], expected: &[&str], expected_problems: &[&str]) {
        let mut problems = Problems::new();
        let spec = find_file_spec("stops.txt").unwrap();
        let mut found = Vec::new();
        if let Some(mut rows) =
            TableReader::new(text, spec, &DatasetLimits::default(), &mut problems).unwrap()
        {
            let (id, name, lat) = (
                rows.find_column("stop_id"),
                rows.find_column("stop_name"),
                rows.find_column("stop_lat"),
            );
            while let Some(row) = rows.next_row(&mut problems).unwrap() {
                found.push(format!("{}|{}|{}", row.get(id), row.get(name), row.get(lat)));
            }
            assert_eq!(rows.row_count(), found.len() as u64);
        }
        assert_eq!(found, expected);
        let problems: Vec<String> =
            problems.retained_problems().iter().map(Problem::to_string).collect();
        assert_eq!(problems, expected_problems);
    }

    #[test]
    fn cells_are_found_by_name_and_trimmed() {
        check(
            b"\xEF\xBB\xBFstop_lat, stop_id ,stop_name\r\n 59.9 , a ,\"North, upper\"\r\n",
            &["a|North, upper|59.9"],
            &[],
        );
        check(b"STOP_ID,mine\na/b c,?\n", &["a/b c||"], &[]);
        check(b"stop_id,stop_name\n", &[], &[]);
    }

    #[test]
    fn invalid_cells_are_reported() {
        check(
            b"stop_id,stop_lat,stop_url,location_type\na,north,nowhere,9\n,91,,\n",
            &["a||north", "||91"],
            &[
                "stops.txt line 2, stop_lat: not a number: \"north\"",
                "stops.txt line 2, stop_url: not an absolute http or https URL: \"nowhere\"",
                "stops.txt line 2, location_type: not a value of the GTFS reference: \"9\"",
                "stops.txt line 3, stop_id: is required but empty",
                "stops.txt line 3, stop_lat: out of range: \"91\"",
            ],
        );
    }

    #[test]
    fn malformed_rows_and_headers_are_reported() {
        check(
            b"stop_id,stop_name,stop_id,\na,b,c,d,e\nf\n",
            &["a|b|", "f||"],
            &[
                "stops.txt line 1, stop_id: the header has this column twice; the first is used",
                "stops.txt line 1, : the header has a column without a name",
                "stops.txt line 2: has 5 cells, but the header has 4",
                "stops.txt line 3: has 1 cells, but the header has 4",
            ],
        );
        check(b"name\nx\n", &["||"], &["stops.txt line 1, stop_id: is missing from the header"]);
        for text in [&b"stop_id;stop_name\n"[..], b"stop_id\tstop_name\n"] {
            let expected = "is missing from the header; columns must be separated by commas";
            check(text, &[], &[&format!("stops.txt line 1, stop_id: {expected}")]);
        }
        check(b"", &[], &["stops.txt: is empty and has no header"]);
        check(
            b"stop_id,stop_name\na,b\0c\n",
            &["a|b\0c|"],
            &["stops.txt line 2: contains a NUL byte: \"b\\0c\""],
        );
        check(
            b"stop_id,stop_name\na,Orl\xE9ans\n",
            &["a|Orléans|"],
            &["stops.txt line 2: is not UTF-8 and is read as Latin-1: \"Orléans\""],
        );
    }

    #[test]
    fn long_texts_are_cut_and_rows_with_long_ids_are_skipped() {
        let (name, id) =
            ("ü".repeat(DatasetLimits::CELL_BYTES), "x".repeat(DatasetLimits::ID_BYTES));
        let text = format!("stop_id,stop_name,stop_lat\n{id},{name},1\n{id}x,b,2\nc,d,3\n");
        let mut problems = Problems::new();
        let spec = find_file_spec("stops.txt").unwrap();
        let mut rows =
            TableReader::new(text.as_bytes(), spec, &DatasetLimits::default(), &mut problems)
                .unwrap()
                .unwrap();
        let [stop_id, stop_name] = ["stop_id", "stop_name"].map(|name| rows.find_column(name));
        let mut found = Vec::new();
        while let Some(row) = rows.next_row(&mut problems).unwrap() {
            found.push((row.get(stop_id).len(), row.get(stop_name).len()));
        }
        assert_eq!(found, [(DatasetLimits::ID_BYTES, DatasetLimits::CELL_BYTES), (1, 1)]);
        assert_eq!(rows.row_count(), 3);
        let codes: Vec<_> = problems
            .retained_problems()
            .iter()
            .map(|problem| (problem.code, problem.line))
            .collect();
        assert_eq!(codes, [("text_too_long", Some(2)), ("id_too_long", Some(3))]);
    }

    fn refusal(text: &[u8]) -> ErrorKind {
        let spec = find_file_spec("stops.txt").unwrap();
        TableReader::new(text, spec, &DatasetLimits::default(), &mut Problems::new())
            .unwrap_err()
            .kind()
    }

    #[test]
    fn a_file_that_is_not_a_table_is_refused() {
        assert_eq!(refusal(b"\xFF\xFEs\0t\0o\0p\0"), ErrorKind::Encoding);
        assert_eq!(refusal(b"s\0t\0o\0p\0"), ErrorKind::Encoding);
        assert_eq!(refusal(b"<!DOCTYPE html><html>"), ErrorKind::Html);
        assert_eq!(refusal(&vec![b'x'; 3 << 20]), ErrorKind::BadHeader);
    }

    #[test]
    fn rows_beyond_a_limit_are_left_out() {
        let limits = DatasetLimits { line_bytes: 1, rows: 2, ..DatasetLimits::default() };
        let long = "x".repeat(100_000);
        let text = format!("stop_id\na\n{long}\nb\nc\n");
        let mut problems = Problems::new();
        let spec = find_file_spec("stops.txt").unwrap();
        let mut rows =
            TableReader::new(text.as_bytes(), spec, &limits, &mut problems).unwrap().unwrap();
        while rows.next_row(&mut problems).unwrap().is_some() {}
        let codes: Vec<_> = problems
            .retained_problems()
            .iter()
            .map(|problem| (problem.code, problem.line))
            .collect();
        assert_eq!(codes, [("row_too_long", Some(3)), ("too_many_rows", None)]);
    }
}
