//! A fast hasher for the maps of the write path, keyed per process so that ids cannot be chosen to collide.

use std::{
    collections::HashMap,
    hash::{BuildHasher, Hasher},
};

use xxhash_rust::xxh3::xxh3_64_with_seed;

/// A map keyed by text from feeds.
pub type TextHashMap<K, V> = HashMap<K, V, SeededHashBuilder>;

/// Builds hashers with one secret seed.
#[derive(Clone, Copy, Debug, Default)]
pub struct SeededHashBuilder(pub u64);

impl SeededHashBuilder {
    /// Hashes a sequence of texts; boundaries count, so ("a", "bc") and ("ab", "c") differ.
    pub fn hash_texts(self, texts: &[&str]) -> u64 {
        texts.iter().fold(self.0, |seed, text| {
            xxh3_64_with_seed(text.as_bytes(), seed).rotate_left(23) ^ text.len() as u64
        })
    }
}

impl BuildHasher for SeededHashBuilder {
    type Hasher = SeededHasher;

    fn build_hasher(&self) -> SeededHasher {
        SeededHasher(self.0)
    }
}

#[derive(Debug)]
pub struct SeededHasher(u64);

impl Hasher for SeededHasher {
    fn write(&mut self, bytes: &[u8]) {
        self.0 = xxh3_64_with_seed(bytes, self.0);
    }

    /// Mixes in the byte that ends a text; a text cannot contain it, so one round of mixing separates texts.
    fn write_u8(&mut self, byte: u8) {
        self.0 = (self.0 ^ u64::from(byte)).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    }

    fn finish(&self) -> u64 {
        self.0
    }
}
