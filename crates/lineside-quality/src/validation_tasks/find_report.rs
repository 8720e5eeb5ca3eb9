//! Finds the report on a version of a feed.

use std::sync::Arc;

use lineside_ingest::Feed;
use lineside_store::BlobHash;

use crate::archive_reader::ArchiveReadError;
use crate::context::ServerContext;
use crate::reports::{DATASET, FeedValidationReport};

/// The reason why there is no report.
#[derive(Debug)]
pub enum FindReportError {
    /// There is no report on this version.
    Unknown,
    /// The version is not the hash of one.
    BadVersion,
    /// The stored reports cannot be read now.
    Unreadable(ArchiveReadError),
}

impl From<ArchiveReadError> for FindReportError {
    fn from(error: ArchiveReadError) -> Self {
        Self::Unreadable(error)
    }
}

/// Finds a feed's report on a version, or its latest.
///
/// # Errors
/// Returns an error if there is none, or if the archive cannot be read now.
pub async fn find_report_on_version(
    context: &ServerContext,
    feed: &Feed,
    version: Option<&str>,
) -> Result<Arc<FeedValidationReport>, FindReportError> {
    let latest = context.latest_validation_reports().latest_reports_of_feed(feed.id().as_str());
    let Some(version) = version else {
        return latest
            .and_then(|reports| reports.dataset_or_realtime_report().cloned())
            .ok_or(FindReportError::Unknown);
    };
    if BlobHash::parse_hex(version).is_none() {
        return Err(FindReportError::BadVersion);
    }
    let is_match =
        |report: &Arc<FeedValidationReport>| report.subject.dataset_version() == Some(version);
    if let Some(report) = latest.and_then(|reports| reports.dataset.clone()).filter(is_match) {
        return Ok(report);
    }
    let store = context.database_store().map(Arc::clone).ok_or(FindReportError::Unknown)?;
    let (id, version) = (feed.id().clone(), version.to_owned());
    let row = context
        .archive_reader()
        .read(move |_| store.find_report_on_version(&id, DATASET, &version))
        .await?;
    let report = row
        .and_then(|row| FeedValidationReport::from_report_row(&row))
        .ok_or(FindReportError::Unknown)?;
    Ok(Arc::new(report))
}
