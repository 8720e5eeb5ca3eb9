//! What targets of notifications were told.

use lineside_ingest::FeedId;
use lineside_sync::UnixMillis;
use rusqlite::{Row, Transaction, params};

/// What one target was told last of one feed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NotificationRow {
    /// The target, by a name that does not tell where it is.
    pub target: String,
    /// The feed.
    pub feed: FeedId,
    /// What kind of notification.
    pub kind: String,
    /// What was told, in short.
    pub word: String,
    /// When.
    pub at: UnixMillis,
    /// The notification, if the target has not taken it yet.
    pub pending: Option<String>,
}

/// What is asked for, and put into words that [`parse_row`] takes apart.
pub(crate) const LIST: &str = "SELECT target, name, kind, word, at, pending FROM notification \
     JOIN feed ON feed.id = notification.feed ORDER BY at";

/// The row, unless its feed has a name that is none any more.
pub(crate) fn parse_row(row: &Row<'_>) -> rusqlite::Result<Option<NotificationRow>> {
    let name: String = row.get(1)?;
    let Ok(feed) = FeedId::new(&name) else { return Ok(None) };
    Ok(Some(NotificationRow {
        target: row.get(0)?,
        feed,
        kind: row.get(2)?,
        word: row.get(3)?,
        at: UnixMillis(row.get(4)?),
        pending: row.get(5)?,
    }))
}

/// Writes it in the place of what was told before.
pub(crate) fn upsert_row(
    transaction: &Transaction<'_>,
    feed: i64,
    row: &NotificationRow,
) -> rusqlite::Result<()> {
    let mut insert = transaction.prepare_cached(
        "INSERT INTO notification (target, feed, kind, word, at, pending) VALUES (?1, ?2, ?3, ?4, ?5, ?6) \
         ON CONFLICT (target, feed, kind) DO UPDATE SET \
         word = excluded.word, at = excluded.at, pending = excluded.pending",
    )?;
    let NotificationRow { target, kind, word, at, pending, .. } = row;
    insert.execute(params![target, feed, kind, word, at.0, pending])?;
    Ok(())
}
