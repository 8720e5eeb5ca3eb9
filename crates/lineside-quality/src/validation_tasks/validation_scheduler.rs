//! Checks all schedules once a second and validates new versions.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use lineside_formats::Format;
use lineside_ingest::Feed;
use lineside_model::FeedId;
use lineside_sync::real_time::sleep_real_time;
use lineside_sync::semaphore::OwnedPermit;
use tokio::sync::Notify;
use xxhash_rust::xxh3::xxh3_64;

use crate::context::ServerContext;
use crate::reports::changes::ReportChanges;
use crate::reports::validation_report::{FeedValidationReport, ValidatedSubject};
use crate::reports::{DATASET, LatestValidationReports, VersionToValidate, load_stored_reports};
use crate::validation_tasks::validation_run::validate_version;

const CHECK_INTERVAL: Duration = Duration::from_secs(1);
/// Number of earlier reports of a feed in which the previous version is searched.
const EARLIER_REPORTS_MAX: usize = 8;

/// The versions of a feed that are validated or queued.
#[derive(Debug, Default)]
struct QueuedOrValidatedVersions {
    /// The hash of the served version.
    served: Option<u128>,
    /// The hash of the rejected bytes.
    refused: Option<u64>,
}

struct ValidationScheduler {
    context: ServerContext,
    seen_versions: HashMap<FeedId, QueuedOrValidatedVersions>,
    /// Notified when a validation ends.
    run_ended: Arc<Notify>,
}

/// Validates each new version of a schedule, until the server stops.
pub async fn run_validation_scheduler(context: ServerContext) {
    context
        .latest_validation_reports()
        .queue
        .set_max_running(context.config().validation.concurrency);
    let mut watch = ValidationScheduler {
        context: context.clone(),
        seen_versions: HashMap::new(),
        run_ended: Arc::default(),
    };
    while !context.shutdown().is_draining() {
        watch.queue_new_versions().await;
        watch.start_queued_validations();
        tokio::select! {
            () = sleep_real_time(CHECK_INTERVAL) => {}
            () = watch.run_ended.notified() => {}
            () = context.shutdown().wait_until_draining() => {}
        }
    }
}

impl ValidationScheduler {
    fn reports(&self) -> &LatestValidationReports {
        self.context.latest_validation_reports()
    }

    async fn queue_new_versions(&mut self) {
        let feeds = self.context.ingest().feeds();
        let feed_exists = |id: &str| self.context.ingest().find_feed(id).is_some();
        self.seen_versions.retain(|id, _| feed_exists(id.as_str()));
        self.reports().queue.retain_waiting_jobs(|id| feed_exists(id.as_str()));
        self.reports().retain_feeds(feed_exists);
        if self.context.config().validation.concurrency == 0 {
            for feed in &feeds {
                drop(feed.take_rejected_schedule());
            }
            return;
        }
        for feed in &feeds {
            let refused = feed.take_rejected_schedule();
            if feed.format().is_some_and(Format::is_schedule) || refused.is_some() {
                self.restore_stored_report(feed).await;
                self.queue_served_version_if_new(feed);
            }
            if let Some(refused) = refused {
                let hash = xxh3_64(&refused.bytes);
                let known = self.seen_versions.entry(feed.id().clone()).or_default();
                if known.refused != Some(hash)
                    && self.queue_version_to_validate(feed, Some(refused))
                {
                    self.seen_versions.entry(feed.id().clone()).or_default().refused = Some(hash);
                }
            }
        }
    }

    fn queue_version_to_validate(&self, feed: &Feed, version: VersionToValidate) -> bool {
        let most = self.context.config().validation.queue;
        self.reports().queue.push(feed.id().clone(), version, most)
    }

    /// Restores the report of an earlier process, once.
    async fn restore_stored_report(&mut self, feed: &Feed) {
        if self.seen_versions.contains_key(feed.id()) {
            return;
        }
        let mut known = QueuedOrValidatedVersions::default();
        if let Some(store) = self.context.database_store().cloned() {
            let id = feed.id().clone();
            let read = tokio::task::spawn_blocking(move || {
                load_stored_reports(&store, &id, DATASET, EARLIER_REPORTS_MAX)
            });
            let earlier = read.await.unwrap_or_default();
            known.served = earlier.iter().find_map(reusable_content_hash);
            if let Some(latest) = earlier.into_iter().next() {
                self.reports().replace_and_publish_report(self.context.hub(), Arc::new(latest));
            }
        }
        self.seen_versions.insert(feed.id().clone(), known);
    }

    /// Queues the served version, if it is not validated yet, or if a later version was rejected and the feed serves it
    /// again.
    fn queue_served_version_if_new(&mut self, feed: &Feed) {
        let Some(served) =
            feed.served_snapshot().filter(|served| served.snapshot().format.is_schedule())
        else {
            return;
        };
        let hash = served.snapshot().hash;
        let known = self.seen_versions.get(feed.id()).and_then(|known| known.served);
        let reports = self.reports().latest_reports_of_feed(feed.id().as_str());
        let latest = reports.and_then(|reports| reports.dataset.clone());
        let was_refused = latest.is_some_and(|it| {
            matches!(it.subject, ValidatedSubject::Dataset { refused: true, .. })
        });
        let is_back = was_refused
            && feed.status().last_error.is_none()
            && feed.has_been_polled()
            && self.reports().validation_job_status(feed.id().as_str()).is_none();
        if known == Some(hash) && !is_back {
            return;
        }
        if self.queue_version_to_validate(feed, None) {
            let known = self.seen_versions.entry(feed.id().clone()).or_default();
            *known = QueuedOrValidatedVersions { served: Some(hash), refused: None };
        }
    }

    /// Starts as many validations as there are free slots.
    fn start_queued_validations(&self) {
        while let Some((feed, version, permit)) = self.reports().queue.start_next_job() {
            let ended = Arc::clone(&self.run_ended);
            tokio::spawn(validate_and_report(self.context.clone(), feed, version, permit, ended));
        }
    }
}

/// Returns the hash of a report's version, if the report is complete and of this validator version, so that it need not
/// be repeated.
fn reusable_content_hash(report: &FeedValidationReport) -> Option<u128> {
    let is_good = report.is_validation_finished() && report.validator == env!("CARGO_PKG_VERSION");
    match &report.subject {
        ValidatedSubject::Dataset { tag: content_hash, refused: false, .. } if is_good => {
            u128::from_str_radix(content_hash, 16).ok()
        }
        _ => None,
    }
}

async fn validate_and_report(
    context: ServerContext,
    feed: FeedId,
    version: VersionToValidate,
    permit: OwnedPermit,
    ended: Arc<Notify>,
) {
    let validation_result = validate_version(&context, &feed, version, permit).await;
    let took = validation_result.as_ref().filter(|report| report.is_validation_finished());
    let took = took.map(|report| Duration::from_millis(report.took_ms));
    if let Some(report) = validation_result {
        compare_store_and_publish(&context, &feed, report).await;
    }
    context.latest_validation_reports().queue.mark_job_finished(&feed, took);
    ended.notify_one();
}

/// Compares a report with the previous one, stores it, and publishes it.
async fn compare_store_and_publish(
    context: &ServerContext,
    feed: &FeedId,
    mut report: FeedValidationReport,
) {
    for fault in &report.faults {
        tracing::error!(%feed, rule = fault.rule, "a rule crashed: {}", fault.message);
    }
    if report.is_validation_finished() {
        let before = find_report_to_compare(context, feed, &report).await;
        report.changes = before.and_then(|before| ReportChanges::between_reports(&before, &report));
    }
    let row = report.shrink_to_report_row();
    let report = Arc::new(report);
    if let Some((store, row)) = context.database_store().zip(row) {
        store.store_validation_report(row);
    }
    context.latest_validation_reports().replace_and_publish_report(context.hub(), report);
}

/// Returns true if differences between the reports are due to the data: the previous version was served and fully
/// validated, the versions differ, and the same validator version made both.
fn is_comparable(before: &FeedValidationReport, report: &FeedValidationReport) -> bool {
    before.is_all_data_validated()
        && !before.subject.is_rejected_version()
        && before.subject.dataset_version() != report.subject.dataset_version()
        && before.validator == report.validator
}

/// Returns the latest report that this one is compared with.
async fn find_report_to_compare(
    context: &ServerContext,
    feed: &FeedId,
    report: &FeedValidationReport,
) -> Option<Arc<FeedValidationReport>> {
    let is_other = |it: &FeedValidationReport| is_comparable(it, report);
    let latest = context
        .latest_validation_reports()
        .latest_reports_of_feed(feed.as_str())
        .and_then(|reports| reports.dataset.clone());
    if let Some(latest) = latest.filter(|latest| is_other(latest)) {
        return Some(latest);
    }
    let (store, id) = (context.database_store().cloned()?, feed.clone());
    let earlier = tokio::task::spawn_blocking(move || {
        load_stored_reports(&store, &id, DATASET, EARLIER_REPORTS_MAX)
    })
    .await
    .ok()?;
    earlier.into_iter().find(is_other).map(Arc::new)
}

#[cfg(test)]
mod tests {
    use lineside_validate::Severity::Error;

    use super::*;
    use crate::reports::test_report;

    #[test]
    fn reports_of_refused_versions_or_other_validators_are_not_compared() {
        let now = test_report("b", &[("duplicate_key", Error, 2)]);
        assert!(is_comparable(&test_report("a", &[]), &now));
        assert!(!is_comparable(&test_report("b", &[]), &now), "the same version");
        let refused = |version: &str| {
            let mut report = test_report(version, &[("duplicate_key", Error, 2)]);
            if let ValidatedSubject::Dataset { refused, .. } = &mut report.subject {
                *refused = true;
            }
            report
        };
        assert!(!is_comparable(&refused("a"), &now), "that version was never served");
        assert!(is_comparable(&now, &refused("a")));
        let older_validator =
            FeedValidationReport { validator: "0".to_owned(), ..test_report("a", &[]) };
        assert!(!is_comparable(&older_validator, &now), "a newer validator may have more rules");
    }
}
