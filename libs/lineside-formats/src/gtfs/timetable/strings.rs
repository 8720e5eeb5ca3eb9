//! All texts of a timetable in one arena, each kept once.

use hashbrown::HashTable;
use xxhash_rust::xxh3::xxh3_64_with_seed;

use crate::gtfs::Limits;

/// A text in the arena. [`Text::EMPTY`] is the empty one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct Text(u32);

impl Text {
    pub(crate) const EMPTY: Text = Text(0);

    pub(crate) fn number(self) -> u32 {
        self.0
    }

    pub(crate) fn from_number(number: u32) -> Text {
        Text(number)
    }
}

/// The arena: the texts end to end, and where each ends.
#[derive(Debug, Default)]
pub(crate) struct Strings {
    bytes: String,
    ends: Vec<u32>,
}

impl Strings {
    /// The text, empty if there is none of that number.
    #[inline]
    pub(crate) fn get(&self, text: Text) -> &str {
        let at = text.0 as usize;
        let start = if at == 0 { 0 } else { self.ends.get(at - 1).copied().unwrap_or(0) };
        let end = self.ends.get(at).copied().unwrap_or(start);
        &self.bytes[start as usize..end as usize]
    }

    /// The text, or `None` if it is empty: in GTFS an empty cell means "not given".
    pub(crate) fn given(&self, text: Text) -> Option<&str> {
        Some(self.get(text)).filter(|text| !text.is_empty())
    }

    pub(crate) fn memory_bytes(&self) -> usize {
        self.bytes.capacity() + self.ends.capacity() * size_of::<u32>()
    }
}

/// An arena that is being filled, with the table that finds equal texts.
#[derive(Debug)]
pub(crate) struct Interner {
    strings: Strings,
    table: HashTable<u32>,
    seed: u64,
    full: bool,
}

impl Interner {
    /// An empty arena. `seed` makes the hashes unforeseeable for whoever writes the texts.
    pub(crate) fn new(seed: u64) -> Interner {
        let strings = Strings { bytes: String::new(), ends: vec![0] };
        let mut interner = Interner { strings, table: HashTable::new(), seed, full: false };
        let empty = interner.hash("");
        interner.table.insert_unique(empty, 0, |_| empty);
        interner
    }

    /// Keeps `text`, once. Beyond [`Limits::TEXT_BYTES`] nothing more is kept and
    /// [`is_full`](Interner::is_full) says so.
    pub(crate) fn intern(&mut self, text: &str) -> Text {
        if text.is_empty() {
            return Text::EMPTY;
        }
        let (hash, seed) = (self.hash(text), self.seed);
        let strings = &mut self.strings;
        if let Some(&found) = self.table.find(hash, |&number| strings.get(Text(number)) == text) {
            return Text(found);
        }
        let end = strings.bytes.len() + text.len();
        if end > Limits::TEXT_BYTES {
            self.full = true;
            return Text::EMPTY;
        }
        let number = strings.ends.len() as u32;
        strings.bytes.push_str(text);
        strings.ends.push(end as u32);
        self.table.insert_unique(hash, number, |&other| {
            hash_text(seed, strings.get(Text(other)).as_bytes())
        });
        Text(number)
    }

    pub(crate) fn hash(&self, text: &str) -> u64 {
        hash_text(self.seed, text.as_bytes())
    }

    pub(crate) fn seed(&self) -> u64 {
        self.seed
    }

    #[inline]
    pub(crate) fn get(&self, text: Text) -> &str {
        self.strings.get(text)
    }

    pub(crate) fn is_full(&self) -> bool {
        self.full
    }

    pub(crate) fn finish(mut self) -> Strings {
        self.strings.bytes.shrink_to_fit();
        self.strings.ends.shrink_to_fit();
        self.strings
    }
}

#[inline]
pub(crate) fn hash_text(seed: u64, text: &[u8]) -> u64 {
    xxh3_64_with_seed(text, seed)
}

/// Finds the number of a row by its id. Holds numbers only: the ids stay in the arena.
#[derive(Debug, Default)]
pub(crate) struct Ids {
    table: HashTable<u32>,
    seed: u64,
}

impl Ids {
    pub(crate) fn new(seed: u64) -> Ids {
        Ids { table: HashTable::new(), seed }
    }

    /// The number of the row whose id, as `id_of` gives it, is `id`.
    pub(crate) fn find<'a>(
        &self,
        id: impl AsRef<[u8]>,
        id_of: impl Fn(u32) -> &'a str,
    ) -> Option<u32> {
        let id = id.as_ref();
        let is_it = |&number: &u32| id_of(number).as_bytes() == id;
        self.table.find(hash_text(self.seed, id), is_it).copied()
    }

    /// Adds the row `number` with `id`, or returns the one that has the id already.
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
    fn equal_texts_are_kept_once() {
        let mut interner = Interner::new(7);
        let north = interner.intern("North");
        let south = interner.intern("South");
        assert_eq!(interner.intern("North"), north);
        assert_eq!(interner.intern(""), Text::EMPTY);
        let strings = interner.finish();
        assert_eq!(
            (strings.get(north), strings.get(south), strings.get(Text::EMPTY)),
            ("North", "South", "")
        );
        assert_eq!(strings.bytes, "NorthSouth");
        assert_eq!((strings.given(south), strings.given(Text::EMPTY)), (Some("South"), None));
    }

    #[test]
    fn many_texts_stay_apart() {
        let mut interner = Interner::new(1);
        let texts: Vec<Text> = (0..5_000).map(|n| interner.intern(&n.to_string())).collect();
        for (n, &text) in texts.iter().enumerate() {
            assert_eq!(interner.get(text), n.to_string());
        }
    }

    #[test]
    fn a_second_row_of_an_id_is_told_about_the_first() {
        let names = ["a", "b", "a"];
        let mut ids = Ids::new(3);
        assert_eq!(ids.insert(names[0], 0, |n| names[n as usize]), Ok(()));
        assert_eq!(ids.insert(names[1], 1, |n| names[n as usize]), Ok(()));
        assert_eq!(ids.insert(names[2], 2, |n| names[n as usize]), Err(0));
        assert_eq!(ids.find("b", |n| names[n as usize]), Some(1));
        assert_eq!(ids.find("c", |n| names[n as usize]), None);
    }
}
