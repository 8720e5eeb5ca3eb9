//! The cells of one field of a table, typed and packed, and the views that rules read them through.

use super::dict::Dict;

/// No value, in columns of whole numbers.
const NO_NUMBER: i32 = i32::MIN;
/// No value, in columns of small numbers.
const NO_SMALL: i16 = i16::MIN;
/// No value, in columns of texts.
pub(super) const NO_CODE: u32 = u32::MAX;
/// What stands for a number that the reference does not list: it is there, and means nothing.
pub const UNRECOGNIZED: i32 = -1;

/// The cells of one field, in the order of the rows.
#[derive(Debug)]
pub(super) enum Column {
    Text { codes: Vec<u32>, dict: Dict },
    Number(Vec<i32>),
    Small(Vec<i16>),
    Float(Vec<f64>),
}

/// What a cell holds, ready for its column.
#[derive(Clone, Copy, Debug)]
pub(super) enum Cell<'a> {
    Empty,
    Text(&'a str),
    Number(i32),
    Float(f64),
}

impl Column {
    #[inline]
    pub(super) fn push(&mut self, cell: Cell<'_>) {
        match (self, cell) {
            (Column::Text { codes, dict }, Cell::Text(text)) => {
                // Rows of one trip or shape stand together.
                let code = match codes.last() {
                    Some(&last) if last != NO_CODE && dict.get(last) == text => last,
                    _ => dict.add(text),
                };
                codes.push(code);
            }
            (Column::Text { codes, .. }, _) => codes.push(NO_CODE),
            (Column::Number(numbers), Cell::Number(number)) => numbers.push(number),
            (Column::Number(numbers), _) => numbers.push(NO_NUMBER),
            (Column::Small(numbers), Cell::Number(number)) => {
                numbers.push(i16::try_from(number).unwrap_or(UNRECOGNIZED as i16));
            }
            (Column::Small(numbers), _) => numbers.push(NO_SMALL),
            (Column::Float(numbers), Cell::Float(number)) => numbers.push(number),
            (Column::Float(numbers), _) => numbers.push(f64::NAN),
        }
    }

    /// Takes over the cells of the rows that follow, of a column of the same field.
    pub(super) fn append(&mut self, more: &Column) {
        match (self, more) {
            (Column::Text { codes, dict }, Column::Text { codes: more, dict: others }) => {
                let ours: Vec<u32> = others.iter().map(|text| dict.add(text)).collect();
                let our = |code: &u32| ours.get(*code as usize).copied().unwrap_or(NO_CODE);
                codes.extend(more.iter().map(our));
            }
            (Column::Number(numbers), Column::Number(more)) => numbers.extend_from_slice(more),
            (Column::Small(numbers), Column::Small(more)) => numbers.extend_from_slice(more),
            (Column::Float(numbers), Column::Float(more)) => numbers.extend_from_slice(more),
            // Both were made for the same field.
            (ours, more) => debug_assert!(false, "{more:?} cannot follow {ours:?}"),
        }
    }

    /// Makes room for exactly so many more cells.
    pub(super) fn reserve(&mut self, more: usize) {
        match self {
            Column::Text { codes, .. } => codes.reserve_exact(more),
            Column::Number(numbers) => numbers.reserve_exact(more),
            Column::Small(numbers) => numbers.reserve_exact(more),
            Column::Float(numbers) => numbers.reserve_exact(more),
        }
    }

    /// Lets go of all cells, and keeps the room that they had.
    pub(super) fn clear(&mut self) {
        self.truncate(0);
        if let Column::Text { dict, .. } = self {
            dict.clear();
        }
    }

    pub(super) fn truncate(&mut self, n_rows: usize) {
        match self {
            Column::Text { codes, .. } => codes.truncate(n_rows),
            Column::Number(numbers) => numbers.truncate(n_rows),
            Column::Small(numbers) => numbers.truncate(n_rows),
            Column::Float(numbers) => numbers.truncate(n_rows),
        }
    }

    pub(super) fn shrink(&mut self) {
        match self {
            Column::Text { codes, .. } => codes.shrink_to_fit(),
            Column::Number(numbers) => numbers.shrink_to_fit(),
            Column::Small(numbers) => numbers.shrink_to_fit(),
            Column::Float(numbers) => numbers.shrink_to_fit(),
        }
    }
}

/// A column of texts: ids, names, addresses, tags. Empty where the table lacks the column.
#[derive(Clone, Copy, Debug)]
pub struct Texts<'a> {
    codes: &'a [u32],
    dict: Option<&'a Dict>,
}

impl<'a> Texts<'a> {
    pub(super) fn of(column: Option<&'a Column>) -> Texts<'a> {
        match column {
            Some(Column::Text { codes, dict }) => Texts { codes, dict: Some(dict) },
            _ => Texts { codes: &[], dict: None },
        }
    }

    /// The text of a row, if it has one. Never empty.
    #[inline]
    pub fn get(&self, row: u32) -> Option<&'a str> {
        Some(self.text(self.code(row)?))
    }

    /// The code of a row's text: equal texts of this column have equal codes.
    #[inline]
    pub fn code(&self, row: u32) -> Option<u32> {
        self.codes.get(row as usize).copied().filter(|&code| code != NO_CODE)
    }

    /// The text of a code.
    #[inline]
    pub fn text(&self, code: u32) -> &'a str {
        self.dict.map_or("", |dict| dict.get(code))
    }

    /// The code of a text, if a row has it (or had it before its row was left out).
    pub fn find(&self, text: &str) -> Option<u32> {
        self.dict?.find(text)
    }

    /// How many codes there are: each is below this number.
    pub fn n_codes(&self) -> usize {
        self.dict.map_or(0, Dict::len)
    }
}

/// A column of whole numbers: integers, enums (as their number), times (seconds of the service
/// day), dates (see [`date_of`](super::date_of)) and colors (`0xRRGGBB`). Empty where the table
/// lacks the column.
#[derive(Clone, Copy, Debug)]
pub enum Numbers<'a> {
    #[doc(hidden)]
    Wide(&'a [i32]),
    #[doc(hidden)]
    Narrow(&'a [i16]),
}

impl<'a> Numbers<'a> {
    pub(super) fn of(column: Option<&'a Column>) -> Numbers<'a> {
        match column {
            Some(Column::Number(numbers)) => Numbers::Wide(numbers),
            Some(Column::Small(numbers)) => Numbers::Narrow(numbers),
            _ => Numbers::Wide(&[]),
        }
    }

    /// The number of a row, if it has one. For an enum, [`UNRECOGNIZED`] is a number that the
    /// reference does not list.
    #[inline]
    pub fn get(&self, row: u32) -> Option<i32> {
        match self {
            Numbers::Wide(numbers) => {
                numbers.get(row as usize).copied().filter(|&number| number != NO_NUMBER)
            }
            Numbers::Narrow(numbers) => {
                numbers.get(row as usize).filter(|&&number| number != NO_SMALL).map(|&n| n.into())
            }
        }
    }

    /// The number of a row, or what an empty cell means.
    #[inline]
    pub fn get_or(&self, row: u32, default: i32) -> i32 {
        self.get(row).unwrap_or(default)
    }
}

/// A column of decimal numbers. Empty where the table lacks the column.
#[derive(Clone, Copy, Debug)]
pub struct Floats<'a>(&'a [f64]);

impl<'a> Floats<'a> {
    pub(super) fn of(column: Option<&'a Column>) -> Floats<'a> {
        match column {
            Some(Column::Float(numbers)) => Floats(numbers),
            _ => Floats(&[]),
        }
    }

    /// The number of a row, if it has one.
    #[inline]
    pub fn get(&self, row: u32) -> Option<f64> {
        self.0.get(row as usize).copied().filter(|number| !number.is_nan())
    }
}
