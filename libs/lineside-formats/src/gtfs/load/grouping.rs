//! Rows that belong together, whether or not they stand together.
//!
//! Almost every feed writes the stop times of a trip, and the points of a shape, one after the other. Such a group is
//! finished as soon as the next begins, so only one is ever in memory. A key that comes again later is *scattered*:
//! its group is not whole, and a second pass over the file collects the rows of just these keys.

use std::collections::BTreeSet;

/// Groups of rows by key, in a first pass over a file.
#[derive(Debug)]
pub(super) struct Grouping<T> {
    current: Option<u32>,
    rows: Vec<T>,
    seen: Vec<u64>,
    scattered: BTreeSet<u32>,
}

impl<T> Grouping<T> {
    pub(super) fn new() -> Grouping<T> {
        Grouping { current: None, rows: Vec::new(), seen: Vec::new(), scattered: BTreeSet::new() }
    }

    /// Adds a row. When it begins a new group, `finish` gets the one before.
    pub(super) fn push(&mut self, key: u32, row: T, finish: impl FnOnce(u32, &mut Vec<T>)) {
        if self.current != Some(key) {
            self.flush(finish);
            self.current = Some(key);
            if !self.see(key) {
                self.scattered.insert(key);
            }
        }
        self.rows.push(row);
    }

    /// Gives the last group to `finish`.
    pub(super) fn flush(&mut self, finish: impl FnOnce(u32, &mut Vec<T>)) {
        if let Some(key) = self.current.take()
            && !self.scattered.contains(&key)
        {
            finish(key, &mut self.rows);
        }
        self.rows.clear();
    }

    /// The keys whose rows stand in several places; what `finish` got of them is not all.
    pub(super) fn into_scattered(self) -> BTreeSet<u32> {
        self.scattered
    }

    /// Notes a key; false if it was noted before.
    fn see(&mut self, key: u32) -> bool {
        let (word, bit) = (key as usize / 64, 1_u64 << (key % 64));
        if word >= self.seen.len() {
            self.seen.resize(word + 1, 0);
        }
        let is_new = self.seen[word] & bit == 0;
        self.seen[word] |= bit;
        is_new
    }
}

/// Groups the rows that a second pass has collected.
pub(super) fn finish_scattered<T>(
    mut rows: Vec<(u32, T)>,
    mut finish: impl FnMut(u32, &mut Vec<T>),
) {
    rows.sort_by_key(|&(key, _)| key);
    let mut rows = rows.into_iter().peekable();
    let mut group = Vec::new();
    while let Some((key, row)) = rows.next() {
        group.push(row);
        if rows.peek().is_none_or(|&(next, _)| next != key) {
            finish(key, &mut group);
            group.clear();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn groups_are_whole_in_any_order(rows in prop::collection::vec((0_u32..200, 0_u8..255), 0..60)) {
            let mut found: BTreeMap<u32, Vec<u8>> = BTreeMap::new();
            let mut grouping = Grouping::new();
            for &(key, row) in &rows {
                grouping.push(key, row, |key, rows| { found.insert(key, rows.clone()); });
            }
            grouping.flush(|key, rows| { found.insert(key, rows.clone()); });
            let scattered = grouping.into_scattered();
            let again = rows.iter().copied().filter(|(key, _)| scattered.contains(key)).collect();
            finish_scattered(again, |key, rows| { found.insert(key, rows.clone()); });

            let mut expected: BTreeMap<u32, Vec<u8>> = BTreeMap::new();
            for (key, row) in rows {
                expected.entry(key).or_default().push(row);
            }
            prop_assert_eq!(found, expected);
        }
    }
}
