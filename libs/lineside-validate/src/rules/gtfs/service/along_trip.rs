//! The stop times of each trip, in the order of their sequence: times at both ends, times and
//! distances that go up, and rows that stand in that order.

use super::GtfsRule;
use crate::{
    Context, Notices,
    gtfs::{Feed, File, Floats, Numbers, Table, Texts, time_text},
    notice::{Kind, Severity},
};

pub(super) static RULE: GtfsRule = GtfsRule {
    kinds: &[&NO_EDGE, &ONE_TIME, &BACKWARDS, &DISTANCE, &UNSORTED],
    files: &[File::StopTimes],
    check,
};

static NO_EDGE: Kind = Kind {
    code: "missing_trip_edge",
    severity: Severity::Error,
    fields: &[
        ("csvRowNumber", "The line of the row."),
        ("stopSequence", "The position in the trip."),
        ("tripId", "The trip."),
        ("specifiedField", "The time that is missing."),
    ],
    page: include_str!("missing_trip_edge.md"),
};

static ONE_TIME: Kind = Kind {
    code: "stop_time_with_only_arrival_or_departure_time",
    severity: Severity::Error,
    fields: &[
        ("csvRowNumber", "The line of the row."),
        ("tripId", "The trip."),
        ("stopSequence", "The position in the trip."),
        ("specifiedField", "The time that is there."),
    ],
    page: include_str!("stop_time_with_only_arrival_or_departure_time.md"),
};

static BACKWARDS: Kind = Kind {
    code: "stop_time_with_arrival_before_previous_departure_time",
    severity: Severity::Error,
    fields: &[
        ("csvRowNumber", "The line of the row."),
        ("prevCsvRowNumber", "The line of the stop before it."),
        ("tripId", "The trip."),
        ("arrivalTime", "The arrival."),
        ("departureTime", "The departure at the stop before it."),
    ],
    page: include_str!("stop_time_with_arrival_before_previous_departure_time.md"),
};

static DISTANCE: Kind = Kind {
    code: "decreasing_or_equal_stop_time_distance",
    severity: Severity::Error,
    fields: &[
        ("tripId", "The trip."),
        ("stopId", "The stop."),
        ("csvRowNumber", "The line of the row."),
        ("shapeDistTraveled", "The distance."),
        ("stopSequence", "The position in the trip."),
        ("prevCsvRowNumber", "The line of the stop before it."),
        ("prevShapeDistTraveled", "The distance there."),
        ("prevStopSequence", "The position of the stop before it."),
    ],
    page: include_str!("decreasing_or_equal_stop_time_distance.md"),
};

static UNSORTED: Kind = Kind {
    code: "unsorted_stop_times",
    severity: Severity::Info,
    fields: &[
        ("tripId", "The trip."),
        ("startCsvRowNumber", "The line of its first row."),
        ("endCsvRowNumber", "The line of its last row."),
    ],
    page: include_str!("unsorted_stop_times.md"),
};

const ARRIVAL: &str = "arrival_time";
const DEPARTURE: &str = "departure_time";

/// The columns of `stop_times.txt` that are looked at.
struct StopTimes<'a> {
    table: &'a Table,
    trips: Texts<'a>,
    sequence: Numbers<'a>,
    arrivals: Numbers<'a>,
    departures: Numbers<'a>,
    windows: [Numbers<'a>; 2],
    stops: Texts<'a>,
    distances: Floats<'a>,
}

/// O(n), after the stop times are in order.
fn check(feed: &Feed, _: &Context, out: &mut Notices) {
    let table = feed.table(File::StopTimes);
    let stop_times = StopTimes {
        table,
        trips: table.texts("trip_id"),
        sequence: table.numbers("stop_sequence"),
        arrivals: table.numbers(ARRIVAL),
        departures: table.numbers(DEPARTURE),
        windows: ["start_pickup_drop_off_window", "end_pickup_drop_off_window"]
            .map(|name| table.numbers(name)),
        stops: table.texts("stop_id"),
        distances: table.floats("shape_dist_traveled"),
    };
    let has_distances = table.has("stop_id") && table.has("shape_dist_traveled");
    for (trip, rows) in feed.groups(File::StopTimes, "trip_id").iter() {
        stop_times.check_edges(trip, rows, out);
        stop_times.check_times(trip, rows, out);
        if has_distances {
            stop_times.check_distances(trip, rows, out);
        }
        stop_times.check_order(trip, rows, out);
    }
}

impl StopTimes<'_> {
    /// The first and the last stop have both times, unless riders come in a span of time there.
    fn check_edges(&self, trip: u32, rows: &[u32], out: &mut Notices) {
        for &row in rows.first().into_iter().chain(rows.last()) {
            if self.windows.iter().any(|window| window.get(row).is_some()) {
                continue;
            }
            for (times, field) in [(&self.arrivals, ARRIVAL), (&self.departures, DEPARTURE)] {
                if times.get(row).is_none() {
                    out.add(&NO_EDGE, |sample| {
                        sample.put("csvRowNumber", self.table.line(row));
                        sample.put("stopSequence", self.sequence.get(row));
                        sample.put("tripId", self.trips.text(trip)).put("specifiedField", field);
                    });
                }
            }
        }
    }

    fn check_times(&self, trip: u32, rows: &[u32], out: &mut Notices) {
        let mut previous = None;
        for &row in rows {
            let (arrival, departure) = (self.arrivals.get(row), self.departures.get(row));
            if arrival.is_some() != departure.is_some() {
                out.add(&ONE_TIME, |sample| {
                    let field = if arrival.is_some() { ARRIVAL } else { DEPARTURE };
                    sample.put("csvRowNumber", self.table.line(row));
                    sample.put("tripId", self.trips.text(trip));
                    sample.put("stopSequence", self.sequence.get(row));
                    sample.put("specifiedField", field);
                });
            }
            if let (Some(arrival), Some((departure, before))) = (arrival, previous)
                && arrival < departure
            {
                out.add(&BACKWARDS, |sample| {
                    sample.put("csvRowNumber", self.table.line(row));
                    sample.put("prevCsvRowNumber", self.table.line(before));
                    sample.put("tripId", self.trips.text(trip));
                    sample.put("arrivalTime", time_text(arrival));
                    sample.put("departureTime", time_text(departure));
                });
            }
            previous = departure.map(|departure| (departure, row)).or(previous);
        }
    }

    /// Distances at stops go up. Zones have none.
    fn check_distances(&self, trip: u32, rows: &[u32], out: &mut Notices) {
        let mut previous = None;
        for &row in rows.iter().filter(|&&row| self.stops.code(row).is_some()) {
            let distance = self.distances.get(row).map(|distance| (distance, row));
            if let (Some((distance, _)), Some((past, before))) = (distance, previous)
                && past >= distance
            {
                out.add(&DISTANCE, |sample| {
                    sample.put("tripId", self.trips.text(trip)).put("stopId", self.stops.get(row));
                    sample.put("csvRowNumber", self.table.line(row));
                    sample.put("shapeDistTraveled", distance);
                    sample.put("stopSequence", self.sequence.get(row));
                    sample.put("prevCsvRowNumber", self.table.line(before));
                    sample.put("prevShapeDistTraveled", past);
                    sample.put("prevStopSequence", self.sequence.get(before));
                });
            }
            previous = distance;
        }
    }

    /// Rows of a trip stand together and in the order of their sequence, which does not repeat.
    fn check_order(&self, trip: u32, rows: &[u32], out: &mut Notices) {
        let follows = |pair: &[u32]| match *pair {
            [one, other] => {
                self.table.line(other) == self.table.line(one) + 1
                    && self.sequence.get(one) < self.sequence.get(other)
            }
            _ => true,
        };
        if !rows.windows(2).all(follows) {
            let lines = || rows.iter().map(|&row| self.table.line(row));
            out.add(&UNSORTED, |sample| {
                sample.put("tripId", self.trips.text(trip));
                sample.put("startCsvRowNumber", lines().min());
                sample.put("endCsvRowNumber", lines().max());
            });
        }
    }
}
