//! Who looks at messages of real time as they pass.

use std::{fmt, sync::Arc};

use bytes::Bytes;
use lineside_sync::UnixMillis;

use crate::feed::Feed;

/// Looks at messages of real time: whoever holds them against rules.
pub trait Inspector: fmt::Debug + Send + Sync {
    /// Looks at a message of GTFS-Realtime, which has been taken in, published and kept by now. Called once for each that is not
    /// the same as the one before, one after the other for each feed, on a thread that may be kept busy. The feed's next
    /// poll waits for it, so it must be bounded in time.
    fn look(&self, feed: &Arc<Feed>, body: &Bytes, now: UnixMillis);
}
