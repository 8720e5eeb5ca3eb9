//! The ids of feeds.

use std::fmt;

use smol_str::SmolStr;

use crate::limits::FEED_ID_CHARS_MAX;

/// The name of a feed in URLs, channels and metrics: 1 to 64 of `A-Z a-z 0-9 . _ -`.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct FeedId(SmolStr);

impl FeedId {
    /// Validates a feed id.
    ///
    /// # Errors
    /// Returns the rejected text and what is wrong with it.
    pub fn new(text: &str) -> Result<FeedId, BadFeedId> {
        let fault = if text.is_empty() {
            "is empty"
        } else if text.len() > FEED_ID_CHARS_MAX {
            "is longer than 64 characters"
        } else if !text.bytes().all(|b| b.is_ascii_alphanumeric() || b"._-".contains(&b)) {
            "may only contain letters, digits, '.', '_' and '-'"
        } else if text.bytes().all(|b| b == b'.') {
            "must not consist of dots only"
        } else {
            return Ok(FeedId(SmolStr::new(text)));
        };
        Err(BadFeedId { text: text.chars().take(FEED_ID_CHARS_MAX).collect(), fault })
    }

    /// Returns the id as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for FeedId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Debug for FeedId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self.0.as_str(), f)
    }
}

impl AsRef<str> for FeedId {
    fn as_ref(&self) -> &str {
        &self.0
    }
}

impl serde::Serialize for FeedId {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.0)
    }
}

/// An invalid feed id.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the feed id {text:?} {fault}")]
pub struct BadFeedId {
    text: String,
    fault: &'static str,
}
