//! How many trips were late over the day: each feed that tells of trips is looked at once a minute, and what is seen is
//! added up by quarters of an hour, for 24 hours. Stale data are not looked at: then there is a hole, as there should be.

use std::collections::{HashMap, VecDeque};
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use lineside_ingest::{DelayCounts, Feed, FeedId, Network, NetworkState, Selection};
use lineside_sync::UnixMillis;

use super::question::{self, Question};
use crate::app::App;

/// How often it is looked.
const LOOK_INTERVAL: Duration = Duration::from_secs(60);
/// When it is first looked: feeds are polled at a start.
const FIRST_LOOK: Duration = Duration::from_secs(5);
/// What is added up.
const QUARTER_MS: i64 = 15 * 60 * 1_000;
/// How many of them are a day.
const QUARTERS_MAX: usize = 96;
/// Feeds that are remembered; each takes some kilobytes.
const FEEDS_MAX: usize = 10_000;

/// What was seen in a quarter of an hour, added up over its looks.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Quarter {
    /// When it began.
    pub(crate) start: UnixMillis,
    /// Trips with known times, and those that did not run.
    pub(crate) trips: u64,
    pub(crate) late: u64,
    pub(crate) cancelled: u64,
}

impl Quarter {
    fn add(&mut self, other: &Self) {
        self.trips += other.trips;
        self.late += other.late;
        self.cancelled += other.cancelled;
    }

    /// Which share of the trips was late.
    pub(crate) fn late_share(&self) -> f64 {
        share(self.late, self.trips)
    }

    /// Which share of the trips did not run.
    pub(crate) fn cancelled_share(&self) -> f64 {
        share(self.cancelled, self.trips)
    }
}

fn share(part: u64, whole: u64) -> f64 {
    if whole == 0 { 0.0 } else { part as f64 / whole as f64 }
}

/// The last 24 hours of each feed that tells of trips, and under a schedule's id of all that tell of its trips, each once.
#[derive(Debug, Default)]
pub(crate) struct Day {
    feeds: Mutex<HashMap<FeedId, VecDeque<Quarter>>>,
    generation: AtomicI64,
}

impl Day {
    /// Rises with each look.
    pub(super) fn generation(&self) -> i64 {
        self.generation.load(Ordering::Acquire)
    }

    /// What was seen of a question's sources, in order; nothing for a line or a stop, which are not remembered.
    pub(super) fn of(&self, question: &Question, now: UnixMillis) -> Vec<Quarter> {
        if question.route.is_some() || question.stop.is_some() {
            return Vec::new();
        }
        match &question.sources[..] {
            [] => Vec::new(),
            [source] => self.of_feed(&source.id, now),
            // What several feeds tell of is counted once under the network's name.
            _ => self.of_feed(question.network.id(), now),
        }
    }

    fn of_feed(&self, feed: &FeedId, now: UnixMillis) -> Vec<Quarter> {
        let from = first_start(now);
        let feeds = self.feeds();
        let quarters = feeds.get(feed).into_iter().flatten();
        quarters.filter(|quarter| (from..=now.0).contains(&quarter.start.0)).copied().collect()
    }

    /// Adds what is seen of a feed at `now`.
    fn add(&self, feed: &FeedId, counts: &DelayCounts, now: UnixMillis) {
        let of = |number: usize| u64::try_from(number).unwrap_or(u64::MAX);
        let seen = Quarter {
            start: UnixMillis(now.0.div_euclid(QUARTER_MS) * QUARTER_MS),
            trips: of(counts.trips - counts.unknown),
            late: of(counts.late),
            cancelled: of(counts.cancelled),
        };
        let mut feeds = self.feeds();
        if feeds.len() >= FEEDS_MAX && !feeds.contains_key(feed) {
            return;
        }
        let quarters = feeds.entry(feed.clone()).or_default();
        match quarters.back_mut() {
            // A wall clock that stepped back adds to the last one: they stay in order.
            Some(last) if last.start >= seen.start => last.add(&seen),
            _ => {
                if quarters.len() >= QUARTERS_MAX {
                    quarters.pop_front();
                }
                quarters.push_back(seen);
            }
        }
    }

    /// Forgets the feeds that are no more, and says that something was added.
    fn finish(&self, is_there: impl Fn(&FeedId) -> bool) {
        self.feeds().retain(|id, _| is_there(id));
        self.generation.fetch_add(1, Ordering::AcqRel);
    }

    fn feeds(&self) -> MutexGuard<'_, HashMap<FeedId, VecDeque<Quarter>>> {
        // What a look that broke left is at worst one look short.
        self.feeds.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Where a day begins that ends now, with whole quarters.
pub(crate) fn first_start(now: UnixMillis) -> i64 {
    let quarters = i64::try_from(QUARTERS_MAX).unwrap_or(i64::MAX);
    (now.0.div_euclid(QUARTER_MS) - (quarters - 1)) * QUARTER_MS
}

/// The quarters of a day, as numbers from its first.
pub(crate) fn number(start: UnixMillis, now: UnixMillis) -> i64 {
    (start.0 - first_start(now)).div_euclid(QUARTER_MS)
}

/// Looks at all networks once a minute, until the server stops.
pub(crate) async fn watch(app: App) {
    let mut wait = FIRST_LOOK;
    loop {
        tokio::select! {
            () = app.clock().sleep(wait) => {}
            () = app.shutdown().draining() => return,
        }
        wait = LOOK_INTERVAL;
        let looking = app.clone();
        if let Err(error) = tokio::task::spawn_blocking(move || look(&looking)).await {
            tracing::error!(%error, "a look at delays broke off");
        }
    }
}

fn look(app: &App) {
    let day = app.delays().day();
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
            let counts = counts(&network, &state, &[feed.id().clone()], feed);
            day.add(feed.id(), &counts, app.now());
        }
        // Feeds of one schedule may tell of the same trips.
        let schedule = network.schedule_feed().filter(|_| feeds.len() > 1);
        if let Some(schedule) = schedule.filter(|_| !told.is_empty()) {
            let counts = counts(&network, &state, &told, &schedule);
            day.add(schedule.id(), &counts, app.now());
        }
    }
    day.finish(|id| app.ingest().feed(id.as_str()).is_some());
}

/// How the trips stand that some feeds tell of, each counted once, by the threshold of `asked`.
fn counts(network: &Network, state: &NetworkState, feeds: &[FeedId], asked: &Feed) -> DelayCounts {
    let trips = state.told_standings(Selection { feeds, route: None, stop: None, all_lines: false });
    let late_after = question::late_after(asked, network);
    DelayCounts::of(trips.iter().map(|trip| &**trip), late_after)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id(text: &str) -> FeedId {
        FeedId::new(text).unwrap()
    }

    fn counts(trips: usize, late: usize) -> DelayCounts {
        DelayCounts { trips, late, unknown: 1, cancelled: 1, ..DelayCounts::default() }
    }

    fn at(quarter: i64) -> UnixMillis {
        UnixMillis(1_800_000_000_000 + quarter * QUARTER_MS)
    }

    #[test]
    fn looks_add_up_by_quarters() {
        let day = Day::default();
        day.add(&id("a"), &counts(11, 2), at(0));
        day.add(&id("a"), &counts(11, 4), at(0) + Duration::from_secs(60));
        day.add(&id("b"), &counts(21, 10), at(0));
        day.add(&id("a"), &counts(11, 0), at(1));
        let seen = day.of_feed(&id("a"), at(1));
        let sums: Vec<_> = seen.iter().map(|it| (it.trips, it.late, it.cancelled)).collect();
        assert_eq!(sums, [(20, 6, 2), (10, 0, 1)], "trips without times do not count");
        assert_eq!(number(seen[1].start, at(1)), 95);
        assert!((seen[0].late_share() - 0.3).abs() < 1e-9);
        assert_eq!(day.of_feed(&id("b"), at(1)).len(), 1);
        assert!(day.of_feed(&id("never"), at(1)).is_empty());
    }

    #[test]
    fn a_day_is_bounded_and_passes() {
        let day = Day::default();
        for quarter in 0..300 {
            day.add(&id("a"), &counts(2, 0), at(quarter));
        }
        assert_eq!(day.feeds()[&id("a")].len(), QUARTERS_MAX);
        assert_eq!(day.of_feed(&id("a"), at(299)).len(), QUARTERS_MAX);
        assert!(day.of_feed(&id("a"), at(399)).is_empty());
        day.add(&id("a"), &counts(2, 1), at(100));
        assert_eq!(day.feeds()[&id("a")].back().unwrap().late, 1, "a clock that stepped back");
        day.finish(|_| false);
        assert!(day.feeds().is_empty() && day.generation() == 1);
    }
}
