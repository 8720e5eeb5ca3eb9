//! Windows of time in which riders are picked up, and what does not go with them.

use super::GtfsRule;
use crate::{
    Context, Notices,
    gtfs::{self, Feed, File, Numbers, Table},
    notice::{Kind, Sample, Severity},
};

pub(super) static RULE: GtfsRule =
    GtfsRule { kinds: &[&TIMES, &HALF, &INVALID, &PICKUP_TYPE, &DROP_OFF_TYPE], files: &[], check };

pub(super) static CONTINUOUS: GtfsRule = GtfsRule {
    kinds: &[&CONTINUOUS_KIND],
    files: &[File::Routes, File::Trips, File::StopTimes],
    check: check_continuous,
};

const ROW: (&str, &str) = ("csvRowNumber", "The line of the stop time.");
const START: (&str, &str) = ("startPickupDropOffWindow", "When the window opens.");
const END: (&str, &str) = ("endPickupDropOffWindow", "When it closes.");

static TIMES: Kind = Kind {
    code: "forbidden_arrival_or_departure_time",
    severity: Severity::Error,
    fields: &[
        ROW,
        ("arrivalTime", "The arrival."),
        ("departureTime", "The departure."),
        START,
        END,
    ],
    page: include_str!("forbidden_arrival_or_departure_time.md"),
};

static HALF: Kind = Kind {
    code: "missing_pickup_or_drop_off_window",
    severity: Severity::Error,
    fields: &[ROW, START, END],
    page: include_str!("missing_pickup_or_drop_off_window.md"),
};

static INVALID: Kind = Kind {
    code: "invalid_pickup_drop_off_window",
    severity: Severity::Error,
    fields: &[ROW, START, END],
    page: include_str!("invalid_pickup_drop_off_window.md"),
};

static PICKUP_TYPE: Kind = Kind {
    code: "forbidden_pickup_type",
    severity: Severity::Error,
    fields: &[ROW, START, END],
    page: include_str!("forbidden_pickup_type.md"),
};

static DROP_OFF_TYPE: Kind = Kind {
    code: "forbidden_drop_off_type",
    severity: Severity::Error,
    fields: &[ROW, START, END],
    page: include_str!("forbidden_drop_off_type.md"),
};

static CONTINUOUS_KIND: Kind = Kind {
    code: "forbidden_continuous_pickup_drop_off",
    severity: Severity::Error,
    fields: &[
        ("routeCsvRowNumber", "The line of the route."),
        ("tripId", "The trip."),
        ("stopTimeCsvRowNumber", "The line of the stop time with the window."),
        START,
        END,
    ],
    page: include_str!("forbidden_continuous_pickup_drop_off.md"),
};

/// `pickup_type` and `drop_off_type`: as scheduled (also if empty), and on request to the driver.
const REGULAR: i32 = 0;
const ON_REQUEST_TO_DRIVER: i32 = 3;
/// `continuous_pickup` and `continuous_drop_off`: not along the way (also if empty).
const NOT_CONTINUOUS: i32 = 1;

struct Windows<'a> {
    table: &'a Table,
    starts: Numbers<'a>,
    ends: Numbers<'a>,
}

impl<'a> Windows<'a> {
    /// The windows of all stop times; none if the file has no column for them.
    fn of(feed: &'a Feed) -> Option<Windows<'a>> {
        const FIELDS: [&str; 2] = ["start_pickup_drop_off_window", "end_pickup_drop_off_window"];
        let table = feed.table(File::StopTimes);
        let [starts, ends] = FIELDS.map(|field| table.numbers(field));
        FIELDS.iter().any(|field| table.has(field)).then_some(Windows { table, starts, ends })
    }

    /// The window of a row; either end may be missing, not both.
    fn get(&self, row: u32) -> Option<(Option<i32>, Option<i32>)> {
        let window = (self.starts.get(row), self.ends.get(row));
        (window != (None, None)).then_some(window)
    }

    fn put(&self, row: u32, sample: &mut Sample) {
        sample.put("startPickupDropOffWindow", self.starts.get(row).map(gtfs::time_text));
        sample.put("endPickupDropOffWindow", self.ends.get(row).map(gtfs::time_text));
    }
}

/// O(n), and nothing where there are no windows.
fn check(feed: &Feed, _: &Context, out: &mut Notices) {
    let Some(windows) = Windows::of(feed) else { return };
    let table = windows.table;
    let (arrivals, departures) = (table.numbers("arrival_time"), table.numbers("departure_time"));
    let (pickups, drop_offs) = (table.numbers("pickup_type"), table.numbers("drop_off_type"));
    for row in table.rows() {
        let Some(window) = windows.get(row) else { continue };
        let fill = |sample: &mut Sample| {
            sample.put("csvRowNumber", table.line(row));
            windows.put(row, sample);
        };
        if arrivals.get(row).is_some() || departures.get(row).is_some() {
            out.add(&TIMES, |sample| {
                fill(sample);
                sample.put("arrivalTime", arrivals.get(row).map(gtfs::time_text));
                sample.put("departureTime", departures.get(row).map(gtfs::time_text));
            });
        }
        match window {
            (Some(start), Some(end)) if start >= end => out.add(&INVALID, fill),
            (Some(_), Some(_)) => {}
            _ => out.add(&HALF, fill),
        }
        if [REGULAR, ON_REQUEST_TO_DRIVER].contains(&pickups.get_or(row, REGULAR)) {
            out.add(&PICKUP_TYPE, fill);
        }
        if drop_offs.get_or(row, REGULAR) == REGULAR {
            out.add(&DROP_OFF_TYPE, fill);
        }
    }
}

/// O(n), and nothing where there are no windows.
fn check_continuous(feed: &Feed, _: &Context, out: &mut Notices) {
    let Some(windows) = Windows::of(feed) else { return };
    let (routes, trips) = (feed.table(File::Routes), feed.table(File::Trips));
    let fields = ["continuous_pickup", "continuous_drop_off"].map(|field| routes.numbers(field));
    let is_continuous = |row: u32| {
        fields.iter().any(|field| matches!(field.get_or(row, NOT_CONTINUOUS), 0 | 2 | 3))
    };
    let trip_of = feed.link(File::StopTimes, "trip_id", File::Trips, "trip_id");
    let route_of = feed.link(File::Trips, "route_id", File::Routes, "route_id");
    let (stop_trips, trip_routes) = (windows.table.texts("trip_id"), trips.texts("route_id"));
    for row in windows.table.rows() {
        if windows.get(row).is_none() {
            continue;
        }
        let trip = stop_trips.code(row).and_then(|code| trip_of.row(code));
        let route = trip.and_then(|trip| trip_routes.code(trip));
        let route = route.and_then(|code| route_of.row(code));
        if let Some(route) = route.filter(|&route| is_continuous(route)) {
            out.add(&CONTINUOUS_KIND, |sample| {
                sample.put("routeCsvRowNumber", routes.line(route));
                sample.put("tripId", stop_trips.get(row));
                sample.put("stopTimeCsvRowNumber", windows.table.line(row));
                windows.put(row, sample);
            });
        }
    }
}
