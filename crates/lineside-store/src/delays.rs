//! How many trips were late over the day: a row for each quarter of an hour of a feed, and of each of its lines.

use lineside_ingest::{ArchiveError, FeedId};
use lineside_sync::UnixMillis;
use rusqlite::{Connection, Row, Transaction, params};

use crate::{Store, limits::DELAYS_MAX, writer::WriteRequest};

/// What was seen in a quarter of an hour, added up over its looks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DelayRow {
    /// The feed, or the schedule that stands for several.
    pub feed: FeedId,
    /// Which of its lines, by `route_id`; none for all of them together.
    pub line: Option<String>,
    /// When the quarter began.
    pub start: UnixMillis,
    /// Trips with known times, and those that did not run.
    pub trips: u32,
    /// Of these, those that were late.
    pub late: u32,
    /// Of these, those that did not run.
    pub cancelled: u32,
}

impl Store {
    /// Keeps what was seen in a quarter, in the place of what was kept of it before.
    pub fn store_delays(&self, rows: Vec<DelayRow>) {
        if !rows.is_empty() {
            self.send_to_writer(WriteRequest::Delays(rows));
        }
    }

    /// What was seen from a moment on, in the order of time.
    ///
    /// # Errors
    /// If it cannot be read.
    pub fn list_delays(&self, from: UnixMillis) -> Result<Vec<DelayRow>, ArchiveError> {
        self.with_reader(|connection| select_rows(connection, from))
    }
}

/// Writes a row in the place of the one before.
pub(crate) fn upsert_row(
    transaction: &Transaction<'_>,
    feed: i64,
    row: &DelayRow,
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

fn select_rows(connection: &Connection, from: UnixMillis) -> rusqlite::Result<Vec<DelayRow>> {
    let mut rows = connection.prepare_cached(
        "SELECT name, line, start, trips, late, cancelled FROM delay JOIN feed ON feed.id = delay.feed \
         WHERE start >= ?1 ORDER BY start LIMIT ?2",
    )?;
    let found = rows.query_map(params![from.0, DELAYS_MAX], parse_row)?;
    found.filter_map(Result::transpose).collect()
}

/// The row, unless its feed has a name that is none any more.
fn parse_row(row: &Row<'_>) -> rusqlite::Result<Option<DelayRow>> {
    let name: String = row.get(0)?;
    let Ok(feed) = FeedId::new(&name) else { return Ok(None) };
    let line: String = row.get(1)?;
    Ok(Some(DelayRow {
        feed,
        line: Some(line).filter(|line| !line.is_empty()),
        start: UnixMillis(row.get(2)?),
        trips: row.get(3)?,
        late: row.get(4)?,
        cancelled: row.get(5)?,
    }))
}
