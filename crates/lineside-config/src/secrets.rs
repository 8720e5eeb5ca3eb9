//! Random secrets, and hashes to compare them.

use aws_lc_rs::{digest, rand};
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;

/// Random bytes in a token or session id.
const RANDOM_BYTES: usize = 32;

/// Hash of a secret. Comparing two hashes in constant time reveals nothing about the secrets, not even their lengths.
pub type SecretFingerprint = [u8; digest::SHA256_OUTPUT_LEN];

pub fn hash_secret(secret: &str) -> SecretFingerprint {
    let hash = digest::digest(&digest::SHA256, secret.as_bytes());
    hash.as_ref().try_into().expect("a SHA-256 hash has a fixed length")
}

/// Returns an unguessable text of letters, digits, `-` and `_`.
pub fn random_secret() -> String {
    let mut bytes = [0; RANDOM_BYTES];
    rand::fill(&mut bytes).expect("the system has random bytes after boot");
    URL_SAFE_NO_PAD.encode(bytes)
}
