//! Which edges may meet: those whose boxes do, and the boxes around these.

use std::{ops::ControlFlow, ptr};

use geo::Line;

use super::{BLOCK, BoundingRect, FAN, PolygonArea};

/// Steps after which it is asked whether to go on: a fraction of a millisecond.
const STEPS_PER_LOOK: u64 = 4_096;
/// Steps that it takes to hold two edges against each other whose boxes meet; two boxes take one.
const EDGE_STEPS: u64 = 8;

/// There are no steps left, or somebody stopped the look: the answer is not known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct StepsExhausted;

/// How much work may still be done: a step is some nanoseconds.
pub(crate) struct StepBudget<'a> {
    left: u64,
    goes_on: &'a dyn Fn() -> bool,
}

impl<'a> StepBudget<'a> {
    /// As many steps as this, for as long as `goes_on` says so.
    pub(crate) fn new(max: u64, goes_on: &'a dyn Fn() -> bool) -> StepBudget<'a> {
        StepBudget { left: max, goes_on }
    }

    /// Takes some of them; if that is too many there are none left for anybody.
    pub(super) fn take_steps(&mut self, n: u64) -> Result<(), StepsExhausted> {
        let left = self.left.saturating_sub(n);
        let is_time_to_ask = left / STEPS_PER_LOOK != self.left / STEPS_PER_LOOK;
        self.left = left;
        if left == 0 || (is_time_to_ask && !(self.goes_on)()) {
            self.left = 0;
            return Err(StepsExhausted);
        }
        Ok(())
    }

    #[cfg(test)]
    pub(super) fn steps_left(&self) -> u64 {
        self.left
    }
}

/// An edge, and the corner at which it begins.
pub(super) type Edge = (usize, Line<f64>);

/// One of an area's boxes: on which level, and the how manieth there.
#[derive(Clone, Copy)]
struct BoxNode {
    level: usize,
    at: usize,
}

impl PolygonArea {
    /// The edges of a block.
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

    /// The boxes within a box that is around boxes.
    fn child_nodes(&self, node: BoxNode) -> impl Iterator<Item = BoxNode> + use<> {
        let level = node.level - 1;
        let end = (FAN * (node.at + 1)).min(self.boxes[level].len());
        (FAN * node.at..end).map(move |at| BoxNode { level, at })
    }

    /// Tells of the edges in blocks whose boxes are near something.
    pub(super) fn walk_edges(
        &self,
        is_near: &dyn Fn(&BoundingRect) -> bool,
        steps: &mut StepBudget<'_>,
        visit: &mut dyn FnMut(Edge),
    ) -> Result<(), StepsExhausted> {
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

/// Tells of pairs of edges whose boxes meet, one of each area, until it is told to stop. Of an area and itself each pair comes once.
pub(super) fn walk_edge_pairs(
    one: &PolygonArea,
    other: &PolygonArea,
    steps: &mut StepBudget<'_>,
    visit: &mut dyn FnMut(Edge, Edge) -> ControlFlow<()>,
) -> Result<(), StepsExhausted> {
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

/// The same of two blocks.
fn meet_blocks(
    (one, other): (&PolygonArea, &PolygonArea),
    (first, second): (usize, usize),
    is_same: bool,
    steps: &mut StepBudget<'_>,
    visit: &mut dyn FnMut(Edge, Edge) -> ControlFlow<()>,
) -> Result<ControlFlow<()>, StepsExhausted> {
    let around = |edge: &Edge| BoundingRect::around_corners(&[edge.1.start, edge.1.end]);
    let whole = &other.boxes[0][second];
    for edge in one.block_edges(first) {
        let bounds = around(&edge);
        steps.take_steps(1)?;
        if !bounds.meets(whole) {
            continue;
        }
        steps.take_steps(BLOCK as u64)?;
        for against in other.block_edges(second) {
            let comes_again = is_same && edge.0 >= against.0;
            if comes_again || !bounds.meets(&around(&against)) {
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
