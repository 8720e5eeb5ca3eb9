//! Stop times that do not say whether the vehicle keeps them, or have none to keep.

use super::GtfsRule;
use crate::{
    Context, Notices,
    gtfs::{Feed, File},
    notice::{Kind, Sample, Severity},
};

pub(super) static RULE: GtfsRule =
    GtfsRule { kinds: &[&NO_VALUE, &NO_TIMES], files: &[File::StopTimes], check };

static NO_VALUE: Kind = Kind {
    code: "missing_timepoint_value",
    severity: Severity::Warning,
    fields: &[
        ("csvRowNumber", "The line of the row."),
        ("tripId", "The trip."),
        ("stopSequence", "The position in the trip."),
    ],
    page: include_str!("missing_timepoint_value.md"),
};

static NO_TIMES: Kind = Kind {
    code: "stop_time_timepoint_without_times",
    severity: Severity::Error,
    fields: &[
        ("csvRowNumber", "The line of the row."),
        ("tripId", "The trip."),
        ("stopSequence", "The position in the trip."),
        ("specifiedField", "The time that is missing."),
    ],
    page: include_str!("stop_time_timepoint_without_times.md"),
};

/// `timepoint`: the vehicle keeps to the time.
const EXACT: i32 = 1;

/// O(n).
fn check(feed: &Feed, _: &Context, out: &mut Notices) {
    let table = feed.table(File::StopTimes);
    // Without the column all times are exact, as they were before there was one.
    if !table.has("timepoint") {
        return;
    }
    let timepoints = table.numbers("timepoint");
    let times = ["arrival_time", "departure_time"].map(|name| (name, table.numbers(name)));
    let (trips, sequence) = (table.texts("trip_id"), table.numbers("stop_sequence"));
    for row in table.rows() {
        let begin = |sample: &mut Sample| {
            sample.put("csvRowNumber", table.line(row)).put("tripId", trips.get(row));
            sample.put("stopSequence", sequence.get(row));
        };
        match timepoints.get(row) {
            None if times.iter().any(|(_, times)| times.get(row).is_some()) => {
                out.add(&NO_VALUE, begin);
            }
            Some(EXACT) => {
                for (name, _) in times.iter().filter(|(_, times)| times.get(row).is_none()) {
                    out.add(&NO_TIMES, |sample| {
                        begin(sample);
                        sample.put("specifiedField", *name);
                    });
                }
            }
            _ => {}
        }
    }
}
