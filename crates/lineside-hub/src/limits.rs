//! The limits of the hub, in one place.

use std::time::Duration;

use crate::Namespace;

/// The longest channel name in bytes, encoded.
pub const CHANNEL_BYTES_MAX: usize = 512;

/// The largest number of attempts in one read of a state; an attempt fails if the ring overtakes it. The state of the
/// last attempt is delivered as it is, and the next pull finds a gap.
pub(crate) const STATE_READ_ATTEMPTS: usize = 3;

/// The number of gaps, without reaching the top in between, that ends a subscription.
pub(crate) const GAPS_MAX: u8 = 3;

/// The bytes that a publication takes in a ring in addition to its data.
pub(crate) const PUBLICATION_OVERHEAD: usize = 128;

/// The largest total of publications in a room, as a multiple of the size of its state.
pub(crate) const RING_STATES_MAX: usize = 2;

/// The largest publication into `app/…` in bytes: together with its channel, its extras and the protocol's framing it
/// stays below the largest message that is sent.
pub const APP_DATA_BYTES_MAX: usize = 240 << 10;

/// The largest metadata of a publication in bytes: its publisher and its tags.
pub const EXTRAS_BYTES_MAX: usize = 8 << 10;

/// The largest number of publications in a namespace's history.
pub const HISTORY_SIZE_MAX: usize = 10_000;

/// The joins and leaves of one channel that wait to be published; further ones are counted and dropped.
pub(crate) const CHANGES_PENDING_MAX: usize = 10_000;

/// The deliveries that one tick's joins and leaves may cause in one channel; the number of joins and leaves per tick
/// follows from it, within the bounds below.
pub(crate) const PRESENCE_DELIVERIES_PER_TICK_MAX: usize = 64 << 10;
/// The smallest number of joins and leaves that a tick publishes; see [`CHANGES_TOLD_TO_MAX`].
pub(crate) const PRESENCE_CHANGES_PER_TICK_MIN: usize = 16;
/// The largest number of joins and leaves that a tick publishes, no more than a log holds; see
/// [`CHANGES_TOLD_TO_MAX`].
pub(crate) const PRESENCE_CHANGES_PER_TICK_MAX: usize = 512;

/// The largest number of rooms whose logs are handed to the next process.
pub(crate) const HANDOFF_ROOMS_MAX: usize = 200_000;

/// The shortest time that a restored room lives without a listener: returning clients of the previous process wait
/// before they reconnect.
pub(crate) const RESTORED_ROOM_LINGER: Duration = Duration::from_secs(120);

/// The head start of the hub's monotonic time before the process: longer than any log retains publications.
pub(crate) const CLOCK_HEAD_START: Duration = Duration::from_secs(3_650 * 24 * 3_600);

/// The bytes of data that sessions are sent in one piece; a single publication may exceed it.
pub(crate) const RUN_BYTES_MAX: usize = 32 << 10;
/// The runs that a partition caches for its sessions: the current one and the one before for each codec.
pub(crate) const CACHED_RUNS_MAX: usize = 12;
/// The bytes of a partition's runs that are still in use; beyond it each publication is sent separately.
pub(crate) const RUNS_BYTES_MAX: usize = 16 << 20;

/// The capacity of a node's hub.
#[derive(Clone, Debug)]
pub struct HubConfig {
    /// The largest number of publications in a room's ring; at least 1.
    pub ring_publications: usize,
    /// The time that a ring retains a publication.
    pub ring_age: Duration,
    /// The bytes that every ring may hold, even if its state is small.
    pub ring_bytes_min: usize,
    /// The bytes that no ring may exceed, even if its state is large. The last batch is retained regardless.
    pub ring_bytes_max: usize,
    /// The time that a room stays after its last listener has left, and an encoded state after its last use.
    pub linger: Duration,
    /// The largest number of rooms on this node; beyond it a subscription that needs a new room is refused.
    pub rooms_max: usize,
    /// The bytes of all rings and encoded states together; beyond it the largest rooms shrink first.
    pub total_bytes: usize,
    /// The namespaces of `app/…` channels.
    pub namespaces: Vec<Namespace>,
    /// The largest number of subscribers counted as present, in all channels together.
    pub present_max: usize,
}

impl Default for HubConfig {
    fn default() -> Self {
        Self {
            ring_publications: 1_024,
            ring_age: Duration::from_secs(600),
            ring_bytes_min: 64 << 10,
            ring_bytes_max: 64 << 20,
            linger: Duration::from_secs(30),
            rooms_max: 1_000_000,
            total_bytes: 1 << 30,
            namespaces: Vec::new(),
            present_max: 2_000_000,
        }
    }
}

#[derive(Clone, Copy, Debug)]
pub struct SessionLimits {
    /// The largest number of subscriptions at a time.
    pub channels_max: usize,
}

impl Default for SessionLimits {
    fn default() -> Self {
        Self { channels_max: 512 }
    }
}
