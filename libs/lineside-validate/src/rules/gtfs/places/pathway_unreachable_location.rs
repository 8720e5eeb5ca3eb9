//! Check of locations in stations with pathways that have no path from an entrance or to an exit.

use super::{
    GtfsRule,
    locations::{
        BOARDING_AREA, ENTRANCE, GENERIC_NODE, LINE, LOCATION_TYPE, LocationHierarchy, PARENT,
        STOP, STOP_ID, STOP_NAME, set_stop_fields,
    },
    pathway_graph::PathwayGraph,
};
use crate::{
    Notices, ValidationContext,
    gtfs::{GtfsFeed, GtfsFile},
    notice::{NoticeKind, Severity},
};

pub(super) static RULE: GtfsRule = GtfsRule {
    kinds: &[&KIND],
    files: &[GtfsFile::Pathways, GtfsFile::Stops],
    check: check_unreachable_locations,
};

static KIND: NoticeKind = NoticeKind {
    code: "pathway_unreachable_location",
    severity: Severity::Error,
    fields: &[
        LINE,
        STOP_ID,
        STOP_NAME,
        LOCATION_TYPE,
        PARENT,
        ("hasEntrance", "`true` if the location is reachable from an entrance."),
        ("hasExit", "`true` if an exit is reachable from the location."),
    ],
    page: include_str!("pathway_unreachable_location.md"),
};

/// O(pathways + stops).
fn check_unreachable_locations(feed: &GtfsFeed, _: &ValidationContext, out: &mut Notices) {
    if feed.table(GtfsFile::Pathways).is_empty() {
        return;
    }
    let (stops, nodes) = (
        LocationHierarchy::location_hierarchy_of_feed(feed),
        PathwayGraph::pathway_graph_of_feed(feed),
    );
    let has_pathways = stations_with_pathways(feed, &stops);
    let node = |row| nodes.find_node_by_id(stops.ids.get(row)?);
    let entrances = || {
        let rows = stops.table.row_numbers().filter(|&row| stops.location_type(row) == ENTRANCE);
        rows.filter_map(node)
    };
    let (entered, left) = (
        nodes.mark_reachable_nodes(entrances(), true),
        nodes.mark_reachable_nodes(entrances(), false),
    );
    for row in stops.table.row_numbers() {
        let is_end = match stops.location_type(row) {
            GENERIC_NODE | BOARDING_AREA => true,
            STOP => !stops.has_children(row),
            _ => false,
        };
        if !is_end
            || !stops
                .enclosing_station_row(row)
                .is_some_and(|station| has_pathways[station as usize])
        {
            continue;
        }
        let node = node(row);
        let is_in = |reached: &[bool]| node.is_some_and(|node| reached[node as usize]);
        let (has_entrance, has_exit) = (is_in(&entered), is_in(&left));
        if !(has_entrance && has_exit) {
            out.count_notice_with_sample(&KIND, |sample| {
                set_stop_fields(sample, stops.table, row)
                    .set_field("locationType", stops.location_type(row));
                sample.set_field("parentStation", stops.parents.get(row));
                sample.set_field("hasEntrance", has_entrance).set_field("hasExit", has_exit);
            });
        }
    }
}

/// Returns, by the row of a station, true if a pathway begins or ends in it.
fn stations_with_pathways(feed: &GtfsFeed, stops: &LocationHierarchy<'_>) -> Vec<bool> {
    let pathways = feed.table(GtfsFile::Pathways);
    let mut has_pathways = vec![false; stops.table.len() as usize];
    for field in ["from_stop_id", "to_stop_id"] {
        let stop_rows =
            feed.rows_referenced_by_field(GtfsFile::Pathways, field, GtfsFile::Stops, "stop_id");
        for code in 0..pathways.text_column(field).text_code_count() as u32 {
            if let Some(station) = stop_rows
                .row_referenced_by_code(code)
                .and_then(|stop| stops.enclosing_station_row(stop))
            {
                has_pathways[station as usize] = true;
            }
        }
    }
    has_pathways
}
