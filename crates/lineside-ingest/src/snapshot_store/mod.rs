//! Last good bytes that outlive the process: what is known of them, and whoever keeps them.
//!
//! A feed's task has its bytes kept before it gives them out ([`SnapshotWriter`]). Where they lie, on a disk or in memory
//! ([`MemorySnapshotStore`]), ingest does not know.

mod facts;
mod writer;
mod memory;

use std::fmt;

use bytes::Bytes;
use lineside_formats::Format;
use lineside_sync::UnixMillis;
use smol_str::SmolStr;

use crate::{config::FeedId, snapshot::Snapshot};

pub use facts::{CountChanges, DatasetFacts};
pub use memory::MemorySnapshotStore;
pub(crate) use writer::{SnapshotMetadata, SnapshotWriter, describe_source};

/// Whose bytes they are.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct SnapshotKey {
    /// The feed.
    pub feed: FeedId,
    /// The file, of a feed that has several; else empty.
    pub file: SmolStr,
}

impl SnapshotKey {
    /// The only bytes of a feed.
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

/// What a source said by which it can tell later whether the bytes are still good, as it said it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CacheValidators {
    /// `ETag`.
    pub etag: Option<Vec<u8>>,
    /// `LastPoll-Modified`.
    pub last_modified: Option<Vec<u8>>,
}

/// What is known of bytes that were kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SnapshotHead {
    /// The address that they came from, as it may be shown: with another one they are of no use.
    pub source: String,
    /// Hash of the bytes.
    pub hash: u128,
    /// What they are.
    pub format: Format,
    /// Their media type.
    pub content_type: String,
    /// A name for downloads.
    pub file_name: String,
    /// When they first came.
    pub fetched_at: UnixMillis,
    /// When the source says that they changed.
    pub last_modified: Option<UnixMillis>,
    /// What the source is asked with.
    pub validators: CacheValidators,
    /// When the source last gave them or confirmed them.
    pub confirmed_at: UnixMillis,
}

impl SnapshotHead {
    /// The format of that name, for who wrote it down.
    pub fn parse_format(name: &str) -> Option<Format> {
        Format::from_name(name)
    }

    /// The bytes with what is known of them.
    pub(crate) fn to_snapshot(&self, bytes: Bytes) -> Snapshot {
        Snapshot {
            hash: Snapshot::hash_bytes(&bytes),
            bytes,
            format: self.format,
            content_type: self.content_type.clone(),
            file_name: self.file_name.clone(),
            fetched_at: self.fetched_at,
            last_modified: self.last_modified,
        }
    }
}

/// Is told, once, whether the bytes are kept for good.
pub type Done = Box<dyn FnOnce(bool) + Send>;

/// Where last good bytes are kept.
///
/// Telling returns at once, whatever becomes of it: polling never fails with a disk. Of one key nothing is saved while the
/// save before has not ended. Reading may take its time and is to be done where that blocks nobody.
pub trait SnapshotStore: Send + Sync + fmt::Debug + 'static {
    /// Keeps these bytes in place of those before. `done` hears of it once they outlive a crash and a power cut, or will
    /// not be kept; until then the ones before are. With `facts` they are a version of a schedule, which may stay when
    /// the next one comes.
    fn save_snapshot(
        &self,
        key: &SnapshotKey,
        head: SnapshotHead,
        bytes: Bytes,
        facts: Option<DatasetFacts>,
        done: Done,
    );

    /// The source has confirmed the kept bytes.
    fn confirm_snapshot(&self, key: &SnapshotKey, at: UnixMillis, validators: CacheValidators);

    /// What is known of the kept bytes.
    fn find_head(&self, key: &SnapshotKey) -> Option<SnapshotHead>;

    /// The kept bytes, whole; none if they are damaged.
    fn read_snapshot(&self, key: &SnapshotKey) -> Option<(SnapshotHead, Bytes)>;

    /// These bytes are not wanted any more: their feed has no such file.
    fn forget_snapshot(&self, key: &SnapshotKey);

    /// These are all feeds that there are: what is kept of others may go in time.
    fn retain_feeds(&self, feeds: &[FeedId]);
}
