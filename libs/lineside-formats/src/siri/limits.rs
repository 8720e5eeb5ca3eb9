//! How much of a message is taken.

/// Bounds on one message; what exceeds them is refused or left out, never cut.
///
/// The records of a real message take about as much memory as its bytes; those of one that is made of empty elements up
/// to sixty times as much, which is what [`MessageLimits::record_bytes`] is for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MessageLimits {
    /// Longest body, in bytes; a longer one is refused.
    pub body_bytes: usize,
    /// Longest text of one element, in bytes; a longer one is left out with a problem.
    pub text_bytes: usize,
    /// Most memory of all records of a message, and of what it is sent for, in bytes; a message that needs more is
    /// refused. Texts beyond 23 bytes come on top, and are together no longer than the body; a list may take twice what
    /// is in it.
    pub record_bytes: usize,
}

impl MessageLimits {
    /// Deepest nesting of elements or of JSON; situations reach about 20.
    pub const DEPTH: usize = 100;
    /// Problems that are kept of one journey, activity, visit or situation; further ones are only counted.
    pub const PROBLEMS_PER_RECORD: usize = 20;
}

impl Default for MessageLimits {
    fn default() -> MessageLimits {
        MessageLimits { body_bytes: 128 << 20, text_bytes: 64 << 10, record_bytes: 512 << 20 }
    }
}
