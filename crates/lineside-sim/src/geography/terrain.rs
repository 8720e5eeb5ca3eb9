//! The ground the city stands on: the plan's coast, river, lakes and parks, wobbled by the seed and cut out as rings.

use super::contour::{outlines, smooth};
use super::plan;
use super::plane::{Line, Point, at, foot_on_segment, ribbon, spline};
use super::raster::{Cover, Raster};
use crate::noise;

/// A closed line without its first point repeated.
pub(crate) type Ring = Vec<Point>;

/// A piece of ground or water with a class of its own.
#[derive(Debug)]
pub(crate) struct Area {
    /// `island`, `islet`, `mole`; `river`, `stream`, `canal`, `lake`, `basin`; `park`, `wood`, `square`; `beach`, `port`,
    /// `urban`, `meadow`, `apron`, `runway`.
    pub(crate) class: &'static str,
    pub(crate) name: Option<&'static str>,
    /// The outer ring and its holes.
    pub(crate) rings: Vec<Ring>,
}

#[derive(Debug)]
pub(crate) struct Terrain {
    pub(crate) land: Vec<Area>,
    pub(crate) water: Vec<Area>,
    pub(crate) parks: Vec<Area>,
    /// Ground with another colour, such as beaches and the airport.
    pub(crate) grounds: Vec<Area>,
    pub(crate) raster: Raster,
}

impl Terrain {
    pub(crate) fn build(seed: u64) -> Self {
        let land = land(noise::key(seed, "coast"));
        let water = water(noise::key(seed, "water"));
        let parks = parks(noise::key(seed, "parks"), &water[0].rings);
        let mut raster = Raster::new(plan::EXTENT_CENTRE, plan::HALF_EXTENT);
        for area in &land {
            raster.fill(&area.rings, Cover::Land, |_| true);
        }
        for area in &water {
            let cover =
                if matches!(area.class, "lake" | "basin") { Cover::Still } else { Cover::River };
            raster.fill(&area.rings, cover, |below| below == Cover::Land);
        }
        for area in &parks {
            let cover = if area.class == "wood" { Cover::Wood } else { Cover::Park };
            raster.fill(&area.rings, cover, |below| below == Cover::Land);
        }
        raster.measure_shore();
        let mut grounds = port(&raster);
        grounds.extend(self::grounds(&land[0].rings[0]));
        Self { land, water, parks, grounds, raster }
    }

    /// Adds small parks, which streets will go round.
    pub(crate) fn add_squares(&mut self, squares: Vec<Area>) {
        for square in &squares {
            self.raster.fill(&square.rings, Cover::Park, |below| below == Cover::Land);
        }
        self.parks.extend(squares);
    }

    /// The lines along which a town has quays: the coast, the river's banks, the old town's shore.
    pub(crate) fn banks(&self) -> impl Iterator<Item = &[Point]> {
        self.water[0].rings[..2].iter().chain(&self.land[0].rings).map(Vec::as_slice)
    }
}

fn area(class: &'static str, name: Option<&'static str>, ring: Ring) -> Area {
    Area { class, name, rings: vec![ring] }
}

/// Moves each point of a ring sideways by noise of its own place: bays `scale` metres wide first, then coves, then rocks.
fn wobble(ring: Vec<Point>, key: u64, scale: f64, strength: impl Fn(Point) -> f64) -> Ring {
    let n = ring.len();
    (0..n)
        .map(|i| {
            let p = ring[i];
            let side = (ring[(i + 1) % n] - ring[(i + n - 1) % n]).unit().left();
            p + side * (noise::rough(key, p.x / scale, p.y / scale, 6) * strength(p))
        })
        .collect()
}

fn land(key: u64) -> Vec<Area> {
    let (quay, reach) = plan::WATERFRONT;
    let calm = |p: Point| {
        let open = noise::ease(((p.distance(quay) - reach * 0.75) / (reach * 0.5)).clamp(0.0, 1.0));
        60.0 + 2_300.0 * open
    };
    let coast = wobble(spline(&plan::COAST, true, 45.0), key, 3_600.0, calm);
    let mut land = vec![area("island", Some("Sandrey"), coast)];
    for (name, middle, long, wide, degrees) in plan::ISLETS {
        let ring =
            wobble(oval(middle, long, wide, degrees), noise::mix(key, 9), 700.0, |_| wide * 0.9);
        land.push(area("islet", Some(name), ring));
    }
    for (line, half_width) in plan::MOLES {
        let line = spline(line, false, 40.0);
        land.push(area("mole", None, ribbon(&line, |_| half_width)));
    }
    land
}

fn oval(middle: Point, long: f64, wide: f64, degrees: f64) -> Ring {
    let axis = Point::from_angle(degrees.to_radians());
    let count = ((long + wide) / 12.0).clamp(24.0, 160.0) as usize;
    (0..count)
        .map(|i| {
            let turn = Point::from_angle(std::f64::consts::TAU * i as f64 / count as f64);
            middle + axis * (turn.x * long) + axis.left() * (turn.y * wide)
        })
        .collect()
}

fn water(key: u64) -> Vec<Area> {
    let mut water = vec![river(key), tributary(), canal()];
    for (name, middle, long, wide, degrees) in plan::LAKES {
        let ring =
            wobble(oval(middle, long, wide, degrees), noise::mix(key, 3), wide * 2.0, |_| {
                wide * 1.1
            });
        water.push(area("lake", Some(name), ring));
    }
    for (mouth, width, length, degrees) in plan::BASINS {
        let inland = Point::from_angle(degrees.to_radians());
        let side = inland.left() * (width / 2.0);
        // The seaward end reaches out beyond any wobble of the quay.
        let (out, end) = (mouth - inland * 260.0, mouth + inland * length);
        water.push(area("basin", None, vec![out + side, out - side, end - side, end + side]));
    }
    water
}

/// Splits a list of points with widths into a smooth line with a width at each of its points.
fn widths_along(course: &[(Point, f64)]) -> (Line, Vec<f64>) {
    let points: Vec<Point> = course.iter().map(|(p, _)| *p).collect();
    let line = Line::new(spline(&points, false, 40.0));
    let marks: Vec<f64> = points.iter().map(|p| line.nearest(*p).0).collect();
    let width_at = |d: f64| {
        let next = marks.partition_point(|m| *m < d).clamp(1, marks.len() - 1);
        let share = ((d - marks[next - 1]) / (marks[next] - marks[next - 1])).clamp(0.0, 1.0);
        course[next - 1].1 + (course[next].1 - course[next - 1].1) * share
    };
    let widths = line.along().iter().map(|d| width_at(*d)).collect();
    (line, widths)
}

/// The river widens round its islands, so that each arm keeps its water.
fn river(key: u64) -> Area {
    let (line, mut widths) = widths_along(&plan::RIVER);
    let town = line.nearest(at(0.0, 0.0)).0;
    let lens = |d: f64, from_town: f64, half: f64, power: f64| {
        let share = (d - (town - from_town)) / half;
        if share.abs() < 1.0 { (1.0 - share * share).powf(power) } else { 0.0 }
    };
    let mut islands = Vec::new();
    for (_, from_town, half, wide) in plan::RIVER_ISLANDS {
        for (width, d) in widths.iter_mut().zip(line.along()) {
            // The banks begin to part well before the island.
            *width += wide * 1.05 * lens(*d, from_town, half * 1.9, 2.0);
        }
        let middle = line.slice(town - from_town - half, town - from_town + half);
        let part = Line::new(middle);
        let ring = ribbon(part.points(), |i| {
            2.0 + wide * lens(town - from_town - half + part.along()[i], from_town, half, 0.85)
        });
        islands.push(wobble(ring, noise::mix(key, 5), 900.0, |_| wide * 0.25));
    }
    let bank = ribbon(line.points(), |i| widths[i]);
    let mut rings = vec![wobble(bank, noise::mix(key, 4), 1_300.0, |_| 80.0)];
    rings.append(&mut islands);
    Area { class: "river", name: Some("Lind"), rings }
}

fn tributary() -> Area {
    let (line, widths) = widths_along(&plan::TRIBUTARY);
    area("stream", Some("Esk Water"), ribbon(line.points(), |i| widths[i]))
}

fn canal() -> Area {
    let line = spline(&plan::CANAL, false, 40.0);
    area("canal", Some("Town Moat"), ribbon(&line, |_| plan::CANAL_HALF_WIDTH))
}

/// `river` is the river's bank and then its islands, of which all but the old town are gardens.
fn parks(key: u64, river: &[Ring]) -> Vec<Area> {
    let mut parks = Vec::new();
    // A green belt where the walls stood, on both banks of the moat.
    let moat = Line::new(spline(&plan::CANAL, false, 40.0));
    let belt = moat.slice(moat.length() * 0.12, moat.length() * 0.9);
    parks.push(area(
        "park",
        Some("Moat Gardens"),
        ribbon(&belt, |i| 62.0 + 16.0 * (i as f64 * 0.5).sin()),
    ));
    for (name, middle, long, wide, degrees, wood) in plan::PARKS {
        let ring = wobble(
            oval(middle, long, wide, degrees),
            noise::mix(key, middle.x as u64),
            wide * 1.6,
            |_| wide * 1.15,
        );
        parks.push(area(if wood { "wood" } else { "park" }, Some(name), ring));
    }
    let eyots = plan::RIVER_ISLANDS.iter().zip(&river[1..]).skip(1);
    parks.extend(eyots.map(|((name, ..), ring)| area("park", Some(name), ring.clone())));
    parks
}

/// The harbour's quays and yards, as far inland as the basins and a little more.
fn port(raster: &Raster) -> Vec<Area> {
    let near_basin = |p: Point| {
        plan::BASINS
            .iter()
            .map(|(mouth, width, length, degrees)| {
                let end = *mouth + Point::from_angle(degrees.to_radians()) * *length;
                foot_on_segment(p, *mouth, end).0.distance(p) - width / 2.0
            })
            .fold(f64::MAX, f64::min)
    };
    let (centre, half) = (at(500.0, -4_300.0), at(7_000.0, 1_900.0));
    outlines(centre, half, 25.0, |p| (raster.shore(p) + 6.0).min(390.0 - near_basin(p)))
        .iter()
        .map(|ring| area("port", None, smooth(ring, 10.0)))
        .collect()
}

/// Beaches on the open coast beside the bay, and the airport.
fn grounds(coast: &[Point]) -> Vec<Area> {
    let mut grounds: Vec<Area> = plan::BEACHES
        .into_iter()
        .map(|(middle, reach)| {
            let shore: Vec<Point> =
                coast.iter().copied().filter(|p| p.distance(middle) < reach).collect();
            let n = shore.len().max(2) as f64 - 1.0;
            area(
                "beach",
                None,
                ribbon(&shore, |i| 6.0 + 55.0 * (std::f64::consts::PI * i as f64 / n).sin()),
            )
        })
        .filter(|beach| beach.rings[0].len() > 6)
        .collect();
    let along = Point::from_angle(plan::RUNWAY_DIRECTION.to_radians());
    let box_at = |middle: Point, long: f64, wide: f64| -> Ring {
        let (a, b) = (along * long, along.left() * wide);
        vec![middle - a - b, middle + a - b, middle + a + b, middle - a + b]
    };
    grounds.push(area("apron", Some("Lindhaven Airport"), box_at(plan::AIRPORT, 1_450.0, 430.0)));
    grounds.push(area("runway", None, box_at(plan::AIRPORT - along.left() * 210.0, 1_300.0, 26.0)));
    grounds.push(area("runway", None, box_at(plan::AIRPORT - along.left() * 20.0, 1_000.0, 11.0)));
    grounds
}
