//! The sampling of delays: each feed with trips is sampled once a minute. A quarter of an hour is stored when it has
//! ended and when the server stops, so that the day's history survives a restart; a killed process loses one quarter.

use std::sync::Arc;
use std::time::Duration;

use lineside_ingest::{DelayCounts, DelayQuery, Feed, FeedId, Network, NetworkState, TripDelay};
use lineside_store::Store;
use lineside_sync::UnixMillis;

use crate::app::App;
use crate::delay_replies::question::{delay_source, find_question};
use crate::delays::day::{DelayHistoryStore, SampleTime, day_start};
use crate::delays::question::lateness_threshold;

/// The interval between samples.
const SAMPLE_INTERVAL: Duration = Duration::from_secs(60);
/// The delay of the first sample: feeds are polled at the start.
const FIRST_SAMPLE_DELAY: Duration = Duration::from_secs(5);

/// Restores the stored day, then samples all networks once a minute until the server stops.
pub async fn sample_delays(app: App) {
    run_blocking(&app, restore_day).await;
    let mut wait = FIRST_SAMPLE_DELAY;
    loop {
        tokio::select! {
            () = app.clock().sleep(wait) => {}
            () = app.shutdown().wait_until_draining() => return,
        }
        wait = SAMPLE_INTERVAL;
        run_blocking(&app, sample_networks).await;
    }
}

async fn run_blocking(app: &App, part: fn(&App)) {
    let own = app.clone();
    if let Err(error) = tokio::task::spawn_blocking(move || part(&own)).await {
        tracing::error!(%error, "recording delays failed");
    }
}

/// Returns the store of the history. A simulated city restarts from the beginning, so its history is not stored.
fn delay_store(app: &App) -> Option<&Arc<Store>> {
    app.store().filter(|_| !app.is_demo())
}

fn restore_day(app: &App) {
    let Some(store) = delay_store(app) else { return };
    let now = app.now();
    match store.list_delays(UnixMillis(day_start(now))) {
        Ok(rows) => app.delays().day().restore_rows(&rows, now),
        Err(error) => {
            tracing::warn!(%error, "the recorded delays of the day cannot be read, so recording starts again")
        }
    }
}

/// Stores the current quarter of an hour; called when the server stops.
pub fn save_quarter(app: &App) {
    if let Some(store) = delay_store(app) {
        store.store_delays(app.delays().day().unsaved_rows());
    }
}

fn sample_networks(app: &App) {
    let day = app.delays().day();
    let now = app.now();
    let ended = day.begin_round(now);
    if let Some(store) = delay_store(app) {
        store.store_delays(ended);
    }
    for network in app.ingest().networks() {
        let state = network.state();
        let feeds = network.realtime_feeds();
        let mut reporting_feeds = Vec::new();
        for feed in &feeds {
            let is_reporting = state.reports_trips(feed.id().as_str());
            if !is_reporting || !delay_source(app, feed, &network).is_fresh {
                continue;
            }
            reporting_feeds.push(feed.id().clone());
            add_sample(day, &network, &state, &[feed.id().clone()], feed);
        }
        // Feeds of one schedule may report the same trips, or have another threshold than the schedule.
        let is_another = |schedule: &Arc<Feed>| {
            let own = lateness_threshold(schedule, &network);
            feeds.len() > 1 || feeds.iter().any(|feed| lateness_threshold(feed, &network) != own)
        };
        let schedule = network.schedule_feed().filter(is_another);
        if let Some(schedule) = schedule.filter(|_| !reporting_feeds.is_empty()) {
            add_sample(day, &network, &state, &reporting_feeds, &schedule);
        }
    }
    sample_stops(app, now);
    day.finish_round(|id| app.ingest().find_feed(id.as_str()).is_some(), now);
}

/// Samples the stops that were requested in the last day.
fn sample_stops(app: &App, now: UnixMillis) {
    let stops = &app.delays().stops;
    for stop_key in stops.list_watched(now) {
        let (feed, stop) = &stop_key;
        let Ok(question) = find_question(app, feed.as_str(), None, Some(stop)) else {
            stops.forget_stop(&stop_key);
            continue;
        };
        let believed = question.believed_sources();
        if believed.is_empty() {
            continue;
        }
        let time = SampleTime::for_network(&question.network);
        let trips = question.state.trip_delays(question.selection(&believed), time.at);
        let counts = DelayCounts::from_trips(trips.iter().map(|trip| &**trip), question.late_after);
        stops.add_counts(&stop_key, &counts, time);
    }
}

/// Adds a sample of the trips that some feeds report, each counted once, with the lateness threshold of `feed`.
fn add_sample(
    day: &DelayHistoryStore,
    network: &Network,
    state: &NetworkState,
    feeds: &[FeedId],
    feed: &Feed,
) {
    let selection = DelayQuery { feeds, route: None, stop: None, all_lines: false };
    let trips = state.reported_trip_delays(selection);
    let trips: Vec<&TripDelay> = trips.iter().map(|trip| &**trip).collect();
    let late_after = lateness_threshold(feed, network);
    day.add_trips(feed.id(), &trips, late_after, SampleTime::for_network(network));
}
