//! A raster of 25 m squares with their cover (land, sea, river, still water or park) and their distance to the shore.

use super::plane::{PlanePoint, point_from_xy};

/// The side of a square in metres: a canal of 44 m is still visible, and the whole island fits in 10 MB.
const CELL: f64 = 25.0;

/// The cover of a square.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum GroundCover {
    Sea,
    Land,
    /// Flowing water, which can be bridged.
    River,
    /// Lakes and harbour basins, which cannot be bridged.
    StandingWater,
    Park,
    Wood,
}

impl GroundCover {
    pub(crate) fn is_water(self) -> bool {
        matches!(self, Self::Sea | Self::River | Self::StandingWater)
    }
}

#[derive(Debug)]
pub(crate) struct GroundCoverRaster {
    corner: PlanePoint,
    width: usize,
    height: usize,
    cover: Vec<GroundCover>,
    /// Metres to the nearest shore: positive on land, negative on water.
    shore: Vec<f32>,
}

impl GroundCoverRaster {
    /// Returns a raster of sea only.
    pub(crate) fn new(centre: PlanePoint, half: PlanePoint) -> Self {
        let (width, height) = ((half.x * 2.0 / CELL) as usize, (half.y * 2.0 / CELL) as usize);
        let cells = width * height;
        Self {
            corner: centre - half,
            width,
            height,
            cover: vec![GroundCover::Sea; cells],
            shore: vec![0.0; cells],
        }
    }

    /// Sets the cover within the rings (even-odd, so an inner ring is a hole), where `is_fillable` accepts the old
    /// cover.
    pub(crate) fn fill_cover_within_rings(
        &mut self,
        rings: &[Vec<PlanePoint>],
        cover: GroundCover,
        is_fillable: impl Fn(GroundCover) -> bool,
    ) {
        let mut crossings: Vec<Vec<f64>> = vec![Vec::new(); self.height];
        for ring in rings {
            for (i, &a) in ring.iter().enumerate() {
                self.collect_row_crossings(a, ring[(i + 1) % ring.len()], &mut crossings);
            }
        }
        for (row, xs) in crossings.iter_mut().enumerate() {
            xs.sort_by(f64::total_cmp);
            for pair in xs.chunks_exact(2) {
                let column = |x: f64| {
                    ((x - self.corner.x) / CELL - 0.5).ceil().clamp(0.0, self.width as f64) as usize
                };
                for cell in &mut self.cover[row * self.width..][column(pair[0])..column(pair[1])] {
                    if is_fillable(*cell) {
                        *cell = cover;
                    }
                }
            }
        }
    }

    fn collect_row_crossings(&self, a: PlanePoint, b: PlanePoint, crossings: &mut [Vec<f64>]) {
        let (low, high) = if a.y < b.y { (a, b) } else { (b, a) };
        let row = |y: f64| {
            ((y - self.corner.y) / CELL - 0.5).ceil().clamp(0.0, self.height as f64) as usize
        };
        for (r, xs) in crossings.iter_mut().enumerate().take(row(high.y)).skip(row(low.y)) {
            let y = self.corner.y + (r as f64 + 0.5) * CELL;
            xs.push(low.x + (high.x - low.x) * (y - low.y) / (high.y - low.y));
        }
    }

    /// Measures the distances to the shore. Called once all water is in place.
    pub(crate) fn compute_shore_distances(&mut self) {
        let to_water = self.distances_to_wanted_squares(|cover| cover.is_water());
        let to_land = self.distances_to_wanted_squares(|cover| !cover.is_water());
        for (shore, (water, land)) in self.shore.iter_mut().zip(to_water.iter().zip(&to_land)) {
            *shore = (water - land) * CELL as f32;
        }
    }

    /// Returns the distance of each square to the nearest wanted one, in squares: two sweeps with the weights 1 and √2.
    fn distances_to_wanted_squares(&self, wanted: impl Fn(GroundCover) -> bool) -> Vec<f32> {
        let mut distance: Vec<f32> =
            self.cover.iter().map(|c| if wanted(*c) { 0.0 } else { f32::MAX }).collect();
        let width = self.width as isize;
        let near = [
            (-1, 1.0),
            (-width, 1.0),
            (-width - 1, std::f32::consts::SQRT_2),
            (-width + 1, std::f32::consts::SQRT_2),
        ];
        let relax = |distance: &mut [f32], i: usize, sign: isize| {
            for (offset, weight) in near {
                if let Some(other) =
                    i.checked_add_signed(offset * sign).and_then(|j| distance.get(j))
                {
                    distance[i] = distance[i].min(other + weight);
                }
            }
        };
        for i in 0..distance.len() {
            relax(&mut distance, i, 1);
        }
        for i in (0..distance.len()).rev() {
            relax(&mut distance, i, -1);
        }
        distance
    }

    fn square_index(&self, column: isize, row: isize) -> usize {
        let column = column.clamp(0, self.width as isize - 1) as usize;
        row.clamp(0, self.height as isize - 1) as usize * self.width + column
    }

    /// Returns the cover at a point; sea outside the raster.
    pub(crate) fn cover_at(&self, p: PlanePoint) -> GroundCover {
        let local = (p - self.corner) * (1.0 / CELL);
        if local.x < 0.0
            || local.y < 0.0
            || local.x >= self.width as f64
            || local.y >= self.height as f64
        {
            return GroundCover::Sea;
        }
        self.cover[self.square_index(local.x as isize, local.y as isize)]
    }

    /// Returns the metres to the shore at a point, interpolated: positive on land, negative on water.
    pub(crate) fn shore_distance(&self, p: PlanePoint) -> f64 {
        let local = (p - self.corner) * (1.0 / CELL) - point_from_xy(0.5, 0.5);
        let (column, row) = (local.x.floor(), local.y.floor());
        let value = |dx: isize, dy: isize| {
            f64::from(self.shore[self.square_index(column as isize + dx, row as isize + dy)])
        };
        let (tx, ty) = (local.x - column, local.y - row);
        let low = value(0, 0) * (1.0 - tx) + value(1, 0) * tx;
        let high = value(0, 1) * (1.0 - tx) + value(1, 1) * tx;
        low * (1.0 - ty) + high * ty
    }

    /// Returns the direction in which the distance to the shore grows fastest.
    pub(crate) fn inland_direction(&self, p: PlanePoint) -> PlanePoint {
        let slope = |d: PlanePoint| self.shore_distance(p + d) - self.shore_distance(p - d);
        point_from_xy(slope(point_from_xy(60.0, 0.0)), slope(point_from_xy(0.0, 60.0)))
    }

    /// Returns the first point along a widening spiral that `accept` accepts.
    pub(crate) fn find_accepted_point_near(
        &self,
        p: PlanePoint,
        accept: impl Fn(PlanePoint) -> bool,
    ) -> Option<PlanePoint> {
        (0..2_000)
            .map(|i| p + PlanePoint::from_angle(f64::from(i) * 2.4) * (f64::from(i).sqrt() * 30.0))
            .find(|candidate| accept(*candidate))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn square(half: f64) -> Vec<PlanePoint> {
        vec![
            point_from_xy(-half, -half),
            point_from_xy(half, -half),
            point_from_xy(half, half),
            point_from_xy(-half, half),
        ]
    }

    #[test]
    fn inner_rings_are_holes_and_shore_distances_are_signed() {
        let mut raster =
            GroundCoverRaster::new(point_from_xy(0.0, 0.0), point_from_xy(2_000.0, 2_000.0));
        raster.fill_cover_within_rings(
            &[square(1_000.0), square(300.0)],
            GroundCover::Land,
            |_| true,
        );
        raster.compute_shore_distances();
        assert_eq!(raster.cover_at(point_from_xy(600.0, 0.0)), GroundCover::Land);
        assert_eq!(raster.cover_at(point_from_xy(0.0, 0.0)), GroundCover::Sea);
        assert_eq!(raster.cover_at(point_from_xy(9_999.0, 0.0)), GroundCover::Sea);
        assert!((raster.shore_distance(point_from_xy(650.0, 0.0)) - 350.0).abs() < CELL);
        assert!((raster.shore_distance(point_from_xy(1_200.0, 0.0)) + 200.0).abs() < CELL);
        let inland = raster.inland_direction(point_from_xy(900.0, 0.0)).unit_vector();
        assert!(inland.x < -0.99);
    }
}
