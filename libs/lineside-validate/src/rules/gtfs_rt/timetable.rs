//! A schedule, prepared for the messages about it: small records found by id.

use std::sync::Arc;

use lineside_formats::{Error, gtfs_rt::proto::TripDescriptor};

use super::{
    fields::{STOP, error},
    lines::{Area, Extent, Lines},
    running::{self, Running},
    times::{self, Times},
    trip_ids::TripIds,
};
use crate::{
    Context, Notices,
    gtfs::{Dict, Feed, File, Floats, Source, load_for_messages_until},
    notice::Kind,
    stop::{Stop, until_stopped},
};

pub(super) static KINDS: &[&Kind] = &[&UNUSABLE_STOP];

static UNUSABLE_STOP: Kind = error(
    "E010",
    &[STOP, ("locationType", "What the location is instead.")],
    include_str!("E010.md"),
);

/// How far vehicles may be outside the area that a schedule covers, in meters: a mile.
const AREA_MARGIN_M: f64 = 1_609.0;
/// With fewer shape points than this, the stops say what area a schedule covers.
const SHAPE_POINTS_MIN: usize = 4;

/// Nothing: no route, no stop, no shape.
pub(super) const NONE: u32 = u32::MAX;
/// What location_type and an empty cell call a stop or platform.
pub(super) const STOP_OR_PLATFORM: i32 = 0;

/// A schedule as real-time rules ask it. It keeps what it needs, so the feed may go.
///
/// It takes about 80 bytes and the id for each trip, 12 for each stop time and 8 for each point of a
/// shape, and a bit for each day of each service.
#[derive(Debug)]
pub struct Timetable {
    agencies: Dict,
    routes: Dict,
    /// By the route's code.
    about_routes: Vec<Route>,
    stops: Dict,
    /// By the stop's code.
    location_types: Vec<i32>,
    ids: Arc<TripIds>,
    /// By the code of the trip's id.
    trips: Vec<Trip>,
    /// Trip by trip, each in its order.
    stop_times: Vec<StopTime>,
    /// Those with exact times, trip by trip.
    frequencies: Vec<Frequency>,
    lines: Lines,
    area: Option<Area>,
    /// Where stops are: latitude and longitude.
    stop_points: Vec<[f32; 2]>,
    running: Running,
}

/// A route of the schedule.
#[derive(Clone, Copy, Debug)]
struct Route {
    agency: u32,
    kind: Option<i32>,
}

/// A trip of the schedule.
#[derive(Clone, Debug)]
pub(super) struct Trip {
    /// The code of its id.
    pub(super) at: u32,
    pub(super) route: u32,
    /// The number of its service.
    pub(super) service: u32,
    pub(super) direction: Option<i32>,
    /// Trips of one block have the same number.
    pub(super) block: Option<u32>,
    line: u32,
    pub(super) stop_times: (u32, u32),
    frequencies: (u32, u32),
    /// Its frequencies say about when it runs, not exactly.
    pub(super) is_loose: bool,
    /// It comes to a stop more than once.
    pub(super) is_loop: bool,
    /// When it arrives, or else departs, at its first stop: seconds of the service day.
    pub(super) start: Option<i32>,
    /// When it departs, or else arrives, at its last stop.
    pub(super) end: Option<i32>,
    /// It runs by frequencies, exact or not.
    pub(super) is_frequent: bool,
}

/// A stop time of the schedule.
#[derive(Clone, Copy, Debug)]
pub(super) struct StopTime {
    pub(super) sequence: u32,
    pub(super) stop: u32,
    pub(super) has_arrival: bool,
    pub(super) has_departure: bool,
}

/// A span in which a trip leaves at exact times.
#[derive(Clone, Copy, Debug)]
pub(super) struct Frequency {
    pub(super) start: i32,
    pub(super) end: i32,
    pub(super) headway: i32,
}

impl Timetable {
    /// Prepares a schedule: O(n) in its rows, once. A row of it counts whatever is wrong with a field
    /// that does not say what it is about.
    ///
    /// # Errors
    ///
    /// If a file cannot be opened or inflated.
    pub fn read(source: &dyn Source, context: &Context) -> Result<Timetable, Error> {
        let read = Timetable::read_until(source, context, &Stop::default())?;
        Ok(read.unwrap_or_else(Timetable::none))
    }

    /// The same until it is stopped: it ends within a moment then, and gives nothing.
    ///
    /// # Errors
    ///
    /// If a file cannot be opened or inflated.
    pub fn read_until(
        source: &dyn Source,
        context: &Context,
        stop: &Stop,
    ) -> Result<Option<Timetable>, Error> {
        let mut feed = match load_for_messages_until(source, context, stop) {
            // What was stopped there looks like a file that breaks off.
            _ if stop.is_stopped() => return Ok(None),
            read => read?,
        };
        feed.hold(stop);
        Ok(until_stopped(|| Timetable::new(&feed)))
    }

    fn new(feed: &Feed) -> Timetable {
        let agencies = dict_of(feed, File::Agency, "agency_id");
        let mut routes = dict_of(feed, File::Routes, "route_id");
        let about_routes = routes_of(feed, &agencies);
        let (stops, location_types) = stops_of(feed);
        let (lines, line_of, covered) = lines_of(feed);
        let mut timetable = Timetable {
            agencies,
            stops,
            location_types,
            ids: Arc::default(),
            trips: Vec::new(),
            stop_times: Vec::new(),
            frequencies: Vec::new(),
            lines,
            area: covered.or_else(|| stops_extent(feed)).and_then(|it| it.around(AREA_MARGIN_M)),
            stop_points: stop_points_of(feed),
            routes: Dict::new(seed()),
            about_routes,
            running: Running::default(),
        };
        let mut ids = timetable.add_trips(feed, &routes, &line_of);
        routes.shrink();
        timetable.routes = routes;
        ids.shrink();
        timetable.ids = Arc::new(TripIds(ids));
        timetable.stop_times.shrink_to_fit();
        timetable.running = Running::new(feed, &timetable.trips);
        timetable
    }

    /// One that has nothing: what a message without a schedule is held against, within a [`Scope`](super::Scope) that says so.
    pub fn none() -> Timetable {
        let dict = || Dict::new(seed());
        Timetable {
            agencies: dict(),
            routes: dict(),
            about_routes: Vec::new(),
            stops: dict(),
            location_types: Vec::new(),
            ids: Arc::default(),
            trips: Vec::new(),
            stop_times: Vec::new(),
            frequencies: Vec::new(),
            lines: Lines::default(),
            area: None,
            stop_points: Vec::new(),
            running: Running::default(),
        }
    }

    /// Returns the trips' ids.
    fn add_trips(&mut self, feed: &Feed, routes: &Dict, line_of: &[u32]) -> Dict {
        let table = feed.table(File::Trips);
        let (ids, route_ids) = (table.texts("trip_id"), table.texts("route_id"));
        let (blocks, shapes) = (table.texts("block_id"), table.texts("shape_id"));
        let (directions, services) = (table.numbers("direction_id"), table.texts("service_id"));
        let service_of = running::services_of_trips(feed);
        let shape_codes = feed.table(File::Shapes).texts("shape_id");
        let times = Times::new(feed, &self.stops);
        let frequencies = feed.groups(File::Frequencies, "trip_id");
        let frequent_ids = feed.table(File::Frequencies).texts("trip_id");
        let mut seen = vec![NONE; self.stops.len()];
        let mut all_ids = Dict::new(seed());
        for row in table.rows() {
            let Some(id) = ids.get(row) else { continue };
            let at = all_ids.add(id);
            if at as usize != self.trips.len() {
                continue;
            }
            let line = shapes.get(row).and_then(|shape| shape_codes.find(shape));
            let service = services.code(row).and_then(|code| service_of.get(code as usize));
            let mut trip = Trip {
                at,
                service: service.copied().unwrap_or(NONE),
                route: route_ids.get(row).and_then(|route| routes.find(route)).unwrap_or(NONE),
                direction: directions.get(row),
                block: blocks.code(row),
                line: line.and_then(|code| line_of.get(code as usize).copied()).unwrap_or(NONE),
                stop_times: (0, 0),
                frequencies: (0, 0),
                is_loose: false,
                is_loop: false,
                start: None,
                end: None,
                is_frequent: false,
            };
            times.add_to(&mut self.stop_times, &mut trip, id);
            for time in &self.stop_times[trip.stop_times.0 as usize..] {
                if let Some(last) = seen.get_mut(time.stop as usize) {
                    trip.is_loop |= *last == at;
                    *last = at;
                }
            }
            if let Some(code) = frequent_ids.find(id) {
                trip.is_frequent = true;
                self.add_frequencies(feed, frequencies.rows(code), &mut trip);
            }
            self.trips.push(trip);
        }
        all_ids
    }

    fn add_frequencies(&mut self, feed: &Feed, rows: &[u32], trip: &mut Trip) {
        let table = feed.table(File::Frequencies);
        let (starts, ends) = (table.numbers("start_time"), table.numbers("end_time"));
        let (headways, exact) = (table.numbers("headway_secs"), table.numbers("exact_times"));
        let first = self.frequencies.len();
        let mut are_known = true;
        for &row in rows {
            let (start, end) = (times::read(&starts, row), times::read(&ends, row));
            match (exact.get_or(row, 0), start, end, headways.get(row)) {
                (0, ..) => trip.is_loose = true,
                (1, Some(start), Some(end), Some(headway)) => {
                    self.frequencies.push(Frequency { start, end, headway });
                }
                (1, ..) => are_known = false,
                _ => {}
            }
        }
        if !are_known {
            // The trip may leave at any time then.
            self.frequencies.truncate(first);
        }
        trip.frequencies = (first as u32, self.frequencies.len() as u32);
    }

    /// The latitudes and longitudes of its stops, in degrees, as far as they have some.
    pub fn stop_points(&self) -> &[[f32; 2]] {
        &self.stop_points
    }

    /// The trip of an id.
    pub(super) fn trip(&self, id: &str) -> Option<&Trip> {
        self.trips.get(self.ids.0.find(id)? as usize)
    }

    /// The ids of all trips, which may be kept when the rest goes.
    pub fn trip_ids(&self) -> Arc<TripIds> {
        Arc::clone(&self.ids)
    }

    /// The id of a trip.
    pub(super) fn id_of(&self, trip: &Trip) -> &str {
        self.ids.0.get(trip.at)
    }

    /// The trip of a code.
    pub(super) fn trip_at(&self, at: u32) -> Option<&Trip> {
        self.trips.get(at as usize)
    }

    /// How many trips there are.
    pub(super) fn n_trips(&self) -> usize {
        self.trips.len()
    }

    /// Which trips run when.
    pub(super) fn running(&self) -> &Running {
        &self.running
    }

    /// The code and the id of the agency of a route (its code), if it has one.
    pub(super) fn agency_of(&self, route: u32) -> Option<(u32, &str)> {
        let agency = self.about_routes.get(route as usize)?.agency;
        (agency != NONE).then(|| (agency, self.agencies.get(agency)))
    }

    /// The id of a route (its code); empty if there is none.
    pub(super) fn route_id(&self, route: u32) -> &str {
        self.routes.get(route)
    }

    /// What kind of route a trip is of, as its number in routes.txt.
    pub(super) fn route_type(&self, trip: &Trip) -> Option<i32> {
        self.about_routes.get(trip.route as usize)?.kind
    }

    /// The trip that a message names.
    pub(super) fn trip_of(&self, descriptor: &TripDescriptor) -> Option<&Trip> {
        self.trip(descriptor.trip_id.as_deref()?)
    }

    /// The trip's stop times, in their order.
    pub(super) fn stop_times(&self, trip: &Trip) -> &[StopTime] {
        &self.stop_times[trip.stop_times.0 as usize..trip.stop_times.1 as usize]
    }

    /// The trip's frequencies with exact times.
    pub(super) fn frequencies(&self, trip: &Trip) -> &[Frequency] {
        &self.frequencies[trip.frequencies.0 as usize..trip.frequencies.1 as usize]
    }

    /// The id of the trip's route; empty if routes.txt has it not.
    pub(super) fn route_of(&self, trip: &Trip) -> &str {
        self.routes.get(trip.route)
    }

    pub(super) fn has_route(&self, id: &str) -> bool {
        self.routes.find(id).is_some()
    }

    pub(super) fn has_agency(&self, id: &str) -> bool {
        self.agencies.find(id).is_some()
    }

    /// The code of a stop's id.
    pub(super) fn stop(&self, id: &str) -> Option<u32> {
        self.stops.find(id)
    }

    /// The id of a stop time's stop; none if stops.txt has it not.
    pub(super) fn stop_of(&self, time: &StopTime) -> Option<(u32, &str)> {
        (time.stop != NONE).then(|| (time.stop, self.stops.get(time.stop)))
    }

    /// What kind of location a stop is.
    pub(super) fn location_type(&self, stop: u32) -> i32 {
        self.location_types.get(stop as usize).copied().unwrap_or(STOP_OR_PLATFORM)
    }

    /// Whether a place lies in the area that the schedule covers, or a mile around it.
    pub(super) fn covers(&self, lat: f64, lon: f64) -> bool {
        self.area.is_none_or(|area| area.holds(lat, lon))
    }

    /// Whether a place lies within so many meters of the trip's shape, if it has one.
    pub(super) fn is_on_line(&self, trip: &Trip, (lat, lon): (f64, f64), meters: f64) -> bool {
        trip.line == NONE || self.lines.is_near(trip.line, lat, lon, meters)
    }

    /// Whether a place lies within so many meters, along the surface, of the trip's shape.
    pub(super) fn is_near_line(&self, trip: &Trip, (lat, lon): (f64, f64), meters: f64) -> bool {
        trip.line == NONE || self.lines.is_truly_near(trip.line, lat, lon, meters)
    }

    /// How far a place is from the trip's shape along the surface, in meters, if it has one.
    pub(super) fn off_line_m(&self, trip: &Trip, (lat, lon): (f64, f64)) -> Option<f64> {
        self.lines.distance_m(trip.line, lat, lon)
    }

    /// O(stop times).
    pub(super) fn check(&self, out: &mut Notices) {
        let mut said = vec![false; self.location_types.len()];
        for time in &self.stop_times {
            let Some((stop, id)) = self.stop_of(time) else { continue };
            let location_type = self.location_type(stop);
            if location_type != STOP_OR_PLATFORM
                && !std::mem::replace(&mut said[stop as usize], true)
            {
                out.add(&UNUSABLE_STOP, |sample| {
                    sample.put("stopId", id).put("locationType", location_type);
                });
            }
        }
    }
}

/// A start for hashes that nobody outside foresees.
pub(super) fn seed() -> u64 {
    use std::hash::{BuildHasher, RandomState};
    RandomState::new().hash_one(0_u8)
}

pub(super) fn dict_of(feed: &Feed, file: File, field: &'static str) -> Dict {
    let (table, mut dict) = (feed.table(file), Dict::new(seed()));
    let texts = table.texts(field);
    for text in table.rows().filter_map(|row| texts.get(row)) {
        dict.add(text);
    }
    dict
}

/// What is to be known of the routes, by the code of their ids.
fn routes_of(feed: &Feed, agencies: &Dict) -> Vec<Route> {
    let table = feed.table(File::Routes);
    let (ids, kinds) = (table.texts("route_id"), table.numbers("route_type"));
    let agency_ids = table.texts("agency_id");
    let (mut seen, mut routes) = (Dict::new(seed()), Vec::new());
    for row in table.rows() {
        let Some(id) = ids.get(row) else { continue };
        if seen.add(id) as usize == routes.len() {
            let agency = agency_ids.get(row).and_then(|id| agencies.find(id)).unwrap_or(NONE);
            routes.push(Route { agency, kind: kinds.get(row) });
        }
    }
    routes
}

fn stops_of(feed: &Feed) -> (Dict, Vec<i32>) {
    let table = feed.table(File::Stops);
    let (ids, types) = (table.texts("stop_id"), table.numbers("location_type"));
    let (mut stops, mut location_types) = (Dict::new(seed()), Vec::new());
    for row in table.rows() {
        let Some(id) = ids.get(row) else { continue };
        if stops.add(id) as usize == location_types.len() {
            location_types.push(types.get_or(row, STOP_OR_PLATFORM));
        }
    }
    stops.shrink();
    (stops, location_types)
}

fn place(lat: &Floats<'_>, lon: &Floats<'_>, row: u32) -> Option<(f64, f64)> {
    Some((lat.get(row)?, lon.get(row)?))
}

fn stop_points_of(feed: &Feed) -> Vec<[f32; 2]> {
    let table = feed.table(File::Stops);
    let (lat, lon) = (table.floats("stop_lat"), table.floats("stop_lon"));
    let all = table.rows().filter_map(|row| place(&lat, &lon, row));
    let mut points: Vec<[f32; 2]> = all.map(|(lat, lon)| [lat as f32, lon as f32]).collect();
    points.shrink_to_fit();
    points
}

fn stops_extent(feed: &Feed) -> Option<Extent> {
    let table = feed.table(File::Stops);
    let (lat, lon) = (table.floats("stop_lat"), table.floats("stop_lon"));
    let mut extent = Extent::EMPTY;
    for (lat, lon) in table.rows().filter_map(|row| place(&lat, &lon, row)) {
        extent.add(lat, lon);
    }
    Some(extent)
}

/// The shapes, the line of each code of shape_id, and what area they cover.
fn lines_of(feed: &Feed) -> (Lines, Vec<u32>, Option<Extent>) {
    let table = feed.table(File::Shapes);
    let (lat, lon) = (table.floats("shape_pt_lat"), table.floats("shape_pt_lon"));
    let mut lines = Lines::default();
    let mut line_of = vec![NONE; table.texts("shape_id").n_codes()];
    if table.rows().len() < SHAPE_POINTS_MIN {
        return (lines, line_of, None);
    }
    let mut extent = Extent::EMPTY;
    for (code, rows) in feed.groups(File::Shapes, "shape_id").iter() {
        let places = rows.iter().filter_map(|&row| place(&lat, &lon, row));
        line_of[code as usize] = lines.add(places.inspect(|&(lat, lon)| extent.add(lat, lon)));
    }
    lines.shrink();
    (lines, line_of, Some(extent))
}
