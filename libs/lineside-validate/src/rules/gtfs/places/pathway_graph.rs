//! The endpoints of pathways as numbered nodes, whether or not `stops.txt` has them.

use std::sync::Arc;

use crate::gtfs::{GtfsFeed, GtfsFile, NumberColumn, RowsByTextCode, TextColumn};

/// The graph of pathways; each id at which a pathway begins or ends is a node.
pub(super) struct PathwayGraph<'a> {
    from: TextColumn<'a>,
    to: TextColumn<'a>,
    bidirectional: NumberColumn<'a>,
    /// The node of each code of `to_stop_id`. A node below the number of codes of `from_stop_id` is
    /// the code in that column.
    node_of_to: Vec<u32>,
    /// The code in `to_stop_id` of each node at which a pathway ends.
    to_of_node: Vec<Option<u32>>,
    leaving: Arc<RowsByTextCode>,
    arriving: Arc<RowsByTextCode>,
}

impl<'a> PathwayGraph<'a> {
    pub(super) fn pathway_graph_of_feed(feed: &'a GtfsFeed) -> PathwayGraph<'a> {
        let table = feed.table(GtfsFile::Pathways);
        let (from, to) = (table.text_column("from_stop_id"), table.text_column("to_stop_id"));
        let mut n_nodes = from.text_code_count() as u32;
        let node_of_to: Vec<u32> = (0..to.text_code_count() as u32)
            .map(|code| {
                from.find_text_code(to.text_of_code(code)).unwrap_or_else(|| {
                    n_nodes += 1;
                    n_nodes - 1
                })
            })
            .collect();
        let mut to_of_node = vec![None; n_nodes as usize];
        for (code, &node) in node_of_to.iter().enumerate() {
            to_of_node[node as usize] = Some(code as u32);
        }
        PathwayGraph {
            from,
            to,
            bidirectional: table.number_column("is_bidirectional"),
            node_of_to,
            to_of_node,
            leaving: feed.rows_grouped_by_field(GtfsFile::Pathways, "from_stop_id"),
            arriving: feed.rows_grouped_by_field(GtfsFile::Pathways, "to_stop_id"),
        }
    }

    pub(super) fn len(&self) -> usize {
        self.to_of_node.len()
    }

    /// Returns the node of an id, if a pathway begins or ends there.
    pub(super) fn find_node_by_id(&self, id: &str) -> Option<u32> {
        self.from
            .find_text_code(id)
            .or_else(|| Some(self.node_of_to[self.to.find_text_code(id)? as usize]))
    }

    /// Returns the nodes at which a pathway begins and ends.
    pub(super) fn pathway_end_nodes(&self, pathway: u32) -> Option<(u32, u32)> {
        let from = self.from.text_code_of_row(pathway)?;
        Some((from, self.node_of_to[self.to.text_code_of_row(pathway)? as usize]))
    }

    /// Marks the nodes that can be reached from the starts, along the pathways or, if not
    /// `forward`, against them. O(nodes + pathways).
    pub(super) fn mark_reachable_nodes(
        &self,
        starts: impl Iterator<Item = u32>,
        forward: bool,
    ) -> Vec<bool> {
        let mut seen = vec![false; self.len()];
        let mut open: Vec<u32> = starts.collect();
        for &node in &open {
            seen[node as usize] = true;
        }
        while let Some(node) = open.pop() {
            let arriving = self.to_of_node[node as usize]
                .map_or(&[][..], |to| self.arriving.rows_with_text_code(to));
            let ways = [(self.leaving.rows_with_text_code(node), forward), (arriving, !forward)];
            for (pathways, always) in ways {
                for &pathway in pathways {
                    let both_ways = self.bidirectional.get(pathway) == Some(1);
                    let Some((from, to)) =
                        self.pathway_end_nodes(pathway).filter(|_| always || both_ways)
                    else {
                        continue;
                    };
                    let other = if from == node { to } else { from };
                    if !std::mem::replace(&mut seen[other as usize], true) {
                        open.push(other);
                    }
                }
            }
        }
        seen
    }
}
