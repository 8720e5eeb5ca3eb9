//! Decodes real files, if their folder is next to the repository (`../shared/data/gbfs`), and compares the number of
//! records and fields with those in the JSON tree.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]
#![expect(clippy::print_stdout, reason = "a test that is skipped says why")]

#[path = "../../lineside-formats/tests/support/mod.rs"]
mod support;

use std::{
    collections::{BTreeMap, HashSet},
    fs,
    path::Path,
};

use lineside_formats::Problems;
use lineside_gbfs::{
    DiscoveryLimits, FileContent, FileKind, FileLimits, GbfsFile, WritableGbfsVersion,
    decode_gbfs_file, encode_gbfs_file,
};
use serde_json::Value as Json;

/// Returns the kind of a file: `station_status-2.json` and `station_status.2.2.json` are the same one.
fn name_of(path: &Path) -> &str {
    path.file_name().unwrap().to_str().unwrap().split(['.', '-']).next().unwrap()
}

/// The counted fields, with their names in version 2.
const COUNTED: [(&str, &str); 24] = [
    ("station_id", ""),
    ("vehicle_id", "bike_id"),
    ("lat", ""),
    ("lon", ""),
    ("name", ""),
    ("capacity", ""),
    ("num_vehicles_available", "num_bikes_available"),
    ("num_docks_available", ""),
    ("is_renting", ""),
    ("is_installed", ""),
    ("is_reserved", ""),
    ("last_reported", ""),
    ("vehicle_docks_available", ""),
    ("current_range_meters", ""),
    ("form_factor", ""),
    ("propulsion_type", ""),
    ("system_id", ""),
    ("timezone", ""),
    ("plan_id", ""),
    ("per_km_pricing", ""),
    ("alert_id", ""),
    ("region_id", ""),
    ("ride_through_allowed", ""),
    ("coordinates", ""),
];

fn count(json: &Json, counts: &mut BTreeMap<&'static str, usize>) {
    match json {
        Json::Object(members) => {
            for (key, value) in members {
                let known = COUNTED.iter().find(|(now, before)| key == now || key == before);
                if let Some((name, _)) = known.filter(|_| !value.is_null()) {
                    *counts.entry(name).or_default() += 1;
                }
                count(value, counts);
            }
        }
        Json::Array(items) => items.iter().for_each(|item| count(item, counts)),
        _ => {}
    }
}

fn counts(json: &Json) -> BTreeMap<&'static str, usize> {
    let mut counts = BTreeMap::new();
    count(json, &mut counts);
    counts
}

/// The fields that may be a record's id.
const IDS: [&str; 5] = ["station_id", "bike_id", "vehicle_id", "region_id", "plan_id"];

/// Returns a file's tree without duplicate records.
fn tree(body: &[u8], kind: FileKind) -> Json {
    let mut json: Json = serde_json::from_slice(body).unwrap();
    let lists = json["data"].as_object_mut().unwrap().values_mut();
    for list in lists.filter_map(Json::as_array_mut) {
        let mut seen = HashSet::new();
        let id = |record: &Json| IDS.iter().find_map(|id| Some(record.get(id)?.to_string()));
        // A vehicle may refer to its station, so its own id is looked up first.
        let own = |record: &Json| record.get("bike_id").or(record.get("vehicle_id")).cloned();
        list.retain(|it| match own(it).map(|it| it.to_string()).or_else(|| id(it)) {
            Some(id) if kind != FileKind::Alerts => seen.insert(id),
            _ => true,
        });
        if kind == FileKind::VehicleStatus {
            // The specification has no name of a vehicle.
            for vehicle in list.iter_mut().filter_map(Json::as_object_mut) {
                vehicle.remove("name");
            }
        }
    }
    json
}

/// Returns the number of records of a file, from its tree.
fn n_records(json: &Json) -> usize {
    let data = &json["data"];
    match data.as_object().unwrap().values().find_map(Json::as_array) {
        _ if data.get("system_id").is_some() => 1,
        _ if data.get("geofencing_zones").is_some() => {
            data["geofencing_zones"]["features"].as_array().unwrap().len()
        }
        Some(list) => list.len(),
        None => panic!("no list"),
    }
}

fn read(kind: FileKind, body: &[u8]) -> (GbfsFile, Problems) {
    decode_gbfs_file(kind, body, "en", &FileLimits::default()).unwrap()
}

/// Converts content to the terms of version 3, which has two for a scooter.
fn in_new_words(content: FileContent) -> FileContent {
    let mut content = content;
    if let FileContent::VehicleTypes(types) = &mut content {
        for form in types.iter_mut().filter_map(|it| it.form_factor.as_mut()) {
            if form.0 == "scooter" {
                form.0 = "scooter_standing".into();
            }
        }
    }
    content
}

#[test]
fn real_files_are_read_and_rewritten_without_loss() {
    for path in support::real_files("gbfs", None) {
        let body = fs::read(&path).unwrap();
        let name = name_of(&path);
        let Some(kind) = FileKind::kind_from_file_name(name) else {
            assert_eq!(name, "gbfs", "{}", path.display());
            let (_, problems) =
                lineside_gbfs::decode_discovery_file(&body, &DiscoveryLimits::default()).unwrap();
            assert!(problems.is_empty(), "{}: {:?}", path.display(), problems.retained_problems());
            continue;
        };
        let (file, problems) = read(kind, &body);
        let described: Vec<String> =
            problems.retained_problems().iter().map(ToString::to_string).collect();
        println!("{}: {} {described:?}", path.display(), file.content.record_count());
        let json = tree(&body, kind);
        assert_eq!(file.content.record_count(), n_records(&json), "{}", path.display());
        if kind.file_name(3).is_none() {
            continue;
        }
        let reencoded =
            encode_gbfs_file(&file.content, &file.head, WritableGbfsVersion::Three, "en").unwrap();
        let counted = counts(&serde_json::from_slice(&reencoded.body).unwrap());
        assert_eq!(counted, counts(&json), "{}: {described:?}", path.display());
        let (same, problems) = read(kind, &reencoded.body);
        assert!(problems.is_empty(), "{}: {:?}", path.display(), problems.retained_problems());
        assert_eq!(same.content, in_new_words(file.content), "{}", path.display());
    }
}

/// All problems in the real files, by folder, code and field, so that each new one is noticed.
const KNOWN: &[(&str, &str, &str)] = &[
    ("bay-wheels", "duplicate_id", ""),
    ("bay-wheels", "unknown_field", "eightd_has_available_keys"),
    ("bay-wheels", "unknown_field", "eightd_has_key_dispenser"),
    ("bay-wheels", "unknown_field", "eightd_station_services"),
    ("bay-wheels", "unknown_field", "electric_bike_surcharge_waiver"),
    ("bay-wheels", "unknown_field", "external_id"),
    ("bay-wheels", "unknown_field", "fusion_lat"),
    ("bay-wheels", "unknown_field", "fusion_lon"),
    ("bay-wheels", "unknown_field", "has_kiosk"),
    ("bay-wheels", "unknown_field", "legacy_id"),
    ("bay-wheels", "unknown_field", "name"),
    ("bay-wheels", "unknown_field", "num_ebikes_available"),
    ("bay-wheels", "unknown_field", "num_scooters_available"),
    ("bay-wheels", "unknown_field", "num_scooters_unavailable"),
    ("bay-wheels", "unknown_field", "station_status"),
    ("bay-wheels", "unknown_field", "station_type"),
    ("bay-wheels", "unknown_field", "type"),
    ("mobilitydata-v3_0", "unexpected_type", "end"),
    ("mobilitydata-v3_0", "unexpected_type", "last_reported"),
    ("mobilitydata-v3_0", "unexpected_type", "last_updated"),
    ("mobilitydata-v3_0", "unexpected_type", "start"),
    ("mobilitydata-v3_0", "unexpected_type", "vehicle_type_id"),
    ("v3.0", "unexpected_type", "vehicle_type_id"),
];

#[test]
fn real_files_have_only_the_expected_problems() {
    let mut reported: Vec<(String, String, String)> = Vec::new();
    for path in support::real_files("gbfs", None) {
        let Some(kind) = FileKind::kind_from_file_name(name_of(&path)) else { continue };
        let (_, problems) = read(kind, &fs::read(&path).unwrap());
        let folder = path.parent().unwrap().file_name().unwrap().to_str().unwrap().to_owned();
        for problem in problems.retained_problems() {
            // The path is cut to its last field, which is the same for all records.
            let field = problem.field.as_deref().unwrap_or_default();
            let field = field.rsplit(['.', ']']).next().unwrap_or_default().to_owned();
            reported.push((folder.clone(), problem.code.to_owned(), field));
        }
    }
    reported.sort();
    reported.dedup();
    let reported: Vec<_> =
        reported.iter().map(|(a, b, c)| (a.as_str(), b.as_str(), c.as_str())).collect();
    assert!(reported.is_empty() || reported == KNOWN, "{reported:#?}");
}
