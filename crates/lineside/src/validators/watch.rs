//! Looks at all schedules once a second, and has new versions given to the validators of their formats.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use lineside_ingest::{Feed, FeedId};
use lineside_store::Store;
use lineside_sync::UnixMillis;
use lineside_sync::semaphore::OwnedPermit;
use tokio::sync::Notify;

use super::Key;
use super::opinion::Opinion;
use super::running::{is_wanted, run};
use crate::app::App;
use crate::config::Validator;
use crate::patience::pause;

const LOOK_INTERVAL: Duration = Duration::from_secs(1);
/// Programs that run at once: each takes what threads and gigabytes it likes.
const SLOTS: usize = 1;

/// What a validator was given last of a feed, or is about to be.
#[derive(Debug)]
struct Known {
    /// The hash of the version; none before the first.
    version: Option<u128>,
    /// How it was configured then.
    validator: Arc<Validator>,
}

struct Watch {
    app: App,
    known: HashMap<Key, Known>,
    /// A run has ended.
    ended: Arc<Notify>,
}

/// Has each new version of a schedule given to the operator's validators, until the server stops.
pub(crate) async fn watch(app: App) {
    app.validators().queue.set_slots(SLOTS);
    let mut watch = Watch { app: app.clone(), known: HashMap::new(), ended: Arc::default() };
    while !app.shutdown().is_draining() {
        watch.look_at_all().await;
        watch.begin_runs();
        tokio::select! {
            () = pause(LOOK_INTERVAL) => {}
            () = watch.ended.notified() => {}
            () = app.shutdown().draining() => {}
        }
    }
}

impl Watch {
    async fn look_at_all(&mut self) {
        let config = self.app.config();
        let is_off = config.validation.slots == 0;
        let wanted: &[Arc<Validator>] = if is_off { &[] } else { &config.validators };
        let is_there = |feed: &str, name: &str| {
            wanted.iter().any(|it| it.name == name) && self.app.ingest().feed(feed).is_some()
        };
        self.known.retain(|(feed, name), _| is_there(feed.as_str(), name));
        self.app.validators().retain(is_there);
        if wanted.is_empty() {
            return;
        }
        for feed in &self.app.ingest().feeds() {
            let Some(held) = feed.held() else { continue };
            let (format, hash) = (held.snapshot().format, held.snapshot().hash);
            drop(held);
            for validator in wanted.iter().filter(|it| it.format == format) {
                self.look_at(feed, hash, validator, config.validation.waiting).await;
            }
        }
    }

    /// Has the version that is served wait for a validator that was not given it yet, or is configured otherwise since.
    async fn look_at(&mut self, feed: &Feed, hash: u128, validator: &Arc<Validator>, most: usize) {
        let key = (feed.id().clone(), validator.name.clone());
        self.take_up(&key, validator).await;
        let is_known = self
            .known
            .get(&key)
            .is_some_and(|known| known.version == Some(hash) && *known.validator == **validator);
        if is_known {
            return;
        }
        if self.app.validators().queue.push(key.clone(), Arc::clone(validator), most) {
            let known = Known { version: Some(hash), validator: Arc::clone(validator) };
            self.known.insert(key, known);
        }
    }

    /// Takes up what it said of a feed to an earlier process, once, with the version that it need not be given again.
    async fn take_up(&mut self, key: &Key, validator: &Arc<Validator>) {
        if self.known.contains_key(key) {
            return;
        }
        let mut known = Known { version: None, validator: Arc::clone(validator) };
        if let Some(store) = self.app.store().cloned() {
            let (id, subject) = (key.0.clone(), Opinion::subject(&validator.name));
            let read = tokio::task::spawn_blocking(move || latest(&store, &id, &subject));
            if let Some(opinion) = read.await.ok().flatten() {
                known.version = opinion.done(&validator.program);
                self.app.validators().put(key.0.as_str(), opinion);
            }
        }
        self.known.insert(key.clone(), known);
    }

    /// Begins as many runs as there are slots for.
    fn begin_runs(&self) {
        while let Some((key, validator, permit)) = self.app.validators().queue.next() {
            let ended = Arc::clone(&self.ended);
            tokio::spawn(one_run(self.app.clone(), key, validator, permit, ended));
        }
    }
}

/// What is kept of it on the disk; nothing where that cannot be read.
fn latest(store: &Store, feed: &FeedId, subject: &str) -> Option<Opinion> {
    match store.list_reports(feed, subject, 1) {
        Ok(rows) => rows.first().and_then(Opinion::of_row),
        Err(error) => {
            tracing::warn!(%feed, %error, "what a validator said earlier cannot be read");
            None
        }
    }
}

async fn one_run(
    app: App,
    key: Key,
    validator: Arc<Validator>,
    permit: OwnedPermit,
    ended: Arc<Notify>,
) {
    let feed = &key.0;
    let ran = tokio::select! {
        biased;
        // A server that stops ends its programs.
        () = app.shutdown().draining() => None,
        ran = run(&app, feed, &validator) => ran,
    };
    drop(permit);
    let said = ran.as_ref().filter(|opinion| opinion.failed.is_none());
    let took = said.and_then(|it| it.said.as_ref()).map(|it| Duration::from_millis(it.took_ms));
    if let Some(opinion) = ran.filter(|_| is_wanted(&app, feed, &validator)) {
        keep(&app, feed, opinion, app.now());
    }
    app.validators().queue.finish(&key, took);
    ended.notify_one();
}

/// Has it kept, and shows it.
fn keep(app: &App, feed: &FeedId, mut opinion: Opinion, now: UnixMillis) {
    if let Some(failed) = &opinion.failed {
        let name = &opinion.validator;
        tracing::warn!(%feed, validator = %name, why = failed.why, "a validator failed");
    }
    let row = opinion.row(feed, now);
    if let Some((store, row)) = app.store().zip(row) {
        store.keep_report(row);
    }
    app.validators().put(feed.as_str(), opinion);
}
