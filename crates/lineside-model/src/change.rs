//! Changes between two states of a network.

use std::sync::Arc;

use crate::record::{Record, RemovalReason};

/// A record that was added, changed or removed.
#[derive(Clone, Debug)]
pub struct RecordChange {
    /// The record before the change.
    pub old: Option<Arc<Record>>,
    /// The record after the change.
    pub new: Option<Arc<Record>>,
    /// The reason for the removal, if `new` is `None`.
    pub why: RemovalReason,
}

impl RecordChange {
    /// Returns a change that adds `new` or replaces `old` by it.
    pub fn new_upsert(old: Option<Arc<Record>>, new: Arc<Record>) -> RecordChange {
        RecordChange { old, new: Some(new), why: RemovalReason::Gone }
    }

    /// Returns a change that removes `old`.
    pub fn new_removal(old: Arc<Record>, why: RemovalReason) -> RecordChange {
        RecordChange { old: Some(old), new: None, why }
    }

    /// Returns the new record, or the old one after a removal.
    pub fn new_or_old_record(&self) -> Option<&Arc<Record>> {
        self.new.as_ref().or(self.old.as_ref())
    }

    /// Returns an upper bound of the change's size in a message, in bytes.
    pub fn message_bytes_max(&self) -> usize {
        match (&self.new, &self.old) {
            (Some(new), _) => new.upsert_json_bytes_max(),
            (None, Some(old)) => REMOVAL_BYTES_MAX + 6 * old.id.len(),
            (None, None) => 0,
        }
    }
}

/// Upper bound of a removal without its id, in bytes: names, braces and a feed id of 64 characters.
pub const REMOVAL_BYTES_MAX: usize = 160;
