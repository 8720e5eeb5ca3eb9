//! Random secrets, and hashes to compare them.

use aws_lc_rs::{digest, rand};
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;

/// Random bytes in a token or session id.
const RANDOM_BYTES: usize = 32;

/// Hash of a secret. Comparing two hashes in constant time reveals nothing about the secrets, not even their lengths.
pub(super) type Fingerprint = [u8; digest::SHA256_OUTPUT_LEN];

pub(super) fn hash_secret(secret: &str) -> Fingerprint {
    let hash = digest::digest(&digest::SHA256, secret.as_bytes());
    hash.as_ref().try_into().expect("SHA-256 has as many bytes as it says")
}

/// Returns an unguessable text of letters, digits, `-` and `_`.
pub(crate) fn random_secret() -> String {
    let mut bytes = [0; RANDOM_BYTES];
    rand::fill(&mut bytes).expect("the system gives random bytes once it has started");
    URL_SAFE_NO_PAD.encode(bytes)
}
