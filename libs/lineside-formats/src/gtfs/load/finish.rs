//! Builds the indexes of a timetable after all tables are loaded.

use super::TimetableLoader;
use crate::{
    Error, ErrorKind, Problems,
    gtfs::{
        PatternIdx, StopIdx, Timetable, TripIdx,
        timetable::{ItemsByKey, NO_TIME, ServiceTable, TripRow, index_unless_none},
    },
};

impl TimetableLoader {
    /// Returns the timetable and the problems of the dataset.
    pub(super) fn build_timetable(mut self) -> Result<(Timetable, Problems), Error> {
        if self.strings.is_full() {
            return Err(Error::new(
                ErrorKind::TooLarge,
                "the dataset has more distinct text than the limit",
            ));
        }
        self.build_pattern_indexes();
        let trips = self
            .trips
            .rows
            .iter()
            .enumerate()
            .map(|(number, row)| (row.route.get(), to_trip_idx(number)));
        self.routes.trips = ItemsByKey::new(self.routes.rows.len(), trips);
        let mut services = ServiceTable { rows: self.service_rows, ..ServiceTable::default() };
        services.set_service_exceptions(&self.exceptions);
        let day_span = self.day_span.unwrap_or((0, 0));
        let timetable = Timetable {
            row_counts: self.row_counts,
            timezone: self.timezone,
            timezone_name: self.timezone_name,
            feed_info: self.feed_info,
            strings: self.strings.into_arena(),
            agencies: self.agencies,
            stops: self.stops,
            routes: self.routes,
            service_range: services.compute_service_date_range(),
            services,
            shapes: self.shapes,
            trips: self.trips,
            patterns: self.patterns,
            frequencies: self.frequencies,
            day_span,
        };
        Ok((timetable, self.problems))
    }

    fn build_pattern_indexes(&mut self) {
        self.day_span = self.compute_call_time_range();
        let (trips, patterns) = (&self.trips.rows, &mut self.patterns);
        patterns.rows.shrink_to_fit();
        patterns.calls.shrink_to_fit();
        patterns.profiles.shrink_to_fit();
        patterns.times.shrink_to_fit();
        patterns.extra.shrink_to_fit();

        let pattern_of = |row: &TripRow, patterns: &crate::gtfs::timetable::PatternTable| {
            index_unless_none(row.profile)
                .map(|profile| patterns.profiles[profile as usize].pattern)
        };
        let mut used = vec![false; patterns.rows.len()];
        for pattern in trips.iter().filter_map(|row| pattern_of(row, patterns)) {
            used[pattern.get()] = true;
        }
        let mut visits: Vec<(StopIdx, PatternIdx)> = Vec::new();
        for number in (0..patterns.rows.len()).filter(|&number| used[number]) {
            let pattern = PatternIdx::new(number as u32);
            let first = visits.len();
            visits.extend(patterns.pattern_calls(pattern).iter().map(|call| (call.stop, pattern)));
            visits[first..].sort_unstable();
            let mut unique = visits.split_off(first);
            unique.dedup();
            visits.append(&mut unique);
        }
        let by_stop = visits.iter().map(|&(stop, pattern)| (stop.get(), pattern));
        patterns.by_stop = ItemsByKey::new(self.stops.rows.len(), by_stop);

        let profiles = patterns
            .profiles
            .iter()
            .enumerate()
            .map(|(number, row)| (row.pattern.get(), number as u32));
        patterns.profiles_of = ItemsByKey::new(patterns.rows.len(), profiles);

        let scheduled = trips
            .iter()
            .enumerate()
            .filter(|(_, row)| !row.has_frequencies && row.start != NO_TIME);
        let scheduled = scheduled.filter_map(|(number, row)| {
            Some((index_unless_none(row.profile)? as usize, to_trip_idx(number)))
        });
        patterns.trips_of = ItemsByKey::new(patterns.profiles.len(), scheduled);
        for profile in 0..patterns.profiles.len() {
            let start = |trip: &TripIdx| trips[trip.get()].start;
            patterns.trips_of.items_of_key_mut(profile).sort_by_key(start);
        }

        let repeated = trips.iter().enumerate().filter(|(_, row)| row.has_frequencies);
        let repeated = repeated
            .filter_map(|(number, row)| Some((pattern_of(row, patterns)?, to_trip_idx(number))));
        self.frequencies.trips = repeated.collect();
        self.frequencies.trips.sort_unstable();
    }

    /// Returns the earliest and the latest time of any call.
    fn compute_call_time_range(&self) -> Option<(i32, i32)> {
        let mut day: Option<(i32, i32)> = None;
        let mut include = |first: i32, last: i32| {
            day = Some(day.map_or((first, last), |(a, b)| (a.min(first), b.max(last))));
        };
        let spans: Vec<Option<(i32, i32)>> = (0..self.patterns.profiles.len())
            .map(|profile| self.profile_time_range(profile as u32))
            .collect();
        for (number, row) in self.trips.rows.iter().enumerate() {
            let Some((first, last)) =
                index_unless_none(row.profile).and_then(|profile| spans[profile as usize])
            else {
                continue;
            };
            if row.has_frequencies {
                for frequency in self.frequencies.trip_frequencies(to_trip_idx(number)) {
                    include(frequency.start + first, frequency.end + last);
                }
            } else {
                include(row.start + first, row.start + last);
            }
        }
        day
    }

    /// Returns the earliest and the latest time of a profile.
    fn profile_time_range(&self, profile: u32) -> Option<(i32, i32)> {
        let times = self.patterns.time_profile_times(profile).iter();
        let known = times
            .flat_map(|times| [times.arrival, times.departure])
            .filter(|&time| time != NO_TIME);
        known.fold(None, |span, time| match span {
            None => Some((time, time)),
            Some((first, last)) => Some((time.min(first), time.max(last))),
        })
    }
}

fn to_trip_idx(number: usize) -> TripIdx {
    TripIdx::new(number as u32)
}
