//! Limits on SIRI messages.

use crate::limits::MESSAGE_BYTES_MAX;

/// Limits on one message; data beyond them are refused or dropped, never cut.
///
/// The records of a real message take about as much memory as its bytes, those of a message of empty elements up to
/// sixty times as much; [`MessageLimits::record_bytes`] bounds these.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MessageLimits {
    /// Longest body, in bytes; a longer one is refused.
    pub body_bytes: usize,
    /// Longest text of one element, in bytes; a longer one is dropped with a problem.
    pub text_bytes: usize,
    /// Most memory of all records and payloads of a message, in bytes; a message that needs more is refused. Texts
    /// longer than 23 bytes are not included, and together are no longer than the body; a list may take twice the size
    /// of its items.
    pub record_bytes: usize,
}

impl MessageLimits {
    /// Deepest nesting of elements or of JSON; situations reach about 20.
    pub const DEPTH: usize = 100;
    /// Maximum number of retained problems of one journey, activity, visit or situation; further ones are only counted.
    pub const PROBLEMS_PER_RECORD: usize = 20;
}

impl Default for MessageLimits {
    fn default() -> MessageLimits {
        MessageLimits {
            body_bytes: MESSAGE_BYTES_MAX as usize,
            text_bytes: 64 << 10,
            record_bytes: 512 << 20,
        }
    }
}
