//! Snapshots in the tables: the blob of each feed or file, and its metadata.

use std::collections::HashSet;

use lineside_model::{
    CacheValidators, FeedId, ScheduleVersionFacts, SnapshotKey, SnapshotMetadata,
};
use lineside_sync::UnixMillis;
use rusqlite::{Connection, OptionalExtension as _, Row, Transaction, params};

use super::{reports, versions};
use crate::{blob_hash::BlobHash, limits::UNCONFIGURED_FEED_RETENTION};

/// The snapshot of a feed, or of one of its files.
#[derive(Clone, Debug)]
pub(crate) struct SnapshotRow {
    pub(crate) key: SnapshotKey,
    pub(crate) head: SnapshotMetadata,
    pub(crate) blob: BlobHash,
    pub(crate) size: u64,
    /// Facts about the schedule, if it is a version of one.
    pub(crate) facts: Option<ScheduleVersionFacts>,
}

/// Inserts or replaces a row. Returns the previous blob if it differs.
pub(crate) fn upsert_row(
    transaction: &Transaction<'_>,
    feed: i64,
    row: &SnapshotRow,
) -> rusqlite::Result<Option<BlobHash>> {
    let previous_blob: Option<Vec<u8>> = transaction
        .prepare_cached("SELECT blob FROM snapshot WHERE feed = ?1 AND file = ?2")?
        .query_row(params![feed, row.key.file.as_str()], |row| row.get(0))
        .optional()?;
    let head = &row.head;
    transaction
        .prepare_cached(
            "INSERT OR REPLACE INTO snapshot (feed, file, blob, size, hash, source, format, content_type, file_name, \
             fetched, modified, etag, last_modified, confirmed) \
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14)",
        )?
        .execute(params![
            feed,
            row.key.file.as_str(),
            row.blob.as_bytes(),
            i64::try_from(row.size).unwrap_or(i64::MAX),
            head.hash.to_be_bytes(),
            head.source,
            head.format.as_str(),
            head.content_type,
            head.file_name,
            head.fetched_at.0,
            head.last_modified.map(|at| at.0),
            head.validators.etag,
            head.validators.last_modified,
            head.confirmed_at.0,
        ])?;
    if let Some(facts) = &row.facts {
        versions::upsert_current_version(transaction, feed, row, facts)?;
    }
    Ok(previous_blob
        .and_then(|bytes| BlobHash::from_digest(&bytes))
        .filter(|before| *before != row.blob))
}

/// Records that the source has confirmed the bytes.
pub(crate) fn record_not_modified(
    transaction: &Transaction<'_>,
    feed: i64,
    key: &SnapshotKey,
    at: UnixMillis,
    validators: &CacheValidators,
) -> rusqlite::Result<()> {
    transaction
        .prepare_cached(
            "UPDATE snapshot SET confirmed = MAX(confirmed, ?3), etag = ?4, last_modified = ?5 \
             WHERE feed = ?1 AND file = ?2",
        )?
        .execute(params![
            feed,
            key.file.as_str(),
            at.0,
            validators.etag,
            validators.last_modified
        ])?;
    if key.file.is_empty() { versions::update_last_seen(transaction, feed, at) } else { Ok(()) }
}

/// Deletes the snapshot of a file.
pub(crate) fn delete_snapshot_row(
    transaction: &Transaction<'_>,
    feed: i64,
    file: &str,
) -> rusqlite::Result<()> {
    transaction
        .prepare_cached("DELETE FROM snapshot WHERE feed = ?1 AND file = ?2")?
        .execute(params![feed, file])?;
    Ok(())
}

/// Deletes snapshots and reports of feeds that are no longer configured, once they have not been confirmed for
/// [`UNUSED`].
pub(crate) fn delete_rows_of_removed_feeds(
    transaction: &Transaction<'_>,
    feeds: &[FeedId],
    now: UnixMillis,
) -> rusqlite::Result<()> {
    let mut list = transaction.prepare_cached(
        "SELECT DISTINCT feed.id, feed.name FROM snapshot JOIN feed ON feed.id = snapshot.feed WHERE confirmed < ?1 \
         UNION SELECT feed.id, feed.name FROM report JOIN feed ON feed.id = report.feed \
         GROUP BY feed.id HAVING MAX(at) < ?1 AND NOT EXISTS (SELECT 1 FROM snapshot WHERE snapshot.feed = feed.id)",
    )?;
    let named = |row: &Row<'_>| Ok((row.get::<_, i64>(0)?, row.get::<_, String>(1)?));
    let old: Vec<(i64, String)> = list
        .query_map([(now - UNCONFIGURED_FEED_RETENTION).0], named)?
        .collect::<rusqlite::Result<_>>()?;
    let known: HashSet<&str> = feeds.iter().map(FeedId::as_str).collect();
    for (number, _) in old.iter().filter(|(_, name)| !known.contains(name.as_str())) {
        transaction.prepare_cached("DELETE FROM snapshot WHERE feed = ?1")?.execute([number])?;
        versions::delete_versions_of_feed(transaction, *number)?;
        reports::delete_reports_of_feed(transaction, *number)?;
    }
    Ok(())
}

pub(crate) fn find_metadata_and_blob(
    connection: &Connection,
    key: &SnapshotKey,
) -> rusqlite::Result<Option<(SnapshotMetadata, BlobHash)>> {
    let found = connection
        .prepare_cached(
            "SELECT blob, hash, source, format, content_type, file_name, fetched, modified, etag, last_modified, \
             confirmed FROM snapshot WHERE feed = (SELECT id FROM feed WHERE name = ?1) AND file = ?2",
        )?
        .query_row(params![key.feed.as_str(), key.file.as_str()], parse_metadata_and_blob)
        .optional()?;
    Ok(found.flatten())
}

/// Parses a row; `None` if it has values that the store never writes.
fn parse_metadata_and_blob(
    row: &Row<'_>,
) -> rusqlite::Result<Option<(SnapshotMetadata, BlobHash)>> {
    let blob: Vec<u8> = row.get(0)?;
    let format: String = row.get(3)?;
    let Some((blob, format)) =
        BlobHash::from_digest(&blob).zip(SnapshotMetadata::parse_format(&format))
    else {
        return Ok(None);
    };
    let head = SnapshotMetadata {
        hash: u128::from_be_bytes(row.get(1)?),
        source: row.get(2)?,
        format,
        content_type: row.get(4)?,
        file_name: row.get(5)?,
        fetched_at: UnixMillis(row.get(6)?),
        last_modified: row.get::<_, Option<i64>>(7)?.map(UnixMillis),
        validators: CacheValidators { etag: row.get(8)?, last_modified: row.get(9)? },
        confirmed_at: UnixMillis(row.get(10)?),
    };
    Ok(Some((head, blob)))
}

/// Returns true if a blob is referenced.
pub(crate) fn is_blob_referenced(
    connection: &Connection,
    hash: &BlobHash,
) -> rusqlite::Result<bool> {
    connection
        .prepare_cached(
            "SELECT EXISTS (SELECT 1 FROM snapshot WHERE blob = ?1) OR EXISTS (SELECT 1 FROM version WHERE blob = ?1)",
        )?
        .query_row([hash.as_bytes()], |row| row.get(0))
}

pub(crate) fn referenced_blobs(connection: &Connection) -> rusqlite::Result<HashSet<BlobHash>> {
    let mut blobs =
        connection.prepare_cached("SELECT blob FROM snapshot UNION SELECT blob FROM version")?;
    let blobs = blobs.query_map([], |row| row.get::<_, Vec<u8>>(0))?;
    let mut hashes = HashSet::new();
    for blob in blobs {
        hashes.extend(BlobHash::from_digest(&blob?));
    }
    Ok(hashes)
}
