//! Storage of last good bytes across restarts.
//!
//! A feed's task stores its bytes before serving them. This crate does not know if they are stored
//! on a disk or in memory ([`MemorySnapshotStore`]).

mod facts;
mod memory;

use std::fmt;

use bytes::Bytes;
use lineside_formats::Format;
use lineside_sync::UnixMillis;
use smol_str::SmolStr;

use crate::{feed_id::FeedId, snapshot::FeedBodySnapshot};

pub use facts::{ScheduleCountDifferences, ScheduleVersionFacts};
pub use memory::MemorySnapshotStore;

/// The key of stored bytes.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct SnapshotKey {
    pub feed: FeedId,
    /// The file name, for a feed with several files; else empty.
    pub file: SmolStr,
}

impl SnapshotKey {
    /// Returns the key of a feed with one file.
    pub fn for_feed(feed: &FeedId) -> SnapshotKey {
        SnapshotKey { feed: feed.clone(), file: SmolStr::default() }
    }
}

impl fmt::Display for SnapshotKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &*self.file {
            "" => fmt::Display::fmt(&self.feed, f),
            file => write!(f, "{}/{file}", self.feed),
        }
    }
}

/// HTTP validators of the bytes, as the source sent them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CacheValidators {
    /// `ETag`.
    pub etag: Option<Vec<u8>>,
    /// `Last-Modified`.
    pub last_modified: Option<Vec<u8>>,
}

/// Metadata of stored bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SnapshotMetadata {
    /// The redacted URL of the source: the bytes are used only if it is unchanged.
    pub source: String,
    /// Hash of the bytes.
    pub hash: u128,
    pub format: Format,
    /// The media type.
    pub content_type: String,
    /// The file name for downloads.
    pub file_name: String,
    /// The time at which the bytes were first fetched.
    pub fetched_at: UnixMillis,
    /// The time at which the source says the bytes changed.
    pub last_modified: Option<UnixMillis>,
    /// The validators for the next request.
    pub validators: CacheValidators,
    /// The time at which the source last sent or confirmed the bytes.
    pub confirmed_at: UnixMillis,
}

impl SnapshotMetadata {
    /// Parses the name of a format, for implementations of the store.
    pub fn parse_format(name: &str) -> Option<Format> {
        Format::from_name(name)
    }

    pub fn to_snapshot(&self, bytes: Bytes) -> FeedBodySnapshot {
        FeedBodySnapshot {
            hash: FeedBodySnapshot::hash_body(&bytes),
            bytes,
            format: self.format,
            content_type: self.content_type.clone(),
            file_name: self.file_name.clone(),
            fetched_at: self.fetched_at,
            last_modified: self.last_modified,
        }
    }
}

/// Called once with true if the bytes are durably stored, with false if they will not be.
pub type SaveCallback = Box<dyn FnOnce(bool) + Send>;

/// A store of last good bytes.
///
/// Saving returns at once and reports no errors to the caller: polling never fails because of a disk. A key is not
/// saved again before the previous save has ended. Reading may block, so call it where blocking is allowed.
pub trait SnapshotStore: Send + Sync + fmt::Debug + 'static {
    /// Stores bytes, replacing the previous ones. `done` is called once they survive a crash and a power failure, or
    /// will not be stored; until then the previous ones remain. With `facts` they are a version of a schedule, which
    /// may be retained when the next one comes.
    fn save_snapshot(
        &self,
        key: &SnapshotKey,
        head: SnapshotMetadata,
        bytes: Bytes,
        facts: Option<ScheduleVersionFacts>,
        done: SaveCallback,
    );

    /// Records that the source has confirmed the stored bytes.
    fn record_not_modified(&self, key: &SnapshotKey, at: UnixMillis, validators: CacheValidators);

    /// Returns the metadata of the stored bytes.
    fn find_snapshot_metadata(&self, key: &SnapshotKey) -> Option<SnapshotMetadata>;

    /// Returns the stored bytes; `None` if they are missing or damaged.
    fn read_snapshot(&self, key: &SnapshotKey) -> Option<(SnapshotMetadata, Bytes)>;

    /// Deletes the bytes of a file that the feed no longer has.
    fn delete_snapshot(&self, key: &SnapshotKey);

    /// Allows the store to delete the bytes of feeds that are not listed.
    fn retain_snapshots_of_feeds(&self, feeds: &[FeedId]);
}
