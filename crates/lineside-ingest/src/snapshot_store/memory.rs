//! Last good bytes as long as the process runs.

use std::{
    collections::HashMap,
    sync::{Mutex, MutexGuard, PoisonError},
};

use bytes::Bytes;
use lineside_sync::UnixMillis;

use super::{CacheValidators, DatasetFacts, Done, SnapshotHead, SnapshotKey, SnapshotStore};
use crate::config::FeedId;

/// [`SnapshotStore`] without a disk. It shares the bytes that feeds hold anyhow, and has no versions but the last.
#[derive(Debug, Default)]
pub struct MemorySnapshotStore(Mutex<HashMap<SnapshotKey, (SnapshotHead, Bytes)>>);

impl MemorySnapshotStore {
    fn lock_snapshots(&self) -> MutexGuard<'_, HashMap<SnapshotKey, (SnapshotHead, Bytes)>> {
        // One entry is put at a time: whatever broke left the others whole.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl SnapshotStore for MemorySnapshotStore {
    fn save_snapshot(
        &self,
        key: &SnapshotKey,
        head: SnapshotHead,
        bytes: Bytes,
        _: Option<DatasetFacts>,
        done: Done,
    ) {
        self.lock_snapshots().insert(key.clone(), (head, bytes));
        done(true);
    }

    fn confirm_snapshot(&self, key: &SnapshotKey, at: UnixMillis, validators: CacheValidators) {
        if let Some((head, _)) = self.lock_snapshots().get_mut(key) {
            head.confirmed_at = at;
            head.validators = validators;
        }
    }

    fn find_head(&self, key: &SnapshotKey) -> Option<SnapshotHead> {
        self.lock_snapshots().get(key).map(|(head, _)| head.clone())
    }

    fn read_snapshot(&self, key: &SnapshotKey) -> Option<(SnapshotHead, Bytes)> {
        self.lock_snapshots().get(key).cloned()
    }

    fn forget_snapshot(&self, key: &SnapshotKey) {
        self.lock_snapshots().remove(key);
    }

    fn retain_feeds(&self, feeds: &[FeedId]) {
        self.lock_snapshots().retain(|key, _| feeds.contains(&key.feed));
    }
}
