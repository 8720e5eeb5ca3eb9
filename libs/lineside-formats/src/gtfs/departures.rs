//! Departures from a stop, and the trips that are active at a time.

use std::collections::BinaryHeap;

use jiff::civil::Date;

use super::{
    Frequency, PatternIdx, StopIdx, Timetable, TripIdx,
    timetable::{CallTimes, NO_TIME},
};

/// `pickup_type` of a call without boarding.
const NO_PICKUP: u8 = 1;

/// A number of seconds larger than any time of a call. Intervals are cut to it, so that sums do not overflow.
const FAR: i64 = 1 << 40;

/// One call of one trip on one service date.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct ScheduledDeparture {
    /// Departure in Unix seconds.
    pub departure: i64,
    /// Arrival in Unix seconds.
    pub arrival: i64,
    /// The trip.
    pub trip: TripIdx,
    /// Its service date.
    pub service_date: Date,
    /// For a run of `frequencies.txt`: its departure from the first stop, in seconds after noon minus 12 h.
    pub start_time: Option<i32>,
    /// The index of the call within the trip, from 0.
    pub stop_time_index: u32,
    /// `stop_sequence` of that call.
    pub stop_sequence: u32,
    /// The stop; for a request about a station, the platform.
    pub stop: StopIdx,
}

/// A trip on a service date.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct TripInstance {
    /// The trip.
    pub trip: TripIdx,
    /// Its service date.
    pub service_date: Date,
    /// For a run of `frequencies.txt`: its departure from the first stop, in seconds after noon minus 12 h.
    pub start_time: Option<i32>,
}

/// The requested interval on one service date, in seconds after that date's zero.
#[derive(Clone, Copy)]
struct ServiceDateWindow {
    date: Date,
    zero: i64,
    from: i64,
    until: i64,
}

impl Timetable {
    /// Returns the departures from a stop within `from..=until` (Unix seconds), the earliest first, at most `limit`. A
    /// station includes all its platforms. A trip's last call is no departure, nor is one without boarding
    /// (`pickup_type` 1).
    ///
    /// Cost: a binary search for each profile that serves the stop, then proportional to the departures in the
    /// interval. Memory is proportional to `limit`.
    pub fn departures_from_stop(
        &self,
        stop: StopIdx,
        from: i64,
        until: i64,
        limit: usize,
    ) -> Vec<ScheduledDeparture> {
        let mut soonest = EarliestDepartures { heap: BinaryHeap::new(), limit };
        let stops = self.stop_and_descendants(stop);
        for window in self.service_date_windows(from, until) {
            for &stop in &stops {
                for &pattern in self.patterns.patterns_at_stop(stop) {
                    self.collect_pattern_departures(pattern, stop, window, &mut soonest);
                }
            }
        }
        soonest.heap.into_sorted_vec()
    }

    /// Returns the trips that are active at any time within `from..=until` (Unix seconds), that is between their first
    /// departure and their last arrival. They are ordered by trip, date and start.
    pub fn active_trips_between(&self, from: i64, until: i64) -> Vec<TripInstance> {
        let mut active = Vec::new();
        for window in self.service_date_windows(from, until) {
            for number in 0..self.patterns.rows.len() {
                self.collect_active_trips(PatternIdx::new(number as u32), window, &mut active);
            }
        }
        active.sort_unstable();
        active
    }

    /// Returns the trips that are active at a time (Unix seconds).
    pub fn active_trips_at(&self, unix: i64) -> Vec<TripInstance> {
        self.active_trips_between(unix, unix)
    }

    fn service_date_windows(
        &self,
        from: i64,
        until: i64,
    ) -> impl Iterator<Item = ServiceDateWindow> {
        self.service_dates_between(from, until).into_iter().map(move |(date, zero)| {
            ServiceDateWindow {
                date,
                zero,
                from: from.saturating_sub(zero).max(-FAR),
                until: until.saturating_sub(zero).min(FAR),
            }
        })
    }

    fn collect_pattern_departures(
        &self,
        pattern: PatternIdx,
        stop: StopIdx,
        window: ServiceDateWindow,
        soonest: &mut EarliestDepartures,
    ) {
        let calls = self.patterns.pattern_calls(pattern);
        let boarding = calls.iter().enumerate().take(calls.len().saturating_sub(1));
        for (at, _) in
            boarding.filter(|(_, call)| call.stop == stop && call.flags.pickup_type() != NO_PICKUP)
        {
            let scheduled = |trip, start: i32, start_time, times: CallTimes| ScheduledDeparture {
                departure: window.zero + i64::from(start) + i64::from(times.departure),
                arrival: window.zero
                    + i64::from(start)
                    + i64::from(time_unless_missing(times.arrival).unwrap_or(times.departure)),
                trip,
                service_date: window.date,
                start_time,
                stop_time_index: at as u32,
                stop_sequence: self.patterns.stop_sequence(pattern, at),
                stop,
            };
            for &profile in self.patterns.profiles_of.items_of_key(pattern.get()) {
                let times = self.patterns.time_profile_times(profile)[at];
                let Some(departure) = time_unless_missing(times.departure).map(i64::from) else {
                    continue;
                };
                for (trip, start) in self.profile_trips_starting_between(
                    profile,
                    window.from - departure,
                    window.until - departure,
                ) {
                    if self.is_trip_running_on(trip, window.date)
                        && !soonest.insert_if_earlier(scheduled(trip, start, None, times))
                    {
                        break;
                    }
                }
            }
            for &(_, trip) in self.frequencies.frequency_trips_of_pattern(pattern) {
                let times =
                    self.patterns.time_profile_times(self.trips.rows[trip.get()].profile)[at];
                let Some(departure) = time_unless_missing(times.departure).map(i64::from) else {
                    continue;
                };
                for frequency in self.trip_frequencies_on_date(trip, window.date) {
                    let mut runs = frequency
                        .trip_run_starts_between(window.from - departure, window.until - departure);
                    // Stops at the first run that is later than all retained departures.
                    runs.all(|run| {
                        soonest.insert_if_earlier(scheduled(trip, run, Some(run), times))
                    });
                }
            }
        }
    }

    fn collect_active_trips(
        &self,
        pattern: PatternIdx,
        window: ServiceDateWindow,
        active: &mut Vec<TripInstance>,
    ) {
        let instance =
            |trip, start_time| TripInstance { trip, service_date: window.date, start_time };
        for &profile in self.patterns.profiles_of.items_of_key(pattern.get()) {
            let Some((first, last)) =
                profile_first_and_last_time(self.patterns.time_profile_times(profile))
            else {
                continue;
            };
            for (trip, _) in self.profile_trips_starting_between(
                profile,
                window.from - last,
                window.until - first,
            ) {
                if self.is_trip_running_on(trip, window.date) {
                    active.push(instance(trip, None));
                }
            }
        }
        for &(_, trip) in self.frequencies.frequency_trips_of_pattern(pattern) {
            let Some((first, last)) = profile_first_and_last_time(
                self.patterns.time_profile_times(self.trips.rows[trip.get()].profile),
            ) else {
                continue;
            };
            for frequency in self.trip_frequencies_on_date(trip, window.date) {
                let runs =
                    frequency.trip_run_starts_between(window.from - last, window.until - first);
                active.extend(runs.map(|run| instance(trip, Some(run))));
            }
        }
    }

    /// Returns the trips of a profile that start within `from..=until`, with their starts, ordered by start.
    fn profile_trips_starting_between(
        &self,
        profile: u32,
        from: i64,
        until: i64,
    ) -> impl Iterator<Item = (TripIdx, i32)> {
        let trips = self.patterns.trips_of.items_of_key(profile as usize);
        let start = |trip: TripIdx| self.trips.rows[trip.get()].start;
        let first = trips.partition_point(|&trip| i64::from(start(trip)) < from);
        trips[first..]
            .iter()
            .map(move |&trip| (trip, start(trip)))
            .take_while(move |&(_, at)| i64::from(at) <= until)
    }

    /// Returns the frequencies of a trip if it runs on that date, else none.
    fn trip_frequencies_on_date(&self, trip: TripIdx, date: Date) -> &[Frequency] {
        if self.is_trip_running_on(trip, date) {
            self.frequencies.trip_frequencies(trip)
        } else {
            &[]
        }
    }

    fn is_trip_running_on(&self, trip: TripIdx, date: Date) -> bool {
        self.services.is_service_active_on(self.trips.rows[trip.get()].service, date)
    }
}

fn time_unless_missing(time: i32) -> Option<i32> {
    (time != NO_TIME).then_some(time)
}

/// Returns the first and the last known time of a profile, in seconds after the trip's start.
fn profile_first_and_last_time(times: &[CallTimes]) -> Option<(i64, i64)> {
    let first = times
        .iter()
        .find_map(|t| time_unless_missing(t.departure).or(time_unless_missing(t.arrival)))?;
    let last = times
        .iter()
        .rev()
        .find_map(|t| time_unless_missing(t.arrival).or(time_unless_missing(t.departure)))?;
    Some((i64::from(first), i64::from(last)))
}

/// The earliest calls found so far, at most `limit`.
struct EarliestDepartures {
    heap: BinaryHeap<ScheduledDeparture>,
    limit: usize,
}

impl EarliestDepartures {
    /// Adds `call` if it is among the earliest. Returns true if a later call may still be.
    fn insert_if_earlier(&mut self, call: ScheduledDeparture) -> bool {
        if self.heap.len() < self.limit {
            self.heap.push(call);
            return true;
        }
        match self.heap.peek_mut() {
            Some(mut latest) if call < *latest => {
                *latest = call;
                true
            }
            _ => false,
        }
    }
}
