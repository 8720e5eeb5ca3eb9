//! Deletes old rows: detail after a day, the rest after the configured time, and rows beyond their limits.

use std::time::Duration;

use lineside_model::{ArchiveSpan, FeedId};
use lineside_sync::UnixMillis;
use rusqlite::{Connection, OptionalExtension as _, params};

use super::{reports, snapshots, versions};
use crate::limits::{
    DELAYS_MAX, FAILED_MAX, INCIDENTS_MAX, NOTIFICATION_RETENTION, POLLS_MAX, PURGE_ROWS_MAX,
    SERVER_RUNS_MAX, SINGLE_POLL_RETENTION,
};

/// The retention of stored data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RetentionPolicy {
    /// Retention of failed polls, incidents and hourly sums of polls.
    pub availability: Duration,
    /// Number of versions of each schedule, including the served one.
    pub versions: usize,
    /// Retention of versions that are no longer served, since they were last seen.
    pub versions_age: Duration,
    /// Number of reports on each feed and subject.
    pub reports: usize,
}

/// A kind of rows that expire.
struct TableRetentionRule {
    /// Selects the time of the newest row beyond the limit.
    beyond: &'static str,
    max: i64,
    /// Deletes rows before a time, up to a number.
    delete: &'static str,
}

const GOOD_POLLS: TableRetentionRule = TableRetentionRule {
    beyond: "SELECT at FROM poll WHERE words IS NULL ORDER BY at DESC LIMIT 1 OFFSET ?1",
    max: POLLS_MAX,
    delete: "DELETE FROM poll WHERE id IN \
             (SELECT id FROM poll WHERE words IS NULL AND at < ?1 ORDER BY at LIMIT ?2)",
};
const FAILED_POLLS: TableRetentionRule = TableRetentionRule {
    beyond: "SELECT at FROM poll WHERE words IS NOT NULL ORDER BY at DESC LIMIT 1 OFFSET ?1",
    max: FAILED_MAX,
    delete: "DELETE FROM poll WHERE id IN \
             (SELECT id FROM poll WHERE words IS NOT NULL AND at < ?1 ORDER BY at LIMIT ?2)",
};
const INCIDENTS: TableRetentionRule = TableRetentionRule {
    beyond: "SELECT ended FROM incident WHERE ended IS NOT NULL ORDER BY ended DESC LIMIT 1 OFFSET ?1",
    max: INCIDENTS_MAX,
    delete: "DELETE FROM incident WHERE id IN \
             (SELECT id FROM incident WHERE ended IS NOT NULL AND ended < ?1 ORDER BY ended LIMIT ?2)",
};
const DELAYS: TableRetentionRule = TableRetentionRule {
    beyond: "SELECT start FROM delay ORDER BY start DESC LIMIT 1 OFFSET ?1",
    max: DELAYS_MAX,
    delete: "DELETE FROM delay WHERE id IN (SELECT id FROM delay WHERE start < ?1 ORDER BY start LIMIT ?2)",
};
const SERVER_RUNS: TableRetentionRule = TableRetentionRule {
    beyond: "SELECT seen FROM life ORDER BY seen DESC LIMIT 1 OFFSET ?1",
    max: SERVER_RUNS_MAX,
    delete: "DELETE FROM life WHERE id IN (SELECT id FROM life WHERE seen < ?1 ORDER BY seen LIMIT ?2)",
};

/// Deletes rows that have expired at `now`; snapshots only if the configured feeds are known. Returns true if no
/// expired rows are left.
pub(crate) fn delete_expired_rows(
    connection: &mut Connection,
    now: UnixMillis,
    retention: &RetentionPolicy,
    configured: Option<&[FeedId]>,
) -> rusqlite::Result<bool> {
    let transaction = connection.transaction()?;
    versions::delete_excess_versions(&transaction, retention, now)?;
    reports::delete_excess_reports(&transaction, retention.reports)?;
    if let Some(feeds) = configured {
        snapshots::delete_rows_of_removed_feeds(&transaction, feeds, now)?;
    }
    let duration = retention.availability;
    let mut is_all = true;
    let kinds = [
        (GOOD_POLLS, duration.min(SINGLE_POLL_RETENTION)),
        (FAILED_POLLS, duration),
        (INCIDENTS, duration),
        (SERVER_RUNS, duration),
        // The view of a day needs these rows, however short the configured retention.
        (DELAYS, SINGLE_POLL_RETENTION),
    ];
    for (kind, age) in kinds {
        is_all &= delete_expired_rows_by_rule(&transaction, &kind, now - age)?;
    }
    delete_expired_bins(&transaction, now, duration)?;
    // They are few: one for each feed, target and kind.
    transaction
        .execute("DELETE FROM notification WHERE at < ?1", [(now - NOTIFICATION_RETENTION).0])?;
    transaction.commit()?;
    Ok(is_all)
}

fn delete_expired_rows_by_rule(
    connection: &Connection,
    kind: &TableRetentionRule,
    old: UnixMillis,
) -> rusqlite::Result<bool> {
    let beyond: Option<i64> = connection
        .prepare_cached(kind.beyond)?
        .query_row([kind.max], |row| row.get(0))
        .optional()?;
    let cutoff = beyond.map_or(old.0, |at| old.0.max(at.saturating_add(1)));
    let deleted =
        connection.prepare_cached(kind.delete)?.execute(params![cutoff, PURGE_ROWS_MAX])?;
    Ok(i64::try_from(deleted).is_ok_and(|deleted| deleted < PURGE_ROWS_MAX))
}

/// Deletes expired bins, except the newest one of each feed, which is valid until the next poll.
fn delete_expired_bins(
    connection: &Connection,
    now: UnixMillis,
    duration: Duration,
) -> rusqlite::Result<()> {
    let mut feeds = connection.prepare_cached("SELECT id FROM feed")?;
    let feeds: Vec<i64> =
        feeds.query_map([], |row| row.get(0))?.collect::<rusqlite::Result<_>>()?;
    let mut delete = connection.prepare_cached(
        "DELETE FROM bin WHERE feed = ?1 AND width = ?2 AND start < \
         (SELECT MAX(start) FROM bin WHERE feed = ?1 AND width = ?2 AND start < ?3)",
    )?;
    for feed in feeds {
        for span in ArchiveSpan::ALL {
            let age = match span {
                ArchiveSpan::Day => duration.min(SINGLE_POLL_RETENTION),
                ArchiveSpan::Month => duration,
            };
            delete.execute(params![feed, span.bin_seconds(), (now - age).0])?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schema;

    #[test]
    fn the_oldest_rows_beyond_the_limit_are_deleted() {
        let folder = tempfile::tempdir().unwrap();
        let connection =
            schema::open_or_create(&folder.path().join("lineside.db"), || Ok(())).unwrap();
        for at in 1..=10 {
            let insert = "INSERT INTO life (began, seen) VALUES (?1, ?1)";
            connection.execute(insert, [at]).unwrap();
        }
        let few = TableRetentionRule { max: 3, ..SERVER_RUNS };
        assert!(delete_expired_rows_by_rule(&connection, &few, UnixMillis(0)).unwrap());
        let left: Vec<i64> = connection
            .prepare("SELECT seen FROM life ORDER BY seen")
            .unwrap()
            .query_map([], |row| row.get(0))
            .unwrap()
            .map(Result::unwrap)
            .collect();
        assert_eq!(left, [8, 9, 10]);
    }

    #[test]
    fn every_kind_of_row_is_deleted_by_an_index() {
        let folder = tempfile::tempdir().unwrap();
        let connection =
            schema::open_or_create(&folder.path().join("lineside.db"), || Ok(())).unwrap();
        for kind in [GOOD_POLLS, FAILED_POLLS, INCIDENTS] {
            let plan = format!("EXPLAIN QUERY PLAN {}", kind.delete);
            let mut plan = connection.prepare(&plan).unwrap();
            let steps = plan.query_map(params![0, 1], |row| row.get::<_, String>(3)).unwrap();
            let steps: Vec<String> = steps.map(Result::unwrap).collect();
            let text = steps.join("; ");
            assert!(text.contains("INDEX") && !text.contains("TEMP B-TREE"), "{text}");
        }
    }
}
