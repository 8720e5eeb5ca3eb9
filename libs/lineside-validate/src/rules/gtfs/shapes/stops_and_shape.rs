//! Stops that do not lie along the shape of their trip.

use std::{
    collections::{HashMap, HashSet},
    ops::Range,
    sync::Arc,
};

use xxhash_rust::xxh3::xxh3_64;

use super::{
    GtfsRule,
    assign::{Assigner, closest},
    line::{Line, Match},
};
use crate::{
    Context, Notices,
    gtfs::{Feed, File, Floats, Link, Point, Texts},
    notice::{Kind, Sample, Severity},
};

pub(super) static RULE: GtfsRule = GtfsRule {
    kinds: &[&TOO_FAR, &TOO_FAR_BY_DISTANCE, &TOO_MANY, &OUT_OF_ORDER],
    files: &[File::Stops, File::Trips, File::Routes, File::StopTimes, File::Shapes],
    check,
};

static TOO_FAR: Kind = Kind {
    code: "stop_too_far_from_shape",
    severity: Severity::Warning,
    fields: TOO_FAR_FIELDS,
    page: include_str!("stop_too_far_from_shape.md"),
};

static TOO_FAR_BY_DISTANCE: Kind = Kind {
    code: "stop_too_far_from_shape_using_user_distance",
    severity: Severity::Warning,
    fields: TOO_FAR_FIELDS,
    page: include_str!("stop_too_far_from_shape_using_user_distance.md"),
};

static TOO_MANY: Kind = Kind {
    code: "stop_has_too_many_matches_for_shape",
    severity: Severity::Warning,
    fields: &[
        TRIP_ROW,
        SHAPE,
        TRIP,
        ("stopTimeCsvRowNumber", "The line of the stop time."),
        ("stopId", "The stop."),
        ("stopName", "Its name."),
        ("match", "The closest place of the shape: latitude and longitude."),
        ("matchCount", "How often the shape passes the stop."),
    ],
    page: include_str!("stop_has_too_many_matches_for_shape.md"),
};

static OUT_OF_ORDER: Kind = Kind {
    code: "stops_match_shape_out_of_order",
    severity: Severity::Warning,
    fields: &[
        TRIP_ROW,
        SHAPE,
        TRIP,
        ("stopTimeCsvRowNumber1", "The line of the later stop time."),
        ("stopId1", "Its stop."),
        ("stopName1", "The name of that stop."),
        ("match1", "Where the shape passes it: latitude and longitude."),
        ("stopTimeCsvRowNumber2", "The line of the stop time before it."),
        ("stopId2", "Its stop."),
        ("stopName2", "The name of that stop."),
        ("match2", "Where the shape passes it, which is farther along."),
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
    ("match", "The point of the shape that it was compared with: latitude and longitude."),
    ("geoDistanceToShape", "How far the stop is from there, in meters."),
];

/// How many meters a stop may be away from its shape.
const METERS_MAX: f64 = 100.0;
/// How many times as far the first and the last station of a train may be: many shapes end before
/// the track does.
const STATION_TIMES: f64 = 4.0;
/// How often a shape may pass a stop before nobody can tell which time is meant.
const MATCHES_MAX: usize = 20;
/// How often a shape may pass a stop before nobody looks for an order of the stops any more, so that
/// no shape takes all memory. Shapes of real feeds stay far below.
const TANGLED: usize = 200;
/// How many matches a trip's stops may have together, for the same reason: 32 MB of choices.
const CHOICES_MAX: usize = 1 << 20;
/// Matches that are kept for the next trips of a shape.
const KEPT_MAX: usize = 1 << 16;
/// Trains, as a route's type.
const RAIL: i32 = 2;
/// Stands for a stop time without a stop.
const NO_STOP: u32 = u32::MAX;

/// For each shape and each of its distinct sequences of stops, O(stops × points), of which most is
/// passed over in blocks; a stop of several sequences is looked for once.
fn check(feed: &Feed, _: &Context, out: &mut Notices) {
    let trips = feed.table(File::Trips);
    let (shape_ids, routes) = (trips.texts("shape_id"), trips.texts("route_id"));
    let route_types = feed.table(File::Routes).numbers("route_type");
    let trip_of_shape = feed.link(File::Shapes, "shape_id", File::Trips, "shape_id");
    let route_rows = feed.link(File::Trips, "route_id", File::Routes, "route_id");
    let trips_of_shape = feed.groups(File::Trips, "shape_id");
    let calls = Calls::new(feed);
    let rows_of_trip = feed.groups(File::StopTimes, "trip_id");
    let mut seen = HashSet::new();
    let mut bytes = Vec::new();
    let mut matcher = Matcher::default();
    for (shape, points) in feed.groups(File::Shapes, "shape_id").iter() {
        let trip = trip_of_shape.row(shape).and_then(|trip| shape_ids.code(trip));
        let Some(trip) = trip else { continue };
        matcher.take(feed, points);
        seen.clear();
        for &trip in trips_of_shape.rows(trip) {
            let Some(group) = calls.group(trip) else { continue };
            let rows = rows_of_trip.rows(group);
            if !seen.insert(calls.fingerprint(rows, &mut bytes)) {
                continue;
            }
            // A route that is not there is said elsewhere.
            let route = routes.code(trip).and_then(|route| route_rows.row(route));
            let Some(route) = route else { continue };
            let is_rail = route_types.get(route) == Some(RAIL);
            let mut look = Look { feed, calls: &calls, trip, rows, is_rail, out };
            matcher.match_by_place(&mut look);
            matcher.match_by_distance(&mut look);
        }
    }
}

/// What is asked of stop_times.txt.
struct Calls<'a> {
    trip_ids: Texts<'a>,
    first_times: Arc<Link>,
    time_trips: Texts<'a>,
    stops: Texts<'a>,
    distances: Floats<'a>,
    stop_rows: Arc<Link>,
    stop_points: &'a [Option<Point>],
}

impl<'a> Calls<'a> {
    fn new(feed: &'a Feed) -> Calls<'a> {
        let times = feed.table(File::StopTimes);
        Calls {
            trip_ids: feed.table(File::Trips).texts("trip_id"),
            first_times: feed.link(File::Trips, "trip_id", File::StopTimes, "trip_id"),
            time_trips: times.texts("trip_id"),
            stops: times.texts("stop_id"),
            distances: times.floats("shape_dist_traveled"),
            stop_rows: feed.link(File::StopTimes, "stop_id", File::Stops, "stop_id"),
            stop_points: feed.stop_points(),
        }
    }

    /// The code in stop_times.txt of the id of a trip.
    fn group(&self, trip: u32) -> Option<u32> {
        self.time_trips.code(self.first_times.row(self.trip_ids.code(trip)?)?)
    }

    fn stop(&self, row: u32) -> u32 {
        self.stops.code(row).unwrap_or(NO_STOP)
    }

    /// What the feed says of how far along the shape a stop is.
    fn distance(&self, row: u32) -> f64 {
        self.distances.get(row).unwrap_or(0.0)
    }

    fn stop_row(&self, row: u32) -> Option<u32> {
        self.stops.code(row).and_then(|code| self.stop_rows.row(code))
    }

    /// A stop without a place counts as one at 0, 0.
    fn point(&self, row: u32) -> Point {
        let point = self.stop_row(row).and_then(|stop| self.stop_points[stop as usize]);
        point.unwrap_or(Point::ORIGIN)
    }

    /// Equal for the same stops at the same distances. 64 bits tell all others apart.
    fn fingerprint(&self, rows: &[u32], bytes: &mut Vec<u8>) -> u64 {
        bytes.clear();
        for &row in rows {
            bytes.extend_from_slice(&self.stop(row).to_le_bytes());
            bytes.extend_from_slice(&self.distance(row).to_le_bytes());
        }
        xxh3_64(bytes)
    }
}

/// A trip that is looked at, and where what is found goes.
struct Look<'a, 'o> {
    feed: &'a Feed,
    calls: &'a Calls<'a>,
    trip: u32,
    /// Its stop times in their order.
    rows: &'a [u32],
    is_rail: bool,
    out: &'o mut Notices,
}

impl Look<'_, '_> {
    fn meters_max(&self, at: usize) -> f64 {
        let is_end = at == 0 || at + 1 == self.rows.len();
        if self.is_rail && is_end { METERS_MAX * STATION_TIMES } else { METERS_MAX }
    }

    /// Says something about a stop of the trip, unless it has no stop.
    fn say(&mut self, kind: &'static Kind, at: usize, fill: impl FnOnce(&mut Sample)) {
        let row = self.rows[at];
        if self.calls.stop(row) == NO_STOP {
            return;
        }
        let trips = self.feed.table(File::Trips);
        self.out.add(kind, |sample| {
            sample.put("tripCsvRowNumber", trips.line(self.trip));
            sample.put("shapeId", trips.texts("shape_id").get(self.trip));
            sample.put("tripId", trips.texts("trip_id").get(self.trip));
            fill(sample);
        });
    }
}

/// Says which stop it is, in the fields of these names.
fn put_stop(
    (feed, calls): (&Feed, &Calls<'_>),
    row: u32,
    names: [&'static str; 3],
    sample: &mut Sample,
) {
    let stop_names = feed.table(File::Stops).texts("stop_name");
    sample.put(names[0], feed.table(File::StopTimes).line(row));
    sample.put(names[1], calls.stops.get(row));
    sample.put(names[2], calls.stop_row(row).and_then(|stop| stop_names.get(stop)));
}

const STOP: [&str; 3] = ["stopTimeCsvRowNumber", "stopId", "stopName"];
const STOP_1: [&str; 3] = ["stopTimeCsvRowNumber1", "stopId1", "stopName1"];
const STOP_2: [&str; 3] = ["stopTimeCsvRowNumber2", "stopId2", "stopName2"];

fn degrees(found: &Match) -> Vec<f64> {
    let (lat, lon) = found.place.lat_lon();
    vec![lat, lon]
}

/// Where a shape passes a stop.
#[derive(Clone)]
struct Passes {
    /// Its matches, or only the closest if there are very many.
    matches: Range<usize>,
    count: usize,
}

/// Holds trips against one shape after the other; kept for its memory.
#[derive(Default)]
struct Matcher {
    line: Line,
    /// The places of stops on the shape, and where those of each stop are: by its code, and whether
    /// it may be as far as a station.
    matches: Vec<Match>,
    known: HashMap<(u32, bool), Passes>,
    /// The stops of the shape that were said to be too far from it: once for all trips.
    said: HashSet<u32>,
    /// The matches of each stop of the trip that is looked at.
    choices: Vec<Range<usize>>,
    /// Whether there are too many of them to choose from.
    is_tangled: bool,
    assigner: Assigner,
}

impl Matcher {
    fn take(&mut self, feed: &Feed, points: &[u32]) {
        self.line.read(feed, points);
        self.matches.clear();
        self.known.clear();
        self.said.clear();
    }

    /// Looks for each stop along the shape by its place.
    fn match_by_place(&mut self, look: &mut Look<'_, '_>) {
        if self.matches.len() > KEPT_MAX {
            self.matches.clear();
            self.known.clear();
        }
        self.choices.clear();
        self.is_tangled = false;
        let mut all_match = !look.rows.is_empty();
        for at in 0..look.rows.len() {
            let found = self.near(at, &TOO_FAR, look);
            all_match &= !found.is_empty();
            self.choices.push(found);
        }
        if all_match {
            self.assign(look);
        }
    }

    /// Looks for each stop where the feed says that it is along the shape, if it says so of the
    /// last one.
    fn match_by_distance(&mut self, look: &mut Look<'_, '_>) {
        let last = look.rows.last().map_or(0.0, |&row| look.calls.distance(row));
        if last <= 0.0 || !self.line.has_distances() {
            return;
        }
        self.choices.clear();
        self.is_tangled = false;
        let mut from = 0;
        for (at, &row) in look.rows.iter().enumerate() {
            let distance = look.calls.distance(row);
            if distance > 0.0 {
                let found = self.line.match_given(look.calls.point(row), distance, from);
                from = found.index;
                let start = self.matches.len();
                self.matches.push(found);
                self.choices.push(start..start + 1);
                continue;
            }
            let found = self.near(at, &TOO_FAR_BY_DISTANCE, look);
            if found.is_empty() {
                return;
            }
            self.choices.push(found);
        }
        if self.assign(look) {
            let far = |&(_, found): &(usize, Match)| found.to_shape > METERS_MAX;
            let picks = self.assigner.picks();
            let picked = picks.map(|(at, pick)| (at, self.matches[self.choices[at].clone()][pick]));
            let mut far: Vec<(usize, Match)> = picked.filter(far).collect();
            far.reverse();
            for (at, found) in far {
                self.say_too_far(at, &TOO_FAR_BY_DISTANCE, look, |_| found);
            }
        }
    }

    /// The matches of a stop by its place; says so if there is none, or there are too many.
    fn near(&mut self, at: usize, too_far: &'static Kind, look: &mut Look<'_, '_>) -> Range<usize> {
        // Each takes the whole shape, and a trip may have very many.
        look.feed.look();
        let row = look.rows[at];
        let meters_max = look.meters_max(at);
        let key = (look.calls.stop(row), meters_max > METERS_MAX);
        let point = look.calls.point(row);
        let Passes { matches: found, count } = match self.known.get(&key) {
            Some(passes) => passes.clone(),
            None => {
                let passes = self.passes(point, meters_max);
                self.known.insert(key, passes.clone());
                passes
            }
        };
        self.is_tangled |= count > TANGLED;
        if found.is_empty() {
            // A shape of one point has no segments to match, but may be near.
            if !self.line.is_point() || self.line.closest(point).to_shape > meters_max {
                self.say_too_far(at, too_far, look, |line| line.closest(point));
            }
        } else if count > MATCHES_MAX {
            let (matches, places) = (&self.matches[found.clone()], (look.feed, look.calls));
            look.say(&TOO_MANY, at, |sample| {
                put_stop(places, row, STOP, sample);
                sample.put("match", closest(matches).map(|found| degrees(&found)));
                sample.put("matchCount", count);
            });
        }
        found
    }

    /// Looks for a stop along the shape.
    fn passes(&mut self, stop: Point, meters_max: f64) -> Passes {
        let start = self.matches.len();
        self.line.matches_near(stop, meters_max, &mut self.matches);
        let count = self.matches.len() - start;
        if count > TANGLED {
            let best = closest(&self.matches[start..]);
            self.matches.truncate(start);
            self.matches.extend(best);
        }
        Passes { matches: start..self.matches.len(), count }
    }

    fn say_too_far(
        &mut self,
        at: usize,
        kind: &'static Kind,
        look: &mut Look<'_, '_>,
        found: impl FnOnce(&Line) -> Match,
    ) {
        let row = look.rows[at];
        if self.said.insert(look.calls.stop(row)) {
            let (line, places) = (&self.line, (look.feed, look.calls));
            look.say(kind, at, |sample| {
                let found = found(line);
                put_stop(places, row, STOP, sample);
                sample.put("match", degrees(&found)).put("geoDistanceToShape", found.to_shape);
            });
        }
    }

    /// Chooses a match for each stop; says so if none can be chosen in the order of the stops.
    /// Whether there is a choice.
    fn assign(&mut self, look: &mut Look<'_, '_>) -> bool {
        let n_choices: usize = self.choices.iter().map(Range::len).sum();
        if self.is_tangled || n_choices > CHOICES_MAX {
            return false;
        }
        let matches = |at: usize| &self.matches[self.choices[at].clone()];
        let Err(misfit) = self.assigner.assign(self.choices.len(), matches) else { return true };
        let (row, places) = (look.rows[misfit.stop], (look.feed, look.calls));
        let row_before = look.rows[misfit.stop.saturating_sub(1)];
        look.say(&OUT_OF_ORDER, misfit.stop, |sample| {
            put_stop(places, row, STOP_1, sample);
            sample.put("match1", degrees(&misfit.at));
            put_stop(places, row_before, STOP_2, sample);
            sample.put("match2", degrees(&misfit.before));
        });
        false
    }
}
