//! `stop_times.txt`: by far the largest table, read in one pass and shared as it comes.

use super::{
    Loader, NOT_FOUND, Sharing, Source,
    frequencies::read_time,
    grouping::{Grouping, finish_scattered},
    require,
};
use crate::{
    Error, Problem, Problems,
    gtfs::{
        rows::{Column, Row},
        timetable::{CallFlags, NO_TIME, Text},
        values::{self, Fault},
    },
};

const FILE: &str = "stop_times.txt";
const WITHOUT_STOP: Fault =
    Fault { code: "missing_required_field", detail: "is empty, and no other place is named" };
const NEGATIVE: Fault = Fault { code: "number_out_of_range", detail: "is below zero" };
/// The types of pickup and drop-off.
const BOARDING: [u16; 4] = [0, 1, 2, 3];

/// A row, as far as the timetable keeps it.
#[derive(Clone, Copy, Debug)]
pub(super) struct RawCall {
    pub(super) sequence: u32,
    pub(super) stop: u32,
    pub(super) arrival: i32,
    pub(super) departure: i32,
    /// `shape_dist_traveled`, NaN if it is not given.
    pub(super) distance: f32,
    pub(super) headsign: Text,
    pub(super) flags: CallFlags,
    pub(super) line: u64,
}

impl Default for RawCall {
    fn default() -> RawCall {
        RawCall {
            sequence: 0,
            stop: 0,
            arrival: NO_TIME,
            departure: NO_TIME,
            distance: f32::NAN,
            headsign: Text::EMPTY,
            flags: CallFlags::default(),
            line: 0,
        }
    }
}

struct Columns {
    trip: Column,
    stop: Column,
    /// Places of demand-responsive services, which stand in for a stop.
    areas: [Column; 2],
    sequence: Column,
    arrival: Column,
    departure: Column,
    distance: Column,
    headsign: Column,
    pickup: Column,
    drop_off: Column,
    timepoint: Column,
}

impl Loader {
    pub(super) fn load_stop_times(&mut self, source: &mut Source<'_>) -> Result<(), Error> {
        let mut grouping = Grouping::new();
        let mut sharing = Sharing::new(self.strings.seed());
        self.stream_stop_times(source, |loader, trip, call| {
            grouping.push(trip, call, |trip, calls| loader.finish_trip(trip, calls, &mut sharing));
        })?;
        grouping.flush(|trip, calls| self.finish_trip(trip, calls, &mut sharing));
        let scattered = grouping.into_scattered();
        if scattered.is_empty() {
            return Ok(());
        }
        let problems = self.problems.clone();
        let mut rows = Vec::new();
        self.stream_stop_times(source, |_, trip, call| {
            if scattered.contains(&trip) {
                rows.push((trip, call));
            }
        })?;
        // The second pass finds the same faults again.
        self.problems = problems;
        finish_scattered(rows, |trip, calls| self.finish_trip(trip, calls, &mut sharing));
        Ok(())
    }

    fn stream_stop_times(
        &mut self,
        source: &mut Source<'_>,
        mut each: impl FnMut(&mut Loader, u32, RawCall),
    ) -> Result<(), Error> {
        let Some(mut rows) = source.open(FILE, &mut self.problems)? else {
            return self.count_empty(FILE, source);
        };
        let columns = Columns {
            trip: rows.column("trip_id"),
            stop: rows.column("stop_id"),
            areas: ["location_id", "location_group_id"].map(|name| rows.column(name)),
            sequence: rows.claim("stop_sequence"),
            arrival: rows.claim("arrival_time"),
            departure: rows.claim("departure_time"),
            distance: rows.claim("shape_dist_traveled"),
            headsign: rows.column("stop_headsign"),
            pickup: rows.claim("pickup_type"),
            drop_off: rows.claim("drop_off_type"),
            timepoint: rows.claim("timepoint"),
        };
        require(FILE, &[("trip_id", columns.trip), ("stop_sequence", columns.sequence)])?;
        // The trip of the row before: rows of one trip mostly follow each other.
        let mut current = (String::new(), None);
        while let Some(row) = rows.next_row(&mut self.problems)? {
            let trip_id = row.get(columns.trip);
            if current.0 != trip_id {
                current.0.clear();
                current.0.push_str(trip_id);
                current.1 = self.find_trip(trip_id);
            }
            match current.1 {
                Some(trip) => {
                    if let Some(call) = self.read_call(&row, &columns, trip) {
                        each(self, trip, call);
                    }
                }
                None if trip_id.is_empty() => {}
                None => row.complain_of(columns.trip, NOT_FOUND, &mut self.problems),
            }
        }
        let count = rows.count();
        drop(rows);
        self.count(FILE, count);
        Ok(())
    }

    fn read_call(&mut self, row: &Row<'_>, columns: &Columns, trip: u32) -> Option<RawCall> {
        let problems = &mut self.problems;
        let sequence = row.parse(columns.sequence, values::unsigned, problems);
        let arrival = read_time(row, columns.arrival, problems).unwrap_or(NO_TIME);
        let departure = read_time(row, columns.departure, problems).unwrap_or(NO_TIME);
        let distance = row.parse(columns.distance, read_distance, problems).unwrap_or(f32::NAN);
        let pickup = read_boarding(row, columns.pickup, problems);
        let drop_off = read_boarding(row, columns.drop_off, problems);
        let timepoint =
            row.parse(columns.timepoint, |text| values::choice(text, &[0, 1]), problems) != Some(0);
        let stop = self.read_stop(row, columns)?;
        let headsign = match row.get(columns.headsign) {
            "" => Text::EMPTY,
            text => match self.strings.intern(text) {
                // The trip's own headsign needs no repeating, and leaves patterns alike.
                text if text == self.trips.rows[trip as usize].headsign => Text::EMPTY,
                text => text,
            },
        };
        let flags = CallFlags::new(pickup, drop_off, timepoint);
        let line = row.line();
        Some(RawCall {
            sequence: sequence?,
            stop,
            arrival,
            departure,
            distance,
            headsign,
            flags,
            line,
        })
    }

    fn read_stop(&mut self, row: &Row<'_>, columns: &Columns) -> Option<u32> {
        let id = row.get(columns.stop);
        if id.is_empty() {
            if columns.areas.iter().all(|&area| row.get(area).is_empty()) {
                row.complain_of(columns.stop, WITHOUT_STOP, &mut self.problems);
            }
            return None;
        }
        let found = self.find_stop(id);
        if found.is_none() {
            row.complain_of(columns.stop, NOT_FOUND, &mut self.problems);
        }
        found
    }

    /// Takes all calls of a trip, in any order.
    fn finish_trip(&mut self, trip: u32, calls: &mut Vec<RawCall>, sharing: &mut Sharing) {
        if !calls.is_sorted_by(|a, b| a.sequence < b.sequence) {
            calls.sort_by_key(|call| call.sequence);
            let problems = &mut self.problems;
            calls.dedup_by(|call, before| {
                let twice = call.sequence == before.sequence;
                if twice {
                    complain_twice(call, problems);
                }
                twice
            });
        }
        super::interpolate::complete_times(calls);
        let row = &mut self.trips.rows[trip as usize];
        (row.profile, row.start) = sharing.share(row.route, calls, &mut self.patterns);
    }
}

fn complain_twice(call: &RawCall, problems: &mut Problems) {
    problems.push_with(FILE, "duplicate_key", || {
        let detail = "stands in an earlier row of the same trip already; the first row counts";
        let problem = Problem::new(FILE, "duplicate_key", detail).at_line(call.line);
        problem.in_field("stop_sequence").with_value(&call.sequence.to_string())
    });
}

fn read_distance(text: &str) -> Result<f32, Fault> {
    match values::float(text)? {
        distance if distance < 0.0 => Err(NEGATIVE),
        distance => Ok(distance as f32),
    }
}

fn read_boarding(row: &Row<'_>, column: Column, problems: &mut Problems) -> u8 {
    row.parse(column, |text| values::choice(text, &BOARDING), problems).unwrap_or(0) as u8
}
