//! Where on earth findings of a schedule are, for those that are about places.

use std::collections::HashSet;

use lineside_validate::gtfs::{Feed, File};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::Finding;

/// Places of one finding that are told.
const PLACES_MAX: usize = 100;
/// Stops that an outline has at most, so that a map of it stays small.
const OUTLINE_MAX: usize = 400;

/// Latitude and longitude, in degrees.
pub(crate) type Point = [f32; 2];

/// A place that a finding is about.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Place {
    /// Where.
    pub(crate) at: Point,
    /// What is there, in short.
    pub(crate) label: String,
}

/// What codes of findings have in them that are about places.
const OF_PLACES: [&str; 9] = [
    "shape",
    "fast_travel",
    "transfer_distance",
    "stop_without",
    "point_near",
    "unused_station",
    "pathway_unreachable",
    "parent_station",
    "location_without",
];

/// Fields that name a stop.
const STOPS: [&str; 5] = ["stopId", "stopId1", "stopId2", "fromStopId", "toStopId"];
/// Fields that hold a latitude and a longitude.
const POINTS: [&str; 3] = ["match", "match1", "match2"];

/// Says where those findings are that are about places, as far as their samples tell.
pub(super) fn fill(feed: &Feed, findings: &mut [Finding]) {
    for finding in findings {
        if !OF_PLACES.iter().any(|word| finding.code.contains(word)) {
            continue;
        }
        let mut seen = HashSet::new();
        let places = finding.samples.iter().flat_map(|sample| of_sample(feed, sample));
        let places =
            places.filter(|place| seen.insert((place.at.map(f32::to_bits), place.label.clone())));
        finding.places = places.take(PLACES_MAX).collect();
    }
}

fn of_sample(feed: &Feed, sample: &Map<String, Value>) -> Vec<Place> {
    let text = |name: &str| sample.get(name).and_then(Value::as_str);
    let mut places: Vec<Place> = Vec::new();
    for id in STOPS.iter().filter_map(|name| text(name)) {
        places.extend(stop(feed, id).map(|at| Place { at, label: format!("stop {id}") }));
    }
    for pair in POINTS.iter().filter_map(|name| sample.get(*name)?.as_array()) {
        let at = (pair.first().and_then(Value::as_f64), pair.get(1).and_then(Value::as_f64));
        let label = text("shapeId").map_or_else(|| "shape".to_owned(), |id| format!("shape {id}"));
        places.extend(point(at.0, at.1).map(|at| Place { at, label }));
    }
    let number = |name: &str| sample.get(name).and_then(Value::as_f64);
    let line = sample.get("csvRowNumber").map_or_else(String::new, |line| format!("line {line}"));
    let near = point(number("latFieldValue"), number("lonFieldValue"));
    places.extend(near.map(|at| Place { at, label: line }));
    if places.is_empty() {
        places.extend(text("shapeId").and_then(|id| shape(feed, id)));
    }
    places
}

/// Where a stop is.
fn stop(feed: &Feed, id: &str) -> Option<Point> {
    let stops = feed.table(File::Stops);
    let ids = stops.texts("stop_id");
    let code = ids.find(id)?;
    let row = stops.rows().find(|row| ids.code(*row) == Some(code))?;
    point(stops.floats("stop_lat").get(row), stops.floats("stop_lon").get(row))
}

/// Where a shape has its first point in the file.
fn shape(feed: &Feed, id: &str) -> Option<Place> {
    let shapes = feed.table(File::Shapes);
    let ids = shapes.texts("shape_id");
    let code = ids.find(id)?;
    let row = shapes.rows().find(|row| ids.code(*row) == Some(code))?;
    let at = point(shapes.floats("shape_pt_lat").get(row), shapes.floats("shape_pt_lon").get(row))?;
    Some(Place { at, label: format!("shape {id}") })
}

fn point(lat: Option<f64>, lon: Option<f64>) -> Option<Point> {
    let (lat, lon) = (lat?, lon?);
    let is_there = (-90.0..=90.0).contains(&lat) && (-180.0..=180.0).contains(&lon);
    is_there.then_some([lat as f32, lon as f32])
}

/// Some of the stops, evenly out of the file's order, to draw under places.
pub(super) fn outline(feed: &Feed) -> Vec<Point> {
    let stops = feed.table(File::Stops);
    let (lat, lon) = (stops.floats("stop_lat"), stops.floats("stop_lon"));
    let step = stops.len() as usize / OUTLINE_MAX + 1;
    stops.rows().step_by(step).filter_map(|row| point(lat.get(row), lon.get(row))).collect()
}
