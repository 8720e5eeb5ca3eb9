//! Secrets: texts that are sent but never shown.

use std::fmt;

/// A password, key or token. Printing it yields `***`; only [`Secret::reveal`] returns the text.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(Box<str>);

impl Secret {
    /// Wraps a text.
    pub fn new(text: impl Into<Box<str>>) -> Secret {
        Secret(text.into())
    }

    /// Returns the text, to be sent to the source only.
    pub fn reveal(&self) -> &str {
        &self.0
    }

    /// Returns true if `bytes` contain the secret.
    pub fn occurs_in(&self, bytes: &[u8]) -> bool {
        let own = self.0.as_bytes();
        !own.is_empty() && bytes.windows(own.len()).any(|window| window == own)
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("***")
    }
}

impl fmt::Display for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("***")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_is_never_printed() {
        let secret = Secret::new("hunter2");
        assert_eq!(format!("{secret} {secret:?}"), "*** ***");
        assert_eq!(secret.reveal(), "hunter2");
        assert!(secret.occurs_in(b"<a>hunter2</a>") && !secret.occurs_in(b"hunter"));
        assert!(!Secret::new("").occurs_in(b"anything"));
    }
}
