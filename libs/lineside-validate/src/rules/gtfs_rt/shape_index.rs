//! Areas around the shapes, or the stops, of a schedule, to check positions against.

use std::ops::Range;

/// Degrees along a great circle in one meter, on a sphere with the Earth's mean radius of
/// 6,371,008.7714 m.
const DEGREES_PER_M: f64 = 180.0 / (std::f64::consts::PI * 6_371_008.771_4);
/// The resolution of stored coordinates: about a centimeter.
const STEPS_PER_DEGREE: f64 = 1e7;
/// Segments of a line that share a box. With 16, a line of a thousand points is skipped with some sixty comparisons.
const PIECES_PER_BOX: usize = 16;

/// A range of latitudes and longitudes, in degrees.
#[derive(Clone, Copy, Debug)]
pub(super) struct BoundingBox {
    lat: (f64, f64),
    /// May extend beyond ±180, across the antimeridian.
    lon: (f64, f64),
}

/// The range of latitudes and longitudes of a set of points.
#[derive(Clone, Copy, Debug)]
pub(super) struct CoordinateExtent {
    lat: (f64, f64),
    lon: (f64, f64),
    /// The longitudes from 0 to 360: narrower if the points lie on both sides of ±180.
    turned: (f64, f64),
}

const EMPTY_RANGE: (f64, f64) = (f64::INFINITY, f64::NEG_INFINITY);

fn extend_range_to(range: &mut (f64, f64), value: f64) {
    *range = (range.0.min(value), range.1.max(value));
}

impl CoordinateExtent {
    pub(super) const EMPTY: CoordinateExtent =
        CoordinateExtent { lat: EMPTY_RANGE, lon: EMPTY_RANGE, turned: EMPTY_RANGE };

    pub(super) fn extend_to_point(&mut self, lat: f64, lon: f64) {
        extend_range_to(&mut self.lat, lat);
        extend_range_to(&mut self.lon, lon);
        extend_range_to(&mut self.turned, if lon < 0.0 { lon + 360.0 } else { lon });
    }

    /// Returns the box around these points with this margin in meters. `None` if there are no points.
    pub(super) fn bounding_box_with_margin(&self, meters: f64) -> Option<BoundingBox> {
        if self.lat.0 > self.lat.1 {
            return None;
        }
        let degrees = meters * DEGREES_PER_M;
        let lat = ((self.lat.0 - degrees).max(-90.0), (self.lat.1 + degrees).min(90.0));
        let is_turned = self.turned.1 - self.turned.0 < self.lon.1 - self.lon.0;
        let lon = if is_turned { self.turned } else { self.lon };
        // Meridians converge towards a pole and meet there.
        let furthest = self.lat.0.abs().max(self.lat.1.abs());
        let across = (degrees.to_radians().sin() / furthest.to_radians().cos()).asin().to_degrees();
        let is_all = furthest + degrees >= 90.0 || lon.1 - lon.0 + 2.0 * across >= 360.0;
        let lon = if is_all { (-180.0, 180.0) } else { (lon.0 - across, lon.1 + across) };
        Some(BoundingBox { lat, lon })
    }
}

impl BoundingBox {
    pub(super) fn contains_point(&self, lat: f64, lon: f64) -> bool {
        let within = |range: (f64, f64), value| range.0 <= value && value <= range.1;
        let turns = [lon, lon + 360.0, lon - 360.0];
        within(self.lat, lat) && turns.into_iter().any(|lon| within(self.lon, lon))
    }
}

/// A point, in steps.
type FixedPointCoordinates = (i32, i32);

/// The lines of shapes, with boxes around groups of segments.
#[derive(Debug, Default)]
pub(super) struct ShapeDistanceIndex {
    points: Vec<FixedPointCoordinates>,
    /// The lowest and highest latitude, and the lowest and highest longitude, of some segments.
    boxes: Vec<[i32; 4]>,
    /// The points and the first box of each line.
    lines: Vec<(Range<u32>, u32)>,
}

impl ShapeDistanceIndex {
    /// Adds a line and returns its number.
    pub(super) fn add_shape_line(&mut self, places: impl Iterator<Item = (f64, f64)>) -> u32 {
        let start = self.points.len();
        let steps = |degrees: f64| (degrees * STEPS_PER_DEGREE).round() as i32;
        self.points.extend(places.map(|(lat, lon)| (steps(lat), steps(lon))));
        let line = &self.points[start..];
        let first_box = self.boxes.len() as u32;
        for at in (0..line.len()).step_by(PIECES_PER_BOX) {
            // The last point of a box is the first point of the next.
            let pieces = &line[at..line.len().min(at + PIECES_PER_BOX + 1)];
            let mut bounds = [i32::MAX, i32::MIN, i32::MAX, i32::MIN];
            for &(lat, lon) in pieces {
                bounds[0] = bounds[0].min(lat);
                bounds[1] = bounds[1].max(lat);
                bounds[2] = bounds[2].min(lon);
                bounds[3] = bounds[3].max(lon);
            }
            self.boxes.push(bounds);
        }
        self.lines.push((start as u32..self.points.len() as u32, first_box));
        self.lines.len() as u32 - 1
    }

    pub(super) fn shrink_to_fit(&mut self) {
        self.points.shrink_to_fit();
        self.boxes.shrink_to_fit();
    }

    /// Returns true if a point is within a distance of a line. As in the reference validator, a degree of longitude is
    /// as long as a degree of latitude, so that away from the equator the distance is shorter to the east and west.
    /// O(boxes of the line), and O(1) for each box that the point is close to.
    pub(super) fn is_near_line_like_reference(
        &self,
        line: u32,
        lat: f64,
        lon: f64,
        meters: f64,
    ) -> bool {
        self.is_near_line_with_scale(line, (lat, lon), meters, 1.0)
    }

    /// Returns true if a point is within a distance of a line, with the true length of a degree of longitude.
    pub(super) fn is_near_line_on_ground(
        &self,
        line: u32,
        lat: f64,
        lon: f64,
        meters: f64,
    ) -> bool {
        self.is_near_line_with_scale(line, (lat, lon), meters, longitude_degree_scale(lat))
    }

    /// Returns the distance of a point from a line in meters, on a plane that touches the Earth at the point. `None` if
    /// there is no such line, or it is empty. O(points of the line).
    pub(super) fn distance_to_line_m(&self, line: u32, lat: f64, lon: f64) -> Option<f64> {
        let (range, _) = self.lines.get(line as usize)?;
        let places = self.points.get(range.start as usize..range.end as usize)?;
        let across = longitude_degree_scale(lat);
        let (lat, lon) = (lat * STEPS_PER_DEGREE, lon * STEPS_PER_DEGREE);
        let flat = |place: &FixedPointCoordinates| {
            ((f64::from(place.1) - lon) * across, f64::from(place.0) - lat)
        };
        let ends = places.get(1..).filter(|ends| !ends.is_empty()).unwrap_or(places);
        let squares = places
            .iter()
            .zip(ends)
            .map(|(from, to)| squared_distance_to_segment(flat(from), flat(to)));
        let square = squares.min_by(f64::total_cmp)?;
        Some(square.sqrt() / STEPS_PER_DEGREE / DEGREES_PER_M)
    }

    /// `across` is the length of a degree of longitude in degrees of latitude.
    fn is_near_line_with_scale(
        &self,
        line: u32,
        (lat, lon): (f64, f64),
        meters: f64,
        across: f64,
    ) -> bool {
        let Some((range, first_box)) = self.lines.get(line as usize) else { return true };
        let places = &self.points[range.start as usize..range.end as usize];
        let boxes = &self.boxes[*first_box as usize..];
        let reach = meters * DEGREES_PER_M * STEPS_PER_DEGREE;
        let (lat, lon) = (lat * STEPS_PER_DEGREE, lon * STEPS_PER_DEGREE);
        for (at, bounds) in (0..places.len()).step_by(PIECES_PER_BOX).zip(boxes) {
            let [south, north, west, east] = bounds.map(f64::from);
            let is_beside = lat < south - reach || lat > north + reach;
            if is_beside || lon < west - reach / across || lon > east + reach / across {
                continue;
            }
            let pieces = &places[at..places.len().min(at + PIECES_PER_BOX + 1)];
            // A line may have a single point.
            let ends = pieces.get(1..).filter(|ends| !ends.is_empty()).unwrap_or(pieces);
            let mut pairs = pieces.iter().zip(ends);
            let flat = |place: &FixedPointCoordinates| {
                ((f64::from(place.1) - lon) * across, f64::from(place.0) - lat)
            };
            if pairs.any(|(from, to)| {
                squared_distance_to_segment(flat(from), flat(to)) <= reach * reach
            }) {
                return true;
            }
        }
        false
    }
}

/// Returns the length of a degree of longitude at a latitude, in degrees of latitude; more than zero at the poles.
fn longitude_degree_scale(lat: f64) -> f64 {
    lat.to_radians().cos().max(1e-6)
}

/// Returns the squared distance of a segment from the origin.
fn squared_distance_to_segment(from: (f64, f64), to: (f64, f64)) -> f64 {
    let along = (to.0 - from.0, to.1 - from.1);
    let length = along.0 * along.0 + along.1 * along.1;
    let part = if length > 0.0 { -(from.0 * along.0 + from.1 * along.1) / length } else { 0.0 };
    let part = part.clamp(0.0, 1.0);
    let (x, y) = (from.0 + part * along.0, from.1 + part * along.1);
    x * x + y * y
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_point_is_near_a_line_within_the_given_distance() {
        let mut lines = ShapeDistanceIndex::default();
        let north = lines.add_shape_line((0..100).map(|at| (59.0 + f64::from(at) * 0.01, 10.0)));
        let point = lines.add_shape_line([(59.0, 10.0)].into_iter());
        // 200 m are 0.0018° of latitude.
        assert!(lines.is_near_line_like_reference(north, 59.495, 10.001_7, 200.0));
        assert!(!lines.is_near_line_like_reference(north, 59.495, 10.001_9, 200.0));
        assert!(!lines.is_near_line_like_reference(north, 60.5, 10.0, 200.0));
        assert!(lines.is_near_line_like_reference(point, 59.001_7, 10.0, 200.0));
        assert!(!lines.is_near_line_like_reference(point, 59.001_9, 10.0, 200.0));
    }

    #[test]
    fn degrees_of_longitude_are_scaled_by_latitude() {
        let mut lines = ShapeDistanceIndex::default();
        let north = lines.add_shape_line((0..100).map(|at| (60.0 + f64::from(at) * 0.001, 10.0)));
        // At 60° north a degree of longitude is half as long: 0.0034° are 189 m.
        assert!(lines.is_near_line_on_ground(north, 60.0, 10.003_4, 200.0));
        assert!(!lines.is_near_line_on_ground(north, 60.0, 10.003_8, 200.0));
        let meters = lines.distance_to_line_m(north, 60.0, 10.003_4).unwrap();
        assert!((188.0..190.0).contains(&meters), "{meters}");
        assert_eq!(lines.distance_to_line_m(NONE_SUCH, 60.0, 10.0), None);
    }

    const NONE_SUCH: u32 = 7;

    #[test]
    fn an_area_may_cross_the_date_line() {
        let mut extent = CoordinateExtent::EMPTY;
        extent.extend_to_point(-17.0, 179.0);
        extent.extend_to_point(-16.0, -179.0);
        let area = extent.bounding_box_with_margin(1_609.0).unwrap();
        assert!(area.contains_point(-16.5, 180.0) && area.contains_point(-16.5, -179.5));
        assert!(!area.contains_point(-16.5, 0.0) && !area.contains_point(-18.0, 180.0));
        assert!(CoordinateExtent::EMPTY.bounding_box_with_margin(1.0).is_none());
    }
}
