//! Checks all schedules once a second and queues new versions for the validators of their formats.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use lineside_config::ExternalValidatorConfig;
use lineside_ingest::Feed;
use lineside_model::FeedId;
use lineside_store::Store;
use lineside_sync::UnixMillis;
use lineside_sync::real_time::sleep_real_time;
use lineside_sync::semaphore::OwnedPermit;
use tokio::sync::Notify;

use crate::context::ServerContext;
use crate::external_validators::ValidatorJobKey;
use crate::external_validators::external_report::ExternalReport;
use crate::validation_tasks::validator_run::{
    is_run_still_configured, run_external_validator_on_served,
};

const CHECK_INTERVAL: Duration = Duration::from_secs(1);
/// Number of concurrent programs: each may use many threads and gigabytes.
const SLOTS: usize = 1;

/// The version of a feed that a validator received last, or is queued for it.
#[derive(Debug)]
struct SubmittedVersion {
    /// The hash of the version; `None` before the first.
    version: Option<u128>,
    /// The validator's configuration at that time.
    validator: Arc<ExternalValidatorConfig>,
}

struct ValidatorScheduler {
    context: ServerContext,
    submitted: HashMap<ValidatorJobKey, SubmittedVersion>,
    /// Notified when a run ends.
    run_ended: Arc<Notify>,
}

/// Submits each new version of a schedule to the operator's validators, until the server stops.
pub async fn run_external_validator_scheduler(context: ServerContext) {
    context.external_validators().queue.set_max_running(SLOTS);
    let mut watch = ValidatorScheduler {
        context: context.clone(),
        submitted: HashMap::new(),
        run_ended: Arc::default(),
    };
    while !context.shutdown().is_draining() {
        watch.queue_new_versions().await;
        watch.start_queued_runs();
        tokio::select! {
            () = sleep_real_time(CHECK_INTERVAL) => {}
            () = watch.run_ended.notified() => {}
            () = context.shutdown().wait_until_draining() => {}
        }
    }
}

impl ValidatorScheduler {
    async fn queue_new_versions(&mut self) {
        let config = self.context.config();
        let is_off = config.validation.concurrency == 0;
        let active_validators: &[Arc<ExternalValidatorConfig>] =
            if is_off { &[] } else { &config.external_validators };
        let is_configured = |feed: &str, name: &str| {
            active_validators.iter().any(|it| it.name == name)
                && self.context.ingest().find_feed(feed).is_some()
        };
        self.submitted.retain(|(feed, name), _| is_configured(feed.as_str(), name));
        self.context.external_validators().retain_feeds_and_validators(is_configured);
        if active_validators.is_empty() {
            return;
        }
        for feed in &self.context.ingest().feeds() {
            let Some(served) = feed.served_snapshot() else { continue };
            let (format, hash) = (served.snapshot().format, served.snapshot().hash);
            drop(served);
            for validator in active_validators.iter().filter(|it| it.format == format) {
                self.queue_version_if_new(feed, hash, validator, config.validation.queue).await;
            }
        }
    }

    /// Queues the served version for a validator, unless it was submitted with the current configuration.
    async fn queue_version_if_new(
        &mut self,
        feed: &Feed,
        hash: u128,
        validator: &Arc<ExternalValidatorConfig>,
        queue_max: usize,
    ) {
        let key = (feed.id().clone(), validator.name.clone());
        self.restore_stored_report(&key, validator).await;
        let is_known = self
            .submitted
            .get(&key)
            .is_some_and(|known| known.version == Some(hash) && *known.validator == **validator);
        if is_known {
            return;
        }
        if self.context.external_validators().queue.push(
            key.clone(),
            Arc::clone(validator),
            queue_max,
        ) {
            let known = SubmittedVersion { version: Some(hash), validator: Arc::clone(validator) };
            self.submitted.insert(key, known);
        }
    }

    /// Restores a validator's report on a feed from the store, once, with the version that is already validated.
    async fn restore_stored_report(
        &mut self,
        key: &ValidatorJobKey,
        validator: &Arc<ExternalValidatorConfig>,
    ) {
        if self.submitted.contains_key(key) {
            return;
        }
        let mut known = SubmittedVersion { version: None, validator: Arc::clone(validator) };
        if let Some(store) = self.context.database_store().cloned() {
            let (id, subject) =
                (key.0.clone(), ExternalReport::store_key_of_validator(&validator.name));
            let read = tokio::task::spawn_blocking(move || {
                load_latest_external_report(&store, &id, &subject)
            });
            if let Some(report) = read.await.ok().flatten() {
                known.version = report.finished_content_hash(&validator.program);
                self.context.external_validators().replace_latest_report(key.0.as_str(), report);
            }
        }
        self.submitted.insert(key.clone(), known);
    }

    /// Starts as many runs as there are free slots.
    fn start_queued_runs(&self) {
        while let Some((key, validator, permit)) =
            self.context.external_validators().queue.start_next_job()
        {
            let ended = Arc::clone(&self.run_ended);
            tokio::spawn(run_validator_and_store(
                self.context.clone(),
                key,
                validator,
                permit,
                ended,
            ));
        }
    }
}

/// Loads the latest stored report; `None` if it cannot be read.
fn load_latest_external_report(
    store: &Store,
    feed: &FeedId,
    subject: &str,
) -> Option<ExternalReport> {
    match store.list_validation_reports(feed, subject, 1) {
        Ok(rows) => rows.first().and_then(ExternalReport::from_report_row),
        Err(error) => {
            tracing::warn!(%feed, %error, "the stored report of an external validator cannot be read");
            None
        }
    }
}

async fn run_validator_and_store(
    context: ServerContext,
    key: ValidatorJobKey,
    validator: Arc<ExternalValidatorConfig>,
    permit: OwnedPermit,
    ended: Arc<Notify>,
) {
    let feed = &key.0;
    let ran = tokio::select! {
        biased;
        // A server that stops ends its programs.
        () = context.shutdown().wait_until_draining() => None,
        ran = run_external_validator_on_served(&context, feed, &validator) => ran,
    };
    drop(permit);
    let successful = ran.as_ref().filter(|report| report.failed.is_none());
    let took =
        successful.and_then(|it| it.said.as_ref()).map(|it| Duration::from_millis(it.took_ms));
    if let Some(report) = ran.filter(|_| is_run_still_configured(&context, feed, &validator)) {
        store_and_publish_report(&context, feed, report, context.wall_time_now());
    }
    context.external_validators().queue.mark_job_finished(&key, took);
    ended.notify_one();
}

/// Stores and shows a report.
fn store_and_publish_report(
    context: &ServerContext,
    feed: &FeedId,
    mut report: ExternalReport,
    now: UnixMillis,
) {
    if let Some(failed) = &report.failed {
        let name = &report.validator;
        tracing::warn!(%feed, validator = %name, why = failed.why, "an external validator failed");
    }
    let row = report.shrink_to_report_row(feed, now);
    if let Some((store, row)) = context.database_store().zip(row) {
        store.store_validation_report(row);
    }
    context.external_validators().replace_latest_report(feed.as_str(), report);
}
