//! Runs the examples on the page of each GBFS kind as tests.
//!
//! A case is a `##` heading. It starts from a system without faults, of version 3.0, or of 2.3 after `Version: 2.3`.
//! ```` ```json station_status /data/stations/0/lat ```` puts a value at a place of a file, and
//! `Without: station_status /data/stations/0/lat` takes it away; without a place both mean the whole file.
//! ```` ```before vehicle_status /data/vehicles/0/lat ```` says that the system was there before, with this value at that place.
//! ```` ```text name ```` is a file as it stands there. `Part: yes` makes it some files of a system, `Unread: name
//! reason` adds one that could not be fetched. A `json` block lists the notices of the page's code that must come,
//! with the fields that matter; without one there must be none.

mod list;
mod support;

use std::collections::BTreeMap;

use lineside_validate::{
    Notices,
    notice::NoticeKind,
    rules::gbfs::{GbfsSystemFiles, gbfs_notice_kinds, validate_gbfs_system},
};
use serde_json::{Value, json};

/// 2026-01-01, 06:46:50 UTC.
const NOW: i64 = 1_767_250_010;

struct Case {
    heading: String,
    files: BTreeMap<String, Value>,
    previous: Option<BTreeMap<String, Value>>,
    raw: BTreeMap<String, Vec<u8>>,
    unread: Vec<(String, String)>,
    is_whole: bool,
    expected: Vec<Value>,
}

fn case(heading: &str) -> Case {
    Case {
        heading: heading.to_owned(),
        files: base_3(),
        previous: None,
        raw: BTreeMap::new(),
        unread: Vec::new(),
        is_whole: true,
        expected: Vec::new(),
    }
}

fn files(
    frame: impl Fn(Value) -> Value,
    all: impl IntoIterator<Item = (&'static str, Value)>,
) -> BTreeMap<String, Value> {
    all.into_iter().map(|(name, data)| (name.to_owned(), frame(data))).collect()
}

fn base_3() -> BTreeMap<String, Value> {
    let text = |text: &str| json!([{"text": text, "language": "en"}]);
    let at = "2026-01-01T06:46:40Z";
    let url = |name: &str| json!({"name": name, "url": format!("https://bikes.example/{name}")});
    let names = [
        "system_information",
        "station_information",
        "station_status",
        "vehicle_status",
        "vehicle_types",
        "system_regions",
        "system_pricing_plans",
        "system_alerts",
        "geofencing_zones",
    ];
    let zone = json!([[[[10.7, 59.9], [10.8, 59.9], [10.8, 60.0], [10.7, 60.0], [10.7, 59.9]]]]);
    let rule = json!({
        "ride_start_allowed": true, "ride_end_allowed": true, "ride_through_allowed": true
    });
    files(
        |data| json!({"last_updated": at, "ttl": 60, "version": "3.0", "data": data}),
        [
            ("gbfs", json!({"feeds": names.map(url)})),
            (
                "system_information",
                json!({
                    "system_id": "bikes", "languages": ["en"], "name": text("City Bikes"),
                    "opening_hours": "24/7", "feed_contact_email": "data@bikes.example",
                    "timezone": "Europe/Oslo",
                    "rental_apps": {"android": {
                        "store_uri": "https://store.example/bikes", "discovery_uri": "com.bikes://"
                    }}
                }),
            ),
            ("system_regions", json!({"regions": [{"region_id": "R1", "name": text("Center")}]})),
            (
                "system_pricing_plans",
                json!({"plans": [{
                    "plan_id": "P1", "name": text("Day"), "currency": "NOK", "price": 50,
                    "is_taxable": true, "description": text("A day")
                }]}),
            ),
            (
                "vehicle_types",
                json!({"vehicle_types": [
                    {"vehicle_type_id": "T1", "form_factor": "bicycle", "max_range_meters": 40000,
                        "propulsion_type": "electric_assist", "default_pricing_plan_id": "P1"},
                    {"vehicle_type_id": "T2", "form_factor": "bicycle", "propulsion_type": "human"}
                ]}),
            ),
            (
                "station_information",
                json!({"stations": [
                    {"station_id": "S1", "name": text("Square"), "lat": 59.91, "lon": 10.75,
                        "region_id": "R1", "capacity": 10},
                    {"station_id": "S2", "name": text("Mill"), "lat": 59.92, "lon": 10.76},
                    {"station_id": "S3", "name": text("Park"), "lat": 59.93, "lon": 10.77}
                ]}),
            ),
            (
                "station_status",
                json!({"stations": [
                    {"station_id": "S1", "num_vehicles_available": 3, "num_docks_available": 7,
                        "is_installed": true, "is_renting": true, "is_returning": true,
                        "last_reported": at, "vehicle_types_available": [
                            {"vehicle_type_id": "T1", "count": 1},
                            {"vehicle_type_id": "T2", "count": 2}
                        ]},
                    {"station_id": "S3", "num_vehicles_available": 0, "is_installed": true,
                        "is_renting": true, "is_returning": true, "last_reported": at,
                        "vehicle_types_available": [{"vehicle_type_id": "T1", "count": 0}]},
                    {"station_id": "S2", "num_vehicles_available": 0, "is_installed": true,
                        "is_renting": true, "is_returning": true, "last_reported": at,
                        "vehicle_types_available": []}
                ]}),
            ),
            (
                "vehicle_status",
                json!({"vehicles": [
                    {"vehicle_id": "V1", "lat": 59.915, "lon": 10.755, "is_reserved": false,
                        "is_disabled": false, "vehicle_type_id": "T1", "last_reported": at,
                        "current_range_meters": 12000.5, "rental_uris": {"android": "com.bikes://v1"}}
                ]}),
            ),
            (
                "system_alerts",
                json!({"alerts": [
                    {"alert_id": "A1", "type": "other", "summary": text("Snow"), "last_updated": at}
                ]}),
            ),
            (
                "geofencing_zones",
                json!({
                    "global_rules": [rule],
                    "geofencing_zones": {"type": "FeatureCollection", "features": [{
                        "type": "Feature", "geometry": {"type": "MultiPolygon", "coordinates": zone},
                        "properties": {"name": text("Center"), "rules": [rule]}
                    }]}
                }),
            ),
        ],
    )
}

fn base_2() -> BTreeMap<String, Value> {
    let at = NOW - 10;
    let url = |name: &str| json!({"name": name, "url": format!("https://bikes.example/{name}")});
    let names = [
        "system_information",
        "station_information",
        "station_status",
        "free_bike_status",
        "system_hours",
        "system_regions",
    ];
    files(
        |data| json!({"last_updated": at, "ttl": 60, "version": "2.3", "data": data}),
        [
            ("gbfs", json!({"en": {"feeds": names.map(url)}})),
            (
                "system_information",
                json!({
                    "system_id": "bikes", "language": "en", "name": "City Bikes",
                    "timezone": "Europe/Oslo"
                }),
            ),
            ("system_regions", json!({"regions": [{"region_id": "R1", "name": "Center"}]})),
            (
                "system_hours",
                json!({"rental_hours": [{
                    "user_types": ["member"], "days": ["mon", "tue"],
                    "start_time": "06:00:00", "end_time": "23:00:00"
                }]}),
            ),
            (
                "station_information",
                json!({"stations": [
                    {"station_id": "S1", "name": "Square", "lat": 59.91, "lon": 10.75}
                ]}),
            ),
            (
                "station_status",
                json!({"stations": [
                    {"station_id": "S1", "num_bikes_available": 3, "is_installed": true,
                        "is_renting": true, "is_returning": true, "last_reported": at}
                ]}),
            ),
            (
                "free_bike_status",
                json!({"bikes": [
                    {"bike_id": "V1", "lat": 59.9, "lon": 10.7, "is_reserved": false,
                        "is_disabled": false}
                ]}),
            ),
        ],
    )
}

/// Sets or removes the value at a path of the files.
fn put(files: &mut BTreeMap<String, Value>, place: &str, value: Option<Value>) {
    let Some((name, pointer)) = place.split_once(' ') else {
        match value {
            Some(value) => files.insert(place.to_owned(), value),
            None => files.remove(place),
        };
        return;
    };
    let (parent, last) = pointer.rsplit_once('/').expect("a path begins with /");
    let file = files.get_mut(name).expect("a file");
    match (file.pointer_mut(parent).expect("an existing parent"), value) {
        (Value::Array(list), Some(value)) => list[last.parse::<usize>().expect("an index")] = value,
        (Value::Array(list), None) => {
            // Statuses are in another order than stations: the last one is that of S2.
            list.pop();
            assert_eq!(last, "1");
        }
        (Value::Object(object), Some(value)) => _ = object.insert(last.to_owned(), value),
        (Value::Object(object), None) => assert!(object.remove(last).is_some(), "{place}"),
        (other, _) => panic!("{place}: {other} has no members"),
    }
}

impl Case {
    /// Sets or removes the value at a path.
    fn put(&mut self, place: &str, value: Option<Value>) {
        put(&mut self.files, place, value);
    }

    fn found(&self) -> Notices {
        let mut bodies: BTreeMap<&str, Vec<u8>> = BTreeMap::new();
        for (name, file) in &self.files {
            bodies.insert(name, serde_json::to_vec(file).expect("JSON"));
        }
        for (name, body) in &self.raw {
            bodies.insert(name, body.clone());
        }
        let mut previous: BTreeMap<&str, Vec<u8>> = BTreeMap::new();
        for (name, file) in self.previous.iter().flatten() {
            previous.insert(name, serde_json::to_vec(file).expect("JSON"));
        }
        let system = GbfsSystemFiles {
            previous: previous.iter().map(|(name, body)| (*name, &body[..])).collect(),
            files: bodies.iter().map(|(name, body)| (*name, &body[..])).collect(),
            unread: self.unread.iter().map(|(name, why)| (name.as_str(), why.as_str())).collect(),
            is_whole: self.is_whole,
            now: NOW,
            ..GbfsSystemFiles::default()
        };
        let mut notices = Notices::new(100);
        let errors = validate_gbfs_system(&system, &mut notices);
        assert!(errors.is_empty(), "{errors:?}");
        notices
    }
}

/// Parses the cases of a page.
fn cases(page: &str) -> Vec<Case> {
    let block = |case: &mut Case, info: &str, text: &str| match info.split_once(' ') {
        Some(("json", place)) => case.put(place, Some(serde_json::from_str(text).expect("JSON"))),
        Some(("before", place)) => {
            let previous = case.previous.get_or_insert_with(|| case.files.clone());
            put(previous, place, Some(serde_json::from_str(text).expect("JSON")));
        }
        Some(("text", name)) => {
            case.raw.insert(name.to_owned(), text.as_bytes().to_vec());
        }
        None if info == "json" => {
            case.expected = serde_json::from_str(text).expect("the JSON is a list");
        }
        _ => panic!("unknown block {info:?}"),
    };
    let line = |case: &mut Case, line: &str| match line.split_once(": ") {
        Some(("Version", _)) => case.files = base_2(),
        Some(("Without", place)) => case.put(place, None),
        Some(("Part", _)) => case.is_whole = false,
        Some(("Unread", unread)) => {
            let (name, reason) = unread.split_once(' ').expect("a name and a reason");
            case.unread.push((name.to_owned(), reason.to_owned()));
        }
        _ => {}
    };
    support::cases(page, case, block, line)
}

fn check(kind: &NoticeKind) -> Result<(), String> {
    let cases = cases(kind.page);
    let expected: Vec<&[Value]> = cases.iter().map(|case| case.expected.as_slice()).collect();
    support::has_both(&expected, false)?;
    cases
        .iter()
        .try_for_each(|case| support::hold(kind, &case.heading, &case.expected, &case.found()))
}

#[test]
fn every_page_matches_its_rule() {
    support::check_all(gbfs_notice_kinds(), check);
}

#[test]
fn each_kind_has_one_page_and_each_field_is_described() {
    support::describe_all(gbfs_notice_kinds(), "src/rules/gbfs");
}

#[test]
fn the_base_systems_of_the_cases_are_valid() {
    for files in [base_3(), base_2()] {
        let notices = Case { files, ..case("") }.found();
        let found: Vec<_> = notices.iter().map(|found| (found.kind.code, &found.samples)).collect();
        assert!(found.is_empty(), "{found:?}");
    }
}

#[test]
fn validating_a_damaged_system_does_not_panic() {
    let mut random = fastrand::Rng::with_seed(7);
    let pages: Vec<Case> = gbfs_notice_kinds().flat_map(|kind| cases(kind.page)).collect();
    for _ in 0..3_000 {
        let page = &pages[random.usize(..pages.len())];
        let mut broken = case("");
        for (name, file) in &page.files {
            let mut body = serde_json::to_vec(file).unwrap();
            if random.u8(..4) == 0 {
                for _ in 0..random.usize(1..4) {
                    let at = random.usize(..body.len());
                    body[at] = b"0123456789-\"{}[],:tnul "[random.usize(..23)];
                }
            }
            broken.raw.insert(name.clone(), body);
        }
        broken.found();
    }
}

#[test]
fn the_documentation_lists_each_kind() {
    list::hold(
        "gbfs",
        "GBFS systems",
        "Versions 1.0 to 3.1. The fields are those of the official JSON schemas, and a violation of a schema is an error;\n\
         fields that no version defines are accepted, as in the schemas. There are [a few differences](differences.md).\n\
         \n\
         A violation of a mere recommendation is a warning. An example is `count_unlike_sum`: the vehicles of all types at a station together are those that can be rented there, and its docks\n\
         by type are at least all free docks, as a dock that takes several types may be counted for each of them.\n\
         \n\
         In versions before 3.0 there is a set of files for each language. All sets are validated, of at most 20 languages, each with the files of its own language: a finding in\n\
         a further language names its file as `fr/system_information.json`. A file that a further language lists by the address of the first language's file is reported\n\
         once. A file that `gbfs.json` lists and that is not in the validated folder is `unreachable_file`, like a file that cannot be fetched.\n\
         The finding has [the names](../guide/checking.md#systems-in-folders) under which the folder was searched.\n",
        gbfs_notice_kinds(),
    );
}
