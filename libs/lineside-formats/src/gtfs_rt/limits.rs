//! How much of a message is taken.

/// Bounds on one message; what exceeds them is refused or dropped, never cut.
///
/// A decoded entity takes 1.7 KB and up to 160 times its bytes, reached only by one made of empty parts, which is what
/// [`FeedMessageLimits::record_bytes`] is for; a real one takes five to ten times.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FeedMessageLimits {
    /// Longest body, in bytes; a longer one is refused.
    pub body_bytes: usize,
    /// Longest entity, in bytes; a longer one is dropped with a problem. The default leaves about 130 bytes to each
    /// call of a trip of 500, twice what producers send.
    pub entity_bytes: usize,
    /// Most entities; a message with more is refused.
    pub entities: usize,
    /// Most memory of all decoded entities of a message, in bytes; a message that needs more is refused before any of it is
    /// decoded, or in JSON as soon as it is. Texts count as long as they are, and a list may take twice what is in it, one of a single value four times. The default is
    /// enough for 1.5 million calls with a text of 20 bytes and two events each.
    pub record_bytes: usize,
}

impl FeedMessageLimits {
    /// The most entities that any message may have.
    pub const ENTITIES_MAX: usize = 1_000_000;
}

impl Default for FeedMessageLimits {
    fn default() -> FeedMessageLimits {
        FeedMessageLimits {
            body_bytes: 128 * 1_024 * 1_024,
            entity_bytes: 64 * 1_024,
            entities: FeedMessageLimits::ENTITIES_MAX,
            record_bytes: 512 << 20,
        }
    }
}
