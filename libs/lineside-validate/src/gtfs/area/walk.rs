//! Pairs of edges that may meet: those whose boxes meet, on each level.

use std::{ops::ControlFlow, ptr};

use geo::Line;

use super::{BLOCK, BoundingRect, FAN, PolygonArea};

/// Steps between two calls of `should_continue`: a fraction of a millisecond.
const STEPS_PER_CHECK: u64 = 4_096;
/// The steps of comparing two edges whose boxes meet; comparing two boxes is one step.
const EDGE_STEPS: u64 = 8;

/// The steps are used up, or the check was cancelled: the result is unknown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct EdgeWalkAborted;

/// The remaining work; a step takes some nanoseconds.
pub(crate) struct EdgeWalkBudget<'a> {
    left: u64,
    should_continue: &'a dyn Fn() -> bool,
}

impl<'a> EdgeWalkBudget<'a> {
    /// Returns a budget of `max` steps, valid while `should_continue` returns true.
    pub(crate) fn new(max: u64, should_continue: &'a dyn Fn() -> bool) -> EdgeWalkBudget<'a> {
        EdgeWalkBudget { left: max, should_continue }
    }

    /// Takes steps. If there are too few, the budget is empty from then on.
    pub(super) fn spend_steps(&mut self, n: u64) -> Result<(), EdgeWalkAborted> {
        let left = self.left.saturating_sub(n);
        let is_time_to_ask = left / STEPS_PER_CHECK != self.left / STEPS_PER_CHECK;
        self.left = left;
        if left == 0 || (is_time_to_ask && !(self.should_continue)()) {
            self.left = 0;
            return Err(EdgeWalkAborted);
        }
        Ok(())
    }

    #[cfg(test)]
    pub(super) fn steps_left(&self) -> u64 {
        self.left
    }
}

/// An edge, with the index of the corner at which it begins.
pub(super) type NumberedEdge = (usize, Line<f64>);

/// One of an area's boxes by its level, and its index there.
#[derive(Clone, Copy)]
struct BoundingBoxNode {
    level: usize,
    at: usize,
}

impl PolygonArea {
    pub(super) fn block_edges(&self, block: usize) -> impl Iterator<Item = NumberedEdge> {
        let starts = block * BLOCK..(block + 1) * BLOCK;
        starts.filter_map(|at| {
            let (start, end) = (*self.corners.get(at)?, *self.corners.get(at + 1)?);
            (!start.x.is_nan() && !end.x.is_nan()).then(|| (at, Line::new(start, end)))
        })
    }

    fn top_box_node(&self) -> Option<BoundingBoxNode> {
        let level = self.boxes.len().checked_sub(1)?;
        (!self.boxes[level].is_empty()).then_some(BoundingBoxNode { level, at: 0 })
    }

    fn bounding_box_of_node(&self, node: BoundingBoxNode) -> &BoundingRect {
        &self.boxes[node.level][node.at]
    }

    /// Returns the boxes within a box.
    fn child_box_nodes(
        &self,
        node: BoundingBoxNode,
    ) -> impl Iterator<Item = BoundingBoxNode> + use<> {
        let level = node.level - 1;
        let end = (FAN * (node.at + 1)).min(self.boxes[level].len());
        (FAN * node.at..end).map(move |at| BoundingBoxNode { level, at })
    }

    /// Visits the edges in blocks whose boxes are near.
    pub(super) fn visit_nearby_edges(
        &self,
        is_near: &dyn Fn(&BoundingRect) -> bool,
        steps: &mut EdgeWalkBudget<'_>,
        visit: &mut dyn FnMut(NumberedEdge),
    ) -> Result<(), EdgeWalkAborted> {
        let mut nodes: Vec<BoundingBoxNode> = self.top_box_node().into_iter().collect();
        while let Some(node) = nodes.pop() {
            steps.spend_steps(1)?;
            if !is_near(self.bounding_box_of_node(node)) {
                continue;
            }
            if node.level > 0 {
                nodes.extend(self.child_box_nodes(node));
                continue;
            }
            steps.spend_steps(BLOCK as u64)?;
            self.block_edges(node.at).for_each(&mut *visit);
        }
        Ok(())
    }
}

/// Visits pairs of edges whose boxes meet, one of each area, until `visit` breaks. Visits each pair once if both areas
/// are the same.
pub(super) fn visit_nearby_edge_pairs(
    one: &PolygonArea,
    other: &PolygonArea,
    steps: &mut EdgeWalkBudget<'_>,
    visit: &mut dyn FnMut(NumberedEdge, NumberedEdge) -> ControlFlow<()>,
) -> Result<(), EdgeWalkAborted> {
    let is_same = ptr::eq(one, other);
    let mut pairs: Vec<(BoundingBoxNode, BoundingBoxNode)> =
        one.top_box_node().zip(other.top_box_node()).into_iter().collect();
    while let Some((first, second)) = pairs.pop() {
        steps.spend_steps(1)?;
        let comes_again = is_same && first.level == second.level && first.at > second.at;
        if comes_again
            || !one.bounding_box_of_node(first).intersects_box(other.bounding_box_of_node(second))
        {
            continue;
        }
        if first.level == 0 && second.level == 0 {
            let blocks = (first.at, second.at);
            if visit_edge_pairs_of_blocks((one, other), blocks, is_same, steps, visit)?.is_break() {
                break;
            }
        } else if first.level >= second.level {
            pairs.extend(one.child_box_nodes(first).map(|node| (node, second)));
        } else {
            pairs.extend(other.child_box_nodes(second).map(|node| (first, node)));
        }
    }
    Ok(())
}

/// Visits the pairs of edges of two blocks.
fn visit_edge_pairs_of_blocks(
    (one, other): (&PolygonArea, &PolygonArea),
    (first, second): (usize, usize),
    is_same: bool,
    steps: &mut EdgeWalkBudget<'_>,
    visit: &mut dyn FnMut(NumberedEdge, NumberedEdge) -> ControlFlow<()>,
) -> Result<ControlFlow<()>, EdgeWalkAborted> {
    let bound =
        |edge: &NumberedEdge| BoundingRect::bounding_box_of_corners(&[edge.1.start, edge.1.end]);
    let whole = &other.boxes[0][second];
    for edge in one.block_edges(first) {
        let bounds = bound(&edge);
        steps.spend_steps(1)?;
        if !bounds.intersects_box(whole) {
            continue;
        }
        steps.spend_steps(BLOCK as u64)?;
        for against in other.block_edges(second) {
            let comes_again = is_same && edge.0 >= against.0;
            if comes_again || !bounds.intersects_box(&bound(&against)) {
                continue;
            }
            steps.spend_steps(EDGE_STEPS)?;
            if visit(edge, against).is_break() {
                return Ok(ControlFlow::Break(()));
            }
        }
    }
    Ok(ControlFlow::Continue(()))
}
