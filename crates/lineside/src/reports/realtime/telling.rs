//! Once a second: reports are made of what is new, shown, and kept.

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

use super::super::changes::Changes;
use super::super::report::{Fault, Finding, Outcome, Report, Subject};
use super::super::{REALTIME, kept};
use super::{About, Latest, Look};
use crate::app::App;
use crate::patience::{Stopwatch, pause};

const LOOK_INTERVAL: Duration = Duration::from_secs(1);
/// How long a report is shown at least if no other codes stand,
const SHOWN_MIN: Duration = Duration::from_secs(10);
/// and how long it waits then to be kept. After a crash so much of the history is missing at most.
const KEPT_EVERY: Duration = Duration::from_secs(60);

/// When a feed's report was last shown, and kept.
#[derive(Debug, Default)]
struct Told {
    shown: Option<Stopwatch>,
    kept: Option<Stopwatch>,
    /// What an earlier process found has been taken up.
    is_restored: bool,
}

/// Tells of what was found in messages, until the server stops.
pub(crate) async fn tell(app: App) {
    let mut told: HashMap<FeedId, Told> = HashMap::new();
    // A look at a system may take minutes: nobody else's report waits for that.
    let mut systems: Option<JoinHandle<()>> = None;
    loop {
        let is_ending = app.shutdown().is_draining();
        if !is_ending && systems.as_ref().is_none_or(JoinHandle::is_finished) {
            systems = Some(look_at_systems(&app));
        }
        look_at_all(&app, &mut told, is_ending).await;
        if is_ending {
            return;
        }
        tokio::select! {
            () = pause(LOOK_INTERVAL) => {}
            () = app.shutdown().draining() => {}
        }
    }
}

/// Looks at GBFS systems, one after the other, where that blocks nobody.
fn look_at_systems(app: &App) -> JoinHandle<()> {
    let app = app.clone();
    tokio::task::spawn_blocking(move || {
        let is_ending = || app.shutdown().is_draining();
        let is_system = |feed: &&Arc<Feed>| feed.format() == Some(Format::Gbfs);
        for feed in app.ingest().feeds().iter().filter(is_system) {
            let look = || app.reports().messages().look_at_system(feed, app.now(), &is_ending);
            go_on_after(feed.id(), look);
        }
    })
}

/// Does this, and where it breaks off says so: the systems behind this one are looked at all the same.
fn go_on_after(feed: &FeedId, look: impl FnOnce()) {
    if catch_unwind(AssertUnwindSafe(look)).is_err() {
        tracing::error!(%feed, "the look at the system broke off");
    }
}

/// Makes reports of what is new. At the end nothing more is looked at.
async fn look_at_all(app: &App, told: &mut HashMap<FeedId, Told>, is_ending: bool) {
    let messages = app.reports().messages();
    let is_there = |id: &FeedId| app.ingest().feed(id.as_str()).is_some();
    messages.retain(is_there);
    told.retain(|id, _| is_there(id));
    let feeds = app.ingest().feeds();
    for feed in &feeds {
        let is_system = match feed.format() {
            Some(Format::GtfsRt | Format::Siri) => false,
            Some(Format::Gbfs) => true,
            _ => continue,
        };
        let place = messages.place(feed.id());
        let at = app.now();
        let is_due = || place.has_something_due() || place.is_the_same_for_long(&feed.status(), at);
        if app.shutdown().is_draining() {
            // What is known by now is told in a round that looks at nothing.
            if !is_ending {
                return;
            }
        } else if is_due() {
            let (messages, feed) = (Arc::clone(messages), Arc::clone(feed));
            let again = move || messages.look_again(&feed, &messages.place(feed.id()), at);
            // What breaks off is no report.
            let _: Result<(), _> = tokio::task::spawn_blocking(again).await;
        }
        let last = told.entry(feed.id().clone()).or_default();
        let earlier = if last.is_restored { None } else { earlier(app, feed.id()).await };
        // A look that is under way holds it for as long as rules take: what is new comes a second later.
        let look = if is_ending { Some(place.look.lock()) } else { place.look.try_lock() };
        if let Some(mut look) = look {
            last.is_restored = true;
            if let Some(earlier) = earlier {
                if let Some(about) = about(&earlier) {
                    let is_same = earlier.validator == env!("CARGO_PKG_VERSION");
                    look.presence.go_on(about.presence, is_same);
                    if look.history.trips_named_at().is_none() && about.trips_named_at > 0 {
                        look.history.note_trips(about.trips_named_at);
                    }
                    if look.told_at == 0 {
                        look.told_at = about.told_at;
                    }
                }
                app.reports().put(app.hub(), Arc::new(earlier));
            }
            tell_of(app, (feed.id(), is_system), &mut look, last, is_ending);
        }
    }
}

/// What an earlier process found.
async fn earlier(app: &App, feed: &FeedId) -> Option<Report> {
    let (store, id) = (app.store().cloned()?, feed.clone());
    let read = tokio::task::spawn_blocking(move || kept(&store, &id, REALTIME, 1));
    read.await.ok()?.into_iter().next()
}

fn about(report: &Report) -> Option<About> {
    serde_json::from_value(report.about.clone()).ok()
}

/// Whether what an earlier process found says that the feed told of trips or vehicles in the days before `now`, in seconds since
/// 1970 on the clock of its data. After as many the rules miss none either.
pub(super) fn has_told_of_trips(store: &Store, feed: &FeedId, now: i64) -> bool {
    let found = kept(store, feed, REALTIME, 1);
    let about = found.first().and_then(about);
    about.is_some_and(|it| is_lately(it.told_at, now) || is_lately(it.trips_named_at, now))
}

/// Whether what was told then, if that is not 0, was told not long before `now`. What is later was told before the clock was set
/// back: nobody knows how long ago.
fn is_lately(told_at: i64, now: i64) -> bool {
    told_at > 0 && (0..=TRIPS_EXPECTED_FOR_S).contains(&now.saturating_sub(told_at))
}

fn tell_of(
    app: &App,
    (feed, is_system): (&FeedId, bool),
    look: &mut Look,
    told: &mut Told,
    is_ending: bool,
) {
    let is_due = |last: Option<Stopwatch>, every| last.is_none_or(|it| it.elapsed() >= every);
    let is_urgent = look.is_other || is_ending;
    if !look.is_new || !(is_urgent || is_due(told.shown, SHOWN_MIN)) {
        return;
    }
    let Some(mut report) = report(feed, is_system, look) else { return };
    let before = app.reports().of(feed.as_str()).and_then(|reports| reports.realtime.clone());
    report.changes = before.and_then(|it| Changes::of_messages(&it, &report));
    if is_urgent || is_due(told.kept, KEPT_EVERY) {
        told.kept = Some(Stopwatch::start());
        if let Some((store, row)) = app.store().zip(report.row()) {
            store.keep_report(row);
        }
    }
    told.shown = Some(Stopwatch::start());
    (look.is_new, look.is_other) = (false, false);
    app.reports().put(app.hub(), Arc::new(report));
}

fn report(feed: &FeedId, is_system: bool, look: &Look) -> Option<Report> {
    let latest = look.latest.as_ref()?;
    let about = About {
        schedule: latest.schedule.as_deref().unwrap_or_default().to_owned(),
        without_schedule: latest.lacks_schedule,
        is_system,
        named_trips: latest.trips.named,
        matched_trips: latest.trips.matched,
        trips_named_at: look.history.trips_named_at().unwrap_or_default(),
        told_at: look.told_at,
        presence: look.presence.clone(),
    };
    let news = look.presence.news().map(str::to_owned).collect();
    let fault =
        |rule: &str, message: &str| Fault { rule: rule.to_owned(), message: message.to_owned() };
    Some(Report {
        feed: feed.to_string(),
        subject: Subject::Realtime { news },
        at: latest.at,
        validator: env!("CARGO_PKG_VERSION").to_owned(),
        took_ms: u64::try_from(latest.took.as_millis()).unwrap_or(u64::MAX),
        outcome: outcome(latest),
        findings: findings(latest),
        faults: latest.errors.iter().map(|it| fault(it.rule, &it.message)).collect(),
        changes: None,
        about: json!(about),
        outline: Vec::new(),
        unread: Vec::new(),
        rows: latest.rows.clone(),
    })
}

fn outcome(latest: &Latest) -> Outcome {
    match (&latest.refusal, latest.is_cut_short) {
        (Some(words), _) => Outcome::Unfinished { words: words.to_string() },
        (None, true) => Outcome::CutShort {},
        (None, false) => Outcome::Whole,
    }
}

fn findings(latest: &Latest) -> Vec<Finding> {
    let findings = latest.notices.iter().map(|found| Finding {
        code: found.kind.code.to_owned(),
        severity: found.kind.severity,
        total: found.total,
        summary: found.kind.summary().to_owned(),
        samples: found.samples.clone(),
        places: Vec::new(),
    });
    let mut findings: Vec<Finding> = findings.collect();
    findings.sort_by(|a, b| b.severity.cmp(&a.severity).then_with(|| a.code.cmp(&b.code)));
    findings
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_told_after_now_was_not_told_lately() {
        let now = 1_767_250_000;
        for (told_at, is_so) in [
            (now, true),
            (now - TRIPS_EXPECTED_FOR_S, true),
            (now - TRIPS_EXPECTED_FOR_S - 1, false),
            (now + 1, false),
            (0, false),
        ] {
            assert_eq!(is_lately(told_at, now), is_so, "{told_at}");
        }
        assert!(!is_lately(0, 5), "it told of none");
    }

    #[test]
    fn what_breaks_off_at_one_system_keeps_nothing_from_those_behind_it() {
        let mut looked = Vec::new();
        for name in ["one", "two", "three"] {
            go_on_after(&FeedId::new(name).unwrap(), || {
                assert_ne!(name, "two");
                looked.push(name);
            });
        }
        assert_eq!(looked, ["one", "three"]);
    }
}
