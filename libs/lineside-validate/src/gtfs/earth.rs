//! Positions and distances on a sphere.

use std::{
    f64::consts::TAU,
    ops::{Add, Mul, Sub},
};

use super::{GtfsFeed, GtfsFile};

/// The radius of the sphere with the Earth's surface area, in meters.
///
/// Source: Yoder, "Astrometric and Geodetic Properties of Earth and the Solar System" (1995). The reference validator
/// uses the same radius, so that both report the same stops.
pub const EARTH_RADIUS_M: f64 = 6_371_010.0;

/// A point on the sphere: the unit vector from the center of the Earth.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SpherePoint {
    /// Towards 0° north, 0° east.
    pub x: f64,
    /// Towards 0° north, 90° east.
    pub y: f64,
    /// Towards the north pole.
    pub z: f64,
}

impl SpherePoint {
    /// 0° north, 0° east.
    pub const ORIGIN: SpherePoint = SpherePoint { x: 1.0, y: 0.0, z: 0.0 };

    /// Returns the point at a latitude and a longitude, in degrees.
    pub fn from_lat_lon(lat: f64, lon: f64) -> SpherePoint {
        let (lat_sin, lat_cos) = (lat * (TAU / 360.0)).sin_cos();
        let (lon_sin, lon_cos) = (lon * (TAU / 360.0)).sin_cos();
        SpherePoint { x: lat_cos * lon_cos, y: lat_cos * lon_sin, z: lat_sin }
    }

    /// Returns the angle between two points, in radians: exact for close and for antipodal points.
    #[inline]
    pub fn angle_to(self, other: SpherePoint) -> f64 {
        self.cross_product(other).vector_length().atan2(self.dot_product(other))
    }

    /// Returns the distance to another point along the surface, in meters.
    #[inline]
    pub fn distance_m(self, other: SpherePoint) -> f64 {
        self.angle_to(other) * EARTH_RADIUS_M
    }

    /// Returns the dot product.
    #[inline]
    pub fn dot_product(self, other: SpherePoint) -> f64 {
        self.x * other.x + self.y * other.y + self.z * other.z
    }

    /// Returns the cross product.
    #[inline]
    pub fn cross_product(self, other: SpherePoint) -> SpherePoint {
        SpherePoint {
            x: self.y * other.z - self.z * other.y,
            y: self.z * other.x - self.x * other.z,
            z: self.x * other.y - self.y * other.x,
        }
    }

    /// Returns the length of the vector: 1 for a point on the sphere.
    #[inline]
    pub fn vector_length(self) -> f64 {
        self.dot_product(self).sqrt()
    }

    /// Returns the vector of length 1 in the same direction.
    #[inline]
    pub fn unit_vector(self) -> SpherePoint {
        let norm = self.vector_length();
        if norm == 0.0 { self } else { self * (1.0 / norm) }
    }

    /// Returns the latitude and longitude, in degrees.
    pub fn to_lat_lon(self) -> (f64, f64) {
        let across = (self.x * self.x + self.y * self.y).sqrt();
        (self.z.atan2(across).to_degrees(), self.y.atan2(self.x).to_degrees())
    }

    /// Returns the point on the shortest line between two others that is closest to this one.
    #[inline]
    pub fn closest_point_on_segment(self, start: SpherePoint, end: SpherePoint) -> SpherePoint {
        // A vector perpendicular to both, accurate for close points. If both are the same point it is undefined, and
        // both conditions below are false.
        let normal = (end + start).cross_product(end - start);
        let projected = self - normal * (self.dot_product(normal) / normal.dot_product(normal));
        let is_after_start = start.dot_product(projected.cross_product(normal)) > 0.0;
        let is_before_end = end.dot_product(normal.cross_product(projected)) > 0.0;
        if is_after_start && is_before_end {
            return projected.unit_vector();
        }
        let (to_start, to_end) = (self - start, self - end);
        if to_start.dot_product(to_start) <= to_end.dot_product(to_end) { start } else { end }
    }

    /// Returns the point at a fraction of the way to another.
    pub fn point_at_fraction_toward(self, end: SpherePoint, fraction: f64) -> SpherePoint {
        let angle = self.angle_to(end);
        // The points are too close to determine a direction.
        if fraction == 0.0 || angle <= 1e-15 {
            return self;
        }
        let angle_part = fraction * angle;
        let by_end = angle_part.sin() / angle.sin();
        let by_start = angle_part.cos() - by_end * angle.cos();
        (self * by_start + end * by_end).unit_vector()
    }
}

impl Add for SpherePoint {
    type Output = SpherePoint;

    #[inline]
    fn add(self, other: SpherePoint) -> SpherePoint {
        SpherePoint { x: self.x + other.x, y: self.y + other.y, z: self.z + other.z }
    }
}

impl Sub for SpherePoint {
    type Output = SpherePoint;

    #[inline]
    fn sub(self, other: SpherePoint) -> SpherePoint {
        SpherePoint { x: self.x - other.x, y: self.y - other.y, z: self.z - other.z }
    }
}

impl Mul<f64> for SpherePoint {
    type Output = SpherePoint;

    #[inline]
    fn mul(self, factor: f64) -> SpherePoint {
        SpherePoint { x: self.x * factor, y: self.y * factor, z: self.z * factor }
    }
}

/// Returns the distance between two latitudes and longitudes in degrees along the surface, in meters, by the haversine
/// formula. Its rounding differs from that of [`SpherePoint::distance_m`], which matters at limits.
pub fn haversine_distance_m(from: (f64, f64), to: (f64, f64)) -> f64 {
    let (from_lat, from_lon) = (from.0.to_radians(), from.1.to_radians());
    let (to_lat, to_lon) = (to.0.to_radians(), to.1.to_radians());
    let lat = (0.5 * (to_lat - from_lat)).sin();
    let lon = (0.5 * (to_lon - from_lon)).sin();
    let square = lat * lat + lon * lon * from_lat.cos() * to_lat.cos();
    2.0 * square.min(1.0).sqrt().asin() * EARTH_RADIUS_M
}

/// The number of levels that are searched for coordinates: a boarding area, its platform, and the station.
const LEVELS: usize = 3;

impl GtfsFeed {
    /// Returns the position of each row of `stops.txt`: its own coordinates, or else those of its parent or
    /// grandparent. Computed at the first call, O(stops).
    pub fn stop_positions(&self) -> &[Option<SpherePoint>] {
        self.joins.stop_points.get_or_init(|| {
            let stops = self.table(GtfsFile::Stops);
            let (lat, lon) = (stops.float_column("stop_lat"), stops.float_column("stop_lon"));
            let parents = stops.text_column("parent_station");
            let parent_rows = self.rows_referenced_by_field(
                GtfsFile::Stops,
                "parent_station",
                GtfsFile::Stops,
                "stop_id",
            );
            let parent = |&row: &u32| {
                parents
                    .text_code_of_row(row)
                    .and_then(|code| parent_rows.row_referenced_by_code(code))
            };
            let own = |row| Some(SpherePoint::from_lat_lon(lat.get(row)?, lon.get(row)?));
            let chain = |row| std::iter::successors(Some(row), parent).take(LEVELS);
            stops.row_numbers().map(|row| chain(row).find_map(own)).collect()
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn distances_are_measured_on_a_sphere() {
        let quarter = EARTH_RADIUS_M * TAU / 4.0;
        for (from, to, meters) in [
            ((0.0, 0.0), (90.0, 0.0), quarter),
            ((0.0, 0.0), (0.0, 180.0), quarter * 2.0),
            ((-90.0, 12.0), (90.0, 12.0), quarter * 2.0),
            ((59.9, 10.7), (59.9, 10.7), 0.0),
            ((0.0, 179.5), (0.0, -179.5), quarter / 90.0),
        ] {
            let (from, to) =
                (SpherePoint::from_lat_lon(from.0, from.1), SpherePoint::from_lat_lon(to.0, to.1));
            assert!((from.distance_m(to) - meters).abs() < 1e-6, "{meters}");
        }
        // At 60° north a degree of longitude is half as long, except for the curvature of the great circle.
        let meters = haversine_distance_m((60.0, 10.0), (60.0, 11.0));
        assert!((meters - 0.499_995_240_33 * quarter / 90.0).abs() < 1e-3, "{meters}");
        assert!(
            (SpherePoint::from_lat_lon(60.0, 10.0)
                .distance_m(SpherePoint::from_lat_lon(60.0, 11.0))
                - meters)
                .abs()
                < 1e-6
        );
        // A centimeter, which the cosine formula cannot distinguish from zero.
        let near = SpherePoint::from_lat_lon(59.900_000_1, 10.7)
            .distance_m(SpherePoint::from_lat_lon(59.9, 10.7));
        assert!((near - 0.011_119_5).abs() < 1e-6, "{near}");
    }

    #[test]
    fn the_closest_point_is_on_the_segment_or_at_an_end() {
        let (start, end) =
            (SpherePoint::from_lat_lon(0.0, 0.0), SpherePoint::from_lat_lon(0.0, 2.0));
        let point = SpherePoint::from_lat_lon(1.0, 1.0);
        let (lat, lon) = point.closest_point_on_segment(start, end).to_lat_lon();
        assert!(lat.abs() < 1e-9 && (lon - 1.0).abs() < 1e-9, "{lat}, {lon}");
        assert_eq!(SpherePoint::from_lat_lon(1.0, 3.0).closest_point_on_segment(start, end), end);
        assert_eq!(
            SpherePoint::from_lat_lon(0.0, -1.0).closest_point_on_segment(start, end),
            start
        );
        assert_eq!(point.closest_point_on_segment(start, start), start);
    }

    #[test]
    fn a_point_at_a_fraction_divides_the_distance_accordingly() {
        let (start, end) =
            (SpherePoint::from_lat_lon(50.0, 8.0), SpherePoint::from_lat_lon(51.0, 9.0));
        let half = start.point_at_fraction_toward(end, 0.5);
        assert!((half.distance_m(start) - half.distance_m(end)).abs() < 1e-6);
        assert_eq!(start.point_at_fraction_toward(end, 0.0), start);
        assert_eq!(start.point_at_fraction_toward(start, 0.5), start);
    }
}
