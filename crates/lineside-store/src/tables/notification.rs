//! The last notifications of each target.

use lineside_model::FeedId;
use lineside_sync::UnixMillis;
use rusqlite::{Row, Transaction, params};

/// The last notification of one kind to one target about one feed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NotificationRow {
    /// The target, by a name that does not reveal its address.
    pub target: String,
    pub feed: FeedId,
    pub kind: String,
    pub summary: String,
    /// Time of the notification.
    pub at: UnixMillis,
    /// The notification itself, if it has not been delivered yet.
    pub pending: Option<String>,
}

/// The query whose rows [`parse_row`] parses.
pub(crate) const LIST: &str = "SELECT target, name, kind, word, at, pending FROM notification \
     JOIN feed ON feed.id = notification.feed ORDER BY at";

/// Parses a row; `None` if the name of its feed is no longer valid.
pub(crate) fn parse_row(row: &Row<'_>) -> rusqlite::Result<Option<NotificationRow>> {
    let name: String = row.get(1)?;
    let Ok(feed) = FeedId::new(&name) else { return Ok(None) };
    Ok(Some(NotificationRow {
        target: row.get(0)?,
        feed,
        kind: row.get(2)?,
        summary: row.get(3)?,
        at: UnixMillis(row.get(4)?),
        pending: row.get(5)?,
    }))
}

/// Inserts or replaces a row.
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
    let NotificationRow { target, kind, summary, at, pending, .. } = row;
    insert.execute(params![target, feed, kind, summary, at.0, pending])?;
    Ok(())
}
