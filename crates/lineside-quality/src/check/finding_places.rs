//! Finds the coordinates of findings that are about places.
//!
//! Most samples contain coordinates. Samples of a schedule name stops and shapes, which are looked up while the
//! schedule is in memory.

use std::borrow::Cow;
use std::collections::{BTreeMap, HashSet};

use lineside_validate::gtfs::{GtfsFeed, GtfsFile};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::{CheckFinding, SourceRow};

/// Maximum number of places of one finding.
pub(super) const PLACES_MAX: usize = 100;
/// Maximum number of points in an outline, so that its map stays small.
pub(crate) const OUTLINE_MAX: usize = 400;

/// Latitude and longitude, in degrees.
pub type LatLon = [f32; 2];

/// A place that a finding is about.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FindingPlace {
    /// The coordinates.
    pub at: LatLon,
    /// A short label.
    pub label: String,
}

/// The content of `places.json`. It is not built as a [`Value`], which would print coordinates with the digits of an
/// `f64`.
#[derive(Debug, Serialize)]
pub(super) struct FindingPlacesJson {
    pub(super) outline: Vec<LatLon>,
    /// The places of each finding, by code.
    pub(super) places: BTreeMap<String, Vec<FindingPlace>>,
    /// The rows of the first findings.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) rows: Vec<SourceRow>,
}

/// The parts of schedule codes whose findings are about places.
const PLACE_CODE_PARTS: [&str; 9] = [
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

/// The fields that name a stop.
const STOPS: [&str; 5] = ["stopId", "stopId1", "stopId2", "fromStopId", "toStopId"];
/// The fields that hold a latitude and a longitude.
const POINTS: [&str; 3] = ["match", "match1", "match2"];
/// The pairs of fields with a latitude and a longitude.
const PAIRS: [(&str, &str); 3] =
    [("latitude", "longitude"), ("lat", "lon"), ("latFieldValue", "lonFieldValue")];
/// The fields that name the place, with the prefix of its label.
const NAMES: [(&str, &str); 6] = [
    ("vehicleId", "vehicle "),
    ("csvRowNumber", "line "),
    ("line", "line "),
    ("entityId", "entity "),
    ("id", ""),
    ("path", ""),
];

/// Adds places to the findings of a schedule, by the stops and shapes that their samples name.
pub(super) fn look_up_places_of_findings(feed: &GtfsFeed, findings: &mut [CheckFinding]) {
    for finding in findings {
        if PLACE_CODE_PARTS.iter().any(|word| finding.code.contains(word)) {
            finding.places = collect_distinct_places(&finding.samples, |sample| {
                places_of_schedule_sample(feed, sample)
            });
        }
    }
}

/// Returns the places of findings by the coordinates in their samples.
pub(crate) fn places_from_coordinates(samples: &[Map<String, Value>]) -> Vec<FindingPlace> {
    collect_distinct_places(samples, places_from_sample_coordinates)
}

fn collect_distinct_places(
    samples: &[Map<String, Value>],
    find_places: impl Fn(&Map<String, Value>) -> Vec<FindingPlace>,
) -> Vec<FindingPlace> {
    let mut seen = HashSet::new();
    let places = samples.iter().flat_map(find_places);
    let places =
        places.filter(|place| seen.insert((place.at.map(f32::to_bits), place.label.clone())));
    places.take(PLACES_MAX).collect()
}

fn places_of_schedule_sample(feed: &GtfsFeed, sample: &Map<String, Value>) -> Vec<FindingPlace> {
    let text = |name: &str| sample.get(name).and_then(Value::as_str);
    let mut places: Vec<FindingPlace> = Vec::new();
    for id in STOPS.iter().filter_map(|name| text(name)) {
        places.extend(
            find_stop_coordinates(feed, id)
                .map(|at| FindingPlace { at, label: format!("stop {id}") }),
        );
    }
    places.extend(places_from_sample_coordinates(sample));
    if places.is_empty() {
        places.extend(text("shapeId").and_then(|id| find_shape_start(feed, id)));
    }
    places
}

/// Returns the places whose coordinates a sample contains.
fn places_from_sample_coordinates(sample: &Map<String, Value>) -> Vec<FindingPlace> {
    let number = |name: &str| sample.get(name).and_then(Value::as_f64);
    let mut places: Vec<FindingPlace> = Vec::new();
    for pair in POINTS.iter().filter_map(|name| sample.get(*name)?.as_array()) {
        let at = (pair.first().and_then(Value::as_f64), pair.get(1).and_then(Value::as_f64));
        let shape = sample.get("shapeId").and_then(Value::as_str);
        let label = shape.map_or_else(|| "shape".to_owned(), |id| format!("shape {id}"));
        places.extend(to_valid_coordinates(at.0, at.1).map(|at| FindingPlace { at, label }));
    }
    for (lat, lon) in PAIRS {
        let at = to_valid_coordinates(number(lat), number(lon));
        places.extend(at.map(|at| FindingPlace { at, label: label_for_sample(sample) }));
    }
    places
}

/// Returns a short label for a sample.
fn label_for_sample(sample: &Map<String, Value>) -> String {
    let named = NAMES.iter().find_map(|(field, kind)| Some((kind, sample.get(*field)?)));
    let file = sample.get("filename").and_then(Value::as_str).map(|file| format!("{file} "));
    match named {
        Some((kind, Value::String(name))) if !name.is_empty() => format!("{kind}{name}"),
        Some((kind, Value::Number(line))) => format!("{}{kind}{line}", file.unwrap_or_default()),
        _ => "place".to_owned(),
    }
}

/// Returns the coordinates of a stop.
fn find_stop_coordinates(feed: &GtfsFeed, id: &str) -> Option<LatLon> {
    let stops = feed.table(GtfsFile::Stops);
    let ids = stops.text_column("stop_id");
    let code = ids.find_text_code(id)?;
    let row = stops.row_numbers().find(|row| ids.text_code_of_row(*row) == Some(code))?;
    to_valid_coordinates(
        stops.float_column("stop_lat").get(row),
        stops.float_column("stop_lon").get(row),
    )
}

/// Returns the first point of a shape in the file.
fn find_shape_start(feed: &GtfsFeed, id: &str) -> Option<FindingPlace> {
    let shapes = feed.table(GtfsFile::Shapes);
    let ids = shapes.text_column("shape_id");
    let code = ids.find_text_code(id)?;
    let row = shapes.row_numbers().find(|row| ids.text_code_of_row(*row) == Some(code))?;
    let at = to_valid_coordinates(
        shapes.float_column("shape_pt_lat").get(row),
        shapes.float_column("shape_pt_lon").get(row),
    )?;
    Some(FindingPlace { at, label: format!("shape {id}") })
}

fn to_valid_coordinates(lat: Option<f64>, lon: Option<f64>) -> Option<LatLon> {
    let (lat, lon) = (lat?, lon?);
    let is_valid = (-90.0..=90.0).contains(&lat) && (-180.0..=180.0).contains(&lon);
    is_valid.then_some([lat as f32, lon as f32])
}

/// Returns some of the stops, spread evenly over the file, to draw on a map.
pub(super) fn sample_stop_coordinates(feed: &GtfsFeed) -> Vec<LatLon> {
    let stops = feed.table(GtfsFile::Stops);
    let (lat, lon) = (stops.float_column("stop_lat"), stops.float_column("stop_lon"));
    sample_points_evenly(stops.row_numbers().map(|row| (lat.get(row), lon.get(row))))
}

/// Returns at most [`OUTLINE_MAX`] of the points, spread evenly over their order, to draw on a map.
pub fn sample_points_evenly(all: impl Iterator<Item = (Option<f64>, Option<f64>)>) -> Vec<LatLon> {
    let (mut points, mut step) = (Vec::new(), 1);
    for (at, point) in all.filter_map(|(lat, lon)| to_valid_coordinates(lat, lon)).enumerate() {
        if points.len() == OUTLINE_MAX {
            // The total is unknown in advance, so every second point is dropped.
            let mut is_kept = false;
            points.retain(|_| {
                is_kept = !is_kept;
                is_kept
            });
            step *= 2;
        }
        if at % step == 0 {
            points.push(point);
        }
    }
    points
}

/// Returns the places of a finding: those that were looked up, else those with coordinates in its samples.
pub(crate) fn places_of_finding<'a>(
    places: &'a [FindingPlace],
    samples: &[Map<String, Value>],
) -> Cow<'a, [FindingPlace]> {
    if places.is_empty() {
        Cow::Owned(places_from_coordinates(samples))
    } else {
        Cow::Borrowed(places)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn labels(sample: &Value) -> Vec<(String, LatLon)> {
        let places = places_from_coordinates(&[sample.as_object().unwrap().clone()]);
        places.into_iter().map(|place| (place.label, place.at)).collect()
    }

    #[test]
    fn a_sample_with_coordinates_is_a_place_in_every_format() {
        let cases = [
            (
                json!({"entityId": "e", "vehicleId": "V1", "latitude": 59.5, "longitude": 10.5}),
                "vehicle V1",
            ),
            (json!({"entityId": "e", "latitude": 59.5, "longitude": 10.5}), "entity e"),
            (
                json!({"file": "station_information", "path": "/data/stations/2", "lat": 59.5, "lon": 10.5}),
                "/data/stations/2",
            ),
            (
                json!({"delivery": "VehicleMonitoring", "id": "B", "longitude": 10.5, "latitude": 59.5}),
                "B",
            ),
            (
                json!({"filename": "stops.txt", "csvRowNumber": 8, "entityId": "S1", "latFieldValue": 59.5, "lonFieldValue": 10.5}),
                "stops.txt line 8",
            ),
            (json!({"shapeId": "H1", "match": [59.5, 10.5]}), "shape H1"),
            (json!({"latitude": 59.5, "longitude": 10.5}), "place"),
        ];
        for (sample, label) in cases {
            assert_eq!(labels(&sample), [(label.to_owned(), [59.5, 10.5])], "{sample}");
        }
    }

    #[test]
    fn samples_without_valid_coordinates_are_no_places() {
        for sample in [
            json!({"entityId": "e", "latitude": 259.5, "longitude": 10.5}),
            json!({"entityId": "e", "latitude": 59.5}),
            json!({"tripId": "T1"}),
        ] {
            assert_eq!(labels(&sample), [], "{sample}");
        }
    }

    #[test]
    fn coordinates_are_written_without_insignificant_digits() {
        let place = FindingPlace { at: [59.9, -0.1], label: "a".to_owned() };
        let places = [("x".to_owned(), vec![place])].into();
        let written = serde_json::to_string(&FindingPlacesJson {
            outline: vec![[10.7, 48.137_154]],
            places,
            rows: Vec::new(),
        });
        assert_eq!(
            written.unwrap(),
            r#"{"outline":[[10.7,48.137154]],"places":{"x":[{"at":[59.9,-0.1],"label":"a"}]}}"#
        );
    }

    #[test]
    fn places_and_outlines_are_bounded() {
        let sample = |at: usize| json!({"id": format!("{at}"), "lat": 1.5, "lon": 2.5});
        let samples: Vec<_> = (0..300).map(|at| sample(at).as_object().unwrap().clone()).collect();
        assert_eq!(places_from_coordinates(&samples).len(), PLACES_MAX);
        let outline =
            sample_points_evenly((0..5_000).map(|at| (Some(f64::from(at) / 100.0), Some(2.0))));
        assert!(outline.len() <= OUTLINE_MAX && outline.len() > OUTLINE_MAX / 2);
        let steps: Vec<f32> = outline.windows(2).map(|pair| pair[1][0] - pair[0][0]).collect();
        assert!(steps.iter().all(|step| (step - steps[0]).abs() < 0.01), "{steps:?}");
    }
}
