//! Creates, publishes and stores reports on new findings, once a second.

use std::collections::HashMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::Duration;

use lineside_formats::Format;
use lineside_ingest::Feed;
use lineside_model::FeedId;
use lineside_sync::real_time::{RealTimeStopwatch, sleep_real_time};
use serde_json::json;
use tokio::task::JoinHandle;

use crate::context::ServerContext;
use crate::reports::changes::ReportChanges;
use crate::reports::realtime::last_activity::parse_realtime_details;
use crate::reports::realtime::{LatestCheck, MessageFindings, RealtimeReportDetails};
use crate::reports::validation_report::{
    FailedRule, FeedValidationReport, FindingsOfCode, ReportOutcome, ValidatedSubject,
};
use crate::reports::{REALTIME, load_stored_reports};

const CHECK_INTERVAL: Duration = Duration::from_secs(1);
/// Minimum time between two published reports while the active codes stay the same.
const PUBLISH_INTERVAL_MIN: Duration = Duration::from_secs(10);
/// Minimum time between two stored reports in that case. A crash loses at most this much history.
const STORE_INTERVAL_MIN: Duration = Duration::from_secs(60);

/// The times of a feed's last published and stored reports.
#[derive(Debug, Default)]
struct LastReportTimes {
    published: Option<RealTimeStopwatch>,
    stored: Option<RealTimeStopwatch>,
    /// True once the report of an earlier process is restored.
    is_restored: bool,
}

/// Reports findings in messages, until the server stops.
pub async fn run_message_reporter(context: ServerContext) {
    let mut last_reports: HashMap<FeedId, LastReportTimes> = HashMap::new();
    // A check of a system may take minutes, so it runs on its own and does not delay other reports.
    let mut systems: Option<JoinHandle<()>> = None;
    loop {
        let is_ending = context.shutdown().is_draining();
        if !is_ending && systems.as_ref().is_none_or(JoinHandle::is_finished) {
            systems = Some(spawn_gbfs_system_checks(&context));
        }
        report_new_findings_of_feeds(&context, &mut last_reports, is_ending).await;
        if is_ending {
            return;
        }
        tokio::select! {
            () = sleep_real_time(CHECK_INTERVAL) => {}
            () = context.shutdown().wait_until_draining() => {}
        }
    }
}

/// Checks GBFS systems one after the other on a blocking thread.
fn spawn_gbfs_system_checks(context: &ServerContext) -> JoinHandle<()> {
    let context = context.clone();
    tokio::task::spawn_blocking(move || {
        let is_ending = || context.shutdown().is_draining();
        let is_system = |feed: &&Arc<Feed>| feed.format().is_some_and(Format::is_shared_mobility);
        for feed in context.ingest().feeds().iter().filter(is_system) {
            let check_system = || {
                context.latest_validation_reports().message_checker().check_gbfs_system_if_due(
                    feed,
                    context.wall_time_now(),
                    &is_ending,
                )
            };
            run_logging_panic(feed.id(), check_system);
        }
    })
}

/// Catches and logs a panic, so that the following systems are still checked.
fn run_logging_panic(feed: &FeedId, check: impl FnOnce()) {
    if catch_unwind(AssertUnwindSafe(check)).is_err() {
        tracing::error!(%feed, "the check of the GBFS system crashed");
    }
}

/// Creates reports of new findings. At the end nothing more is checked.
async fn report_new_findings_of_feeds(
    context: &ServerContext,
    last_reports: &mut HashMap<FeedId, LastReportTimes>,
    is_ending: bool,
) {
    let messages = context.latest_validation_reports().message_checker();
    let feed_exists = |id: &FeedId| context.ingest().find_feed(id.as_str()).is_some();
    messages.retain_feeds(feed_exists);
    last_reports.retain(|id, _| feed_exists(id));
    let feeds = context.ingest().feeds();
    for feed in &feeds {
        let is_system = match feed.format() {
            Some(format) if format.is_realtime() => false,
            Some(format) if format.is_shared_mobility() => true,
            _ => continue,
        };
        let feed_messages = messages.get_or_create_feed_checks(feed.id());
        let at = context.wall_time_now();
        let is_due =
            || feed_messages.has_messages_due() || feed_messages.is_recheck_due(&feed.status(), at);
        if context.shutdown().is_draining() {
            // The final round reports all known findings without further checks.
            if !is_ending {
                return;
            }
        } else if is_due() {
            let (messages, feed) = (Arc::clone(messages), Arc::clone(feed));
            let latest = move || {
                messages.check_waiting_and_unchanged(
                    &feed,
                    &messages.get_or_create_feed_checks(feed.id()),
                    at,
                )
            };
            // A check that panics gives no report.
            let _: Result<(), _> = tokio::task::spawn_blocking(latest).await;
        }
        let last = last_reports.entry(feed.id().clone()).or_default();
        let earlier = if last.is_restored {
            None
        } else {
            load_report_of_earlier_process(context, feed.id()).await
        };
        // A check in progress holds the lock while rules run. Its findings are reported a second later.
        let findings = if is_ending {
            Some(feed_messages.findings.lock())
        } else {
            feed_messages.findings.try_lock()
        };
        if let Some(mut findings) = findings {
            last.is_restored = true;
            if let Some(earlier) = earlier {
                if let Some(about) = parse_realtime_details(&earlier) {
                    let is_same = earlier.validator == env!("CARGO_PKG_VERSION");
                    findings.lifecycle.merge_earlier_history(about.presence, is_same);
                    if findings.history.last_time_with_trips().is_none() && about.trips_named_at > 0
                    {
                        findings.history.set_last_time_with_trips(about.trips_named_at);
                    }
                    if findings.last_activity_at == 0 {
                        findings.last_activity_at = about.told_at;
                    }
                }
                context
                    .latest_validation_reports()
                    .replace_and_publish_report(context.hub(), Arc::new(earlier));
            }
            report_new_findings_if_due(
                context,
                (feed.id(), is_system),
                &mut findings,
                last,
                is_ending,
            );
        }
    }
}

/// Loads the report of an earlier process.
async fn load_report_of_earlier_process(
    context: &ServerContext,
    feed: &FeedId,
) -> Option<FeedValidationReport> {
    let (store, id) = (context.database_store().cloned()?, feed.clone());
    let read = tokio::task::spawn_blocking(move || load_stored_reports(&store, &id, REALTIME, 1));
    read.await.ok()?.into_iter().next()
}

fn report_new_findings_if_due(
    context: &ServerContext,
    (feed, is_system): (&FeedId, bool),
    findings: &mut MessageFindings,
    last_report: &mut LastReportTimes,
    is_ending: bool,
) {
    let is_due =
        |last: Option<RealTimeStopwatch>, every| last.is_none_or(|it| it.elapsed() >= every);
    let is_urgent = findings.has_other_codes || is_ending;
    if !findings.has_new_findings
        || !(is_urgent || is_due(last_report.published, PUBLISH_INTERVAL_MIN))
    {
        return;
    }
    let Some(mut report) = build_realtime_report(feed, is_system, findings) else { return };
    let before = context
        .latest_validation_reports()
        .latest_reports_of_feed(feed.as_str())
        .and_then(|reports| reports.realtime.clone());
    report.changes = before.and_then(|it| ReportChanges::between_message_reports(&it, &report));
    if is_urgent || is_due(last_report.stored, STORE_INTERVAL_MIN) {
        last_report.stored = Some(RealTimeStopwatch::start_stopwatch());
        if let Some((store, row)) = context.database_store().zip(report.shrink_to_report_row()) {
            store.store_validation_report(row);
        }
    }
    last_report.published = Some(RealTimeStopwatch::start_stopwatch());
    (findings.has_new_findings, findings.has_other_codes) = (false, false);
    context.latest_validation_reports().replace_and_publish_report(context.hub(), Arc::new(report));
}

fn build_realtime_report(
    feed: &FeedId,
    is_system: bool,
    findings: &MessageFindings,
) -> Option<FeedValidationReport> {
    let latest = findings.latest.as_ref()?;
    let about = RealtimeReportDetails {
        schedule: latest.schedule.as_deref().unwrap_or_default().to_owned(),
        without_schedule: latest.is_without_schedule,
        is_system,
        named_trips: latest.trips.named,
        matched_trips: latest.trips.matched,
        trips_named_at: findings.history.last_time_with_trips().unwrap_or_default(),
        told_at: findings.last_activity_at,
        presence: findings.lifecycle.clone(),
    };
    let new_codes = findings.lifecycle.new_active_errors().map(str::to_owned).collect();
    let fault = |rule: &str, message: &str| FailedRule {
        rule: rule.to_owned(),
        message: message.to_owned(),
    };
    Some(FeedValidationReport {
        feed: feed.to_string(),
        subject: ValidatedSubject::Realtime { news: new_codes },
        at: latest.at,
        validator: env!("CARGO_PKG_VERSION").to_owned(),
        took_ms: u64::try_from(latest.took.as_millis()).unwrap_or(u64::MAX),
        outcome: outcome_of_check(latest),
        findings: findings_of_check(latest),
        faults: latest.errors.iter().map(|it| fault(it.rule, &it.message)).collect(),
        changes: None,
        about: json!(about),
        outline: Vec::new(),
        unread: Vec::new(),
        rows: latest.rows.clone(),
    })
}

fn outcome_of_check(latest: &LatestCheck) -> ReportOutcome {
    match (&latest.refusal, latest.is_cut_short) {
        (Some(words), _) => ReportOutcome::Unfinished { words: words.to_string() },
        (None, true) => ReportOutcome::CutShort {},
        (None, false) => ReportOutcome::Whole,
    }
}

fn findings_of_check(latest: &LatestCheck) -> Vec<FindingsOfCode> {
    let findings = latest.notices.iter().map(|found| FindingsOfCode {
        code: found.kind.code.to_owned(),
        severity: found.kind.severity,
        total: found.total,
        summary: found.kind.page_summary().to_owned(),
        samples: found.samples.clone(),
        places: Vec::new(),
    });
    let mut findings: Vec<FindingsOfCode> = findings.collect();
    findings.sort_by(|a, b| b.severity.cmp(&a.severity).then_with(|| a.code.cmp(&b.code)));
    findings
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_in_one_feed_does_not_affect_the_next_feeds() {
        let mut checked_feeds = Vec::new();
        for name in ["one", "two", "three"] {
            run_logging_panic(&FeedId::new(name).unwrap(), || {
                assert_ne!(name, "two");
                checked_feeds.push(name);
            });
        }
        assert_eq!(checked_feeds, ["one", "three"]);
    }
}
