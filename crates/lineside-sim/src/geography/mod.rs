//! The city's ground, water and streets, all generated from the seed.

mod base_map;
mod contour;
mod field;
pub(crate) mod graph;
mod grid;
pub(crate) mod plan;
pub(crate) mod plane;
pub(crate) mod raster;
pub(crate) mod streets;
mod terrain;

use field::StreetField;
use graph::StreetGraph;
use plan::District;
use plane::{MeasuredLine, PlanePoint, Projection, smooth_spline};
use raster::GroundCoverRaster;
use streets::{Street, StreetTracer};

use crate::street_class::StreetClass;
use terrain::{Terrain, TerrainArea};

use crate::names::{NamePool, StreetNamingKind};
use crate::noise;

/// The number of candidates for green squares.
const SQUARES_TRIED: usize = 900;

/// The city without its transport.
#[derive(Debug)]
pub(crate) struct Geography {
    pub(crate) projection: Projection,
    pub(crate) terrain: Terrain,
    pub(crate) districts: Vec<District>,
    pub(crate) streets: Vec<Street>,
    /// The name of each street; side streets and the ring road have none.
    pub(crate) street_names: Vec<String>,
    pub(crate) graph: StreetGraph,
    pub(crate) field: StreetField,
}

impl Geography {
    pub(crate) fn build_geography(seed: u64) -> Self {
        let mut terrain = Terrain::build_terrain(seed);
        let districts = place_districts(seed, &terrain.raster);
        let roads = lay_main_roads(seed, &districts);
        let (centre, half) = (plan::EXTENT_CENTRE, plan::HALF_EXTENT);
        let field = StreetField::build_street_field(
            seed,
            centre,
            half,
            &terrain.raster,
            &districts,
            &roads,
        );
        terrain.grounds.splice(0..0, built_up_areas(seed, &terrain.raster, &field));
        terrain.add_small_parks(place_green_squares(seed, &terrain.raster, &field, &roads));
        let banks: Vec<&[PlanePoint]> = terrain.quay_banks().collect();
        let streets =
            StreetTracer::new(seed, &terrain.raster, &field).trace_streets(&roads, &banks);
        let street_names = name_streets(seed, &streets);
        let graph = StreetGraph::build_street_graph(&streets);
        let (lat, lon) = plan::ORIGIN;
        Self {
            projection: Projection::with_origin(lat, lon),
            terrain,
            districts,
            streets,
            street_names,
            graph,
            field,
        }
    }
}

fn name_streets(seed: u64, streets: &[Street]) -> Vec<String> {
    let mut names = NamePool::new(noise::random_key_for_purpose(seed, "names"));
    let mut name = |(i, street): (usize, &Street)| match street.class {
        StreetClass::Motorway | StreetClass::Street => String::new(),
        StreetClass::Main => names.next_street_name(StreetNamingKind::Main(i)),
        _ if street.quay => names.next_street_name(StreetNamingKind::Quay),
        class => names.next_street_name(StreetNamingKind::Other(class)),
    };
    streets.iter().enumerate().map(&mut name).collect()
}

/// Returns the built-up area, and meadows between it and the sea.
fn built_up_areas(seed: u64, raster: &GroundCoverRaster, field: &StreetField) -> Vec<TerrainArea> {
    let (centre, half) = (plan::EXTENT_CENTRE, plan::HALF_EXTENT);
    let key = noise::random_key_for_purpose(seed, "meadows");
    let inland = |p: PlanePoint| raster.shore_distance(p) / 400.0 + 0.02;
    let meadow = |p: PlanePoint| {
        let patchy = noise::fractal_noise(key, p.x / 2_400.0, p.y / 2_400.0, 4) - 0.06;
        patchy.min(inland(p)).min(0.16 - field.built_up_density(p))
    };
    let urban = |p: PlanePoint| (field.built_up_density(p) - 0.18).min(inland(p));
    let meadows = contour::group_rings_into_regions(
        &contour::trace_outlines(centre, half, 150.0, meadow),
        30.0,
    );
    let urban = contour::group_rings_into_regions(
        &contour::trace_outlines(centre, half, 75.0, urban),
        14.0,
    );
    let areas = |class: &'static str, regions: Vec<Vec<Vec<PlanePoint>>>| {
        regions.into_iter().map(move |rings| TerrainArea { class, name: None, rings })
    };
    areas("meadow", meadows).chain(areas("urban", urban)).collect()
}

/// Returns small green squares and gardens all over town, aligned with the streets around them.
fn place_green_squares(
    seed: u64,
    raster: &GroundCoverRaster,
    field: &StreetField,
    roads: &[MeasuredLine],
) -> Vec<TerrainArea> {
    let mut rng = fastrand::Rng::with_seed(noise::random_key_for_purpose(seed, "squares"));
    let mut squares: Vec<TerrainArea> = Vec::new();
    let mut places: Vec<PlanePoint> = Vec::new();
    for _ in 0..SQUARES_TRIED {
        let p = PlanePoint::from_angle(rng.f64() * std::f64::consts::TAU)
            * (rng.f64().powf(0.7) * 9_500.0);
        let wanted = raster.cover_at(p) == raster::GroundCover::Land
            && raster.shore_distance(p) > 160.0
            && field.built_up_density(p) > 0.27;
        if wanted
            && rng.f64() < field.built_up_density(p) + 0.15
            && places.iter().all(|q| q.distance_to(p) > 430.0)
            && roads.iter().all(|road| road.nearest_position_and_distance(p).1 > 85.0)
        {
            let along = field.street_direction(p, plane::point_from_xy(1.0, 0.0));
            let (long, wide) = (rng.f64() * 62.0 + 26.0, rng.f64() * 34.0 + 20.0);
            let corner = |x: f64, y: f64| p + along * (x * long) + along.left_normal() * (y * wide);
            let ring =
                vec![corner(-1.0, -1.0), corner(1.0, -1.0), corner(1.0, 1.0), corner(-1.0, 1.0)];
            squares.push(TerrainArea { class: "square", name: None, rings: vec![ring] });
            places.push(p);
        }
    }
    squares
}

/// Returns the plan's districts, moved a little by the seed but never into the water.
fn place_districts(seed: u64, raster: &GroundCoverRaster) -> Vec<District> {
    let key = noise::random_key_for_purpose(seed, "districts");
    let place = |i: usize, district: &District| {
        let turn = noise::pseudo_random_share(noise::hash_two_numbers(key, i as u64))
            * std::f64::consts::TAU;
        let moved = district.position + PlanePoint::from_angle(turn) * (district.reach * 0.07);
        let dry = |p: PlanePoint| raster.shore_distance(p) > 60.0;
        raster.find_accepted_point_near(moved, dry).unwrap_or(district.position)
    };
    plan::DISTRICTS
        .iter()
        .enumerate()
        .map(|(i, d)| District { position: place(i, d), ..*d })
        .collect()
}

/// Returns smooth roads through the districts of the plan, each with a few bends.
fn lay_main_roads(seed: u64, districts: &[District]) -> Vec<MeasuredLine> {
    let key = noise::random_key_for_purpose(seed, "roads");
    let bend = |a: PlanePoint, b: PlanePoint, share: f64, i: u64| {
        let turn = noise::pseudo_random_share(noise::hash_two_numbers(key, i)) - 0.5;
        a.point_towards(b, share) + (b - a).left_normal() * (turn * 0.1)
    };
    plan::MAIN_ROADS
        .iter()
        .enumerate()
        .map(|(r, stops)| {
            let mut points = vec![districts[stops[0]].position];
            for (k, pair) in stops.windows(2).enumerate() {
                let (a, b) = (districts[pair[0]].position, districts[pair[1]].position);
                if a.distance_to(b) > 1_800.0 {
                    points.push(bend(a, b, 0.5, (r * 16 + k) as u64));
                }
                points.push(b);
            }
            MeasuredLine::new(smooth_spline(&points, false, 40.0))
        })
        .collect()
}
