//! Check of pathways to platforms whose `stop_access` says that they are reached from the street
//! only.

use super::{
    GtfsRule,
    locations::{LINE, STOP_ID},
};
use crate::{
    Notices, ValidationContext,
    gtfs::{GtfsFeed, GtfsFile},
    notice::{NoticeKind, Severity},
};

pub(super) static RULE: GtfsRule = GtfsRule {
    kinds: &[&KIND],
    files: &[GtfsFile::Pathways, GtfsFile::Stops],
    check: check_pathways_to_outside_stops,
};

static KIND: NoticeKind = NoticeKind {
    code: "pathway_to_stop_with_access_outside_of_station_pathways",
    severity: Severity::Error,
    fields: &[
        LINE,
        ("platformCode", "The platform's number or letter."),
        ("pathwayId", "The pathway."),
        STOP_ID,
    ],
    page: include_str!("pathway_to_stop_with_access_outside_of_station_pathways.md"),
};

/// The `stop_access` of a platform without pathways.
const FROM_THE_STREET: i32 = 1;

/// O(pathways + stops).
fn check_pathways_to_outside_stops(feed: &GtfsFeed, _: &ValidationContext, out: &mut Notices) {
    let (pathways, stops) = (feed.table(GtfsFile::Pathways), feed.table(GtfsFile::Stops));
    if pathways.is_empty() || !stops.has_column("stop_access") {
        return;
    }
    let (ids, access) = (stops.text_column("stop_id"), stops.number_column("stop_access"));
    // The row of each id with this access; the last one if ids repeat.
    let mut outside_stops: Vec<Option<u32>> = vec![None; ids.text_code_count()];
    for row in stops.row_numbers().filter(|&row| access.get(row) == Some(FROM_THE_STREET)) {
        if let Some(code) = ids.text_code_of_row(row) {
            outside_stops[code as usize] = Some(row);
        }
    }
    let (platforms, names) =
        (stops.text_column("platform_code"), pathways.text_column("pathway_id"));
    let ends = [pathways.text_column("from_stop_id"), pathways.text_column("to_stop_id")];
    let outside_ends = ends.map(|end| {
        let by_code = (0..end.text_code_count() as u32)
            .map(|code| outside_stops[ids.find_text_code(end.text_of_code(code))? as usize]);
        by_code.collect::<Vec<Option<u32>>>()
    });
    for row in pathways.row_numbers() {
        let stop = |end: usize| outside_ends[end][ends[end].text_code_of_row(row)? as usize];
        let (from, to) = (stop(0), stop(1));
        // A loop is a single pathway to the stop.
        for stop in from.into_iter().chain(to.filter(|_| from != to)) {
            out.count_notice_with_sample(&KIND, |sample| {
                sample.set_field("csvRowNumber", pathways.line_number(row));
                sample.set_field("platformCode", platforms.get(stop));
                sample.set_field("pathwayId", names.get(row)).set_field("stopId", ids.get(stop));
            });
        }
    }
}
