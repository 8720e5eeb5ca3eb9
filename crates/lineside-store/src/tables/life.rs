//! The runs of the server: the start of each, and the last time at which it is known to have run.

use lineside_sync::UnixMillis;
use rusqlite::{OptionalExtension as _, Transaction, params};

/// Records a start of the server, and ends incidents that the last run left open, because the state of a feed is
/// unknown without polls.
pub(crate) fn insert_server_run(
    transaction: &Transaction<'_>,
    started_at: UnixMillis,
) -> rusqlite::Result<i64> {
    let last_seen: Option<i64> = transaction
        .query_row("SELECT seen FROM life ORDER BY id DESC LIMIT 1", [], |row| row.get(0))
        .optional()?;
    let close = "UPDATE incident SET ended = MAX(began, ?1) WHERE ended IS NULL";
    transaction.execute(close, [last_seen.unwrap_or(started_at.0)])?;
    transaction.execute("INSERT INTO life (began, seen) VALUES (?1, ?1)", [started_at.0])?;
    Ok(transaction.last_insert_rowid())
}

/// Records that the server still runs.
pub(crate) fn update_server_last_seen(
    transaction: &Transaction<'_>,
    server_run: i64,
    now: UnixMillis,
) -> rusqlite::Result<()> {
    let mut update =
        transaction.prepare_cached("UPDATE life SET seen = MAX(seen, ?1) WHERE id = ?2")?;
    update.execute(params![now.0, server_run]).map(drop)
}
