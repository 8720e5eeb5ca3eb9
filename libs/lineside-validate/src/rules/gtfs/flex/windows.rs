//! Checks of pickup and drop-off windows, and of the fields that exclude them.

use super::GtfsRule;
use crate::{
    Notices, ValidationContext,
    gtfs::{self, GtfsFeed, GtfsFile, GtfsTable, NumberColumn},
    notice::{NoticeKind, NoticeSample, Severity},
};

pub(super) static RULE: GtfsRule = GtfsRule {
    kinds: &[&TIMES, &HALF, &INVALID, &PICKUP_TYPE, &DROP_OFF_TYPE],
    files: &[],
    check: check_pickup_windows,
};

pub(super) static CONTINUOUS: GtfsRule = GtfsRule {
    kinds: &[&CONTINUOUS_KIND],
    files: &[GtfsFile::Routes, GtfsFile::Trips, GtfsFile::StopTimes],
    check: check_continuous_pickup_with_windows,
};

const ROW: (&str, &str) = ("csvRowNumber", "The line of the stop time.");
const START: (&str, &str) = ("startPickupDropOffWindow", "The start of the window.");
const END: (&str, &str) = ("endPickupDropOffWindow", "The end of the window.");

static TIMES: NoticeKind = NoticeKind {
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

static HALF: NoticeKind = NoticeKind {
    code: "missing_pickup_or_drop_off_window",
    severity: Severity::Error,
    fields: &[ROW, START, END],
    page: include_str!("missing_pickup_or_drop_off_window.md"),
};

static INVALID: NoticeKind = NoticeKind {
    code: "invalid_pickup_drop_off_window",
    severity: Severity::Error,
    fields: &[ROW, START, END],
    page: include_str!("invalid_pickup_drop_off_window.md"),
};

static PICKUP_TYPE: NoticeKind = NoticeKind {
    code: "forbidden_pickup_type",
    severity: Severity::Error,
    fields: &[ROW, START, END],
    page: include_str!("forbidden_pickup_type.md"),
};

static DROP_OFF_TYPE: NoticeKind = NoticeKind {
    code: "forbidden_drop_off_type",
    severity: Severity::Error,
    fields: &[ROW, START, END],
    page: include_str!("forbidden_drop_off_type.md"),
};

static CONTINUOUS_KIND: NoticeKind = NoticeKind {
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

/// The values of `pickup_type` and `drop_off_type` for scheduled service (also if empty), and for
/// requests to the driver.
const REGULAR: i32 = 0;
const ON_REQUEST_TO_DRIVER: i32 = 3;
/// The `continuous_pickup` and `continuous_drop_off` for no service along the way (also if empty).
const NOT_CONTINUOUS: i32 = 1;

struct PickupDropOffWindows<'a> {
    table: &'a GtfsTable,
    starts: NumberColumn<'a>,
    ends: NumberColumn<'a>,
}

impl<'a> PickupDropOffWindows<'a> {
    /// Returns the windows of all stop times; `None` if the file has no column for them.
    fn windows_of_stop_times(feed: &'a GtfsFeed) -> Option<PickupDropOffWindows<'a>> {
        const FIELDS: [&str; 2] = ["start_pickup_drop_off_window", "end_pickup_drop_off_window"];
        let table = feed.table(GtfsFile::StopTimes);
        let [starts, ends] = FIELDS.map(|field| table.number_column(field));
        FIELDS.iter().any(|field| table.has_column(field)).then_some(PickupDropOffWindows {
            table,
            starts,
            ends,
        })
    }

    /// Returns the window of a row. Either end may be missing, not both.
    fn get(&self, row: u32) -> Option<(Option<i32>, Option<i32>)> {
        let window = (self.starts.get(row), self.ends.get(row));
        (window != (None, None)).then_some(window)
    }

    fn set_window_fields(&self, row: u32, sample: &mut NoticeSample) {
        sample.set_field(
            "startPickupDropOffWindow",
            self.starts.get(row).map(gtfs::format_gtfs_time),
        );
        sample.set_field("endPickupDropOffWindow", self.ends.get(row).map(gtfs::format_gtfs_time));
    }
}

/// O(n); returns at once if there are no windows.
fn check_pickup_windows(feed: &GtfsFeed, _: &ValidationContext, out: &mut Notices) {
    let Some(windows) = PickupDropOffWindows::windows_of_stop_times(feed) else { return };
    let table = windows.table;
    let (arrivals, departures) =
        (table.number_column("arrival_time"), table.number_column("departure_time"));
    let (pickups, drop_offs) =
        (table.number_column("pickup_type"), table.number_column("drop_off_type"));
    for row in table.row_numbers() {
        let Some(window) = windows.get(row) else { continue };
        let fill = |sample: &mut NoticeSample| {
            sample.set_field("csvRowNumber", table.line_number(row));
            windows.set_window_fields(row, sample);
        };
        if arrivals.get(row).is_some() || departures.get(row).is_some() {
            out.count_notice_with_sample(&TIMES, |sample| {
                fill(sample);
                sample.set_field("arrivalTime", arrivals.get(row).map(gtfs::format_gtfs_time));
                sample.set_field("departureTime", departures.get(row).map(gtfs::format_gtfs_time));
            });
        }
        match window {
            (Some(start), Some(end)) if start >= end => {
                out.count_notice_with_sample(&INVALID, fill)
            }
            (Some(_), Some(_)) => {}
            _ => out.count_notice_with_sample(&HALF, fill),
        }
        if [REGULAR, ON_REQUEST_TO_DRIVER].contains(&pickups.cell_value_or(row, REGULAR)) {
            out.count_notice_with_sample(&PICKUP_TYPE, fill);
        }
        if drop_offs.cell_value_or(row, REGULAR) == REGULAR {
            out.count_notice_with_sample(&DROP_OFF_TYPE, fill);
        }
    }
}

/// O(n); returns at once if there are no windows.
fn check_continuous_pickup_with_windows(feed: &GtfsFeed, _: &ValidationContext, out: &mut Notices) {
    let Some(windows) = PickupDropOffWindows::windows_of_stop_times(feed) else { return };
    let (routes, trips) = (feed.table(GtfsFile::Routes), feed.table(GtfsFile::Trips));
    let fields =
        ["continuous_pickup", "continuous_drop_off"].map(|field| routes.number_column(field));
    let is_continuous = |row: u32| {
        fields.iter().any(|field| matches!(field.cell_value_or(row, NOT_CONTINUOUS), 0 | 2 | 3))
    };
    let trip_of =
        feed.rows_referenced_by_field(GtfsFile::StopTimes, "trip_id", GtfsFile::Trips, "trip_id");
    let route_of =
        feed.rows_referenced_by_field(GtfsFile::Trips, "route_id", GtfsFile::Routes, "route_id");
    let (stop_trips, trip_routes) =
        (windows.table.text_column("trip_id"), trips.text_column("route_id"));
    for row in windows.table.row_numbers() {
        if windows.get(row).is_none() {
            continue;
        }
        let trip =
            stop_trips.text_code_of_row(row).and_then(|code| trip_of.row_referenced_by_code(code));
        let route = trip.and_then(|trip| trip_routes.text_code_of_row(trip));
        let route = route.and_then(|code| route_of.row_referenced_by_code(code));
        if let Some(route) = route.filter(|&route| is_continuous(route)) {
            out.count_notice_with_sample(&CONTINUOUS_KIND, |sample| {
                sample.set_field("routeCsvRowNumber", routes.line_number(route));
                sample.set_field("tripId", stop_trips.get(row));
                sample.set_field("stopTimeCsvRowNumber", windows.table.line_number(row));
                windows.set_window_fields(row, sample);
            });
        }
    }
}
