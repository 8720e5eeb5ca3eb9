//! Where stops are, and how far things are from each other, on a sphere.

use std::f64::consts::TAU;

use super::{Feed, File};

/// The radius of the sphere that has the Earth's surface, in meters.
///
/// Source: Yoder, "Astrometric and Geodetic Properties of Earth and the Solar System" (1995). The
/// reference validator counts with the same, so that both draw the line at the same stop.
pub const EARTH_RADIUS_M: f64 = 6_371_010.0;

/// A place on the sphere: the unit vector from the middle of the Earth.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Point {
    /// Towards 0° north, 0° east.
    pub x: f64,
    /// Towards 0° north, 90° east.
    pub y: f64,
    /// Towards the north pole.
    pub z: f64,
}

impl Point {
    /// 0° north, 0° east.
    pub const ORIGIN: Point = Point { x: 1.0, y: 0.0, z: 0.0 };

    /// The place of a latitude and a longitude, in degrees.
    pub fn of(lat: f64, lon: f64) -> Point {
        let (lat_sin, lat_cos) = (lat * (TAU / 360.0)).sin_cos();
        let (lon_sin, lon_cos) = (lon * (TAU / 360.0)).sin_cos();
        Point { x: lat_cos * lon_cos, y: lat_cos * lon_sin, z: lat_sin }
    }

    /// The angle between two places, in radians: exact for neighbours and for antipodes.
    #[inline]
    pub fn angle(self, other: Point) -> f64 {
        self.cross(other).norm().atan2(self.dot(other))
    }

    /// How far it is to another place along the surface, in meters.
    #[inline]
    pub fn distance_m(self, other: Point) -> f64 {
        self.angle(other) * EARTH_RADIUS_M
    }

    /// The product that is 0 at right angles.
    #[inline]
    pub fn dot(self, other: Point) -> f64 {
        self.x * other.x + self.y * other.y + self.z * other.z
    }

    /// The product that stands at right angles to both.
    #[inline]
    pub fn cross(self, other: Point) -> Point {
        Point {
            x: self.y * other.z - self.z * other.y,
            y: self.z * other.x - self.x * other.z,
            z: self.x * other.y - self.y * other.x,
        }
    }

    /// The length: 1 for a place.
    #[inline]
    pub fn norm(self) -> f64 {
        self.dot(self).sqrt()
    }
}

/// How far up a stop without coordinates looks for those of the place it is part of: a boarding
/// area is part of a platform, and that of a station.
const LEVELS: usize = 3;

impl Feed {
    /// Where the stop of each row of stops.txt is: by its own coordinates, else by those of its
    /// parent or its parent's parent. Made at the first question, O(stops).
    pub fn stop_points(&self) -> &[Option<Point>] {
        self.joins.stop_points.get_or_init(|| {
            let stops = self.table(File::Stops);
            let (lat, lon) = (stops.floats("stop_lat"), stops.floats("stop_lon"));
            let parents = stops.texts("parent_station");
            let parent_rows = self.link(File::Stops, "parent_station", File::Stops, "stop_id");
            let parent = |&row: &u32| parents.code(row).and_then(|code| parent_rows.row(code));
            let own = |row| Some(Point::of(lat.get(row)?, lon.get(row)?));
            let chain = |row| std::iter::successors(Some(row), parent).take(LEVELS);
            stops.rows().map(|row| chain(row).find_map(own)).collect()
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn distances_are_those_of_a_sphere() {
        let quarter = EARTH_RADIUS_M * TAU / 4.0;
        for (from, to, meters) in [
            ((0.0, 0.0), (90.0, 0.0), quarter),
            ((0.0, 0.0), (0.0, 180.0), quarter * 2.0),
            ((-90.0, 12.0), (90.0, 12.0), quarter * 2.0),
            ((59.9, 10.7), (59.9, 10.7), 0.0),
            ((0.0, 179.5), (0.0, -179.5), quarter / 90.0),
        ] {
            let (from, to) = (Point::of(from.0, from.1), Point::of(to.0, to.1));
            assert!((from.distance_m(to) - meters).abs() < 1e-6, "{meters}");
        }
        // A centimeter, which the cosine alone cannot tell from nothing.
        let near = Point::of(59.900_000_1, 10.7).distance_m(Point::of(59.9, 10.7));
        assert!((near - 0.011_119_5).abs() < 1e-6, "{near}");
    }
}
