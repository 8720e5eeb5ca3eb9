//! Checks of GeoJSON areas.

use geo::{Coord, LineString, Polygon, Validation};
use serde_json::Value;

/// The largest polygon, in points, whose lines are checked for crossings.
const POINTS_MAX: usize = 500;
/// The fewest points of a ring (RFC 7946: the last point repeats the first).
const RING_POINTS_MIN: usize = 4;

pub(super) enum GeoJsonAreaFault {
    /// The value is not a valid area.
    Form(String),
    /// The lines of a polygon cross.
    Crossing(String),
}

pub(super) fn check_geojson_area(area: &Value) -> Result<(), GeoJsonAreaFault> {
    let polygons = parse_polygons(area).map_err(GeoJsonAreaFault::Form)?;
    // Each polygon is checked by itself: zones of one area may touch.
    polygons.into_iter().filter(|polygon| count_points(polygon) <= POINTS_MAX).try_for_each(
        |polygon| {
            polygon
                .check_validation()
                .map_err(|error| GeoJsonAreaFault::Crossing(error.to_string()))
        },
    )
}

fn count_points(polygon: &Polygon) -> usize {
    polygon.exterior().0.len() + polygon.interiors().iter().map(|ring| ring.0.len()).sum::<usize>()
}

fn parse_polygons(area: &Value) -> Result<Vec<Polygon>, String> {
    match area["type"].as_str() {
        Some("MultiPolygon") => {}
        Some(other) => return Err(format!("expected a MultiPolygon, not {other:?}")),
        None => return Err("the object has no `type`".to_owned()),
    }
    let Some(polygons) = area["coordinates"].as_array() else {
        return Err("the object has no list `coordinates`".to_owned());
    };
    polygons.iter().map(parse_polygon).collect()
}

fn parse_polygon(polygon: &Value) -> Result<Polygon, String> {
    let rings = polygon.as_array().ok_or("a polygon is not a list of rings")?;
    let mut rings = rings.iter().map(parse_ring).collect::<Result<Vec<_>, _>>()?.into_iter();
    let outer = rings.next().ok_or("a polygon has no ring")?;
    Ok(Polygon::new(outer, rings.collect()))
}

fn parse_ring(ring: &Value) -> Result<LineString, String> {
    let points = ring.as_array().ok_or("a ring is not a list of points")?;
    let points = points.iter().map(parse_point).collect::<Result<Vec<_>, _>>()?;
    if points.len() < RING_POINTS_MIN {
        return Err(format!("a ring has only {} points", points.len()));
    }
    if points.first() != points.last() {
        return Err("a ring does not end where it begins".to_owned());
    }
    Ok(LineString::new(points))
}

fn parse_point(point: &Value) -> Result<Coord, String> {
    let number = |at: usize| point.get(at).and_then(Value::as_f64);
    let (Some(x), Some(y)) = (number(0), number(1)) else {
        return Err("a point is not a longitude and a latitude".to_owned());
    };
    if x.abs() > 180.0 || y.abs() > 90.0 {
        return Err(format!("longitude {x}, latitude {y} is out of range"));
    }
    Ok(Coord { x, y })
}
