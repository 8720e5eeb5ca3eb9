//! Stores all texts of a timetable in one arena, each once.

use hashbrown::HashTable;
use xxhash_rust::xxh3::xxh3_64_with_seed;

use crate::gtfs::DatasetLimits;

/// A text in the arena. [`TextId::EMPTY`] is the empty one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct TextId(u32);

impl TextId {
    pub(crate) const EMPTY: TextId = TextId(0);

    pub(crate) fn raw_text_number(self) -> u32 {
        self.0
    }

    pub(crate) fn from_raw_text_number(number: u32) -> TextId {
        TextId(number)
    }
}

/// The arena: the concatenated texts and the end of each.
#[derive(Debug, Default)]
pub(crate) struct StringArena {
    bytes: String,
    ends: Vec<u32>,
}

impl StringArena {
    /// Returns the text; empty if there is no text with that number.
    #[inline]
    pub(crate) fn get(&self, text: TextId) -> &str {
        let at = text.0 as usize;
        let start = if at == 0 { 0 } else { self.ends.get(at - 1).copied().unwrap_or(0) };
        let end = self.ends.get(at).copied().unwrap_or(start);
        &self.bytes[start as usize..end as usize]
    }

    /// Returns the text, or `None` if it is empty: in GTFS an empty cell means "no value".
    pub(crate) fn get_non_empty(&self, text: TextId) -> Option<&str> {
        Some(self.get(text)).filter(|text| !text.is_empty())
    }

    pub(crate) fn memory_bytes(&self) -> usize {
        self.bytes.capacity() + self.ends.capacity() * size_of::<u32>()
    }
}

/// An arena during the load, with the hash table that finds equal texts.
#[derive(Debug)]
pub(crate) struct StringInterner {
    strings: StringArena,
    table: HashTable<u32>,
    seed: u64,
    full: bool,
}

impl StringInterner {
    /// Creates an empty arena. The random `seed` prevents crafted hash collisions.
    pub(crate) fn new(seed: u64) -> StringInterner {
        let strings = StringArena { bytes: String::new(), ends: vec![0] };
        let mut interner = StringInterner { strings, table: HashTable::new(), seed, full: false };
        let empty = interner.seeded_hash("");
        interner.table.insert_unique(empty, 0, |_| empty);
        interner
    }

    /// Stores `text` once. Beyond [`DatasetLimits::TEXT_BYTES`] nothing more is stored and
    /// [`is_full`](StringInterner::is_full) returns true.
    pub(crate) fn intern(&mut self, text: &str) -> TextId {
        if text.is_empty() {
            return TextId::EMPTY;
        }
        let (hash, seed) = (self.seeded_hash(text), self.seed);
        let strings = &mut self.strings;
        if let Some(&found) = self.table.find(hash, |&number| strings.get(TextId(number)) == text) {
            return TextId(found);
        }
        let end = strings.bytes.len() + text.len();
        if end > DatasetLimits::TEXT_BYTES {
            self.full = true;
            return TextId::EMPTY;
        }
        let number = strings.ends.len() as u32;
        strings.bytes.push_str(text);
        strings.ends.push(end as u32);
        self.table.insert_unique(hash, number, |&other| {
            hash_text(seed, strings.get(TextId(other)).as_bytes())
        });
        TextId(number)
    }

    pub(crate) fn seeded_hash(&self, text: &str) -> u64 {
        hash_text(self.seed, text.as_bytes())
    }

    pub(crate) fn hash_seed(&self) -> u64 {
        self.seed
    }

    #[inline]
    pub(crate) fn get(&self, text: TextId) -> &str {
        self.strings.get(text)
    }

    pub(crate) fn is_full(&self) -> bool {
        self.full
    }

    pub(crate) fn into_arena(mut self) -> StringArena {
        self.strings.bytes.shrink_to_fit();
        self.strings.ends.shrink_to_fit();
        self.strings
    }
}

#[inline]
pub(crate) fn hash_text(seed: u64, text: &[u8]) -> u64 {
    xxh3_64_with_seed(text, seed)
}

/// Finds the number of a row by its id. It stores only numbers; the ids remain in the arena.
#[derive(Debug, Default)]
pub(crate) struct RowNumberById {
    table: HashTable<u32>,
    seed: u64,
}

impl RowNumberById {
    pub(crate) fn new(seed: u64) -> RowNumberById {
        RowNumberById { table: HashTable::new(), seed }
    }

    /// Returns the number of the row whose id, according to `id_of`, is `id`.
    pub(crate) fn find_row_number<'a>(
        &self,
        id: impl AsRef<[u8]>,
        id_of: impl Fn(u32) -> &'a str,
    ) -> Option<u32> {
        let id = id.as_ref();
        let is_it = |&number: &u32| id_of(number).as_bytes() == id;
        self.table.find(hash_text(self.seed, id), is_it).copied()
    }

    /// Adds the row `number` with `id`; returns the existing row with that id as the error.
    pub(crate) fn insert<'a>(
        &mut self,
        id: &str,
        number: u32,
        id_of: impl Fn(u32) -> &'a str,
    ) -> Result<(), u32> {
        let (hash, seed) = (hash_text(self.seed, id.as_bytes()), self.seed);
        if let Some(&found) = self.table.find(hash, |&other| id_of(other) == id) {
            return Err(found);
        }
        let hash_of = |&other: &u32| hash_text(seed, id_of(other).as_bytes());
        self.table.insert_unique(hash, number, hash_of);
        Ok(())
    }

    pub(crate) fn memory_bytes(&self) -> usize {
        self.table.allocation_size()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_texts_are_stored_once() {
        let mut interner = StringInterner::new(7);
        let north = interner.intern("North");
        let south = interner.intern("South");
        assert_eq!(interner.intern("North"), north);
        assert_eq!(interner.intern(""), TextId::EMPTY);
        let strings = interner.into_arena();
        assert_eq!(
            (strings.get(north), strings.get(south), strings.get(TextId::EMPTY)),
            ("North", "South", "")
        );
        assert_eq!(strings.bytes, "NorthSouth");
        assert_eq!(
            (strings.get_non_empty(south), strings.get_non_empty(TextId::EMPTY)),
            (Some("South"), None)
        );
    }

    #[test]
    fn different_texts_have_different_ids() {
        let mut interner = StringInterner::new(1);
        let texts: Vec<TextId> = (0..5_000).map(|n| interner.intern(&n.to_string())).collect();
        for (n, &text) in texts.iter().enumerate() {
            assert_eq!(interner.get(text), n.to_string());
        }
    }

    #[test]
    fn inserting_a_duplicate_id_returns_the_first_row() {
        let names = ["a", "b", "a"];
        let mut ids = RowNumberById::new(3);
        assert_eq!(ids.insert(names[0], 0, |n| names[n as usize]), Ok(()));
        assert_eq!(ids.insert(names[1], 1, |n| names[n as usize]), Ok(()));
        assert_eq!(ids.insert(names[2], 2, |n| names[n as usize]), Err(0));
        assert_eq!(ids.find_row_number("b", |n| names[n as usize]), Some(1));
        assert_eq!(ids.find_row_number("c", |n| names[n as usize]), None);
    }
}
