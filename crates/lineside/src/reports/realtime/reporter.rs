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
use crate::timeout::{Stopwatch, sleep_for};

const LOOK_INTERVAL: Duration = Duration::from_secs(1);
/// Minimum time between two published reports while the active codes stay the same.
const SHOWN_MIN: Duration = Duration::from_secs(10);
/// Minimum time between two stored reports in that case. A crash loses at most this much history.
const KEPT_EVERY: Duration = Duration::from_secs(60);

/// The times of a feed's last published and stored reports.
#[derive(Debug, Default)]
struct LastReported {
    shown: Option<Stopwatch>,
    kept: Option<Stopwatch>,
    /// True once the report of an earlier process is restored.
    is_restored: bool,
}

/// Reports findings in messages, until the server stops.
pub(crate) async fn run_reporter(app: App) {
    let mut told: HashMap<FeedId, LastReported> = HashMap::new();
    // A check of a system may take minutes, so it runs on its own and does not delay other reports.
    let mut systems: Option<JoinHandle<()>> = None;
    loop {
        let is_ending = app.shutdown().is_draining();
        if !is_ending && systems.as_ref().is_none_or(JoinHandle::is_finished) {
            systems = Some(spawn_system_checks(&app));
        }
        report_all_feeds(&app, &mut told, is_ending).await;
        if is_ending {
            return;
        }
        tokio::select! {
            () = sleep_for(LOOK_INTERVAL) => {}
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
            let look = || app.reports().message_checks().check_system(feed, app.now(), &is_ending);
            run_catching_panic(feed.id(), look);
        }
    })
}

/// Catches and logs a panic, so that the following systems are still checked.
fn run_catching_panic(feed: &FeedId, look: impl FnOnce()) {
    if catch_unwind(AssertUnwindSafe(look)).is_err() {
        tracing::error!(%feed, "the check of the GBFS system crashed");
    }
}

/// Creates reports of new findings. At the end nothing more is checked.
async fn report_all_feeds(app: &App, told: &mut HashMap<FeedId, LastReported>, is_ending: bool) {
    let messages = app.reports().message_checks();
    let is_there = |id: &FeedId| app.ingest().find_feed(id.as_str()).is_some();
    messages.retain(is_there);
    told.retain(|id, _| is_there(id));
    let feeds = app.ingest().feeds();
    for feed in &feeds {
        let is_system = match feed.format() {
            Some(Format::GtfsRt | Format::Siri) => false,
            Some(Format::Gbfs) => true,
            _ => continue,
        };
        let place = messages.feed_messages(feed.id());
        let at = app.now();
        let is_due = || place.has_due_messages() || place.is_recheck_due(&feed.status(), at);
        if app.shutdown().is_draining() {
            // The final round reports all known findings without further checks.
            if !is_ending {
                return;
            }
        } else if is_due() {
            let (messages, feed) = (Arc::clone(messages), Arc::clone(feed));
            let again =
                move || messages.recheck_feed(&feed, &messages.feed_messages(feed.id()), at);
            // A check that panics gives no report.
            let _: Result<(), _> = tokio::task::spawn_blocking(again).await;
        }
        let last = told.entry(feed.id().clone()).or_default();
        let earlier =
            if last.is_restored { None } else { load_earlier_report(app, feed.id()).await };
        // A check in progress holds the lock while rules run. Its findings are reported a second later.
        let look = if is_ending { Some(place.look.lock()) } else { place.look.try_lock() };
        if let Some(mut look) = look {
            last.is_restored = true;
            if let Some(earlier) = earlier {
                if let Some(about) = parse_report_details(&earlier) {
                    let is_same = earlier.validator == env!("CARGO_PKG_VERSION");
                    look.presence.resume_from(about.presence, is_same);
                    if look.history.last_trips_named().is_none() && about.trips_named_at > 0 {
                        look.history.note_trips(about.trips_named_at);
                    }
                    if look.told_at == 0 {
                        look.told_at = about.told_at;
                    }
                }
                app.reports().publish_report(app.hub(), Arc::new(earlier));
            }
            report_feed(app, (feed.id(), is_system), &mut look, last, is_ending);
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
fn is_recent(told_at: i64, now: i64) -> bool {
    told_at > 0 && (0..=TRIPS_EXPECTED_FOR_S).contains(&now.saturating_sub(told_at))
}

fn report_feed(
    app: &App,
    (feed, is_system): (&FeedId, bool),
    look: &mut MessageFindings,
    told: &mut LastReported,
    is_ending: bool,
) {
    let is_due = |last: Option<Stopwatch>, every| last.is_none_or(|it| it.elapsed() >= every);
    let is_urgent = look.is_other || is_ending;
    if !look.is_new || !(is_urgent || is_due(told.shown, SHOWN_MIN)) {
        return;
    }
    let Some(mut report) = build_report(feed, is_system, look) else { return };
    let before =
        app.reports().feed_reports(feed.as_str()).and_then(|reports| reports.realtime.clone());
    report.changes = before.and_then(|it| ReportChanges::between_message_reports(&it, &report));
    if is_urgent || is_due(told.kept, KEPT_EVERY) {
        told.kept = Some(Stopwatch::start());
        if let Some((store, row)) = app.store().zip(report.prepare_row()) {
            store.store_report(row);
        }
    }
    told.shown = Some(Stopwatch::start());
    (look.is_new, look.is_other) = (false, false);
    app.reports().publish_report(app.hub(), Arc::new(report));
}

fn build_report(
    feed: &FeedId,
    is_system: bool,
    look: &MessageFindings,
) -> Option<ValidationReport> {
    let latest = look.latest.as_ref()?;
    let about = RealtimeDetails {
        schedule: latest.schedule.as_deref().unwrap_or_default().to_owned(),
        without_schedule: latest.lacks_schedule,
        is_system,
        named_trips: latest.trips.named,
        matched_trips: latest.trips.matched,
        trips_named_at: look.history.last_trips_named().unwrap_or_default(),
        told_at: look.told_at,
        presence: look.presence.clone(),
    };
    let news = look.presence.new_errors().map(str::to_owned).collect();
    let fault = |rule: &str, message: &str| RuleFault {
        rule: rule.to_owned(),
        message: message.to_owned(),
    };
    Some(ValidationReport {
        feed: feed.to_string(),
        subject: ReportSubject::Realtime { news },
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
        for (told_at, is_so) in [
            (now, true),
            (now - TRIPS_EXPECTED_FOR_S, true),
            (now - TRIPS_EXPECTED_FOR_S - 1, false),
            (now + 1, false),
            (0, false),
        ] {
            assert_eq!(is_recent(told_at, now), is_so, "{told_at}");
        }
        assert!(!is_recent(0, 5), "it never had trips");
    }

    #[test]
    fn a_panic_in_one_feed_does_not_affect_the_next_feeds() {
        let mut looked = Vec::new();
        for name in ["one", "two", "three"] {
            run_catching_panic(&FeedId::new(name).unwrap(), || {
                assert_ne!(name, "two");
                looked.push(name);
            });
        }
        assert_eq!(looked, ["one", "three"]);
    }
}
