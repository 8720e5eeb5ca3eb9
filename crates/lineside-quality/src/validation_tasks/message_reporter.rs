//! Creates, publishes and stores reports on new findings, once a second.

use std::collections::HashMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::Duration;

use lineside_formats::Format;
use lineside_ingest::Feed;
use lineside_model::FeedId;
use lineside_sync::real_time::{Stopwatch, sleep_for};
use serde_json::json;
use tokio::task::JoinHandle;

use crate::context::ServerContext;
use crate::reports::changes::ReportChanges;
use crate::reports::realtime::last_activity::parse_report_details;
use crate::reports::realtime::{LatestCheck, MessageFindings, RealtimeDetails};
use crate::reports::validation_report::{
    ReportFinding, ReportOutcome, ReportSubject, RuleFault, ValidationReport,
};
use crate::reports::{REALTIME, load_reports};

const CHECK_INTERVAL: Duration = Duration::from_secs(1);
/// Minimum time between two published reports while the active codes stay the same.
const PUBLISH_INTERVAL_MIN: Duration = Duration::from_secs(10);
/// Minimum time between two stored reports in that case. A crash loses at most this much history.
const STORE_INTERVAL_MIN: Duration = Duration::from_secs(60);

/// The times of a feed's last published and stored reports.
#[derive(Debug, Default)]
struct LastReported {
    published: Option<Stopwatch>,
    stored: Option<Stopwatch>,
    /// True once the report of an earlier process is restored.
    is_restored: bool,
}

/// Reports findings in messages, until the server stops.
pub async fn run_reporter(context: ServerContext) {
    let mut last_reports: HashMap<FeedId, LastReported> = HashMap::new();
    // A check of a system may take minutes, so it runs on its own and does not delay other reports.
    let mut systems: Option<JoinHandle<()>> = None;
    loop {
        let is_ending = context.shutdown().is_draining();
        if !is_ending && systems.as_ref().is_none_or(JoinHandle::is_finished) {
            systems = Some(spawn_system_checks(&context));
        }
        report_all_feeds(&context, &mut last_reports, is_ending).await;
        if is_ending {
            return;
        }
        tokio::select! {
            () = sleep_for(CHECK_INTERVAL) => {}
            () = context.shutdown().wait_until_draining() => {}
        }
    }
}

/// Checks GBFS systems one after the other on a blocking thread.
fn spawn_system_checks(context: &ServerContext) -> JoinHandle<()> {
    let context = context.clone();
    tokio::task::spawn_blocking(move || {
        let is_ending = || context.shutdown().is_draining();
        let is_system = |feed: &&Arc<Feed>| feed.format().is_some_and(Format::is_shared_mobility);
        for feed in context.ingest().feeds().iter().filter(is_system) {
            let check_system = || {
                context.reports().message_checker().check_system(feed, context.now(), &is_ending)
            };
            run_catching_panic(feed.id(), check_system);
        }
    })
}

/// Catches and logs a panic, so that the following systems are still checked.
fn run_catching_panic(feed: &FeedId, check: impl FnOnce()) {
    if catch_unwind(AssertUnwindSafe(check)).is_err() {
        tracing::error!(%feed, "the check of the GBFS system crashed");
    }
}

/// Creates reports of new findings. At the end nothing more is checked.
async fn report_all_feeds(
    context: &ServerContext,
    last_reports: &mut HashMap<FeedId, LastReported>,
    is_ending: bool,
) {
    let messages = context.reports().message_checker();
    let feed_exists = |id: &FeedId| context.ingest().find_feed(id.as_str()).is_some();
    messages.retain(feed_exists);
    last_reports.retain(|id, _| feed_exists(id));
    let feeds = context.ingest().feeds();
    for feed in &feeds {
        let is_system = match feed.format() {
            Some(format) if format.is_realtime() => false,
            Some(format) if format.is_shared_mobility() => true,
            _ => continue,
        };
        let feed_messages = messages.feed_messages(feed.id());
        let at = context.now();
        let is_due =
            || feed_messages.has_due_messages() || feed_messages.is_recheck_due(&feed.status(), at);
        if context.shutdown().is_draining() {
            // The final round reports all known findings without further checks.
            if !is_ending {
                return;
            }
        } else if is_due() {
            let (messages, feed) = (Arc::clone(messages), Arc::clone(feed));
            let latest =
                move || messages.recheck_feed(&feed, &messages.feed_messages(feed.id()), at);
            // A check that panics gives no report.
            let _: Result<(), _> = tokio::task::spawn_blocking(latest).await;
        }
        let last = last_reports.entry(feed.id().clone()).or_default();
        let earlier =
            if last.is_restored { None } else { load_earlier_report(context, feed.id()).await };
        // A check in progress holds the lock while rules run. Its findings are reported a second later.
        let findings = if is_ending {
            Some(feed_messages.findings.lock())
        } else {
            feed_messages.findings.try_lock()
        };
        if let Some(mut findings) = findings {
            last.is_restored = true;
            if let Some(earlier) = earlier {
                if let Some(about) = parse_report_details(&earlier) {
                    let is_same = earlier.validator == env!("CARGO_PKG_VERSION");
                    findings.lifecycle.resume_from(about.presence, is_same);
                    if findings.history.last_time_with_trips().is_none() && about.trips_named_at > 0
                    {
                        findings.history.set_last_time_with_trips(about.trips_named_at);
                    }
                    if findings.last_activity_at == 0 {
                        findings.last_activity_at = about.told_at;
                    }
                }
                context.reports().publish_report(context.hub(), Arc::new(earlier));
            }
            report_feed(context, (feed.id(), is_system), &mut findings, last, is_ending);
        }
    }
}

/// Loads the report of an earlier process.
async fn load_earlier_report(context: &ServerContext, feed: &FeedId) -> Option<ValidationReport> {
    let (store, id) = (context.store().cloned()?, feed.clone());
    let read = tokio::task::spawn_blocking(move || load_reports(&store, &id, REALTIME, 1));
    read.await.ok()?.into_iter().next()
}

fn report_feed(
    context: &ServerContext,
    (feed, is_system): (&FeedId, bool),
    findings: &mut MessageFindings,
    last_report: &mut LastReported,
    is_ending: bool,
) {
    let is_due = |last: Option<Stopwatch>, every| last.is_none_or(|it| it.elapsed() >= every);
    let is_urgent = findings.has_other_codes || is_ending;
    if !findings.has_new_findings
        || !(is_urgent || is_due(last_report.published, PUBLISH_INTERVAL_MIN))
    {
        return;
    }
    let Some(mut report) = build_report(feed, is_system, findings) else { return };
    let before =
        context.reports().feed_reports(feed.as_str()).and_then(|reports| reports.realtime.clone());
    report.changes = before.and_then(|it| ReportChanges::between_message_reports(&it, &report));
    if is_urgent || is_due(last_report.stored, STORE_INTERVAL_MIN) {
        last_report.stored = Some(Stopwatch::start());
        if let Some((store, row)) = context.store().zip(report.prepare_row()) {
            store.store_report(row);
        }
    }
    last_report.published = Some(Stopwatch::start());
    (findings.has_new_findings, findings.has_other_codes) = (false, false);
    context.reports().publish_report(context.hub(), Arc::new(report));
}

fn build_report(
    feed: &FeedId,
    is_system: bool,
    findings: &MessageFindings,
) -> Option<ValidationReport> {
    let latest = findings.latest.as_ref()?;
    let about = RealtimeDetails {
        schedule: latest.schedule.as_deref().unwrap_or_default().to_owned(),
        without_schedule: latest.is_without_schedule,
        is_system,
        named_trips: latest.trips.named,
        matched_trips: latest.trips.matched,
        trips_named_at: findings.history.last_time_with_trips().unwrap_or_default(),
        told_at: findings.last_activity_at,
        presence: findings.lifecycle.clone(),
    };
    let new_codes = findings.lifecycle.new_errors().map(str::to_owned).collect();
    let fault = |rule: &str, message: &str| RuleFault {
        rule: rule.to_owned(),
        message: message.to_owned(),
    };
    Some(ValidationReport {
        feed: feed.to_string(),
        subject: ReportSubject::Realtime { news: new_codes },
        at: latest.at,
        validator: env!("CARGO_PKG_VERSION").to_owned(),
        took_ms: u64::try_from(latest.took.as_millis()).unwrap_or(u64::MAX),
        outcome: report_outcome(latest),
        findings: report_findings(latest),
        faults: latest.errors.iter().map(|it| fault(it.rule, &it.message)).collect(),
        changes: None,
        about: json!(about),
        outline: Vec::new(),
        unread: Vec::new(),
        rows: latest.rows.clone(),
    })
}

fn report_outcome(latest: &LatestCheck) -> ReportOutcome {
    match (&latest.refusal, latest.is_cut_short) {
        (Some(words), _) => ReportOutcome::Unfinished { words: words.to_string() },
        (None, true) => ReportOutcome::CutShort {},
        (None, false) => ReportOutcome::Whole,
    }
}

fn report_findings(latest: &LatestCheck) -> Vec<ReportFinding> {
    let findings = latest.notices.iter().map(|found| ReportFinding {
        code: found.kind.code.to_owned(),
        severity: found.kind.severity,
        total: found.total,
        summary: found.kind.page_summary().to_owned(),
        samples: found.samples.clone(),
        places: Vec::new(),
    });
    let mut findings: Vec<ReportFinding> = findings.collect();
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
            run_catching_panic(&FeedId::new(name).unwrap(), || {
                assert_ne!(name, "two");
                checked_feeds.push(name);
            });
        }
        assert_eq!(checked_feeds, ["one", "three"]);
    }
}
