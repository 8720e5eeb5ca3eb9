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
    Area, Bounds,
    walk::{Edge, Exhausted, Steps, walk_pairs},
};

/// How two areas lie to each other. Of areas that have a fault it may say anything.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Relation {
    /// Something is inside of both.
    pub(super) has_both: bool,
    /// Something is inside of the first and outside of the second.
    pub(super) has_first_only: bool,
    /// Something is inside of the second and outside of the first.
    pub(super) has_second_only: bool,
    /// Edges of both lie along each other. Not asked where others cross.
    pub(super) shares_line: bool,
}

impl Relation {
    /// Whether the areas have a part in common, and each has one of its own.
    pub(crate) fn overlaps(&self) -> bool {
        self.has_both && self.has_first_only && self.has_second_only
    }
}

/// How two areas lie to each other. O(n log n) for shapes as the ground has them.
pub(crate) fn relation(
    one: &Area,
    other: &Area,
    steps: &mut Steps<'_>,
) -> Result<Relation, Exhausted> {
    let mut contacts = Contacts::default();
    walk_pairs(one, other, steps, &mut |first, second| contacts.meet(one, other, first, second))?;
    let mut relation = Relation::default();
    if contacts.has_crossing {
        relation.has_both = true;
        relation.has_first_only = true;
        relation.has_second_only = true;
        return Ok(relation);
    }
    for place in &contacts.places {
        let place = Coord { x: f64::from_bits(place[0]), y: f64::from_bits(place[1]) };
        let (first, second) = (ways(one, place, steps)?, ways(other, place, steps)?);
        steps.take((first.len() * second.len()) as u64)?;
        for way in &first {
            relation.first_goes(way.along(&second, place));
        }
        for way in &second {
            relation.second_goes(way.along(&first, place));
        }
    }
    for ring in one.rings_but(&contacts.first_rings) {
        relation.first_goes(Along::of(other.has_inside(ring, steps)?));
    }
    for ring in other.rings_but(&contacts.second_rings) {
        relation.second_goes(Along::of(one.has_inside(ring, steps)?));
    }
    Ok(relation)
}

impl Relation {
    /// An edge of the first area lies so to the second one.
    fn first_goes(&mut self, along: Along) {
        match along {
            // The area of the edge is on one side of it only.
            Along::Inside => (self.has_both, self.has_second_only) = (true, true),
            Along::Outside => self.has_first_only = true,
            Along::Edge { is_same_side } => self.share(is_same_side),
        }
    }

    fn second_goes(&mut self, along: Along) {
        match along {
            Along::Inside => (self.has_both, self.has_first_only) = (true, true),
            Along::Outside => self.has_second_only = true,
            Along::Edge { is_same_side } => self.share(is_same_side),
        }
    }

    fn share(&mut self, is_same_side: bool) {
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
enum Along {
    Inside,
    Outside,
    /// Along an edge, with both areas on the same side or not.
    Edge {
        is_same_side: bool,
    },
}

impl Along {
    fn of(is_inside: bool) -> Along {
        if is_inside { Along::Inside } else { Along::Outside }
    }
}

/// Where edges of two areas meet without crossing: at corners of one or the other, so never at more places than both have corners.
#[derive(Default)]
struct Contacts {
    has_crossing: bool,
    /// The bits of longitude and latitude.
    places: BTreeSet<[u64; 2]>,
    first_rings: HashSet<usize>,
    second_rings: HashSet<usize>,
}

impl Contacts {
    fn meet(&mut self, one: &Area, other: &Area, first: Edge, second: Edge) -> ControlFlow<()> {
        let (a, b) = (first.1, second.1);
        if a.start == a.end || b.start == b.end {
            // The edges before and after it end there too.
            return ControlFlow::Continue(());
        }
        let of_b = [b.start, b.end].map(|corner| (corner, side(a, corner), a));
        let of_a = [a.start, a.end].map(|corner| (corner, side(b, corner), b));
        let parts = |ends: &[(Coord<f64>, Orientation, Line<f64>); 2]| {
            ends.iter().all(|end| end.1 != Collinear) && ends[0].1 != ends[1].1
        };
        if parts(&of_a) && parts(&of_b) {
            self.has_crossing = true;
            return ControlFlow::Break(());
        }
        for (corner, side, edge) in of_a.into_iter().chain(of_b) {
            if side == Collinear && Bounds::around(&[edge.start, edge.end]).holds(corner) {
                self.places.insert([corner.x.to_bits(), corner.y.to_bits()]);
                self.first_rings.insert(one.ring_of(first.0));
                self.second_rings.insert(other.ring_of(second.0));
            }
        }
        ControlFlow::Continue(())
    }
}

fn side(edge: Line<f64>, place: Coord<f64>) -> Orientation {
    RobustKernel::orient2d(edge.start, edge.end, place)
}

/// A way from a place along an edge of an area.
struct Way {
    /// A place farther along it.
    to: Coord<f64>,
    /// Whether it goes as the edge does, so that the inside is on its left.
    is_forward: bool,
}

impl Way {
    /// Where a way from a place lies to the area that has these ways from there.
    fn along(&self, ways: &[Way], place: Coord<f64>) -> Along {
        let turn = |one: &Way, other: &Way| by_angle(place, one.to, other.to);
        if let Some(same) = ways.iter().find(|way| turn(way, self).is_eq()) {
            return Along::Edge { is_same_side: same.is_forward == self.is_forward };
        }
        // Whoever turns to the left from the way before it does not cross another: it is inside if that way has the inside on its left.
        let before = ways.iter().filter(|way| turn(way, self).is_lt()).max_by(|a, b| turn(a, b));
        let before = before.or_else(|| ways.iter().max_by(|a, b| turn(a, b)));
        Along::of(before.is_some_and(|way| way.is_forward))
    }
}

/// Orders the ways from a place to two others by the angle, from the east to the left.
fn by_angle(from: Coord<f64>, one: Coord<f64>, other: Coord<f64>) -> Ordering {
    let is_below = |to: Coord<f64>| to.y < from.y || (to.y == from.y && to.x < from.x);
    let turn = || match RobustKernel::orient2d(from, one, other) {
        Orientation::CounterClockwise => Ordering::Less,
        Orientation::Clockwise => Ordering::Greater,
        Orientation::Collinear => Ordering::Equal,
    };
    is_below(one).cmp(&is_below(other)).then_with(turn)
}

/// The ways along the edges of an area from a place on them.
fn ways(area: &Area, place: Coord<f64>, steps: &mut Steps<'_>) -> Result<Vec<Way>, Exhausted> {
    let mut ways = Vec::new();
    area.walk(&|bounds| bounds.holds(place), steps, &mut |(_, edge)| {
        let is_on = edge.start != edge.end
            && Bounds::around(&[edge.start, edge.end]).holds(place)
            && side(edge, place) == Collinear;
        if is_on && edge.end != place {
            ways.push(Way { to: edge.end, is_forward: true });
        }
        if is_on && edge.start != place {
            ways.push(Way { to: edge.start, is_forward: false });
        }
    })?;
    Ok(ways)
}

impl Area {
    /// The first corner of each ring but of these.
    fn rings_but(&self, met: &HashSet<usize>) -> impl Iterator<Item = Coord<f64>> {
        let rings = self.rings.iter().enumerate().filter(|(ring, _)| !met.contains(ring));
        rings.map(|(_, &start)| self.corners[start])
    }

    /// Whether a place that is on no edge is inside: to its right there is an odd number of edges.
    fn has_inside(&self, place: Coord<f64>, steps: &mut Steps<'_>) -> Result<bool, Exhausted> {
        let is_near = |bounds: &Bounds| {
            bounds.min.y <= place.y && place.y <= bounds.max.y && place.x <= bounds.max.x
        };
        let mut is_inside = false;
        self.walk(&is_near, steps, &mut |(_, edge)| {
            let (is_start_above, is_end_above) = (edge.start.y > place.y, edge.end.y > place.y);
            let left =
                if is_end_above { Orientation::CounterClockwise } else { Orientation::Clockwise };
            is_inside ^= is_start_above != is_end_above && side(edge, place) == left;
        })?;
        Ok(is_inside)
    }
}
