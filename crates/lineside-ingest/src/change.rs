//! What differs between two states of a network.

use std::sync::Arc;

use crate::record::{Record, RemovalReason};

/// A record that is new, different or gone.
#[derive(Clone, Debug)]
pub struct RecordChange {
    /// What was known before.
    pub old: Option<Arc<Record>>,
    /// What is known from now on.
    pub new: Option<Arc<Record>>,
    /// If nothing is: why.
    pub why: RemovalReason,
}

impl RecordChange {
    /// `new` in place of `old`.
    pub(crate) fn upsert(old: Option<Arc<Record>>, new: Arc<Record>) -> RecordChange {
        RecordChange { old, new: Some(new), why: RemovalReason::Gone }
    }

    /// `old` is no more.
    pub(crate) fn removal(old: Arc<Record>, why: RemovalReason) -> RecordChange {
        RecordChange { old: Some(old), new: None, why }
    }

    /// The record that is known, else the one that was.
    pub fn record(&self) -> Option<&Arc<Record>> {
        self.new.as_ref().or(self.old.as_ref())
    }

    /// Upper bound of the bytes that it takes in a message.
    pub(crate) fn bytes_max(&self) -> usize {
        match (&self.new, &self.old) {
            (Some(new), _) => new.bytes_max(),
            (None, Some(old)) => REMOVAL_BYTES_MAX + 6 * old.id.len(),
            (None, None) => 0,
        }
    }
}

/// A removal without its id: names, braces, a feed id of 64 characters.
pub(crate) const REMOVAL_BYTES_MAX: usize = 160;
