//! Limits on GTFS-Realtime messages.

use crate::limits::MESSAGE_BYTES_MAX;

/// Limits on one message; data beyond them are refused or dropped, never cut.
///
/// A decoded entity takes 1.7 KB and five to ten times its encoded size. Only an entity of empty parts reaches 160
/// times; [`FeedMessageLimits::record_bytes`] bounds these.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FeedMessageLimits {
    /// Longest body, in bytes; a longer one is refused.
    pub body_bytes: usize,
    /// Longest entity, in bytes; a longer one is dropped with a problem. The default allows about 130 bytes for each of
    /// 500 calls of a trip, twice what producers send.
    pub entity_bytes: usize,
    /// Most entities; a message with more is refused.
    pub entities: usize,
    /// Most memory of all decoded entities of a message, in bytes. A larger message is refused before it is decoded, or
    /// during decoding if it is JSON. Texts count by their length; a list may take twice the size of its items, a list
    /// of one item four times. The default suffices for 1.5 million calls with a text of 20 bytes and two events each.
    pub record_bytes: usize,
}

impl FeedMessageLimits {
    /// Upper bound of the number of entities of any message.
    pub const ENTITIES_MAX: usize = 1_000_000;
}

impl Default for FeedMessageLimits {
    fn default() -> FeedMessageLimits {
        FeedMessageLimits {
            body_bytes: MESSAGE_BYTES_MAX as usize,
            entity_bytes: 64 * 1_024,
            entities: FeedMessageLimits::ENTITIES_MAX,
            record_bytes: 512 << 20,
        }
    }
}
