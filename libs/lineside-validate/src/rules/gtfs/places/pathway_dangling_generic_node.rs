//! Points within stations that lead nowhere else.

use super::{
    GtfsRule,
    locations::{GENERIC_NODE, LINE, Locations, PARENT, STOP_ID, STOP_NAME, put_stop},
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
    code: "pathway_dangling_generic_node",
    severity: Severity::Warning,
    fields: &[LINE, STOP_ID, STOP_NAME, PARENT],
    page: include_str!("pathway_dangling_generic_node.md"),
};

/// To how many others a node is connected.
#[derive(Clone, Copy)]
enum Neighbors {
    None,
    One(u32),
    Several,
}

impl Neighbors {
    fn add(&mut self, other: u32) {
        *self = match *self {
            Neighbors::None => Neighbors::One(other),
            Neighbors::One(only) if only == other => Neighbors::One(only),
            _ => Neighbors::Several,
        };
    }
}

/// O(pathways + stops).
fn check(feed: &Feed, _: &Context, out: &mut Notices) {
    let pathways = feed.table(File::Pathways);
    if pathways.is_empty() {
        return;
    }
    let nodes = Nodes::of(feed);
    let mut neighbors = vec![Neighbors::None; nodes.len()];
    for (from, to) in pathways.rows().filter_map(|row| nodes.ends(row)) {
        neighbors[from as usize].add(to);
        neighbors[to as usize].add(from);
    }
    let stops = Locations::of(feed);
    for row in stops.table.rows().filter(|&row| stops.type_of(row) == GENERIC_NODE) {
        let node = stops.ids.get(row).and_then(|id| nodes.find(id));
        if node.is_some_and(|node| matches!(neighbors[node as usize], Neighbors::One(_))) {
            out.add(&KIND, |sample| {
                put_stop(sample, stops.table, row).put("parentStation", stops.parents.get(row));
            });
        }
    }
}
