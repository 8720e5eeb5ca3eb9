//! Trips on demand that begin in a zone and end nowhere.

use super::GtfsRule;
use crate::{
    Context, Notices,
    gtfs::{Feed, File},
    notice::{Kind, Severity},
};

pub(super) static RULE: GtfsRule = GtfsRule { kinds: &[&KIND], files: &[File::StopTimes], check };

static KIND: Kind = Kind {
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

/// `pickup_type` and `drop_off_type`: riders phone the agency.
const MUST_PHONE: i32 = 2;

/// O(trips).
fn check(feed: &Feed, _: &Context, out: &mut Notices) {
    let table = feed.table(File::StopTimes);
    let [starts, ends] = ["start_pickup_drop_off_window", "end_pickup_drop_off_window"]
        .map(|name| table.numbers(name));
    let [pickups, drop_offs] = ["pickup_type", "drop_off_type"].map(|name| table.numbers(name));
    if !table.has("start_pickup_drop_off_window") || !table.has("end_pickup_drop_off_window") {
        return;
    }
    for (trip, rows) in feed.groups(File::StopTimes, "trip_id").iter() {
        let &[row] = rows else { continue };
        let has_window = starts.get(row).is_some() && ends.get(row).is_some();
        let on_demand = [pickups, drop_offs].iter().all(|types| types.get(row) == Some(MUST_PHONE));
        if has_window && on_demand {
            out.add(&KIND, |sample| {
                sample.put("csvRowNumber", table.line(row));
                sample.put("tripId", table.texts("trip_id").text(trip));
                sample.put("locationGroupId", table.texts("location_group_id").get(row));
                sample.put("locationId", table.texts("location_id").get(row));
            });
        }
    }
}
