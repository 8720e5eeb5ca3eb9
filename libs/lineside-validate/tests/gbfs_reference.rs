//! Compares the notices about real systems with counts that were checked by hand.
//!
//! The files are in a folder next to the repository; without it, nothing is compared. `LINESIDE_SHOW=code` prints the
//! notices with that code.

mod looked_at;

use std::{collections::BTreeMap, fs, path::Path};

use lineside_validate::{
    Notices,
    rules::gbfs::{GbfsSystemFiles, validate_gbfs_system},
};

use looked_at::Tally;

/// The time for which the systems are judged: 2026-01-01, 06:46:50 UTC.
const NOW: i64 = 1_767_250_010;

/// System, code, count.
const EXPECTED: &[(&str, &str, u64)] = &[
    ("bay-wheels", "duplicate_id", 6),
    ("bay-wheels", "outdated_file", 2),
    ("bay-wheels", "unknown_region_id", 19),
    ("mobilitydata-v2_X", "invalid_timestamp", 12),
    ("mobilitydata-v2_X", "outdated_file", 2),
    ("mobilitydata-v2_X", "point_far_from_system", 1),
    ("mobilitydata-v3_0", "outdated_file", 2),
    ("mobilitydata-v3_0", "station_without_status", 2),
    ("mobilitydata-v3_0", "unexpected_type", 23),
    ("mobilitydata-v3_0", "unknown_pricing_plan_id", 7),
    ("mobilitydata-v3_0", "unknown_station_id", 6),
    ("mobilitydata-v3_1_RC3", "outdated_file", 3),
    ("mobilitydata-v3_1_RC3", "station_without_status", 1),
    ("mobilitydata-v3_1_RC3", "unknown_pricing_plan_id", 11),
    ("mobilitydata-v3_1_RC3", "unknown_station_id", 3),
    ("mobilitydata-v3_1_RC3", "unknown_vehicle_type_id", 1),
    ("motis", "outdated_file", 2),
    ("schema-testfixtures/v2.3", "outdated_file", 2),
    ("schema-testfixtures/v2.3", "point_far_from_system", 1),
    ("schema-testfixtures/v2.3", "times_out_of_order", 1),
    ("schema-testfixtures/v3.0", "missing_required_field", 2),
    ("schema-testfixtures/v3.0", "outdated_file", 2),
    ("schema-testfixtures/v3.0", "station_without_status", 22),
    ("schema-testfixtures/v3.0", "unknown_vehicle_type_id", 1),
    ("schema-testfixtures/v3.1-RC3", "outdated_file", 3),
    ("schema-testfixtures/v3.1-RC3", "station_without_status", 1),
    ("schema-testfixtures/v3.1-RC3", "unknown_pricing_plan_id", 11),
    ("schema-testfixtures/v3.1-RC3", "unknown_station_id", 3),
    ("schema-testfixtures/v3.1-RC3", "unknown_vehicle_type_id", 1),
    ("spec-examples-2.3", "outdated_file", 1),
    ("spec-examples-2.3", "unknown_vehicle_type_id", 1),
    ("spec-examples-2.3-1", "outdated_file", 1),
    ("spec-examples-2.3-1", "unknown_pricing_plan_id", 1),
    ("spec-examples-2.3-1", "unknown_station_id", 1),
    ("spec-examples-2.3-2", "outdated_file", 1),
    ("spec-examples-2.3-2", "unknown_station_id", 3),
    ("spec-examples-3.0", "outdated_file", 1),
    ("spec-examples-3.0", "unknown_vehicle_type_id", 1),
    ("spec-examples-3.0-1", "outdated_file", 1),
    ("spec-examples-3.0-1", "unknown_pricing_plan_id", 1),
    ("spec-examples-3.0-1", "unknown_station_id", 1),
    ("spec-examples-3.0-2", "missing_required_field", 2),
    ("spec-examples-3.0-2", "outdated_file", 1),
    ("spec-examples-3.0-2", "unknown_station_id", 3),
    ("transport-site.2.2", "outdated_file", 2),
    ("transport-site.2.2", "station_without_status", 1),
    ("transport-site.2.2", "unknown_station_id", 4),
    ("transport-site.3.0", "outdated_file", 2),
    ("transport-site.3.0", "station_without_status", 2),
    ("transport-site.3.0", "unknown_station_id", 3),
];

/// A system: its name, its files, and true if these are all files.
type Read = (String, Vec<(String, Vec<u8>)>, bool);

/// Returns the systems of a folder: one for each suffix of its files, such as `-2` and `.3.0`.
fn systems(data: &Path, folder: &str) -> Vec<Read> {
    let mut systems: BTreeMap<String, Vec<(String, Vec<u8>)>> = BTreeMap::new();
    for (_, path) in looked_at::files(&data.join(folder)) {
        if path.extension().is_none_or(|ending| ending != "json") {
            continue;
        }
        let stem = path.file_stem().and_then(|stem| stem.to_str()).expect("a name").to_owned();
        let end = stem.find(['-', '.']).unwrap_or(stem.len());
        let (name, variant) = stem.split_at(end);
        let body = fs::read(&path).expect("a file");
        systems.entry(variant.to_owned()).or_default().push((name.to_owned(), body));
    }
    let is_whole = systems.len() == 1;
    let named = |(variant, files)| (format!("{folder}{variant}"), files, is_whole);
    systems.into_iter().map(named).collect()
}

#[test]
fn real_systems_have_the_reviewed_counts() {
    let Some(data) = looked_at::data("gbfs") else { return };
    let folders = [
        "bay-wheels",
        "mobilitydata-v2_X",
        "mobilitydata-v3_0",
        "mobilitydata-v3_1_RC3",
        "motis",
        "schema-testfixtures/v2.3",
        "schema-testfixtures/v3.0",
        "schema-testfixtures/v3.1-RC3",
        "spec-examples-2.3",
        "spec-examples-3.0",
        "transport-site",
    ];
    let mut tally = Tally::default();
    for (name, files, is_whole) in folders.into_iter().flat_map(|folder| systems(&data, folder)) {
        let files = files.iter().map(|(name, body)| (name.as_str(), &body[..])).collect();
        let system = GbfsSystemFiles { files, is_whole, now: NOW, ..GbfsSystemFiles::default() };
        let mut notices = Notices::new(5);
        let errors = validate_gbfs_system(&system, &mut notices);
        assert!(errors.is_empty(), "{name}: {errors:?}");
        tally.add(&name, &name, &notices);
    }
    tally.hold(EXPECTED);
}
