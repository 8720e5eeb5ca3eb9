//! Trips without stop times, or with a single one.

use super::GtfsRule;
use crate::{
    Context, Notices,
    gtfs::{Feed, File},
    notice::{Kind, Severity},
};

pub(super) static RULE: GtfsRule =
    GtfsRule { kinds: &[&UNUSABLE, &UNUSED], files: &[File::Trips, File::StopTimes], check };

const FIELDS: &[(&str, &str)] =
    &[("csvRowNumber", "The line of the row."), ("tripId", "The trip.")];

static UNUSABLE: Kind = Kind {
    code: "unusable_trip",
    severity: Severity::Warning,
    fields: FIELDS,
    page: include_str!("unusable_trip.md"),
};

static UNUSED: Kind = Kind {
    code: "unused_trip",
    severity: Severity::Warning,
    fields: FIELDS,
    page: include_str!("unused_trip.md"),
};

/// O(n).
fn check(feed: &Feed, _: &Context, out: &mut Notices) {
    let trips = feed.table(File::Trips);
    let ids = trips.texts("trip_id");
    let stop_time_ids = feed.table(File::StopTimes).texts("trip_id");
    let stop_times = feed.groups(File::StopTimes, "trip_id");
    let to_stop_times = feed.link(File::Trips, "trip_id", File::StopTimes, "trip_id");
    let mut seen = vec![false; ids.n_codes()];
    for row in trips.rows() {
        let Some(id) = ids.code(row) else { continue };
        let code = to_stop_times.row(id).and_then(|row| stop_time_ids.code(row));
        let n_stops = code.map_or(0, |code| stop_times.rows(code).len());
        if n_stops <= 1 {
            out.add(&UNUSABLE, |sample| {
                sample.put("csvRowNumber", trips.line(row)).put("tripId", ids.text(id));
            });
        }
        // An id that stands twice is said to be so elsewhere.
        if n_stops == 0 && !seen[id as usize] {
            out.add(&UNUSED, |sample| {
                sample.put("csvRowNumber", trips.line(row)).put("tripId", ids.text(id));
            });
        }
        seen[id as usize] = true;
    }
}
