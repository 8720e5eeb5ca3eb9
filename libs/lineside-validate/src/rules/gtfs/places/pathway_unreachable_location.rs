//! Places in stations with pathways that no entrance leads to, or no way out leads from.

use super::{
    GtfsRule,
    locations::{
        BOARDING_AREA, ENTRANCE, GENERIC_NODE, LINE, LOCATION_TYPE, Locations, PARENT, STOP,
        STOP_ID, STOP_NAME, put_stop,
    },
    nodes::Nodes,
};
use crate::{
    Context, Notices,
    gtfs::{Feed, File},
    notice::{Kind, Severity},
};

pub(super) static RULE: GtfsRule =
    GtfsRule { kinds: &[&KIND], files: &[File::Pathways, File::Stops], check };

static KIND: Kind = Kind {
    code: "pathway_unreachable_location",
    severity: Severity::Error,
    fields: &[
        LINE,
        STOP_ID,
        STOP_NAME,
        LOCATION_TYPE,
        PARENT,
        ("hasEntrance", "Whether it can be reached from an entrance."),
        ("hasExit", "Whether an entrance can be reached from it, to go out."),
    ],
    page: include_str!("pathway_unreachable_location.md"),
};

/// O(pathways + stops).
fn check(feed: &Feed, _: &Context, out: &mut Notices) {
    if feed.table(File::Pathways).is_empty() {
        return;
    }
    let (stops, nodes) = (Locations::of(feed), Nodes::of(feed));
    let has_pathways = stations_with_pathways(feed, &stops);
    let node = |row| nodes.find(stops.ids.get(row)?);
    let entrances = || {
        let rows = stops.table.rows().filter(|&row| stops.type_of(row) == ENTRANCE);
        rows.filter_map(node)
    };
    let (entered, left) = (nodes.reach(entrances(), true), nodes.reach(entrances(), false));
    for row in stops.table.rows() {
        let is_end = match stops.type_of(row) {
            GENERIC_NODE | BOARDING_AREA => true,
            STOP => !stops.has_parts(row),
            _ => false,
        };
        if !is_end || !stops.station(row).is_some_and(|station| has_pathways[station as usize]) {
            continue;
        }
        let node = node(row);
        let is_in = |reached: &[bool]| node.is_some_and(|node| reached[node as usize]);
        let (has_entrance, has_exit) = (is_in(&entered), is_in(&left));
        if !(has_entrance && has_exit) {
            out.add(&KIND, |sample| {
                put_stop(sample, stops.table, row).put("locationType", stops.type_of(row));
                sample.put("parentStation", stops.parents.get(row));
                sample.put("hasEntrance", has_entrance).put("hasExit", has_exit);
            });
        }
    }
}

/// By the row of a station: whether a pathway begins or ends in it.
fn stations_with_pathways(feed: &Feed, stops: &Locations<'_>) -> Vec<bool> {
    let pathways = feed.table(File::Pathways);
    let mut has_pathways = vec![false; stops.table.len() as usize];
    for field in ["from_stop_id", "to_stop_id"] {
        let stop_rows = feed.link(File::Pathways, field, File::Stops, "stop_id");
        for code in 0..pathways.texts(field).n_codes() as u32 {
            if let Some(station) = stop_rows.row(code).and_then(|stop| stops.station(stop)) {
                has_pathways[station as usize] = true;
            }
        }
    }
    has_pathways
}
