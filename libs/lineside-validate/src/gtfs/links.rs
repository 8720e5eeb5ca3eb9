//! Joins of rows, computed when the first rule needs them, and cached for the others.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, OnceLock, PoisonError},
};

use super::{GtfsFeed, GtfsFile, SpherePoint};
use crate::cancel::CancelUnwindCheck;

/// No row.
const NONE: u32 = u32::MAX;

/// The rows of a table by the code of one of its texts.
#[derive(Debug)]
pub struct RowsByTextCode {
    /// The start of each code's rows in `rows`, and the end of the last.
    starts: Vec<u32>,
    rows: Vec<u32>,
    cancel_check: CancelUnwindCheck,
}

impl RowsByTextCode {
    /// Returns the rows of a code in file order or, in tables with a sequence, in order of
    /// sequence. Unwinds if the run is cancelled.
    #[inline]
    pub fn rows_with_text_code(&self, code: u32) -> &[u32] {
        self.cancel_check.unwind_if_cancelled();
        let at = code as usize;
        match (self.starts.get(at), self.starts.get(at + 1)) {
            (Some(&start), Some(&end)) => &self.rows[start as usize..end as usize],
            _ => &[],
        }
    }

    /// Returns the codes that have rows, with their rows.
    pub fn iter(&self) -> impl Iterator<Item = (u32, &[u32])> {
        let codes = 0..self.starts.len().saturating_sub(1) as u32;
        codes
            .map(|code| (code, self.rows_with_text_code(code)))
            .filter(|(_, rows)| !rows.is_empty())
    }
}

/// A map from the codes of one table's texts to the rows of another table that they refer to.
#[derive(Debug)]
pub struct ReferencedRows {
    rows: Vec<u32>,
}

impl ReferencedRows {
    /// Returns the (first) row that a code refers to, if any.
    #[inline]
    pub fn row_referenced_by_code(&self, code: u32) -> Option<u32> {
        self.rows.get(code as usize).copied().filter(|&row| row != NONE)
    }
}

type ComputeOnceMap<K, V> = Mutex<HashMap<K, Arc<OnceLock<Arc<V>>>>>;

#[derive(Debug, Default)]
pub(super) struct RowJoinCache {
    groups: ComputeOnceMap<(GtfsFile, &'static str), RowsByTextCode>,
    links: ComputeOnceMap<(GtfsFile, &'static str, GtfsFile, &'static str), ReferencedRows>,
    pub(super) stop_points: OnceLock<Vec<Option<SpherePoint>>>,
}

fn get_or_compute_once<K: Eq + std::hash::Hash, V>(
    map: &ComputeOnceMap<K, V>,
    key: K,
    make: impl FnOnce() -> V,
) -> Arc<V> {
    let cell = {
        let mut map = map.lock().unwrap_or_else(PoisonError::into_inner);
        Arc::clone(map.entry(key).or_default())
    };
    Arc::clone(cell.get_or_init(|| Arc::new(make())))
}

impl GtfsFeed {
    /// Returns the rows of a file grouped by one of its texts. Stop times and shape points are in
    /// order of sequence, other rows in file order. O(n log n) at the first call.
    pub fn rows_grouped_by_field(
        &self,
        file: GtfsFile,
        field: &'static str,
    ) -> Arc<RowsByTextCode> {
        get_or_compute_once(&self.joins.groups, (file, field), || {
            self.group_rows_by_field(file, field)
        })
    }

    fn group_rows_by_field(&self, file: GtfsFile, field: &'static str) -> RowsByTextCode {
        let table = self.table(file);
        let texts = table.text_column(field);
        let mut starts = vec![0_u32; texts.text_code_count() + 1];
        for code in table.row_numbers().filter_map(|row| texts.text_code_of_row(row)) {
            starts[code as usize + 1] += 1;
        }
        for code in 1..starts.len() {
            starts[code] += starts[code - 1];
        }
        let mut next = starts.clone();
        let mut rows = vec![0_u32; starts.last().copied().unwrap_or_default() as usize];
        for row in table.row_numbers() {
            if let Some(code) = texts.text_code_of_row(row) {
                let at = &mut next[code as usize];
                rows[*at as usize] = row;
                *at += 1;
            }
        }
        let sequence = match (file, field) {
            (GtfsFile::StopTimes, "trip_id") => Some(table.number_column("stop_sequence")),
            (GtfsFile::Shapes, "shape_id") => Some(table.number_column("shape_pt_sequence")),
            _ => None,
        };
        if let Some(sequence) = sequence {
            for code in 0..starts.len() - 1 {
                let group = &mut rows[starts[code] as usize..starts[code + 1] as usize];
                let key = |row: &u32| sequence.cell_value_or(*row, 0);
                if !group.is_sorted_by_key(key) {
                    group.sort_by_key(key);
                }
            }
        }
        RowsByTextCode { starts, rows, cancel_check: self.cancel_check.clone() }
    }

    /// Returns the map from a field of a file to the rows of another file that it refers to: the
    /// first of each id.
    pub fn rows_referenced_by_field(
        &self,
        file: GtfsFile,
        field: &'static str,
        parent: GtfsFile,
        parent_field: &'static str,
    ) -> Arc<ReferencedRows> {
        get_or_compute_once(&self.joins.links, (file, field, parent, parent_field), || {
            let texts = self.table(file).text_column(field);
            let parent = self.table(parent);
            let ids = parent.text_column(parent_field);
            let mut first = vec![NONE; ids.text_code_count()];
            for row in parent.row_numbers().rev() {
                if let Some(code) = ids.text_code_of_row(row) {
                    first[code as usize] = row;
                }
            }
            let rows = (0..texts.text_code_count() as u32)
                .map(|code| {
                    ids.find_text_code(texts.text_of_code(code))
                        .map_or(NONE, |id| first[id as usize])
                })
                .collect();
            ReferencedRows { rows }
        })
    }
}
