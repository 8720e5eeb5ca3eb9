//! An area on the map, polygons with holes, of as many corners as a file has: what is wrong with it, and how two of them lie to each
//! other. Read in this order:
//!
//! - this file: corners, and boxes around runs of them;
//! - [`walk`]: which edges may meet, by their boxes, within a bound of [steps](StepBudget);
//! - [`relation`]: whether two areas overlap, or share a line;
//! - [`faults`]: rings that cross themselves, holes outside of what they are in.
//!
//! What is needed of memory grows with the corners, never with the crossings: the first one tells enough.

mod faults;
mod relation;
#[cfg(test)]
mod tests;
mod walk;

use geo::{Coord, LineString, Winding as _};

pub(super) use self::faults::find_area_fault;
pub(crate) use self::{
    relation::relate_areas,
    walk::{StepBudget, StepsExhausted},
};

/// Edges that share a box.
const BLOCK: usize = 8;
/// Boxes within a larger one.
const FAN: usize = 4;
/// Stands between rings, where no edge is.
const GAP: Coord<f64> = Coord { x: f64::NAN, y: f64::NAN };

/// An area, in degrees: polygons with holes.
#[derive(Debug)]
pub struct PolygonArea {
    /// The corners of all rings, each of which ends with its first corner; what is inside lies on the left. Gaps fill the last block of
    /// each ring.
    corners: Vec<Coord<f64>>,
    /// Where each ring begins in `corners`.
    rings: Vec<usize>,
    /// Boxes around the edges of each block, around some of these boxes each, and so on, up to the one around all.
    boxes: Vec<Vec<BoundingRect>>,
}

impl PolygonArea {
    /// An area of closed rings: of each polygon the outer one first. O(n log n).
    pub(super) fn new<'a>(polygons: impl Iterator<Item = &'a [LineString<f64>]>) -> PolygonArea {
        let mut rings: Vec<(bool, &LineString<f64>)> = polygons
            .flat_map(|rings| rings.iter().enumerate().map(|(at, ring)| (at > 0, ring)))
            .collect();
        // Rings that lie together on the map come together, so that boxes around several are small.
        let whole = rings.iter().map(|(_, ring)| BoundingRect::around_corners(&ring.0));
        let whole = whole.fold(BoundingRect::NOTHING, BoundingRect::with);
        rings.sort_by_cached_key(|(_, ring)| {
            whole.cell(BoundingRect::around_corners(&ring.0).middle())
        });
        let mut area = PolygonArea { corners: Vec::new(), rings: Vec::new(), boxes: Vec::new() };
        for (is_hole, ring) in rings {
            area.add_ring(ring, is_hole);
        }
        area.draw_boxes();
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

    fn draw_boxes(&mut self) {
        let n_blocks = self.corners.len() / BLOCK;
        let block = |block: usize| {
            let ends = self
                .block_edges(block)
                .map(|(_, edge)| BoundingRect::around_corners(&[edge.start, edge.end]));
            ends.fold(BoundingRect::NOTHING, BoundingRect::with)
        };
        let mut boxes: Vec<Vec<BoundingRect>> = vec![(0..n_blocks).map(block).collect()];
        while let Some(last) = boxes.last().filter(|last| last.len() > 1) {
            let around = |few: &[BoundingRect]| {
                few.iter().copied().fold(BoundingRect::NOTHING, BoundingRect::with)
            };
            boxes.push(last.chunks(FAN).map(around).collect());
        }
        self.boxes = boxes;
    }

    /// The corners of its rings, of each the first one twice.
    pub fn corners(&self) -> impl Iterator<Item = Coord<f64>> {
        self.corners.iter().copied().filter(|corner| !corner.x.is_nan())
    }

    /// The box around all of it; around nothing if it is empty.
    pub(crate) fn bounds(&self) -> BoundingRect {
        let top = self.boxes.last().and_then(|boxes| boxes.first());
        top.copied().unwrap_or(BoundingRect::NOTHING)
    }

    /// Of which ring a corner, or the edge that begins there, is.
    fn ring_of(&self, corner: usize) -> usize {
        self.rings.partition_point(|&start| start <= corner).saturating_sub(1)
    }
}

/// A box along the axes; the sides belong to it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct BoundingRect {
    min: Coord<f64>,
    max: Coord<f64>,
}

impl BoundingRect {
    /// Around nothing: meets nothing.
    const NOTHING: BoundingRect = BoundingRect {
        min: Coord { x: f64::INFINITY, y: f64::INFINITY },
        max: Coord { x: f64::NEG_INFINITY, y: f64::NEG_INFINITY },
    };

    fn around_corners(corners: &[Coord<f64>]) -> BoundingRect {
        let each = corners.iter().map(|&corner| BoundingRect { min: corner, max: corner });
        each.fold(BoundingRect::NOTHING, BoundingRect::with)
    }

    fn with(self, other: BoundingRect) -> BoundingRect {
        BoundingRect {
            min: Coord { x: self.min.x.min(other.min.x), y: self.min.y.min(other.min.y) },
            max: Coord { x: self.max.x.max(other.max.x), y: self.max.y.max(other.max.y) },
        }
    }

    /// Whether both have a place in common.
    pub(crate) fn meets(&self, other: &BoundingRect) -> bool {
        self.min.x <= other.max.x
            && other.min.x <= self.max.x
            && self.min.y <= other.max.y
            && other.min.y <= self.max.y
    }

    fn holds(&self, place: Coord<f64>) -> bool {
        self.meets(&BoundingRect { min: place, max: place })
    }

    fn middle(&self) -> Coord<f64> {
        (self.min + self.max) / 2.0
    }

    /// The number of a cell within the box: cells that lie together have numbers that do (Morton's order).
    fn cell(&self, place: Coord<f64>) -> u64 {
        let part = |at: f64, min: f64, max: f64| ((at - min) / (max - min) * 65_535.0) as u64;
        let x = part(place.x, self.min.x, self.max.x);
        let y = part(place.y, self.min.y, self.max.y);
        let bits = |bit: u32| ((x >> bit) & 1) | (((y >> bit) & 1) << 1);
        (0..16).map(|bit| bits(bit) << (2 * bit)).sum()
    }
}
