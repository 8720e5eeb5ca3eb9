//! The terrain: the plan's coast, river, lakes and parks as rings, varied by the seed.

use super::contour::{smooth_ring, trace_outlines};
use super::plan;
use super::plane::{
    MeasuredLine, PlanePoint, closest_on_segment, point_from_xy, ribbon_ring, smooth_spline,
};
use super::raster::{GroundCover, GroundCoverRaster};
use crate::noise;

/// A closed line without a repeated first point.
pub(crate) type ClosedRing = Vec<PlanePoint>;

/// A piece of ground or water with a class.
#[derive(Debug)]
pub(crate) struct TerrainArea {
    /// `island`, `islet`, `mole`; `river`, `stream`, `canal`, `lake`, `basin`; `park`, `wood`, `square`; `beach`,
    /// `port`, `urban`, `meadow`, `apron`, `runway`.
    pub(crate) class: &'static str,
    pub(crate) name: Option<&'static str>,
    /// The outer ring and its holes.
    pub(crate) rings: Vec<ClosedRing>,
}

#[derive(Debug)]
pub(crate) struct Terrain {
    pub(crate) land: Vec<TerrainArea>,
    pub(crate) water: Vec<TerrainArea>,
    pub(crate) parks: Vec<TerrainArea>,
    /// Ground of another colour, such as beaches and the airport.
    pub(crate) grounds: Vec<TerrainArea>,
    pub(crate) raster: GroundCoverRaster,
}

impl Terrain {
    pub(crate) fn build_terrain(seed: u64) -> Self {
        let land = land_areas(noise::random_key_for_purpose(seed, "coast"));
        let water = water_areas(noise::random_key_for_purpose(seed, "water"));
        let parks = park_areas(noise::random_key_for_purpose(seed, "parks"), &water[0].rings);
        let mut raster = GroundCoverRaster::new(plan::EXTENT_CENTRE, plan::HALF_EXTENT);
        for area in &land {
            raster.fill_cover_within_rings(&area.rings, GroundCover::Land, |_| true);
        }
        for area in &water {
            let cover = if matches!(area.class, "lake" | "basin") {
                GroundCover::StandingWater
            } else {
                GroundCover::River
            };
            raster.fill_cover_within_rings(&area.rings, cover, |below| below == GroundCover::Land);
        }
        for area in &parks {
            let cover = if area.class == "wood" { GroundCover::Wood } else { GroundCover::Park };
            raster.fill_cover_within_rings(&area.rings, cover, |below| below == GroundCover::Land);
        }
        raster.compute_shore_distances();
        let mut grounds = port_areas(&raster);
        grounds.extend(self::beach_and_airport_areas(&land[0].rings[0]));
        Self { land, water, parks, grounds, raster }
    }

    /// Adds small parks, which streets go around.
    pub(crate) fn add_small_parks(&mut self, squares: Vec<TerrainArea>) {
        for square in &squares {
            self.raster.fill_cover_within_rings(&square.rings, GroundCover::Park, |below| {
                below == GroundCover::Land
            });
        }
        self.parks.extend(squares);
    }

    /// Returns the lines along which a town has quays: the coast, the river's banks, the old town's shore.
    pub(crate) fn quay_banks(&self) -> impl Iterator<Item = &[PlanePoint]> {
        self.water[0].rings[..2].iter().chain(&self.land[0].rings).map(Vec::as_slice)
    }
}

fn terrain_area(class: &'static str, name: Option<&'static str>, ring: ClosedRing) -> TerrainArea {
    TerrainArea { class, name, rings: vec![ring] }
}

/// Moves each point of a ring sideways by noise at its position: bays `scale` metres wide, then coves, then rocks.
fn displace_ring_with_noise(
    ring: Vec<PlanePoint>,
    key: u64,
    scale: f64,
    strength: impl Fn(PlanePoint) -> f64,
) -> ClosedRing {
    let n = ring.len();
    (0..n)
        .map(|i| {
            let p = ring[i];
            let side = (ring[(i + 1) % n] - ring[(i + n - 1) % n]).unit_vector().left_normal();
            p + side * (noise::fractal_noise(key, p.x / scale, p.y / scale, 6) * strength(p))
        })
        .collect()
}

fn land_areas(key: u64) -> Vec<TerrainArea> {
    let (quay, reach) = plan::WATERFRONT;
    let calm = |p: PlanePoint| {
        let open = noise::ease_in_out(
            ((p.distance_to(quay) - reach * 0.75) / (reach * 0.5)).clamp(0.0, 1.0),
        );
        60.0 + 2_300.0 * open
    };
    let coast =
        displace_ring_with_noise(smooth_spline(&plan::COAST, true, 45.0), key, 3_600.0, calm);
    let mut land = vec![terrain_area("island", Some("Sandrey"), coast)];
    for (name, middle, long, wide, degrees) in plan::ISLETS {
        let ring = displace_ring_with_noise(
            oval_ring(middle, long, wide, degrees),
            noise::hash_two_numbers(key, 9),
            700.0,
            |_| wide * 0.9,
        );
        land.push(terrain_area("islet", Some(name), ring));
    }
    for (line, half_width) in plan::MOLES {
        let line = smooth_spline(line, false, 40.0);
        land.push(terrain_area("mole", None, ribbon_ring(&line, |_| half_width)));
    }
    land
}

fn oval_ring(middle: PlanePoint, long: f64, wide: f64, degrees: f64) -> ClosedRing {
    let axis = PlanePoint::from_angle(degrees.to_radians());
    let count = ((long + wide) / 12.0).clamp(24.0, 160.0) as usize;
    (0..count)
        .map(|i| {
            let turn = PlanePoint::from_angle(std::f64::consts::TAU * i as f64 / count as f64);
            middle + axis * (turn.x * long) + axis.left_normal() * (turn.y * wide)
        })
        .collect()
}

fn water_areas(key: u64) -> Vec<TerrainArea> {
    let mut water = vec![river_area(key), tributary_area(), canal_area()];
    for (name, middle, long, wide, degrees) in plan::LAKES {
        let ring = displace_ring_with_noise(
            oval_ring(middle, long, wide, degrees),
            noise::hash_two_numbers(key, 3),
            wide * 2.0,
            |_| wide * 1.1,
        );
        water.push(terrain_area("lake", Some(name), ring));
    }
    for (mouth, width, length, degrees) in plan::BASINS {
        let inland = PlanePoint::from_angle(degrees.to_radians());
        let side = inland.left_normal() * (width / 2.0);
        // The seaward end extends beyond any variation of the quay.
        let (out, end) = (mouth - inland * 260.0, mouth + inland * length);
        water.push(terrain_area(
            "basin",
            None,
            vec![out + side, out - side, end - side, end + side],
        ));
    }
    water
}

/// Returns a smooth line through points with widths, and the width at each of its points.
fn smooth_line_with_widths(course: &[(PlanePoint, f64)]) -> (MeasuredLine, Vec<f64>) {
    let points: Vec<PlanePoint> = course.iter().map(|(p, _)| *p).collect();
    let line = MeasuredLine::new(smooth_spline(&points, false, 40.0));
    let marks: Vec<f64> = points.iter().map(|p| line.nearest_position_and_distance(*p).0).collect();
    let width_at = |d: f64| {
        let next = marks.partition_point(|m| *m < d).clamp(1, marks.len() - 1);
        let share = ((d - marks[next - 1]) / (marks[next] - marks[next - 1])).clamp(0.0, 1.0);
        course[next - 1].1 + (course[next].1 - course[next - 1].1) * share
    };
    let widths = line.distances_along().iter().map(|d| width_at(*d)).collect();
    (line, widths)
}

/// Returns the river, which widens around its islands so that each arm has enough water.
fn river_area(key: u64) -> TerrainArea {
    let (line, mut widths) = smooth_line_with_widths(&plan::RIVER);
    let town = line.nearest_position_and_distance(point_from_xy(0.0, 0.0)).0;
    let lens = |d: f64, from_town: f64, half: f64, power: f64| {
        let share = (d - (town - from_town)) / half;
        if share.abs() < 1.0 { (1.0 - share * share).powf(power) } else { 0.0 }
    };
    let mut islands = Vec::new();
    for (_, from_town, half, wide) in plan::RIVER_ISLANDS {
        for (width, d) in widths.iter_mut().zip(line.distances_along()) {
            // The banks begin to diverge well before the island.
            *width += wide * 1.05 * lens(*d, from_town, half * 1.9, 2.0);
        }
        let middle = line.slice_between(town - from_town - half, town - from_town + half);
        let part = MeasuredLine::new(middle);
        let ring = ribbon_ring(part.points(), |i| {
            2.0 + wide
                * lens(town - from_town - half + part.distances_along()[i], from_town, half, 0.85)
        });
        islands.push(displace_ring_with_noise(
            ring,
            noise::hash_two_numbers(key, 5),
            900.0,
            |_| wide * 0.25,
        ));
    }
    let bank = ribbon_ring(line.points(), |i| widths[i]);
    let mut rings =
        vec![displace_ring_with_noise(bank, noise::hash_two_numbers(key, 4), 1_300.0, |_| 80.0)];
    rings.append(&mut islands);
    TerrainArea { class: "river", name: Some("Lind"), rings }
}

fn tributary_area() -> TerrainArea {
    let (line, widths) = smooth_line_with_widths(&plan::TRIBUTARY);
    terrain_area("stream", Some("Esk Water"), ribbon_ring(line.points(), |i| widths[i]))
}

fn canal_area() -> TerrainArea {
    let line = smooth_spline(&plan::CANAL, false, 40.0);
    terrain_area("canal", Some("Town Moat"), ribbon_ring(&line, |_| plan::CANAL_HALF_WIDTH))
}

/// Returns the parks. `river` is the river's bank followed by its islands, which are gardens except for the old town.
fn park_areas(key: u64, river: &[ClosedRing]) -> Vec<TerrainArea> {
    let mut parks = Vec::new();
    // A green belt in place of the former walls, on both banks of the moat.
    let moat = MeasuredLine::new(smooth_spline(&plan::CANAL, false, 40.0));
    let belt = moat.slice_between(moat.total_length() * 0.12, moat.total_length() * 0.9);
    parks.push(terrain_area(
        "park",
        Some("Moat Gardens"),
        ribbon_ring(&belt, |i| 62.0 + 16.0 * (i as f64 * 0.5).sin()),
    ));
    for (name, middle, long, wide, degrees, wood) in plan::PARKS {
        let ring = displace_ring_with_noise(
            oval_ring(middle, long, wide, degrees),
            noise::hash_two_numbers(key, middle.x as u64),
            wide * 1.6,
            |_| wide * 1.15,
        );
        parks.push(terrain_area(if wood { "wood" } else { "park" }, Some(name), ring));
    }
    let eyots = plan::RIVER_ISLANDS.iter().zip(&river[1..]).skip(1);
    parks.extend(eyots.map(|((name, ..), ring)| terrain_area("park", Some(name), ring.clone())));
    parks
}

/// Returns the harbour's quays and yards, a little farther inland than the basins.
fn port_areas(raster: &GroundCoverRaster) -> Vec<TerrainArea> {
    let near_basin = |p: PlanePoint| {
        plan::BASINS
            .iter()
            .map(|(mouth, width, length, degrees)| {
                let end = *mouth + PlanePoint::from_angle(degrees.to_radians()) * *length;
                closest_on_segment(p, *mouth, end).0.distance_to(p) - width / 2.0
            })
            .fold(f64::MAX, f64::min)
    };
    let (centre, half) = (point_from_xy(500.0, -4_300.0), point_from_xy(7_000.0, 1_900.0));
    trace_outlines(centre, half, 25.0, |p| {
        (raster.shore_distance(p) + 6.0).min(390.0 - near_basin(p))
    })
    .iter()
    .map(|ring| terrain_area("port", None, smooth_ring(ring, 10.0)))
    .collect()
}

/// Returns the beaches on the open coast next to the bay, and the airport.
fn beach_and_airport_areas(coast: &[PlanePoint]) -> Vec<TerrainArea> {
    let mut grounds: Vec<TerrainArea> = plan::BEACHES
        .into_iter()
        .map(|(middle, reach)| {
            let shore: Vec<PlanePoint> =
                coast.iter().copied().filter(|p| p.distance_to(middle) < reach).collect();
            let n = shore.len().max(2) as f64 - 1.0;
            terrain_area(
                "beach",
                None,
                ribbon_ring(&shore, |i| 6.0 + 55.0 * (std::f64::consts::PI * i as f64 / n).sin()),
            )
        })
        .filter(|beach| beach.rings[0].len() > 6)
        .collect();
    let along = PlanePoint::from_angle(plan::RUNWAY_DIRECTION.to_radians());
    let box_at = |middle: PlanePoint, long: f64, wide: f64| -> ClosedRing {
        let (a, b) = (along * long, along.left_normal() * wide);
        vec![middle - a - b, middle + a - b, middle + a + b, middle - a + b]
    };
    grounds.push(terrain_area(
        "apron",
        Some("Lindhaven Airport"),
        box_at(plan::AIRPORT, 1_450.0, 430.0),
    ));
    grounds.push(terrain_area(
        "runway",
        None,
        box_at(plan::AIRPORT - along.left_normal() * 210.0, 1_300.0, 26.0),
    ));
    grounds.push(terrain_area(
        "runway",
        None,
        box_at(plan::AIRPORT - along.left_normal() * 20.0, 1_000.0, 11.0),
    ));
    grounds
}
