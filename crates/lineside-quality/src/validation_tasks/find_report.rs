//! Finds the report on a version of a feed.

use std::sync::Arc;

use lineside_ingest::Feed;
use lineside_store::BlobHash;

use crate::archive_reader::ArchiveReadError;
use crate::context::ServerContext;
use crate::reports::{DATASET, ValidationReport};

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
pub async fn find_report(
    context: &ServerContext,
    feed: &Feed,
    version: Option<&str>,
) -> Result<Arc<ValidationReport>, FindReportError> {
    let latest = context.reports().feed_reports(feed.id().as_str());
    let Some(version) = version else {
        return latest
            .and_then(|reports| reports.main_report().cloned())
            .ok_or(FindReportError::Unknown);
    };
    if BlobHash::parse_hex(version).is_none() {
        return Err(FindReportError::BadVersion);
    }
    let is_match = |report: &Arc<ValidationReport>| report.subject.version() == Some(version);
    if let Some(report) = latest.and_then(|reports| reports.dataset.clone()).filter(is_match) {
        return Ok(report);
    }
    let store = context.store().map(Arc::clone).ok_or(FindReportError::Unknown)?;
    let (id, version) = (feed.id().clone(), version.to_owned());
    let row =
        context.archive_reader().read(move |_| store.find_report(&id, DATASET, &version)).await?;
    let report =
        row.and_then(|row| ValidationReport::from_row(&row)).ok_or(FindReportError::Unknown)?;
    Ok(Arc::new(report))
}
