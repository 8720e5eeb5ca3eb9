//! Every bound of the hub, in one place.

use std::time::Duration;

use crate::Namespace;

/// Longest channel name in bytes, encoded.
pub const CHANNEL_BYTES_MAX: usize = 512;

/// How often one reader reads a state again because the ring overtook it while it was read. After
/// that the state is delivered as it is, and the next look finds a gap.
pub(crate) const STATE_READ_ATTEMPTS: usize = 3;

/// The gap without having reached the top in between that ends a subscription.
pub(crate) const GAPS_MAX: u8 = 3;

/// What a publication takes in a ring beside its data.
pub(crate) const PUBLICATION_OVERHEAD: usize = 128;

/// How many states of its own ring a room may hold in publications.
pub(crate) const RING_STATES_MAX: usize = 2;

/// Largest publication into `app/…`, so that with its channel, its extras and a protocol's words it stays below the
/// largest message sent.
pub const APP_DATA_BYTES_MAX: usize = 240 << 10;

/// What may come with a publication beside its data: who published it, and its tags.
pub const EXTRAS_BYTES_MAX: usize = 8 << 10;

/// Most publications that a namespace's history may hold.
pub const HISTORY_SIZE_MAX: usize = 10_000;

/// Comings and goings of one channel that wait to be told; beyond it they are counted and never told.
pub(crate) const CHANGES_PENDING_MAX: usize = 10_000;

/// Comings and goings that one tick tells in one channel: as many as make so many deliveries, within these bounds.
pub(crate) const CHANGES_TOLD_TO_MAX: usize = 64 << 10;
/// See [`CHANGES_TOLD_TO_MAX`].
pub(crate) const CHANGES_TOLD_MIN: usize = 16;
/// See [`CHANGES_TOLD_TO_MAX`]; no more than a log holds.
pub(crate) const CHANGES_TOLD_MAX: usize = 512;

/// Most rooms whose logs are left to the next process.
pub(crate) const KEPT_ROOMS_MAX: usize = 200_000;

/// How long a room that was taken over stays at least without a listener: clients of the process before come back with
/// pauses of their own.
pub(crate) const KEPT_LINGER: Duration = Duration::from_secs(120);

/// How long before the process the hub's time begins: longer than anything is kept.
pub(crate) const CLOCK_HEAD_START: Duration = Duration::from_secs(3_650 * 24 * 3_600);

/// Bytes of data that sessions are sent in one piece; one publication may pass it.
pub(crate) const RUN_BYTES_MAX: usize = 32 << 10;
/// Runs that a partition keeps for the next session: for each codec the present one, and the one before.
pub(crate) const RUNS_KEPT: usize = 12;
/// Bytes of a partition's runs that are held by anybody; beyond it each publication is sent by itself.
pub(crate) const RUNS_BYTES_MAX: usize = 16 << 20;

/// How much a node keeps and for how long.
#[derive(Clone, Debug)]
pub struct HubConfig {
    /// Most publications in a room's ring; at least 1.
    pub ring_publications: usize,
    /// How long a ring keeps a publication.
    pub ring_age: Duration,
    /// Bytes that every ring may hold, whatever the size of its state.
    pub ring_bytes_min: usize,
    /// Bytes that no ring may pass, however large its state. The last batch is kept all the same.
    pub ring_bytes_max: usize,
    /// How long a room stays after its last listener has left, and an encoded state after its last use.
    pub linger: Duration,
    /// Most rooms on this node; beyond it a subscription that needs a new one is refused.
    pub rooms_max: usize,
    /// Bytes of all rings and encoded states together; beyond it the largest rooms shrink first.
    pub total_bytes: usize,
    /// What holds for `app/…`, by prefix.
    pub namespaces: Vec<Namespace>,
    /// Most subscribers counted as present, in all channels together.
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

/// What one session may do.
#[derive(Clone, Copy, Debug)]
pub struct SessionLimits {
    /// Most channels subscribed at once.
    pub channels_max: usize,
}

impl Default for SessionLimits {
    fn default() -> Self {
        Self { channels_max: 512 }
    }
}
