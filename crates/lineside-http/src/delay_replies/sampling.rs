//! The sampling of delays: each feed with trips is sampled once a minute. A quarter of an hour is stored when it has
//! ended and when the server stops, so that the day's history survives a restart; a killed process loses one quarter.

use std::sync::Arc;
use std::time::Duration;

use lineside_ingest::{Feed, Network};
use lineside_model::{DelayCounts, DelayQuery, FeedId, NetworkState, TripDelay};
use lineside_store::Store;
use lineside_sync::UnixMillis;

use crate::app::App;
use crate::delay_replies::question::{build_delay_source, resolve_delay_request};
use crate::delays::day::{DelayHistoryStore, SampleTime, last_day_start};
use crate::delays::question::lateness_threshold;

/// The interval between samples.
const SAMPLE_INTERVAL: Duration = Duration::from_secs(60);
/// The delay of the first sample: feeds are polled at the start.
const FIRST_SAMPLE_DELAY: Duration = Duration::from_secs(5);

/// Restores the stored day, then samples all networks once a minute until the server stops.
pub async fn sample_delays(app: App) {
    run_sampling_blocking(&app, restore_delay_history).await;
    let mut wait = FIRST_SAMPLE_DELAY;
    loop {
        tokio::select! {
            () = app.clock().sleep(wait) => {}
            () = app.shutdown().wait_until_draining() => return,
        }
        wait = SAMPLE_INTERVAL;
        run_sampling_blocking(&app, sample_all_networks).await;
    }
}

async fn run_sampling_blocking(app: &App, part: fn(&App)) {
    let own = app.clone();
    if let Err(error) = tokio::task::spawn_blocking(move || part(&own)).await {
        tracing::error!(%error, "recording delays failed");
    }
}

/// Returns the store of the history. A simulated city restarts from the beginning, so its history is not stored.
fn delay_store(app: &App) -> Option<&Arc<Store>> {
    app.store().filter(|_| !app.is_demo())
}

fn restore_delay_history(app: &App) {
    let Some(store) = delay_store(app) else { return };
    let now = app.now();
    match store.list_delay_counts(UnixMillis(last_day_start(now))) {
        Ok(rows) => app.delay_reports().day_history().restore_rows(&rows, now),
        Err(error) => {
            tracing::warn!(%error, "the recorded delays of the day cannot be read, so recording starts again")
        }
    }
}

/// Stores the current quarter of an hour; called when the server stops.
pub fn save_current_quarter_hour(app: &App) {
    if let Some(store) = delay_store(app) {
        store.store_delay_counts(app.delay_reports().day_history().unsaved_rows());
    }
}

fn sample_all_networks(app: &App) {
    let day = app.delay_reports().day_history();
    let now = app.now();
    let ended = day.begin_sampling_round(now);
    if let Some(store) = delay_store(app) {
        store.store_delay_counts(ended);
    }
    for network in app.ingest().networks() {
        let state = network.state();
        let feeds = network.realtime_feeds();
        let mut reporting_feeds = Vec::new();
        for feed in &feeds {
            let is_reporting = state.has_trip_updates(feed.id().as_str());
            if !is_reporting || !build_delay_source(app, feed, &network).is_fresh {
                continue;
            }
            reporting_feeds.push(feed.id().clone());
            add_delay_sample(day, &network, &state, &[feed.id().clone()], feed);
        }
        // Feeds of one schedule may report the same trips, or have another threshold than the schedule.
        let is_another = |schedule: &Arc<Feed>| {
            let own = lateness_threshold(schedule, &network);
            feeds.len() > 1 || feeds.iter().any(|feed| lateness_threshold(feed, &network) != own)
        };
        let schedule = network.schedule_feed().filter(is_another);
        if let Some(schedule) = schedule.filter(|_| !reporting_feeds.is_empty()) {
            add_delay_sample(day, &network, &state, &reporting_feeds, &schedule);
        }
    }
    sample_watched_stops(app, now);
    day.finish_sampling_round(|id| app.ingest().find_feed(id.as_str()).is_some(), now);
}

/// Samples the stops that were requested in the last day.
fn sample_watched_stops(app: &App, now: UnixMillis) {
    let stops = &app.delay_reports().stops;
    for stop_key in stops.list_watched_stops(now) {
        let (feed, stop) = &stop_key;
        let Ok(question) = resolve_delay_request(app, feed.as_str(), None, Some(stop)) else {
            stops.forget_stop(&stop_key);
            continue;
        };
        let believed = question.fresh_sources();
        if believed.is_empty() {
            continue;
        }
        let time = SampleTime::for_network(&question.network);
        let trips = question.state.trip_delays(question.trip_query(&believed), time.at);
        let counts = DelayCounts::from_trips(trips.iter().map(|trip| &**trip), question.late_after);
        stops.add_stop_counts(&stop_key, &counts, time);
    }
}

/// Adds a sample of the trips that some feeds report, each counted once, with the lateness threshold of `feed`.
fn add_delay_sample(
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
    day.add_trip_sample(feed.id(), &trips, late_after, SampleTime::for_network(network));
}
