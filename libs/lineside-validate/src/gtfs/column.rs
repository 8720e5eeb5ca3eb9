//! The cells of one field of a table, typed and packed, and the views through which rules read them.

use super::dict::DistinctTexts;

/// A missing value in columns of integers.
const NO_NUMBER: i32 = i32::MIN;
/// A missing value in columns of small integers.
const NO_SMALL: i16 = i16::MIN;
/// A missing value in columns of texts.
pub(super) const NO_CODE: u32 = u32::MAX;
/// The value of an enum that the reference does not list: it is present, and has no meaning.
pub const UNRECOGNIZED: i32 = -1;

/// The cells of one field, in row order.
#[derive(Debug)]
pub(super) enum ColumnCells {
    Text { codes: Vec<u32>, dict: DistinctTexts },
    Number(Vec<i32>),
    Small(Vec<i16>),
    Float(Vec<f64>),
}

#[derive(Clone, Copy, Debug)]
pub(super) enum CellValue<'a> {
    Empty,
    Text(&'a str),
    Number(i32),
    Float(f64),
}

impl ColumnCells {
    #[inline]
    pub(super) fn push_cell(&mut self, cell: CellValue<'_>) {
        match (self, cell) {
            (ColumnCells::Text { codes, dict }, CellValue::Text(text)) => {
                // Consecutive rows often belong to one trip or shape.
                let code = match codes.last() {
                    Some(&last) if last != NO_CODE && dict.get(last) == text => last,
                    _ => dict.intern_text(text),
                };
                codes.push(code);
            }
            (ColumnCells::Text { codes, .. }, _) => codes.push(NO_CODE),
            (ColumnCells::Number(numbers), CellValue::Number(number)) => numbers.push(number),
            (ColumnCells::Number(numbers), _) => numbers.push(NO_NUMBER),
            (ColumnCells::Small(numbers), CellValue::Number(number)) => {
                numbers.push(i16::try_from(number).unwrap_or(UNRECOGNIZED as i16));
            }
            (ColumnCells::Small(numbers), _) => numbers.push(NO_SMALL),
            (ColumnCells::Float(numbers), CellValue::Float(number)) => numbers.push(number),
            (ColumnCells::Float(numbers), _) => numbers.push(f64::NAN),
        }
    }

    /// Appends the cells of the following rows, from a column of the same field.
    pub(super) fn append_cells_of_column(&mut self, more: &ColumnCells) {
        match (self, more) {
            (
                ColumnCells::Text { codes, dict },
                ColumnCells::Text { codes: more, dict: others },
            ) => {
                let ours: Vec<u32> = others.iter().map(|text| dict.intern_text(text)).collect();
                let our = |code: &u32| ours.get(*code as usize).copied().unwrap_or(NO_CODE);
                codes.extend(more.iter().map(our));
            }
            (ColumnCells::Number(numbers), ColumnCells::Number(more)) => {
                numbers.extend_from_slice(more)
            }
            (ColumnCells::Small(numbers), ColumnCells::Small(more)) => {
                numbers.extend_from_slice(more)
            }
            (ColumnCells::Float(numbers), ColumnCells::Float(more)) => {
                numbers.extend_from_slice(more)
            }
            // Both columns have the same field, so this cannot happen.
            (ours, more) => debug_assert!(false, "{more:?} cannot be appended to {ours:?}"),
        }
    }

    /// Reserves room for exactly this number of further cells.
    pub(super) fn reserve(&mut self, more: usize) {
        match self {
            ColumnCells::Text { codes, .. } => codes.reserve_exact(more),
            ColumnCells::Number(numbers) => numbers.reserve_exact(more),
            ColumnCells::Small(numbers) => numbers.reserve_exact(more),
            ColumnCells::Float(numbers) => numbers.reserve_exact(more),
        }
    }

    /// Removes all cells, and retains their memory.
    pub(super) fn clear(&mut self) {
        self.truncate(0);
        if let ColumnCells::Text { dict, .. } = self {
            dict.clear();
        }
    }

    pub(super) fn truncate(&mut self, n_rows: usize) {
        match self {
            ColumnCells::Text { codes, .. } => codes.truncate(n_rows),
            ColumnCells::Number(numbers) => numbers.truncate(n_rows),
            ColumnCells::Small(numbers) => numbers.truncate(n_rows),
            ColumnCells::Float(numbers) => numbers.truncate(n_rows),
        }
    }

    pub(super) fn shrink_to_fit(&mut self) {
        match self {
            ColumnCells::Text { codes, .. } => codes.shrink_to_fit(),
            ColumnCells::Number(numbers) => numbers.shrink_to_fit(),
            ColumnCells::Small(numbers) => numbers.shrink_to_fit(),
            ColumnCells::Float(numbers) => numbers.shrink_to_fit(),
        }
    }
}

/// A column of texts: ids, names, URLs, tags. Empty if the table lacks the column.
#[derive(Clone, Copy, Debug)]
pub struct TextColumn<'a> {
    codes: &'a [u32],
    dict: Option<&'a DistinctTexts>,
}

impl<'a> TextColumn<'a> {
    pub(super) fn from_column(column: Option<&'a ColumnCells>) -> TextColumn<'a> {
        match column {
            Some(ColumnCells::Text { codes, dict }) => TextColumn { codes, dict: Some(dict) },
            _ => TextColumn { codes: &[], dict: None },
        }
    }

    /// Returns the text of a row, if it has one. Never empty.
    #[inline]
    pub fn get(&self, row: u32) -> Option<&'a str> {
        Some(self.text_of_code(self.text_code_of_row(row)?))
    }

    /// Returns the code of a row's text: equal texts in this column have equal codes.
    #[inline]
    pub fn text_code_of_row(&self, row: u32) -> Option<u32> {
        self.codes.get(row as usize).copied().filter(|&code| code != NO_CODE)
    }

    /// Returns the text of a code.
    #[inline]
    pub fn text_of_code(&self, code: u32) -> &'a str {
        self.dict.map_or("", |dict| dict.get(code))
    }

    /// Returns the code of a text, if a row has it (or had it before the row was dropped).
    pub fn find_text_code(&self, text: &str) -> Option<u32> {
        self.dict?.find_text_code(text)
    }

    /// Returns the number of codes: each code is below it.
    pub fn text_code_count(&self) -> usize {
        self.dict.map_or(0, DistinctTexts::len)
    }
}

/// A column of integers: numbers, enums, times (seconds of the service day), dates (see
/// [`date_from_day_number`](super::date_from_day_number)) and colors (`0xRRGGBB`). Empty if the table lacks the column.
#[derive(Clone, Copy, Debug)]
pub enum NumberColumn<'a> {
    #[doc(hidden)]
    Wide(&'a [i32]),
    #[doc(hidden)]
    Narrow(&'a [i16]),
}

impl<'a> NumberColumn<'a> {
    pub(super) fn from_column(column: Option<&'a ColumnCells>) -> NumberColumn<'a> {
        match column {
            Some(ColumnCells::Number(numbers)) => NumberColumn::Wide(numbers),
            Some(ColumnCells::Small(numbers)) => NumberColumn::Narrow(numbers),
            _ => NumberColumn::Wide(&[]),
        }
    }

    /// Returns the number of a row, if it has one. In an enum column, [`UNRECOGNIZED`] is a number that the reference
    /// does not list.
    #[inline]
    pub fn get(&self, row: u32) -> Option<i32> {
        match self {
            NumberColumn::Wide(numbers) => {
                numbers.get(row as usize).copied().filter(|&number| number != NO_NUMBER)
            }
            NumberColumn::Narrow(numbers) => {
                numbers.get(row as usize).filter(|&&number| number != NO_SMALL).map(|&n| n.into())
            }
        }
    }

    /// Returns the number of a row, or the default if the cell is empty.
    #[inline]
    pub fn cell_value_or(&self, row: u32, default: i32) -> i32 {
        self.get(row).unwrap_or(default)
    }
}

/// A column of decimal numbers. Empty if the table lacks the column.
#[derive(Clone, Copy, Debug)]
pub struct FloatColumn<'a>(&'a [f64]);

impl<'a> FloatColumn<'a> {
    pub(super) fn from_column(column: Option<&'a ColumnCells>) -> FloatColumn<'a> {
        match column {
            Some(ColumnCells::Float(numbers)) => FloatColumn(numbers),
            _ => FloatColumn(&[]),
        }
    }

    /// Returns the number of a row, if it has one.
    #[inline]
    pub fn get(&self, row: u32) -> Option<f64> {
        self.0.get(row as usize).copied().filter(|number| !number.is_nan())
    }
}
