//! A table that grows row by row, or by the rows of the next part of its file.

use lineside_formats::gtfs::fields::Kind;

use super::{
    column::Column,
    dict::Dict,
    header::Layout,
    table::{self, Status, Table},
};

/// The rows of a file, or of a part of one, that were read so far.
#[derive(Debug)]
pub(super) struct Growing {
    /// One for each cell of the layout.
    pub(super) columns: Vec<Column>,
    n_rows: u32,
    /// The line of the first row, if each row has a line of its own and no other lines are between.
    first_line: u32,
    /// The lines of the rows, once they are not simply numbered.
    lines: Option<Vec<u32>>,
    pub(super) has_bad_rows: bool,
    /// Whether the rest of the file cannot be read.
    pub(super) has_ended: bool,
}

impl Growing {
    /// No rows yet, of which the first will be on this line.
    pub(super) fn new(layout: &Layout, first_line: u32) -> Growing {
        let columns = layout.cells.iter().map(|plan| column_of(plan.field.kind)).collect();
        let (n_rows, lines) = (0, None);
        Growing { columns, n_rows, first_line, lines, has_bad_rows: false, has_ended: false }
    }

    /// Counts a row whose cells were put into the columns.
    #[inline]
    pub(super) fn keep_row(&mut self, line: u32) {
        match &mut self.lines {
            Some(lines) => lines.push(line),
            None if line == self.first_line + self.n_rows => {}
            None => self.list_lines().push(line),
        }
        self.n_rows += 1;
    }

    /// Takes the cells of a row out again that cannot be kept.
    #[cold]
    pub(super) fn drop_row(&mut self) {
        self.has_bad_rows = true;
        for column in &mut self.columns {
            column.truncate(self.n_rows as usize);
        }
    }

    /// Takes over the rows of the part of the file that follows.
    pub(super) fn append(&mut self, part: Growing) {
        for (column, more) in self.columns.iter_mut().zip(part.columns) {
            column.append(more);
        }
        let goes_on = part.lines.is_none() && part.first_line == self.first_line + self.n_rows;
        if part.n_rows > 0 && (self.lines.is_some() || !goes_on) {
            let lines = self.list_lines();
            match part.lines {
                Some(more) => lines.extend(more),
                None => lines.extend(part.first_line..part.first_line + part.n_rows),
            }
        }
        self.n_rows += part.n_rows;
        self.has_bad_rows |= part.has_bad_rows;
        self.has_ended |= part.has_ended;
    }

    fn list_lines(&mut self) -> &mut Vec<u32> {
        let simply = self.first_line..self.first_line + self.n_rows;
        self.lines.get_or_insert_with(|| simply.collect())
    }

    /// The table of all rows.
    pub(super) fn finish(self, layout: &Layout) -> Table {
        let spec = layout.spec;
        let mut columns: Vec<Option<Column>> = spec.fields.iter().map(|_| None).collect();
        for (plan, mut column) in layout.cells.iter().zip(self.columns) {
            let at = spec.fields.iter().position(|field| field.name == plan.field.name);
            column.shrink();
            if let Some(at) = at {
                columns[at] = Some(column);
            }
        }
        let status = if self.has_bad_rows { Status::BadRows } else { Status::Parsed };
        Table::new(spec, status, columns, self.n_rows, self.lines)
    }
}

fn column_of(kind: Kind) -> Column {
    if table::is_small(kind) {
        Column::Small(Vec::new())
    } else if table::is_number(kind) {
        Column::Number(Vec::new())
    } else if table::is_float(kind) {
        Column::Float(Vec::new())
    } else {
        Column::Text { codes: Vec::new(), dict: Dict::new(seed()) }
    }
}

/// Differs from run to run, so that nobody can write ids whose hashes all meet.
fn seed() -> u64 {
    use std::hash::{BuildHasher, RandomState};
    RandomState::new().hash_one("texts")
}
