//! Check of demand-responsive trips with a single stop time.

use super::GtfsRule;
use crate::{
    Notices, ValidationContext,
    gtfs::{GtfsFeed, GtfsFile},
    notice::{NoticeKind, Severity},
};

pub(super) static RULE: GtfsRule = GtfsRule {
    kinds: &[&KIND],
    files: &[GtfsFile::StopTimes],
    check: check_flex_trips_single_stop_time,
};

static KIND: NoticeKind = NoticeKind {
    code: "missing_stop_times_record",
    severity: Severity::Error,
    fields: &[
        ("csvRowNumber", "The line of the row."),
        ("tripId", "The trip."),
        ("locationGroupId", "The group of stops, if the row has one."),
        ("locationId", "The zone, if the row has one."),
    ],
    page: include_str!("missing_stop_times_record.md"),
};

/// The `pickup_type` and `drop_off_type` that require a call to the agency.
const MUST_PHONE: i32 = 2;

/// O(trips).
fn check_flex_trips_single_stop_time(feed: &GtfsFeed, _: &ValidationContext, out: &mut Notices) {
    let table = feed.table(GtfsFile::StopTimes);
    let [starts, ends] = ["start_pickup_drop_off_window", "end_pickup_drop_off_window"]
        .map(|name| table.number_column(name));
    let [pickups, drop_offs] =
        ["pickup_type", "drop_off_type"].map(|name| table.number_column(name));
    if !table.has_column("start_pickup_drop_off_window")
        || !table.has_column("end_pickup_drop_off_window")
    {
        return;
    }
    for (trip, rows) in feed.rows_grouped_by_field(GtfsFile::StopTimes, "trip_id").iter() {
        let &[row] = rows else { continue };
        let has_window = starts.get(row).is_some() && ends.get(row).is_some();
        let on_demand = [pickups, drop_offs].iter().all(|types| types.get(row) == Some(MUST_PHONE));
        if has_window && on_demand {
            out.count_notice_with_sample(&KIND, |sample| {
                sample.set_field("csvRowNumber", table.line_number(row));
                sample.set_field("tripId", table.text_column("trip_id").text_of_code(trip));
                sample
                    .set_field("locationGroupId", table.text_column("location_group_id").get(row));
                sample.set_field("locationId", table.text_column("location_id").get(row));
            });
        }
    }
}
