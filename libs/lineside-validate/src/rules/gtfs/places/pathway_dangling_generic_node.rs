//! Check of generic nodes that are connected to only one other location.

use super::{
    GtfsRule,
    locations::{
        GENERIC_NODE, LINE, LocationHierarchy, PARENT, STOP_ID, STOP_NAME, set_stop_fields,
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
    check: check_dangling_generic_nodes,
};

static KIND: NoticeKind = NoticeKind {
    code: "pathway_dangling_generic_node",
    severity: Severity::Warning,
    fields: &[LINE, STOP_ID, STOP_NAME, PARENT],
    page: include_str!("pathway_dangling_generic_node.md"),
};

/// The neighbours of a node.
#[derive(Clone, Copy)]
enum GenericNodeNeighbors {
    None,
    One(u32),
    Several,
}

impl GenericNodeNeighbors {
    fn add_neighbor(&mut self, other: u32) {
        *self = match *self {
            GenericNodeNeighbors::None => GenericNodeNeighbors::One(other),
            GenericNodeNeighbors::One(only) if only == other => GenericNodeNeighbors::One(only),
            _ => GenericNodeNeighbors::Several,
        };
    }
}

/// O(pathways + stops).
fn check_dangling_generic_nodes(feed: &GtfsFeed, _: &ValidationContext, out: &mut Notices) {
    let pathways = feed.table(GtfsFile::Pathways);
    if pathways.is_empty() {
        return;
    }
    let nodes = PathwayGraph::pathway_graph_of_feed(feed);
    let mut neighbors = vec![GenericNodeNeighbors::None; nodes.len()];
    for (from, to) in pathways.row_numbers().filter_map(|row| nodes.pathway_end_nodes(row)) {
        neighbors[from as usize].add_neighbor(to);
        neighbors[to as usize].add_neighbor(from);
    }
    let stops = LocationHierarchy::location_hierarchy_of_feed(feed);
    for row in stops.table.row_numbers().filter(|&row| stops.location_type(row) == GENERIC_NODE) {
        let node = stops.ids.get(row).and_then(|id| nodes.find_node_by_id(id));
        if node.is_some_and(|node| matches!(neighbors[node as usize], GenericNodeNeighbors::One(_)))
        {
            out.count_notice_with_sample(&KIND, |sample| {
                set_stop_fields(sample, stops.table, row)
                    .set_field("parentStation", stops.parents.get(row));
            });
        }
    }
}
