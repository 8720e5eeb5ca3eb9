//! The operator's changes while the server runs: overrides of the configuration file, and their history.
//!
//! Each edit is a transaction of its own, synced to the disk before the response; no other write waits for it.

use std::sync::atomic::Ordering;

use lineside_model::{ArchiveError, FeedId, Secret};
use lineside_sync::UnixMillis;
use rusqlite::{OptionalExtension as _, Row, TransactionBehavior, params};

use crate::{
    error::StoreError,
    limits::{EDIT_WAIT, EDITS_MAX},
    schema,
    store::Store,
};

/// One change of a feed's override.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FeedOverrideEdit {
    pub feed: FeedId,
    /// Time of the change.
    pub at: UnixMillis,
    /// The author.
    pub who: String,
    /// A word for the kind of change.
    pub what: String,
    /// The override before the change, as TOML text; `None` if there was none. It may contain keys.
    pub before: Option<Secret>,
    /// The override after the change.
    pub after: Option<Secret>,
    pub undoes: Option<i64>,
}

/// An edit of the history with its number. Numbers increase and are never reused.
pub type NumberedOverrideEdit = (i64, FeedOverrideEdit);

impl Store {
    /// Adds an edit to the history and applies it to the overrides. Returns its number once it survives a crash or a
    /// power cut.
    ///
    /// # Errors
    /// Returns an error if the write fails; then nothing has changed.
    pub fn save_override_edit(&self, edit: &FeedOverrideEdit) -> Result<i64, StoreError> {
        let write = || -> rusqlite::Result<i64> {
            let mut connection = schema::open_write_connection(self.database_path(), EDIT_WAIT)?;
            connection.pragma_update(None, "synchronous", "FULL")?;
            let transaction =
                connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
            transaction.execute(
                "INSERT INTO edit (feed, at, who, what, before, after, undoes) \
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
                params![
                    edit.feed.as_str(),
                    edit.at.0,
                    edit.who,
                    edit.what,
                    edit.before.as_ref().map(Secret::reveal),
                    edit.after.as_ref().map(Secret::reveal),
                    edit.undoes
                ],
            )?;
            let number = transaction.last_insert_rowid();
            match &edit.after {
                Some(body) => transaction.execute(
                    "INSERT INTO laid_over (feed, body) VALUES (?1, ?2) \
                     ON CONFLICT (feed) DO UPDATE SET body = excluded.body",
                    params![edit.feed.as_str(), body.reveal()],
                )?,
                None => transaction
                    .execute("DELETE FROM laid_over WHERE feed = ?1", [edit.feed.as_str()])?,
            };
            transaction.execute("DELETE FROM edit WHERE n <= ?1", [number - EDITS_MAX])?;
            transaction.commit()?;
            // Readers have to see the edit, even if the writer has not opened the file for writing yet.
            self.is_read_only.store(false, Ordering::Release);
            Ok(number)
        };
        write().map_err(|error| StoreError::from_sqlite(self.database_path(), &error))
    }

    /// Returns the override of each feed.
    ///
    /// # Errors
    /// Returns an error if the read fails.
    pub fn list_feed_overrides(&self) -> Result<Vec<(FeedId, Secret)>, ArchiveError> {
        let rows: Vec<(String, String)> = self.with_read_connection(|connection| {
            let mut rows = connection.prepare_cached("SELECT feed, body FROM laid_over")?;
            rows.query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?.collect()
        })?;
        // Only the store writes this table, so each name is a valid feed id.
        let read = |(id, body): (String, String)| Some((FeedId::new(&id).ok()?, Secret::new(body)));
        Ok(rows.into_iter().filter_map(read).collect())
    }

    /// Returns the newest edits of a feed, at most `limit`.
    ///
    /// # Errors
    /// Returns an error if the read fails.
    pub fn list_edits_of_feed(
        &self,
        feed: &FeedId,
        limit: usize,
    ) -> Result<Vec<NumberedOverrideEdit>, ArchiveError> {
        let limit = i64::try_from(limit).unwrap_or(i64::MAX);
        self.with_read_connection(|connection| {
            let mut rows = connection.prepare_cached(
                "SELECT n, at, who, what, before, after, undoes FROM edit \
                 WHERE feed = ?1 ORDER BY n DESC LIMIT ?2",
            )?;
            let edit = |row: &Row<'_>| parse_edit(feed, row);
            rows.query_map(params![feed.as_str(), limit], edit)?.collect()
        })
    }

    /// Returns the newest edits of all feeds before the edit with that number, at most `limit`.
    ///
    /// # Errors
    /// Returns an error if the read fails.
    pub fn list_edits_of_all_feeds(
        &self,
        before_id: i64,
        limit: usize,
    ) -> Result<Vec<NumberedOverrideEdit>, ArchiveError> {
        let limit = i64::try_from(limit).unwrap_or(i64::MAX);
        let edits: Vec<Option<NumberedOverrideEdit>> = self.with_read_connection(|connection| {
            let mut rows = connection.prepare_cached(
                "SELECT n, at, who, what, before, after, undoes, feed FROM edit \
                 WHERE n < ?1 ORDER BY n DESC LIMIT ?2",
            )?;
            // Only the store writes this table, so each name is a valid feed id.
            let edit = |row: &Row<'_>| match FeedId::new(&row.get::<_, String>(7)?) {
                Ok(feed) => parse_edit(&feed, row).map(Some),
                Err(_) => Ok(None),
            };
            rows.query_map(params![before_id, limit], edit)?.collect()
        })?;
        Ok(edits.into_iter().flatten().collect())
    }

    /// Returns one edit of a feed.
    ///
    /// # Errors
    /// Returns an error if the read fails.
    pub fn find_edit_by_number(
        &self,
        feed: &FeedId,
        number: i64,
    ) -> Result<Option<NumberedOverrideEdit>, ArchiveError> {
        self.with_read_connection(|connection| {
            let mut row = connection.prepare_cached(
                "SELECT n, at, who, what, before, after, undoes FROM edit \
                 WHERE feed = ?1 AND n = ?2",
            )?;
            row.query_row(params![feed.as_str(), number], |row| parse_edit(feed, row)).optional()
        })
    }
}

fn parse_edit(feed: &FeedId, row: &Row<'_>) -> rusqlite::Result<NumberedOverrideEdit> {
    let edit = FeedOverrideEdit {
        feed: feed.clone(),
        at: UnixMillis(row.get(1)?),
        who: row.get(2)?,
        what: row.get(3)?,
        before: row.get::<_, Option<String>>(4)?.map(Secret::new),
        after: row.get::<_, Option<String>>(5)?.map(Secret::new),
        undoes: row.get(6)?,
    };
    Ok((row.get(0)?, edit))
}
