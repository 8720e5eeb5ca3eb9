//! Validation reports in the tables: the latest report on each validated version.

use lineside_model::FeedId;
use lineside_sync::UnixMillis;
use rusqlite::{Connection, OptionalExtension as _, Row, Transaction, params};

use crate::limits::REFUSED_REPORTS_MAX;

/// A report on one version of a feed's data.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReportRow {
    pub feed: FeedId,
    /// The validated data, or the validator: `dataset`, `realtime`, or `validator/` and a name.
    pub subject: String,
    /// The version: a hash of its bytes, as in its URL.
    pub version: String,
    /// Time of the report.
    pub at: UnixMillis,
    /// True if the data were refused, so that the previous data are served.
    pub refused: bool,
    /// A summary in JSON, for lists.
    pub brief: String,
    /// The complete report in JSON.
    pub body: String,
}

/// A summary of a report, for lists.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReportSummaryRow {
    /// The version of the data.
    pub version: String,
    /// The summary in JSON; empty if an older version of the program stored the report.
    pub brief: String,
}

/// Inserts a report or replaces the earlier one on its version. Refused data may differ each time, so excess reports on
/// them are deleted at once.
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

/// Deletes excess reports, the oldest of each feed and subject. Reports on refused data are counted separately.
pub(crate) fn delete_excess_reports(
    transaction: &Transaction<'_>,
    max: usize,
) -> rusqlite::Result<()> {
    let max = i64::try_from(max).unwrap_or(i64::MAX);
    transaction
        .prepare_cached(
            "DELETE FROM report WHERE id IN (SELECT id FROM (SELECT id, refused, \
             ROW_NUMBER() OVER (PARTITION BY feed, subject, refused ORDER BY at DESC, id DESC) AS place FROM report) \
             WHERE place > iif(refused, ?2, ?1))",
        )?
        .execute([max, max.min(REFUSED_REPORTS_MAX)])?;
    Ok(())
}

/// Deletes all reports on a feed.
pub(crate) fn delete_reports_of_feed(
    transaction: &Transaction<'_>,
    feed: i64,
) -> rusqlite::Result<()> {
    transaction.prepare_cached("DELETE FROM report WHERE feed = ?1")?.execute([feed])?;
    Ok(())
}

const COLUMNS: &str = "SELECT name, subject, version, at, refused, brief, body FROM report JOIN feed ON feed.id = report.feed \
     WHERE name = ?1 AND subject = ?2";

/// Returns the reports on a feed, the latest first.
pub(crate) fn select_reports(
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

/// Returns the summaries of a feed's reports, the latest first.
pub(crate) fn select_report_summaries(
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

pub(crate) fn find_report_on_version(
    connection: &Connection,
    feed: &str,
    subject: &str,
    version: &str,
) -> rusqlite::Result<Option<ReportRow>> {
    let sql = format!("{COLUMNS} AND version = ?3");
    let mut found = connection.prepare_cached(&sql)?;
    Ok(found.query_row(params![feed, subject, version], parse_row).optional()?.flatten())
}

/// Returns the reports on one version whose subjects begin with `subjects`, ordered by subject.
pub(crate) fn select_reports_on_version(
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

/// Parses a row; `None` if the name of its feed is no longer valid.
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
