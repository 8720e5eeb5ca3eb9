//! Which edges may meet: those whose boxes do, and the boxes around these.

use std::{ops::ControlFlow, ptr};

use geo::Line;

use super::{Area, BLOCK, Bounds, FAN};

/// Steps after which it is asked whether to go on: a fraction of a millisecond.
const STEPS_PER_LOOK: u64 = 4_096;
/// Steps that it takes to hold two edges against each other whose boxes meet; two boxes take one.
const EDGE_STEPS: u64 = 8;

/// There are no steps left, or somebody stopped the look: the answer is not known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Exhausted;

/// How much work may still be done: a step is some nanoseconds.
pub(crate) struct Steps<'a> {
    left: u64,
    goes_on: &'a dyn Fn() -> bool,
}

impl<'a> Steps<'a> {
    /// As many steps as this, for as long as `goes_on` says so.
    pub(crate) fn new(max: u64, goes_on: &'a dyn Fn() -> bool) -> Steps<'a> {
        Steps { left: max, goes_on }
    }

    /// Takes some of them; if that is too many there are none left for anybody.
    pub(super) fn take(&mut self, n: u64) -> Result<(), Exhausted> {
        let left = self.left.saturating_sub(n);
        let is_time_to_ask = left / STEPS_PER_LOOK != self.left / STEPS_PER_LOOK;
        self.left = left;
        if left == 0 || (is_time_to_ask && !(self.goes_on)()) {
            self.left = 0;
            return Err(Exhausted);
        }
        Ok(())
    }

    #[cfg(test)]
    pub(super) fn left(&self) -> u64 {
        self.left
    }
}

/// An edge, and the corner at which it begins.
pub(super) type Edge = (usize, Line<f64>);

/// One of an area's boxes: on which level, and the how manieth there.
#[derive(Clone, Copy)]
struct Node {
    level: usize,
    at: usize,
}

impl Area {
    /// The edges of a block.
    pub(super) fn edges(&self, block: usize) -> impl Iterator<Item = Edge> {
        let starts = block * BLOCK..(block + 1) * BLOCK;
        starts.filter_map(|at| {
            let (start, end) = (*self.corners.get(at)?, *self.corners.get(at + 1)?);
            (!start.x.is_nan() && !end.x.is_nan()).then(|| (at, Line::new(start, end)))
        })
    }

    fn top(&self) -> Option<Node> {
        let level = self.boxes.len().checked_sub(1)?;
        (!self.boxes[level].is_empty()).then_some(Node { level, at: 0 })
    }

    fn bounds_of(&self, node: Node) -> &Bounds {
        &self.boxes[node.level][node.at]
    }

    /// The boxes within a box that is around boxes.
    fn within(&self, node: Node) -> impl Iterator<Item = Node> + use<> {
        let level = node.level - 1;
        let end = (FAN * (node.at + 1)).min(self.boxes[level].len());
        (FAN * node.at..end).map(move |at| Node { level, at })
    }

    /// Tells of the edges in blocks whose boxes are near something.
    pub(super) fn walk(
        &self,
        is_near: &dyn Fn(&Bounds) -> bool,
        steps: &mut Steps<'_>,
        visit: &mut dyn FnMut(Edge),
    ) -> Result<(), Exhausted> {
        let mut nodes: Vec<Node> = self.top().into_iter().collect();
        while let Some(node) = nodes.pop() {
            steps.take(1)?;
            if !is_near(self.bounds_of(node)) {
                continue;
            }
            if node.level > 0 {
                nodes.extend(self.within(node));
                continue;
            }
            steps.take(BLOCK as u64)?;
            self.edges(node.at).for_each(&mut *visit);
        }
        Ok(())
    }
}

/// Tells of pairs of edges whose boxes meet, one of each area, until it is told to stop. Of an area and itself each pair comes once.
pub(super) fn walk_pairs(
    one: &Area,
    other: &Area,
    steps: &mut Steps<'_>,
    visit: &mut dyn FnMut(Edge, Edge) -> ControlFlow<()>,
) -> Result<(), Exhausted> {
    let is_same = ptr::eq(one, other);
    let mut pairs: Vec<(Node, Node)> = one.top().zip(other.top()).into_iter().collect();
    while let Some((first, second)) = pairs.pop() {
        steps.take(1)?;
        let comes_again = is_same && first.level == second.level && first.at > second.at;
        if comes_again || !one.bounds_of(first).meets(other.bounds_of(second)) {
            continue;
        }
        if first.level == 0 && second.level == 0 {
            let blocks = (first.at, second.at);
            if meet_blocks((one, other), blocks, is_same, steps, visit)?.is_break() {
                break;
            }
        } else if first.level >= second.level {
            pairs.extend(one.within(first).map(|node| (node, second)));
        } else {
            pairs.extend(other.within(second).map(|node| (first, node)));
        }
    }
    Ok(())
}

/// The same of two blocks.
fn meet_blocks(
    (one, other): (&Area, &Area),
    (first, second): (usize, usize),
    is_same: bool,
    steps: &mut Steps<'_>,
    visit: &mut dyn FnMut(Edge, Edge) -> ControlFlow<()>,
) -> Result<ControlFlow<()>, Exhausted> {
    let around = |edge: &Edge| Bounds::around(&[edge.1.start, edge.1.end]);
    let whole = &other.boxes[0][second];
    for edge in one.edges(first) {
        let bounds = around(&edge);
        steps.take(1)?;
        if !bounds.meets(whole) {
            continue;
        }
        steps.take(BLOCK as u64)?;
        for against in other.edges(second) {
            let comes_again = is_same && edge.0 >= against.0;
            if comes_again || !bounds.meets(&around(&against)) {
                continue;
            }
            steps.take(EDGE_STEPS)?;
            if visit(edge, against).is_break() {
                return Ok(ControlFlow::Break(()));
            }
        }
    }
    Ok(ControlFlow::Continue(()))
}
