//! The city's plane in metres (x east, y north of the centre of the old town), lines on it, and its position on Earth.
//!
//! The plane is small enough that an equirectangular projection about its origin errs by less than the width of a
//! street, so all other modules use metres.

use std::ops::{Add, Mul, Sub};

/// Metres per degree of latitude on the sphere that GTFS consumers use.
const METRES_PER_DEGREE: f64 = 111_195.0;

/// A point or a vector of the plane, in metres.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct PlanePoint {
    pub(crate) x: f64,
    pub(crate) y: f64,
}

pub(crate) const fn point_from_xy(x: f64, y: f64) -> PlanePoint {
    PlanePoint { x, y }
}

impl Add for PlanePoint {
    type Output = Self;
    fn add(self, other: Self) -> Self {
        point_from_xy(self.x + other.x, self.y + other.y)
    }
}

impl Sub for PlanePoint {
    type Output = Self;
    fn sub(self, other: Self) -> Self {
        point_from_xy(self.x - other.x, self.y - other.y)
    }
}

impl Mul<f64> for PlanePoint {
    type Output = Self;
    fn mul(self, factor: f64) -> Self {
        point_from_xy(self.x * factor, self.y * factor)
    }
}

impl PlanePoint {
    pub(crate) fn dot_product(self, other: Self) -> f64 {
        self.x * other.x + self.y * other.y
    }

    pub(crate) fn cross_product(self, other: Self) -> f64 {
        self.x * other.y - self.y * other.x
    }

    pub(crate) fn vector_length(self) -> f64 {
        // Squares cannot overflow at this scale, and this is several times faster than `hypot`.
        self.dot_product(self).sqrt()
    }

    pub(crate) fn distance_to(self, other: Self) -> f64 {
        (self - other).vector_length()
    }

    /// Returns the vector of length 1 in this direction; east for a zero vector.
    pub(crate) fn unit_vector(self) -> Self {
        let length = self.vector_length();
        if length < 1e-9 { point_from_xy(1.0, 0.0) } else { self * (1.0 / length) }
    }

    /// Returns the vector turned left by 90 degrees.
    pub(crate) fn left_normal(self) -> Self {
        point_from_xy(-self.y, self.x)
    }

    pub(crate) fn point_towards(self, other: Self, share: f64) -> Self {
        self + (other - self) * share
    }

    /// Returns the vector of length 1 at an angle from east to north, in radians.
    pub(crate) fn from_angle(angle: f64) -> Self {
        point_from_xy(angle.cos(), angle.sin())
    }

    /// Returns the compass bearing: degrees clockwise from north, 0 ≤ bearing < 360.
    pub(crate) fn compass_bearing(self) -> f64 {
        self.x.atan2(self.y).to_degrees().rem_euclid(360.0)
    }
}

/// The projection of the plane onto the Earth.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Projection {
    lat: f64,
    lon: f64,
    metres_per_degree_lon: f64,
}

impl Projection {
    pub(crate) fn with_origin(lat: f64, lon: f64) -> Self {
        Self { lat, lon, metres_per_degree_lon: METRES_PER_DEGREE * lat.to_radians().cos() }
    }

    /// Returns latitude and longitude in degrees.
    pub(crate) fn to_lat_lon(self, p: PlanePoint) -> (f64, f64) {
        (self.lat + p.y / METRES_PER_DEGREE, self.lon + p.x / self.metres_per_degree_lon)
    }

    #[cfg(test)]
    pub(crate) fn project_lat_lon(self, lat: f64, lon: f64) -> PlanePoint {
        point_from_xy(
            (lon - self.lon) * self.metres_per_degree_lon,
            (lat - self.lat) * METRES_PER_DEGREE,
        )
    }
}

/// A line with cumulative distances, so that points along it can be found by distance.
#[derive(Clone, Debug)]
pub(crate) struct MeasuredLine {
    points: Vec<PlanePoint>,
    along: Vec<f64>,
}

impl MeasuredLine {
    /// Creates a line of at least one point; a line of one point has length 0.
    pub(crate) fn new(mut points: Vec<PlanePoint>) -> Self {
        points.dedup_by(|b, a| a.distance_to(*b) < 0.5);
        let mut along = Vec::with_capacity(points.len());
        let mut total = 0.0;
        for (i, point) in points.iter().enumerate() {
            if i > 0 {
                total += point.distance_to(points[i - 1]);
            }
            along.push(total);
        }
        Self { points, along }
    }

    pub(crate) fn points(&self) -> &[PlanePoint] {
        &self.points
    }

    /// Returns the distance of each point from the start.
    pub(crate) fn distances_along(&self) -> &[f64] {
        &self.along
    }

    pub(crate) fn total_length(&self) -> f64 {
        self.along.last().copied().unwrap_or(0.0)
    }

    /// Returns the point at a distance from the start and the direction there; clamped to the ends.
    pub(crate) fn point_and_direction_at(&self, distance: f64) -> (PlanePoint, PlanePoint) {
        let next =
            self.along.partition_point(|d| *d <= distance).clamp(1, self.points.len().max(2) - 1);
        let (Some(&a), Some(&b)) = (self.points.get(next - 1), self.points.get(next)) else {
            return (self.points.first().copied().unwrap_or_default(), point_from_xy(1.0, 0.0));
        };
        let length = self.along[next] - self.along[next - 1];
        let share = ((distance - self.along[next - 1]) / length).clamp(0.0, 1.0);
        (a.point_towards(b, share), (b - a).unit_vector())
    }

    pub(crate) fn point_at(&self, distance: f64) -> PlanePoint {
        self.point_and_direction_at(distance).0
    }

    /// Returns the distance along the line of the point nearest to `p`, and its distance from `p`.
    pub(crate) fn nearest_position_and_distance(&self, p: PlanePoint) -> (f64, f64) {
        let mut best = (0.0, f64::MAX);
        for (i, pair) in self.points.windows(2).enumerate() {
            let (foot, share) = closest_on_segment(p, pair[0], pair[1]);
            let distance = foot.distance_to(p);
            if distance < best.1 {
                best = (self.along[i] + share * (self.along[i + 1] - self.along[i]), distance);
            }
        }
        best
    }

    /// Returns the part between two distances, both clamped to the line.
    pub(crate) fn slice_between(&self, from: f64, to: f64) -> Vec<PlanePoint> {
        let mut part = vec![self.point_at(from)];
        for (point, distance) in self.points.iter().zip(&self.along) {
            if *distance > from && *distance < to {
                part.push(*point);
            }
        }
        part.push(self.point_at(to));
        part
    }
}

/// Returns the point on the segment a–b nearest to `p`, and its share of the way from a to b.
pub(crate) fn closest_on_segment(p: PlanePoint, a: PlanePoint, b: PlanePoint) -> (PlanePoint, f64) {
    let ab = b - a;
    let square = ab.dot_product(ab);
    let share =
        if square < 1e-12 { 0.0 } else { ((p - a).dot_product(ab) / square).clamp(0.0, 1.0) };
    (a.point_towards(b, share), share)
}

/// Returns the intersection of the segments a–b and c–d, as the share of the way from a to b and from c to d.
pub(crate) fn intersect_segments(
    a: PlanePoint,
    b: PlanePoint,
    c: PlanePoint,
    d: PlanePoint,
) -> Option<(f64, f64)> {
    let (r, s) = (b - a, d - c);
    let turn = r.cross_product(s);
    if turn.abs() < 1e-9 {
        return None;
    }
    let first = (c - a).cross_product(s) / turn;
    let second = (c - a).cross_product(r) / turn;
    ((0.0..=1.0).contains(&first) && (0.0..=1.0).contains(&second)).then_some((first, second))
}

/// Returns a smooth line through all the points (centripetal enough for evenly spaced ones), with a point every `step`
/// metres.
pub(crate) fn smooth_spline(points: &[PlanePoint], closed: bool, step: f64) -> Vec<PlanePoint> {
    let n = points.len();
    if n < 3 {
        return MeasuredLine::new(points.to_vec()).resample_evenly(step);
    }
    let pick = |i: isize| -> PlanePoint {
        if closed {
            points[i.rem_euclid(n as isize) as usize]
        } else if i < 0 {
            points[0] + (points[0] - points[1])
        } else if i >= n as isize {
            points[n - 1] + (points[n - 1] - points[n - 2])
        } else {
            points[i as usize]
        }
    };
    let mut line = Vec::new();
    let pieces = if closed { n } else { n - 1 };
    for i in 0..pieces as isize {
        let control = [pick(i - 1), pick(i), pick(i + 1), pick(i + 2)];
        let count = (control[1].distance_to(control[2]) / step).ceil().max(1.0) as usize;
        line.extend((0..count).map(|k| catmull_rom_point(control, k as f64 / count as f64)));
    }
    if !closed {
        line.push(points[n - 1]);
    }
    line
}

/// Evaluates a centripetal Catmull–Rom spline: no loops and no overshoot, however uneven the spacing.
fn catmull_rom_point(p: [PlanePoint; 4], share: f64) -> PlanePoint {
    let knot = |t: f64, a: PlanePoint, b: PlanePoint| t + a.distance_to(b).sqrt().max(1e-3);
    let t0 = 0.0;
    let t1 = knot(t0, p[0], p[1]);
    let t2 = knot(t1, p[1], p[2]);
    let t3 = knot(t2, p[2], p[3]);
    let t = t1 + (t2 - t1) * share;
    let mix = |a: PlanePoint, b: PlanePoint, ta: f64, tb: f64| {
        a * ((tb - t) / (tb - ta)) + b * ((t - ta) / (tb - ta))
    };
    let (a1, a2, a3) = (mix(p[0], p[1], t0, t1), mix(p[1], p[2], t1, t2), mix(p[2], p[3], t2, t3));
    let (b1, b2) = (mix(a1, a2, t0, t2), mix(a2, a3, t1, t3));
    mix(b1, b2, t1, t2)
}

impl MeasuredLine {
    /// Returns the line with a point about every `step` metres.
    pub(crate) fn resample_evenly(&self, step: f64) -> Vec<PlanePoint> {
        let count = (self.total_length() / step).ceil().max(1.0) as usize;
        (0..=count).map(|i| self.point_at(self.total_length() * i as f64 / count as f64)).collect()
    }
}

/// Rounds corners by cutting them (Chaikin); both ends stay.
pub(crate) fn round_corners(points: &[PlanePoint], rounds: usize) -> Vec<PlanePoint> {
    let mut line = points.to_vec();
    for _ in 0..rounds {
        if line.len() < 3 {
            return line;
        }
        let mut rounder = vec![line[0]];
        for pair in line.windows(2) {
            rounder.push(pair[0].point_towards(pair[1], 0.25));
            rounder.push(pair[0].point_towards(pair[1], 0.75));
        }
        rounder.push(line[line.len() - 1]);
        line = rounder;
    }
    line
}

/// Drops points within `tolerance` metres of the simplified line (Douglas–Peucker).
pub(crate) fn simplify_line(points: &[PlanePoint], tolerance: f64) -> Vec<PlanePoint> {
    if points.len() < 3 {
        return points.to_vec();
    }
    let mut keep = vec![false; points.len()];
    keep[0] = true;
    keep[points.len() - 1] = true;
    let mut open = vec![(0, points.len() - 1)];
    while let Some((from, to)) = open.pop() {
        let farthest = (from + 1..to)
            .map(|i| {
                (
                    i,
                    closest_on_segment(points[i], points[from], points[to])
                        .0
                        .distance_to(points[i]),
                )
            })
            .max_by(|a, b| a.1.total_cmp(&b.1));
        if let Some((i, distance)) = farthest
            && distance > tolerance
        {
            keep[i] = true;
            open.push((from, i));
            open.push((i, to));
        }
    }
    points.iter().zip(&keep).filter(|(_, keep)| **keep).map(|(point, _)| *point).collect()
}

/// Returns the direction at each point of a polyline: the mean of the directions in and out.
pub(crate) fn line_directions(points: &[PlanePoint]) -> Vec<PlanePoint> {
    (0..points.len())
        .map(|i| {
            (points[(i + 1).min(points.len() - 1)] - points[i.saturating_sub(1)]).unit_vector()
        })
        .collect()
}

/// Returns a ring of twice `half_width` around a line; the width may vary along it.
pub(crate) fn ribbon_ring(
    line: &[PlanePoint],
    half_width: impl Fn(usize) -> f64,
) -> Vec<PlanePoint> {
    let directions = line_directions(line);
    let side = |i: usize, sign: f64| line[i] + directions[i].left_normal() * (half_width(i) * sign);
    let mut ring: Vec<PlanePoint> = (0..line.len()).map(|i| side(i, 1.0)).collect();
    ring.extend((0..line.len()).rev().map(|i| side(i, -1.0)));
    ring
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn points_and_distances_along_a_line_convert_both_ways() {
        let line = MeasuredLine::new(vec![
            point_from_xy(0.0, 0.0),
            point_from_xy(100.0, 0.0),
            point_from_xy(100.0, 50.0),
        ]);
        assert_eq!(line.total_length(), 150.0);
        let (point, direction) = line.point_and_direction_at(120.0);
        assert_eq!((point, direction), (point_from_xy(100.0, 20.0), point_from_xy(0.0, 1.0)));
        assert_eq!(line.nearest_position_and_distance(point_from_xy(103.0, 20.0)), (120.0, 3.0));
        assert_eq!(line.point_and_direction_at(1e9).0, point_from_xy(100.0, 50.0));
        assert_eq!(
            line.slice_between(90.0, 110.0),
            [point_from_xy(90.0, 0.0), point_from_xy(100.0, 0.0), point_from_xy(100.0, 10.0)]
        );
    }

    #[test]
    fn bearings_run_clockwise_from_north() {
        assert_eq!(point_from_xy(0.0, 1.0).compass_bearing(), 0.0);
        assert_eq!(point_from_xy(1.0, 0.0).compass_bearing(), 90.0);
        assert_eq!(point_from_xy(-1.0, 0.0).compass_bearing(), 270.0);
    }

    #[test]
    fn simplifying_keeps_the_corners_and_the_ends() {
        let line = [
            point_from_xy(0.0, 0.0),
            point_from_xy(50.0, 0.5),
            point_from_xy(100.0, 0.0),
            point_from_xy(100.0, 80.0),
        ];
        assert_eq!(
            simplify_line(&line, 2.0),
            [point_from_xy(0.0, 0.0), point_from_xy(100.0, 0.0), point_from_xy(100.0, 80.0)]
        );
    }

    #[test]
    fn the_projection_round_trips() {
        let projection = Projection::with_origin(54.7, 2.1);
        let p = point_from_xy(-8_123.0, 4_321.0);
        let (lat, lon) = projection.to_lat_lon(p);
        assert!(projection.project_lat_lon(lat, lon).distance_to(p) < 1e-6);
    }
}
