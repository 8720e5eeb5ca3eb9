//! Round trips of records, and files as producers write them.

use proptest::prelude::*;

use super::{
    FileContent, FileHeader, FileKind, FileLimits, GbfsFile, WritableGbfsVersion, decode_gbfs_file,
    encode_gbfs_file, encode_station_information, encode_station_status, records,
    sample::random_file_contents,
    values::{GbfsTime, Rfc3339Time},
};
use lineside_formats::{ErrorKind, Problem, Problems};

const LANGUAGE: &str = "en";

#[track_caller]
fn read(kind: FileKind, body: &str) -> (GbfsFile, Problems) {
    decode_gbfs_file(kind, body.as_bytes(), LANGUAGE, &FileLimits::default()).unwrap()
}

proptest! {
    #[test]
    fn version_three_preserves_every_record(seed: u64) {
        let head = FileHeader { last_updated: Some(1_700_000_000), ttl: Some(60), version: None };
        for content in random_file_contents(&mut fastrand::Rng::with_seed(seed)) {
            let Some(written) = encode_gbfs_file(&content, &head, WritableGbfsVersion::Three, LANGUAGE) else {
                prop_assert!(matches!(content.file_kind(), FileKind::Hours | FileKind::Calendar));
                continue;
            };
            prop_assert!(written.lost.is_empty());
            let body = String::from_utf8(written.body).unwrap();
            let (again, problems) = read(content.file_kind(), &body);
            prop_assert!(problems.is_empty(), "{:?}", problems.retained_problems());
            prop_assert_eq!(again.content, content);
            prop_assert_eq!(again.head, FileHeader { version: Some("3.0".into()), ..head.clone() });
        }
    }

    #[test]
    fn fields_without_an_equivalent_in_version_two_are_counted_as_lost(seed: u64) {
        let head = FileHeader { last_updated: Some(1_700_000_000), ttl: Some(60), version: None };
        for content in random_file_contents(&mut fastrand::Rng::with_seed(seed)) {
            let Some(written) = encode_gbfs_file(&content, &head, WritableGbfsVersion::Two, LANGUAGE) else {
                prop_assert!(content.file_kind().file_name(2).is_none());
                continue;
            };
            let body = String::from_utf8(written.body).unwrap();
            let (again, problems) = read(content.file_kind(), &body);
            prop_assert!(problems.is_empty(), "{:?}", problems.retained_problems());
            prop_assert_eq!(again.content == content, written.lost.is_empty(), "{}", body);
            let twice = encode_gbfs_file(&again.content, &again.head, WritableGbfsVersion::Two, LANGUAGE).unwrap();
            let twice_body = String::from_utf8(twice.body).unwrap();
            prop_assert_eq!(read(content.file_kind(), &twice_body).0.content, again.content);
            prop_assert!(twice.lost.is_empty());
        }
    }

    #[test]
    fn decoding_any_bytes_does_not_panic(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
        for kind in [FileKind::StationStatus, FileKind::GeofencingZones] {
            let _ = decode_gbfs_file(kind, &bytes, LANGUAGE, &FileLimits::default());
        }
    }

    #[test]
    fn a_truncated_file_is_refused(seed: u64, at: prop::sample::Index) {
        for content in random_file_contents(&mut fastrand::Rng::with_seed(seed)) {
            let written = encode_gbfs_file(&content, &FileHeader::default(), WritableGbfsVersion::Three, LANGUAGE);
            let Some(body) = written.map(|it| it.body) else { continue };
            let cut = &body[..at.index(body.len())];
            let read = decode_gbfs_file(content.file_kind(), cut, LANGUAGE, &FileLimits::default());
            prop_assert!(read.is_err());
        }
    }
}

/// Returns a file of that version with a list of one record.
fn of_one(version: &str, list: &str, record: &str) -> String {
    format!("{{\"version\":\"{version}\",\"data\":{{\"{list}\":[{record}]}}}}")
}

/// Decodes a station's status with these fields and returns it with the problems, by code and field.
#[track_caller]
fn status(version: &str, fields: &str) -> (records::StationStatus, Vec<(&'static str, String)>) {
    let body = of_one(version, "stations", &format!("{{\"station_id\":\"s\",{fields}}}"));
    let (file, problems) = read(FileKind::StationStatus, &body);
    let FileContent::StationStatus(mut all) = file.content else { panic!("{body}") };
    let problem_place =
        |it: &Problem| (it.code, it.field.as_deref().unwrap_or_default().to_owned());
    (all.remove(0), problems.retained_problems().iter().map(problem_place).collect())
}

/// Checks that `written` is read as `expect`, and that the problem has `code`.
#[track_caller]
fn check_renting(version: &str, written: &str, expect: Option<bool>, code: Option<&'static str>) {
    let (status, reported) = status(version, &format!("\"is_renting\":{written}"));
    assert_eq!(status.is_renting, expect, "{written}");
    let expect: Vec<_> =
        code.into_iter().map(|code| (code, "stations[0].is_renting".to_owned())).collect();
    assert_eq!(reported, expect, "{written}");
}

#[test]
fn booleans_are_read_in_every_notation() {
    check_renting("2.3", "true", Some(true), None);
    check_renting("1.1", "0", Some(false), None);
    for (written, expect) in [("1", true), ("0", false), ("\"true\"", true), ("\"FALSE\"", false)] {
        check_renting("2.3", written, Some(expect), Some("unexpected_type"));
    }
    for odd in ["2", "\"maybe\"", "[]", "{}"] {
        check_renting("2.3", odd, None, Some("bad_value"));
    }
    check_renting("2.3", "null", None, None);
}

#[track_caller]
fn check_time(version: &str, written: &str, expect: Option<i64>, code: Option<&'static str>) {
    let (status, reported) = status(version, &format!("\"last_reported\":{written}"));
    assert_eq!(status.last_reported, expect.map(GbfsTime), "{written}");
    assert_eq!(
        reported.iter().map(|it| it.0).collect::<Vec<_>>(),
        Vec::from_iter(code),
        "{written}"
    );
}

#[test]
fn times_are_read_in_every_notation() {
    const AT: i64 = 1_689_593_653;
    check_time("2.3", "1689593653", Some(AT), None);
    check_time("3.0", "\"2023-07-17T13:34:13+02:00\"", Some(AT), None);
    for odd in ["\"1689593653\"", "1689593653000", "\"1689593653123\"", "\"2023-07-17T11:34:13Z\""]
    {
        check_time("2.3", odd, Some(AT), Some("unexpected_type"));
    }
    check_time("2.3", "1689593653.9", Some(AT), None);
    check_time("3.0", "1689593653", Some(AT), Some("unexpected_type"));
    for bad in ["\"yesterday\"", "1e300", "true", "\"2023-07-17T11:34:13\""] {
        check_time("3.0", bad, None, Some("bad_value"));
    }
    let vehicle = r#"{"bike_id":"b","available_until":"2021-05-17T15:00:00Z"}"#;
    let (file, problems) = read(FileKind::VehicleStatus, &of_one("2.3", "bikes", vehicle));
    assert!(problems.is_empty(), "{:?}", problems.retained_problems());
    let FileContent::VehicleStatus(all) = file.content else { panic!() };
    assert_eq!(all[0].available_until, Some(Rfc3339Time(1_621_263_600)));
}

#[test]
fn numbers_are_read_in_every_notation() {
    for (written, expect, codes) in [
        ("7", Some(7), vec![]),
        ("\"7\"", Some(7), vec!["unexpected_type"]),
        ("7.0", Some(7), vec!["unexpected_type"]),
        ("-1", None, vec!["bad_value"]),
        ("7.5", None, vec!["bad_value"]),
        ("99999999999", None, vec!["bad_value"]),
        ("\"\"", None, vec![]),
    ] {
        let (status, reported) = status("3.0", &format!("\"num_docks_available\":{written}"));
        assert_eq!(status.num_docks_available, expect, "{written}");
        assert_eq!(reported.iter().map(|it| it.0).collect::<Vec<_>>(), codes, "{written}");
    }
}

#[test]
fn a_bad_station_does_not_affect_others() {
    let good = r#"{"station_id":"good","name":"Good"}"#;
    let deep = format!("{}{}", "[".repeat(10_000), "]".repeat(10_000));
    let long = format!("{{\"station_id\":\"x\",\"name\":\"{}\"}}", "x".repeat(3 << 20));
    for (bad, code) in [
        ("7", "bad_value"),
        ("{}", "missing_id"),
        (r#"{"station_id":"good"}"#, "duplicate_id"),
        (&deep, "bad_value"),
        (&long, "too_large"),
    ] {
        let body = of_one("2.3", "stations", &format!("{good},{bad}"));
        let (file, problems) = read(FileKind::StationInformation, &body);
        assert_eq!(file.content.record_count(), 1);
        let problem = &problems.retained_problems()[0];
        assert_eq!((&*problem.file, problem.code), ("station_information", code));
        assert_eq!(problem.field.as_deref(), Some("stations[1]"));
    }
}

#[test]
fn an_implausible_position_is_dropped() {
    for place in [
        r#""lat":0,"lon":0"#,
        r#""lat":95.0,"lon":5.0"#,
        r#""lat":5.0"#,
        r#""lat":5.0,"lon":"east""#,
    ] {
        let body = of_one("2.3", "stations", &format!("{{\"station_id\":\"s\",{place}}}"));
        let (file, problems) = read(FileKind::StationInformation, &body);
        let FileContent::StationInformation(all) = file.content else { panic!() };
        assert_eq!((all[0].lat, all[0].lon), (None, None), "{place}");
        assert!(problems.retained_problems().iter().any(|it| it.code == "bad_position"), "{place}");
    }
}

#[test]
fn extensions_are_ignored_and_each_unknown_field_is_reported_once() {
    let record = r#"{"station_id":"1","_ours":{"a":[1]},"odd":1},{"station_id":"2","odd":2}"#;
    let (file, problems) = read(FileKind::StationStatus, &of_one("3.0", "stations", record));
    assert_eq!(file.content.record_count(), 2);
    let reported: Vec<_> =
        problems.retained_problems().iter().map(|it| (it.code, it.field.as_deref())).collect();
    assert_eq!(reported, [("unknown_field", Some("odd"))]);
}

#[test]
fn plain_and_localized_texts_are_read() {
    let name = |version: &str, name: &str| {
        let record = format!("{{\"region_id\":3,\"name\":{name}}}");
        let (file, problems) = read(FileKind::Regions, &of_one(version, "regions", &record));
        let FileContent::Regions(mut all) = file.content else { panic!() };
        assert_eq!(all[0].region_id, "3");
        (all.remove(0).name, problems.total_count())
    };
    // The numeric id is a problem each time.
    assert_eq!(name("2.3", "\"Nord\"").1, 1);
    let list = r#"[{"text":"Nord","language":"fr"},{"text":"North","language":"en"}]"#;
    let (texts, n_problems) = name("3.0", list);
    assert_eq!(
        (texts.text_in_language(Some("en")), texts.text_in_language(None), n_problems),
        (Some("North"), Some("Nord"), 1)
    );
    let (plain, n_problems) = name("3.0", "\"Nord\"");
    assert_eq!(
        (plain.text_in_language(None), plain.0[0].language.as_str(), n_problems),
        (Some("Nord"), LANGUAGE, 2)
    );
    assert_eq!(name("2.3", list).1, 2);
}

#[test]
fn an_oversized_or_invalid_file_is_refused() {
    let kind = |body: &[u8]| {
        let limits = FileLimits { body_bytes: 1_000, ..FileLimits::default() };
        decode_gbfs_file(FileKind::StationStatus, body, LANGUAGE, &limits).unwrap_err().kind()
    };
    assert_eq!(kind(&[b' '; 1_001]), ErrorKind::TooLarge);
    assert_eq!(kind(b"  "), ErrorKind::Empty);
    assert_eq!(kind(b"<html></html>"), ErrorKind::Decode);
    assert_eq!(kind(br#"{"data":{"vehicles":[]}}"#), ErrorKind::Decode);
    assert_eq!(kind(br#"{"data":{"stations":[{"a":1"#), ErrorKind::Truncated);
}

#[test]
fn more_records_than_the_limit_are_left_out() {
    let limits = FileLimits { records: 2, ..FileLimits::default() };
    let all: Vec<String> = (0..5).map(|n| format!("{{\"region_id\":\"{n}\"}}")).collect();
    let body = of_one("2.3", "regions", &all.join(","));
    let (file, problems) =
        decode_gbfs_file(FileKind::Regions, body.as_bytes(), "en", &limits).unwrap();
    assert_eq!(file.content.record_count(), 2);
    assert_eq!(problems.retained_problems()[0].code, "too_many");
}

#[test]
fn a_station_and_its_status_are_encoded_as_separate_objects() {
    let information = records::StationInformation {
        station_id: "s".into(),
        capacity: Some(4),
        ..records::StationInformation::default()
    };
    let status = records::StationStatus {
        station_id: "s".into(),
        num_vehicles_available: Some(3),
        last_reported: Some(GbfsTime(0)),
        ..records::StationStatus::default()
    };
    assert_eq!(encode_station_information(&information), br#"{"station_id":"s","capacity":4}"#);
    assert_eq!(
        encode_station_status(&status),
        br#"{"num_vehicles_available":3,"last_reported":"1970-01-01T00:00:00Z"}"#
    );
}

#[test]
fn values_of_older_versions_are_converted_to_the_newer_version() {
    let types = r#"{"last_updated":1700000000,"ttl":60,"version":"2.2","data":{"vehicle_types":[
        {"vehicle_type_id":"a","form_factor":"scooter","propulsion_type":"electric"},
        {"vehicle_type_id":"b","form_factor":"scooter_seated","propulsion_type":"electric"}]}}"#;
    let (file, problems) = read(FileKind::VehicleTypes, types);
    assert!(problems.is_empty(), "{:?}", problems.retained_problems());
    let written = |version| {
        let written = encode_gbfs_file(&file.content, &file.head, version, LANGUAGE).unwrap();
        let json: serde_json::Value = serde_json::from_slice(&written.body).unwrap();
        json["data"]["vehicle_types"]
            .as_array()
            .unwrap()
            .iter()
            .map(|it| it["form_factor"].clone())
            .collect::<Vec<_>>()
    };
    assert_eq!(written(WritableGbfsVersion::Two), ["scooter", "scooter_seated"]);
    assert_eq!(written(WritableGbfsVersion::Three), ["scooter_standing", "scooter_seated"]);
    let alerts = r#"{"last_updated":1700000000,"ttl":60,"data":{"alerts":[
        {"alert_id":"a","type":"SYSTEM_CLOSURE","summary":"Closed"}]}}"#;
    let (file, _) = read(FileKind::Alerts, alerts);
    let written =
        encode_gbfs_file(&file.content, &file.head, WritableGbfsVersion::Three, LANGUAGE).unwrap();
    let json: serde_json::Value = serde_json::from_slice(&written.body).unwrap();
    assert_eq!(json["data"]["alerts"][0]["type"], "system_closure");
}
