//! The history of edits: in the data folder if there is one, else in memory.

use std::sync::Arc;

use lineside_config::overrides::{FeedOverride, FeedOverrides};
use lineside_model::{FeedId, Secret};
use lineside_store::{FeedOverrideEdit, NumberedOverrideEdit, Store};
use parking_lot::Mutex;

/// Maximum number of edits in memory.
const IN_MEMORY_MAX: usize = 1_000;

/// The history of overrides.
#[derive(Debug)]
pub enum EditLog {
    /// A history that survives a restart.
    Stored(Arc<Store>),
    /// A history that is lost at a restart, oldest first.
    InMemory(Mutex<Vec<NumberedOverrideEdit>>),
}

/// The history cannot be read or written; the text is the reason.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct EditLogError(String);

pub fn parse_before_and_after(
    edit: &FeedOverrideEdit,
) -> (Option<FeedOverride>, Option<FeedOverride>) {
    let read = |text: &Option<Secret>| FeedOverride::parse(text.as_ref()?.reveal());
    (read(&edit.before), read(&edit.after))
}

impl EditLog {
    pub fn new(store: Option<&Arc<Store>>) -> Self {
        match store {
            Some(store) => Self::Stored(Arc::clone(store)),
            None => Self::InMemory(Mutex::default()),
        }
    }

    /// Returns true if recorded edits survive a restart.
    pub fn is_persistent(&self) -> bool {
        matches!(self, Self::Stored(_))
    }

    /// Loads the overrides of the previous run. Blocks.
    ///
    /// # Errors
    /// Returns an error if they cannot be read.
    pub fn load_overrides(&self) -> Result<FeedOverrides, EditLogError> {
        let Self::Stored(store) = self else { return Ok(FeedOverrides::new()) };
        let all = store.list_feed_overrides().map_err(|error| EditLogError(error.to_string()))?;
        let read = all.into_iter().filter_map(|(id, text)| {
            let feed_override = FeedOverride::parse(text.reveal());
            if feed_override.is_none() {
                tracing::warn!(feed = %id, "the overrides of the feed are invalid and are ignored");
            }
            Some((id, feed_override?))
        });
        Ok(read.collect())
    }

    /// Records an edit; returns its number once it is on the disk, if there is one. Blocks.
    ///
    /// # Errors
    /// Returns an error if the disk write fails.
    pub fn record_edit(&self, edit: FeedOverrideEdit) -> Result<i64, EditLogError> {
        match self {
            Self::Stored(store) => {
                store.save_override_edit(&edit).map_err(|error| EditLogError(error.to_string()))
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

    /// Returns the newest edits of a feed. Blocks.
    ///
    /// # Errors
    /// Returns an error if they cannot be read.
    pub fn list_edits(
        &self,
        feed: &FeedId,
        limit: usize,
    ) -> Result<Vec<NumberedOverrideEdit>, EditLogError> {
        match self {
            Self::Stored(store) => store
                .list_edits_of_feed(feed, limit)
                .map_err(|error| EditLogError(error.to_string())),
            Self::InMemory(edits) => {
                let edits = edits.lock();
                let newest = edits.iter().rev().filter(|(_, edit)| edit.feed == *feed);
                Ok(newest.take(limit).cloned().collect())
            }
        }
    }

    /// Returns the newest edits of all feeds before the edit of this number. Blocks.
    ///
    /// # Errors
    /// Returns an error if they cannot be read.
    pub fn list_all_edits(
        &self,
        before: i64,
        limit: usize,
    ) -> Result<Vec<NumberedOverrideEdit>, EditLogError> {
        match self {
            Self::Stored(store) => store
                .list_edits_of_all_feeds(before, limit)
                .map_err(|error| EditLogError(error.to_string())),
            Self::InMemory(edits) => {
                let edits = edits.lock();
                let earlier = edits.iter().rev().filter(|(number, _)| *number < before);
                Ok(earlier.take(limit).cloned().collect())
            }
        }
    }

    /// Returns an edit of a feed. Blocks.
    ///
    /// # Errors
    /// Returns an error if it cannot be read.
    pub fn find_edit(
        &self,
        feed: &FeedId,
        number: i64,
    ) -> Result<Option<NumberedOverrideEdit>, EditLogError> {
        match self {
            Self::Stored(store) => store
                .find_edit_by_number(feed, number)
                .map_err(|error| EditLogError(error.to_string())),
            Self::InMemory(edits) => {
                let edits = edits.lock();
                let is_match = |it: &&NumberedOverrideEdit| it.0 == number && it.1.feed == *feed;
                Ok(edits.iter().find(is_match).cloned())
            }
        }
    }
}
