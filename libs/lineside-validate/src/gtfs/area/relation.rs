//! The relation of two areas.
//!
//! If edges of both areas cross, each area has a part inside the other and one outside, and the check ends. If none
//! cross, the edges meet at corners only, and few at each corner: around each such corner, the exact coordinates
//! determine which edges lead into the other area, out of it, or along its edge. A ring that touches nothing is wholly
//! inside or outside.

use std::{
    cmp::Ordering,
    collections::{BTreeSet, HashSet},
    ops::ControlFlow,
};

use geo::{Coord, Kernel as _, Line, Orientation, Orientation::Collinear, kernels::RobustKernel};

use super::{
    BoundingRect, PolygonArea,
    walk::{EdgeWalkAborted, EdgeWalkBudget, NumberedEdge, visit_nearby_edge_pairs},
};

/// The relation of two areas. Unspecified if one of them has a fault.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct AreaOverlapRelation {
    /// True if some part is inside both.
    pub(super) has_both: bool,
    /// True if some part is inside the first and outside the second.
    pub(super) has_first_only: bool,
    /// True if some part is inside the second and outside the first.
    pub(super) has_second_only: bool,
    /// True if edges of both coincide. Not determined if other edges cross.
    pub(super) shares_line: bool,
}

impl AreaOverlapRelation {
    /// Returns true if the areas have a common part, and each has a part of its own.
    pub(crate) fn is_partial_overlap(&self) -> bool {
        self.has_both && self.has_first_only && self.has_second_only
    }
}

/// Determines the relation of two areas. O(n log n) for realistic shapes.
pub(crate) fn determine_area_relation(
    one: &PolygonArea,
    other: &PolygonArea,
    steps: &mut EdgeWalkBudget<'_>,
) -> Result<AreaOverlapRelation, EdgeWalkAborted> {
    let mut contacts = EdgeContacts::default();
    visit_nearby_edge_pairs(one, other, steps, &mut |first, second| {
        contacts.add_edge_pair_contact(one, other, first, second)
    })?;
    let mut relation = AreaOverlapRelation::default();
    if contacts.has_crossing {
        relation.has_both = true;
        relation.has_first_only = true;
        relation.has_second_only = true;
        return Ok(relation);
    }
    for place in &contacts.places {
        let place = Coord { x: f64::from_bits(place[0]), y: f64::from_bits(place[1]) };
        let (first, second) =
            (outgoing_edges(one, place, steps)?, outgoing_edges(other, place, steps)?);
        steps.spend_steps((first.len() * second.len()) as u64)?;
        for way in &first {
            relation.add_edge_of_first_area(way.position_relative_to_area(&second, place));
        }
        for way in &second {
            relation.add_edge_of_second_area(way.position_relative_to_area(&first, place));
        }
    }
    for ring in one.untouched_ring_corners(&contacts.first_rings) {
        relation.add_edge_of_first_area(EdgePosition::inside_or_outside(
            other.contains_point_off_edges(ring, steps)?,
        ));
    }
    for ring in other.untouched_ring_corners(&contacts.second_rings) {
        relation.add_edge_of_second_area(EdgePosition::inside_or_outside(
            one.contains_point_off_edges(ring, steps)?,
        ));
    }
    Ok(relation)
}

impl AreaOverlapRelation {
    /// Adds the position of an edge of the first area relative to the second.
    fn add_edge_of_first_area(&mut self, along: EdgePosition) {
        match along {
            // The area of the edge is on one side of it only.
            EdgePosition::Inside => (self.has_both, self.has_second_only) = (true, true),
            EdgePosition::Outside => self.has_first_only = true,
            EdgePosition::Edge { is_same_side } => self.add_shared_edge(is_same_side),
        }
    }

    fn add_edge_of_second_area(&mut self, along: EdgePosition) {
        match along {
            EdgePosition::Inside => (self.has_both, self.has_first_only) = (true, true),
            EdgePosition::Outside => self.has_second_only = true,
            EdgePosition::Edge { is_same_side } => self.add_shared_edge(is_same_side),
        }
    }

    fn add_shared_edge(&mut self, is_same_side: bool) {
        self.shares_line = true;
        if is_same_side {
            self.has_both = true;
        } else {
            (self.has_first_only, self.has_second_only) = (true, true);
        }
    }
}

/// The position of an edge of one area relative to the other.
#[derive(Clone, Copy)]
enum EdgePosition {
    Inside,
    Outside,
    /// Along an edge of the other area; `is_same_side` is true if both areas are on the same side of it.
    Edge {
        is_same_side: bool,
    },
}

impl EdgePosition {
    fn inside_or_outside(is_inside: bool) -> EdgePosition {
        if is_inside { EdgePosition::Inside } else { EdgePosition::Outside }
    }
}

/// The points at which edges of two areas meet without crossing. They are corners of one or the other, so there are at
/// most as many as both have corners.
#[derive(Default)]
struct EdgeContacts {
    has_crossing: bool,
    /// The bits of the longitudes and latitudes.
    places: BTreeSet<[u64; 2]>,
    first_rings: HashSet<usize>,
    second_rings: HashSet<usize>,
}

impl EdgeContacts {
    fn add_edge_pair_contact(
        &mut self,
        one: &PolygonArea,
        other: &PolygonArea,
        first: NumberedEdge,
        second: NumberedEdge,
    ) -> ControlFlow<()> {
        let (a, b) = (first.1, second.1);
        if a.start == a.end || b.start == b.end {
            // The edges before and after this empty edge end there too.
            return ControlFlow::Continue(());
        }
        let of_b = [b.start, b.end].map(|corner| (corner, orientation_of_point(a, corner), a));
        let of_a = [a.start, a.end].map(|corner| (corner, orientation_of_point(b, corner), b));
        let parts = |ends: &[(Coord<f64>, Orientation, Line<f64>); 2]| {
            ends.iter().all(|end| end.1 != Collinear) && ends[0].1 != ends[1].1
        };
        if parts(&of_a) && parts(&of_b) {
            self.has_crossing = true;
            return ControlFlow::Break(());
        }
        for (corner, side, edge) in of_a.into_iter().chain(of_b) {
            if side == Collinear
                && BoundingRect::bounding_box_of_corners(&[edge.start, edge.end])
                    .contains_point(corner)
            {
                self.places.insert([corner.x.to_bits(), corner.y.to_bits()]);
                self.first_rings.insert(one.ring_index_of_corner(first.0));
                self.second_rings.insert(other.ring_index_of_corner(second.0));
            }
        }
        ControlFlow::Continue(())
    }
}

fn orientation_of_point(edge: Line<f64>, place: Coord<f64>) -> Orientation {
    RobustKernel::orient2d(edge.start, edge.end, place)
}

/// A direction from a point along an edge of an area.
struct OutgoingEdge {
    /// A point farther along the edge.
    to: Coord<f64>,
    /// True in the direction of the edge, which has the inside on its left.
    is_forward: bool,
}

impl OutgoingEdge {
    /// Returns the position of a direction relative to the area with these edges from the point.
    fn position_relative_to_area(&self, ways: &[OutgoingEdge], place: Coord<f64>) -> EdgePosition {
        let compare_turns =
            |one: &OutgoingEdge, other: &OutgoingEdge| compare_angles(place, one.to, other.to);
        if let Some(same) = ways.iter().find(|way| compare_turns(way, self).is_eq()) {
            return EdgePosition::Edge { is_same_side: same.is_forward == self.is_forward };
        }
        // The next edge clockwise decides: the direction is inside if that edge has the inside on its left.
        let preceding = ways
            .iter()
            .filter(|way| compare_turns(way, self).is_lt())
            .max_by(|a, b| compare_turns(a, b));
        let preceding = preceding.or_else(|| ways.iter().max_by(|a, b| compare_turns(a, b)));
        EdgePosition::inside_or_outside(preceding.is_some_and(|way| way.is_forward))
    }
}

/// Compares the directions from a point to two others by angle, counterclockwise from the east.
fn compare_angles(from: Coord<f64>, one: Coord<f64>, other: Coord<f64>) -> Ordering {
    let is_below = |to: Coord<f64>| to.y < from.y || (to.y == from.y && to.x < from.x);
    let compare_turns = || match RobustKernel::orient2d(from, one, other) {
        Orientation::CounterClockwise => Ordering::Less,
        Orientation::Clockwise => Ordering::Greater,
        Orientation::Collinear => Ordering::Equal,
    };
    is_below(one).cmp(&is_below(other)).then_with(compare_turns)
}

/// Returns the directions along the edges of an area from a point on them.
fn outgoing_edges(
    area: &PolygonArea,
    place: Coord<f64>,
    steps: &mut EdgeWalkBudget<'_>,
) -> Result<Vec<OutgoingEdge>, EdgeWalkAborted> {
    let mut ways = Vec::new();
    area.visit_nearby_edges(&|bounds| bounds.contains_point(place), steps, &mut |(_, edge)| {
        let is_on = edge.start != edge.end
            && BoundingRect::bounding_box_of_corners(&[edge.start, edge.end]).contains_point(place)
            && orientation_of_point(edge, place) == Collinear;
        if is_on && edge.end != place {
            ways.push(OutgoingEdge { to: edge.end, is_forward: true });
        }
        if is_on && edge.start != place {
            ways.push(OutgoingEdge { to: edge.start, is_forward: false });
        }
    })?;
    Ok(ways)
}

impl PolygonArea {
    /// Returns the first corner of each ring except those in `met`.
    fn untouched_ring_corners(&self, met: &HashSet<usize>) -> impl Iterator<Item = Coord<f64>> {
        let rings = self.rings.iter().enumerate().filter(|(ring, _)| !met.contains(ring));
        rings.map(|(_, &start)| self.corners[start])
    }

    /// Returns true if a point that is on no edge is inside: an odd number of edges is to its right.
    fn contains_point_off_edges(
        &self,
        place: Coord<f64>,
        steps: &mut EdgeWalkBudget<'_>,
    ) -> Result<bool, EdgeWalkAborted> {
        let is_near = |bounds: &BoundingRect| {
            bounds.min.y <= place.y && place.y <= bounds.max.y && place.x <= bounds.max.x
        };
        let mut is_inside = false;
        self.visit_nearby_edges(&is_near, steps, &mut |(_, edge)| {
            let (is_start_above, is_end_above) = (edge.start.y > place.y, edge.end.y > place.y);
            let left =
                if is_end_above { Orientation::CounterClockwise } else { Orientation::Clockwise };
            is_inside ^=
                is_start_above != is_end_above && orientation_of_point(edge, place) == left;
        })?;
        Ok(is_inside)
    }
}
