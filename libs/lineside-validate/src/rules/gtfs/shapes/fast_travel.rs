//! Checks of vehicles that would have to be faster than their type allows.

use std::collections::HashMap;

use xxhash_rust::xxh3::xxh3_64;

use super::GtfsRule;
use crate::{
    Notices, ValidationContext,
    gtfs::{GtfsFeed, GtfsFile, NumberColumn, SpherePoint, TextColumn, format_gtfs_time},
    notice::{NoticeKind, NoticeSample, Severity},
};

pub(super) static RULE: GtfsRule = GtfsRule {
    kinds: &[&CONSECUTIVE, &FAR],
    files: &[GtfsFile::Routes, GtfsFile::Trips, GtfsFile::StopTimes, GtfsFile::Stops],
    check: check_fast_travel,
};

static CONSECUTIVE: NoticeKind = NoticeKind {
    code: "fast_travel_between_consecutive_stops",
    severity: Severity::Warning,
    fields: FIELDS,
    page: include_str!("fast_travel_between_consecutive_stops.md"),
};

static FAR: NoticeKind = NoticeKind {
    code: "fast_travel_between_far_stops",
    severity: Severity::Warning,
    fields: FIELDS,
    page: include_str!("fast_travel_between_far_stops.md"),
};

const FIELDS: &[(&str, &str)] = &[
    ("tripCsvRowNumber", "The line of the trip."),
    ("tripId", "The trip."),
    ("routeId", "Its route."),
    ("speedKph", "The required speed of the vehicle, in km/h."),
    ("distanceKm", "The distance between the stops, in km."),
    ("csvRowNumber1", "The line of the first stop time."),
    ("stopSequence1", "The `stop_sequence` of the first stop time."),
    ("stopId1", "Its stop."),
    ("stopName1", "The name of that stop."),
    ("departureTime1", "The departure at that stop."),
    ("csvRowNumber2", "The line of the second stop time."),
    ("stopSequence2", "The `stop_sequence` of the second stop time."),
    ("stopId2", "Its stop."),
    ("stopName2", "The name of that stop."),
    ("arrivalTime2", "The arrival at that stop."),
];

/// The distance in kilometers from which stops are far apart.
const FAR_KM: f64 = 10.0;
/// The rounding error of sums of kilometers, which depends on the order of addition.
const ROUNDING_KM: f64 = 1e-6;
const MINUTE: i32 = 60;
const HOUR: f64 = 3_600.0;

/// Returns the highest plausible speed of a route type in km/h, with a margin.
fn max_route_speed(route_type: i32) -> f64 {
    match route_type {
        // Trams and light rail: Houston's reaches 100.
        0 => 100.0,
        // Underground, bus, trolleybus, monorail.
        1 | 3 | 11 | 12 => 150.0,
        // Trains, including maglevs.
        2 => 500.0,
        // Ferries.
        4 => 80.0,
        // Cable trams reach 15.
        5 => 30.0,
        // Cable cars and funiculars reach 43.
        6 | 7 => 50.0,
        _ => 200.0,
    }
}

/// Two stops of a trip by position, and the speed between them.
#[derive(Clone, Copy, Debug)]
struct LegBetweenStops {
    start: usize,
    end: usize,
    speed: f64,
    km: f64,
}

/// O(stop times), and pair by pair for trips that seem too fast over a long distance. Trips of one route with the same
/// stops and times are checked once.
fn check_fast_travel(feed: &GtfsFeed, _: &ValidationContext, out: &mut Notices) {
    let trip_rows =
        feed.rows_referenced_by_field(GtfsFile::StopTimes, "trip_id", GtfsFile::Trips, "trip_id");
    let route_rows =
        feed.rows_referenced_by_field(GtfsFile::Trips, "route_id", GtfsFile::Routes, "route_id");
    let trip_routes = feed.table(GtfsFile::Trips).text_column("route_id");
    let route_types = feed.table(GtfsFile::Routes).number_column("route_type");
    let mut timetable = TripStopTimeReader::new(feed);
    let mut seen: HashMap<u64, Vec<(&'static NoticeKind, LegBetweenStops)>> = HashMap::new();
    for (trip, rows) in feed.rows_grouped_by_field(GtfsFile::StopTimes, "trip_id").iter() {
        let Some(trip) = trip_rows.row_referenced_by_code(trip) else { continue };
        let Some(route) = trip_routes.text_code_of_row(trip) else { continue };
        let fingerprint = timetable.trip_fingerprint(route, rows);
        let legs = seen.entry(fingerprint).or_insert_with(|| {
            // An unknown route is reported elsewhere.
            route_rows.row_referenced_by_code(route).map_or(Vec::new(), |route| {
                timetable.find_fast_legs(rows, max_route_speed(route_types.cell_value_or(route, 0)))
            })
        });
        for &(kind, leg) in legs.iter() {
            out.count_notice_with_sample(kind, |sample| {
                set_fast_leg_fields(feed, trip, rows, leg, sample)
            });
        }
    }
}

fn set_fast_leg_fields(
    feed: &GtfsFeed,
    trip: u32,
    rows: &[u32],
    leg: LegBetweenStops,
    sample: &mut NoticeSample,
) {
    let (trips, times) = (feed.table(GtfsFile::Trips), feed.table(GtfsFile::StopTimes));
    let stops = feed.table(GtfsFile::Stops);
    let stop_of_time =
        feed.rows_referenced_by_field(GtfsFile::StopTimes, "stop_id", GtfsFile::Stops, "stop_id");
    let (ids, sequences) = (times.text_column("stop_id"), times.number_column("stop_sequence"));
    let name = |row| {
        let stop =
            ids.text_code_of_row(row).and_then(|code| stop_of_time.row_referenced_by_code(code));
        stop.and_then(|stop| stops.text_column("stop_name").get(stop))
    };
    let time = |field, row| times.number_column(field).get(row).map(format_gtfs_time);
    let (start, end) = (rows[leg.start], rows[leg.end]);
    sample.set_field("tripCsvRowNumber", trips.line_number(trip));
    sample.set_field("tripId", trips.text_column("trip_id").get(trip));
    sample.set_field("routeId", trips.text_column("route_id").get(trip));
    sample.set_field("speedKph", leg.speed).set_field("distanceKm", leg.km);
    sample.set_field("csvRowNumber1", times.line_number(start));
    sample.set_field("stopSequence1", sequences.get(start)).set_field("stopId1", ids.get(start));
    sample
        .set_field("stopName1", name(start))
        .set_field("departureTime1", time("departure_time", start));
    sample.set_field("csvRowNumber2", times.line_number(end));
    sample.set_field("stopSequence2", sequences.get(end)).set_field("stopId2", ids.get(end));
    sample.set_field("stopName2", name(end)).set_field("arrivalTime2", time("arrival_time", end));
}

/// The positions of stops, by their codes in `stop_times.txt`.
struct StopPositionsByCode {
    /// True if `stops.txt` has the stop.
    is_there: Vec<bool>,
    points: Vec<Option<SpherePoint>>,
    /// A direct-mapped cache of distances, since the same pairs are frequent.
    distance_cache: Vec<(u32, u32, f64)>,
}

/// The size of the cache; a power of two.
const CACHE_SIZE: usize = 1 << 16;

impl StopPositionsByCode {
    fn new(feed: &GtfsFeed) -> StopPositionsByCode {
        let texts = feed.table(GtfsFile::StopTimes).text_column("stop_id");
        let rows = feed.rows_referenced_by_field(
            GtfsFile::StopTimes,
            "stop_id",
            GtfsFile::Stops,
            "stop_id",
        );
        let points = feed.stop_positions();
        let codes = 0..texts.text_code_count() as u32;
        StopPositionsByCode {
            is_there: codes
                .clone()
                .map(|code| rows.row_referenced_by_code(code).is_some())
                .collect(),
            points: codes
                .map(|code| rows.row_referenced_by_code(code).and_then(|row| points[row as usize]))
                .collect(),
            distance_cache: vec![(u32::MAX, u32::MAX, 0.0); CACHE_SIZE],
        }
    }

    fn is_stop_in_stops_file(&self, stop: Option<u32>) -> bool {
        stop.is_some_and(|stop| self.is_there[stop as usize])
    }

    fn has_position(&self, stop: Option<u32>) -> bool {
        stop.is_some_and(|stop| self.points[stop as usize].is_some())
    }

    /// Returns the distance between two stops in km; a stop without coordinates is at 0, 0.
    fn distance_between_stops_km(&mut self, from: Option<u32>, to: Option<u32>) -> f64 {
        let (from, to) = (from.unwrap_or(u32::MAX), to.unwrap_or(u32::MAX));
        let at = (from.wrapping_mul(0x9E37_79B1) ^ to.wrapping_mul(0x85EB_CA77)) >> 7;
        let at = at as usize % CACHE_SIZE;
        let cached = self.distance_cache[at];
        if (cached.0, cached.1) == (from, to) {
            return cached.2;
        }
        let place = |stop: u32| self.points.get(stop as usize).copied().flatten();
        let point = |stop| place(stop).unwrap_or(SpherePoint::ORIGIN);
        let km = point(from).distance_m(point(to)) / 1_000.0;
        self.distance_cache[at] = (from, to, km);
        km
    }
}

#[derive(Clone, Copy)]
struct TripStopTime {
    stop: Option<u32>,
    arrival: Option<i32>,
    departure: Option<i32>,
    /// The distance from the previous stop, or from the last one with coordinates.
    km: f64,
}

/// The columns of `stop_times.txt` that are read, and buffers.
struct TripStopTimeReader<'a> {
    stops: StopPositionsByCode,
    stop_ids: TextColumn<'a>,
    arrivals: NumberColumn<'a>,
    departures: NumberColumn<'a>,
    /// The calls of the current trip, and the bytes of its fingerprint; reused as buffers.
    calls: Vec<TripStopTime>,
    bytes: Vec<u8>,
}

impl<'a> TripStopTimeReader<'a> {
    fn new(feed: &'a GtfsFeed) -> TripStopTimeReader<'a> {
        let times = feed.table(GtfsFile::StopTimes);
        TripStopTimeReader {
            stops: StopPositionsByCode::new(feed),
            stop_ids: times.text_column("stop_id"),
            arrivals: times.number_column("arrival_time"),
            departures: times.number_column("departure_time"),
            calls: Vec::new(),
            bytes: Vec::new(),
        }
    }

    /// Returns a fingerprint that is equal for trips of one route with the same stops and times. Its 64 bits make
    /// collisions improbable.
    fn trip_fingerprint(&mut self, route: u32, rows: &[u32]) -> u64 {
        self.bytes.clear();
        self.bytes.extend_from_slice(&route.to_le_bytes());
        for &row in rows {
            let stop = self.stop_ids.text_code_of_row(row).unwrap_or(u32::MAX);
            self.bytes.extend_from_slice(&stop.to_le_bytes());
            // A missing time counts as midnight, as in the reference validator.
            self.bytes.extend_from_slice(&self.arrivals.cell_value_or(row, 0).to_le_bytes());
            self.bytes.extend_from_slice(&self.departures.cell_value_or(row, 0).to_le_bytes());
        }
        xxh3_64(&self.bytes)
    }

    /// Returns the legs of a trip that are too fast.
    fn find_fast_legs(
        &mut self,
        rows: &[u32],
        speed_max: f64,
    ) -> Vec<(&'static NoticeKind, LegBetweenStops)> {
        self.read_trip_stop_times(rows);
        let mut legs = Vec::new();
        self.find_fast_consecutive_legs(speed_max, &mut legs);
        if let Some(end) = self.first_possible_fast_leg_end(speed_max)
            && let Some(leg) = self.find_fast_distant_leg(end, speed_max)
        {
            legs.push((&FAR, leg));
        }
        legs
    }

    fn read_trip_stop_times(&mut self, rows: &[u32]) {
        self.calls.clear();
        let mut from = None;
        for (at, &row) in rows.iter().enumerate() {
            let stop = self.stop_ids.text_code_of_row(row);
            let moves = at > 0 && self.stops.has_position(stop);
            let km = if moves { self.stops.distance_between_stops_km(from, stop) } else { 0.0 };
            if moves || at == 0 {
                from = stop;
            }
            let (arrival, departure) = (self.arrivals.get(row), self.departures.get(row));
            self.calls.push(TripStopTime { stop, arrival, departure, km });
        }
    }

    /// O(n): checks each stop with coordinates and a departure against the next stop with coordinates and an arrival.
    fn find_fast_consecutive_legs(
        &mut self,
        speed_max: f64,
        legs: &mut Vec<(&'static NoticeKind, LegBetweenStops)>,
    ) {
        let mut start = 0;
        for end in 1..self.calls.len() {
            let (from, to) = (self.calls[start], self.calls[end]);
            if !self.stops.has_position(from.stop) || !self.stops.has_position(to.stop) {
                continue;
            }
            let (Some(departure), Some(arrival)) = (from.departure, to.arrival) else { continue };
            let is_next = start + 1 == end;
            let km = if is_next {
                to.km
            } else {
                self.stops.distance_between_stops_km(from.stop, to.stop)
            };
            let speed = speed_between_stops_kmh(km, departure, arrival);
            if speed > speed_max {
                legs.push((&CONSECUTIVE, LegBetweenStops { start, end, speed, km }));
            }
            start = end;
        }
    }

    /// Returns the first stop that may be too far from an earlier one for the time between them. O(n): a leg is too
    /// fast if the lead of the distance over the allowed distance grows along it, so only the smallest lead among stops
    /// far enough back matters.
    fn first_possible_fast_leg_end(&self, speed_max: f64) -> Option<usize> {
        if self.calls.iter().any(|call| !self.stops.is_stop_in_stops_file(call.stop)) {
            return Some(0);
        }
        let allowed = |seconds: i32| speed_max * f64::from(seconds) / HOUR;
        let (mut back, mut back_km, mut km) = (0, 0.0, 0.0);
        // Legs between whole minutes get an extra minute, so the two cases are separate.
        let (mut least_whole, mut least_odd) = (f64::INFINITY, f64::INFINITY);
        let mut latest = i32::MIN;
        for (end, call) in self.calls.iter().enumerate() {
            km += call.km;
            while let Some(start) = self.calls.get(back)
                && km - (back_km + start.km) > FAR_KM - ROUNDING_KM
            {
                back_km += start.km;
                if let Some(departure) = start.departure {
                    let is_whole = departure % MINUTE == 0;
                    let least = if is_whole { &mut least_whole } else { &mut least_odd };
                    *least = least.min(back_km - allowed(departure));
                    latest = latest.max(departure);
                }
                back += 1;
            }
            let Some(arrival) = call.arrival else { continue };
            let ahead = km - allowed(arrival) + ROUNDING_KM;
            let spare = if arrival % MINUTE == 0 { allowed(MINUTE) } else { 0.0 };
            if arrival <= latest || ahead > least_odd || ahead - spare > least_whole {
                return Some(end);
            }
        }
        None
    }

    /// Returns the first pair of distant stops with too little time between them, starting the search at `first_end`.
    /// O(n) if the first pair is there, O(n²) at worst.
    fn find_fast_distant_leg(&self, first_end: usize, speed_max: f64) -> Option<LegBetweenStops> {
        for (end, to) in self.calls.iter().enumerate().skip(first_end) {
            let Some(arrival) = to.arrival else { continue };
            // An unknown stop is reported elsewhere, and ends the check.
            if !self.stops.is_stop_in_stops_file(to.stop) {
                return None;
            }
            let mut km = 0.0;
            for start in (0..end).rev() {
                km += self.calls[start + 1].km;
                let from = self.calls[start];
                let Some(departure) = from.departure else { continue };
                let speed = speed_between_stops_kmh(km, departure, arrival);
                if speed <= speed_max {
                    continue;
                }
                if !self.stops.is_stop_in_stops_file(from.stop) {
                    return None;
                }
                if km > FAR_KM {
                    return Some(LegBetweenStops { start, end, speed, km });
                }
            }
        }
        None
    }
}

/// Returns a speed in km/h. At least a minute counts. Times in whole minutes may be off by half a minute each, so a
/// minute is added.
fn speed_between_stops_kmh(km: f64, departure: i32, arrival: i32) -> f64 {
    let seconds = match arrival - departure {
        ..=0 => MINUTE,
        seconds if arrival % MINUTE == 0 && departure % MINUTE == 0 => seconds + MINUTE,
        seconds => seconds,
    };
    km * HOUR / f64::from(seconds)
}
