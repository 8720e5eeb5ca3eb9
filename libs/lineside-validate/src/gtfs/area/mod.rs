//! Areas on the map: polygons with holes and any number of corners, their faults, and the relation of two areas. Read
//! in this order:
//!
//! - this file: corners, and boxes around runs of corners;
//! - [`walk`]: pairs of edges that may meet, by their boxes, within a budget of [steps](EdgeWalkBudget);
//! - [`relation`]: overlaps and shared lines of two areas;
//! - [`faults`]: rings that cross themselves, and holes outside their ring.
//!
//! Memory grows with the number of corners, never with the number of crossings: the first crossing is enough.

mod faults;
mod relation;
#[cfg(test)]
mod tests;
mod walk;

use geo::{Coord, LineString, Winding as _};

pub(super) use self::faults::find_area_fault;
pub(crate) use self::{
    relation::determine_area_relation,
    walk::{EdgeWalkAborted, EdgeWalkBudget},
};

/// Edges per box.
const BLOCK: usize = 8;
/// Boxes per box of the next level.
const FAN: usize = 4;
/// The separator between rings, which is no corner.
const GAP: Coord<f64> = Coord { x: f64::NAN, y: f64::NAN };

/// An area, in degrees: polygons with holes.
#[derive(Debug)]
pub struct PolygonArea {
    /// The corners of all rings, each ending with its first corner; the inside is on the left. Gaps fill the last block
    /// of each ring.
    corners: Vec<Coord<f64>>,
    /// The start of each ring in `corners`.
    rings: Vec<usize>,
    /// Boxes around the edges of each block, boxes around groups of these boxes, and so on, up to one box around
    /// everything.
    boxes: Vec<Vec<BoundingRect>>,
}

impl PolygonArea {
    /// Creates an area from closed rings, the outer ring of each polygon first. O(n log n).
    pub(super) fn new<'a>(polygons: impl Iterator<Item = &'a [LineString<f64>]>) -> PolygonArea {
        let mut rings: Vec<(bool, &LineString<f64>)> = polygons
            .flat_map(|rings| rings.iter().enumerate().map(|(at, ring)| (at > 0, ring)))
            .collect();
        // Rings close to each other on the map are stored together, so that boxes around several are small.
        let whole = rings.iter().map(|(_, ring)| BoundingRect::bounding_box_of_corners(&ring.0));
        let whole = whole.fold(BoundingRect::NOTHING, BoundingRect::enclosing_both);
        rings.sort_by_cached_key(|(_, ring)| {
            whole.morton_cell_number(BoundingRect::bounding_box_of_corners(&ring.0).center_point())
        });
        let mut area = PolygonArea { corners: Vec::new(), rings: Vec::new(), boxes: Vec::new() };
        for (is_hole, ring) in rings {
            area.add_ring(ring, is_hole);
        }
        area.build_bounding_box_hierarchy();
        area
    }

    fn add_ring(&mut self, ring: &LineString<f64>, is_hole: bool) {
        self.rings.push(self.corners.len());
        let is_turned = if is_hole { ring.is_ccw() } else { ring.is_cw() };
        if is_turned {
            self.corners.extend(ring.0.iter().rev());
        } else {
            self.corners.extend(&ring.0);
        }
        let n_gaps = BLOCK - self.corners.len() % BLOCK;
        self.corners.extend(std::iter::repeat_n(GAP, n_gaps));
    }

    fn build_bounding_box_hierarchy(&mut self) {
        let n_blocks = self.corners.len() / BLOCK;
        let block = |block: usize| {
            let ends = self
                .block_edges(block)
                .map(|(_, edge)| BoundingRect::bounding_box_of_corners(&[edge.start, edge.end]));
            ends.fold(BoundingRect::NOTHING, BoundingRect::enclosing_both)
        };
        let mut boxes: Vec<Vec<BoundingRect>> = vec![(0..n_blocks).map(block).collect()];
        while let Some(last) = boxes.last().filter(|last| last.len() > 1) {
            let bound = |few: &[BoundingRect]| {
                few.iter().copied().fold(BoundingRect::NOTHING, BoundingRect::enclosing_both)
            };
            boxes.push(last.chunks(FAN).map(bound).collect());
        }
        self.boxes = boxes;
    }

    /// Returns the corners of all rings, with the first corner of each ring twice.
    pub fn ring_corners(&self) -> impl Iterator<Item = Coord<f64>> {
        self.corners.iter().copied().filter(|corner| !corner.x.is_nan())
    }

    /// Returns the box around the area; empty if the area is empty.
    pub(crate) fn bounding_box(&self) -> BoundingRect {
        let top = self.boxes.last().and_then(|boxes| boxes.first());
        top.copied().unwrap_or(BoundingRect::NOTHING)
    }

    /// Returns the ring of a corner, or of the edge that begins there.
    fn ring_index_of_corner(&self, corner: usize) -> usize {
        self.rings.partition_point(|&start| start <= corner).saturating_sub(1)
    }
}

/// An axis-parallel box that includes its sides.
#[derive(Clone, Copy, Debug)]
pub(crate) struct BoundingRect {
    min: Coord<f64>,
    max: Coord<f64>,
}

impl BoundingRect {
    /// The empty box, which meets nothing.
    const NOTHING: BoundingRect = BoundingRect {
        min: Coord { x: f64::INFINITY, y: f64::INFINITY },
        max: Coord { x: f64::NEG_INFINITY, y: f64::NEG_INFINITY },
    };

    fn bounding_box_of_corners(corners: &[Coord<f64>]) -> BoundingRect {
        let each = corners.iter().map(|&corner| BoundingRect { min: corner, max: corner });
        each.fold(BoundingRect::NOTHING, BoundingRect::enclosing_both)
    }

    fn enclosing_both(self, other: BoundingRect) -> BoundingRect {
        BoundingRect {
            min: Coord { x: self.min.x.min(other.min.x), y: self.min.y.min(other.min.y) },
            max: Coord { x: self.max.x.max(other.max.x), y: self.max.y.max(other.max.y) },
        }
    }

    /// Returns true if the boxes have a point in common.
    pub(crate) fn intersects_box(&self, other: &BoundingRect) -> bool {
        self.min.x <= other.max.x
            && other.min.x <= self.max.x
            && self.min.y <= other.max.y
            && other.min.y <= self.max.y
    }

    fn contains_point(&self, place: Coord<f64>) -> bool {
        self.intersects_box(&BoundingRect { min: place, max: place })
    }

    fn center_point(&self) -> Coord<f64> {
        (self.min + self.max) / 2.0
    }

    /// Returns the number of a point's cell within the box: close cells have close numbers (Morton order).
    fn morton_cell_number(&self, place: Coord<f64>) -> u64 {
        let part = |at: f64, min: f64, max: f64| ((at - min) / (max - min) * 65_535.0) as u64;
        let x = part(place.x, self.min.x, self.max.x);
        let y = part(place.y, self.min.y, self.max.y);
        let bits = |bit: u32| ((x >> bit) & 1) | (((y >> bit) & 1) << 1);
        (0..16).map(|bit| bits(bit) << (2 * bit)).sum()
    }
}
