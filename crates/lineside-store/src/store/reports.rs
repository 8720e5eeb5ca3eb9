//! Reports in a store.

use lineside_model::{ArchiveError, FeedId};

use crate::{
    store::Store,
    tables::reports::{
        ReportRow, ReportSummaryRow, find_row, select_rows, select_summaries, select_version_rows,
    },
    write_request::WriteRequest,
};

impl Store {
    /// Stores a report on a version of a feed's data.
    pub fn store_report(&self, row: ReportRow) {
        self.send_to_writer(WriteRequest::Report(row));
    }

    /// Returns the reports on a feed, the latest first.
    ///
    /// # Errors
    /// Returns an error if the read fails.
    pub fn list_reports(
        &self,
        feed: &FeedId,
        subject: &str,
        limit: usize,
    ) -> Result<Vec<ReportRow>, ArchiveError> {
        self.with_reader(|connection| select_rows(connection, feed.as_str(), subject, limit))
    }

    /// Returns the summaries of a feed's reports, the latest first.
    ///
    /// # Errors
    /// Returns an error if the read fails.
    pub fn list_report_summaries(
        &self,
        feed: &FeedId,
        subject: &str,
        limit: usize,
    ) -> Result<Vec<ReportSummaryRow>, ArchiveError> {
        self.with_reader(|connection| select_summaries(connection, feed.as_str(), subject, limit))
    }

    /// Returns the reports on one version whose subjects begin with `subjects`, ordered by subject, at most `limit`.
    ///
    /// # Errors
    /// Returns an error if the read fails.
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

    /// Returns the report on one version.
    ///
    /// # Errors
    /// Returns an error if the read fails.
    pub fn find_report(
        &self,
        feed: &FeedId,
        subject: &str,
        version: &str,
    ) -> Result<Option<ReportRow>, ArchiveError> {
        self.with_reader(|connection| find_row(connection, feed.as_str(), subject, version))
    }
}
