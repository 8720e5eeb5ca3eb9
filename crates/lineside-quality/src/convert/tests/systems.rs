//! Conversions of GBFS systems.

use super::*;

fn file(name: &str, version: &str, data: Value) -> NamedFileBody {
    let text =
        json!({ "last_updated": 1_795_262_400, "ttl": 60, "version": version, "data": data });
    (name.to_owned(), Bytes::from(text.to_string()))
}

fn system(files: Vec<NamedFileBody>, others: Vec<(String, Vec<NamedFileBody>)>) -> ConversionInput {
    ConversionInput::System {
        files,
        language: Some("en".to_owned()),
        others,
        missing_files: ConversionReport::new(),
    }
}

fn lost(converted: &ConversionOutput) -> Vec<(&str, u64)> {
    converted.conversion_report.iter().map(|loss| (loss.kind, loss.count)).collect()
}

/// Returns the files of a system of version 2.1.
fn files() -> Vec<NamedFileBody> {
    vec![
        file("gbfs", "2.1", json!({ "en": { "feeds": [] } })),
        file(
            "system_information",
            "2.1",
            json!({ "system_id": "a", "language": "en", "name": "A", "timezone": "Europe/Paris" }),
        ),
        file(
            "station_information",
            "2.1",
            json!({ "stations": [
                { "station_id": "1", "name": "Quay", "lat": 48.5, "lon": 2.5, "capacity": 9 },
                { "station_id": "2", "name": "Nowhere" }
            ] }),
        ),
        file(
            "station_status",
            "2.1",
            json!({ "stations": [
                { "station_id": "1", "num_bikes_available": 3, "is_installed": true, "is_renting": true, "is_returning": true, "last_reported": 1_795_262_400 },
                { "station_id": "3", "num_bikes_available": 1 }
            ] }),
        ),
        file(
            "free_bike_status",
            "2.1",
            json!({ "bikes": [
                { "bike_id": "b", "lat": 48.25, "lon": 2.25, "is_reserved": false, "is_disabled": true },
                { "bike_id": "c", "station_id": "1" }
            ] }),
        ),
    ]
}

#[test]
fn a_system_is_converted_to_geojson_points() {
    let (map, converted) = one(system(files(), Vec::new()), ConversionTargetFormat::Geojson);
    let map: Value = serde_json::from_slice(&map).unwrap();
    let expected = json!({
        "type": "FeatureCollection",
        "features": [
            {
                "type": "Feature",
                "geometry": { "type": "Point", "coordinates": [2.5, 48.5] },
                "properties": {
                    "station_id": "1", "name": [{ "text": "Quay", "language": "en" }], "lat": 48.5, "lon": 2.5,
                    "capacity": 9, "num_vehicles_available": 3, "is_installed": true, "is_renting": true,
                    "is_returning": true, "last_reported": "2026-11-21T12:00:00Z"
                }
            },
            {
                "type": "Feature",
                "geometry": { "type": "Point", "coordinates": [2.25, 48.25] },
                "properties": { "vehicle_id": "b", "lat": 48.25, "lon": 2.25, "is_reserved": false, "is_disabled": true }
            }
        ]
    });
    assert_eq!(map, expected);
    assert_eq!(converted.counts, [("stations", 1), ("vehicles", 1)]);
    let losses = [("station", 1), ("station_status", 1), ("system_information", 1), ("vehicle", 1)];
    assert_eq!(lost(&converted), losses);
}

#[test]
fn a_system_without_stations_and_vehicles_gives_empty_geojson() {
    let files = files().into_iter().take(2).collect();
    let (map, converted) = one(system(files, Vec::new()), ConversionTargetFormat::Geojson);
    assert_eq!(&map[..], br#"{"type":"FeatureCollection","features":[]}"#);
    assert_eq!(lost(&converted), [("system_information", 1)]);
}

#[test]
fn names_in_two_languages_are_merged_where_gbfs_3_allows_it() {
    let french = vec![file(
        "station_information",
        "2.1",
        json!({ "stations": [{ "station_id": "1", "name": "Quai" }] }),
    )];
    let others = || vec![("fr".to_owned(), french.clone())];
    let (_, converted) = one(system(files(), others()), ConversionTargetFormat::Gbfs3);
    let (name, body) = &converted.files[2];
    assert_eq!(name, "station_information.json");
    let body: Value = serde_json::from_slice(body).unwrap();
    assert_eq!(
        body["data"]["stations"][0]["name"],
        json!([{ "text": "Quay", "language": "en" }, { "text": "Quai", "language": "fr" }])
    );
    let (_, converted) = one(system(files(), others()), ConversionTargetFormat::Gbfs2);
    let loss = converted.conversion_report.iter().next().unwrap();
    assert_eq!((loss.kind, &*loss.examples[0]), ("file", "fr/station_information"));
}

#[test]
fn a_gbfs_2_1_system_is_converted_to_2_3_and_3_0() {
    let (_, two) = one(system(files(), Vec::new()), ConversionTargetFormat::Gbfs2);
    let names: Vec<&str> = two.files.iter().map(|(name, _)| name.as_str()).collect();
    let expected = [
        "gbfs.json",
        "system_information.json",
        "station_information.json",
        "station_status.json",
        "free_bike_status.json",
    ];
    assert_eq!(names, expected);
    let read = |files: &[NamedFileBody], at: usize| -> Value {
        serde_json::from_slice(&files[at].1).unwrap()
    };
    assert_eq!(read(&two.files, 4)["data"]["bikes"][0]["bike_id"], "b");
    assert_eq!(read(&two.files, 3)["version"], "2.3");
    assert!(two.conversion_report.is_empty(), "{:?}", two.conversion_report);
    let (_, three) = one(system(files(), Vec::new()), ConversionTargetFormat::Gbfs3);
    assert_eq!(three.files[4].0, "vehicle_status.json");
    assert_eq!(read(&three.files, 3)["data"]["stations"][0]["num_vehicles_available"], 3);
    assert_eq!(three.counts, two.counts);
}
