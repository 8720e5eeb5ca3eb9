//! The city's ground, water and streets, all of it a function of the seed.

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

use field::Field;
use graph::Graph;
use plan::District;
use plane::{Line, Point, Projection, spline};
use raster::Raster;
use streets::{Street, StreetClass, Tracer};
use terrain::{Area, Terrain};

use crate::names::{Kind, Names};
use crate::noise;

/// How many places are looked at for a green square.
const SQUARES_TRIED: usize = 900;

/// The city without its transport.
#[derive(Debug)]
pub(crate) struct Geography {
    pub(crate) projection: Projection,
    pub(crate) terrain: Terrain,
    pub(crate) districts: Vec<District>,
    pub(crate) streets: Vec<Street>,
    /// A name for each street; side streets and the ring road go without.
    pub(crate) street_names: Vec<String>,
    pub(crate) graph: Graph,
    pub(crate) field: Field,
}

impl Geography {
    pub(crate) fn build(seed: u64) -> Self {
        let mut terrain = Terrain::build(seed);
        let districts = districts(seed, &terrain.raster);
        let roads = main_roads(seed, &districts);
        let (centre, half) = (plan::EXTENT_CENTRE, plan::HALF_EXTENT);
        let field = Field::build(seed, centre, half, &terrain.raster, &districts, &roads);
        terrain.grounds.splice(0..0, cover(seed, &terrain.raster, &field));
        terrain.add_squares(squares(seed, &terrain.raster, &field, &roads));
        let banks: Vec<&[Point]> = terrain.banks().collect();
        let streets = Tracer::new(seed, &terrain.raster, &field).trace(&roads, &banks);
        let street_names = street_names(seed, &streets);
        let graph = Graph::build(&streets);
        let (lat, lon) = plan::ORIGIN;
        Self {
            projection: Projection::about(lat, lon),
            terrain,
            districts,
            streets,
            street_names,
            graph,
            field,
        }
    }
}

fn street_names(seed: u64, streets: &[Street]) -> Vec<String> {
    let mut names = Names::new(noise::key(seed, "names"));
    let mut name = |(i, street): (usize, &Street)| match street.class {
        StreetClass::Motorway | StreetClass::Street => String::new(),
        StreetClass::Main => names.street(Kind::Main(i)),
        _ if street.quay => names.street(Kind::Quay),
        class => names.street(Kind::Other(class)),
    };
    streets.iter().enumerate().map(&mut name).collect()
}

/// The built-up area, and meadows between it and the sea.
fn cover(seed: u64, raster: &Raster, field: &Field) -> Vec<Area> {
    let (centre, half) = (plan::EXTENT_CENTRE, plan::HALF_EXTENT);
    let key = noise::key(seed, "meadows");
    let inland = |p: Point| raster.shore(p) / 400.0 + 0.02;
    let meadow = |p: Point| {
        let patchy = noise::rough(key, p.x / 2_400.0, p.y / 2_400.0, 4) - 0.06;
        patchy.min(inland(p)).min(0.16 - field.density(p))
    };
    let urban = |p: Point| (field.density(p) - 0.18).min(inland(p));
    let meadows = contour::regions(&contour::outlines(centre, half, 150.0, meadow), 30.0);
    let urban = contour::regions(&contour::outlines(centre, half, 75.0, urban), 14.0);
    let areas = |class: &'static str, regions: Vec<Vec<Vec<Point>>>| {
        regions.into_iter().map(move |rings| Area { class, name: None, rings })
    };
    areas("meadow", meadows).chain(areas("urban", urban)).collect()
}

/// Little green squares and gardens all over town, in line with the streets around them.
fn squares(seed: u64, raster: &Raster, field: &Field, roads: &[Line]) -> Vec<Area> {
    let mut rng = fastrand::Rng::with_seed(noise::key(seed, "squares"));
    let mut squares: Vec<Area> = Vec::new();
    let mut places: Vec<Point> = Vec::new();
    for _ in 0..SQUARES_TRIED {
        let p =
            Point::from_angle(rng.f64() * std::f64::consts::TAU) * (rng.f64().powf(0.7) * 9_500.0);
        let wanted = raster.cover(p) == raster::Cover::Land
            && raster.shore(p) > 160.0
            && field.density(p) > 0.27;
        if wanted
            && rng.f64() < field.density(p) + 0.15
            && places.iter().all(|q| q.distance(p) > 430.0)
            && roads.iter().all(|road| road.nearest(p).1 > 85.0)
        {
            let along = field.direction(p, plane::at(1.0, 0.0));
            let (long, wide) = (rng.f64() * 62.0 + 26.0, rng.f64() * 34.0 + 20.0);
            let corner = |x: f64, y: f64| p + along * (x * long) + along.left() * (y * wide);
            let ring =
                vec![corner(-1.0, -1.0), corner(1.0, -1.0), corner(1.0, 1.0), corner(-1.0, 1.0)];
            squares.push(Area { class: "square", name: None, rings: vec![ring] });
            places.push(p);
        }
    }
    squares
}

/// The plan's districts, moved a little by the seed but never into the water.
fn districts(seed: u64, raster: &Raster) -> Vec<District> {
    let key = noise::key(seed, "districts");
    let place = |i: usize, district: &District| {
        let turn = noise::share(noise::mix(key, i as u64)) * std::f64::consts::TAU;
        let moved = district.place + Point::from_angle(turn) * (district.reach * 0.07);
        let dry = |p: Point| raster.shore(p) > 60.0;
        raster.find_near(moved, dry).unwrap_or(district.place)
    };
    plan::DISTRICTS.iter().enumerate().map(|(i, d)| District { place: place(i, d), ..*d }).collect()
}

/// Smooth roads through the districts of the plan, each with a few bends of its own.
fn main_roads(seed: u64, districts: &[District]) -> Vec<Line> {
    let key = noise::key(seed, "roads");
    let bend = |a: Point, b: Point, share: f64, i: u64| {
        let turn = noise::share(noise::mix(key, i)) - 0.5;
        a.towards(b, share) + (b - a).left() * (turn * 0.1)
    };
    plan::MAIN_ROADS
        .iter()
        .enumerate()
        .map(|(r, stops)| {
            let mut points = vec![districts[stops[0]].place];
            for (k, pair) in stops.windows(2).enumerate() {
                let (a, b) = (districts[pair[0]].place, districts[pair[1]].place);
                if a.distance(b) > 1_800.0 {
                    points.push(bend(a, b, 0.5, (r * 16 + k) as u64));
                }
                points.push(b);
            }
            Line::new(spline(&points, false, 40.0))
        })
        .collect()
}
