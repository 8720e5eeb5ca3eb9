//! Lists by key, concatenated: one array of items, and the start of each key's items.

use std::ops::Range;

/// The items of each key from 0, in the order in which they were given.
#[derive(Debug)]
pub(crate) struct GroupedItems<T> {
    starts: Vec<u32>,
    items: Vec<T>,
}

impl<T> Default for GroupedItems<T> {
    fn default() -> Self {
        GroupedItems { starts: vec![0], items: Vec::new() }
    }
}

impl<T: Copy> GroupedItems<T> {
    /// Groups `pairs` of a key below `n_keys` and an item. The iterator is walked twice and must yield the same items.
    pub(crate) fn new(
        n_keys: usize,
        pairs: impl Iterator<Item = (usize, T)> + Clone,
    ) -> GroupedItems<T> {
        let mut starts = vec![0_u32; n_keys + 1];
        let mut fill = None;
        for (key, item) in pairs.clone() {
            starts[key + 1] += 1;
            fill = Some(item);
        }
        for key in 0..n_keys {
            starts[key + 1] += starts[key];
        }
        let Some(fill) = fill else { return GroupedItems { starts, items: Vec::new() } };
        let mut items = vec![fill; starts[n_keys] as usize];
        let mut next = starts.clone();
        for (key, item) in pairs {
            items[next[key] as usize] = item;
            next[key] += 1;
        }
        GroupedItems { starts, items }
    }

    /// Returns the items of `key`; empty if the key is out of range.
    pub(crate) fn group_items(&self, key: usize) -> &[T] {
        &self.items[self.group_range(key)]
    }

    pub(crate) fn group_items_mut(&mut self, key: usize) -> &mut [T] {
        let range = self.group_range(key);
        &mut self.items[range]
    }

    fn group_range(&self, key: usize) -> Range<usize> {
        match (self.starts.get(key), self.starts.get(key + 1)) {
            (Some(&start), Some(&end)) => start as usize..end as usize,
            _ => 0..0,
        }
    }

    pub(crate) fn memory_bytes(&self) -> usize {
        self.starts.capacity() * size_of::<u32>() + self.items.capacity() * size_of::<T>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn items_are_grouped_by_key_in_order() {
        let pairs = [(2, 'a'), (0, 'b'), (2, 'c'), (3, 'd')];
        let groups = GroupedItems::new(5, pairs.into_iter());
        let all: Vec<String> = (0..7).map(|key| groups.group_items(key).iter().collect()).collect();
        assert_eq!(all, ["b", "", "ac", "d", "", "", ""]);
        assert!(GroupedItems::<u8>::new(0, [].into_iter()).group_items(0).is_empty());
        assert!(GroupedItems::<u8>::default().group_items(0).is_empty());
    }
}
