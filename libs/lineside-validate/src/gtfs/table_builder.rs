//! A table under construction, row by row, or with the rows of the next part of its file.

use lineside_formats::gtfs::fields::FieldKind;

use super::{
    column::ColumnCells,
    dict::DistinctTexts,
    header::TableRowLayout,
    table::{self, GtfsTable},
};

/// The rows read so far, of a file or of a part of one.
#[derive(Debug)]
pub(super) struct TableBuilder {
    /// A column for each cell of the layout.
    pub(super) columns: Vec<ColumnCells>,
    n_rows: u32,
    /// The number of rows that the columns have room for.
    capacity: u32,
    /// The bytes of the rows, and the size of the whole file or part; 0 if unknown.
    n_bytes: u64,
    size: u64,
    /// The line of the first row, if the rows are on consecutive lines.
    first_line: u32,
    /// The lines of the rows, once they are not consecutive.
    lines: Option<Vec<u32>>,
    /// The number of dropped rows.
    n_dropped: u32,
    /// True if the rest of the file cannot be read.
    pub(super) has_ended: bool,
}

/// The number of rows from which the total is extrapolated.
const ROWS_SAMPLED: u32 = 4_096;
/// The largest factor by which the extrapolation may exceed the rows read so far, in case the file's size is wrong.
const ROOM_FACTOR_MAX: u64 = 1_024;

impl TableBuilder {
    /// Returns an empty builder whose first row will be on this line, for about this number of bytes; 0 if unknown.
    pub(super) fn new(layout: &TableRowLayout, first_line: u32, size: u64) -> TableBuilder {
        let columns = layout.cells.iter().map(|plan| empty_column(plan.field.kind)).collect();
        TableBuilder {
            columns,
            n_rows: 0,
            capacity: 0,
            n_bytes: 0,
            size,
            first_line,
            lines: None,
            n_dropped: 0,
            has_ended: false,
        }
    }

    /// Makes room for one more row, if necessary.
    #[inline]
    pub(super) fn reserve_row(&mut self) {
        if self.n_rows == self.capacity {
            self.reserve_rows(1);
        }
    }

    /// Makes room for this number of rows, and for all rows that are expected after them. Columns that grow by doubling
    /// are copied over and over, and each copy needs memory that the system has to zero.
    #[cold]
    fn reserve_rows(&mut self, n: u32) {
        let needed = u64::from(self.n_rows) + u64::from(n);
        let mut room = (2 * needed).clamp(64, u64::from(ROWS_SAMPLED).max(needed));
        if self.n_rows >= ROWS_SAMPLED {
            let rows = u64::from(self.n_rows);
            let estimated_rows =
                u128::from(rows) * u128::from(self.size) / u128::from(self.n_bytes.max(1));
            let estimated_rows =
                u64::try_from(estimated_rows).unwrap_or(u64::MAX).min(rows * ROOM_FACTOR_MAX);
            room = match estimated_rows > needed {
                // The first rows may be longer than most. Memory that is never used is not taken from the system.
                true => (estimated_rows + estimated_rows / 2).max(needed + needed / 8),
                false => 2 * needed,
            };
        }
        let more = usize::try_from(room).unwrap_or(usize::MAX).saturating_sub(self.n_rows as usize);
        self.columns.iter_mut().for_each(|column| column.reserve(more));
        self.capacity = u32::try_from(room).unwrap_or(u32::MAX);
    }

    /// Counts a row of this size whose cells are already in the columns.
    #[inline]
    pub(super) fn count_kept_row(&mut self, line: u32, bytes: usize) {
        self.n_bytes += bytes as u64;
        match &mut self.lines {
            Some(lines) => lines.push(line),
            None if line == self.first_line + self.n_rows => {}
            None => self.line_number_list().push(line),
        }
        self.n_rows += 1;
    }

    /// Removes the cells of a row that must be dropped.
    #[cold]
    pub(super) fn remove_dropped_row(&mut self) {
        self.count_dropped_row();
        for column in &mut self.columns {
            column.truncate(self.n_rows as usize);
        }
    }

    /// Counts a dropped row without cells in the columns.
    #[cold]
    pub(super) fn count_dropped_row(&mut self) {
        self.n_dropped = self.n_dropped.saturating_add(1);
    }

    /// Appends the rows of the next part of the file.
    pub(super) fn append_rows_of_part(&mut self, part: &TableBuilder) {
        if self.capacity - self.n_rows < part.n_rows {
            self.reserve_rows(part.n_rows);
        }
        self.n_bytes += part.n_bytes;
        for (column, more) in self.columns.iter_mut().zip(&part.columns) {
            column.append_cells_of_column(more);
        }
        let is_consecutive =
            part.lines.is_none() && part.first_line == self.first_line + self.n_rows;
        if part.n_rows > 0 && (self.lines.is_some() || !is_consecutive) {
            let lines = self.line_number_list();
            match &part.lines {
                Some(more) => lines.extend_from_slice(more),
                None => lines.extend(part.first_line..part.first_line + part.n_rows),
            }
        }
        self.n_rows += part.n_rows;
        self.n_dropped = self.n_dropped.saturating_add(part.n_dropped);
        self.has_ended |= part.has_ended;
    }

    /// Removes all rows, and retains their memory for those of another part.
    pub(super) fn clear_for_next_part(&mut self, first_line: u32, size: u64) {
        self.columns.iter_mut().for_each(ColumnCells::clear);
        (self.n_rows, self.n_bytes, self.size) = (0, 0, size);
        (self.first_line, self.lines) = (first_line, None);
        (self.n_dropped, self.has_ended) = (0, false);
    }

    fn line_number_list(&mut self) -> &mut Vec<u32> {
        let simply = self.first_line..self.first_line + self.n_rows;
        self.lines.get_or_insert_with(|| simply.collect())
    }

    pub(super) fn finish_table(self, layout: &TableRowLayout) -> GtfsTable {
        let spec = layout.spec;
        let mut columns: Vec<Option<ColumnCells>> = spec.fields.iter().map(|_| None).collect();
        for (plan, mut column) in layout.cells.iter().zip(self.columns) {
            let at = spec.fields.iter().position(|field| field.name == plan.field.name);
            column.shrink_to_fit();
            if let Some(at) = at {
                columns[at] = Some(column);
            }
        }
        let table = GtfsTable::new(spec, columns, self.n_rows, self.lines);
        table.with_dropped_rows(self.n_dropped, self.has_ended)
    }
}

fn empty_column(kind: FieldKind) -> ColumnCells {
    if table::is_small_number_kind(kind) {
        ColumnCells::Small(Vec::new())
    } else if table::is_number_kind(kind) {
        ColumnCells::Number(Vec::new())
    } else if table::is_float_kind(kind) {
        ColumnCells::Float(Vec::new())
    } else {
        ColumnCells::Text { codes: Vec::new(), dict: DistinctTexts::new(random_hash_seed()) }
    }
}

/// Returns a seed that differs from run to run, so that ids with colliding hashes cannot be crafted.
fn random_hash_seed() -> u64 {
    use std::hash::{BuildHasher, RandomState};
    RandomState::new().hash_one("texts")
}
