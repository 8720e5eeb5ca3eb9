//! Who looks at messages of real time as they pass.

use std::{fmt, sync::Arc};

use bytes::Bytes;
use lineside_formats::siri;
use lineside_sync::UnixMillis;

use crate::feed::Feed;

/// A message of real time that has passed: it has been taken in, published and kept by now.
#[derive(Clone, Copy, Debug)]
pub enum ObservedMessage<'a> {
    /// Of GTFS-Realtime: its bytes.
    GtfsRt(&'a Bytes),
    /// Of SIRI, decoded. What all messages so far come to is in the network's state.
    Siri(&'a siri::SiriMessage, SiriPart),
}

/// Which part of what a producer of SIRI has to say a message is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SiriPart {
    /// All that there is, or the last page of it.
    Whole,
    /// A page, and more are to come.
    Page,
    /// What has changed since the message before.
    Changes,
}

/// Looks at messages of real time: whoever holds them against rules.
pub trait MessageObserver: fmt::Debug + Send + Sync {
    /// Looks at a message. Called once for each that is not the same as the one before, and for one that an earlier
    /// process left, unless it is only a part of what there is, once its source has confirmed it; one after the other for each feed, on a thread that may be kept
    /// busy. The feed's next poll waits for it, so it must be bounded in time.
    fn observe_message(&self, feed: &Arc<Feed>, passed: ObservedMessage<'_>, now: UnixMillis);

    /// Whether the feed told of trips or vehicles lately, as far as that is known from before this process. Asked once, before its
    /// source is, on a thread that may be kept busy.
    fn has_reported_trips(&self, feed: &Feed) -> bool;
}
