//! Counts of late trips over the day: a row for each quarter of an hour of a feed, and of each of its lines.

use lineside_model::FeedId;
use lineside_sync::UnixMillis;
use rusqlite::{Connection, Row, Transaction, params};

use crate::limits::DELAYS_MAX;

/// The counts of a quarter of an hour, summed over its samples.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DelayCountRow {
    /// The feed, or the schedule that represents several feeds.
    pub feed: FeedId,
    /// The line by `route_id`; `None` for all lines together.
    pub line: Option<String>,
    /// Start of the quarter.
    pub start: UnixMillis,
    /// Number of trips with known times, plus cancelled ones.
    pub trips: u32,
    /// Number of late trips among them.
    pub late: u32,
    /// Number of cancelled trips among them.
    pub cancelled: u32,
}

/// Inserts or replaces a row.
pub(crate) fn upsert_row(
    transaction: &Transaction<'_>,
    feed: i64,
    row: &DelayCountRow,
) -> rusqlite::Result<()> {
    let line = row.line.as_deref().unwrap_or_default();
    transaction
        .prepare_cached(
            "INSERT INTO delay (feed, line, start, trips, late, cancelled) VALUES (?1, ?2, ?3, ?4, ?5, ?6) \
             ON CONFLICT (feed, line, start) DO UPDATE SET \
             trips = excluded.trips, late = excluded.late, cancelled = excluded.cancelled",
        )?
        .execute(params![feed, line, row.start.0, row.trips, row.late, row.cancelled])?;
    Ok(())
}

pub(crate) fn select_delay_rows_since(
    connection: &Connection,
    from: UnixMillis,
) -> rusqlite::Result<Vec<DelayCountRow>> {
    let mut rows = connection.prepare_cached(
        "SELECT name, line, start, trips, late, cancelled FROM delay JOIN feed ON feed.id = delay.feed \
         WHERE start >= ?1 ORDER BY start LIMIT ?2",
    )?;
    let found = rows.query_map(params![from.0, DELAYS_MAX], parse_row)?;
    found.filter_map(Result::transpose).collect()
}

/// Parses a row; `None` if the name of its feed is no longer valid.
fn parse_row(row: &Row<'_>) -> rusqlite::Result<Option<DelayCountRow>> {
    let name: String = row.get(0)?;
    let Ok(feed) = FeedId::new(&name) else { return Ok(None) };
    let line: String = row.get(1)?;
    Ok(Some(DelayCountRow {
        feed,
        line: Some(line).filter(|line| !line.is_empty()),
        start: UnixMillis(row.get(2)?),
        trips: row.get(3)?,
        late: row.get(4)?,
        cancelled: row.get(5)?,
    }))
}
