//! Check of generic nodes that are connected to only one other location.

use super::{
    GtfsRule,
    locations::{GENERIC_NODE, LINE, LocationIndex, PARENT, STOP_ID, STOP_NAME, set_stop_fields},
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
    check: check_dangling_nodes,
};

static KIND: NoticeKind = NoticeKind {
    code: "pathway_dangling_generic_node",
    severity: Severity::Warning,
    fields: &[LINE, STOP_ID, STOP_NAME, PARENT],
    page: include_str!("pathway_dangling_generic_node.md"),
};

/// The neighbours of a node.
#[derive(Clone, Copy)]
enum NodeNeighbors {
    None,
    One(u32),
    Several,
}

impl NodeNeighbors {
    fn add_neighbor(&mut self, other: u32) {
        *self = match *self {
            NodeNeighbors::None => NodeNeighbors::One(other),
            NodeNeighbors::One(only) if only == other => NodeNeighbors::One(only),
            _ => NodeNeighbors::Several,
        };
    }
}

/// O(pathways + stops).
fn check_dangling_nodes(feed: &GtfsFeed, _: &ValidationContext, out: &mut Notices) {
    let pathways = feed.table(GtfsFile::Pathways);
    if pathways.is_empty() {
        return;
    }
    let nodes = PathwayGraph::from_feed(feed);
    let mut neighbors = vec![NodeNeighbors::None; nodes.len()];
    for (from, to) in pathways.rows().filter_map(|row| nodes.pathway_ends(row)) {
        neighbors[from as usize].add_neighbor(to);
        neighbors[to as usize].add_neighbor(from);
    }
    let stops = LocationIndex::from_feed(feed);
    for row in stops.table.rows().filter(|&row| stops.location_type(row) == GENERIC_NODE) {
        let node = stops.ids.get(row).and_then(|id| nodes.find_node(id));
        if node.is_some_and(|node| matches!(neighbors[node as usize], NodeNeighbors::One(_))) {
            out.add_notice(&KIND, |sample| {
                set_stop_fields(sample, stops.table, row)
                    .set_field("parentStation", stops.parents.get(row));
            });
        }
    }
}
