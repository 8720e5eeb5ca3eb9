//! Observation of realtime messages.

use std::{fmt, sync::Arc};

use bytes::Bytes;
use lineside_formats::siri;
use lineside_sync::UnixMillis;

use crate::catalog::Feed;

/// A realtime message that has been applied, published and stored.
#[derive(Clone, Copy, Debug)]
pub enum ObservedMessage<'a> {
    /// The bytes of a GTFS-Realtime message.
    GtfsRt(&'a Bytes),
    /// A decoded SIRI message. The network's state contains the result of all messages so far.
    Siri(&'a siri::SiriMessage, SiriMessagePart),
}

/// The part of a SIRI producer's data that a message contains.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SiriMessagePart {
    /// All data, or their last page.
    Whole,
    /// A page that is followed by others.
    Page,
    /// Changes since the preceding message.
    Changes,
}

/// Observes realtime messages, for example to validate them.
pub trait MessageObserver: fmt::Debug + Send + Sync {
    /// Observes a message. Called for each message that differs from the one before, and for a restored one that
    /// contains all data once its source has confirmed it. Calls for one feed are sequential and run on a blocking
    /// thread. The feed's next poll waits for the call, so it must be bounded in time.
    fn observe_message(&self, feed: &Arc<Feed>, observed: ObservedMessage<'_>, now: UnixMillis);

    /// Returns true if the feed recently reported trips or vehicles, as far as known from before this process. Called
    /// once before the source is polled, on a blocking thread.
    fn has_recently_reported_trips(&self, feed: &Feed) -> bool;
}
