//! Joins of rows, computed when the first rule needs them, and cached for the others.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, OnceLock, PoisonError},
};

use super::{GtfsFeed, GtfsFile, SpherePoint};
use crate::cancel::CancelCheck;

/// No row.
const NONE: u32 = u32::MAX;

/// The rows of a table by the code of one of its texts.
#[derive(Debug)]
pub struct RowGroups {
    /// The start of each code's rows in `rows`, and the end of the last.
    starts: Vec<u32>,
    rows: Vec<u32>,
    cancel_check: CancelCheck,
}

impl RowGroups {
    /// Returns the rows of a code in file order or, in tables with a sequence, in order of
    /// sequence. Unwinds if the run is cancelled.
    #[inline]
    pub fn rows_of_code(&self, code: u32) -> &[u32] {
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
        codes.map(|code| (code, self.rows_of_code(code))).filter(|(_, rows)| !rows.is_empty())
    }
}

/// A map from the codes of one table's texts to the rows of another table that they refer to.
#[derive(Debug)]
pub struct RowLink {
    rows: Vec<u32>,
}

impl RowLink {
    /// Returns the (first) row that a code refers to, if any.
    #[inline]
    pub fn row_of_code(&self, code: u32) -> Option<u32> {
        self.rows.get(code as usize).copied().filter(|&row| row != NONE)
    }
}

type Lazy<K, V> = Mutex<HashMap<K, Arc<OnceLock<Arc<V>>>>>;

#[derive(Debug, Default)]
pub(super) struct JoinCache {
    groups: Lazy<(GtfsFile, &'static str), RowGroups>,
    links: Lazy<(GtfsFile, &'static str, GtfsFile, &'static str), RowLink>,
    pub(super) stop_points: OnceLock<Vec<Option<SpherePoint>>>,
}

fn get_or_make<K: Eq + std::hash::Hash, V>(
    map: &Lazy<K, V>,
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
    pub fn row_groups(&self, file: GtfsFile, field: &'static str) -> Arc<RowGroups> {
        get_or_make(&self.joins.groups, (file, field), || self.make_row_groups(file, field))
    }

    fn make_row_groups(&self, file: GtfsFile, field: &'static str) -> RowGroups {
        let table = self.table(file);
        let texts = table.text_column(field);
        let mut starts = vec![0_u32; texts.count_codes() + 1];
        for code in table.rows().filter_map(|row| texts.code_of_row(row)) {
            starts[code as usize + 1] += 1;
        }
        for code in 1..starts.len() {
            starts[code] += starts[code - 1];
        }
        let mut next = starts.clone();
        let mut rows = vec![0_u32; starts.last().copied().unwrap_or_default() as usize];
        for row in table.rows() {
            if let Some(code) = texts.code_of_row(row) {
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
                let key = |row: &u32| sequence.get_or(*row, 0);
                if !group.is_sorted_by_key(key) {
                    group.sort_by_key(key);
                }
            }
        }
        RowGroups { starts, rows, cancel_check: self.cancel_check.clone() }
    }

    /// Returns the map from a field of a file to the rows of another file that it refers to: the
    /// first of each id.
    pub fn row_link(
        &self,
        file: GtfsFile,
        field: &'static str,
        parent: GtfsFile,
        parent_field: &'static str,
    ) -> Arc<RowLink> {
        get_or_make(&self.joins.links, (file, field, parent, parent_field), || {
            let texts = self.table(file).text_column(field);
            let parent = self.table(parent);
            let ids = parent.text_column(parent_field);
            let mut first = vec![NONE; ids.count_codes()];
            for row in parent.rows().rev() {
                if let Some(code) = ids.code_of_row(row) {
                    first[code as usize] = row;
                }
            }
            let rows = (0..texts.count_codes() as u32)
                .map(|code| {
                    ids.find_code(texts.text_of_code(code)).map_or(NONE, |id| first[id as usize])
                })
                .collect();
            RowLink { rows }
        })
    }
}
