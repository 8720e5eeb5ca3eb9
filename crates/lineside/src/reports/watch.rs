//! Looks at all schedules once a second, and has new versions held against the rules.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use lineside_formats::Format;
use lineside_ingest::{Feed, FeedId};
use lineside_sync::semaphore::OwnedPermit;
use tokio::sync::Notify;
use xxhash_rust::xxh3::xxh3_64;

use super::changes::Changes;
use super::looking::look;
use super::report::{Report, Subject};
use super::{DATASET, Reports, Version, kept};
use crate::app::App;
use crate::patience::pause;

const LOOK_INTERVAL: Duration = Duration::from_secs(1);
/// Earlier reports of a feed that are looked through for the version before.
const EARLIER: usize = 8;

/// What of a feed was looked at, or is about to be.
#[derive(Debug, Default)]
struct Known {
    /// The hash of the version that was served.
    served: Option<u128>,
    /// The hash of the bytes that were refused.
    refused: Option<u64>,
}

struct Watch {
    app: App,
    known: HashMap<FeedId, Known>,
    /// A look has ended.
    ended: Arc<Notify>,
}

/// Has each new version of a schedule held against the rules, until the server stops.
pub(crate) async fn watch(app: App) {
    app.reports().queue.set_slots(app.config().validation.slots);
    let mut watch = Watch { app: app.clone(), known: HashMap::new(), ended: Arc::default() };
    while !app.shutdown().is_draining() {
        watch.look_at_all().await;
        watch.begin_looks();
        tokio::select! {
            () = pause(LOOK_INTERVAL) => {}
            () = watch.ended.notified() => {}
            () = app.shutdown().draining() => {}
        }
    }
}

impl Watch {
    fn reports(&self) -> &Reports {
        self.app.reports()
    }

    async fn look_at_all(&mut self) {
        let feeds = self.app.ingest().feeds();
        let is_there = |id: &str| self.app.ingest().feed(id).is_some();
        self.known.retain(|id, _| is_there(id.as_str()));
        self.reports().queue.retain(|id| is_there(id.as_str()));
        self.reports().retain(is_there);
        if self.app.config().validation.slots == 0 {
            for feed in &feeds {
                drop(feed.take_refused());
            }
            return;
        }
        for feed in &feeds {
            let refused = feed.take_refused();
            if feed.format().is_some_and(Format::is_schedule) || refused.is_some() {
                self.remember(feed).await;
                self.look_at_served(feed);
            }
            if let Some(refused) = refused {
                let hash = xxh3_64(&refused.bytes);
                let known = self.known.entry(feed.id().clone()).or_default();
                if known.refused != Some(hash) && self.push(feed, Some(refused)) {
                    self.known.entry(feed.id().clone()).or_default().refused = Some(hash);
                }
            }
        }
    }

    fn push(&self, feed: &Feed, version: Version) -> bool {
        let most = self.app.config().validation.waiting;
        self.reports().queue.push(feed.id().clone(), version, most)
    }

    /// Takes up what an earlier process has found, once.
    async fn remember(&mut self, feed: &Feed) {
        if self.known.contains_key(feed.id()) {
            return;
        }
        let mut known = Known::default();
        if let Some(store) = self.app.store().cloned() {
            let id = feed.id().clone();
            let read = tokio::task::spawn_blocking(move || kept(&store, &id, DATASET, EARLIER));
            let earlier = read.await.unwrap_or_default();
            known.served = earlier.iter().find_map(served_of);
            if let Some(latest) = earlier.into_iter().next() {
                self.reports().put(self.app.hub(), Arc::new(latest));
            }
        }
        self.known.insert(feed.id().clone(), known);
    }

    /// Has the version that is served looked at, if that was not done yet, or if the one after it came to nothing.
    fn look_at_served(&mut self, feed: &Feed) {
        let Some(held) = feed.held().filter(|held| held.snapshot().format.is_schedule()) else {
            return;
        };
        let hash = held.snapshot().hash;
        let known = self.known.get(feed.id()).and_then(|known| known.served);
        let reports = self.reports().of(feed.id().as_str());
        let latest = reports.and_then(|reports| reports.dataset.clone());
        let was_refused =
            latest.is_some_and(|it| matches!(it.subject, Subject::Dataset { refused: true, .. }));
        let is_back = was_refused
            && feed.status().last_error.is_none()
            && feed.was_tried()
            && self.reports().standing(feed.id().as_str()).is_none();
        if known == Some(hash) && !is_back {
            return;
        }
        if self.push(feed, None) {
            let known = self.known.entry(feed.id().clone()).or_default();
            *known = Known { served: Some(hash), refused: None };
        }
    }

    /// Begins as many looks as there are slots for.
    fn begin_looks(&self) {
        while let Some((feed, version, permit)) = self.reports().queue.next() {
            let ended = Arc::clone(&self.ended);
            tokio::spawn(one_look(self.app.clone(), feed, version, permit, ended));
        }
    }
}

/// The hash of the version that a report is about, if it need not be made again: this validator made it, and to its end.
fn served_of(report: &Report) -> Option<u128> {
    let is_good = report.is_word() && report.validator == env!("CARGO_PKG_VERSION");
    match &report.subject {
        Subject::Dataset { tag, refused: false, .. } if is_good => {
            u128::from_str_radix(tag, 16).ok()
        }
        _ => None,
    }
}

async fn one_look(
    app: App,
    feed: FeedId,
    version: Version,
    permit: OwnedPermit,
    ended: Arc<Notify>,
) {
    let looked = look(&app, &feed, version, permit).await;
    let took = looked.as_ref().filter(|report| report.is_word());
    let took = took.map(|report| Duration::from_millis(report.took_ms));
    if let Some(report) = looked {
        finish(&app, &feed, report).await;
    }
    app.reports().queue.finish(&feed, took);
    ended.notify_one();
}

/// Compares a report with the one before, has it kept, and shows it.
async fn finish(app: &App, feed: &FeedId, mut report: Report) {
    for fault in &report.faults {
        tracing::error!(%feed, rule = fault.rule, "a rule broke off: {}", fault.message);
    }
    if report.is_word() {
        let before = before(app, feed, &report).await;
        report.changes = before.and_then(|before| Changes::of(&before, &report));
    }
    let row = report.row();
    let report = Arc::new(report);
    if let Some((store, row)) = app.store().zip(row) {
        store.keep_report(row);
    }
    app.reports().put(app.hub(), report);
}

/// Whether what is different between the two is due to the data: the one before was served, they are on two
/// versions that could be read, and one validator made both, as another one may have other rules.
fn is_comparable(before: &Report, report: &Report) -> bool {
    before.is_whole()
        && !before.subject.is_refused()
        && before.subject.version() != report.subject.version()
        && before.validator == report.validator
}

/// The last report that this one is compared with.
async fn before(app: &App, feed: &FeedId, report: &Report) -> Option<Arc<Report>> {
    let is_other = |it: &Report| is_comparable(it, report);
    let latest = app.reports().of(feed.as_str()).and_then(|reports| reports.dataset.clone());
    if let Some(latest) = latest.filter(|latest| is_other(latest)) {
        return Some(latest);
    }
    let (store, id) = (app.store().cloned()?, feed.clone());
    let earlier =
        tokio::task::spawn_blocking(move || kept(&store, &id, DATASET, EARLIER)).await.ok()?;
    earlier.into_iter().find(is_other).map(Arc::new)
}

#[cfg(test)]
mod tests {
    use lineside_validate::Severity::Error;

    use super::*;
    use crate::reports::test_report;

    #[test]
    fn what_another_validator_found_is_compared_with_nothing() {
        let now = test_report("b", &[("duplicate_key", Error, 2)]);
        assert!(is_comparable(&test_report("a", &[]), &now));
        assert!(!is_comparable(&test_report("b", &[]), &now), "the same version");
        let refused = |version: &str| {
            let mut report = test_report(version, &[("duplicate_key", Error, 2)]);
            if let Subject::Dataset { refused, .. } = &mut report.subject {
                *refused = true;
            }
            report
        };
        assert!(!is_comparable(&refused("a"), &now), "nobody was served that");
        assert!(is_comparable(&now, &refused("a")));
        let of_older = Report { validator: "0".to_owned(), ..test_report("a", &[]) };
        assert!(!is_comparable(&of_older, &now), "more rules are no more errors");
    }
}
