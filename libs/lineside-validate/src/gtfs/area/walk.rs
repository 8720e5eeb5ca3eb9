//! Pairs of edges that may meet: those whose boxes meet, on each level.

use std::{ops::ControlFlow, ptr};

use geo::Line;

use super::{BLOCK, BoundingRect, FAN, PolygonArea};

/// Steps between two calls of `goes_on`: a fraction of a millisecond.
const STEPS_PER_CHECK: u64 = 4_096;
/// The steps of comparing two edges whose boxes meet; comparing two boxes is one step.
const EDGE_STEPS: u64 = 8;

/// The steps are used up, or the check was cancelled: the result is unknown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct WalkUnfinished;

/// The remaining work; a step takes some nanoseconds.
pub(crate) struct StepBudget<'a> {
    left: u64,
    should_continue: &'a dyn Fn() -> bool,
}

impl<'a> StepBudget<'a> {
    /// Returns a budget of `max` steps, valid while `goes_on` returns true.
    pub(crate) fn new(max: u64, should_continue: &'a dyn Fn() -> bool) -> StepBudget<'a> {
        StepBudget { left: max, should_continue }
    }

    /// Takes steps. If there are too few, the budget is empty from then on.
    pub(super) fn take_steps(&mut self, n: u64) -> Result<(), WalkUnfinished> {
        let left = self.left.saturating_sub(n);
        let is_time_to_ask = left / STEPS_PER_CHECK != self.left / STEPS_PER_CHECK;
        self.left = left;
        if left == 0 || (is_time_to_ask && !(self.should_continue)()) {
            self.left = 0;
            return Err(WalkUnfinished);
        }
        Ok(())
    }

    #[cfg(test)]
    pub(super) fn steps_left(&self) -> u64 {
        self.left
    }
}

/// An edge, with the index of the corner at which it begins.
pub(super) type Edge = (usize, Line<f64>);

/// One of an area's boxes by its level, and its index there.
#[derive(Clone, Copy)]
struct BoxNode {
    level: usize,
    at: usize,
}

impl PolygonArea {
    pub(super) fn block_edges(&self, block: usize) -> impl Iterator<Item = Edge> {
        let starts = block * BLOCK..(block + 1) * BLOCK;
        starts.filter_map(|at| {
            let (start, end) = (*self.corners.get(at)?, *self.corners.get(at + 1)?);
            (!start.x.is_nan() && !end.x.is_nan()).then(|| (at, Line::new(start, end)))
        })
    }

    fn top_node(&self) -> Option<BoxNode> {
        let level = self.boxes.len().checked_sub(1)?;
        (!self.boxes[level].is_empty()).then_some(BoxNode { level, at: 0 })
    }

    fn node_bounds(&self, node: BoxNode) -> &BoundingRect {
        &self.boxes[node.level][node.at]
    }

    /// Returns the boxes within a box.
    fn child_nodes(&self, node: BoxNode) -> impl Iterator<Item = BoxNode> + use<> {
        let level = node.level - 1;
        let end = (FAN * (node.at + 1)).min(self.boxes[level].len());
        (FAN * node.at..end).map(move |at| BoxNode { level, at })
    }

    /// Visits the edges in blocks whose boxes are near.
    pub(super) fn walk_edges(
        &self,
        is_near: &dyn Fn(&BoundingRect) -> bool,
        steps: &mut StepBudget<'_>,
        visit: &mut dyn FnMut(Edge),
    ) -> Result<(), WalkUnfinished> {
        let mut nodes: Vec<BoxNode> = self.top_node().into_iter().collect();
        while let Some(node) = nodes.pop() {
            steps.take_steps(1)?;
            if !is_near(self.node_bounds(node)) {
                continue;
            }
            if node.level > 0 {
                nodes.extend(self.child_nodes(node));
                continue;
            }
            steps.take_steps(BLOCK as u64)?;
            self.block_edges(node.at).for_each(&mut *visit);
        }
        Ok(())
    }
}

/// Visits pairs of edges whose boxes meet, one of each area, until `visit` breaks. Visits each pair once if both areas
/// are the same.
pub(super) fn walk_edge_pairs(
    one: &PolygonArea,
    other: &PolygonArea,
    steps: &mut StepBudget<'_>,
    visit: &mut dyn FnMut(Edge, Edge) -> ControlFlow<()>,
) -> Result<(), WalkUnfinished> {
    let is_same = ptr::eq(one, other);
    let mut pairs: Vec<(BoxNode, BoxNode)> =
        one.top_node().zip(other.top_node()).into_iter().collect();
    while let Some((first, second)) = pairs.pop() {
        steps.take_steps(1)?;
        let comes_again = is_same && first.level == second.level && first.at > second.at;
        if comes_again || !one.node_bounds(first).meets(other.node_bounds(second)) {
            continue;
        }
        if first.level == 0 && second.level == 0 {
            let blocks = (first.at, second.at);
            if meet_blocks((one, other), blocks, is_same, steps, visit)?.is_break() {
                break;
            }
        } else if first.level >= second.level {
            pairs.extend(one.child_nodes(first).map(|node| (node, second)));
        } else {
            pairs.extend(other.child_nodes(second).map(|node| (first, node)));
        }
    }
    Ok(())
}

/// Visits the pairs of edges of two blocks.
fn meet_blocks(
    (one, other): (&PolygonArea, &PolygonArea),
    (first, second): (usize, usize),
    is_same: bool,
    steps: &mut StepBudget<'_>,
    visit: &mut dyn FnMut(Edge, Edge) -> ControlFlow<()>,
) -> Result<ControlFlow<()>, WalkUnfinished> {
    let bound = |edge: &Edge| BoundingRect::around_corners(&[edge.1.start, edge.1.end]);
    let whole = &other.boxes[0][second];
    for edge in one.block_edges(first) {
        let bounds = bound(&edge);
        steps.take_steps(1)?;
        if !bounds.meets(whole) {
            continue;
        }
        steps.take_steps(BLOCK as u64)?;
        for against in other.block_edges(second) {
            let comes_again = is_same && edge.0 >= against.0;
            if comes_again || !bounds.meets(&bound(&against)) {
                continue;
            }
            steps.take_steps(EDGE_STEPS)?;
            if visit(edge, against).is_break() {
                return Ok(ControlFlow::Break(()));
            }
        }
    }
    Ok(ControlFlow::Continue(()))
}
