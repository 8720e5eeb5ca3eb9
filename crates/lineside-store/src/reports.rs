//! Reports of validation in the tables: one for each version that was looked at, the latest look at it.

use lineside_ingest::{ArchiveError, FeedId};
use lineside_sync::UnixMillis;
use rusqlite::{Connection, OptionalExtension as _, Row, Transaction, params};

use crate::{limits::REFUSED_REPORTS_MAX, store::Store, writer::WriteRequest};

/// What was found in one version of a feed's data.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReportRow {
    /// The feed.
    pub feed: FeedId,
    /// What was looked at, or who looked: `dataset`, `realtime`, or `validator/` and a name.
    pub subject: String,
    /// Which of them: a hash of its bytes, as its address has it.
    pub version: String,
    /// When.
    pub at: UnixMillis,
    /// Whether the data were refused, so that what came before is served.
    pub refused: bool,
    /// What it comes to, in JSON: for lists of many.
    pub brief: String,
    /// All that was found, in JSON.
    pub body: String,
}

/// A report in a list of many.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReportSummaryRow {
    /// Which version it is about.
    pub version: String,
    /// What it comes to, in JSON; empty where an older version of the program kept it.
    pub brief: String,
}

impl Store {
    /// Keeps what was found in a version of a feed's data.
    pub fn store_report(&self, row: ReportRow) {
        self.send_to_writer(WriteRequest::Report(row));
    }

    /// Reports of a feed, the latest first.
    ///
    /// # Errors
    /// If they cannot be read.
    pub fn list_reports(
        &self,
        feed: &FeedId,
        subject: &str,
        limit: usize,
    ) -> Result<Vec<ReportRow>, ArchiveError> {
        self.with_reader(|connection| select_rows(connection, feed.as_str(), subject, limit))
    }

    /// What reports of a feed come to, the latest first.
    ///
    /// # Errors
    /// If they cannot be read.
    pub fn list_report_summaries(
        &self,
        feed: &FeedId,
        subject: &str,
        limit: usize,
    ) -> Result<Vec<ReportSummaryRow>, ArchiveError> {
        self.with_reader(|connection| select_summaries(connection, feed.as_str(), subject, limit))
    }

    /// Reports of one version whose subjects begin so, in their order, at most so many.
    ///
    /// # Errors
    /// If they cannot be read.
    pub fn list_version_reports(
        &self,
        feed: &FeedId,
        subjects: &str,
        version: &str,
        limit: usize,
    ) -> Result<Vec<ReportRow>, ArchiveError> {
        self.with_reader(|connection| {
            select_version_rows(connection, feed.as_str(), subjects, version, limit)
        })
    }

    /// The report of one version.
    ///
    /// # Errors
    /// If it cannot be read.
    pub fn find_report(
        &self,
        feed: &FeedId,
        subject: &str,
        version: &str,
    ) -> Result<Option<ReportRow>, ArchiveError> {
        self.with_reader(|connection| find_row(connection, feed.as_str(), subject, version))
    }
}

/// Takes the place of what was found in that version before. What is refused may be other bytes each time, so those that are too many
/// go at once.
pub(crate) fn upsert_row(
    transaction: &Transaction<'_>,
    feed: i64,
    row: &ReportRow,
) -> rusqlite::Result<()> {
    transaction
        .prepare_cached(
            "INSERT INTO report (feed, subject, version, at, refused, brief, body) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7) \
             ON CONFLICT (feed, subject, version) DO UPDATE SET \
             at = excluded.at, refused = excluded.refused, brief = excluded.brief, body = excluded.body",
        )?
        .execute(params![
            feed, row.subject, row.version, row.at.0, row.refused, row.brief, row.body
        ])?;
    if row.refused {
        transaction
            .prepare_cached(
                "DELETE FROM report WHERE id IN (SELECT id FROM report \
                 WHERE feed = ?1 AND subject = ?2 AND refused ORDER BY at DESC, id DESC LIMIT -1 OFFSET ?3)",
            )?
            .execute(params![feed, row.subject, REFUSED_REPORTS_MAX])?;
    }
    Ok(())
}

/// Lets go of those that are too many, of each feed and subject the oldest. What was refused takes no place of the others.
pub(crate) fn trim_rows(transaction: &Transaction<'_>, most: usize) -> rusqlite::Result<()> {
    let most = i64::try_from(most).unwrap_or(i64::MAX);
    transaction
        .prepare_cached(
            "DELETE FROM report WHERE id IN (SELECT id FROM (SELECT id, refused, \
             ROW_NUMBER() OVER (PARTITION BY feed, subject, refused ORDER BY at DESC, id DESC) AS place FROM report) \
             WHERE place > iif(refused, ?2, ?1))",
        )?
        .execute([most, most.min(REFUSED_REPORTS_MAX)])?;
    Ok(())
}

/// Lets go of all of a feed.
pub(crate) fn delete_feed(transaction: &Transaction<'_>, feed: i64) -> rusqlite::Result<()> {
    transaction.prepare_cached("DELETE FROM report WHERE feed = ?1")?.execute([feed])?;
    Ok(())
}

const COLUMNS: &str = "SELECT name, subject, version, at, refused, brief, body FROM report JOIN feed ON feed.id = report.feed \
     WHERE name = ?1 AND subject = ?2";

/// Of a feed, the latest first.
fn select_rows(
    connection: &Connection,
    feed: &str,
    subject: &str,
    limit: usize,
) -> rusqlite::Result<Vec<ReportRow>> {
    let sql = format!("{COLUMNS} ORDER BY at DESC, report.id DESC LIMIT ?3");
    let limit = i64::try_from(limit).unwrap_or(i64::MAX);
    let mut rows = connection.prepare_cached(&sql)?;
    let found = rows.query_map(params![feed, subject, limit], parse_row)?;
    found.filter_map(Result::transpose).collect()
}

/// Of a feed, the latest first, without what was found.
fn select_summaries(
    connection: &Connection,
    feed: &str,
    subject: &str,
    limit: usize,
) -> rusqlite::Result<Vec<ReportSummaryRow>> {
    let mut rows = connection.prepare_cached(
        "SELECT version, brief FROM report JOIN feed ON feed.id = report.feed \
         WHERE name = ?1 AND subject = ?2 ORDER BY at DESC, report.id DESC LIMIT ?3",
    )?;
    let limit = i64::try_from(limit).unwrap_or(i64::MAX);
    let found = rows.query_map(params![feed, subject, limit], |row| {
        Ok(ReportSummaryRow { version: row.get(0)?, brief: row.get(1)? })
    })?;
    found.collect()
}

/// That of one version.
fn find_row(
    connection: &Connection,
    feed: &str,
    subject: &str,
    version: &str,
) -> rusqlite::Result<Option<ReportRow>> {
    let sql = format!("{COLUMNS} AND version = ?3");
    let mut found = connection.prepare_cached(&sql)?;
    Ok(found.query_row(params![feed, subject, version], parse_row).optional()?.flatten())
}

/// Those of one version whose subjects begin so, in their order.
fn select_version_rows(
    connection: &Connection,
    feed: &str,
    subjects: &str,
    version: &str,
    limit: usize,
) -> rusqlite::Result<Vec<ReportRow>> {
    let limit = i64::try_from(limit).unwrap_or(i64::MAX);
    let mut rows = connection.prepare_cached(
        "SELECT name, subject, version, at, refused, brief, body FROM report JOIN feed ON feed.id = report.feed \
         WHERE name = ?1 AND substr(subject, 1, length(?2)) = ?2 AND version = ?3 ORDER BY subject LIMIT ?4",
    )?;
    let found = rows.query_map(params![feed, subjects, version, limit], parse_row)?;
    found.filter_map(Result::transpose).collect()
}

/// The row, unless its feed has a name that is none any more.
fn parse_row(row: &Row<'_>) -> rusqlite::Result<Option<ReportRow>> {
    let name: String = row.get(0)?;
    let Ok(feed) = FeedId::new(&name) else { return Ok(None) };
    Ok(Some(ReportRow {
        feed,
        subject: row.get(1)?,
        version: row.get(2)?,
        at: UnixMillis(row.get(3)?),
        refused: row.get(4)?,
        brief: row.get(5)?,
        body: row.get(6)?,
    }))
}
