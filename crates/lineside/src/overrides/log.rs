//! Where edits are remembered: in the data folder if there is one, else in memory.

use std::sync::Arc;

use lineside_ingest::{FeedId, Secret};
use lineside_store::{NumberedEdit, OverrideEdit, Store};
use parking_lot::Mutex;

use super::{FeedOverride, Overrides};

/// Edits that are remembered without a data folder.
const IN_MEMORY_MAX: usize = 1_000;

/// The history of what was laid over feeds.
#[derive(Debug)]
pub(crate) enum EditLog {
    /// It outlives the process.
    Stored(Arc<Store>),
    /// It does not. Oldest first.
    InMemory(Mutex<Vec<NumberedEdit>>),
}

/// It cannot be read or written now; the words say why.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub(crate) struct EditLogError(String);

/// What was laid over the feed before an edit, and after it.
pub(crate) fn before_and_after(
    edit: &OverrideEdit,
) -> (Option<FeedOverride>, Option<FeedOverride>) {
    let read = |text: &Option<Secret>| FeedOverride::parse(text.as_ref()?.reveal());
    (read(&edit.before), read(&edit.after))
}

impl EditLog {
    pub(crate) fn new(store: Option<&Arc<Store>>) -> Self {
        match store {
            Some(store) => Self::Stored(Arc::clone(store)),
            None => Self::InMemory(Mutex::default()),
        }
    }

    /// Whether what is recorded is there after a restart.
    pub(crate) fn is_persistent(&self) -> bool {
        matches!(self, Self::Stored(_))
    }

    /// What was laid over feeds when the server last ran. Blocks.
    ///
    /// # Errors
    /// If it cannot be read.
    pub(crate) fn load_overrides(&self) -> Result<Overrides, EditLogError> {
        let Self::Stored(store) = self else { return Ok(Overrides::new()) };
        let all = store.list_overrides().map_err(|error| EditLogError(error.to_string()))?;
        let read = all.into_iter().filter_map(|(id, text)| {
            let over = FeedOverride::parse(text.reveal());
            if over.is_none() {
                tracing::warn!(feed = %id, "the overrides of the feed cannot be read, and are left out");
            }
            Some((id, over?))
        });
        Ok(read.collect())
    }

    /// Records an edit; returns its number once it is on the disk, where there is one. Blocks.
    ///
    /// # Errors
    /// If the disk does not take it.
    pub(crate) fn record_edit(&self, edit: OverrideEdit) -> Result<i64, EditLogError> {
        match self {
            Self::Stored(store) => {
                store.commit_edit(&edit).map_err(|error| EditLogError(error.to_string()))
            }
            Self::InMemory(edits) => {
                let mut edits = edits.lock();
                let number = edits.last().map_or(1, |(number, _)| number + 1);
                edits.push((number, edit));
                let surplus = edits.len().saturating_sub(IN_MEMORY_MAX);
                edits.drain(..surplus);
                Ok(number)
            }
        }
    }

    /// The newest edits of a feed. Blocks.
    ///
    /// # Errors
    /// If they cannot be read.
    pub(crate) fn list_edits(
        &self,
        feed: &FeedId,
        limit: usize,
    ) -> Result<Vec<NumberedEdit>, EditLogError> {
        match self {
            Self::Stored(store) => {
                store.list_edits(feed, limit).map_err(|error| EditLogError(error.to_string()))
            }
            Self::InMemory(edits) => {
                let edits = edits.lock();
                let newest = edits.iter().rev().filter(|(_, edit)| edit.feed == *feed);
                Ok(newest.take(limit).cloned().collect())
            }
        }
    }

    /// The newest edits of all feeds that came before the one of this number. Blocks.
    ///
    /// # Errors
    /// If they cannot be read.
    pub(crate) fn list_all_edits(
        &self,
        before: i64,
        limit: usize,
    ) -> Result<Vec<NumberedEdit>, EditLogError> {
        match self {
            Self::Stored(store) => {
                store.list_all_edits(before, limit).map_err(|error| EditLogError(error.to_string()))
            }
            Self::InMemory(edits) => {
                let edits = edits.lock();
                let earlier = edits.iter().rev().filter(|(number, _)| *number < before);
                Ok(earlier.take(limit).cloned().collect())
            }
        }
    }

    /// One edit of a feed. Blocks.
    ///
    /// # Errors
    /// If it cannot be read.
    pub(crate) fn find_edit(
        &self,
        feed: &FeedId,
        number: i64,
    ) -> Result<Option<NumberedEdit>, EditLogError> {
        match self {
            Self::Stored(store) => {
                store.find_edit(feed, number).map_err(|error| EditLogError(error.to_string()))
            }
            Self::InMemory(edits) => {
                let edits = edits.lock();
                let is_it = |it: &&NumberedEdit| it.0 == number && it.1.feed == *feed;
                Ok(edits.iter().find(is_it).cloned())
            }
        }
    }
}
