//! Frequencies: trips that repeat during a part of the day.

use super::{PatternIdx, Timetable, TripIdx};

/// A row of `frequencies.txt`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Frequency {
    /// The repeated trip.
    pub trip: TripIdx,
    /// First departure from the first stop, in seconds after noon minus 12 h.
    pub start: i32,
    /// The end, exclusive: no run starts at this time or later.
    pub end: i32,
    /// Seconds between two runs, at least 1.
    pub headway: i32,
    /// True if the runs depart exactly at these times (`exact_times` 1), false if they are approximate.
    pub exact: bool,
}

impl Frequency {
    /// Returns the starts of the runs within `from..=until`, in seconds after noon minus 12 h.
    pub(crate) fn trip_run_starts_between(
        self,
        from: i64,
        until: i64,
    ) -> impl Iterator<Item = i32> {
        let (start, headway) = (i64::from(self.start), i64::from(self.headway.max(1)));
        let first = if from <= start {
            start
        } else {
            start + (from - start + headway - 1) / headway * headway
        };
        let last = until.min(i64::from(self.end) - 1);
        // Every value lies between `start` and `end`, which are i32.
        (first..=last).step_by(headway as usize).map(|run| run as i32)
    }

    /// Returns the number of runs.
    pub(crate) fn trip_run_count(&self) -> u64 {
        let length = i64::from(self.end) - i64::from(self.start);
        length.max(0).unsigned_abs().div_ceil(u64::from(self.headway.max(1).unsigned_abs()))
    }
}

#[derive(Debug, Default)]
pub(crate) struct FrequencyTable {
    /// The rows, ordered by trip and start.
    pub(crate) rows: Vec<Frequency>,
    /// The trips with frequencies, ordered by pattern.
    pub(crate) trips: Vec<(PatternIdx, TripIdx)>,
}

impl FrequencyTable {
    pub(crate) fn trip_frequencies(&self, trip: TripIdx) -> &[Frequency] {
        let start = self.rows.partition_point(|row| row.trip < trip);
        let end = self.rows.partition_point(|row| row.trip <= trip);
        &self.rows[start..end]
    }

    pub(crate) fn frequency_trips_of_pattern(
        &self,
        pattern: PatternIdx,
    ) -> &[(PatternIdx, TripIdx)] {
        let start = self.trips.partition_point(|&(other, _)| other < pattern);
        let end = self.trips.partition_point(|&(other, _)| other <= pattern);
        &self.trips[start..end]
    }

    pub(crate) fn memory_bytes(&self) -> usize {
        self.rows.capacity() * size_of::<Frequency>()
            + self.trips.capacity() * size_of::<(PatternIdx, TripIdx)>()
    }
}

impl Timetable {
    /// Returns the rows of `frequencies.txt` for a trip, ordered by start.
    pub fn frequencies_of_trip(&self, trip: TripIdx) -> &[Frequency] {
        self.frequencies.trip_frequencies(trip)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_start_at_every_headway_before_the_end_time() {
        let frequency =
            Frequency { trip: TripIdx::new(0), start: 100, end: 400, headway: 100, exact: true };
        let runs = |from, until| frequency.trip_run_starts_between(from, until).collect::<Vec<_>>();
        assert_eq!(runs(0, 10_000), [100, 200, 300]);
        assert_eq!(runs(101, 299), [200]);
        assert_eq!(runs(200, 300), [200, 300]);
        assert!(runs(301, 10_000).is_empty());
        assert!(runs(-50, 99).is_empty());
        assert_eq!(frequency.trip_run_count(), 3);
        assert_eq!(Frequency { end: 401, ..frequency }.trip_run_count(), 4);
        assert_eq!(Frequency { end: 100, ..frequency }.trip_run_count(), 0);
    }
}
