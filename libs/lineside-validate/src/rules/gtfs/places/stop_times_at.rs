//! Checks of stops without stop times, and of other locations with stop times.

use super::{
    GtfsRule,
    locations::{LINE, LocationHierarchy, STOP, STOP_ID, STOP_NAME, set_stop_fields},
};
use crate::{
    Notices, ValidationContext,
    gtfs::{GtfsFeed, GtfsFile},
    notice::{NoticeKind, Severity},
};

pub(super) static RULE: GtfsRule = GtfsRule {
    kinds: &[&UNSERVED, &UNEXPECTED],
    files: &[GtfsFile::Stops, GtfsFile::StopTimes, GtfsFile::LocationGroupStops],
    check: check_stop_times_at_stops,
};

static UNSERVED: NoticeKind = NoticeKind {
    code: "stop_without_stop_time",
    severity: Severity::Warning,
    fields: &[LINE, STOP_ID, STOP_NAME],
    page: include_str!("stop_without_stop_time.md"),
};

static UNEXPECTED: NoticeKind = NoticeKind {
    code: "location_with_unexpected_stop_time",
    severity: Severity::Error,
    fields: &[
        LINE,
        STOP_ID,
        STOP_NAME,
        ("stopTimeCsvRowNumber", "The line of the first stop time at the location."),
    ],
    page: include_str!("location_with_unexpected_stop_time.md"),
};

/// O(stops): the ids in stop times are known without visiting their rows. O(stop times) if an
/// unexpected location has stop times.
fn check_stop_times_at_stops(feed: &GtfsFeed, _: &ValidationContext, out: &mut Notices) {
    let stops = LocationHierarchy::location_hierarchy_of_feed(feed);
    let served = feed.table(GtfsFile::StopTimes).text_column("stop_id");
    let by_group = stops_served_by_group(feed);
    let mut unexpected: Vec<(u32, u32)> = Vec::new();
    for row in stops.table.row_numbers() {
        let Some(id) = stops.ids.get(row) else { continue };
        match (stops.location_type(row), served.find_text_code(id)) {
            (STOP, None) => {
                let code = stops.ids.text_code_of_row(row).unwrap_or_default();
                if !by_group.get(code as usize).is_some_and(|served| *served) {
                    out.count_notice_with_sample(&UNSERVED, |sample| {
                        set_stop_fields(sample, stops.table, row);
                    });
                }
            }
            (STOP, Some(_)) | (_, None) => {}
            (_, Some(code)) => unexpected.push((row, code)),
        }
    }
    if !unexpected.is_empty() {
        report_unexpected_stops(feed, &unexpected, out);
    }
}

/// Returns, for each id of `stops.txt`, true if it belongs to a group with stop times.
fn stops_served_by_group(feed: &GtfsFeed) -> Vec<bool> {
    let members = feed.table(GtfsFile::LocationGroupStops);
    let served = feed.table(GtfsFile::StopTimes).text_column("location_group_id");
    if members.is_empty() || served.text_code_count() == 0 {
        return Vec::new();
    }
    let ids = feed.table(GtfsFile::Stops).text_column("stop_id");
    let (groups, stops) =
        (members.text_column("location_group_id"), members.text_column("stop_id"));
    let is_served: Vec<bool> = (0..groups.text_code_count() as u32)
        .map(|group| served.find_text_code(groups.text_of_code(group)).is_some())
        .collect();
    let mut by_group = vec![false; ids.text_code_count()];
    for row in members.row_numbers() {
        let group_served =
            groups.text_code_of_row(row).is_some_and(|group| is_served[group as usize]);
        if let Some(code) =
            stops.get(row).filter(|_| group_served).and_then(|id| ids.find_text_code(id))
        {
            by_group[code as usize] = true;
        }
    }
    by_group
}

/// Reports locations with unexpected stop times, each with the first stop time.
fn report_unexpected_stops(feed: &GtfsFeed, unexpected: &[(u32, u32)], out: &mut Notices) {
    let stops = feed.table(GtfsFile::Stops);
    let stop_times = feed.table(GtfsFile::StopTimes);
    let served = stop_times.text_column("stop_id");
    let mut first: Vec<Option<u32>> = vec![None; served.text_code_count()];
    for row in stop_times.row_numbers() {
        if let Some(code) = served.text_code_of_row(row) {
            first[code as usize].get_or_insert(row);
        }
    }
    for &(row, code) in unexpected {
        out.count_notice_with_sample(&UNEXPECTED, |sample| {
            set_stop_fields(sample, stops, row);
            let line = first[code as usize].map(|row| stop_times.line_number(row));
            sample.set_field("stopTimeCsvRowNumber", line);
        });
    }
}
