//! Stops at which nothing stops, and what is no stop but has stop times.

use super::{
    GtfsRule,
    locations::{LINE, Locations, STOP, STOP_ID, STOP_NAME, put_stop},
};
use crate::{
    Context, Notices,
    gtfs::{Feed, File},
    notice::{Kind, Severity},
};

pub(super) static RULE: GtfsRule = GtfsRule {
    kinds: &[&UNSERVED, &UNEXPECTED],
    files: &[File::Stops, File::StopTimes, File::LocationGroupStops],
    check,
};

static UNSERVED: Kind = Kind {
    code: "stop_without_stop_time",
    severity: Severity::Warning,
    fields: &[LINE, STOP_ID, STOP_NAME],
    page: include_str!("stop_without_stop_time.md"),
};

static UNEXPECTED: Kind = Kind {
    code: "location_with_unexpected_stop_time",
    severity: Severity::Error,
    fields: &[
        LINE,
        STOP_ID,
        STOP_NAME,
        ("stopTimeCsvRowNumber", "The line of the first stop time there."),
    ],
    page: include_str!("location_with_unexpected_stop_time.md"),
};

/// O(stops): the ids that stop times have are known without looking at their rows. O(n) over stop
/// times where something is served that should not be.
fn check(feed: &Feed, _: &Context, out: &mut Notices) {
    let stops = Locations::of(feed);
    let served = feed.table(File::StopTimes).texts("stop_id");
    let by_group = served_by_group(feed);
    let mut unexpected: Vec<(u32, u32)> = Vec::new();
    for row in stops.table.rows() {
        let Some(id) = stops.ids.get(row) else { continue };
        match (stops.type_of(row), served.find(id)) {
            (STOP, None) => {
                let code = stops.ids.code(row).unwrap_or_default();
                if !by_group.get(code as usize).is_some_and(|served| *served) {
                    out.add(&UNSERVED, |sample| {
                        put_stop(sample, stops.table, row);
                    });
                }
            }
            (STOP, Some(_)) | (_, None) => {}
            (_, Some(code)) => unexpected.push((row, code)),
        }
    }
    if !unexpected.is_empty() {
        say_unexpected(feed, &unexpected, out);
    }
}

/// Whether each id of stops.txt belongs to a group that stop times serve as a whole.
fn served_by_group(feed: &Feed) -> Vec<bool> {
    let members = feed.table(File::LocationGroupStops);
    let served = feed.table(File::StopTimes).texts("location_group_id");
    if members.is_empty() || served.n_codes() == 0 {
        return Vec::new();
    }
    let ids = feed.table(File::Stops).texts("stop_id");
    let (groups, stops) = (members.texts("location_group_id"), members.texts("stop_id"));
    let is_served: Vec<bool> = (0..groups.n_codes() as u32)
        .map(|group| served.find(groups.text(group)).is_some())
        .collect();
    let mut by_group = vec![false; ids.n_codes()];
    for row in members.rows() {
        let group_served = groups.code(row).is_some_and(|group| is_served[group as usize]);
        if let Some(code) = stops.get(row).filter(|_| group_served).and_then(|id| ids.find(id)) {
            by_group[code as usize] = true;
        }
    }
    by_group
}

/// Says which locations have stop times, each with the first.
fn say_unexpected(feed: &Feed, unexpected: &[(u32, u32)], out: &mut Notices) {
    let stops = feed.table(File::Stops);
    let stop_times = feed.table(File::StopTimes);
    let served = stop_times.texts("stop_id");
    let mut first: Vec<Option<u32>> = vec![None; served.n_codes()];
    for row in stop_times.rows() {
        if let Some(code) = served.code(row) {
            first[code as usize].get_or_insert(row);
        }
    }
    for &(row, code) in unexpected {
        out.add(&UNEXPECTED, |sample| {
            put_stop(sample, stops, row);
            let line = first[code as usize].map(|row| stop_times.line(row));
            sample.put("stopTimeCsvRowNumber", line);
        });
    }
}
