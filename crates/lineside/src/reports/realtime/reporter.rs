//! Creates, publishes and stores reports on new findings, once a second.

use std::collections::HashMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::Duration;

use lineside_formats::Format;
use lineside_ingest::{Feed, FeedId};
use lineside_store::Store;
use lineside_validate::rules::gtfs_rt::TRIPS_EXPECTED_FOR_S;
use serde_json::json;
use tokio::task::JoinHandle;

use super::super::changes::ReportChanges;
use super::super::validation_report::{
    ReportFinding, ReportOutcome, ReportSubject, RuleFault, ValidationReport,
};
use super::super::{REALTIME, load_reports};
use super::{LatestCheck, MessageFindings, RealtimeDetails};
use crate::app::App;
use crate::real_time::{Stopwatch, sleep_for};

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
pub(crate) async fn run_reporter(app: App) {
    let mut last_reports: HashMap<FeedId, LastReported> = HashMap::new();
    // A check of a system may take minutes, so it runs on its own and does not delay other reports.
    let mut systems: Option<JoinHandle<()>> = None;
    loop {
        let is_ending = app.shutdown().is_draining();
        if !is_ending && systems.as_ref().is_none_or(JoinHandle::is_finished) {
            systems = Some(spawn_system_checks(&app));
        }
        report_all_feeds(&app, &mut last_reports, is_ending).await;
        if is_ending {
            return;
        }
        tokio::select! {
            () = sleep_for(CHECK_INTERVAL) => {}
            () = app.shutdown().wait_until_draining() => {}
        }
    }
}

/// Checks GBFS systems one after the other on a blocking thread.
fn spawn_system_checks(app: &App) -> JoinHandle<()> {
    let app = app.clone();
    tokio::task::spawn_blocking(move || {
        let is_ending = || app.shutdown().is_draining();
        let is_system = |feed: &&Arc<Feed>| feed.format() == Some(Format::Gbfs);
        for feed in app.ingest().feeds().iter().filter(is_system) {
            let check_system =
                || app.reports().message_checker().check_system(feed, app.now(), &is_ending);
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
    app: &App,
    last_reports: &mut HashMap<FeedId, LastReported>,
    is_ending: bool,
) {
    let messages = app.reports().message_checker();
    let feed_exists = |id: &FeedId| app.ingest().find_feed(id.as_str()).is_some();
    messages.retain(feed_exists);
    last_reports.retain(|id, _| feed_exists(id));
    let feeds = app.ingest().feeds();
    for feed in &feeds {
        let is_system = match feed.format() {
            Some(Format::GtfsRt | Format::Siri) => false,
            Some(Format::Gbfs) => true,
            _ => continue,
        };
        let feed_messages = messages.feed_messages(feed.id());
        let at = app.now();
        let is_due =
            || feed_messages.has_due_messages() || feed_messages.is_recheck_due(&feed.status(), at);
        if app.shutdown().is_draining() {
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
            if last.is_restored { None } else { load_earlier_report(app, feed.id()).await };
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
                    if findings.history.last_trips_named().is_none() && about.trips_named_at > 0 {
                        findings.history.note_trips(about.trips_named_at);
                    }
                    if findings.last_activity_at == 0 {
                        findings.last_activity_at = about.told_at;
                    }
                }
                app.reports().publish_report(app.hub(), Arc::new(earlier));
            }
            report_feed(app, (feed.id(), is_system), &mut findings, last, is_ending);
        }
    }
}

/// Loads the report of an earlier process.
async fn load_earlier_report(app: &App, feed: &FeedId) -> Option<ValidationReport> {
    let (store, id) = (app.store().cloned()?, feed.clone());
    let read = tokio::task::spawn_blocking(move || load_reports(&store, &id, REALTIME, 1));
    read.await.ok()?.into_iter().next()
}

fn parse_report_details(report: &ValidationReport) -> Option<RealtimeDetails> {
    serde_json::from_value(report.about.clone()).ok()
}

/// Returns true if the report of an earlier process shows that the feed had trips or vehicles within some days before
/// `now`, in seconds since 1970 on the clock of its data. The rules stop missing them after equally many days.
pub(super) fn has_reported_trips(store: &Store, feed: &FeedId, now: i64) -> bool {
    let found = load_reports(store, feed, REALTIME, 1);
    let about = found.first().and_then(parse_report_details);
    about.is_some_and(|it| is_recent(it.told_at, now) || is_recent(it.trips_named_at, now))
}

/// Returns true if `told_at` is not 0 and lies shortly before `now`. A later time is from before the clock was set
/// back, so its age is unknown.
fn is_recent(last_activity_at: i64, now: i64) -> bool {
    last_activity_at > 0
        && (0..=TRIPS_EXPECTED_FOR_S).contains(&now.saturating_sub(last_activity_at))
}

fn report_feed(
    app: &App,
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
        app.reports().feed_reports(feed.as_str()).and_then(|reports| reports.realtime.clone());
    report.changes = before.and_then(|it| ReportChanges::between_message_reports(&it, &report));
    if is_urgent || is_due(last_report.stored, STORE_INTERVAL_MIN) {
        last_report.stored = Some(Stopwatch::start());
        if let Some((store, row)) = app.store().zip(report.prepare_row()) {
            store.store_report(row);
        }
    }
    last_report.published = Some(Stopwatch::start());
    (findings.has_new_findings, findings.has_other_codes) = (false, false);
    app.reports().publish_report(app.hub(), Arc::new(report));
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
        trips_named_at: findings.history.last_trips_named().unwrap_or_default(),
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
    fn times_in_the_future_are_not_recent() {
        let now = 1_767_250_000;
        for (last_activity_at, is_recent_enough) in [
            (now, true),
            (now - TRIPS_EXPECTED_FOR_S, true),
            (now - TRIPS_EXPECTED_FOR_S - 1, false),
            (now + 1, false),
            (0, false),
        ] {
            assert_eq!(is_recent(last_activity_at, now), is_recent_enough, "{last_activity_at}");
        }
        assert!(!is_recent(0, 5), "it never had trips");
    }

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
