//! The delay history of stops. Sampling all stops would need a departure board of each, every minute: so only stops
//! that were requested within a day are sampled, from the first request on, and a restart begins with none.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use lineside_model::{DelayCounts, FeedId};
use lineside_sync::UnixMillis;
use smol_str::SmolStr;

use super::day::{DelayHistory, QuarterHourCounts, QuarterHourSeries, SampleTime, last_day_start};

/// The most sampled stops: a millisecond and 2 kB each.
pub const STOPS_MAX: usize = 200;
/// The shortest time that a stop is sampled after its last request.
const WATCH_TIME_MS: i64 = 60 * 60 * 1_000;

/// A stop as named by a request: a feed or network, and the stop's id.
type WatchedStopKey = (FeedId, SmolStr);

#[derive(Debug)]
struct WatchedStop {
    /// The time of the last request.
    requested_at: UnixMillis,
    series: QuarterHourSeries,
}

/// The last 24 hours of the requested stops.
#[derive(Debug, Default)]
pub struct WatchedStopDelays {
    watched: Mutex<HashMap<WatchedStopKey, WatchedStop>>,
}

impl WatchedStopDelays {
    /// Returns the history of a stop in the day until `data_now`, the present of its data, and samples the stop from
    /// now on if the limit allows it.
    pub fn watch_stop_and_get_history(
        &self,
        feed: &FeedId,
        stop: &SmolStr,
        now: UnixMillis,
        data_now: UnixMillis,
    ) -> DelayHistory {
        let (mut watched, key) = (self.lock_watched(), (feed.clone(), stop.clone()));
        if let Some(known) = watched.get_mut(&key) {
            known.requested_at = known.requested_at.max(now);
            let quarters = known
                .series
                .iter_last_day(data_now)
                .map(QuarterHourCounts::to_quarter_hour)
                .collect();
            return DelayHistory { quarters, is_omitted: false };
        }
        if watched.len() >= STOPS_MAX {
            let oldest = watched.iter().min_by_key(|(_, known)| known.requested_at);
            let has_gone =
                |known: &WatchedStop| now.0.saturating_sub(known.requested_at.0) >= WATCH_TIME_MS;
            let oldest = oldest.filter(|(_, known)| has_gone(known)).map(|(key, _)| key.clone());
            let Some(oldest) = oldest else {
                return DelayHistory { quarters: Vec::new(), is_omitted: true };
            };
            watched.remove(&oldest);
        }
        watched
            .insert(key, WatchedStop { requested_at: now, series: QuarterHourSeries::default() });
        DelayHistory::default()
    }

    /// Returns the stops to sample; drops those without a request for a day.
    pub fn list_watched_stops(&self, now: UnixMillis) -> Vec<WatchedStopKey> {
        let mut watched = self.lock_watched();
        watched.retain(|_, known| known.requested_at.0 >= last_day_start(now));
        watched.keys().cloned().collect()
    }

    pub fn add_stop_counts(&self, asked: &WatchedStopKey, counts: &DelayCounts, time: SampleTime) {
        if let Some(known) = self.lock_watched().get_mut(asked) {
            known.series.add_sample(QuarterHourCounts::from_counts(counts, time.at), time);
        }
    }

    /// Drops the history of a removed stop.
    pub fn forget_stop(&self, key: &WatchedStopKey) {
        self.lock_watched().remove(key);
    }

    fn lock_watched(&self) -> MutexGuard<'_, HashMap<WatchedStopKey, WatchedStop>> {
        // A panic during a sample loses at most that sample.
        self.watched.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: UnixMillis = UnixMillis(1_800_000_000_000);

    fn stop_key(stop: usize) -> WatchedStopKey {
        (FeedId::new("town").unwrap(), SmolStr::new(stop.to_string()))
    }

    fn live(at: UnixMillis) -> SampleTime {
        SampleTime { at, is_recording: false }
    }

    fn history_of(stops: &WatchedStopDelays, stop: usize, now: UnixMillis) -> DelayHistory {
        let (feed, stop) = stop_key(stop);
        stops.watch_stop_and_get_history(&feed, &stop, now, now)
    }

    #[test]
    fn the_history_of_a_stop_begins_with_its_first_request() {
        let stops = WatchedStopDelays::default();
        let counts = DelayCounts { trips: 4, late: 1, unknown: 1, ..DelayCounts::default() };
        stops.add_stop_counts(&stop_key(1), &counts, live(NOW));
        assert_eq!(
            history_of(&stops, 1, NOW),
            DelayHistory::default(),
            "the history was never requested"
        );
        assert_eq!(stops.list_watched_stops(NOW), [stop_key(1)]);
        stops.add_stop_counts(&stop_key(1), &counts, live(NOW));
        stops.add_stop_counts(
            &stop_key(1),
            &counts,
            live(NOW + std::time::Duration::from_secs(60)),
        );
        let day = history_of(&stops, 1, NOW);
        let seen: Vec<_> =
            day.quarters.iter().map(|it| (it.trips, it.late, it.cancelled)).collect();
        assert_eq!(seen, [(6, 2, 0)]);
        stops.forget_stop(&stop_key(1));
        assert_eq!(history_of(&stops, 1, NOW), DelayHistory::default());
        assert_eq!(
            stops.list_watched_stops(NOW + std::time::Duration::from_secs(86_400 + 900)),
            []
        );
    }

    #[test]
    fn only_a_stop_that_is_no_longer_requested_is_evicted() {
        let stops = WatchedStopDelays::default();
        for stop in 0..STOPS_MAX {
            assert!(!history_of(&stops, stop, NOW).is_omitted);
        }
        let later = UnixMillis(NOW.0 + WATCH_TIME_MS - 1);
        for stop in 1..STOPS_MAX {
            history_of(&stops, stop, later);
        }
        assert!(history_of(&stops, STOPS_MAX, later).is_omitted);
        let later = UnixMillis(NOW.0 + WATCH_TIME_MS);
        assert!(!history_of(&stops, STOPS_MAX, later).is_omitted, "the place of the first is free");
        assert!(history_of(&stops, 0, later).is_omitted);
        assert_eq!(stops.list_watched_stops(later).len(), STOPS_MAX);
    }
}
