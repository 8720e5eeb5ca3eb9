//! The distinct texts of one column.

use hashbrown::HashTable;
use xxhash_rust::xxh3::xxh3_64_with_seed;

/// Distinct texts with codes from 0, in order of insertion.
#[derive(Debug, Default)]
pub struct DistinctTexts {
    bytes: String,
    ends: Vec<usize>,
    table: HashTable<u32>,
    /// The seed that makes hashes unpredictable to the authors of the texts.
    seed: u64,
}

impl DistinctTexts {
    pub(crate) fn new(seed: u64) -> DistinctTexts {
        DistinctTexts { seed, ..DistinctTexts::default() }
    }

    /// Returns the code of a text, and adds the text if it is new.
    pub(crate) fn intern_text(&mut self, text: &str) -> u32 {
        let (bytes, ends, seed) = (&self.bytes, &self.ends, self.seed);
        let hash = xxh3_64_with_seed(text.as_bytes(), seed);
        if let Some(&code) = self.table.find(hash, |&code| text_at(bytes, ends, code) == text) {
            return code;
        }
        let code = self.ends.len() as u32;
        self.bytes.push_str(text);
        self.ends.push(self.bytes.len());
        let (bytes, ends) = (&self.bytes, &self.ends);
        self.table.insert_unique(hash, code, |&other| {
            xxh3_64_with_seed(text_at(bytes, ends, other).as_bytes(), seed)
        });
        code
    }

    /// Returns the code of a text, if it exists.
    pub fn find_text_code(&self, text: &str) -> Option<u32> {
        let hash = xxh3_64_with_seed(text.as_bytes(), self.seed);
        self.table.find(hash, |&code| self.get(code) == text).copied()
    }

    /// Returns the text of a code; empty if there is none.
    pub fn get(&self, code: u32) -> &str {
        text_at(&self.bytes, &self.ends, code)
    }

    /// Returns the number of texts.
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// Returns true if there are no texts.
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// Removes all texts, and retains their memory.
    pub(crate) fn clear(&mut self) {
        self.bytes.clear();
        self.ends.clear();
        self.table.clear();
    }

    pub(crate) fn shrink_to_fit(&mut self) {
        self.bytes.shrink_to_fit();
        self.ends.shrink_to_fit();
    }

    /// Returns the texts in the order of their codes.
    pub fn iter(&self) -> impl Iterator<Item = &str> {
        (0..self.ends.len() as u32).map(|code| self.get(code))
    }
}

fn text_at<'a>(bytes: &'a str, ends: &[usize], code: u32) -> &'a str {
    let at = code as usize;
    let Some(&end) = ends.get(at) else { return "" };
    let start = if at == 0 { 0 } else { ends[at - 1] };
    &bytes[start..end]
}
