//! Decodes files of versions 2.0 and 2.1, and encodes them as 2.3 and 3.0.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]
use lineside_gbfs::{
    FileContent, FileKind, FileLimits, GbfsFile, WritableGbfsVersion, decode_gbfs_file,
    encode_gbfs_file,
};
use serde_json::{Value, json};

#[track_caller]
fn read(kind: FileKind, version: &str, data: Value) -> GbfsFile {
    let body =
        json!({ "last_updated": 1_609_866_109, "ttl": 60, "version": version, "data": data });
    let (file, problems) =
        decode_gbfs_file(kind, body.to_string().as_bytes(), "en", &FileLimits::default()).unwrap();
    assert!(problems.is_empty(), "{:?}", problems.retained_problems());
    assert_eq!(file.head.version.as_deref(), Some(version));
    file
}

/// Returns the `data` of a file encoded as a version, and the dropped fields.
fn written(file: &GbfsFile, version: WritableGbfsVersion) -> (Value, Vec<(String, u64)>) {
    let written = encode_gbfs_file(&file.content, &file.head, version, "en").unwrap();
    let mut body: Value = serde_json::from_slice(&written.body).unwrap();
    assert_eq!(body["version"], version.as_str());
    assert_eq!(body["ttl"], 60);
    let lost = written.lost.iter().map(|loss| (loss.kind.to_owned(), loss.count)).collect();
    (body["data"].take(), lost)
}

#[test]
fn stations_of_version_2_0_are_read_and_written() {
    let information = json!({ "stations": [{
        "station_id": "s1", "name": "Parking garage A", "lat": 12.345_678, "lon": 45.678_901,
        "rental_methods": ["KEY", "CREDITCARD"], "capacity": 9, "is_virtual_station": true,
        "station_area": { "type": "MultiPolygon", "coordinates": [[[[45.0, 12.0], [46.0, 12.0], [46.0, 13.0], [45.0, 12.0]]]] },
        "rental_uris": { "android": "https://www.example.com/app?sid=1" }
    }] });
    let file = read(FileKind::StationInformation, "2.0", information.clone());
    let FileContent::StationInformation(stations) = &file.content else { panic!("{file:?}") };
    let station = &stations[0];
    assert_eq!((station.station_id.as_str(), station.capacity), ("s1", Some(9)));
    assert_eq!((station.lat, station.lon), (Some(12.345_678), Some(45.678_901)));
    assert_eq!(station.name.text_in_language(Some("en")), Some("Parking garage A"));
    let methods: Vec<&str> = station.rental_methods.iter().map(|it| it.0.as_str()).collect();
    assert_eq!(methods, ["key", "creditcard"]);
    assert_eq!(station.station_area.as_ref().unwrap().0[0][0][1], [46.0, 12.0]);
    let mut expected = information;
    expected["stations"][0]["rental_methods"] = json!(["key", "creditcard"]);
    assert_eq!(written(&file, WritableGbfsVersion::Two), (expected.clone(), Vec::new()));
    expected["stations"][0]["name"] = json!([{ "text": "Parking garage A", "language": "en" }]);
    assert_eq!(written(&file, WritableGbfsVersion::Three), (expected, Vec::new()));

    let status = json!({ "stations": [{
        "station_id": "s1", "is_installed": true, "is_renting": true, "is_returning": false,
        "last_reported": 1_609_866_125, "num_docks_available": 3, "num_docks_disabled": 1,
        "num_bikes_available": 5, "num_bikes_disabled": 2
    }] });
    let file = read(FileKind::StationStatus, "2.0", status.clone());
    let FileContent::StationStatus(all) = &file.content else { panic!("{file:?}") };
    assert_eq!((all[0].num_vehicles_available, all[0].num_docks_disabled), (Some(5), Some(1)));
    assert_eq!((all[0].is_returning, all[0].is_renting), (Some(false), Some(true)));
    assert_eq!(all[0].last_reported.map(|at| at.0), Some(1_609_866_125));
    assert_eq!(written(&file, WritableGbfsVersion::Two), (status, Vec::new()));
    let (three, lost) = written(&file, WritableGbfsVersion::Three);
    let station = &three["stations"][0];
    assert_eq!(
        (&station["num_vehicles_available"], &station["num_vehicles_disabled"]),
        (&json!(5), &json!(2))
    );
    assert_eq!(station["last_reported"], "2021-01-05T17:02:05Z");
    assert_eq!((station.get("num_bikes_available"), lost), (None, Vec::new()));
}

#[test]
fn bikes_of_version_2_0_are_read_and_written() {
    let bikes = json!({ "bikes": [
        { "bike_id": "b1", "lat": 12.25, "lon": 56.5, "is_reserved": false, "is_disabled": true },
        { "bike_id": "b2", "lat": 12.5, "lon": 56.75, "is_reserved": true, "is_disabled": false }
    ] });
    let file = read(FileKind::VehicleStatus, "2.0", bikes.clone());
    let FileContent::VehicleStatus(all) = &file.content else { panic!("{file:?}") };
    let ids: Vec<&str> = all.iter().map(|bike| bike.vehicle_id.as_str()).collect();
    assert_eq!(ids, ["b1", "b2"]);
    assert_eq!((all[0].is_disabled, all[1].is_reserved), (Some(true), Some(true)));
    assert_eq!(written(&file, WritableGbfsVersion::Two), (bikes, Vec::new()));
    let (three, lost) = written(&file, WritableGbfsVersion::Three);
    assert_eq!(three["vehicles"][1]["vehicle_id"], "b2");
    assert_eq!((three["vehicles"][0]["is_disabled"].as_bool(), lost), (Some(true), Vec::new()));
}

#[test]
fn vehicle_types_and_vehicles_of_version_2_1_are_read_and_written() {
    let types = json!({ "vehicle_types": [
        { "vehicle_type_id": "abc123", "form_factor": "bicycle", "propulsion_type": "human", "name": "Example Basic Bike" },
        { "vehicle_type_id": "def456", "form_factor": "car", "propulsion_type": "combustion", "name": "Four-door Sedan", "max_range_meters": 523_992 }
    ] });
    let file = read(FileKind::VehicleTypes, "2.1", types.clone());
    let FileContent::VehicleTypes(all) = &file.content else { panic!("{file:?}") };
    assert_eq!(all[1].max_range_meters, Some(523_992.0));
    assert_eq!(all[0].form_factor.as_ref().map(|it| it.0.as_str()), Some("bicycle"));
    assert_eq!(written(&file, WritableGbfsVersion::Two), (types, Vec::new()));
    let (three, _) = written(&file, WritableGbfsVersion::Three);
    assert_eq!(
        three["vehicle_types"][0]["name"],
        json!([{ "text": "Example Basic Bike", "language": "en" }])
    );

    let bikes = json!({ "bikes": [{
        "bike_id": "973a5c94", "lat": 12.25, "lon": 56.5, "is_reserved": false, "is_disabled": false,
        "vehicle_type_id": "def456", "current_range_meters": 6_543, "last_reported": 1_609_866_109,
        "station_id": "86", "pricing_plan_id": "plan3"
    }] });
    let file = read(FileKind::VehicleStatus, "2.1", bikes.clone());
    let FileContent::VehicleStatus(all) = &file.content else { panic!("{file:?}") };
    assert_eq!(all[0].current_range_meters, Some(6_543.0));
    assert_eq!(all[0].pricing_plan_id.as_deref(), Some("plan3"));
    assert_eq!(written(&file, WritableGbfsVersion::Two), (bikes, Vec::new()));
    let (three, _) = written(&file, WritableGbfsVersion::Three);
    assert_eq!(three["vehicles"][0]["last_reported"], "2021-01-05T17:01:49Z");
}

#[test]
fn station_counts_by_vehicle_type_of_version_2_1_are_read_and_written() {
    let information = json!({ "stations": [{
        "station_id": "s1", "name": "A", "lat": 1.5, "lon": 2.5,
        "vehicle_capacity": { "abc123": 7 }, "is_valet_station": true
    }] });
    let body = json!({ "last_updated": 1, "ttl": 0, "version": "2.1", "data": information });
    let (file, problems) = decode_gbfs_file(
        FileKind::StationInformation,
        body.to_string().as_bytes(),
        "en",
        &FileLimits::default(),
    )
    .unwrap();
    let FileContent::StationInformation(stations) = &file.content else { panic!("{file:?}") };
    assert!(problems.is_empty(), "{:?}", problems.retained_problems());
    assert_eq!(stations[0].is_valet_station, Some(true));
    let status = json!({ "stations": [{
        "station_id": "s1", "is_installed": true, "is_renting": true, "is_returning": true,
        "last_reported": 1_609_866_125, "num_bikes_available": 3,
        "vehicle_types_available": [{ "vehicle_type_id": "abc123", "count": 2 }, { "vehicle_type_id": "def456", "count": 1 }],
        "vehicle_docks_available": [{ "vehicle_type_ids": ["abc123"], "count": 4 }]
    }] });
    let file = read(FileKind::StationStatus, "2.1", status.clone());
    let FileContent::StationStatus(all) = &file.content else { panic!("{file:?}") };
    let counts: Vec<_> = all[0].vehicle_types_available.iter().map(|it| it.count).collect();
    assert_eq!(counts, [Some(2), Some(1)]);
    assert_eq!(all[0].vehicle_docks_available[0].vehicle_type_ids[0].as_str(), "abc123");
    assert_eq!(written(&file, WritableGbfsVersion::Two), (status, Vec::new()));
}
