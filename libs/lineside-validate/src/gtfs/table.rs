//! One file of a schedule as typed columns.

use lineside_formats::gtfs::fields::{FileSpec, Kind};

use super::column::{Column, Floats, Numbers, Texts};
use crate::stop::{Brake, Rows};

/// How far a file could be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
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
pub struct Table {
    spec: &'static FileSpec,
    status: Status,
    /// One for each field of the reference; `None` where the file lacks it.
    columns: Vec<Option<Column>>,
    n_rows: u32,
    /// The line of each row, where it is not simply two more than the row's number.
    lines: Option<Vec<u32>>,
    n_left_out: u32,
    is_cut_off: bool,
    is_wide: bool,
    brake: Brake,
}

impl Table {
    pub(super) fn without_rows(spec: &'static FileSpec, status: Status) -> Table {
        let columns = spec.fields.iter().map(|_| None).collect();
        Table { status, ..Table::new(spec, columns, 0, None) }
    }

    pub(super) fn new(
        spec: &'static FileSpec,
        columns: Vec<Option<Column>>,
        n_rows: u32,
        lines: Option<Vec<u32>>,
    ) -> Table {
        Table {
            spec,
            status: Status::Parsed,
            columns,
            n_rows,
            lines,
            n_left_out: 0,
            is_cut_off: false,
            is_wide: false,
            brake: Brake::default(),
        }
    }

    /// The same, of a file with so many rows more that could not be read, or of which the rest could
    /// not.
    pub(super) fn lacking(mut self, n_left_out: u32, is_cut_off: bool) -> Table {
        if n_left_out > 0 || is_cut_off {
            self.status = Status::BadRows;
        }
        (self.n_left_out, self.is_cut_off) = (n_left_out, is_cut_off);
        self
    }

    /// The same, of text in UTF-16 if `is_wide`.
    pub(super) fn wide(self, is_wide: bool) -> Table {
        Table { is_wide, ..self }
    }

    /// Its name, such as `stops.txt`.
    pub fn name(&self) -> &'static str {
        self.spec.name
    }

    /// What the reference says of it.
    pub fn spec(&self) -> &'static FileSpec {
        self.spec
    }

    /// How far it could be read.
    pub fn status(&self) -> Status {
        self.status
    }

    /// Whether the dataset has this file.
    pub fn is_there(&self) -> bool {
        self.status != Status::Missing
    }

    /// Whether rules may rely on its rows: it was read to its end, or is not there at all, which is
    /// judged elsewhere.
    pub fn is_usable(&self) -> bool {
        matches!(self.status, Status::Parsed | Status::Missing)
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
    pub fn rows(&self) -> Rows<'_> {
        Rows::new(self.n_rows, &self.brake)
    }

    pub(super) fn hold(&mut self, brake: &Brake) {
        self.brake = brake.clone();
    }

    /// The line of a row in the file, counted from 1 with the header: `csvRowNumber`.
    pub fn line(&self, row: u32) -> u32 {
        match &self.lines {
            Some(lines) => lines.get(row as usize).copied().unwrap_or_default(),
            None => row + 2,
        }
    }

    /// Whether the file has this column.
    pub fn has(&self, field: &str) -> bool {
        self.column(field).is_some()
    }

    /// Whether some row has a value in this column.
    pub fn gives(&self, field: &str) -> bool {
        let Some(kind) = self.spec.find_field(field).map(|field| field.kind) else { return false };
        if !self.has(field) {
            return false;
        }
        if is_number(kind) {
            let numbers = self.numbers(field);
            self.rows().any(|row| numbers.get(row).is_some())
        } else if is_float(kind) {
            let floats = self.floats(field);
            self.rows().any(|row| floats.get(row).is_some())
        } else {
            let texts = self.texts(field);
            self.rows().any(|row| texts.code(row).is_some())
        }
    }

    /// A column of texts.
    pub fn texts(&self, field: &str) -> Texts<'_> {
        debug_assert!(self.holds(field, is_text), "{} has no text {field}", self.spec.name);
        Texts::of(self.column(field))
    }

    /// A column of whole numbers.
    pub fn numbers(&self, field: &str) -> Numbers<'_> {
        debug_assert!(self.holds(field, is_number), "{} has no number {field}", self.spec.name);
        Numbers::of(self.column(field))
    }

    /// A column of decimal numbers.
    pub fn floats(&self, field: &str) -> Floats<'_> {
        debug_assert!(self.holds(field, is_float), "{} has no float {field}", self.spec.name);
        Floats::of(self.column(field))
    }

    fn column(&self, field: &str) -> Option<&Column> {
        let at = self.spec.fields.iter().position(|other| other.name == field)?;
        self.columns[at].as_ref()
    }

    fn holds(&self, field: &str, kind: fn(Kind) -> bool) -> bool {
        self.spec.find_field(field).is_some_and(|field| kind(field.kind))
    }
}

pub(super) fn is_number(kind: Kind) -> bool {
    is_small(kind)
        || matches!(
            kind,
            Kind::Color | Kind::Date | Kind::Time | Kind::LocalTime | Kind::Integer(_)
        )
}

pub(super) fn is_small(kind: Kind) -> bool {
    matches!(kind, Kind::Enum(_) | Kind::RouteType)
}

pub(super) fn is_float(kind: Kind) -> bool {
    matches!(kind, Kind::Latitude | Kind::Longitude | Kind::Float(_))
}

pub(super) fn is_text(kind: Kind) -> bool {
    !is_number(kind) && !is_float(kind)
}
