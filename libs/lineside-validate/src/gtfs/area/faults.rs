//! Faults of an area: in single rings, in holes, and between polygons.

use std::{collections::HashMap, ops::ControlFlow, slice};

use geo::{Intersects as _, LineString};

use super::{
    BoundingRect, PolygonArea,
    relation::determine_area_relation,
    walk::{EdgeWalkAborted, EdgeWalkBudget, visit_nearby_edge_pairs},
};

/// The fewest edges that enclose an area.
const EDGES_MIN: usize = 3;

/// Returns the first fault of an area of closed rings, the outer ring of each polygon first, as a message.
pub(in crate::gtfs) fn find_area_fault(
    polygons: &[Vec<LineString<f64>>],
    steps: &mut EdgeWalkBudget<'_>,
) -> Result<Option<String>, EdgeWalkAborted> {
    for (at, rings) in polygons.iter().enumerate() {
        if let Some(fault) = find_polygon_fault(rings, steps)? {
            let is_one = polygons.len() == 1;
            return Ok(Some(if is_one { fault } else { format!("polygon {}: {fault}", at + 1) }));
        }
    }
    let parts: Vec<&[LineString<f64>]> = polygons.iter().map(Vec::as_slice).collect();
    Ok(find_overlapping_polygons(&parts, steps)?.map(|words| format!("polygons {words}")))
}

fn find_polygon_fault(
    rings: &[LineString<f64>],
    steps: &mut EdgeWalkBudget<'_>,
) -> Result<Option<String>, EdgeWalkAborted> {
    let mut outer: Option<PolygonArea> = None;
    for (at, ring) in rings.iter().enumerate() {
        let area = PolygonArea::new([slice::from_ref(ring)].into_iter());
        let fault = match (find_ring_corner_fault(ring), &outer) {
            (Some(fault), _) => Some(fault),
            (None, _) if has_self_intersection(&area, steps)? => Some("crosses or touches itself"),
            (None, Some(outer)) => find_hole_fault(outer, &area, steps)?,
            (None, None) => None,
        };
        if let Some(fault) = fault {
            let name = if at == 0 { "the outer ring".to_owned() } else { format!("hole {at}") };
            return Ok(Some(format!("{name} {fault}")));
        }
        outer.get_or_insert(area);
    }
    let holes: Vec<&[LineString<f64>]> = rings.iter().skip(1).map(slice::from_ref).collect();
    Ok(find_overlapping_polygons(&holes, steps)?.map(|words| format!("holes {words}")))
}

fn find_hole_fault(
    outer: &PolygonArea,
    hole: &PolygonArea,
    steps: &mut EdgeWalkBudget<'_>,
) -> Result<Option<&'static str>, EdgeWalkAborted> {
    let relation = determine_area_relation(outer, hole, steps)?;
    let fault = if relation.has_second_only {
        Some("is not within the outer ring")
    } else if relation.shares_line {
        Some("shares a line with the outer ring")
    } else {
        None
    };
    Ok(fault)
}

fn find_ring_corner_fault(ring: &LineString<f64>) -> Option<&'static str> {
    let n_edges = ring.0.windows(2).filter(|ends| ends[0] != ends[1]).count();
    if ring.0.iter().any(|corner| !corner.x.is_finite() || !corner.y.is_finite()) {
        Some("has a corner with invalid coordinates")
    } else if n_edges < EDGES_MIN {
        Some("has fewer than three corners")
    } else {
        None
    }
}

/// Returns true if edges meet that are not consecutive.
fn has_self_intersection(
    ring: &PolygonArea,
    steps: &mut EdgeWalkBudget<'_>,
) -> Result<bool, EdgeWalkAborted> {
    let mut is_met = false;
    visit_nearby_edge_pairs(ring, ring, steps, &mut |(_, one), (_, other)| {
        let is_next = one.start == other.end || one.end == other.start;
        is_met = !is_next && one.intersects(&other);
        if is_met { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    })?;
    Ok(is_met)
}

/// Returns a message about two polygons that share more than points, if any do.
fn find_overlapping_polygons(
    parts: &[&[LineString<f64>]],
    steps: &mut EdgeWalkBudget<'_>,
) -> Result<Option<String>, EdgeWalkAborted> {
    let bound = |rings: &&[LineString<f64>]| match rings.first() {
        Some(outer) => BoundingRect::bounding_box_of_corners(&outer.0),
        None => BoundingRect::NOTHING,
    };
    let bounds: Vec<BoundingRect> = parts.iter().map(bound).collect();
    let mut order: Vec<usize> = (0..parts.len()).collect();
    order.sort_by(|&one, &other| bounds[one].min.x.total_cmp(&bounds[other].min.x));
    // Most polygons are far from all others, so their areas are not needed.
    let mut areas: HashMap<usize, PolygonArea> = HashMap::new();
    for (nth, &one) in order.iter().enumerate() {
        for &other in &order[nth + 1..] {
            steps.spend_steps(1)?;
            if bounds[other].min.x > bounds[one].max.x {
                break;
            }
            if !bounds[one].intersects_box(&bounds[other]) {
                continue;
            }
            for at in [one, other] {
                areas.entry(at).or_insert_with(|| PolygonArea::new([parts[at]].into_iter()));
            }
            let relation = determine_area_relation(&areas[&one], &areas[&other], steps)?;
            let (first, second) = (one.min(other) + 1, one.max(other) + 1);
            if relation.has_both {
                return Ok(Some(format!("{first} and {second} overlap")));
            }
            if relation.shares_line {
                return Ok(Some(format!("{first} and {second} share a line")));
            }
        }
    }
    Ok(None)
}
