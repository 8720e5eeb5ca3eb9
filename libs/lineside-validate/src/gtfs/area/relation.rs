//! How two areas lie to each other.
//!
//! Where edges of both cross, each area has a part within the other and one outside of it, and no more is asked. Where none cross, the
//! edges meet at corners only, of which each edge has few: around each such corner it is told, by the corners' exact places, which edges
//! lead into the other area, out of it, or along its edge. Rings that meet nothing lie wholly inside or outside.

use std::{
    cmp::Ordering,
    collections::{BTreeSet, HashSet},
    ops::ControlFlow,
};

use geo::{Coord, Kernel as _, Line, Orientation, Orientation::Collinear, kernels::RobustKernel};

use super::{
    BoundingRect, PolygonArea,
    walk::{Edge, StepBudget, StepsExhausted, walk_edge_pairs},
};

/// How two areas lie to each other. Of areas that have a fault it may say anything.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct AreaRelation {
    /// Something is inside of both.
    pub(super) has_both: bool,
    /// Something is inside of the first and outside of the second.
    pub(super) has_first_only: bool,
    /// Something is inside of the second and outside of the first.
    pub(super) has_second_only: bool,
    /// Edges of both lie along each other. Not asked where others cross.
    pub(super) shares_line: bool,
}

impl AreaRelation {
    /// Whether the areas have a part in common, and each has one of its own.
    pub(crate) fn overlaps(&self) -> bool {
        self.has_both && self.has_first_only && self.has_second_only
    }
}

/// How two areas lie to each other. O(n log n) for shapes as the ground has them.
pub(crate) fn relate_areas(
    one: &PolygonArea,
    other: &PolygonArea,
    steps: &mut StepBudget<'_>,
) -> Result<AreaRelation, StepsExhausted> {
    let mut contacts = EdgeContacts::default();
    walk_edge_pairs(one, other, steps, &mut |first, second| {
        contacts.add_contact(one, other, first, second)
    })?;
    let mut relation = AreaRelation::default();
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
        steps.take_steps((first.len() * second.len()) as u64)?;
        for way in &first {
            relation.add_first_edge(way.position_to_area(&second, place));
        }
        for way in &second {
            relation.add_second_edge(way.position_to_area(&first, place));
        }
    }
    for ring in one.rings_except(&contacts.first_rings) {
        relation.add_first_edge(EdgePosition::from_inside(other.contains_place(ring, steps)?));
    }
    for ring in other.rings_except(&contacts.second_rings) {
        relation.add_second_edge(EdgePosition::from_inside(one.contains_place(ring, steps)?));
    }
    Ok(relation)
}

impl AreaRelation {
    /// An edge of the first area lies so to the second one.
    fn add_first_edge(&mut self, along: EdgePosition) {
        match along {
            // The area of the edge is on one side of it only.
            EdgePosition::Inside => (self.has_both, self.has_second_only) = (true, true),
            EdgePosition::Outside => self.has_first_only = true,
            EdgePosition::Edge { is_same_side } => self.add_shared_edge(is_same_side),
        }
    }

    fn add_second_edge(&mut self, along: EdgePosition) {
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

/// Where an edge of one area lies to the other.
#[derive(Clone, Copy)]
enum EdgePosition {
    Inside,
    Outside,
    /// Along an edge, with both areas on the same side or not.
    Edge {
        is_same_side: bool,
    },
}

impl EdgePosition {
    fn from_inside(is_inside: bool) -> EdgePosition {
        if is_inside { EdgePosition::Inside } else { EdgePosition::Outside }
    }
}

/// Where edges of two areas meet without crossing: at corners of one or the other, so never at more places than both have corners.
#[derive(Default)]
struct EdgeContacts {
    has_crossing: bool,
    /// The bits of longitude and latitude.
    places: BTreeSet<[u64; 2]>,
    first_rings: HashSet<usize>,
    second_rings: HashSet<usize>,
}

impl EdgeContacts {
    fn add_contact(
        &mut self,
        one: &PolygonArea,
        other: &PolygonArea,
        first: Edge,
        second: Edge,
    ) -> ControlFlow<()> {
        let (a, b) = (first.1, second.1);
        if a.start == a.end || b.start == b.end {
            // The edges before and after it end there too.
            return ControlFlow::Continue(());
        }
        let of_b = [b.start, b.end].map(|corner| (corner, orientation_of_place(a, corner), a));
        let of_a = [a.start, a.end].map(|corner| (corner, orientation_of_place(b, corner), b));
        let parts = |ends: &[(Coord<f64>, Orientation, Line<f64>); 2]| {
            ends.iter().all(|end| end.1 != Collinear) && ends[0].1 != ends[1].1
        };
        if parts(&of_a) && parts(&of_b) {
            self.has_crossing = true;
            return ControlFlow::Break(());
        }
        for (corner, side, edge) in of_a.into_iter().chain(of_b) {
            if side == Collinear
                && BoundingRect::around_corners(&[edge.start, edge.end]).holds(corner)
            {
                self.places.insert([corner.x.to_bits(), corner.y.to_bits()]);
                self.first_rings.insert(one.ring_of(first.0));
                self.second_rings.insert(other.ring_of(second.0));
            }
        }
        ControlFlow::Continue(())
    }
}

fn orientation_of_place(edge: Line<f64>, place: Coord<f64>) -> Orientation {
    RobustKernel::orient2d(edge.start, edge.end, place)
}

/// A way from a place along an edge of an area.
struct OutgoingEdge {
    /// A place farther along it.
    to: Coord<f64>,
    /// Whether it goes as the edge does, so that the inside is on its left.
    is_forward: bool,
}

impl OutgoingEdge {
    /// Where a way from a place lies to the area that has these ways from there.
    fn position_to_area(&self, ways: &[OutgoingEdge], place: Coord<f64>) -> EdgePosition {
        let turn =
            |one: &OutgoingEdge, other: &OutgoingEdge| compare_angles(place, one.to, other.to);
        if let Some(same) = ways.iter().find(|way| turn(way, self).is_eq()) {
            return EdgePosition::Edge { is_same_side: same.is_forward == self.is_forward };
        }
        // Whoever turns to the left from the way before it does not cross another: it is inside if that way has the inside on its left.
        let before = ways.iter().filter(|way| turn(way, self).is_lt()).max_by(|a, b| turn(a, b));
        let before = before.or_else(|| ways.iter().max_by(|a, b| turn(a, b)));
        EdgePosition::from_inside(before.is_some_and(|way| way.is_forward))
    }
}

/// Orders the ways from a place to two others by the angle, from the east to the left.
fn compare_angles(from: Coord<f64>, one: Coord<f64>, other: Coord<f64>) -> Ordering {
    let is_below = |to: Coord<f64>| to.y < from.y || (to.y == from.y && to.x < from.x);
    let turn = || match RobustKernel::orient2d(from, one, other) {
        Orientation::CounterClockwise => Ordering::Less,
        Orientation::Clockwise => Ordering::Greater,
        Orientation::Collinear => Ordering::Equal,
    };
    is_below(one).cmp(&is_below(other)).then_with(turn)
}

/// The ways along the edges of an area from a place on them.
fn outgoing_edges(
    area: &PolygonArea,
    place: Coord<f64>,
    steps: &mut StepBudget<'_>,
) -> Result<Vec<OutgoingEdge>, StepsExhausted> {
    let mut ways = Vec::new();
    area.walk_edges(&|bounds| bounds.holds(place), steps, &mut |(_, edge)| {
        let is_on = edge.start != edge.end
            && BoundingRect::around_corners(&[edge.start, edge.end]).holds(place)
            && orientation_of_place(edge, place) == Collinear;
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
    /// The first corner of each ring but of these.
    fn rings_except(&self, met: &HashSet<usize>) -> impl Iterator<Item = Coord<f64>> {
        let rings = self.rings.iter().enumerate().filter(|(ring, _)| !met.contains(ring));
        rings.map(|(_, &start)| self.corners[start])
    }

    /// Whether a place that is on no edge is inside: to its right there is an odd number of edges.
    fn contains_place(
        &self,
        place: Coord<f64>,
        steps: &mut StepBudget<'_>,
    ) -> Result<bool, StepsExhausted> {
        let is_near = |bounds: &BoundingRect| {
            bounds.min.y <= place.y && place.y <= bounds.max.y && place.x <= bounds.max.x
        };
        let mut is_inside = false;
        self.walk_edges(&is_near, steps, &mut |(_, edge)| {
            let (is_start_above, is_end_above) = (edge.start.y > place.y, edge.end.y > place.y);
            let left =
                if is_end_above { Orientation::CounterClockwise } else { Orientation::Clockwise };
            is_inside ^=
                is_start_above != is_end_above && orientation_of_place(edge, place) == left;
        })?;
        Ok(is_inside)
    }
}
