//! Shared stop times: a *pattern* is the calls that trips of one route have in common, a *profile* is the times of a
//! pattern relative to the trip's start. A trip is then a profile and a start.
//!
//! A call takes 8 bytes and its times 8 bytes. Repeating trips share both, so a city's stop times cost about two bytes
//! each.

use std::ops::Range;

use super::{ItemsByKey, PatternIdx, RouteIdx, StopIdx, TextId, Timetable, TripIdx, idx};

/// The value for an unknown time.
pub(crate) const NO_TIME: i32 = i32::MIN;

/// One call of a trip at a stop: a row of `stop_times.txt`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StopTime<'a> {
    /// The stop.
    pub stop: StopIdx,
    /// `stop_sequence`.
    pub stop_sequence: u32,
    /// Arrival in seconds after noon minus 12 h of the service date; `None` if it can be neither read nor interpolated.
    pub arrival: Option<i32>,
    /// Departure, in the unit of `arrival`.
    pub departure: Option<i32>,
    /// True if the times were interpolated because the feed omits them.
    pub interpolated: bool,
    /// `pickup_type`: 0 regular, 1 none, 2 phone the agency, 3 ask the driver.
    pub pickup: u8,
    /// `drop_off_type`, with the values of `pickup`.
    pub drop_off: u8,
    /// True if the times are exact (`timepoint` 1 or empty).
    pub timepoint: bool,
    /// `stop_headsign`, if it differs from the trip's headsign.
    pub headsign: Option<&'a str>,
}

/// The other values of a call, in 16 bits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct CallFlags(u16);

impl CallFlags {
    const APPROXIMATE: u16 = 1 << 4;
    const INTERPOLATED: u16 = 1 << 5;

    /// Packs the values; `pickup` and `drop_off` are within 0 to 3.
    pub(crate) fn new(pickup: u8, drop_off: u8, timepoint: bool) -> CallFlags {
        let approximate = if timepoint { 0 } else { CallFlags::APPROXIMATE };
        CallFlags(u16::from(pickup & 3) | u16::from(drop_off & 3) << 2 | approximate)
    }

    pub(crate) fn with_interpolated(self) -> CallFlags {
        CallFlags(self.0 | CallFlags::INTERPOLATED)
    }

    pub(crate) fn is_interpolated(self) -> bool {
        self.0 & CallFlags::INTERPOLATED != 0
    }

    pub(crate) fn pickup_type(self) -> u8 {
        (self.0 & 3) as u8
    }

    fn drop_off_type(self) -> u8 {
        (self.0 >> 2 & 3) as u8
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct PatternCall {
    pub(crate) stop: StopIdx,
    /// The sequence number, unless the pattern has numbers beyond 16 bits.
    pub(crate) sequence: u16,
    pub(crate) flags: CallFlags,
}

impl PatternCall {
    pub(crate) fn to_bytes(self) -> [u8; 8] {
        let bits = u64::from(self.stop.number()) << 32
            | u64::from(self.sequence) << 16
            | u64::from(self.flags.0);
        bits.to_le_bytes()
    }
}

/// Arrival and departure in seconds after the trip's start, or [`NO_TIME`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct CallTimes {
    pub(crate) arrival: i32,
    pub(crate) departure: i32,
}

impl CallTimes {
    pub(crate) fn to_bytes(self) -> [u8; 8] {
        let bits = u64::from(self.arrival as u32) << 32 | u64::from(self.departure as u32);
        bits.to_le_bytes()
    }
}

#[derive(Debug)]
pub(crate) struct PatternRow {
    pub(crate) route: RouteIdx,
    /// The first of its calls in [`PatternTable::calls`].
    pub(crate) first: u32,
    pub(crate) len: u32,
    /// The first of its sequence numbers in [`PatternTable::extra`], if one exceeds 16 bits.
    pub(crate) sequences: u32,
    /// The first of its headsigns in [`PatternTable::extra`], if any call has one.
    pub(crate) headsigns: u32,
}

#[derive(Debug)]
pub(crate) struct TimeProfileRow {
    pub(crate) pattern: PatternIdx,
    /// The first of its times in [`PatternTable::times`]; there are as many as calls of the pattern.
    pub(crate) first: u32,
}

#[derive(Debug, Default)]
pub(crate) struct PatternTable {
    pub(crate) rows: Vec<PatternRow>,
    pub(crate) calls: Vec<PatternCall>,
    pub(crate) profiles: Vec<TimeProfileRow>,
    pub(crate) times: Vec<CallTimes>,
    pub(crate) extra: Vec<u32>,
    /// The distinct patterns that call at a stop.
    pub(crate) by_stop: ItemsByKey<PatternIdx>,
    pub(crate) profiles_of: ItemsByKey<u32>,
    /// The trips of a profile ordered by start, without those of `frequencies.txt`.
    pub(crate) trips_of: ItemsByKey<TripIdx>,
}

impl PatternTable {
    pub(crate) fn pattern_route(&self, pattern: PatternIdx) -> RouteIdx {
        self.rows[pattern.get()].route
    }

    pub(crate) fn patterns_at_stop(&self, stop: StopIdx) -> &[PatternIdx] {
        self.by_stop.items_of_key(stop.get())
    }

    pub(crate) fn pattern_calls(&self, pattern: PatternIdx) -> &[PatternCall] {
        &self.calls[self.pattern_calls_range(pattern)]
    }

    /// Returns the range of a pattern's calls.
    pub(crate) fn pattern_calls_range(&self, pattern: PatternIdx) -> Range<usize> {
        let row = &self.rows[pattern.get()];
        row.first as usize..row.first as usize + row.len as usize
    }

    pub(crate) fn time_profile_times(&self, profile: u32) -> &[CallTimes] {
        let row = &self.profiles[profile as usize];
        let len = self.rows[row.pattern.get()].len;
        &self.times[row.first as usize..][..len as usize]
    }

    pub(crate) fn stop_sequence(&self, pattern: PatternIdx, call: usize) -> u32 {
        let row = &self.rows[pattern.get()];
        match idx::index_unless_none(row.sequences) {
            Some(first) => self.extra[first as usize + call],
            None => u32::from(self.calls[row.first as usize + call].sequence),
        }
    }

    pub(crate) fn call_headsign(&self, pattern: PatternIdx, call: usize) -> TextId {
        match idx::index_unless_none(self.rows[pattern.get()].headsigns) {
            Some(first) => TextId::from_raw_text_number(self.extra[first as usize + call]),
            None => TextId::EMPTY,
        }
    }

    pub(crate) fn memory_bytes(&self) -> usize {
        self.rows.capacity() * size_of::<PatternRow>()
            + self.calls.capacity() * size_of::<PatternCall>()
            + self.profiles.capacity() * size_of::<TimeProfileRow>()
            + self.times.capacity() * size_of::<CallTimes>()
            + self.extra.capacity() * size_of::<u32>()
            + self.by_stop.memory_bytes()
            + self.profiles_of.memory_bytes()
            + self.trips_of.memory_bytes()
    }
}

impl Timetable {
    /// Returns the number of patterns; their indices are the numbers below it.
    pub fn pattern_count(&self) -> usize {
        self.patterns.rows.len()
    }

    /// Returns the stops of a pattern, in the order of travel.
    pub fn pattern_stops(&self, idx: PatternIdx) -> impl ExactSizeIterator<Item = StopIdx> {
        self.patterns.pattern_calls(idx).iter().map(|call| call.stop)
    }

    /// Returns the calls of a trip, ordered by sequence number. For a trip of `frequencies.txt` they have the times of
    /// its pattern; the times of a run are later by the run's start minus
    /// [`trip_start_time`](Timetable::trip_start_time).
    pub fn trip_stop_times(&self, trip: TripIdx) -> impl ExactSizeIterator<Item = StopTime<'_>> {
        let n_calls =
            self.trip_pattern(trip).map_or(0, |pattern| self.patterns.pattern_calls(pattern).len());
        (0..n_calls).map(move |call| self.trip_stop_time_unchecked(trip, call))
    }

    /// Returns the call with that `index` within the trip, from 0.
    pub fn trip_stop_time(&self, trip: TripIdx, index: usize) -> Option<StopTime<'_>> {
        let pattern = self.trip_pattern(trip)?;
        (index < self.patterns.pattern_calls(pattern).len())
            .then(|| self.trip_stop_time_unchecked(trip, index))
    }

    /// Returns the start of a trip: the departure from its first stop, in seconds after noon minus 12 h; `None` if it
    /// has no times.
    pub fn trip_start_time(&self, trip: TripIdx) -> Option<i32> {
        let row = &self.trips.rows[trip.get()];
        idx::index_unless_none(row.profile).filter(|_| row.start != NO_TIME).map(|_| row.start)
    }

    fn trip_stop_time_unchecked(&self, trip: TripIdx, at: usize) -> StopTime<'_> {
        let row = &self.trips.rows[trip.get()];
        let pattern = self.patterns.profiles[row.profile as usize].pattern;
        let call = self.patterns.pattern_calls(pattern)[at];
        let times = self.patterns.time_profile_times(row.profile)[at];
        let absolute = |relative: i32| (relative != NO_TIME).then(|| row.start + relative);
        StopTime {
            stop: call.stop,
            stop_sequence: self.patterns.stop_sequence(pattern, at),
            arrival: absolute(times.arrival),
            departure: absolute(times.departure),
            interpolated: call.flags.is_interpolated(),
            pickup: call.flags.pickup_type(),
            drop_off: call.flags.drop_off_type(),
            timepoint: call.flags.0 & CallFlags::APPROXIMATE == 0,
            headsign: self.strings.get_non_empty(self.patterns.call_headsign(pattern, at)),
        }
    }
}
