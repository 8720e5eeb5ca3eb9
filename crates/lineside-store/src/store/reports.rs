//! Reports in a store.

use lineside_model::{ArchiveError, FeedId};

use crate::{
    store::Store,
    tables::reports::{
        ReportRow, ReportSummaryRow, find_report_on_version, select_report_summaries,
        select_reports, select_reports_on_version,
    },
    write_request::WriteRequest,
};

impl Store {
    /// Stores a report on a version of a feed's data.
    pub fn store_validation_report(&self, row: ReportRow) {
        self.queue_write_request(WriteRequest::Report(row));
    }

    /// Returns the reports on a feed, the latest first.
    ///
    /// # Errors
    /// Returns an error if the read fails.
    pub fn list_validation_reports(
        &self,
        feed: &FeedId,
        subject: &str,
        limit: usize,
    ) -> Result<Vec<ReportRow>, ArchiveError> {
        self.with_read_connection(|connection| {
            select_reports(connection, feed.as_str(), subject, limit)
        })
    }

    /// Returns the summaries of a feed's reports, the latest first.
    ///
    /// # Errors
    /// Returns an error if the read fails.
    pub fn list_validation_report_summaries(
        &self,
        feed: &FeedId,
        subject: &str,
        limit: usize,
    ) -> Result<Vec<ReportSummaryRow>, ArchiveError> {
        self.with_read_connection(|connection| {
            select_report_summaries(connection, feed.as_str(), subject, limit)
        })
    }

    /// Returns the reports on one version whose subjects begin with `subjects`, ordered by subject, at most `limit`.
    ///
    /// # Errors
    /// Returns an error if the read fails.
    pub fn list_reports_on_version(
        &self,
        feed: &FeedId,
        subjects: &str,
        version: &str,
        limit: usize,
    ) -> Result<Vec<ReportRow>, ArchiveError> {
        self.with_read_connection(|connection| {
            select_reports_on_version(connection, feed.as_str(), subjects, version, limit)
        })
    }

    /// Returns the report on one version.
    ///
    /// # Errors
    /// Returns an error if the read fails.
    pub fn find_report_on_version(
        &self,
        feed: &FeedId,
        subject: &str,
        version: &str,
    ) -> Result<Option<ReportRow>, ArchiveError> {
        self.with_read_connection(|connection| {
            find_report_on_version(connection, feed.as_str(), subject, version)
        })
    }
}
