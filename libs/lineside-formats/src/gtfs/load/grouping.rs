//! Groups rows by key, also if the rows of a key are not consecutive.
//!
//! Almost every feed writes the stop times of a trip, and the points of a shape, consecutively. Such a group is passed
//! on as soon as the next begins, so only one is ever in memory. A key that occurs again later is *scattered*: the
//! receiver of the groups is notified and has to merge them.

/// The occurrence of a key that a group belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum FirstOrFurtherGroup {
    /// The first group of the key, which usually is the only one.
    First,
    /// A further group of the key.
    Further,
}

/// Groups rows by key, in the order of a file.
#[derive(Debug)]
pub(super) struct RowGrouper<T> {
    current: Option<(u32, FirstOrFurtherGroup)>,
    rows: Vec<T>,
    seen: Vec<u64>,
}

impl<T> RowGrouper<T> {
    pub(super) fn new() -> RowGrouper<T> {
        RowGrouper { current: None, rows: Vec::new(), seen: Vec::new() }
    }

    /// Adds a row. If it begins a new group, the previous group is passed to `take`.
    pub(super) fn push_row(
        &mut self,
        key: u32,
        row: T,
        take: impl FnOnce(u32, FirstOrFurtherGroup, &mut Vec<T>),
    ) {
        if self.current.is_none_or(|(current, _)| current != key) {
            self.flush_group(take);
            let part = if self.mark_key_seen(key) {
                FirstOrFurtherGroup::First
            } else {
                FirstOrFurtherGroup::Further
            };
            self.current = Some((key, part));
        }
        self.rows.push(row);
    }

    /// Passes the last group to `take`.
    pub(super) fn flush_group(&mut self, take: impl FnOnce(u32, FirstOrFurtherGroup, &mut Vec<T>)) {
        if let Some((key, part)) = self.current.take() {
            take(key, part, &mut self.rows);
        }
        self.rows.clear();
    }

    /// Marks a key as seen; returns false if it was seen before.
    fn mark_key_seen(&mut self, key: u32) -> bool {
        let (word, bit) = (key as usize / 64, 1_u64 << (key % 64));
        if word >= self.seen.len() {
            self.seen.resize(word + 1, 0);
        }
        let is_new = self.seen[word] & bit == 0;
        self.seen[word] |= bit;
        is_new
    }
}

/// Groups rows that were collected from all over a file. The rows of a key stay in their order.
pub(super) fn group_scattered_rows<T>(
    mut rows: Vec<(u32, T)>,
    mut take: impl FnMut(u32, &mut Vec<T>),
) {
    rows.sort_by_key(|&(key, _)| key);
    let mut rows = rows.into_iter().peekable();
    let mut group = Vec::new();
    while let Some((key, row)) = rows.next() {
        group.push(row);
        if rows.peek().is_none_or(|&(next, _)| next != key) {
            take(key, &mut group);
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
        fn first_and_further_groups_together_contain_every_row(rows in prop::collection::vec((0_u32..200, 0_u8..255), 0..60)) {
            let mut found: BTreeMap<u32, Vec<u8>> = BTreeMap::new();
            let mut further = Vec::new();
            let mut take = |key, part, rows: &mut Vec<u8>| match part {
                FirstOrFurtherGroup::First => assert_eq!(found.insert(key, rows.clone()), None),
                FirstOrFurtherGroup::Further => further.extend(rows.iter().map(|&row| (key, row))),
            };
            let mut grouping = RowGrouper::new();
            for &(key, row) in &rows {
                grouping.push_row(key, row, &mut take);
            }
            grouping.flush_group(&mut take);
            group_scattered_rows(further, |key, rows| {
                found.get_mut(&key).expect("a later group follows a first one").extend(rows.iter());
            });

            let mut expected: BTreeMap<u32, Vec<u8>> = BTreeMap::new();
            for (key, row) in rows {
                expected.entry(key).or_default().push(row);
            }
            prop_assert_eq!(found, expected);
        }
    }
}
