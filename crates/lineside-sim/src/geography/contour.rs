//! Outlines of the regions in which a value is positive (marching squares), such as the built-up area.

use super::plane::{PlanePoint, point_from_xy, round_corners, simplify_line};

/// Traces rings around every region of positive value in a box; a hole in a region is a separate ring.
///
/// `value` should be negative along the edge of the box, or regions end there without an outline.
pub(crate) fn trace_outlines(
    centre: PlanePoint,
    half: PlanePoint,
    cell: f64,
    value: impl Fn(PlanePoint) -> f64,
) -> Vec<Vec<PlanePoint>> {
    let (width, height) = ((half.x * 2.0 / cell) as usize, (half.y * 2.0 / cell) as usize);
    let corner = centre - half;
    let place =
        |column: usize, row: usize| corner + point_from_xy(column as f64 * cell, row as f64 * cell);
    let edge =
        |column: usize, row: usize| column == 0 || row == 0 || column == width || row == height;
    let values: Vec<f64> = (0..(width + 1) * (height + 1))
        .map(|i| (i % (width + 1), i / (width + 1)))
        .map(|(column, row)| if edge(column, row) { -1.0 } else { value(place(column, row)) })
        .collect();
    let mut walk = MarchingSquares { width, height, values, next: vec![[NONE; 2]; width * height] };
    walk.record_outline_sides();
    walk.collect_outline_rings(place)
}

/// A missing edge.
const NONE: u32 = u32::MAX;

struct MarchingSquares {
    width: usize,
    height: usize,
    values: Vec<f64>,
    /// For each square up to two pieces of outline, as (edge in, edge out) packed in 4 bits.
    next: Vec<[u32; 2]>,
}

/// The sides of a square, counter-clockwise: bottom, right, top, left.
const STEPS: [(isize, isize); 4] = [(0, -1), (1, 0), (0, 1), (-1, 0)];

impl MarchingSquares {
    fn value_at(&self, column: usize, row: usize) -> f64 {
        self.values[row * (self.width + 1) + column]
    }

    fn corner_values(&self, column: usize, row: usize) -> [f64; 4] {
        [
            self.value_at(column, row),
            self.value_at(column + 1, row),
            self.value_at(column + 1, row + 1),
            self.value_at(column, row + 1),
        ]
    }

    /// Records the sides through which the outline runs, with the positive ground on its left.
    fn record_outline_sides(&mut self) {
        for row in 0..self.height {
            for column in 0..self.width {
                let up = self.corner_values(column, row).map(|v| v > 0.0);
                let mut pieces = [NONE; 2];
                let mut count = 0;
                for side in 0..4 {
                    // The outline enters through a side along which, counter-clockwise, positive ground ends.
                    if up[side] && !up[(side + 1) % 4] {
                        let out =
                            (1..4).map(|k| (side + k) % 4).find(|s| !up[*s] && up[(s + 1) % 4]);
                        if let Some(out) = out {
                            pieces[count] = (side * 4 + out) as u32;
                            count += 1;
                        }
                    }
                }
                self.next[row * self.width + column] = pieces;
            }
        }
    }

    fn collect_outline_rings(
        &mut self,
        place: impl Fn(usize, usize) -> PlanePoint,
    ) -> Vec<Vec<PlanePoint>> {
        let mut rings = Vec::new();
        for start in 0..self.next.len() {
            for k in 0..2 {
                if self.next[start][k] != NONE {
                    let ring = self.trace_outline_ring(start, k, &place);
                    if ring.len() > 3 {
                        rings.push(ring);
                    }
                }
            }
        }
        rings
    }

    fn trace_outline_ring(
        &mut self,
        start: usize,
        k: usize,
        place: &impl Fn(usize, usize) -> PlanePoint,
    ) -> Vec<PlanePoint> {
        let mut ring = Vec::new();
        let (mut square, mut piece) = (start, k);
        loop {
            let packed = std::mem::replace(&mut self.next[square][piece], NONE);
            let out = (packed % 4) as usize;
            let (column, row) = (square % self.width, square / self.width);
            ring.push(self.zero_crossing_on_side(column, row, out, place));
            let (dx, dy) = STEPS[out];
            let (Some(column), Some(row)) =
                (column.checked_add_signed(dx), row.checked_add_signed(dy))
            else {
                break;
            };
            if column >= self.width || row >= self.height {
                break;
            }
            square = row * self.width + column;
            let entry = ((out + 2) % 4) as u32;
            match self.next[square].iter().position(|packed| *packed != NONE && packed / 4 == entry)
            {
                Some(next) => piece = next,
                None => break,
            }
        }
        ring
    }

    /// Returns the point on a side of a square where the value crosses zero.
    fn zero_crossing_on_side(
        &self,
        column: usize,
        row: usize,
        side: usize,
        place: &impl Fn(usize, usize) -> PlanePoint,
    ) -> PlanePoint {
        let corner = |k: usize| match k % 4 {
            0 => (column, row),
            1 => (column + 1, row),
            2 => (column + 1, row + 1),
            _ => (column, row + 1),
        };
        let (a, b) = (corner(side), corner(side + 1));
        let (va, vb) = (self.value_at(a.0, a.1), self.value_at(b.0, b.1));
        place(a.0, a.1).point_towards(place(b.0, b.1), va / (va - vb))
    }
}

/// Groups outlines into regions, each an outer ring followed by its holes, smoothed. Tiny rings are dropped.
pub(crate) fn group_rings_into_regions(
    rings: &[Vec<PlanePoint>],
    tolerance: f64,
) -> Vec<Vec<Vec<PlanePoint>>> {
    let smoothed =
        rings.iter().filter(|ring| ring.len() > 8).map(|ring| smooth_ring(ring, tolerance));
    let (outer, holes): (Vec<_>, Vec<_>) =
        smoothed.filter(|ring| ring.len() > 3).partition(|ring| signed_area(ring) > 0.0);
    let mut regions: Vec<Vec<Vec<PlanePoint>>> = outer.into_iter().map(|ring| vec![ring]).collect();
    for hole in holes {
        if let Some(region) = regions.iter_mut().find(|region| ring_encloses(&region[0], hole[0])) {
            region.push(hole);
        }
    }
    regions
}

/// Returns the area of a ring, positive if the ring is counter-clockwise.
fn signed_area(ring: &[PlanePoint]) -> f64 {
    (0..ring.len()).map(|i| ring[i].cross_product(ring[(i + 1) % ring.len()])).sum::<f64>() / 2.0
}

fn ring_encloses(ring: &[PlanePoint], p: PlanePoint) -> bool {
    let crosses = |a: PlanePoint, b: PlanePoint| {
        (a.y > p.y) != (b.y > p.y) && p.x < a.x + (b.x - a.x) * (p.y - a.y) / (b.y - a.y)
    };
    (0..ring.len()).filter(|i| crosses(ring[*i], ring[(i + 1) % ring.len()])).count() % 2 == 1
}

/// Smooths the steps of a ring and drops needless points.
pub(crate) fn smooth_ring(ring: &[PlanePoint], tolerance: f64) -> Vec<PlanePoint> {
    let mut closed = ring.to_vec();
    closed.push(ring[0]);
    let mut ring =
        simplify_line(&round_corners(&simplify_line(&closed, tolerance), 2), tolerance / 3.0);
    ring.pop();
    ring
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_disc_with_a_hole_has_two_outlines() {
        let value = |p: PlanePoint| (800.0 - p.vector_length()).min(p.vector_length() - 300.0);
        let mut rings =
            trace_outlines(point_from_xy(0.0, 0.0), point_from_xy(1_000.0, 1_000.0), 50.0, value);
        rings.sort_by_key(Vec::len);
        assert_eq!(rings.len(), 2);
        for (ring, radius) in rings.iter().zip([300.0, 800.0]) {
            assert!(ring.iter().all(|p| (p.vector_length() - radius).abs() < 5.0));
        }
        let regions = group_rings_into_regions(&rings, 5.0);
        assert_eq!((regions.len(), regions[0].len()), (1, 2));
        assert!(signed_area(&regions[0][0]) > 1.9e6 && signed_area(&regions[0][1]) < -2.7e5);
    }

    #[test]
    fn an_area_that_reaches_the_edge_of_the_box_has_an_outline() {
        assert_eq!(
            trace_outlines(point_from_xy(0.0, 0.0), point_from_xy(500.0, 500.0), 50.0, |_| 1.0)
                .len(),
            1
        );
    }
}
