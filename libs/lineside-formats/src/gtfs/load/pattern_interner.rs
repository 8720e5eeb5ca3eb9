//! Finds the existing pattern and profile of a trip's calls, or adds them.

use hashbrown::HashTable;
use xxhash_rust::xxh3::xxh3_64_with_seed;

use super::stop_times::ParsedStopTime;
use crate::gtfs::{
    PatternIdx, RouteIdx, StopIdx,
    timetable::{
        CallTimes, NO_TIME, NONE, PatternCall, PatternRow, PatternTable, TextId, TimeProfileRow,
    },
};

/// Hash tables of the existing patterns and profiles, and buffers that hold the current trip in the same form.
#[derive(Debug)]
pub(super) struct PatternInterner {
    seed: u64,
    /// Hash and number of each pattern, and of each profile.
    patterns: HashTable<(u64, u32)>,
    profiles: HashTable<(u64, u32)>,
    calls: Vec<PatternCall>,
    times: Vec<CallTimes>,
    /// The sequence numbers, if one exceeds 16 bits.
    sequences: Vec<u32>,
    /// The headsigns, if any call has one.
    headsigns: Vec<u32>,
    bytes: Vec<u8>,
}

impl PatternInterner {
    pub(super) fn new(seed: u64) -> PatternInterner {
        PatternInterner {
            seed,
            patterns: HashTable::new(),
            profiles: HashTable::new(),
            calls: Vec::new(),
            times: Vec::new(),
            sequences: Vec::new(),
            headsigns: Vec::new(),
            bytes: Vec::new(),
        }
    }

    /// Returns the profile of a trip with these calls, and the trip's start in seconds. The calls are ordered and not
    /// empty.
    pub(super) fn intern_trip_calls(
        &mut self,
        route: RouteIdx,
        raw: &[ParsedStopTime],
        patterns: &mut PatternTable,
    ) -> (u32, i32) {
        let start = write_relative_times(raw, &mut self.times);
        self.fill_call_buffers(raw);
        let pattern = self.find_or_add_pattern(route, patterns);
        (self.find_or_add_profile(pattern, patterns), start)
    }

    fn fill_call_buffers(&mut self, raw: &[ParsedStopTime]) {
        self.calls.clear();
        self.sequences.clear();
        self.headsigns.clear();
        if raw.iter().any(|call| call.sequence > u32::from(u16::MAX)) {
            self.sequences.extend(raw.iter().map(|call| call.sequence));
        }
        if raw.iter().any(|call| call.headsign != TextId::EMPTY) {
            self.headsigns.extend(raw.iter().map(|call| call.headsign.raw_text_number()));
        }
        let narrow = self.sequences.is_empty();
        self.calls.extend(raw.iter().map(|call| PatternCall {
            stop: StopIdx::new(call.stop),
            sequence: if narrow { call.sequence as u16 } else { 0 },
            flags: call.flags,
        }));
    }

    fn find_or_add_pattern(&mut self, route: RouteIdx, patterns: &mut PatternTable) -> PatternIdx {
        self.bytes.clear();
        self.bytes.extend(route.number().to_le_bytes());
        self.bytes.extend(self.calls.iter().flat_map(|call| call.to_bytes()));
        self.bytes
            .extend(self.sequences.iter().chain(&self.headsigns).flat_map(|n| n.to_le_bytes()));
        let hash = xxh3_64_with_seed(&self.bytes, self.seed);
        let same = |&(_, number): &(u64, u32)| {
            let idx = PatternIdx::new(number);
            let row = &patterns.rows[idx.get()];
            row.route == route
                && patterns.pattern_calls(idx) == self.calls
                && stored_sequences_or_headsigns(patterns, row.sequences, row.len) == self.sequences
                && stored_sequences_or_headsigns(patterns, row.headsigns, row.len) == self.headsigns
        };
        if let Some(&(_, found)) = self.patterns.find(hash, same) {
            return PatternIdx::new(found);
        }
        let number = patterns.rows.len() as u32;
        let first = patterns.calls.len() as u32;
        patterns.calls.extend_from_slice(&self.calls);
        let sequences = store_sequences_or_headsigns(patterns, &self.sequences);
        let headsigns = store_sequences_or_headsigns(patterns, &self.headsigns);
        patterns.rows.push(PatternRow {
            route,
            first,
            len: self.calls.len() as u32,
            sequences,
            headsigns,
        });
        self.patterns.insert_unique(hash, (hash, number), |&(hash, _)| hash);
        PatternIdx::new(number)
    }

    fn find_or_add_profile(&mut self, pattern: PatternIdx, patterns: &mut PatternTable) -> u32 {
        self.bytes.clear();
        self.bytes.extend(pattern.number().to_le_bytes());
        self.bytes.extend(self.times.iter().flat_map(|times| times.to_bytes()));
        let hash = xxh3_64_with_seed(&self.bytes, self.seed);
        let same = |&(_, number): &(u64, u32)| {
            patterns.profiles[number as usize].pattern == pattern
                && patterns.time_profile_times(number) == self.times
        };
        if let Some(&(_, found)) = self.profiles.find(hash, same) {
            return found;
        }
        let number = patterns.profiles.len() as u32;
        patterns.profiles.push(TimeProfileRow { pattern, first: patterns.times.len() as u32 });
        patterns.times.extend_from_slice(&self.times);
        self.profiles.insert_unique(hash, (hash, number), |&(hash, _)| hash);
        number
    }
}

/// Writes the times relative to the first departure to `times`. Returns that departure, or [`NO_TIME`] if no call has a
/// time.
fn write_relative_times(raw: &[ParsedStopTime], times: &mut Vec<CallTimes>) -> i32 {
    let known = |time: i32| Some(time).filter(|&time| time != NO_TIME);
    let start = raw.iter().find_map(|call| known(call.departure).or(known(call.arrival)));
    let relative = |time: i32| known(time).zip(start).map_or(NO_TIME, |(time, start)| time - start);
    times.clear();
    times.extend(raw.iter().map(|call| CallTimes {
        arrival: relative(call.arrival),
        departure: relative(call.departure),
    }));
    start.unwrap_or(NO_TIME)
}

fn stored_sequences_or_headsigns(patterns: &PatternTable, first: u32, len: u32) -> &[u32] {
    match first {
        NONE => &[],
        first => &patterns.extra[first as usize..][..len as usize],
    }
}

fn store_sequences_or_headsigns(patterns: &mut PatternTable, numbers: &[u32]) -> u32 {
    if numbers.is_empty() {
        return NONE;
    }
    let first = patterns.extra.len() as u32;
    patterns.extra.extend_from_slice(numbers);
    first
}
