//! A shape as a line on the sphere, and the positions of stops along it.

use std::ops::Range;

use crate::gtfs::{EARTH_RADIUS_M, GtfsFeed, GtfsFile, SpherePoint, haversine_distance_m};

/// A position on a shape that may be a stop's.
#[derive(Clone, Copy, Debug)]
pub(super) struct PositionOnShape {
    /// The index of the last shape point at or before the position.
    pub(super) index: usize,
    pub(super) place: SpherePoint,
    /// The distance along the shape from its start, in meters.
    pub(super) along: f64,
    /// The distance from the stop, in meters.
    pub(super) to_shape: f64,
}

impl PositionOnShape {
    /// No match, farther than any other.
    pub(super) const NONE: PositionOnShape = PositionOnShape {
        index: 0,
        place: SpherePoint::ORIGIN,
        along: 0.0,
        to_shape: f64::INFINITY,
    };

    fn has_position(&self) -> bool {
        self.to_shape < f64::INFINITY
    }

    fn replace_if_closer(&mut self, place: SpherePoint, to_shape: f64, index: usize) {
        if to_shape < self.to_shape {
            *self = PositionOnShape { index, place, along: 0.0, to_shape };
        }
    }
}

/// The number of segments that are skipped together if a stop is far from them.
const BLOCK: usize = 16;
/// The margin for rounding in approximate comparisons, as a fraction of the Earth's radius: less
/// than a centimeter.
const ROUNDING: f64 = 1e-9;

/// A ball around a block of segments, in Earth radii.
#[derive(Clone, Copy, Debug)]
struct SegmentBlockBall {
    center: SpherePoint,
    radius: f64,
}

/// A shape, reused for its buffers.
#[derive(Debug, Default)]
pub(super) struct ShapePolyline {
    points: Vec<SpherePoint>,
    /// The distance of each point along the shape, in meters.
    along: Vec<f64>,
    /// The feed's distance of each point, made non-decreasing.
    feed_distances: Vec<f64>,
    balls: Vec<SegmentBlockBall>,
}

impl ShapePolyline {
    /// Reads another shape from rows of `shapes.txt` in order. O(n).
    pub(super) fn read_shape_points(&mut self, feed: &GtfsFeed, rows: &[u32]) {
        let shapes = feed.table(GtfsFile::Shapes);
        let (lat, lon) = (shapes.float_column("shape_pt_lat"), shapes.float_column("shape_pt_lon"));
        let distances = shapes.float_column("shape_dist_traveled");
        self.set_shape_points(rows.iter().map(|&row| {
            let place = (lat.get(row).unwrap_or(0.0), lon.get(row).unwrap_or(0.0));
            (place, distances.get(row).unwrap_or(0.0))
        }));
    }

    /// Sets the points of a shape: latitude, longitude, and the feed's distance.
    fn set_shape_points(&mut self, points: impl Iterator<Item = ((f64, f64), f64)>) {
        self.points.clear();
        self.along.clear();
        self.feed_distances.clear();
        let (mut along, mut furthest, mut last) = (0.0, 0.0_f64, None);
        for (place, feed_distance) in points {
            along += last.map_or(0.0, |last| haversine_distance_m(last, place));
            furthest = furthest.max(feed_distance);
            last = Some(place);
            self.points.push(SpherePoint::from_lat_lon(place.0, place.1));
            self.along.push(along);
            self.feed_distances.push(furthest);
        }
        self.balls.clear();
        for start in (0..self.segment_count()).step_by(BLOCK) {
            let end = (start + BLOCK).min(self.segment_count());
            self.balls.push(SegmentBlockBall::ball_around_points(&self.points[start..=end]));
        }
    }

    fn segment_count(&self) -> usize {
        self.points.len().saturating_sub(1)
    }

    /// Returns true if the shape has a single point.
    pub(super) fn is_single_point(&self) -> bool {
        self.points.len() == 1
    }

    /// Returns true if the feed has distances for the points.
    pub(super) fn has_feed_distances(&self) -> bool {
        self.feed_distances.last().is_some_and(|&given| given > 0.0)
    }

    /// Adds the positions along the shape that are locally closest to a stop and at most
    /// `meters_max` away. O(n), mostly in steps of a whole block.
    pub(super) fn find_local_closest_positions(
        &self,
        stop: SpherePoint,
        meters_max: f64,
        out: &mut Vec<PositionOnShape>,
    ) {
        let angle_max = meters_max / EARTH_RADIUS_M;
        let reach = 2.0 * (angle_max / 2.0).sin() + ROUNDING;
        let n_before = out.len();
        let mut state = StopApproach::default();
        for (block, ball) in self.balls.iter().enumerate() {
            if !ball.may_be_within_distance(stop, reach) {
                state.record_closest_position(out);
                continue;
            }
            for at in self.segments_of_block(block) {
                let (start, end) = (self.points[at], self.points[at + 1]);
                let place = stop.closest_point_on_segment(start, end);
                let away = stop - place;
                // The straight-line distance rules out most segments without computing an angle.
                let meters = if away.dot_product(away) > reach * reach {
                    f64::INFINITY
                } else {
                    stop.distance_m(place)
                };
                if meters <= meters_max {
                    state.add_nearby_segment(place, meters, at, out);
                    let to_end = stop.distance_m(end);
                    state.to_end = to_end;
                    state.is_leaving = to_end > meters;
                } else {
                    state.record_closest_position(out);
                }
            }
        }
        state.record_closest_position(out);
        for found in &mut out[n_before..] {
            let index = found.index;
            found.along = self.along[index] + found.place.distance_m(self.points[index]);
        }
    }

    fn segments_of_block(&self, block: usize) -> Range<usize> {
        let start = block * BLOCK;
        start..(start + BLOCK).min(self.segment_count())
    }

    /// Returns the position on the shape closest to a stop. O(n).
    pub(super) fn closest_position_on_shape(&self, stop: SpherePoint) -> PositionOnShape {
        let mut best = PositionOnShape::NONE;
        if let [only] = self.points.as_slice() {
            best.replace_if_closer(*only, stop.distance_m(*only), 0);
        }
        for at in 0..self.segment_count() {
            let place = stop.closest_point_on_segment(self.points[at], self.points[at + 1]);
            best.replace_if_closer(place, stop.distance_m(place), at);
        }
        best
    }

    /// Returns the position at the feed's distance for a stop, searching from a point of the shape.
    /// O(log n).
    pub(super) fn position_at_feed_distance(
        &self,
        stop: SpherePoint,
        feed_distance: f64,
        from: usize,
    ) -> PositionOnShape {
        let n_before = self.feed_distances[from..].partition_point(|&other| feed_distance >= other);
        let next = from + n_before;
        let index = next.saturating_sub(1).max(from);
        let mut fraction = 0.0;
        if next > 0 && index + 1 < self.points.len() {
            let (start, end) = (self.feed_distances[index], self.feed_distances[next]);
            if !are_nearly_equal(start, end) {
                fraction = (feed_distance - start) / (end - start);
            }
        }
        let after = (index + 1).min(self.points.len() - 1);
        let place = self.points[index].point_at_fraction_toward(self.points[after], fraction);
        let along = self.along[index] + fraction * (self.along[after] - self.along[index]);
        PositionOnShape { index, place, along, to_shape: stop.distance_m(place) }
    }
}

/// Returns true if distances are too similar to divide by their difference.
fn are_nearly_equal(one: f64, other: f64) -> bool {
    const PART: f64 = 32e-9;
    (one - other).abs() <= PART.max(PART * one.abs().max(other.abs()))
}

/// The state while a shape approaches a stop, segment by segment, and leaves it.
#[derive(Debug)]
struct StopApproach {
    /// The closest position of the current approach.
    best: PositionOnShape,
    /// The distance from the stop to the end of the last segment, in meters.
    to_end: f64,
    /// True if that distance is larger than the distance to the segment.
    is_leaving: bool,
}

impl Default for StopApproach {
    fn default() -> StopApproach {
        StopApproach { best: PositionOnShape::NONE, to_end: f64::INFINITY, is_leaving: false }
    }
}

impl StopApproach {
    /// Handles a segment near the stop. If the segment before led away and this one leads back, the
    /// shape passed the stop in between.
    fn add_nearby_segment(
        &mut self,
        place: SpherePoint,
        meters: f64,
        at: usize,
        out: &mut Vec<PositionOnShape>,
    ) {
        if self.is_leaving && meters < self.to_end {
            self.record_closest_position(out);
        }
        self.best.replace_if_closer(place, meters, at);
    }

    /// Ends the approach: records the closest position, if any.
    fn record_closest_position(&mut self, out: &mut Vec<PositionOnShape>) {
        if self.best.has_position() {
            out.push(self.best);
            self.best = PositionOnShape::NONE;
        }
    }
}

impl SegmentBlockBall {
    fn ball_around_points(points: &[SpherePoint]) -> SegmentBlockBall {
        let sum =
            points.iter().fold(SpherePoint { x: 0.0, y: 0.0, z: 0.0 }, |sum, &point| sum + point);
        let center = sum * (1.0 / points.len() as f64);
        let far = points.iter().map(|&point| (point - center).vector_length()).fold(0.0, f64::max);
        // Segments follow the surface, so their middle may be outside a ball around their ends, by
        // less than a quarter of their squared length.
        let longest =
            points.windows(2).map(|pair| (pair[1] - pair[0]).vector_length()).fold(0.0, f64::max);
        SegmentBlockBall { center, radius: far + longest * longest / 4.0 }
    }

    fn may_be_within_distance(&self, point: SpherePoint, reach: f64) -> bool {
        let (away, reach) = (point - self.center, self.radius + reach);
        away.dot_product(away) <= reach * reach
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(points: &[(f64, f64)]) -> ShapePolyline {
        let mut line = ShapePolyline::default();
        line.set_shape_points(points.iter().enumerate().map(|(at, &place)| (place, at as f64)));
        line
    }

    fn near(line: &ShapePolyline, stop: (f64, f64)) -> Vec<PositionOnShape> {
        let mut matches = Vec::new();
        line.find_local_closest_positions(
            SpherePoint::from_lat_lon(stop.0, stop.1),
            100.0,
            &mut matches,
        );
        matches
    }

    #[test]
    fn a_shape_that_passes_a_stop_repeatedly_matches_each_time() {
        // About 550 m back and forth, with the stop in the middle.
        let points: Vec<_> = (0..10).map(|at| (60.0, 10.0 + f64::from(at % 2) * 0.01)).collect();
        let matches = near(&line(&points), (60.0002, 10.005));
        let indexes: Vec<usize> = matches.iter().map(|found| found.index).collect();
        assert_eq!(indexes, (0..9).collect::<Vec<_>>());
        assert!(matches.iter().all(|found| (found.to_shape - 22.2).abs() < 0.1), "{matches:?}");
        assert!(near(&line(&points), (60.001, 10.005)).is_empty());
    }

    #[test]
    fn skipping_blocks_of_points_loses_no_match() {
        let mut random = fastrand::Rng::with_seed(7);
        for step in [0.0002, 0.002, 0.5] {
            let mut place = (60.0, 10.0);
            let points: Vec<_> = (0..1_000)
                .map(|_| {
                    place.0 += (random.f64() - 0.5) * step;
                    place.1 += (random.f64() - 0.5) * step;
                    place
                })
                .collect();
            let (blocks, mut plain) = (line(&points), line(&points));
            for ball in &mut plain.balls {
                ball.radius = 3.0;
            }
            let mut n_matches = 0;
            for _ in 0..500 {
                let (lat, lon) = points[random.usize(..points.len())];
                let mut away = || random.f64() * 0.004 - 0.002;
                let stop = (lat + away(), lon + away());
                let all = near(&plain, stop);
                n_matches += all.len();
                assert_eq!(format!("{:?}", near(&blocks, stop)), format!("{all:?}"));
            }
            assert!(n_matches > 100, "{n_matches}");
        }
    }

    #[test]
    fn a_given_distance_is_interpolated_between_two_points() {
        let line = line(&[(60.0, 10.0), (60.0, 10.01), (60.0, 10.02)]);
        let stop = SpherePoint::from_lat_lon(60.0, 10.005);
        let found = line.position_at_feed_distance(stop, 0.5, 0);
        assert!(found.index == 0 && found.to_shape < 0.1, "{found:?}");
        // Never before the starting point of the search, nor beyond the last point.
        assert_eq!(line.position_at_feed_distance(stop, 0.5, 1).place, line.points[1]);
        assert_eq!(line.position_at_feed_distance(stop, 9.0, 0).place, line.points[2]);
    }
}
