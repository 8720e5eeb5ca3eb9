//! Last good bytes as long as the process runs.

use std::{
    collections::HashMap,
    sync::{Mutex, MutexGuard, PoisonError},
};

use bytes::Bytes;
use lineside_sync::UnixMillis;

use super::{DatasetFacts, Done, SavedHead, SnapshotKey, Snapshots, Validators};
use crate::config::FeedId;

/// [`Snapshots`] without a disk. It shares the bytes that feeds hold anyhow, and has no versions but the last.
#[derive(Debug, Default)]
pub struct MemorySnapshots(Mutex<HashMap<SnapshotKey, (SavedHead, Bytes)>>);

impl MemorySnapshots {
    fn held(&self) -> MutexGuard<'_, HashMap<SnapshotKey, (SavedHead, Bytes)>> {
        // One entry is put at a time: whatever broke left the others whole.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Snapshots for MemorySnapshots {
    fn save(
        &self,
        key: &SnapshotKey,
        head: SavedHead,
        bytes: Bytes,
        _: Option<DatasetFacts>,
        done: Done,
    ) {
        self.held().insert(key.clone(), (head, bytes));
        done(true);
    }

    fn confirm(&self, key: &SnapshotKey, at: UnixMillis, validators: Validators) {
        if let Some((head, _)) = self.held().get_mut(key) {
            head.confirmed_at = at;
            head.validators = validators;
        }
    }

    fn find(&self, key: &SnapshotKey) -> Option<SavedHead> {
        self.held().get(key).map(|(head, _)| head.clone())
    }

    fn read(&self, key: &SnapshotKey) -> Option<(SavedHead, Bytes)> {
        self.held().get(key).cloned()
    }

    fn forget(&self, key: &SnapshotKey) {
        self.held().remove(key);
    }

    fn retain(&self, feeds: &[FeedId]) {
        self.held().retain(|key, _| feeds.contains(&key.feed));
    }
}
