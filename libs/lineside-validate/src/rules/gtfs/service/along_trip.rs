//! Checks of the stop times of each trip, in order of sequence: times at both ends, increasing
//! times and distances, and rows in order.

use super::GtfsRule;
use crate::{
    Notices, ValidationContext,
    gtfs::{
        FloatColumn, GtfsFeed, GtfsFile, GtfsTable, NumberColumn, TextColumn, format_gtfs_time,
    },
    notice::{NoticeKind, Severity},
};

pub(super) static RULE: GtfsRule = GtfsRule {
    kinds: &[&NO_EDGE, &ONE_TIME, &BACKWARDS, &DISTANCE, &UNSORTED],
    files: &[GtfsFile::StopTimes],
    check: check_stop_times_along_trips,
};

static NO_EDGE: NoticeKind = NoticeKind {
    code: "missing_trip_edge",
    severity: Severity::Error,
    fields: &[
        ("csvRowNumber", "The line of the row."),
        ("stopSequence", "The position in the trip."),
        ("tripId", "The trip."),
        ("specifiedField", "The field of the missing time."),
    ],
    page: include_str!("missing_trip_edge.md"),
};

static ONE_TIME: NoticeKind = NoticeKind {
    code: "stop_time_with_only_arrival_or_departure_time",
    severity: Severity::Error,
    fields: &[
        ("csvRowNumber", "The line of the row."),
        ("tripId", "The trip."),
        ("stopSequence", "The position in the trip."),
        ("specifiedField", "The field of the time that the row has."),
    ],
    page: include_str!("stop_time_with_only_arrival_or_departure_time.md"),
};

static BACKWARDS: NoticeKind = NoticeKind {
    code: "stop_time_with_arrival_before_previous_departure_time",
    severity: Severity::Error,
    fields: &[
        ("csvRowNumber", "The line of the row."),
        ("prevCsvRowNumber", "The line of the previous stop."),
        ("tripId", "The trip."),
        ("arrivalTime", "The arrival."),
        ("departureTime", "The departure at the previous stop."),
    ],
    page: include_str!("stop_time_with_arrival_before_previous_departure_time.md"),
};

static DISTANCE: NoticeKind = NoticeKind {
    code: "decreasing_or_equal_stop_time_distance",
    severity: Severity::Error,
    fields: &[
        ("tripId", "The trip."),
        ("stopId", "The stop."),
        ("csvRowNumber", "The line of the row."),
        ("shapeDistTraveled", "The distance."),
        ("stopSequence", "The position in the trip."),
        ("prevCsvRowNumber", "The line of the previous stop."),
        ("prevShapeDistTraveled", "The distance at the previous stop."),
        ("prevStopSequence", "The position of the previous stop."),
    ],
    page: include_str!("decreasing_or_equal_stop_time_distance.md"),
};

static UNSORTED: NoticeKind = NoticeKind {
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

/// The columns of `stop_times.txt` that are checked.
struct CheckedStopTimeColumns<'a> {
    table: &'a GtfsTable,
    trips: TextColumn<'a>,
    sequence: NumberColumn<'a>,
    arrivals: NumberColumn<'a>,
    departures: NumberColumn<'a>,
    windows: [NumberColumn<'a>; 2],
    stops: TextColumn<'a>,
    distances: FloatColumn<'a>,
}

/// O(n), once the stop times are sorted.
fn check_stop_times_along_trips(feed: &GtfsFeed, _: &ValidationContext, out: &mut Notices) {
    let table = feed.table(GtfsFile::StopTimes);
    let stop_times = CheckedStopTimeColumns {
        table,
        trips: table.text_column("trip_id"),
        sequence: table.number_column("stop_sequence"),
        arrivals: table.number_column(ARRIVAL),
        departures: table.number_column(DEPARTURE),
        windows: ["start_pickup_drop_off_window", "end_pickup_drop_off_window"]
            .map(|name| table.number_column(name)),
        stops: table.text_column("stop_id"),
        distances: table.float_column("shape_dist_traveled"),
    };
    let has_distances = table.has_column("stop_id") && table.has_column("shape_dist_traveled");
    for (trip, rows) in feed.rows_grouped_by_field(GtfsFile::StopTimes, "trip_id").iter() {
        stop_times.check_first_and_last_times(trip, rows, out);
        stop_times.check_stop_times_increase(trip, rows, out);
        if has_distances {
            stop_times.check_distances_increase(trip, rows, out);
        }
        stop_times.check_stop_time_row_order(trip, rows, out);
    }
}

impl CheckedStopTimeColumns<'_> {
    /// Checks that the first and the last stop have both times, unless they have a pickup and
    /// drop-off window.
    fn check_first_and_last_times(&self, trip: u32, rows: &[u32], out: &mut Notices) {
        for &row in rows.first().into_iter().chain(rows.last()) {
            if self.windows.iter().any(|window| window.get(row).is_some()) {
                continue;
            }
            for (times, field) in [(&self.arrivals, ARRIVAL), (&self.departures, DEPARTURE)] {
                if times.get(row).is_none() {
                    out.count_notice_with_sample(&NO_EDGE, |sample| {
                        sample.set_field("csvRowNumber", self.table.line_number(row));
                        sample.set_field("stopSequence", self.sequence.get(row));
                        sample
                            .set_field("tripId", self.trips.text_of_code(trip))
                            .set_field("specifiedField", field);
                    });
                }
            }
        }
    }

    fn check_stop_times_increase(&self, trip: u32, rows: &[u32], out: &mut Notices) {
        let mut previous = None;
        for &row in rows {
            let (arrival, departure) = (self.arrivals.get(row), self.departures.get(row));
            if arrival.is_some() != departure.is_some() {
                out.count_notice_with_sample(&ONE_TIME, |sample| {
                    let field = if arrival.is_some() { ARRIVAL } else { DEPARTURE };
                    sample.set_field("csvRowNumber", self.table.line_number(row));
                    sample.set_field("tripId", self.trips.text_of_code(trip));
                    sample.set_field("stopSequence", self.sequence.get(row));
                    sample.set_field("specifiedField", field);
                });
            }
            if let (Some(arrival), Some((departure, previous_row))) = (arrival, previous)
                && arrival < departure
            {
                out.count_notice_with_sample(&BACKWARDS, |sample| {
                    sample.set_field("csvRowNumber", self.table.line_number(row));
                    sample.set_field("prevCsvRowNumber", self.table.line_number(previous_row));
                    sample.set_field("tripId", self.trips.text_of_code(trip));
                    sample.set_field("arrivalTime", format_gtfs_time(arrival));
                    sample.set_field("departureTime", format_gtfs_time(departure));
                });
            }
            previous = departure.map(|departure| (departure, row)).or(previous);
        }
    }

    /// Checks that distances increase from stop to stop. Zones have no distance.
    fn check_distances_increase(&self, trip: u32, rows: &[u32], out: &mut Notices) {
        let mut previous = None;
        for &row in rows.iter().filter(|&&row| self.stops.text_code_of_row(row).is_some()) {
            let distance = self.distances.get(row).map(|distance| (distance, row));
            if let (Some((distance, _)), Some((past, previous_row))) = (distance, previous)
                && past >= distance
            {
                out.count_notice_with_sample(&DISTANCE, |sample| {
                    sample
                        .set_field("tripId", self.trips.text_of_code(trip))
                        .set_field("stopId", self.stops.get(row));
                    sample.set_field("csvRowNumber", self.table.line_number(row));
                    sample.set_field("shapeDistTraveled", distance);
                    sample.set_field("stopSequence", self.sequence.get(row));
                    sample.set_field("prevCsvRowNumber", self.table.line_number(previous_row));
                    sample.set_field("prevShapeDistTraveled", past);
                    sample.set_field("prevStopSequence", self.sequence.get(previous_row));
                });
            }
            previous = distance;
        }
    }

    /// Checks that the rows of a trip are contiguous and in order of sequence, and that no sequence
    /// repeats.
    fn check_stop_time_row_order(&self, trip: u32, rows: &[u32], out: &mut Notices) {
        let follows = |pair: &[u32]| match *pair {
            [one, other] => {
                self.table.line_number(other) == self.table.line_number(one) + 1
                    && self.sequence.get(one) < self.sequence.get(other)
            }
            _ => true,
        };
        if !rows.windows(2).all(follows) {
            let lines = || rows.iter().map(|&row| self.table.line_number(row));
            out.count_notice_with_sample(&UNSORTED, |sample| {
                sample.set_field("tripId", self.trips.text_of_code(trip));
                sample.set_field("startCsvRowNumber", lines().min());
                sample.set_field("endCsvRowNumber", lines().max());
            });
        }
    }
}
