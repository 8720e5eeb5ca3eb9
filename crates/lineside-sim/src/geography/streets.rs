//! Streets, traced through the field of directions: the main roads first, then ever finer ones between them.
//!
//! Each tier is traced like evenly spaced streamlines (Jobard and Lefer, 1997): new streets start next to existing
//! ones, stay apart from parallel ones, stop at water and parks, and end at a crossing if possible. Wide roads may
//! cross a river by a bridge.

use std::collections::VecDeque;

use super::field::StreetField;
use super::grid::SpatialGrid;
use super::plan;
use super::plane::{MeasuredLine, PlanePoint, intersect_segments, simplify_line, smooth_spline};
use super::raster::{GroundCover, GroundCoverRaster};
use crate::noise;
use crate::street_class::StreetClass;

#[derive(Debug)]
pub(crate) struct Street {
    pub(crate) class: StreetClass,
    /// True if the street runs along the water.
    pub(crate) quay: bool,
    pub(crate) points: Vec<PlanePoint>,
}

/// The rules of a tier of streets.
struct StreetTier {
    class: StreetClass,
    /// The distance between parallel streets in the city centre, in metres.
    apart: f64,
    /// The factor by which they are farther apart in the country.
    stretch: f64,
    /// The built-up density in which they are laid.
    density: std::ops::Range<f64>,
    length: std::ops::Range<f64>,
    /// The widest water that they cross, and the distance between bridges, in metres.
    bridge: f64,
    bridge_apart: f64,
    /// The chance to end at a wider street.
    ends_at_wider: f64,
    crosses_parks: bool,
}

const TIERS: [StreetTier; 4] = [
    StreetTier {
        class: StreetClass::Avenue,
        apart: 720.0,
        stretch: 3.2,
        density: 0.0..2.0,
        length: 700.0..12_000.0,
        bridge: 330.0,
        bridge_apart: 620.0,
        ends_at_wider: 0.12,
        crosses_parks: false,
    },
    StreetTier {
        class: StreetClass::Collector,
        apart: 270.0,
        stretch: 1.5,
        density: 0.13..2.0,
        length: 250.0..3_500.0,
        bridge: 90.0,
        bridge_apart: 300.0,
        ends_at_wider: 0.3,
        crosses_parks: false,
    },
    StreetTier {
        class: StreetClass::Lane,
        apart: 330.0,
        stretch: 2.6,
        density: 0.0..0.17,
        length: 400.0..5_000.0,
        bridge: 90.0,
        bridge_apart: 500.0,
        ends_at_wider: 0.5,
        crosses_parks: false,
    },
    StreetTier {
        class: StreetClass::Street,
        apart: 98.0,
        stretch: 0.8,
        density: 0.19..2.0,
        length: 90.0..1_300.0,
        bridge: 0.0,
        bridge_apart: 0.0,
        ends_at_wider: 0.42,
        crosses_parks: false,
    },
];

/// The length of a tracing step, in metres.
const STEP: f64 = 22.0;
/// A parallel street closer than this share of the wanted distance ends the tracing.
const TOO_NEAR: f64 = 0.55;
/// The smallest distance of streets from the shore, in metres.
const SHORE_MIN: f64 = 16.0;
/// The distance of quays from the water, in metres.
const QUAY: f64 = 42.0;
/// The largest number of seeds per tier, which bounds the work for any field.
const SEEDS_MAX: usize = 400_000;

/// A traced point with its direction.
#[derive(Clone, Copy)]
struct TracedPoint {
    p: PlanePoint,
    direction: PlanePoint,
}

/// A traced step, for crossings.
#[derive(Clone, Copy)]
struct TracedStreetSegment {
    a: PlanePoint,
    b: PlanePoint,
    class: StreetClass,
}

pub(crate) struct StreetTracer<'a> {
    raster: &'a GroundCoverRaster,
    field: &'a StreetField,
    rng: fastrand::Rng,
    streets: Vec<Street>,
    segments: SpatialGrid<TracedStreetSegment>,
    bridges: Vec<PlanePoint>,
}

/// The reason why a trace ended.
#[derive(Clone, Copy, PartialEq)]
enum TraceEndReason {
    /// At an existing street.
    Crossing,
    /// Next to a parallel street, at the greatest length, or at the edge of town.
    Open,
    /// At water or a park.
    Blocked,
    /// At its own start.
    Closed,
}

impl<'a> StreetTracer<'a> {
    pub(crate) fn new(seed: u64, raster: &'a GroundCoverRaster, field: &'a StreetField) -> Self {
        let rng = fastrand::Rng::with_seed(noise::random_key_for_purpose(seed, "streets"));
        Self {
            raster,
            field,
            rng,
            streets: Vec::new(),
            segments: SpatialGrid::new(60.0),
            bridges: Vec::new(),
        }
    }

    /// Traces all streets of the city: the given main roads, quays along the given banks (with land on either side),
    /// then each tier.
    pub(crate) fn trace_streets(
        mut self,
        roads: &[MeasuredLine],
        banks: &[&[PlanePoint]],
    ) -> Vec<Street> {
        for road in roads {
            self.record_bridges(road);
            self.add_street(StreetClass::Main, road.resample_evenly(STEP));
        }
        for bank in banks {
            self.lay_quay(bank);
        }
        for tier in &TIERS {
            self.trace_street_tier(tier);
        }
        let ring = smooth_spline(&plan::RING_ROAD, false, STEP);
        self.streets.push(Street { class: StreetClass::Motorway, quay: false, points: ring });
        self.streets
    }

    /// Lays a quay along the water where it is built up.
    fn lay_quay(&mut self, bank: &[PlanePoint]) {
        let quay: Vec<PlanePoint> = bank
            .iter()
            .map(|p| *p + self.raster.inland_direction(*p).unit_vector() * QUAY)
            .collect();
        let fit = |p: &PlanePoint| {
            self.raster.cover_at(*p) == GroundCover::Land
                && self.field.built_up_density(*p) > 0.3
                && self.raster.shore_distance(*p) > QUAY * 0.6
        };
        let runs: Vec<Vec<PlanePoint>> =
            quay.split(|p| !fit(p)).map(<[PlanePoint]>::to_vec).collect();
        for run in runs.into_iter().filter(|run| run.len() > 12) {
            let line = MeasuredLine::new(smooth_spline(&simplify_line(&run, 22.0), false, STEP));
            self.add_street(StreetClass::Avenue, line.resample_evenly(STEP));
            self.streets.iter_mut().rev().take(1).for_each(|street| street.quay = true);
        }
    }

    fn record_bridges(&mut self, road: &MeasuredLine) {
        let wet: Vec<PlanePoint> = road
            .resample_evenly(30.0)
            .into_iter()
            .filter(|p| self.raster.cover_at(*p).is_water())
            .collect();
        self.bridges.extend(wet.iter().step_by(4));
    }

    fn add_street(&mut self, class: StreetClass, points: Vec<PlanePoint>) {
        for pair in points.windows(2) {
            self.segments.insert_segment(
                pair[0],
                pair[1],
                TracedStreetSegment { a: pair[0], b: pair[1], class },
            );
        }
        self.streets.push(Street { class, quay: false, points });
    }

    fn street_spacing(&self, tier: &StreetTier, p: PlanePoint) -> f64 {
        let density = self.field.built_up_density(p).min(0.9) / 0.9;
        // The old town's lanes are narrow and close.
        let medieval = 1.0 - 0.3 * (-p.dot_product(p) / 800_000.0).exp();
        tier.apart * medieval * (1.0 + tier.stretch * (1.0 - density).powf(1.5))
    }

    fn trace_street_tier(&mut self, tier: &StreetTier) {
        let mut marks: SpatialGrid<TracedPoint> = SpatialGrid::new(tier.apart);
        let mut seeds: VecDeque<(PlanePoint, PlanePoint)> = VecDeque::new();
        for i in 0..self.streets.len() {
            let points = self.streets[i].points.clone();
            self.mark_points_and_seeds(tier, &mut marks, &mut seeds, &points);
        }
        seeds.extend(self.scatter_street_seeds(tier));
        for _ in 0..SEEDS_MAX {
            let Some((seed, heading)) = seeds.pop_front() else { break };
            if !self.is_street_allowed(tier, seed)
                || self.has_parallel_street_near(tier, &marks, seed, heading, 0.95)
            {
                continue;
            }
            let points = self.trace_both_directions(tier, &marks, seed, heading);
            let length = MeasuredLine::new(points.clone()).total_length();
            if length >= tier.length.start {
                self.add_street(tier.class, points.clone());
                self.mark_points_and_seeds(tier, &mut marks, &mut seeds, &points);
            }
        }
    }

    /// Adds a street's points to the marks, and seeds next to it.
    fn mark_points_and_seeds(
        &mut self,
        tier: &StreetTier,
        marks: &mut SpatialGrid<TracedPoint>,
        seeds: &mut VecDeque<(PlanePoint, PlanePoint)>,
        points: &[PlanePoint],
    ) {
        let directions = super::plane::line_directions(points);
        for (i, (p, direction)) in points.iter().zip(directions).enumerate() {
            marks.insert(*p, TracedPoint { p: *p, direction });
            if i % 4 == self.rng.usize(0..4) {
                let sideways = direction.left_normal() * self.street_spacing(tier, *p);
                seeds.push_back((*p + sideways, direction));
                seeds.push_back((*p - sideways, direction));
                // Streets also start across this one, from its kerb.
                seeds.push_back((*p + direction.left_normal() * STEP, direction.left_normal()));
                seeds.push_back((
                    *p - direction.left_normal() * STEP,
                    direction.left_normal() * -1.0,
                ));
            }
        }
    }

    /// Returns seeds everywhere, in random order, so that no area is left without streets.
    fn scatter_street_seeds(&mut self, tier: &StreetTier) -> Vec<(PlanePoint, PlanePoint)> {
        let spacing = tier.apart * 1.1;
        let (centre, half) = (plan::EXTENT_CENTRE, plan::HALF_EXTENT);
        let columns = (half.x * 2.0 / spacing) as usize;
        let rows = (half.y * 2.0 / spacing) as usize;
        let mut seeds: Vec<(PlanePoint, PlanePoint)> = (0..columns * rows)
            .map(|i| {
                let jitter = PlanePoint { x: self.rng.f64(), y: self.rng.f64() };
                let cell = PlanePoint { x: (i % columns) as f64, y: (i / columns) as f64 };
                let p = centre - half + (cell + jitter) * spacing;
                (p, PlanePoint::from_angle(self.rng.f64() * std::f64::consts::TAU))
            })
            .collect();
        self.rng.shuffle(&mut seeds);
        seeds
    }

    /// Returns true if a street of this tier may run here.
    fn is_street_allowed(&self, tier: &StreetTier, p: PlanePoint) -> bool {
        let dry = match self.raster.cover_at(p) {
            GroundCover::Land => true,
            GroundCover::Park | GroundCover::Wood => tier.crosses_parks,
            GroundCover::Sea | GroundCover::River | GroundCover::StandingWater => false,
        };
        dry && self.raster.shore_distance(p) > SHORE_MIN
            && tier.density.contains(&self.field.built_up_density(p))
            && !is_point_at_airport(p)
    }

    /// Returns true if a parallel street is already here.
    fn has_parallel_street_near(
        &self,
        tier: &StreetTier,
        marks: &SpatialGrid<TracedPoint>,
        p: PlanePoint,
        heading: PlanePoint,
        share: f64,
    ) -> bool {
        let direction = self.field.street_direction(p, heading);
        let least = self.street_spacing(tier, p) * share;
        marks
            .items_near(p, least)
            .any(|m| m.p.distance_to(p) < least && m.direction.dot_product(direction).abs() > 0.75)
    }

    fn trace_both_directions(
        &mut self,
        tier: &StreetTier,
        marks: &SpatialGrid<TracedPoint>,
        seed: PlanePoint,
        heading: PlanePoint,
    ) -> Vec<PlanePoint> {
        let heading = self.field.street_direction(seed, heading);
        let (mut points, end) = self.trace_one_direction(tier, marks, seed, heading);
        points.reverse();
        if end != TraceEndReason::Closed {
            let (onward, _) = self.trace_one_direction(tier, marks, seed, heading * -1.0);
            points.extend(onward.into_iter().skip(1));
        }
        points
    }

    fn trace_one_direction(
        &mut self,
        tier: &StreetTier,
        marks: &SpatialGrid<TracedPoint>,
        seed: PlanePoint,
        heading: PlanePoint,
    ) -> (Vec<PlanePoint>, TraceEndReason) {
        let mut trail = StreetTrail { points: vec![seed], last_crossing: None };
        let mut heading = heading;
        let end = loop {
            let from = trail.points[trail.points.len() - 1];
            if trail.points.len() as f64 * STEP > tier.length.end / 2.0 {
                break TraceEndReason::Open;
            }
            let halfway = from + self.field.street_direction(from, heading) * (STEP / 2.0);
            heading = self.field.street_direction(halfway, heading);
            let to = from + heading * STEP;
            if !self.is_street_allowed(tier, to) {
                match self.find_bridge_end(tier, from, heading) {
                    Some(bank) => {
                        trail.points.push(bank);
                        continue;
                    }
                    None => break TraceEndReason::Blocked,
                }
            }
            if let Some((place, class)) = self.find_first_crossing(from, to) {
                trail.last_crossing = Some((trail.points.len(), place));
                if class < tier.class
                    && trail.points.len() > 3
                    && self.rng.f64() < tier.ends_at_wider
                {
                    break TraceEndReason::Crossing;
                }
            }
            trail.points.push(to);
            if trail.points.len() > 12 && to.distance_to(seed) < STEP * 1.2 {
                trail.points.push(seed);
                break TraceEndReason::Closed;
            }
            if self.has_parallel_street_near(tier, marks, to, heading, TOO_NEAR)
                || trail.has_returned_to_itself(self.street_spacing(tier, to) * TOO_NEAR)
            {
                break TraceEndReason::Open;
            }
        };
        (self.trim_or_extend_trace(tier, trail, heading, end), end)
    }

    /// Finishes a trace at its last crossing, or extends it to the next one if near; some ends remain dead ends.
    fn trim_or_extend_trace(
        &mut self,
        tier: &StreetTier,
        mut trail: StreetTrail,
        heading: PlanePoint,
        end: TraceEndReason,
    ) -> Vec<PlanePoint> {
        if end == TraceEndReason::Open
            && let Some(place) = self.find_crossing_ahead(tier, &trail, heading)
        {
            trail.points.push(place);
            return trail.points;
        }
        let blind_alley = tier.class == StreetClass::Street && self.rng.f64() < 0.3;
        match (end, trail.last_crossing) {
            (TraceEndReason::Closed, _) => {}
            (TraceEndReason::Crossing, Some((count, place))) => {
                trail.cut_trail_back_to(count, place)
            }
            (_, Some((count, place))) if !blind_alley => trail.cut_trail_back_to(count, place),
            _ => {}
        }
        trail.points
    }

    /// Searches straight ahead for a street to end at.
    fn find_crossing_ahead(
        &self,
        tier: &StreetTier,
        trail: &StreetTrail,
        heading: PlanePoint,
    ) -> Option<PlanePoint> {
        let mut from = trail.points[trail.points.len() - 1];
        let mut heading = heading;
        let steps = (self.street_spacing(tier, from) / STEP).ceil() as usize;
        for _ in 0..steps {
            heading = self.field.street_direction(from, heading);
            let to = from + heading * STEP;
            if !self.is_street_allowed(tier, to) {
                return None;
            }
            if let Some((place, _)) = self.find_first_crossing(from, to) {
                return Some(place);
            }
            from = to;
        }
        None
    }

    /// Returns the first intersection of the segment from a to b with an existing street, and that street's class.
    fn find_first_crossing(
        &self,
        a: PlanePoint,
        b: PlanePoint,
    ) -> Option<(PlanePoint, StreetClass)> {
        self.segments
            .items_near(a.point_towards(b, 0.5), STEP)
            .filter_map(|s| intersect_segments(a, b, s.a, s.b).map(|(share, _)| (share, s.class)))
            .filter(|(share, _)| *share > 0.02)
            .min_by(|x, y| x.0.total_cmp(&y.0))
            .map(|(share, class)| (a.point_towards(b, share), class))
    }

    /// Returns the other bank, if the water ahead flows, is narrow enough and has no bridge nearby.
    fn find_bridge_end(
        &mut self,
        tier: &StreetTier,
        from: PlanePoint,
        heading: PlanePoint,
    ) -> Option<PlanePoint> {
        if tier.bridge == 0.0 {
            return None;
        }
        let mut over_water = false;
        let mut d = STEP / 2.0;
        while d < tier.bridge {
            let p = from + heading * d;
            match self.raster.cover_at(p) {
                GroundCover::River => over_water = true,
                GroundCover::Sea | GroundCover::StandingWater => return None,
                GroundCover::Land if over_water && self.is_street_allowed(tier, p) => {
                    let middle = from.point_towards(p, 0.5);
                    let apart = tier.bridge_apart.min(d * 4.0).max(tier.bridge_apart * 0.5);
                    if self.bridges.iter().any(|b| b.distance_to(middle) < apart) {
                        return None;
                    }
                    self.bridges.push(middle);
                    return Some(p);
                }
                GroundCover::Land | GroundCover::Park | GroundCover::Wood => {}
            }
            d += STEP / 2.0;
        }
        None
    }
}

fn is_point_at_airport(p: PlanePoint) -> bool {
    let along = PlanePoint::from_angle(plan::RUNWAY_DIRECTION.to_radians());
    let local = p - plan::AIRPORT;
    local.dot_product(along).abs() < 1_500.0 && local.cross_product(along).abs() < 470.0
}

/// One half of a street while it is traced.
struct StreetTrail {
    points: Vec<PlanePoint>,
    /// The number of points before the last crossing, and its position.
    last_crossing: Option<(usize, PlanePoint)>,
}

impl StreetTrail {
    fn cut_trail_back_to(&mut self, count: usize, place: PlanePoint) {
        self.points.truncate(count.max(1));
        self.points.push(place);
    }

    /// Returns true if the trail has come back to itself.
    fn has_returned_to_itself(&self, least: f64) -> bool {
        let behind = (least * 3.0 / STEP) as usize + 4;
        let n = self.points.len();
        n > behind
            && self.points[..n - behind]
                .iter()
                .step_by(2)
                .any(|p| p.distance_to(self.points[n - 1]) < least)
    }
}
