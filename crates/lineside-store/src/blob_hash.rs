//! The names of blobs.

use std::fmt;

use aws_lc_rs::digest::{SHA256, digest};

const HASH_BYTES: usize = 32;

/// The SHA-256 of a body.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct BlobHash([u8; HASH_BYTES]);

impl BlobHash {
    /// Computes the hash of these bytes.
    pub fn from_content(bytes: &[u8]) -> BlobHash {
        let mut hash = [0; HASH_BYTES];
        hash.copy_from_slice(digest(&SHA256, bytes).as_ref());
        BlobHash(hash)
    }

    /// Parses 64 hexadecimal digits in lower case, as [`Display`](fmt::Display) writes them.
    pub fn parse_hex(text: &str) -> Option<BlobHash> {
        let digits = text.as_bytes();
        if digits.len() != 2 * HASH_BYTES {
            return None;
        }
        let mut hash = [0; HASH_BYTES];
        for (byte, pair) in hash.iter_mut().zip(digits.chunks_exact(2)) {
            *byte = parse_hex_digit(pair[0])? << 4 | parse_hex_digit(pair[1])?;
        }
        Some(BlobHash(hash))
    }

    /// Returns the bytes as stored in the tables.
    pub(crate) fn as_bytes(&self) -> &[u8] {
        &self.0
    }

    pub(crate) fn from_digest(bytes: &[u8]) -> Option<BlobHash> {
        bytes.try_into().ok().map(BlobHash)
    }
}

fn parse_hex_digit(digit: u8) -> Option<u8> {
    match digit {
        b'0'..=b'9' => Some(digit - b'0'),
        b'a'..=b'f' => Some(digit - b'a' + 10),
        _ => None,
    }
}

impl fmt::Display for BlobHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for BlobHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}
