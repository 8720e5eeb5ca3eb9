//! Each feed that tells of trips is looked at once a minute. What is seen in a quarter of an hour is kept when it has ended
//! and when the server stops, so that the day's picture goes on after a restart; a process that is killed loses one.

use std::sync::Arc;
use std::time::Duration;

use lineside_ingest::{DelayCounts, Feed, FeedId, Network, NetworkState, Selection, TripStanding};
use lineside_store::Store;
use lineside_sync::UnixMillis;

use super::day::{Day, first_start};
use super::question::{self, Question};
use crate::app::App;

/// How often it is looked.
const LOOK_INTERVAL: Duration = Duration::from_secs(60);
/// When it is first looked: feeds are polled at a start.
const FIRST_LOOK: Duration = Duration::from_secs(5);

/// Looks at all networks once a minute, until the server stops; first takes what was kept.
pub(crate) async fn watch(app: App) {
    aside(&app, restore).await;
    let mut wait = FIRST_LOOK;
    loop {
        tokio::select! {
            () = app.clock().sleep(wait) => {}
            () = app.shutdown().draining() => return,
        }
        wait = LOOK_INTERVAL;
        aside(&app, look).await;
    }
}

async fn aside(app: &App, part: fn(&App)) {
    let own = app.clone();
    if let Err(error) = tokio::task::spawn_blocking(move || part(&own)).await {
        tracing::error!(%error, "recording delays failed");
    }
}

/// Where it is kept. A simulated city begins anew, and its day with it.
fn store(app: &App) -> Option<&Arc<Store>> {
    app.store().filter(|_| app.demo().is_none())
}

fn restore(app: &App) {
    let Some(store) = store(app) else { return };
    let now = app.now();
    match store.list_delays(UnixMillis(first_start(now))) {
        Ok(kept) => app.delays().day().restore(&kept, now),
        Err(error) => {
            tracing::warn!(%error, "the recorded delays of the day cannot be read, so recording starts again")
        }
    }
}

/// Tells the store what was seen in the quarter of an hour that runs, as the server stops.
pub(crate) fn keep(app: &App) {
    if let Some(store) = store(app) {
        store.keep_delays(app.delays().day().unkept());
    }
}

fn look(app: &App) {
    let day = app.delays().day();
    let now = app.now();
    let ended = day.begin(now);
    if let Some(store) = store(app) {
        store.keep_delays(ended);
    }
    for network in app.ingest().networks() {
        let state = network.state();
        let feeds = network.realtime_feeds();
        let mut told = Vec::new();
        for feed in &feeds {
            let is_told_of = state.tells_of_trips(feed.id().as_str());
            if !is_told_of || !question::source(app, feed, &network).is_fresh {
                continue;
            }
            told.push(feed.id().clone());
            add(day, &network, &state, &[feed.id().clone()], feed, now);
        }
        // Feeds of one schedule may tell of the same trips, and call others late than it does.
        let is_another = |schedule: &Arc<Feed>| {
            let own = question::late_after(schedule, &network);
            feeds.len() > 1 || feeds.iter().any(|feed| question::late_after(feed, &network) != own)
        };
        let schedule = network.schedule_feed().filter(is_another);
        if let Some(schedule) = schedule.filter(|_| !told.is_empty()) {
            add(day, &network, &state, &told, &schedule, now);
        }
    }
    look_at_stops(app, now);
    day.finish(|id| app.ingest().feed(id.as_str()).is_some(), now);
}

/// Looks at the stops that somebody asked about.
fn look_at_stops(app: &App, now: UnixMillis) {
    let stops = &app.delays().stops;
    for asked in stops.all(now) {
        let (feed, stop) = &asked;
        let Ok(question) = Question::of(app, feed.as_str(), None, Some(stop)) else {
            stops.forget(&asked);
            continue;
        };
        let believed = question.believed();
        if believed.is_empty() {
            continue;
        }
        let trips = question.state.standings(question.selection(&believed), question.network.now());
        let counts = DelayCounts::of(trips.iter().map(|trip| &**trip), question.late_after);
        stops.add(&asked, &counts, now);
    }
}

/// Adds how the trips stand that some feeds tell of, each counted once, by the threshold of `asked`.
fn add(
    day: &Day,
    network: &Network,
    state: &NetworkState,
    feeds: &[FeedId],
    asked: &Feed,
    now: UnixMillis,
) {
    let selection = Selection { feeds, route: None, stop: None, all_lines: false };
    let trips = state.told_standings(selection);
    let trips: Vec<&TripStanding> = trips.iter().map(|trip| &**trip).collect();
    day.add(asked.id(), &trips, question::late_after(asked, network), now);
}
