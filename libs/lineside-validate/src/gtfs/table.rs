//! One file of a schedule as typed columns.

use lineside_formats::gtfs::fields::{FieldKind, FileSpec};

use super::column::{ColumnCells, FloatColumn, NumberColumn, TextColumn};
use crate::cancel::{CancelUnwindCheck, CancellableRowNumbers};

/// The extent to which a file could be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileReadStatus {
    /// The dataset has no such file.
    Missing,
    /// The file is empty and has no header.
    Empty,
    /// The header is invalid; no row was read.
    BadHeader,
    /// Some rows could not be read and were dropped.
    BadRows,
    /// The whole file was read.
    Parsed,
}

/// The table of a file.
#[derive(Debug)]
pub struct GtfsTable {
    spec: &'static FileSpec,
    status: FileReadStatus,
    /// A column for each field of the reference; `None` if the file lacks it.
    columns: Vec<Option<ColumnCells>>,
    n_rows: u32,
    /// The line of each row, unless it is always two more than the row's number.
    lines: Option<Vec<u32>>,
    n_dropped: u32,
    is_cut_off: bool,
    is_wide: bool,
    cancel_check: CancelUnwindCheck,
}

impl GtfsTable {
    pub(super) fn empty_with_status(spec: &'static FileSpec, status: FileReadStatus) -> GtfsTable {
        let columns = spec.fields.iter().map(|_| None).collect();
        GtfsTable { status, ..GtfsTable::new(spec, columns, 0, None) }
    }

    pub(super) fn new(
        spec: &'static FileSpec,
        columns: Vec<Option<ColumnCells>>,
        n_rows: u32,
        lines: Option<Vec<u32>>,
    ) -> GtfsTable {
        GtfsTable {
            spec,
            status: FileReadStatus::Parsed,
            columns,
            n_rows,
            lines,
            n_dropped: 0,
            is_cut_off: false,
            is_wide: false,
            cancel_check: CancelUnwindCheck::default(),
        }
    }

    /// Records that rows were dropped, or that the rest of the file could not be read.
    pub(super) fn with_dropped_rows(mut self, n_dropped: u32, is_cut_off: bool) -> GtfsTable {
        if n_dropped > 0 || is_cut_off {
            self.status = FileReadStatus::BadRows;
        }
        (self.n_dropped, self.is_cut_off) = (n_dropped, is_cut_off);
        self
    }

    /// Records that the text is in UTF-16.
    pub(super) fn with_utf16_flag(self, is_wide: bool) -> GtfsTable {
        GtfsTable { is_wide, ..self }
    }

    /// Returns the file's name, such as `stops.txt`.
    pub fn file_name(&self) -> &'static str {
        self.spec.name
    }

    /// Returns the file's specification.
    pub fn file_spec(&self) -> &'static FileSpec {
        self.spec
    }

    /// Returns the extent to which the file could be read.
    pub fn read_status(&self) -> FileReadStatus {
        self.status
    }

    /// Returns true if the dataset has this file.
    pub fn is_file_present(&self) -> bool {
        self.status != FileReadStatus::Missing
    }

    /// Returns true if rules may rely on the rows: the file was read to its end, or is missing, which is reported
    /// elsewhere.
    pub fn are_rows_usable(&self) -> bool {
        matches!(self.status, FileReadStatus::Parsed | FileReadStatus::Missing)
    }

    /// Returns the number of readable rows.
    pub fn len(&self) -> u32 {
        self.n_rows
    }

    /// Returns true if there are no readable rows.
    pub fn is_empty(&self) -> bool {
        self.n_rows == 0
    }

    /// Returns the number of unreadable rows that were dropped, as far as the file was read.
    pub fn dropped_row_count(&self) -> u32 {
        self.n_dropped
    }

    /// Returns true if the file was read only up to a row that makes the rest unreadable.
    pub fn is_rest_unreadable(&self) -> bool {
        self.is_cut_off
    }

    /// Returns true if the text is in UTF-16, so that no header can be read.
    pub fn is_utf16(&self) -> bool {
        self.is_wide
    }

    /// Returns the row numbers, from 0. The iterator unwinds if the run is cancelled.
    #[inline]
    pub fn row_numbers(&self) -> CancellableRowNumbers<'_> {
        CancellableRowNumbers::new(self.n_rows, &self.cancel_check)
    }

    pub(super) fn set_cancel_check(&mut self, cancel_check: &CancelUnwindCheck) {
        self.cancel_check = cancel_check.clone();
    }

    /// Returns the line of a row in the file, counted from 1 with the header: `csvRowNumber`.
    pub fn line_number(&self, row: u32) -> u32 {
        match &self.lines {
            Some(lines) => lines.get(row as usize).copied().unwrap_or_default(),
            None => row + 2,
        }
    }

    /// Returns true if the file has this column.
    pub fn has_column(&self, field: &str) -> bool {
        self.find_column(field).is_some()
    }

    /// Returns true if some row has a value in this column.
    pub fn has_values(&self, field: &str) -> bool {
        let Some(kind) = self.spec.find_field_spec(field).map(|field| field.kind) else {
            return false;
        };
        if !self.has_column(field) {
            return false;
        }
        if is_number_kind(kind) {
            let numbers = self.number_column(field);
            self.row_numbers().any(|row| numbers.get(row).is_some())
        } else if is_float_kind(kind) {
            let floats = self.float_column(field);
            self.row_numbers().any(|row| floats.get(row).is_some())
        } else {
            let texts = self.text_column(field);
            self.row_numbers().any(|row| texts.text_code_of_row(row).is_some())
        }
    }

    /// Returns a text column.
    pub fn text_column(&self, field: &str) -> TextColumn<'_> {
        debug_assert!(
            self.is_field_of_kind(field, is_text_kind),
            "{} has no text column {field}",
            self.spec.name
        );
        TextColumn::from_column(self.find_column(field))
    }

    /// Returns an integer column.
    pub fn number_column(&self, field: &str) -> NumberColumn<'_> {
        debug_assert!(
            self.is_field_of_kind(field, is_number_kind),
            "{} has no number column {field}",
            self.spec.name
        );
        NumberColumn::from_column(self.find_column(field))
    }

    /// Returns a column of decimal numbers.
    pub fn float_column(&self, field: &str) -> FloatColumn<'_> {
        debug_assert!(
            self.is_field_of_kind(field, is_float_kind),
            "{} has no float column {field}",
            self.spec.name
        );
        FloatColumn::from_column(self.find_column(field))
    }

    fn find_column(&self, field: &str) -> Option<&ColumnCells> {
        let at = self.spec.fields.iter().position(|other| other.name == field)?;
        self.columns[at].as_ref()
    }

    fn is_field_of_kind(&self, field: &str, kind: fn(FieldKind) -> bool) -> bool {
        self.spec.find_field_spec(field).is_some_and(|field| kind(field.kind))
    }
}

pub(super) fn is_number_kind(kind: FieldKind) -> bool {
    is_small_number_kind(kind)
        || matches!(
            kind,
            FieldKind::Color
                | FieldKind::Date
                | FieldKind::Time
                | FieldKind::LocalTime
                | FieldKind::Integer(_)
        )
}

pub(super) fn is_small_number_kind(kind: FieldKind) -> bool {
    matches!(kind, FieldKind::Enum(_) | FieldKind::RouteType)
}

pub(super) fn is_float_kind(kind: FieldKind) -> bool {
    matches!(kind, FieldKind::Latitude | FieldKind::Longitude | FieldKind::Float(_))
}

pub(super) fn is_text_kind(kind: FieldKind) -> bool {
    !is_number_kind(kind) && !is_float_kind(kind)
}
