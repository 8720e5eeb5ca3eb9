//! Versions of schedules in the tables, with the period in which the source delivered each.

use lineside_model::ScheduleVersionFacts;
use lineside_sync::UnixMillis;
use rusqlite::{Connection, OptionalExtension as _, Row, Transaction, params};

use super::{retention::RetentionPolicy, snapshots::SnapshotRow};
use crate::blob_hash::BlobHash;

/// One version of a feed's schedule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScheduleVersion {
    /// The SHA-256 of its bytes.
    pub hash: BlobHash,
    /// The size in bytes.
    pub size: u64,
    /// Time at which it first came.
    pub first_seen: UnixMillis,
    /// Time at which its source last delivered or confirmed it.
    pub last_seen: UnixMillis,
    /// True if it is the served version.
    pub is_current: bool,
    /// Facts about the schedule.
    pub facts: ScheduleVersionFacts,
}

const COLUMNS: &str = "blob, size, first_seen, last_seen, \
    blob IS (SELECT blob FROM snapshot WHERE snapshot.feed = version.feed AND file = '') AS is_current, \
    label, valid_from, valid_until, routes, stops, trips, service_start, service_end";

/// Inserts the feed's current version, or updates it if it has been there before.
pub(crate) fn upsert_current_version(
    transaction: &Transaction<'_>,
    feed: i64,
    row: &SnapshotRow,
    facts: &ScheduleVersionFacts,
) -> rusqlite::Result<()> {
    let whole = |number: u64| i64::try_from(number).unwrap_or(i64::MAX);
    transaction
        .prepare_cached(
            "INSERT INTO version (feed, blob, size, first_seen, last_seen, label, valid_from, valid_until, routes, stops, trips, \
             service_start, service_end) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13) \
             ON CONFLICT (feed, blob) DO UPDATE SET last_seen = MAX(last_seen, excluded.last_seen), \
             service_start = excluded.service_start, service_end = excluded.service_end",
        )?
        .execute(params![
            feed,
            row.blob.as_bytes(),
            whole(row.size),
            row.head.fetched_at.0,
            row.head.confirmed_at.0,
            facts.publisher_version,
            facts.valid_from,
            facts.valid_until,
            whole(facts.routes),
            whole(facts.stops),
            whole(facts.trips),
            facts.service_start,
            facts.service_end,
        ])?;
    Ok(())
}

/// Records that the source has confirmed the served version.
pub(crate) fn update_last_seen(
    transaction: &Transaction<'_>,
    feed: i64,
    at: UnixMillis,
) -> rusqlite::Result<()> {
    transaction
        .prepare_cached(
            "UPDATE version SET last_seen = MAX(last_seen, ?2) WHERE feed = ?1 AND blob = \
             (SELECT blob FROM snapshot WHERE feed = ?1 AND file = '')",
        )?
        .execute(params![feed, at.0])?;
    Ok(())
}

/// Deletes versions that are too old or too many, but not the served one.
pub(crate) fn delete_excess_versions(
    transaction: &Transaction<'_>,
    retention: &RetentionPolicy,
    now: UnixMillis,
) -> rusqlite::Result<()> {
    transaction
        .prepare_cached(
            "DELETE FROM version WHERE id IN (SELECT id FROM (SELECT id, last_seen, \
             blob IS (SELECT blob FROM snapshot WHERE snapshot.feed = version.feed AND file = '') AS is_current, \
             ROW_NUMBER() OVER (PARTITION BY feed ORDER BY last_seen DESC, id DESC) AS place FROM version) \
             WHERE NOT is_current AND (last_seen < ?1 OR place > ?2))",
        )?
        .execute(params![
            (now - retention.versions_age).0,
            i64::try_from(retention.versions).unwrap_or(i64::MAX)
        ])?;
    Ok(())
}

/// Deletes all versions of a feed.
pub(crate) fn delete_versions_of_feed(
    transaction: &Transaction<'_>,
    feed: i64,
) -> rusqlite::Result<()> {
    transaction.prepare_cached("DELETE FROM version WHERE feed = ?1")?.execute([feed])?;
    Ok(())
}

/// Returns the versions of a feed: the served one first, then by last seen.
pub(crate) fn select_versions_of_feed(
    connection: &Connection,
    feed: &str,
    offset: usize,
    limit: usize,
) -> rusqlite::Result<Vec<ScheduleVersion>> {
    let sql = format!(
        "SELECT {COLUMNS} FROM version WHERE feed = (SELECT id FROM feed WHERE name = ?1) \
         ORDER BY is_current DESC, last_seen DESC, id DESC LIMIT ?2 OFFSET ?3"
    );
    let whole = |number: usize| i64::try_from(number).unwrap_or(i64::MAX);
    let mut versions = connection.prepare_cached(&sql)?;
    let found = versions.query_map(params![feed, whole(limit), whole(offset)], parse_row)?;
    found.filter_map(Result::transpose).collect()
}

pub(crate) fn find_version_by_hash(
    connection: &Connection,
    feed: &str,
    hash: &BlobHash,
) -> rusqlite::Result<Option<ScheduleVersion>> {
    let sql = format!(
        "SELECT {COLUMNS} FROM version WHERE feed = (SELECT id FROM feed WHERE name = ?1) AND blob = ?2"
    );
    let mut found = connection.prepare_cached(&sql)?;
    Ok(found.query_row(params![feed, hash.as_bytes()], parse_row).optional()?.flatten())
}

/// Parses a row; `None` if it has values that the store never writes.
fn parse_row(row: &Row<'_>) -> rusqlite::Result<Option<ScheduleVersion>> {
    let blob: Vec<u8> = row.get(0)?;
    let Some(hash) = BlobHash::from_digest(&blob) else { return Ok(None) };
    let count = |at: usize| row.get::<_, i64>(at).map(i64::unsigned_abs);
    Ok(Some(ScheduleVersion {
        hash,
        size: count(1)?,
        first_seen: UnixMillis(row.get(2)?),
        last_seen: UnixMillis(row.get(3)?),
        is_current: row.get(4)?,
        facts: ScheduleVersionFacts {
            publisher_version: row.get(5)?,
            valid_from: row.get(6)?,
            valid_until: row.get(7)?,
            routes: count(8)?,
            stops: count(9)?,
            trips: count(10)?,
            service_start: row.get(11)?,
            service_end: row.get(12)?,
        },
    }))
}
