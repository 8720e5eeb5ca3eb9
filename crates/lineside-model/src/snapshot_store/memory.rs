//! The in-memory snapshot store.

use std::{
    collections::HashMap,
    sync::{Mutex, MutexGuard, PoisonError},
};

use bytes::Bytes;
use lineside_sync::UnixMillis;

use super::{
    CacheValidators, SaveCallback, ScheduleVersionFacts, SnapshotKey, SnapshotMetadata,
    SnapshotStore,
};
use crate::feed_id::FeedId;

/// A [`SnapshotStore`] without a disk. Shares the bytes with the feeds, and has only the last version.
#[derive(Debug, Default)]
pub struct MemorySnapshotStore(Mutex<HashMap<SnapshotKey, (SnapshotMetadata, Bytes)>>);

impl MemorySnapshotStore {
    fn lock_snapshots(&self) -> MutexGuard<'_, HashMap<SnapshotKey, (SnapshotMetadata, Bytes)>> {
        // Each insertion touches one entry, so a panic left the others intact.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl SnapshotStore for MemorySnapshotStore {
    fn save_snapshot(
        &self,
        key: &SnapshotKey,
        head: SnapshotMetadata,
        bytes: Bytes,
        _: Option<ScheduleVersionFacts>,
        done: SaveCallback,
    ) {
        self.lock_snapshots().insert(key.clone(), (head, bytes));
        done(true);
    }

    fn record_not_modified(&self, key: &SnapshotKey, at: UnixMillis, validators: CacheValidators) {
        if let Some((head, _)) = self.lock_snapshots().get_mut(key) {
            head.confirmed_at = at;
            head.validators = validators;
        }
    }

    fn find_snapshot_metadata(&self, key: &SnapshotKey) -> Option<SnapshotMetadata> {
        self.lock_snapshots().get(key).map(|(head, _)| head.clone())
    }

    fn read_snapshot(&self, key: &SnapshotKey) -> Option<(SnapshotMetadata, Bytes)> {
        self.lock_snapshots().get(key).cloned()
    }

    fn delete_snapshot(&self, key: &SnapshotKey) {
        self.lock_snapshots().remove(key);
    }

    fn retain_snapshots_of_feeds(&self, feeds: &[FeedId]) {
        self.lock_snapshots().retain(|key, _| feeds.contains(&key.feed));
    }
}
