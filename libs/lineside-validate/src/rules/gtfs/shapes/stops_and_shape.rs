//! Checks of stops that do not match the shape of their trip.

use std::{
    collections::{HashMap, HashSet},
    ops::Range,
    sync::Arc,
};

use xxhash_rust::xxh3::xxh3_64;

use super::{
    GtfsRule,
    assign::{StopMatchAssigner, match_closest_to_stop},
    shape_line::{PositionOnShape, ShapePolyline},
};
use crate::{
    Notices, ValidationContext,
    gtfs::{FloatColumn, GtfsFeed, GtfsFile, ReferencedRows, SpherePoint, TextColumn},
    notice::{NoticeKind, NoticeSample, Severity},
};

pub(super) static RULE: GtfsRule = GtfsRule {
    kinds: &[&TOO_FAR, &TOO_FAR_BY_DISTANCE, &TOO_MANY, &OUT_OF_ORDER],
    files: &[
        GtfsFile::Stops,
        GtfsFile::Trips,
        GtfsFile::Routes,
        GtfsFile::StopTimes,
        GtfsFile::Shapes,
    ],
    check: check_stops_on_shape,
};

static TOO_FAR: NoticeKind = NoticeKind {
    code: "stop_too_far_from_shape",
    severity: Severity::Warning,
    fields: TOO_FAR_FIELDS,
    page: include_str!("stop_too_far_from_shape.md"),
};

static TOO_FAR_BY_DISTANCE: NoticeKind = NoticeKind {
    code: "stop_too_far_from_shape_using_user_distance",
    severity: Severity::Warning,
    fields: TOO_FAR_FIELDS,
    page: include_str!("stop_too_far_from_shape_using_user_distance.md"),
};

static TOO_MANY: NoticeKind = NoticeKind {
    code: "stop_has_too_many_matches_for_shape",
    severity: Severity::Warning,
    fields: &[
        TRIP_ROW,
        SHAPE,
        TRIP,
        ("stopTimeCsvRowNumber", "The line of the stop time."),
        ("stopId", "The stop."),
        ("stopName", "Its name."),
        ("match", "The closest point of the shape: latitude and longitude."),
        ("matchCount", "The number of times that the shape passes the stop."),
    ],
    page: include_str!("stop_has_too_many_matches_for_shape.md"),
};

static OUT_OF_ORDER: NoticeKind = NoticeKind {
    code: "stops_match_shape_out_of_order",
    severity: Severity::Warning,
    fields: &[
        TRIP_ROW,
        SHAPE,
        TRIP,
        ("stopTimeCsvRowNumber1", "The line of the later stop time."),
        ("stopId1", "Its stop."),
        ("stopName1", "The name of that stop."),
        ("match1", "The matched point of the shape: latitude and longitude."),
        ("stopTimeCsvRowNumber2", "The line of the earlier stop time."),
        ("stopId2", "Its stop."),
        ("stopName2", "The name of that stop."),
        (
            "match2",
            "The matched point of the shape, which is farther along: latitude and longitude.",
        ),
    ],
    page: include_str!("stops_match_shape_out_of_order.md"),
};

const TRIP_ROW: (&str, &str) = ("tripCsvRowNumber", "The line of the trip.");
const SHAPE: (&str, &str) = ("shapeId", "The shape.");
const TRIP: (&str, &str) = ("tripId", "The trip.");
const TOO_FAR_FIELDS: &[(&str, &str)] = &[
    TRIP_ROW,
    SHAPE,
    TRIP,
    ("stopTimeCsvRowNumber", "The line of the stop time."),
    ("stopId", "The stop."),
    ("stopName", "Its name."),
    ("match", "The compared point of the shape: latitude and longitude."),
    ("geoDistanceToShape", "The distance from the stop to that point, in meters."),
];

/// The largest distance of a stop from its shape, in meters.
const METERS_MAX: f64 = 100.0;
/// The factor by which the first and the last station of a train may be farther: many shapes end before the track does.
const STATION_TIMES: f64 = 4.0;
/// With more matches than this, the position of a stop is ambiguous.
const MATCHES_MAX: usize = 20;
/// With more matches of a stop than this, no order of the stops is computed, to limit memory. Shapes of real feeds have
/// far fewer.
const TANGLED: usize = 200;
/// The largest number of matches of all stops of a trip, to limit memory: 32 MB.
const CHOICES_MAX: usize = 1 << 20;
/// The largest number of matches that are retained for the next trips of a shape.
const CACHED_MATCHES_MAX: usize = 1 << 16;
/// The route type of trains.
const RAIL: i32 = 2;
/// The code of a stop time without a stop.
const NO_STOP: u32 = u32::MAX;

/// For each shape and each of its distinct sequences of stops, O(stops × points), most of it skipped in blocks; a stop
/// of several sequences is searched for once.
fn check_stops_on_shape(feed: &GtfsFeed, _: &ValidationContext, out: &mut Notices) {
    let trips = feed.table(GtfsFile::Trips);
    let (shape_ids, routes) = (trips.text_column("shape_id"), trips.text_column("route_id"));
    let route_types = feed.table(GtfsFile::Routes).number_column("route_type");
    let trip_of_shape =
        feed.rows_referenced_by_field(GtfsFile::Shapes, "shape_id", GtfsFile::Trips, "shape_id");
    let route_rows =
        feed.rows_referenced_by_field(GtfsFile::Trips, "route_id", GtfsFile::Routes, "route_id");
    let trips_of_shape = feed.rows_grouped_by_field(GtfsFile::Trips, "shape_id");
    let calls = StopTimeColumnsForShapes::new(feed);
    let rows_of_trip = feed.rows_grouped_by_field(GtfsFile::StopTimes, "trip_id");
    let mut seen = HashSet::new();
    let mut bytes = Vec::new();
    let mut matcher = StopToShapeMatcher::default();
    for (shape, points) in feed.rows_grouped_by_field(GtfsFile::Shapes, "shape_id").iter() {
        let trip = trip_of_shape
            .row_referenced_by_code(shape)
            .and_then(|trip| shape_ids.text_code_of_row(trip));
        let Some(trip) = trip else { continue };
        matcher.load_shape(feed, points);
        seen.clear();
        for &trip in trips_of_shape.rows_with_text_code(trip) {
            let Some(group) = calls.trip_id_code_in_stop_times(trip) else { continue };
            let rows = rows_of_trip.rows_with_text_code(group);
            if !seen.insert(calls.fingerprint_of_stop_sequence(rows, &mut bytes)) {
                continue;
            }
            // An unknown route is reported elsewhere.
            let route = routes
                .text_code_of_row(trip)
                .and_then(|route| route_rows.row_referenced_by_code(route));
            let Some(route) = route else { continue };
            let is_rail = route_types.get(route) == Some(RAIL);
            let mut check = TripShapeCheck { feed, calls: &calls, trip, rows, is_rail, out };
            matcher.match_stops_by_coordinates(&mut check);
            matcher.match_stops_by_distance(&mut check);
        }
    }
}

/// The columns that are read for the stop times of trips.
struct StopTimeColumnsForShapes<'a> {
    trip_ids: TextColumn<'a>,
    first_times: Arc<ReferencedRows>,
    time_trips: TextColumn<'a>,
    stops: TextColumn<'a>,
    distances: FloatColumn<'a>,
    stop_rows: Arc<ReferencedRows>,
    stop_points: &'a [Option<SpherePoint>],
}

impl<'a> StopTimeColumnsForShapes<'a> {
    fn new(feed: &'a GtfsFeed) -> StopTimeColumnsForShapes<'a> {
        let times = feed.table(GtfsFile::StopTimes);
        StopTimeColumnsForShapes {
            trip_ids: feed.table(GtfsFile::Trips).text_column("trip_id"),
            first_times: feed.rows_referenced_by_field(
                GtfsFile::Trips,
                "trip_id",
                GtfsFile::StopTimes,
                "trip_id",
            ),
            time_trips: times.text_column("trip_id"),
            stops: times.text_column("stop_id"),
            distances: times.float_column("shape_dist_traveled"),
            stop_rows: feed.rows_referenced_by_field(
                GtfsFile::StopTimes,
                "stop_id",
                GtfsFile::Stops,
                "stop_id",
            ),
            stop_points: feed.stop_positions(),
        }
    }

    /// Returns the code of a trip's id in `stop_times.txt`.
    fn trip_id_code_in_stop_times(&self, trip: u32) -> Option<u32> {
        self.time_trips.text_code_of_row(
            self.first_times.row_referenced_by_code(self.trip_ids.text_code_of_row(trip)?)?,
        )
    }

    fn stop_id_code(&self, row: u32) -> u32 {
        self.stops.text_code_of_row(row).unwrap_or(NO_STOP)
    }

    /// Returns the feed's distance of a stop time along the shape.
    fn feed_shape_distance(&self, row: u32) -> f64 {
        self.distances.get(row).unwrap_or(0.0)
    }

    fn row_in_stops_file(&self, row: u32) -> Option<u32> {
        self.stops
            .text_code_of_row(row)
            .and_then(|code| self.stop_rows.row_referenced_by_code(code))
    }

    /// Returns the position of a stop; a stop without coordinates is at 0, 0.
    fn stop_position(&self, row: u32) -> SpherePoint {
        let point = self.row_in_stops_file(row).and_then(|stop| self.stop_points[stop as usize]);
        point.unwrap_or(SpherePoint::ORIGIN)
    }

    /// Returns a fingerprint that is equal for the same stops at the same distances. Its 64 bits make collisions
    /// improbable.
    fn fingerprint_of_stop_sequence(&self, rows: &[u32], bytes: &mut Vec<u8>) -> u64 {
        bytes.clear();
        for &row in rows {
            bytes.extend_from_slice(&self.stop_id_code(row).to_le_bytes());
            bytes.extend_from_slice(&self.feed_shape_distance(row).to_le_bytes());
        }
        xxh3_64(bytes)
    }
}

/// The trip that is checked, and the notices.
struct TripShapeCheck<'a, 'o> {
    feed: &'a GtfsFeed,
    calls: &'a StopTimeColumnsForShapes<'a>,
    trip: u32,
    /// The stop times of the trip, in order.
    rows: &'a [u32],
    is_rail: bool,
    out: &'o mut Notices,
}

impl TripShapeCheck<'_, '_> {
    fn max_stop_distance_m(&self, at: usize) -> f64 {
        let is_end = at == 0 || at + 1 == self.rows.len();
        if self.is_rail && is_end { METERS_MAX * STATION_TIMES } else { METERS_MAX }
    }

    /// Reports a notice about a stop of the trip, unless it has no stop.
    fn report_stop_notice(
        &mut self,
        kind: &'static NoticeKind,
        at: usize,
        fill: impl FnOnce(&mut NoticeSample),
    ) {
        let row = self.rows[at];
        if self.calls.stop_id_code(row) == NO_STOP {
            return;
        }
        let trips = self.feed.table(GtfsFile::Trips);
        self.out.count_notice_with_sample(kind, |sample| {
            sample.set_field("tripCsvRowNumber", trips.line_number(self.trip));
            sample.set_field("shapeId", trips.text_column("shape_id").get(self.trip));
            sample.set_field("tripId", trips.text_column("trip_id").get(self.trip));
            fill(sample);
        });
    }
}

/// Fills in the stop, in the fields with these names.
fn set_stop_fields(
    (feed, calls): (&GtfsFeed, &StopTimeColumnsForShapes<'_>),
    row: u32,
    names: [&'static str; 3],
    sample: &mut NoticeSample,
) {
    let stop_names = feed.table(GtfsFile::Stops).text_column("stop_name");
    sample.set_field(names[0], feed.table(GtfsFile::StopTimes).line_number(row));
    sample.set_field(names[1], calls.stops.get(row));
    sample.set_field(names[2], calls.row_in_stops_file(row).and_then(|stop| stop_names.get(stop)));
}

const STOP: [&str; 3] = ["stopTimeCsvRowNumber", "stopId", "stopName"];
const STOP_1: [&str; 3] = ["stopTimeCsvRowNumber1", "stopId1", "stopName1"];
const STOP_2: [&str; 3] = ["stopTimeCsvRowNumber2", "stopId2", "stopName2"];

fn match_lat_lon_degrees(found: &PositionOnShape) -> Vec<f64> {
    let (lat, lon) = found.place.to_lat_lon();
    vec![lat, lon]
}

/// The matches of a stop along a shape.
#[derive(Clone)]
struct StopMatchRange {
    /// The range of the matches, or of only the closest one if there are very many.
    matches: Range<usize>,
    count: usize,
}

/// A matcher of trips to one shape after the other, reused for its buffers.
#[derive(Default)]
struct StopToShapeMatcher {
    line: ShapePolyline,
    /// The matches of all stops on the shape, and the range of each stop: by its code, and true if it may be as far as
    /// a station.
    matches: Vec<PositionOnShape>,
    cached_passes: HashMap<(u32, bool), StopMatchRange>,
    /// The stops that were reported as too far from the shape: once for all trips.
    reported_stops: HashSet<u32>,
    /// The matches of each stop of the current trip.
    choices: Vec<Range<usize>>,
    /// True if there are too many matches to choose from.
    is_tangled: bool,
    assigner: StopMatchAssigner,
}

impl StopToShapeMatcher {
    fn load_shape(&mut self, feed: &GtfsFeed, points: &[u32]) {
        self.line.read_shape_points(feed, points);
        self.matches.clear();
        self.cached_passes.clear();
        self.reported_stops.clear();
    }

    fn match_stops_by_coordinates(&mut self, check: &mut TripShapeCheck<'_, '_>) {
        if self.matches.len() > CACHED_MATCHES_MAX {
            self.matches.clear();
            self.cached_passes.clear();
        }
        self.choices.clear();
        self.is_tangled = false;
        let mut all_match = !check.rows.is_empty();
        for at in 0..check.rows.len() {
            let found = self.find_or_report_stop_matches(at, &TOO_FAR, check);
            all_match &= !found.is_empty();
            self.choices.push(found);
        }
        if all_match {
            self.assign_matches_in_order(check);
        }
    }

    /// Matches each stop to the shape by the feed's distances, if the last stop has one.
    fn match_stops_by_distance(&mut self, check: &mut TripShapeCheck<'_, '_>) {
        let last = check.rows.last().map_or(0.0, |&row| check.calls.feed_shape_distance(row));
        if last <= 0.0 || !self.line.has_feed_distances() {
            return;
        }
        self.choices.clear();
        self.is_tangled = false;
        let mut from = 0;
        for (at, &row) in check.rows.iter().enumerate() {
            let distance = check.calls.feed_shape_distance(row);
            if distance > 0.0 {
                let found = self.line.position_at_feed_distance(
                    check.calls.stop_position(row),
                    distance,
                    from,
                );
                from = found.index;
                let start = self.matches.len();
                self.matches.push(found);
                self.choices.push(start..start + 1);
                continue;
            }
            let found = self.find_or_report_stop_matches(at, &TOO_FAR_BY_DISTANCE, check);
            if found.is_empty() {
                return;
            }
            self.choices.push(found);
        }
        if self.assign_matches_in_order(check) {
            let far = |&(_, found): &(usize, PositionOnShape)| found.to_shape > METERS_MAX;
            let picks = self.assigner.assigned_matches_from_last_stop();
            let picked = picks.map(|(at, pick)| (at, self.matches[self.choices[at].clone()][pick]));
            let mut far: Vec<(usize, PositionOnShape)> = picked.filter(far).collect();
            far.reverse();
            for (at, found) in far {
                self.report_stop_far_from_shape(at, &TOO_FAR_BY_DISTANCE, check, |_| found);
            }
        }
    }

    /// Returns the matches of a stop by its coordinates; reports if there are none or too many.
    fn find_or_report_stop_matches(
        &mut self,
        at: usize,
        too_far: &'static NoticeKind,
        check: &mut TripShapeCheck<'_, '_>,
    ) -> Range<usize> {
        // Each search visits the whole shape, and a trip may have very many stops.
        check.feed.unwind_if_cancelled();
        let row = check.rows[at];
        let meters_max = check.max_stop_distance_m(at);
        let key = (check.calls.stop_id_code(row), meters_max > METERS_MAX);
        let point = check.calls.stop_position(row);
        let StopMatchRange { matches: found, count } = match self.cached_passes.get(&key) {
            Some(passes) => passes.clone(),
            None => {
                let passes = self.find_stop_matches(point, meters_max);
                self.cached_passes.insert(key, passes.clone());
                passes
            }
        };
        self.is_tangled |= count > TANGLED;
        if found.is_empty() {
            // A shape of one point has no segments to match, but may be near.
            if !self.line.is_single_point()
                || self.line.closest_position_on_shape(point).to_shape > meters_max
            {
                self.report_stop_far_from_shape(at, too_far, check, |line| {
                    line.closest_position_on_shape(point)
                });
            }
        } else if count > MATCHES_MAX {
            let (matches, places) = (&self.matches[found.clone()], (check.feed, check.calls));
            check.report_stop_notice(&TOO_MANY, at, |sample| {
                set_stop_fields(places, row, STOP, sample);
                sample.set_field(
                    "match",
                    match_closest_to_stop(matches).map(|found| match_lat_lon_degrees(&found)),
                );
                sample.set_field("matchCount", count);
            });
        }
        found
    }

    /// Searches the shape for the matches of a stop.
    fn find_stop_matches(&mut self, stop: SpherePoint, meters_max: f64) -> StopMatchRange {
        let start = self.matches.len();
        self.line.find_local_closest_positions(stop, meters_max, &mut self.matches);
        let count = self.matches.len() - start;
        if count > TANGLED {
            let best = match_closest_to_stop(&self.matches[start..]);
            self.matches.truncate(start);
            self.matches.extend(best);
        }
        StopMatchRange { matches: start..self.matches.len(), count }
    }

    fn report_stop_far_from_shape(
        &mut self,
        at: usize,
        kind: &'static NoticeKind,
        check: &mut TripShapeCheck<'_, '_>,
        found: impl FnOnce(&ShapePolyline) -> PositionOnShape,
    ) {
        let row = check.rows[at];
        if self.reported_stops.insert(check.calls.stop_id_code(row)) {
            let (line, places) = (&self.line, (check.feed, check.calls));
            check.report_stop_notice(kind, at, |sample| {
                let found = found(line);
                set_stop_fields(places, row, STOP, sample);
                sample
                    .set_field("match", match_lat_lon_degrees(&found))
                    .set_field("geoDistanceToShape", found.to_shape);
            });
        }
    }

    /// Assigns a match to each stop; reports if no order-preserving assignment exists. Returns true if one exists.
    fn assign_matches_in_order(&mut self, check: &mut TripShapeCheck<'_, '_>) -> bool {
        let n_choices: usize = self.choices.iter().map(Range::len).sum();
        if self.is_tangled || n_choices > CHOICES_MAX {
            return false;
        }
        let matches = |at: usize| &self.matches[self.choices[at].clone()];
        let Err(misfit) = self.assigner.assign_matches_in_order(self.choices.len(), matches) else {
            return true;
        };
        let (row, places) = (check.rows[misfit.stop], (check.feed, check.calls));
        let row_before = check.rows[misfit.stop.saturating_sub(1)];
        check.report_stop_notice(&OUT_OF_ORDER, misfit.stop, |sample| {
            set_stop_fields(places, row, STOP_1, sample);
            sample.set_field("match1", match_lat_lon_degrees(&misfit.at));
            set_stop_fields(places, row_before, STOP_2, sample);
            sample.set_field("match2", match_lat_lon_degrees(&misfit.predecessor));
        });
        false
    }
}
