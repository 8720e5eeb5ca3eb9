//! Lists by key, concatenated: one array of items, and the start of each key's items.

use std::ops::Range;

/// The items of each key from 0, in the order in which they were given.
#[derive(Debug)]
pub(crate) struct ItemsByKey<T> {
    starts: Vec<u32>,
    items: Vec<T>,
}

impl<T> Default for ItemsByKey<T> {
    fn default() -> Self {
        ItemsByKey { starts: vec![0], items: Vec::new() }
    }
}

impl<T: Copy> ItemsByKey<T> {
    /// Groups `pairs` of a key below `n_keys` and an item. The iterator is walked twice and must yield the same items.
    pub(crate) fn new(
        n_keys: usize,
        pairs: impl Iterator<Item = (usize, T)> + Clone,
    ) -> ItemsByKey<T> {
        let mut starts = vec![0_u32; n_keys + 1];
        let mut fill = None;
        for (key, item) in pairs.clone() {
            starts[key + 1] += 1;
            fill = Some(item);
        }
        for key in 0..n_keys {
            starts[key + 1] += starts[key];
        }
        let Some(fill) = fill else { return ItemsByKey { starts, items: Vec::new() } };
        let mut items = vec![fill; starts[n_keys] as usize];
        let mut next = starts.clone();
        for (key, item) in pairs {
            items[next[key] as usize] = item;
            next[key] += 1;
        }
        ItemsByKey { starts, items }
    }

    /// Returns the items of `key`; empty if the key is out of range.
    pub(crate) fn items_of_key(&self, key: usize) -> &[T] {
        &self.items[self.item_range_of_key(key)]
    }

    pub(crate) fn items_of_key_mut(&mut self, key: usize) -> &mut [T] {
        let range = self.item_range_of_key(key);
        &mut self.items[range]
    }

    fn item_range_of_key(&self, key: usize) -> Range<usize> {
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
        let groups = ItemsByKey::new(5, pairs.into_iter());
        let all: Vec<String> =
            (0..7).map(|key| groups.items_of_key(key).iter().collect()).collect();
        assert_eq!(all, ["b", "", "ac", "d", "", "", ""]);
        assert!(ItemsByKey::<u8>::new(0, [].into_iter()).items_of_key(0).is_empty());
        assert!(ItemsByKey::<u8>::default().items_of_key(0).is_empty());
    }
}
