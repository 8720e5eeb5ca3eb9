//! The direction and density of streets at every point.
//!
//! Directions are a cross field, after the tensor fields of Chen et al., "Interactive Procedural Street Modeling"
//! (2008): each district has a grid at its own angle, the old town adds rings and radials around itself, shores and
//! main roads align the streets near them. As streets cross at right angles, all four directions of a crossing have the
//! same value, (cos 4θ, sin 4θ), and the weighted sum has no seams.

use super::plan::{District, DistrictCharacter};
use super::plane::{MeasuredLine, PlanePoint, point_from_xy};
use super::raster::GroundCoverRaster;
use crate::noise;

/// The cell size of the grid on which the field is computed, in metres; values between grid points are interpolated.
const CELL: f64 = 100.0;
/// The distance within which main roads align streets, in metres.
const ROADSIDE: f64 = 450.0;

#[derive(Debug)]
pub(crate) struct StreetField {
    corner: PlanePoint,
    width: usize,
    height: usize,
    /// (cos 4θ, sin 4θ), not normalized.
    axes: Vec<PlanePoint>,
    /// 0 in the country, 1 in the city centre.
    density: Vec<f32>,
}

impl StreetField {
    pub(crate) fn build_street_field(
        seed: u64,
        centre: PlanePoint,
        half: PlanePoint,
        raster: &GroundCoverRaster,
        districts: &[District],
        roads: &[MeasuredLine],
    ) -> Self {
        let (width, height) =
            ((half.x * 2.0 / CELL) as usize + 1, (half.y * 2.0 / CELL) as usize + 1);
        let mut field =
            Self { corner: centre - half, width, height, axes: Vec::new(), density: Vec::new() };
        let key = noise::random_key_for_purpose(seed, "field");
        let grids: Vec<DistrictGrid> = districts
            .iter()
            .enumerate()
            .map(|(i, d)| DistrictGrid::for_district(d, noise::hash_two_numbers(key, i as u64)))
            .collect();
        for i in 0..width * height {
            let p =
                field.corner + point_from_xy((i % width) as f64 * CELL, (i / width) as f64 * CELL);
            field.axes.push(street_axis_at(key, p, raster, &grids));
            field.density.push(compute_built_up_density(key, p, districts, roads) as f32);
        }
        field.align_field_with_roads(roads);
        field
    }

    /// Adds the directions of the roads around them, strongest at the kerb.
    fn align_field_with_roads(&mut self, roads: &[MeasuredLine]) {
        for road in roads {
            let count = (road.total_length() / CELL) as usize;
            for k in 0..=count {
                let (p, direction) = road.point_and_direction_at(k as f64 * CELL);
                let local = (p - self.corner) * (1.0 / CELL);
                let reach = (ROADSIDE / CELL) as isize;
                for dy in -reach..=reach {
                    for dx in -reach..=reach {
                        let (column, row) =
                            (local.x.round() as isize + dx, local.y.round() as isize + dy);
                        if let Some(i) = self.cell_index(column, row) {
                            let corner = self.corner
                                + point_from_xy(column as f64 * CELL, row as f64 * CELL);
                            let weight =
                                0.8 * (-(corner.distance_to(p) / (ROADSIDE * 0.5)).powi(2)).exp();
                            self.axes[i] =
                                self.axes[i] + four_way_direction_vector(direction) * weight;
                        }
                    }
                }
            }
        }
    }

    fn cell_index(&self, column: isize, row: isize) -> Option<usize> {
        let inside =
            (0..self.width as isize).contains(&column) && (0..self.height as isize).contains(&row);
        inside.then(|| row as usize * self.width + column as usize)
    }

    fn interpolate_at_point<T>(&self, p: PlanePoint, mix: impl Fn([usize; 4], f64, f64) -> T) -> T {
        let local = (p - self.corner) * (1.0 / CELL);
        let column = (local.x.floor().max(0.0) as usize).min(self.width - 2);
        let row = (local.y.floor().max(0.0) as usize).min(self.height - 2);
        let i = row * self.width + column;
        let share = |v: f64, cell: usize| (v - cell as f64).clamp(0.0, 1.0);
        mix(
            [i, i + 1, i + self.width, i + self.width + 1],
            share(local.x, column),
            share(local.y, row),
        )
    }

    /// Returns the one of the four street directions at a point that is closest to `heading`.
    pub(crate) fn street_direction(&self, p: PlanePoint, heading: PlanePoint) -> PlanePoint {
        let axis = self.interpolate_at_point(p, |[a, b, c, d], tx, ty| {
            self.axes[a]
                .point_towards(self.axes[b], tx)
                .point_towards(self.axes[c].point_towards(self.axes[d], tx), ty)
        });
        let direction = PlanePoint::from_angle(axis.y.atan2(axis.x) / 4.0);
        let side = direction.left_normal();
        let (straight, across) = (direction.dot_product(heading), side.dot_product(heading));
        if straight.abs() >= across.abs() {
            direction * straight.signum()
        } else {
            side * across.signum()
        }
    }

    /// Returns the built-up density: 0 in the country, 1 in the city centre.
    pub(crate) fn built_up_density(&self, p: PlanePoint) -> f64 {
        self.interpolate_at_point(p, |corners, tx, ty| {
            let [a, b, c, d] = corners.map(|i| f64::from(self.density[i]));
            (a + (b - a) * tx) * (1.0 - ty) + (c + (d - c) * tx) * ty
        })
    }
}

/// Returns the value of the crossing with a street in this direction (of length 1): its angle times four.
fn four_way_direction_vector(direction: PlanePoint) -> PlanePoint {
    let twice = point_from_xy(
        direction.x * direction.x - direction.y * direction.y,
        2.0 * direction.x * direction.y,
    );
    point_from_xy(twice.x * twice.x - twice.y * twice.y, 2.0 * twice.x * twice.y)
}

struct DistrictGrid {
    place: PlanePoint,
    reach: f64,
    axis: PlanePoint,
}

impl DistrictGrid {
    /// Returns the grid of a district, oriented roughly towards the old town, as the first roads led there.
    fn for_district(district: &District, key: u64) -> Self {
        let outward = district.position.y.atan2(district.position.x);
        let turn = (noise::pseudo_random_share(key) - 0.5) * 1.1;
        Self {
            place: district.position,
            reach: district.reach * 1.1,
            axis: PlanePoint::from_angle((outward + turn) * 4.0),
        }
    }
}

fn street_axis_at(
    key: u64,
    p: PlanePoint,
    raster: &GroundCoverRaster,
    grids: &[DistrictGrid],
) -> PlanePoint {
    let mut sum = four_way_direction_vector(p.unit_vector())
        * (0.15 + 0.9 * (-(p.vector_length() / 2_300.0).powi(2)).exp());
    for grid in grids {
        sum = sum + grid.axis * (-(p.distance_to(grid.place) / grid.reach).powi(2)).exp();
    }
    let shore = raster.shore_distance(p).abs();
    let along_shore = four_way_direction_vector(raster.inland_direction(p).unit_vector());
    sum = sum + along_shore * (1.1 * (-shore / 220.0).exp());
    // A slow swirl bends every grid a little.
    let turn = noise::fractal_noise(key, p.x / 1_700.0, p.y / 1_700.0, 2) * 1.3;
    let (sin, cos) = turn.sin_cos();
    point_from_xy(sum.x * cos - sum.y * sin, sum.x * sin + sum.y * cos)
}

/// Computes the density: high in districts, with fingers of houses along the main roads and green wedges between them.
fn compute_built_up_density(
    key: u64,
    p: PlanePoint,
    districts: &[District],
    roads: &[MeasuredLine],
) -> f64 {
    let ragged = noise::fractal_noise(noise::hash_two_numbers(key, 1), p.x / 900.0, p.y / 900.0, 3);
    let mut density: f64 = 0.0;
    for district in districts {
        let (peak, reach) = match district.character {
            DistrictCharacter::Core => (1.0, district.reach * 2.1),
            DistrictCharacter::Inner => (0.85, district.reach * 1.35),
            DistrictCharacter::Suburb => (0.6, district.reach * 1.05),
            DistrictCharacter::Town => (0.5, district.reach * 0.85),
        };
        let away = p.distance_to(district.position) / reach;
        density = density.max(peak * (-away * away).exp());
    }
    let finger = 0.42 * (-(p.vector_length() / 9_500.0).powi(4)).exp();
    // Roads cost far more than districts, so they are evaluated only where they can still matter.
    if density < finger && finger > 0.02 {
        let near_road =
            roads.iter().map(|road| approximate_distance_to_line(road, p)).fold(f64::MAX, f64::min);
        density = density.max(finger * (-(near_road / 480.0).powi(2)).exp());
    }
    (density + ragged * 0.16).clamp(0.0, 1.0)
}

/// Returns the distance to a line's points, which are close enough to each other here.
fn approximate_distance_to_line(line: &MeasuredLine, p: PlanePoint) -> f64 {
    line.points().iter().step_by(4).map(|q| q.distance_to(p)).fold(f64::MAX, f64::min)
}
