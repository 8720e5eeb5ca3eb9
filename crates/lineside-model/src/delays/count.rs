//! Counts of trips by delay.

use std::time::Duration;

use super::{TripDelay, TripDelayStatus};

/// Seconds from which a trip is early instead of on time.
const EARLY: i64 = 60;
/// Bounds of delay classes in seconds; the operator's threshold is added.
const EDGES: [i64; 6] = [EARLY, 180, 300, 600, 1_200, 1_800];

/// Counts of trips by status.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DelayCounts {
    /// All trips: those reported by feeds and those only in the timetable.
    pub trips: usize,
    /// Trips at least as late as the threshold.
    pub late: usize,
    /// Trips that do not run or skip the requested stop.
    pub cancelled: usize,
    /// Trips a minute early or more; never counted as late.
    pub early: usize,
    /// Neither late nor early.
    pub on_time: usize,
    /// Trips without known times.
    pub unknown: usize,
    /// Trips of `unknown` that only the timetable knows.
    pub scheduled_only: usize,
    /// The greatest delay in seconds; negative if all trips are early.
    pub worst: Option<i32>,
}

impl DelayCounts {
    /// Counts trips; a delay of `late_after` or more is late.
    pub fn from_trips<'a>(
        trips: impl IntoIterator<Item = &'a TripDelay>,
        late_after: Duration,
    ) -> Self {
        let mut counts = DelayCounts::default();
        for trip in trips {
            counts.count_trip(trip.status, late_after);
        }
        counts
    }

    fn count_trip(&mut self, status: TripDelayStatus, late_after: Duration) {
        self.trips += 1;
        match status {
            TripDelayStatus::Cancelled => self.cancelled += 1,
            TripDelayStatus::Unknown => self.unknown += 1,
            TripDelayStatus::ScheduledOnly => {
                self.unknown += 1;
                self.scheduled_only += 1;
            }
            TripDelayStatus::Delayed(delay) => {
                self.worst = self.worst.max(Some(delay));
                if is_late_delay(delay, late_after) {
                    self.late += 1;
                } else if i64::from(delay) <= -EARLY {
                    self.early += 1;
                } else {
                    self.on_time += 1;
                }
            }
        }
    }

    /// Returns true if enough is known to conclude that nothing is late: the status of at least half of the trips.
    pub fn has_enough_known_trips(&self) -> bool {
        self.trips > 0 && self.unknown.saturating_mul(2) <= self.trips
    }
}

fn is_late_delay(delay: i32, late_after: Duration) -> bool {
    u64::try_from(delay).is_ok_and(|delay| delay >= late_after.as_secs())
}

/// A class of delays with its number of trips.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DelayHistogramClass {
    /// The least delay in seconds; `None` for the earliest class.
    pub from: Option<i64>,
    /// The delay from which the next class begins; `None` for the latest class.
    pub until: Option<i64>,
    /// True if the trips of the class are late.
    pub is_late: bool,
    /// The number of trips in the class.
    pub trips: usize,
}

/// Groups the trips with known delays into classes, from early to late. The threshold always is a class bound.
pub fn group_trips_by_delay<'a>(
    trips: impl IntoIterator<Item = &'a TripDelay>,
    late_after: Duration,
) -> Vec<DelayHistogramClass> {
    let threshold = i64::try_from(late_after.as_secs()).unwrap_or(i64::MAX);
    let mut edges: Vec<i64> = EDGES.into_iter().chain([1 - EARLY, threshold]).collect();
    edges.sort_unstable();
    edges.dedup();
    let begins = [None].into_iter().chain(edges.iter().copied().map(Some));
    let ends = edges.iter().copied().map(Some).chain([None]);
    let mut classes: Vec<DelayHistogramClass> = begins
        .zip(ends)
        .map(|(from, until)| {
            let is_late = from.is_some_and(|from| from >= threshold);
            DelayHistogramClass { from, until, is_late, trips: 0 }
        })
        .collect();
    for trip in trips {
        if let TripDelayStatus::Delayed(delay) = trip.status {
            let class = edges.partition_point(|&edge| edge <= i64::from(delay));
            classes[class].trips += 1;
        }
    }
    classes
}

#[cfg(test)]
mod tests {
    use smol_str::SmolStr;

    use super::*;
    use crate::feed_id::FeedId;

    fn trips(statuses: &[TripDelayStatus]) -> Vec<TripDelay> {
        let trip = |&status: &TripDelayStatus| TripDelay {
            feed: FeedId::new("a").unwrap(),
            trip_id: SmolStr::default(),
            start_time: SmolStr::default(),
            start_date: SmolStr::default(),
            route_id: None,
            route_short_name: None,
            route_color: None,
            route_type: None,
            headsign: None,
            stop_id: None,
            stop_name: None,
            scheduled: None,
            begins_at: None,
            first_stop_name: None,
            status,
            is_delay_only: false,
        };
        statuses.iter().map(trip).collect()
    }

    const FIVE: Duration = Duration::from_secs(300);

    #[test]
    fn a_delay_at_the_threshold_is_late() {
        let all = [
            TripDelayStatus::Delayed(-3600),
            TripDelayStatus::Delayed(-60),
            TripDelayStatus::Delayed(-59),
            TripDelayStatus::Delayed(0),
            TripDelayStatus::Delayed(299),
            TripDelayStatus::Delayed(300),
            TripDelayStatus::Delayed(4000),
            TripDelayStatus::Cancelled,
            TripDelayStatus::Unknown,
            TripDelayStatus::ScheduledOnly,
        ];
        let counts = DelayCounts::from_trips(&trips(&all), FIVE);
        let expect = DelayCounts {
            trips: 10,
            late: 2,
            cancelled: 1,
            early: 2,
            on_time: 3,
            unknown: 2,
            scheduled_only: 1,
            worst: Some(4000),
        };
        assert_eq!(counts, expect);
        let exact = DelayCounts::from_trips(&trips(&all), Duration::from_secs(301));
        assert_eq!((exact.late, exact.on_time), (1, 4));
    }

    #[test]
    fn counts_are_inconclusive_if_most_trips_have_no_times() {
        let has_times_reported = |statuses: &[TripDelayStatus]| {
            DelayCounts::from_trips(&trips(statuses), FIVE).has_enough_known_trips()
        };
        assert!(!has_times_reported(&[]));
        assert!(!has_times_reported(&[TripDelayStatus::Unknown]));
        assert!(has_times_reported(&[TripDelayStatus::Unknown, TripDelayStatus::Cancelled]));
        assert!(!has_times_reported(&[
            TripDelayStatus::Unknown,
            TripDelayStatus::Cancelled,
            TripDelayStatus::Unknown
        ]));
        assert!(has_times_reported(&[TripDelayStatus::Delayed(-5)]));
        assert!(has_times_reported(&[
            TripDelayStatus::Delayed(-5),
            TripDelayStatus::ScheduledOnly
        ]));
        assert!(!has_times_reported(&[
            TripDelayStatus::Delayed(-5),
            TripDelayStatus::ScheduledOnly,
            TripDelayStatus::Unknown
        ]));
    }

    #[test]
    fn each_delay_is_in_one_class_and_late_ones_begin_at_the_threshold() {
        let delays = [i32::MIN, -60, -59, 0, 59, 60, 239, 240, 299, 300, 1_800, i32::MAX];
        let statuses = delays.map(TripDelayStatus::Delayed);
        for late_after in [60, 240, 300, 301, 86_400] {
            let trips = trips(&statuses);
            let late_after = Duration::from_secs(late_after);
            let classes = group_trips_by_delay(&trips, late_after);
            assert_eq!(classes.iter().map(|class| class.trips).sum::<usize>(), delays.len());
            let late: usize =
                classes.iter().filter(|class| class.is_late).map(|class| class.trips).sum();
            assert_eq!(late, DelayCounts::from_trips(&trips, late_after).late, "{late_after:?}");
            assert_eq!(classes[0].until, Some(-59), "a minute early counts as early");
            assert_eq!(classes[0].trips, 2);
        }
    }
}
