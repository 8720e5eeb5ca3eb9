//! One file of a schedule as typed columns.

use lineside_formats::gtfs::fields::{FieldKind, FileSpec};

use super::column::{ColumnCells, FloatColumn, NumberColumn, TextColumn};
use crate::cancel::{CancelCheck, RowNumbers};

/// How far a file could be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReadStatus {
    /// The dataset has no such file.
    Missing,
    /// There is nothing in it, not even a header.
    Empty,
    /// The header is wrong; no row was looked at.
    BadHeader,
    /// Some rows could not be read and were left out.
    BadRows,
    /// All of it was read.
    Parsed,
}

/// A file that was read.
#[derive(Debug)]
pub struct GtfsTable {
    spec: &'static FileSpec,
    status: ReadStatus,
    /// One for each field of the reference; `None` where the file lacks it.
    columns: Vec<Option<ColumnCells>>,
    n_rows: u32,
    /// The line of each row, where it is not simply two more than the row's number.
    lines: Option<Vec<u32>>,
    n_left_out: u32,
    is_cut_off: bool,
    is_wide: bool,
    brake: CancelCheck,
}

impl GtfsTable {
    pub(super) fn without_rows(spec: &'static FileSpec, status: ReadStatus) -> GtfsTable {
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
            status: ReadStatus::Parsed,
            columns,
            n_rows,
            lines,
            n_left_out: 0,
            is_cut_off: false,
            is_wide: false,
            brake: CancelCheck::default(),
        }
    }

    /// The same, of a file with so many rows more that could not be read, or of which the rest could
    /// not.
    pub(super) fn with_missing_rows(mut self, n_left_out: u32, is_cut_off: bool) -> GtfsTable {
        if n_left_out > 0 || is_cut_off {
            self.status = ReadStatus::BadRows;
        }
        (self.n_left_out, self.is_cut_off) = (n_left_out, is_cut_off);
        self
    }

    /// The same, of text in UTF-16 if `is_wide`.
    pub(super) fn with_wide_text(self, is_wide: bool) -> GtfsTable {
        GtfsTable { is_wide, ..self }
    }

    /// Its name, such as `stops.txt`.
    pub fn file_name(&self) -> &'static str {
        self.spec.name
    }

    /// What the reference says of it.
    pub fn file_spec(&self) -> &'static FileSpec {
        self.spec
    }

    /// How far it could be read.
    pub fn read_status(&self) -> ReadStatus {
        self.status
    }

    /// Whether the dataset has this file.
    pub fn is_there(&self) -> bool {
        self.status != ReadStatus::Missing
    }

    /// Whether rules may rely on its rows: it was read to its end, or is not there at all, which is
    /// judged elsewhere.
    pub fn is_usable(&self) -> bool {
        matches!(self.status, ReadStatus::Parsed | ReadStatus::Missing)
    }

    /// How many rows could be read.
    pub fn len(&self) -> u32 {
        self.n_rows
    }

    /// Whether no row could be read.
    pub fn is_empty(&self) -> bool {
        self.n_rows == 0
    }

    /// How many rows could not be read and were left out, as far as the file was read.
    pub fn n_left_out(&self) -> u32 {
        self.n_left_out
    }

    /// Whether the file was read up to a row only, after which it cannot be.
    pub fn is_cut_off(&self) -> bool {
        self.is_cut_off
    }

    /// Whether the file is text in UTF-16, of which no header can be read.
    pub fn is_wide(&self) -> bool {
        self.is_wide
    }

    /// The numbers of its rows, from 0. Where the look is stopped whoever goes through them unwinds.
    #[inline]
    pub fn rows(&self) -> RowNumbers<'_> {
        RowNumbers::new(self.n_rows, &self.brake)
    }

    pub(super) fn attach_cancel(&mut self, brake: &CancelCheck) {
        self.brake = brake.clone();
    }

    /// The line of a row in the file, counted from 1 with the header: `csvRowNumber`.
    pub fn line_number(&self, row: u32) -> u32 {
        match &self.lines {
            Some(lines) => lines.get(row as usize).copied().unwrap_or_default(),
            None => row + 2,
        }
    }

    /// Whether the file has this column.
    pub fn has_column(&self, field: &str) -> bool {
        self.find_column(field).is_some()
    }

    /// Whether some row has a value in this column.
    pub fn has_values(&self, field: &str) -> bool {
        let Some(kind) = self.spec.find_field_spec(field).map(|field| field.kind) else {
            return false;
        };
        if !self.has_column(field) {
            return false;
        }
        if is_number_kind(kind) {
            let numbers = self.number_column(field);
            self.rows().any(|row| numbers.get(row).is_some())
        } else if is_float_kind(kind) {
            let floats = self.float_column(field);
            self.rows().any(|row| floats.get(row).is_some())
        } else {
            let texts = self.text_column(field);
            self.rows().any(|row| texts.code_of_row(row).is_some())
        }
    }

    /// A column of texts.
    pub fn text_column(&self, field: &str) -> TextColumn<'_> {
        debug_assert!(
            self.column_holds(field, is_text_kind),
            "{} has no text {field}",
            self.spec.name
        );
        TextColumn::from_column(self.find_column(field))
    }

    /// A column of whole numbers.
    pub fn number_column(&self, field: &str) -> NumberColumn<'_> {
        debug_assert!(
            self.column_holds(field, is_number_kind),
            "{} has no number {field}",
            self.spec.name
        );
        NumberColumn::from_column(self.find_column(field))
    }

    /// A column of decimal numbers.
    pub fn float_column(&self, field: &str) -> FloatColumn<'_> {
        debug_assert!(
            self.column_holds(field, is_float_kind),
            "{} has no float {field}",
            self.spec.name
        );
        FloatColumn::from_column(self.find_column(field))
    }

    fn find_column(&self, field: &str) -> Option<&ColumnCells> {
        let at = self.spec.fields.iter().position(|other| other.name == field)?;
        self.columns[at].as_ref()
    }

    fn column_holds(&self, field: &str, kind: fn(FieldKind) -> bool) -> bool {
        self.spec.find_field_spec(field).is_some_and(|field| kind(field.kind))
    }
}

pub(super) fn is_number_kind(kind: FieldKind) -> bool {
    is_small_kind(kind)
        || matches!(
            kind,
            FieldKind::Color
                | FieldKind::Date
                | FieldKind::Time
                | FieldKind::LocalTime
                | FieldKind::Integer(_)
        )
}

pub(super) fn is_small_kind(kind: FieldKind) -> bool {
    matches!(kind, FieldKind::Enum(_) | FieldKind::RouteType)
}

pub(super) fn is_float_kind(kind: FieldKind) -> bool {
    matches!(kind, FieldKind::Latitude | FieldKind::Longitude | FieldKind::Float(_))
}

pub(super) fn is_text_kind(kind: FieldKind) -> bool {
    !is_number_kind(kind) && !is_float_kind(kind)
}
