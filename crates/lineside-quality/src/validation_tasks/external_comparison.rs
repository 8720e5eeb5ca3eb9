//! Collects the reports of external validators on a version, each with ours.

use std::sync::Arc;

use lineside_ingest::Feed;

use super::find_report::find_report_on_version;
use crate::context::ServerContext;
use crate::external_validators::{ExternalComparison, ExternalReport};
use crate::reports::{FeedValidationReport, ValidatedSubject};

/// Maximum number of reports that are read for a version: more than the maximum number of validators, because some were
/// deleted.
const REPORTS_MAX: usize = 100;

/// Returns all external reports on the version of a report; for a feed's latest report, the latest of each validator.
pub async fn collect_external_comparisons(
    context: &ServerContext,
    feed: &Feed,
    report: &Arc<FeedValidationReport>,
    is_latest: bool,
) -> Vec<ExternalComparison> {
    let ValidatedSubject::Dataset { version, .. } = &report.subject else { return Vec::new() };
    let mut reports: Vec<Arc<ExternalReport>> =
        context.external_validators().latest_reports_of_feed(feed.id().as_str()).to_vec();
    if !is_latest {
        reports.retain(|external_report| external_report.version == *version);
        reports.extend(load_stored_external_reports(context, feed, version).await);
        reports.sort_by(|a, b| a.validator.cmp(&b.validator));
        // The report in memory precedes the stored one, which may be older.
        reports.dedup_by(|a, b| a.validator == b.validator);
    }
    let mut all = Vec::new();
    for external_report in reports {
        let lineside = find_own_report_on_version(context, feed, report, &external_report).await;
        let name = external_report.validator.clone();
        all.push(ExternalComparison {
            name,
            external: Some(external_report),
            lineside,
            is_pending: false,
        });
    }
    if is_latest {
        mark_and_add_pending_validators(context, feed, &mut all);
    }
    all
}

/// Loads the stored reports on a version; none if they cannot be read.
async fn load_stored_external_reports(
    context: &ServerContext,
    feed: &Feed,
    version: &str,
) -> Vec<Arc<ExternalReport>> {
    let Some(store) = context.database_store().map(Arc::clone) else { return Vec::new() };
    let (id, version) = (feed.id().clone(), version.to_owned());
    let subjects = ExternalReport::store_key_prefix();
    let read = move |_: &dyn lineside_model::PollArchive| {
        store.list_reports_on_version(&id, subjects, &version, REPORTS_MAX)
    };
    let rows = context.archive_reader().read(read).await.unwrap_or_default();
    rows.iter().filter_map(ExternalReport::from_report_row).map(Arc::new).collect()
}

/// Returns our report on the version of a validator's latest result.
async fn find_own_report_on_version(
    context: &ServerContext,
    feed: &Feed,
    report: &Arc<FeedValidationReport>,
    external_report: &ExternalReport,
) -> Option<Arc<FeedValidationReport>> {
    let about = &external_report.said.as_ref()?.version;
    if report.subject.dataset_version() == Some(about.as_str()) {
        return Some(Arc::clone(report));
    }
    find_report_on_version(context, feed, Some(about.as_str())).await.ok()
}

/// Marks the validators whose runs are pending, and adds those that never had a result.
fn mark_and_add_pending_validators(
    context: &ServerContext,
    feed: &Feed,
    all: &mut Vec<ExternalComparison>,
) {
    let (validators, id) = (context.external_validators(), feed.id().as_str());
    for comparison in all.iter_mut() {
        comparison.is_pending = validators.is_run_pending(id, &comparison.name);
    }
    for validator in &context.config().external_validators {
        let is_new = all.iter().all(|comparison| comparison.name != validator.name);
        if is_new && validators.is_run_pending(id, &validator.name) {
            let name = validator.name.to_string();
            all.push(ExternalComparison { name, external: None, lineside: None, is_pending: true });
        }
    }
}
