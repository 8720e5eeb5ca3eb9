//! A schedule, prepared for checks of messages: small records found by id.

use std::sync::Arc;

use lineside_formats::{Error, gtfs_rt::proto::TripDescriptor};

use super::{
    active_trips::{self, ActiveTripIndex},
    fields::{STOP, new_error_kind},
    shape_index::{BoundingBox, CoordinateExtent, ShapeDistanceIndex},
    stop_time_reader::{self, StopTimeReader},
    trip_ids::ScheduleTripIds,
};
use crate::{
    Notices, ValidationContext,
    cancel::{CancelToken, catch_cancel_unwind},
    gtfs::{
        DistinctTexts, FloatColumn, GtfsFeed, GtfsFile, ScheduleFileSource,
        load_for_realtime_cancellable,
    },
    notice::NoticeKind,
};

pub(super) static KINDS: &[&NoticeKind] = &[&UNUSABLE_STOP];

static UNUSABLE_STOP: NoticeKind = new_error_kind(
    "E010",
    &[STOP, ("locationType", "The location type.")],
    include_str!("E010.md"),
);

/// The distance in meters that vehicles may be outside the schedule's area: a mile.
const AREA_MARGIN_M: f64 = 1_609.0;
/// With fewer shape points, the stops define the schedule's area.
const SHAPE_POINTS_MIN: usize = 4;

/// A code that means no route, stop or shape.
pub(super) const NONE: u32 = u32::MAX;
/// The location type of a stop or platform, also that of an empty cell.
pub(super) const STOP_OR_PLATFORM: i32 = 0;

/// A schedule, prepared for real-time rules. It owns its data, so the feed may be dropped.
///
/// It takes about 80 bytes and the id for each trip, 12 for each stop time and 8 for each point of a shape, and a bit
/// for each day of each service.
#[derive(Debug)]
pub struct ScheduleIndex {
    agencies: DistinctTexts,
    routes: DistinctTexts,
    /// The routes by code.
    route_entries: Vec<IndexedRoute>,
    stops: DistinctTexts,
    /// The location types by the stop's code.
    location_types: Vec<i32>,
    ids: Arc<ScheduleTripIds>,
    /// The trips by the code of their id.
    trips: Vec<IndexedTrip>,
    /// The stop times, trip by trip in order of sequence.
    stop_times: Vec<IndexedStopTime>,
    /// The frequencies with exact times, trip by trip.
    frequencies: Vec<ExactFrequency>,
    shapes: ShapeDistanceIndex,
    area: Option<BoundingBox>,
    /// The latitudes and longitudes of the stops.
    stop_points: Vec<[f32; 2]>,
    active_trips: ActiveTripIndex,
}

/// A route of the schedule.
#[derive(Clone, Copy, Debug)]
struct IndexedRoute {
    agency: u32,
    kind: Option<i32>,
}

/// A trip of the schedule.
#[derive(Clone, Debug)]
pub(super) struct IndexedTrip {
    /// The code of its id.
    pub(super) at: u32,
    pub(super) route: u32,
    /// The number of the trip's service.
    pub(super) service: u32,
    pub(super) direction: Option<i32>,
    /// The number of the trip's block; trips of one block share it.
    pub(super) block: Option<u32>,
    shape: u32,
    pub(super) stop_times: (u32, u32),
    frequencies: (u32, u32),
    /// True if the trip has frequencies without exact times.
    pub(super) has_inexact_frequencies: bool,
    /// True if the trip visits a stop more than once.
    pub(super) is_loop: bool,
    /// The arrival, or else departure, at the first stop, in seconds of the service day.
    pub(super) start: Option<i32>,
    /// The departure, or else arrival, at the last stop, in seconds of the service day.
    pub(super) end: Option<i32>,
    /// True if the trip has frequencies, exact or not.
    pub(super) is_frequent: bool,
}

/// A stop time of the schedule.
#[derive(Clone, Copy, Debug)]
pub(super) struct IndexedStopTime {
    pub(super) sequence: u32,
    pub(super) stop: u32,
    pub(super) has_arrival: bool,
    pub(super) has_departure: bool,
}

/// A period in which a trip departs at exact times.
#[derive(Clone, Copy, Debug)]
pub(super) struct ExactFrequency {
    pub(super) start: i32,
    pub(super) end: i32,
    pub(super) headway: i32,
}

impl ScheduleIndex {
    /// Reads and prepares a schedule. O(n) in its rows. A row counts even if other fields than its keys are invalid.
    ///
    /// # Errors
    ///
    /// Returns an error if a file cannot be opened or inflated.
    pub fn read_and_index_schedule(
        source: &dyn ScheduleFileSource,
        context: &ValidationContext,
    ) -> Result<ScheduleIndex, Error> {
        let read = ScheduleIndex::read_and_index_until_cancelled(
            source,
            context,
            &CancelToken::default(),
        )?;
        Ok(read.unwrap_or_else(ScheduleIndex::new_empty_index))
    }

    /// Reads and prepares a schedule until cancelled. Returns `None` soon after it was cancelled.
    ///
    /// # Errors
    ///
    /// Returns an error if a file cannot be opened or inflated.
    pub fn read_and_index_until_cancelled(
        source: &dyn ScheduleFileSource,
        context: &ValidationContext,
        cancel: &CancelToken,
    ) -> Result<Option<ScheduleIndex>, Error> {
        let mut feed = match load_for_realtime_cancellable(source, context, cancel) {
            // A cancelled read looks like a truncated file.
            _ if cancel.is_cancelled() => return Ok(None),
            read => read?,
        };
        feed.enable_cancellation(cancel);
        Ok(catch_cancel_unwind(|| ScheduleIndex::new(&feed)))
    }

    fn new(feed: &GtfsFeed) -> ScheduleIndex {
        let agencies = intern_ids_of_column(feed, GtfsFile::Agency, "agency_id");
        let mut routes = intern_ids_of_column(feed, GtfsFile::Routes, "route_id");
        let about_routes = index_routes(feed, &agencies);
        let (stops, location_types) = index_stops(feed);
        let (shapes, line_of, covered) = index_shapes(feed);
        let mut timetable = ScheduleIndex {
            agencies,
            stops,
            location_types,
            ids: Arc::default(),
            trips: Vec::new(),
            stop_times: Vec::new(),
            frequencies: Vec::new(),
            shapes,
            area: covered
                .or_else(|| coordinate_extent_of_stops(feed))
                .and_then(|it| it.bounding_box_with_margin(AREA_MARGIN_M)),
            stop_points: read_stop_coordinates(feed),
            routes: DistinctTexts::new(random_hash_seed()),
            route_entries: about_routes,
            active_trips: ActiveTripIndex::default(),
        };
        let mut ids = timetable.index_trips(feed, &routes, &line_of);
        routes.shrink_to_fit();
        timetable.routes = routes;
        ids.shrink_to_fit();
        timetable.ids = Arc::new(ScheduleTripIds(ids));
        timetable.stop_times.shrink_to_fit();
        timetable.active_trips = ActiveTripIndex::new(feed, &timetable.trips);
        timetable
    }

    /// Returns an empty schedule, for messages without one. Use it with a
    /// [`RealtimeRuleScope`](super::RealtimeRuleScope) without a schedule.
    pub fn new_empty_index() -> ScheduleIndex {
        let dict = || DistinctTexts::new(random_hash_seed());
        ScheduleIndex {
            agencies: dict(),
            routes: dict(),
            route_entries: Vec::new(),
            stops: dict(),
            location_types: Vec::new(),
            ids: Arc::default(),
            trips: Vec::new(),
            stop_times: Vec::new(),
            frequencies: Vec::new(),
            shapes: ShapeDistanceIndex::default(),
            area: None,
            stop_points: Vec::new(),
            active_trips: ActiveTripIndex::default(),
        }
    }

    /// Adds the trips. Returns the dictionary of their ids.
    fn index_trips(
        &mut self,
        feed: &GtfsFeed,
        routes: &DistinctTexts,
        line_of: &[u32],
    ) -> DistinctTexts {
        let table = feed.table(GtfsFile::Trips);
        let (ids, route_ids) = (table.text_column("trip_id"), table.text_column("route_id"));
        let (blocks, shapes) = (table.text_column("block_id"), table.text_column("shape_id"));
        let (directions, services) =
            (table.number_column("direction_id"), table.text_column("service_id"));
        let service_of = active_trips::service_numbers_by_code(feed);
        let shape_codes = feed.table(GtfsFile::Shapes).text_column("shape_id");
        let times = StopTimeReader::new(feed, &self.stops);
        let frequencies = feed.rows_grouped_by_field(GtfsFile::Frequencies, "trip_id");
        let frequent_ids = feed.table(GtfsFile::Frequencies).text_column("trip_id");
        let mut seen = vec![NONE; self.stops.len()];
        let mut all_ids = DistinctTexts::new(random_hash_seed());
        for row in table.row_numbers() {
            let Some(id) = ids.get(row) else { continue };
            let at = all_ids.intern_text(id);
            if at as usize != self.trips.len() {
                continue;
            }
            let line = shapes.get(row).and_then(|shape| shape_codes.find_text_code(shape));
            let service =
                services.text_code_of_row(row).and_then(|code| service_of.get(code as usize));
            let mut trip = IndexedTrip {
                at,
                service: service.copied().unwrap_or(NONE),
                route: route_ids
                    .get(row)
                    .and_then(|route| routes.find_text_code(route))
                    .unwrap_or(NONE),
                direction: directions.get(row),
                block: blocks.text_code_of_row(row),
                shape: line.and_then(|code| line_of.get(code as usize).copied()).unwrap_or(NONE),
                stop_times: (0, 0),
                frequencies: (0, 0),
                has_inexact_frequencies: false,
                is_loop: false,
                start: None,
                end: None,
                is_frequent: false,
            };
            times.read_stop_times_of_trip(&mut self.stop_times, &mut trip, id);
            for time in &self.stop_times[trip.stop_times.0 as usize..] {
                if let Some(last) = seen.get_mut(time.stop as usize) {
                    trip.is_loop |= *last == at;
                    *last = at;
                }
            }
            if let Some(code) = frequent_ids.find_text_code(id) {
                trip.is_frequent = true;
                self.index_trip_frequencies(feed, frequencies.rows_with_text_code(code), &mut trip);
            }
            self.trips.push(trip);
        }
        all_ids
    }

    fn index_trip_frequencies(&mut self, feed: &GtfsFeed, rows: &[u32], trip: &mut IndexedTrip) {
        let table = feed.table(GtfsFile::Frequencies);
        let (starts, ends) = (table.number_column("start_time"), table.number_column("end_time"));
        let (headways, exact) =
            (table.number_column("headway_secs"), table.number_column("exact_times"));
        let first = self.frequencies.len();
        let mut are_known = true;
        for &row in rows {
            let (start, end) = (
                stop_time_reader::readable_time_of_row(&starts, row),
                stop_time_reader::readable_time_of_row(&ends, row),
            );
            match (exact.cell_value_or(row, 0), start, end, headways.get(row)) {
                (0, ..) => trip.has_inexact_frequencies = true,
                (1, Some(start), Some(end), Some(headway)) => {
                    self.frequencies.push(ExactFrequency { start, end, headway });
                }
                (1, ..) => are_known = false,
                _ => {}
            }
        }
        if !are_known {
            // Unreadable frequencies: the trip may depart at any time.
            self.frequencies.truncate(first);
        }
        trip.frequencies = (first as u32, self.frequencies.len() as u32);
    }

    /// Returns the latitudes and longitudes of the stops that have them, in degrees.
    pub fn stop_coordinates(&self) -> &[[f32; 2]] {
        &self.stop_points
    }

    pub(super) fn find_trip_by_id(&self, id: &str) -> Option<&IndexedTrip> {
        self.trips.get(self.ids.0.find_text_code(id)? as usize)
    }

    /// Returns the ids of all trips, which can outlive the schedule.
    pub fn trip_ids(&self) -> Arc<ScheduleTripIds> {
        Arc::clone(&self.ids)
    }

    pub(super) fn id_of_trip(&self, trip: &IndexedTrip) -> &str {
        self.ids.0.get(trip.at)
    }

    pub(super) fn trip_by_code(&self, at: u32) -> Option<&IndexedTrip> {
        self.trips.get(at as usize)
    }

    /// Returns the number of trips.
    pub(super) fn trip_count(&self) -> usize {
        self.trips.len()
    }

    /// Returns the index of trips by running time.
    pub(super) fn active_trip_index(&self) -> &ActiveTripIndex {
        &self.active_trips
    }

    /// Returns the code and the id of the agency of a route (by its code), if any.
    pub(super) fn agency_of_route(&self, route: u32) -> Option<(u32, &str)> {
        let agency = self.route_entries.get(route as usize)?.agency;
        (agency != NONE).then(|| (agency, self.agencies.get(agency)))
    }

    /// Returns the id of a route (by its code); empty if there is none.
    pub(super) fn route_id_by_code(&self, route: u32) -> &str {
        self.routes.get(route)
    }

    /// Returns the `route_type` of a trip's route.
    pub(super) fn route_type_of_trip(&self, trip: &IndexedTrip) -> Option<i32> {
        self.route_entries.get(trip.route as usize)?.kind
    }

    /// Returns the trip that a descriptor refers to.
    pub(super) fn trip_of_descriptor(&self, descriptor: &TripDescriptor) -> Option<&IndexedTrip> {
        self.find_trip_by_id(descriptor.trip_id.as_deref()?)
    }

    /// Returns the stop times of a trip, in order.
    pub(super) fn stop_times_of_trip(&self, trip: &IndexedTrip) -> &[IndexedStopTime] {
        &self.stop_times[trip.stop_times.0 as usize..trip.stop_times.1 as usize]
    }

    /// Returns the frequencies of a trip with exact times.
    pub(super) fn exact_frequencies_of_trip(&self, trip: &IndexedTrip) -> &[ExactFrequency] {
        &self.frequencies[trip.frequencies.0 as usize..trip.frequencies.1 as usize]
    }

    /// Returns the id of the trip's route; empty if `routes.txt` does not have it.
    pub(super) fn route_id_of_trip(&self, trip: &IndexedTrip) -> &str {
        self.routes.get(trip.route)
    }

    pub(super) fn has_route(&self, id: &str) -> bool {
        self.routes.find_text_code(id).is_some()
    }

    pub(super) fn has_agency(&self, id: &str) -> bool {
        self.agencies.find_text_code(id).is_some()
    }

    pub(super) fn stop_code_by_id(&self, id: &str) -> Option<u32> {
        self.stops.find_text_code(id)
    }

    /// Returns the code and the id of a stop time's stop; `None` if `stops.txt` does not have it.
    pub(super) fn stop_of_stop_time(&self, time: &IndexedStopTime) -> Option<(u32, &str)> {
        (time.stop != NONE).then(|| (time.stop, self.stops.get(time.stop)))
    }

    pub(super) fn stop_location_type(&self, stop: u32) -> i32 {
        self.location_types.get(stop as usize).copied().unwrap_or(STOP_OR_PLATFORM)
    }

    /// Returns true if a point is in the schedule's area or within a mile of it.
    pub(super) fn is_point_in_service_area(&self, lat: f64, lon: f64) -> bool {
        self.area.is_none_or(|area| area.contains_point(lat, lon))
    }

    /// Returns true if a point is near the trip's shape, as the reference validator measures it, or if it has no shape.
    pub(super) fn is_near_shape_like_reference(
        &self,
        trip: &IndexedTrip,
        (lat, lon): (f64, f64),
        meters: f64,
    ) -> bool {
        trip.shape == NONE || self.shapes.is_near_line_like_reference(trip.shape, lat, lon, meters)
    }

    /// Returns true if a point is within a distance of the trip's shape along the surface, or if the trip has no shape.
    pub(super) fn is_near_shape_on_ground(
        &self,
        trip: &IndexedTrip,
        (lat, lon): (f64, f64),
        meters: f64,
    ) -> bool {
        trip.shape == NONE || self.shapes.is_near_line_on_ground(trip.shape, lat, lon, meters)
    }

    /// Returns the distance of a point from the trip's shape along the surface, in meters, if the trip has a shape.
    pub(super) fn distance_to_shape_m(
        &self,
        trip: &IndexedTrip,
        (lat, lon): (f64, f64),
    ) -> Option<f64> {
        self.shapes.distance_to_line_m(trip.shape, lat, lon)
    }

    /// O(stop times).
    pub(super) fn report_wrong_stop_location_types(&self, out: &mut Notices) {
        let mut is_reported = vec![false; self.location_types.len()];
        for time in &self.stop_times {
            let Some((stop, id)) = self.stop_of_stop_time(time) else { continue };
            let location_type = self.stop_location_type(stop);
            if location_type != STOP_OR_PLATFORM
                && !std::mem::replace(&mut is_reported[stop as usize], true)
            {
                out.count_notice_with_sample(&UNUSABLE_STOP, |sample| {
                    sample.set_field("stopId", id).set_field("locationType", location_type);
                });
            }
        }
    }
}

/// Returns a random seed for hashes, so that outsiders cannot provoke collisions.
pub(super) fn random_hash_seed() -> u64 {
    use std::hash::{BuildHasher, RandomState};
    RandomState::new().hash_one(0_u8)
}

pub(super) fn intern_ids_of_column(
    feed: &GtfsFeed,
    file: GtfsFile,
    field: &'static str,
) -> DistinctTexts {
    let (table, mut dict) = (feed.table(file), DistinctTexts::new(random_hash_seed()));
    let texts = table.text_column(field);
    for text in table.row_numbers().filter_map(|row| texts.get(row)) {
        dict.intern_text(text);
    }
    dict
}

/// Reads the routes, by the code of their ids.
fn index_routes(feed: &GtfsFeed, agencies: &DistinctTexts) -> Vec<IndexedRoute> {
    let table = feed.table(GtfsFile::Routes);
    let (ids, kinds) = (table.text_column("route_id"), table.number_column("route_type"));
    let agency_ids = table.text_column("agency_id");
    let (mut seen, mut routes) = (DistinctTexts::new(random_hash_seed()), Vec::new());
    for row in table.row_numbers() {
        let Some(id) = ids.get(row) else { continue };
        if seen.intern_text(id) as usize == routes.len() {
            let agency =
                agency_ids.get(row).and_then(|id| agencies.find_text_code(id)).unwrap_or(NONE);
            routes.push(IndexedRoute { agency, kind: kinds.get(row) });
        }
    }
    routes
}

fn index_stops(feed: &GtfsFeed) -> (DistinctTexts, Vec<i32>) {
    let table = feed.table(GtfsFile::Stops);
    let (ids, types) = (table.text_column("stop_id"), table.number_column("location_type"));
    let (mut stops, mut location_types) = (DistinctTexts::new(random_hash_seed()), Vec::new());
    for row in table.row_numbers() {
        let Some(id) = ids.get(row) else { continue };
        if stops.intern_text(id) as usize == location_types.len() {
            location_types.push(types.cell_value_or(row, STOP_OR_PLATFORM));
        }
    }
    stops.shrink_to_fit();
    (stops, location_types)
}

fn row_lat_lon(lat: &FloatColumn<'_>, lon: &FloatColumn<'_>, row: u32) -> Option<(f64, f64)> {
    Some((lat.get(row)?, lon.get(row)?))
}

fn read_stop_coordinates(feed: &GtfsFeed) -> Vec<[f32; 2]> {
    let table = feed.table(GtfsFile::Stops);
    let (lat, lon) = (table.float_column("stop_lat"), table.float_column("stop_lon"));
    let all = table.row_numbers().filter_map(|row| row_lat_lon(&lat, &lon, row));
    let mut points: Vec<[f32; 2]> = all.map(|(lat, lon)| [lat as f32, lon as f32]).collect();
    points.shrink_to_fit();
    points
}

fn coordinate_extent_of_stops(feed: &GtfsFeed) -> Option<CoordinateExtent> {
    let table = feed.table(GtfsFile::Stops);
    let (lat, lon) = (table.float_column("stop_lat"), table.float_column("stop_lon"));
    let mut extent = CoordinateExtent::EMPTY;
    for (lat, lon) in table.row_numbers().filter_map(|row| row_lat_lon(&lat, &lon, row)) {
        extent.extend_to_point(lat, lon);
    }
    Some(extent)
}

/// Reads the shapes. Returns them with the line of each code of `shape_id`, and the area that they cover.
fn index_shapes(feed: &GtfsFeed) -> (ShapeDistanceIndex, Vec<u32>, Option<CoordinateExtent>) {
    let table = feed.table(GtfsFile::Shapes);
    let (lat, lon) = (table.float_column("shape_pt_lat"), table.float_column("shape_pt_lon"));
    let mut shapes = ShapeDistanceIndex::default();
    let mut line_of = vec![NONE; table.text_column("shape_id").text_code_count()];
    if table.row_numbers().len() < SHAPE_POINTS_MIN {
        return (shapes, line_of, None);
    }
    let mut extent = CoordinateExtent::EMPTY;
    for (code, rows) in feed.rows_grouped_by_field(GtfsFile::Shapes, "shape_id").iter() {
        let places = rows.iter().filter_map(|&row| row_lat_lon(&lat, &lon, row));
        line_of[code as usize] =
            shapes.add_shape_line(places.inspect(|&(lat, lon)| extent.extend_to_point(lat, lon)));
    }
    shapes.shrink_to_fit();
    (shapes, line_of, Some(extent))
}
