//! Loads `stop_times.txt`, by far the largest table, in one pass, and shares equal patterns during the load.

use std::{collections::BTreeSet, ops::Range};

use super::{
    LimitedFileSet, NOT_FOUND, PatternInterner, TimetableLoader,
    frequencies::read_time_with_warning,
    grouping::{FirstOrFurtherGroup, RowGrouper, group_scattered_rows},
    require_columns,
};
use crate::{
    Error, Problem, Problems,
    gtfs::{
        rows::{TableColumn, TableRow},
        timetable::{CallFlags, NO_TIME, NONE, TextId, index_unless_none},
        values::{self, CellFault},
    },
};

pub(super) const FILE: &str = "stop_times.txt";
pub(super) const WITHOUT_STOP: CellFault = CellFault {
    code: "missing_required_field",
    detail: "is empty, and the row has no location or location group",
};
const NEGATIVE: CellFault = CellFault { code: "number_out_of_range", detail: "is negative" };

/// The values of a row that the timetable uses.
#[derive(Clone, Copy, Debug)]
pub(super) struct ParsedStopTime {
    pub(super) sequence: u32,
    pub(super) stop: u32,
    pub(super) arrival: i32,
    pub(super) departure: i32,
    /// `shape_dist_traveled`; NaN if absent.
    pub(super) distance: f32,
    pub(super) headsign: TextId,
    pub(super) flags: CallFlags,
    pub(super) line: u64,
}

impl Default for ParsedStopTime {
    fn default() -> ParsedStopTime {
        ParsedStopTime {
            sequence: 0,
            stop: 0,
            arrival: NO_TIME,
            departure: NO_TIME,
            distance: f32::NAN,
            headsign: TextId::EMPTY,
            flags: CallFlags::default(),
            line: 0,
        }
    }
}

/// Predicts the next stop of the current trip: the next stop of the previous trip of its route and direction, else the
/// stop that most recently followed the previous stop in any trip. A right prediction saves a lookup.
pub(super) struct StopPredictor {
    /// The last trip of each route and direction.
    models: Vec<u32>,
    /// The remaining calls of the model trip, as indexes of
    /// [`PatternTable::calls`](crate::gtfs::timetable::PatternTable).
    ahead: Range<usize>,
    last: u32,
    /// The stop that most recently followed each stop.
    next: Vec<u32>,
}

impl StopPredictor {
    fn new(n_routes: usize, n_stops: usize) -> StopPredictor {
        StopPredictor {
            models: vec![NONE; 2 * n_routes],
            ahead: 0..0,
            last: 0,
            next: vec![0; n_stops],
        }
    }

    /// Sets the last trip of the same route and direction as the model of `trip`.
    fn choose_model_trip(&mut self, trip: u32, loader: &TimetableLoader) {
        let row = &loader.trips.rows[trip as usize];
        let model = &mut self.models[2 * row.route.get() + usize::from(row.direction == 1)];
        let profile = index_unless_none(*model)
            .and_then(|model| index_unless_none(loader.trips.rows[model as usize].profile));
        self.ahead = profile.map_or(0..0, |profile| {
            let pattern = loader.patterns.profiles[profile as usize].pattern;
            loader.patterns.pattern_calls_range(pattern)
        });
        *model = trip;
    }

    /// Returns the stop with that id if a prediction is right.
    #[inline]
    pub(super) fn find_predicted_stop(
        &mut self,
        id: &[u8],
        loader: &TimetableLoader,
    ) -> Option<u32> {
        let is_it = |stop: &u32| {
            let row = loader.stops.rows.get(*stop as usize);
            row.is_some_and(|row| loader.strings.get(row.id).as_bytes() == id)
        };
        let model = self.ahead.next().map(|call| loader.patterns.calls[call].stop.number());
        let stop = model
            .filter(is_it)
            .or_else(|| self.next.get(self.last as usize).copied().filter(is_it))?;
        self.last = stop;
        Some(stop)
    }

    pub(super) fn look_up_stop(&mut self, id: &[u8], loader: &TimetableLoader) -> Option<u32> {
        let stop = loader.find_stop_index(id)?;
        self.next[self.last as usize] = stop;
        self.last = stop;
        Some(stop)
    }
}

/// The trip of the current rows: rows of one trip are mostly consecutive.
pub(super) struct CurrentTrip {
    pub(super) id: Vec<u8>,
    pub(super) trip: Option<u32>,
    pub(super) predictor: StopPredictor,
}

impl CurrentTrip {
    pub(super) fn new(loader: &TimetableLoader) -> CurrentTrip {
        let predictor = StopPredictor::new(loader.routes.rows.len(), loader.stops.rows.len());
        CurrentTrip { id: Vec::new(), trip: None, predictor }
    }

    /// Returns the trip of a row by its id.
    #[inline]
    pub(super) fn switch_to_trip(&mut self, id: &[u8], loader: &TimetableLoader) -> Option<u32> {
        if self.id != id {
            self.id.clear();
            self.id.extend_from_slice(id);
            self.trip = loader.find_trip_by_id_after(self.trip, id);
            if let Some(trip) = self.trip {
                self.predictor.choose_model_trip(trip, loader);
            }
        }
        self.trip
    }
}

/// Collects the calls of trips: each trip is finished as soon as the rows of the next begin.
pub(super) struct TripAssembler {
    interner: PatternInterner,
    grouping: RowGrouper<ParsedStopTime>,
    /// The calls of trips whose earlier rows are elsewhere in the file.
    further: Vec<(u32, ParsedStopTime)>,
}

impl TripAssembler {
    pub(super) fn new(loader: &TimetableLoader) -> TripAssembler {
        let interner = PatternInterner::new(loader.strings.hash_seed());
        TripAssembler { interner, grouping: RowGrouper::new(), further: Vec::new() }
    }

    #[inline]
    pub(super) fn add_trip_stop_time(
        &mut self,
        trip: u32,
        call: ParsedStopTime,
        loader: &mut TimetableLoader,
    ) {
        let TripAssembler { interner, grouping, further } = self;
        grouping.push_row(trip, call, |trip, part, calls| match part {
            FirstOrFurtherGroup::First => loader.store_trip_stop_times(trip, calls, interner),
            FirstOrFurtherGroup::Further => further.extend(calls.iter().map(|&call| (trip, call))),
        });
    }

    /// Finishes the last trip, and those whose rows are scattered in the file. Returns the interner, and the scattered
    /// trips that need a second pass; none if `has_distances` is false.
    pub(super) fn finish_all_trips(
        self,
        has_distances: bool,
        loader: &mut TimetableLoader,
    ) -> (PatternInterner, BTreeSet<u32>) {
        let TripAssembler { mut interner, mut grouping, mut further } = self;
        grouping.flush_group(|trip, part, calls| match part {
            FirstOrFurtherGroup::First => loader.store_trip_stop_times(trip, calls, &mut interner),
            FirstOrFurtherGroup::Further => further.extend(calls.iter().map(|&call| (trip, call))),
        });
        let mut untimed_trips = BTreeSet::new();
        group_scattered_rows(further, |trip, calls| {
            calls.splice(0..0, loader.restore_parsed_stop_times(trip));
            // The distances by which the first group's times were interpolated are gone, so the file has to be read
            // again.
            if has_distances && calls.iter().any(ParsedStopTime::is_untimed_stop_time) {
                untimed_trips.insert(trip);
            } else {
                loader.store_trip_stop_times(trip, calls, &mut interner);
            }
        });
        (interner, untimed_trips)
    }
}

impl ParsedStopTime {
    fn is_untimed_stop_time(&self) -> bool {
        self.arrival == NO_TIME && self.departure == NO_TIME
    }
}

struct StopTimeColumns {
    trip: TableColumn,
    stop: TableColumn,
    /// Locations of demand-responsive services, which replace a stop.
    areas: [TableColumn; 2],
    sequence: TableColumn,
    arrival: TableColumn,
    departure: TableColumn,
    distance: TableColumn,
    headsign: TableColumn,
    pickup: TableColumn,
    drop_off: TableColumn,
    timepoint: TableColumn,
}

impl TimetableLoader {
    pub(super) fn load_stop_times(&mut self, source: &mut LimitedFileSet<'_>) -> Result<(), Error> {
        let mut assembly = TripAssembler::new(self);
        self.stream_stop_times(source, |loader, trip, call| {
            assembly.add_trip_stop_time(trip, call, loader)
        })?;
        let (mut interner, untimed_trips) = assembly.finish_all_trips(true, self);
        if untimed_trips.is_empty() {
            Ok(())
        } else {
            self.reload_scattered_trips(source, &untimed_trips, &mut interner)
        }
    }

    /// Reads trips whose rows are scattered in the file, in a second pass.
    fn reload_scattered_trips(
        &mut self,
        source: &mut LimitedFileSet<'_>,
        scattered: &BTreeSet<u32>,
        interner: &mut PatternInterner,
    ) -> Result<(), Error> {
        let problems = self.problems.clone();
        let mut rows = Vec::new();
        self.stream_stop_times(source, |_, trip, call| {
            if scattered.contains(&trip) {
                rows.push((trip, call));
            }
        })?;
        // The second pass finds the same problems again.
        self.problems = problems;
        group_scattered_rows(rows, |trip, calls| self.store_trip_stop_times(trip, calls, interner));
        Ok(())
    }

    /// Returns the calls that a trip has so far; interpolated times become unknown again.
    fn restore_parsed_stop_times(&self, trip: u32) -> Vec<ParsedStopTime> {
        let row = &self.trips.rows[trip as usize];
        let Some(profile) = index_unless_none(row.profile) else { return Vec::new() };
        let pattern = self.patterns.profiles[profile as usize].pattern;
        let calls = self
            .patterns
            .pattern_calls(pattern)
            .iter()
            .zip(self.patterns.time_profile_times(profile));
        let absolute = |time| if time == NO_TIME { NO_TIME } else { row.start + time };
        calls
            .enumerate()
            .map(|(at, (call, times))| {
                let known = !call.flags.is_interpolated();
                ParsedStopTime {
                    sequence: self.patterns.stop_sequence(pattern, at),
                    stop: call.stop.number(),
                    arrival: if known { absolute(times.arrival) } else { NO_TIME },
                    departure: if known { absolute(times.departure) } else { NO_TIME },
                    headsign: self.patterns.call_headsign(pattern, at),
                    flags: call.flags,
                    ..ParsedStopTime::default()
                }
            })
            .collect()
    }

    fn stream_stop_times(
        &mut self,
        source: &mut LimitedFileSet<'_>,
        mut each: impl FnMut(&mut TimetableLoader, u32, ParsedStopTime),
    ) -> Result<(), Error> {
        let Some(mut rows) = source.open_table_reader(FILE, &mut self.problems)? else {
            return self.store_zero_rows_if_present(FILE, source);
        };
        let columns = StopTimeColumns {
            trip: rows.find_column_checked_by_caller("trip_id"),
            stop: rows.find_column("stop_id"),
            areas: ["location_id", "location_group_id"].map(|name| rows.find_column(name)),
            sequence: rows.find_column_checked_by_caller("stop_sequence"),
            arrival: rows.find_column_checked_by_caller("arrival_time"),
            departure: rows.find_column_checked_by_caller("departure_time"),
            distance: rows.find_column_checked_by_caller("shape_dist_traveled"),
            headsign: rows.find_column("stop_headsign"),
            pickup: rows.find_column_checked_by_caller("pickup_type"),
            drop_off: rows.find_column_checked_by_caller("drop_off_type"),
            timepoint: rows.find_column_checked_by_caller("timepoint"),
        };
        require_columns(FILE, &[("trip_id", columns.trip), ("stop_sequence", columns.sequence)])?;
        let mut current_trip = CurrentTrip::new(self);
        while let Some(row) = rows.next_row(&mut self.problems)? {
            let Some(trip_id) = row.parse_cell(columns.trip, Ok, &mut self.problems) else {
                continue;
            };
            match current_trip.switch_to_trip(trip_id, self) {
                Some(trip) => {
                    if let Some(call) =
                        self.parse_stop_time_row(&row, &columns, trip, &mut current_trip.predictor)
                    {
                        each(self, trip, call);
                    }
                }
                None => row.report_column_fault(columns.trip, NOT_FOUND, &mut self.problems),
            }
        }
        let count = rows.row_count();
        drop(rows);
        self.store_table_row_count(FILE, count);
        Ok(())
    }

    #[inline]
    fn parse_stop_time_row(
        &mut self,
        row: &TableRow<'_>,
        columns: &StopTimeColumns,
        trip: u32,
        predictor: &mut StopPredictor,
    ) -> Option<ParsedStopTime> {
        let problems = &mut self.problems;
        let sequence = row.parse_cell(columns.sequence, values::parse_unsigned, problems);
        let arrival = read_time_with_warning(row, columns.arrival, problems).unwrap_or(NO_TIME);
        // Most vehicles depart in the minute of arrival, so equal text is not parsed twice.
        let same = arrival != NO_TIME
            && row.cell_bytes(columns.departure) == row.cell_bytes(columns.arrival);
        let departure = if same {
            Some(arrival)
        } else {
            read_time_with_warning(row, columns.departure, problems)
        };
        let departure = departure.unwrap_or(NO_TIME);
        let distance =
            row.parse_cell(columns.distance, parse_shape_distance, problems).unwrap_or(f32::NAN);
        let pickup = read_boarding_type(row, columns.pickup, problems);
        let drop_off = read_boarding_type(row, columns.drop_off, problems);
        let timepoint = row.parse_cell(
            columns.timepoint,
            |text| values::parse_enum_value(text, &[0, 1]),
            problems,
        ) != Some(0);
        let stop = self.read_stop_reference(row, columns, predictor)?;
        let headsign = match row.cell_bytes(columns.headsign) {
            b"" => TextId::EMPTY,
            _ => self.intern_distinct_headsign(trip, row.get(columns.headsign)),
        };
        let flags = CallFlags::new(pickup, drop_off, timepoint);
        let line = row.line_number();
        Some(ParsedStopTime {
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

    /// Returns the headsign of a call if it differs from that of its trip, else the empty text.
    pub(super) fn intern_distinct_headsign(&mut self, trip: u32, text: &str) -> TextId {
        let of_trip = self.strings.get(self.trips.rows[trip as usize].headsign);
        // A repetition of the trip's headsign would only make equal patterns differ.
        if text == of_trip { TextId::EMPTY } else { self.strings.intern(text) }
    }

    /// Returns the trip with that id. If stop times are in the order of `trips.txt`, it is the one after the last.
    fn find_trip_by_id_after(&self, last: Option<u32>, id: &[u8]) -> Option<u32> {
        let guess = last.map_or(0, |trip| trip + 1);
        match self.trips.rows.get(guess as usize) {
            Some(row) if self.strings.get(row.id).as_bytes() == id => Some(guess),
            _ => self.find_trip_index(id),
        }
    }

    fn read_stop_reference(
        &mut self,
        row: &TableRow<'_>,
        columns: &StopTimeColumns,
        predictor: &mut StopPredictor,
    ) -> Option<u32> {
        let id = row.cell_bytes(columns.stop);
        if id.is_empty() {
            if columns.areas.iter().all(|&area| row.cell_bytes(area).is_empty()) {
                row.report_column_fault(columns.stop, WITHOUT_STOP, &mut self.problems);
            }
            return None;
        }
        if let Some(stop) = predictor.find_predicted_stop(id, self) {
            return Some(stop);
        }
        let found = predictor.look_up_stop(id, self);
        if found.is_none() {
            row.report_column_fault(columns.stop, NOT_FOUND, &mut self.problems);
        }
        found
    }

    /// Adds all calls of a trip, in any order.
    fn store_trip_stop_times(
        &mut self,
        trip: u32,
        calls: &mut Vec<ParsedStopTime>,
        interner: &mut PatternInterner,
    ) {
        if !calls.is_sorted_by(|a, b| a.sequence < b.sequence) {
            calls.sort_by_key(|call| call.sequence);
            let problems = &mut self.problems;
            calls.dedup_by(|call, previous| {
                let twice = call.sequence == previous.sequence;
                if twice {
                    report_duplicate_stop_sequence(call, problems);
                }
                twice
            });
        }
        super::interpolate::fill_missing_trip_times(calls);
        let row = &mut self.trips.rows[trip as usize];
        (row.profile, row.start) = interner.intern_trip_calls(row.route, calls, &mut self.patterns);
    }
}

fn report_duplicate_stop_sequence(call: &ParsedStopTime, problems: &mut Problems) {
    problems.push_lazily(FILE, "duplicate_key", || {
        let detail = "appears in an earlier row of the same trip; the first row is used";
        let problem = Problem::new(FILE, "duplicate_key", detail).with_line(call.line);
        problem.with_field("stop_sequence").with_value(&call.sequence.to_string())
    });
}

fn parse_shape_distance(text: &[u8]) -> Result<f32, CellFault> {
    match values::parse_float(text)? {
        distance if distance < 0.0 => Err(NEGATIVE),
        distance => Ok(distance as f32),
    }
}

/// Returns the pickup or drop-off type.
#[inline]
fn read_boarding_type(row: &TableRow<'_>, column: TableColumn, problems: &mut Problems) -> u8 {
    match *row.cell_bytes(column) {
        [] => 0,
        [digit @ b'0'..=b'3'] => digit - b'0',
        _ => row
            .parse_cell(column, |text| values::parse_enum_value(text, &[0, 1, 2, 3]), problems)
            .unwrap_or(0) as u8,
    }
}
