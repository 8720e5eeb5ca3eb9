//! Pathways to platforms that are said to be reached from the street only.

use super::{
    GtfsRule,
    locations::{LINE, STOP_ID},
};
use crate::{
    Context, Notices,
    gtfs::{Feed, File},
    notice::{Kind, Severity},
};

pub(super) static RULE: GtfsRule =
    GtfsRule { kinds: &[&KIND], files: &[File::Pathways, File::Stops], check };

static KIND: Kind = Kind {
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

/// `stop_access` of a platform that no pathway leads to.
const FROM_THE_STREET: i32 = 1;

/// O(pathways + stops).
fn check(feed: &Feed, _: &Context, out: &mut Notices) {
    let (pathways, stops) = (feed.table(File::Pathways), feed.table(File::Stops));
    if pathways.is_empty() || !stops.has("stop_access") {
        return;
    }
    let (ids, access) = (stops.texts("stop_id"), stops.numbers("stop_access"));
    // By id: the row that says so, the last one where ids repeat.
    let mut outside: Vec<Option<u32>> = vec![None; ids.n_codes()];
    for row in stops.rows().filter(|&row| access.get(row) == Some(FROM_THE_STREET)) {
        if let Some(code) = ids.code(row) {
            outside[code as usize] = Some(row);
        }
    }
    let (platforms, names) = (stops.texts("platform_code"), pathways.texts("pathway_id"));
    let ends = [pathways.texts("from_stop_id"), pathways.texts("to_stop_id")];
    let outside = ends.map(|end| {
        let by_code =
            (0..end.n_codes() as u32).map(|code| outside[ids.find(end.text(code))? as usize]);
        by_code.collect::<Vec<Option<u32>>>()
    });
    for row in pathways.rows() {
        let stop = |end: usize| outside[end][ends[end].code(row)? as usize];
        let (from, to) = (stop(0), stop(1));
        // A loop is one pathway to one stop.
        for stop in from.into_iter().chain(to.filter(|_| from != to)) {
            out.add(&KIND, |sample| {
                sample.put("csvRowNumber", pathways.line(row));
                sample.put("platformCode", platforms.get(stop));
                sample.put("pathwayId", names.get(row)).put("stopId", ids.get(stop));
            });
        }
    }
}
