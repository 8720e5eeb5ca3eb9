//! `lineside check`, as a producer's build runs it.

use std::fs;
use std::io::{Cursor, Write as _};
use std::path::Path;
use std::process::{Output, Stdio};

use serde_json::Value;
use zip::ZipWriter;
use zip::write::SimpleFileOptions;

use crate::support::process::lineside;

/// A schedule with one error, a missing level, and one info, an unknown file.
pub(crate) const FILES: [(&str, &str); 9] = [
    (
        "agency.txt",
        "agency_id,agency_name,agency_url,agency_timezone,agency_lang\n\
         A1,North Lines,https://north.example,Europe/Oslo,en\n",
    ),
    (
        "stops.txt",
        "stop_id,stop_name,stop_lat,stop_lon,level_id\n\
         S1,Harbour Square,59.9,10.7,\nS2,City Hall,59.91,10.72,L9\n",
    ),
    (
        "routes.txt",
        "route_id,agency_id,route_short_name,route_long_name,route_type\nR1,A1,1,Harbour to Hall,3\n",
    ),
    ("trips.txt", "route_id,service_id,trip_id,shape_id\nR1,W1,T1,H1\n"),
    (
        "stop_times.txt",
        "trip_id,arrival_time,departure_time,stop_id,stop_sequence\n\
         T1,08:00:00,08:00:00,S1,1\nT1,08:05:00,08:05:00,S2,2\n",
    ),
    (
        "calendar.txt",
        "service_id,monday,tuesday,wednesday,thursday,friday,saturday,sunday,start_date,end_date\n\
         W1,1,1,1,1,1,1,1,20260101,20261231\n",
    ),
    (
        "shapes.txt",
        "shape_id,shape_pt_lat,shape_pt_lon,shape_pt_sequence\nH1,59.9,10.7,1\nH1,59.91,10.72,2\n",
    ),
    (
        "feed_info.txt",
        "feed_publisher_name,feed_publisher_url,feed_lang,feed_start_date,feed_end_date,feed_version,feed_contact_email\n\
         North Lines,https://north.example,en,20260101,20261231,1,data@north.example\n",
    ),
    ("drivers.txt", "driver_id\n1\n"),
];

pub(crate) fn zip() -> Vec<u8> {
    zip_of(&FILES)
}

/// Returns the schedule with another text in one of its files.
pub(crate) fn zip_with(name: &str, text: &str) -> Vec<u8> {
    zip_of(&FILES.map(|(file, old)| (file, if file == name { text } else { old })))
}

pub(crate) fn zip_of(files: &[(&str, &str)]) -> Vec<u8> {
    let mut writer = ZipWriter::new(Cursor::new(Vec::new()));
    for (name, text) in files.iter().copied() {
        let options = SimpleFileOptions::default();
        // The strongest compression.
        let options = options.compression_method(zip::CompressionMethod::Deflated);
        let options = options.compression_level(Some(9));
        writer.start_file(name, options).unwrap();
        writer.write_all(text.as_bytes()).unwrap();
    }
    writer.finish().unwrap().into_inner()
}

pub(crate) fn run(folder: &Path, arguments: &[&str]) -> (Option<i32>, String, String) {
    let mut command = lineside(arguments);
    let Output { status, stdout, stderr } = command.current_dir(folder).output().unwrap();
    (status.code(), String::from_utf8(stdout).unwrap(), String::from_utf8(stderr).unwrap())
}

fn folder() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("gtfs.zip"), zip()).unwrap();
    folder
}

pub(crate) const DAY: &str = "2026-06-15";

#[test]
fn findings_are_ordered_by_severity_and_exit_with_1() {
    let folder = folder();
    let (code, out, error) = run(folder.path(), &["check", "gtfs.zip", "--date", DAY]);
    assert_eq!(code, Some(1), "{out}{error}");
    assert!(out.starts_with("gtfs.zip is GTFS: 1 agency, 1 route, 1 trip, 2 stops"), "{out}");
    let (fault, info) =
        (out.find("ERROR foreign_key_violation (once)"), out.find("INFO unknown_file"));
    assert!(fault.is_some() && fault < info, "{out}");
    assert!(out.contains("stops.txt line 3: "), "{out}");
    assert!(out.contains("1 error, 0 warnings, 1 info."), "{out}");
}

#[test]
fn options_and_settings_control_what_counts_as_a_failure() {
    let folder = folder();
    fs::write(folder.path().join("check.toml"), "fail_on = \"never\"\n").unwrap();
    let ignored = "--ignore=foreign_key_violation,unknown_file";
    let cases: [(&[&str], i32); 7] = [
        (&["--fail-on", "never"], 0),
        (&["--fail-on", "info"], 1),
        (&["--ignore", "foreign_key_violation"], 0),
        (&["--ignore", "foreign_key_violation", "--fail-on", "info"], 1),
        (&[ignored, "--fail-on", "info"], 0),
        (&["--config", "check.toml"], 0),
        (&["--config", "check.toml", "--fail-on", "error"], 1),
    ];
    for (more, expected) in cases {
        let arguments = [&["check", "gtfs.zip", "--date", DAY], more].concat();
        let (code, out, error) = run(folder.path(), &arguments);
        assert_eq!(code, Some(expected), "{more:?}\n{out}{error}");
    }
    fs::write(folder.path().join("check.toml"), "fail_at = \"never\"\n").unwrap();
    let (code, _, error) = run(folder.path(), &["check", "gtfs.zip", "--config", "check.toml"]);
    assert_eq!(code, Some(2));
    assert!(error.contains("check.toml") && error.contains("fail_at"), "{error}");
}

#[test]
fn an_unknown_code_is_refused_with_the_nearest_one() {
    let folder = folder();
    fs::write(folder.path().join("check.toml"), "ignore = [\"forein_key_violation\"]\n").unwrap();
    let cases: [(&[&str], &str, &str); 3] = [
        (&["--ignore", "unkown_file"], "--ignore: ", "did you mean \"unknown_file\"?"),
        (
            &["--config", "check.toml"],
            "check.toml: ignore: ",
            "did you mean \"foreign_key_violation\"?",
        ),
        (&["--ignore", "unknown_file,drivers"], "\"drivers\"", "docs/rules"),
    ];
    for (more, page_part, meant) in cases {
        let (code, out, error) = run(folder.path(), &[&["check", "gtfs.zip"], more].concat());
        assert_eq!((code, out.as_str()), (Some(2), ""), "{more:?} {error}");
        assert!(error.contains(page_part) && error.contains(meant), "{error}");
    }
}

#[test]
fn json_reports_have_the_structure_of_the_canonical_validator() {
    let folder = folder();
    let arguments = ["check", "gtfs.zip", "--date", DAY, "--format", "json", "--output", "report"];
    let (_, out, _) = run(folder.path(), &arguments);
    let report: Value = serde_json::from_str(&out).unwrap();
    let summary = &report["summary"];
    assert_eq!(summary["gtfsInput"], "gtfs.zip");
    assert_eq!(summary["dateForValidation"], DAY);
    assert_eq!(summary["counts"]["Stops"], 2);
    assert_eq!(summary["feedInfo"]["publisherName"], "North Lines");
    assert_eq!(summary["agencies"][0]["timezone"], "Europe/Oslo");
    assert_eq!(summary["gtfsFeatures"], serde_json::json!(["Shapes", "Feed Information"]));
    let notice = &report["notices"][0];
    assert_eq!(notice["code"], "foreign_key_violation");
    assert_eq!((&notice["severity"], &notice["totalNotices"]), (&"ERROR".into(), &1.into()));
    assert_eq!(notice["sampleNotices"][0]["fieldValue"], "L9");
    let written = fs::read_to_string(folder.path().join("report/report.json")).unwrap();
    let written: Value = serde_json::from_str(&written).unwrap();
    assert_eq!(written["notices"], report["notices"]);
    let errors = fs::read_to_string(folder.path().join("report/system_errors.json")).unwrap();
    assert_eq!(serde_json::from_str::<Value>(&errors).unwrap(), serde_json::json!({"notices": []}));
    let page = fs::read_to_string(folder.path().join("report/report.html")).unwrap();
    assert!(page.contains("foreign_key_violation") && !page.contains("<script"), "{page}");
    assert!(!page.contains("http://") && !page.contains("src="), "nothing from elsewhere");
}

/// A shape that passes its stops at a distance of some kilometers.
pub(crate) const ASTRAY: &str =
    "shape_id,shape_pt_lat,shape_pt_lon,shape_pt_sequence\nH1,59.95,10.8,1\nH1,59.96,10.82,2\n";

#[test]
fn the_html_report_has_a_map_of_findings_in_every_format() {
    let folder = folder();
    fs::write(folder.path().join("astray.zip"), zip_with("shapes.txt", ASTRAY)).unwrap();
    let json = r#"{"header":{"gtfsRealtimeVersion":"2.0","timestamp":"1781500000"},"entity":[
        {"id":"1","vehicle":{"vehicle":{"id":"V1"},"position":{"latitude":59.9,"longitude":10.7}}},
        {"id":"2","vehicle":{"vehicle":{"id":"V2"},"position":{"latitude":48.1,"longitude":11.6}}}]}"#;
    fs::write(folder.path().join("stray.json"), json).unwrap();
    let stations = r#"{"last_updated":1767250000,"ttl":60,"version":"2.3","data":{"stations":[
        {"station_id":"S1","name":"Square","lat":59.9,"lon":10.7},
        {"station_id":"S2","name":"Hall","lat":0.0,"lon":0.0}]}}"#;
    fs::write(folder.path().join("station_information.json"), stations).unwrap();
    let cases: [(&[&str], &str, &str); 3] = [
        (&["astray.zip"], "stop_too_far_from_shape", "stop S1"),
        (&["stray.json", "--static", "gtfs.zip"], "E028", "vehicle V2"),
        (&["station_information.json"], "point_near_origin", "/data/stations/1"),
    ];
    for (input, code, page_part) in cases {
        let arguments = [&["check"], input, &["--format", "html", "--output", "report"]].concat();
        let (_, page, error) = run(folder.path(), &arguments);
        assert!(page.contains(code) && page.contains("<svg viewBox"), "{code} {error} {page}");
        assert!(
            page.contains("<circle cx=") && page.contains(&format!("<title>{page_part}</title>")),
            "{page}"
        );
        assert!(!page.contains("src=") && !page.contains("http://"), "nothing from elsewhere");
        assert!(page.contains("<main>") && page.contains("tabindex=\"0\""), "{page}");
        assert!(!page.contains("9.90000"), "digits that say nothing: {page}");
        let places_json = fs::read_to_string(folder.path().join("report/places.json")).unwrap();
        assert!(
            !places_json.contains("9.9000") && !places_json.contains("0.7000"),
            "{places_json}"
        );
        let places: Value = serde_json::from_str(&places_json).unwrap();
        assert_eq!(places["places"][code][0]["label"], page_part, "{places}");
        let outline = places["outline"].as_array().unwrap();
        assert!(!outline.is_empty(), "{places}");
        // The outline of a message with a schedule is the schedule's.
        let is_stray =
            |point: &Value| point[0].as_f64().is_some_and(|lat| (48.0..49.0).contains(&lat));
        assert!(!outline.iter().any(is_stray), "{places}");
    }
}

#[test]
fn standard_input_is_checked_and_an_unknown_format_is_refused() {
    let mut child = lineside(&["check", "-", "--date", DAY, "--ignore", "foreign_key_violation"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(&zip()).unwrap();
    let Output { status, stdout, .. } = child.wait_with_output().unwrap();
    assert_eq!(status.code(), Some(0));
    assert!(String::from_utf8(stdout).unwrap().starts_with("Standard input is GTFS"));
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("x.bin"), b"hello").unwrap();
    let (code, _, error) = run(folder.path(), &["check", "x.bin"]);
    assert_eq!(code, Some(3), "{error}");
    assert!(error.contains("x.bin: this is not GTFS, GTFS-Realtime"), "{error}");
    assert_eq!(run(folder.path(), &["check", "none.zip"]).0, Some(3));
}

#[test]
fn realtime_messages_are_checked_with_and_without_a_schedule() {
    let folder = tempfile::tempdir().unwrap();
    let json = r#"{"header":{"gtfsRealtimeVersion":"2.0","incrementality":"FULL_DATASET","timestamp":"1781500000"},
        "entity":[{"id":"1","vehicle":{"vehicle":{"id":"V"}}}]}"#;
    fs::write(folder.path().join("vehicles.json"), json).unwrap();
    let (code, out, error) = run(folder.path(), &["check", "vehicles.json"]);
    assert_eq!(code, Some(0), "{out}{error}");
    assert!(out.contains("vehicles.json is GTFS-Realtime: 1 vehicle"), "{out}");
    assert!(out.contains("INFO schedule_not_given (once)"), "{out}");
    // Rules that need no schedule run anyway.
    assert!(out.contains("WARNING W008 (once)") && !out.contains("E003"), "{out}");
    let nowhere = json.replace(r#""vehicle":{"id":"V"}"#, r#""vehicle":{"id":"V"},"position":{}"#);
    fs::write(folder.path().join("nowhere.json"), nowhere).unwrap();
    let (_, out, error) = run(folder.path(), &["check", "nowhere.json"]);
    assert!(out.contains("ERROR missing_required_field (once)"), "{out}{error}");
    assert!(out.contains("Fix: "), "{out}");
    // The same data in protobuf, whose first byte is a line feed in text.
    let protobuf = b"\x0A\x0D\x0A\x03\x32\x2E\x30\x10\x00\x18\xE0\x90\xBE\xD1\x06\x12\x0A\x0A\x01\x31\x22\x05\x42\x03\x0A\x01\x56";
    fs::write(folder.path().join("vehicles.pb"), protobuf).unwrap();
    let (code, out, error) = run(folder.path(), &["check", "vehicles.pb"]);
    assert_eq!(code, Some(0), "{out}{error}");
    assert!(out.contains("vehicles.pb is GTFS-Realtime: 1 vehicle"), "{out}");
    fs::write(folder.path().join("gtfs.zip"), zip()).unwrap();
    let unknown =
        json.replace(r#""vehicle":{"id":"V"}"#, r#""vehicle":{"id":"V"},"trip":{"tripId":"T9"}"#);
    fs::write(folder.path().join("unknown.json"), unknown).unwrap();
    let arguments =
        ["check", "unknown.json", "--static", "gtfs.zip", "--previous", "vehicles.json"];
    let (code, out, error) = run(folder.path(), &arguments);
    assert_eq!(code, Some(1), "{out}{error}");
    assert!(out.contains("ERROR E003 (once)") && out.contains("T9"), "{out}");
    assert!(out.contains("E017") || out.contains("W008"), "{out}");
    let (code, _, error) = run(folder.path(), &["check", "gtfs.zip", "--static", "gtfs.zip"]);
    assert_eq!(code, Some(2), "{error}");
    assert!(error.contains("only GTFS-Realtime and SIRI messages use"), "{error}");
}

#[test]
fn schedule_errors_for_realtime_are_reported_with_the_message() {
    let folder = tempfile::tempdir().unwrap();
    let stops = "stop_id,stop_name,stop_lat,stop_lon,location_type\n\
                 S1,Harbour Square,59.9,10.7,1\nS2,City Hall,59.91,10.72,\n";
    fs::write(folder.path().join("gtfs.zip"), zip_with("stops.txt", stops)).unwrap();
    let json = r#"{"header":{"gtfsRealtimeVersion":"2.0","timestamp":"1781500000"},"entity":[]}"#;
    fs::write(folder.path().join("trips.json"), json).unwrap();
    let arguments = ["check", "trips.json", "--static", "gtfs.zip"];
    let (code, out, error) = run(folder.path(), &arguments);
    assert_eq!(code, Some(1), "{out}{error}");
    assert!(out.contains("ERROR E010 (once)") && out.contains("S1"), "{out}");
}

#[test]
fn file_names_inside_a_feed_are_escaped_in_the_log() {
    let folder = tempfile::tempdir().unwrap();
    let named = [&FILES[..], &[("a\n::error::owned\u{1b}[2Jx.txt", "b\n1\n")]].concat();
    fs::write(folder.path().join("gtfs.zip"), zip_of(&named)).unwrap();
    let (_, out, _) = run(folder.path(), &["check", "gtfs.zip", "--date", DAY]);
    assert!(out.contains(r"a\n::error::owned\u{1b}[2Jx.txt"), "{out}");
    assert!(!out.contains('\u{1b}') && !out.contains("\n::"), "{out}");
}

/// Writes a system of two stations, one of which is in an unknown region.
pub(crate) fn system(folder: &Path) {
    let file = |name: &str, data: &str| {
        let text =
            format!(r#"{{"last_updated":1767250000,"ttl":60,"version":"2.3","data":{data}}}"#);
        fs::write(folder.join(format!("{name}.json")), text).unwrap();
    };
    file(
        "system_information",
        r#"{"system_id":"b","language":"en","name":"Bikes","timezone":"Europe/Oslo"}"#,
    );
    file("system_regions", r#"{"regions":[{"region_id":"R1","name":"Center"}]}"#);
    file(
        "station_information",
        r#"{"stations":[{"station_id":"S1","name":"Square","lat":59.9,"lon":10.7,"region_id":"R9"}]}"#,
    );
    file(
        "station_status",
        r#"{"stations":[{"station_id":"S1","num_bikes_available":1,"is_installed":true,
            "is_renting":true,"is_returning":true,"last_reported":1767250000}]}"#,
    );
    let listed = ["system_information", "station_information", "station_status", "system_regions"];
    let listed =
        listed.map(|name| format!(r#"{{"name":"{name}","url":"https://bikes.example/{name}"}}"#));
    file("gbfs", &format!(r#"{{"en":{{"feeds":[{}]}}}}"#, listed.join(",")));
}

#[test]
fn gbfs_is_checked_from_a_folder_a_discovery_file_or_one_file() {
    let folder = tempfile::tempdir().unwrap();
    system(folder.path());
    let ignored = ["--ignore", "outdated_file"];
    for input in [".", "gbfs.json"] {
        let (code, out, error) = run(folder.path(), &[&["check", input], &ignored[..]].concat());
        assert_eq!(code, Some(1), "{out}{error}");
        assert!(out.starts_with(&format!("{input} is GBFS: 5 files")), "{out}");
        let line = r#"station_information.json: path "/data/stations/0/region_id", value "R9""#;
        assert!(out.contains("ERROR unknown_region_id (once)") && out.contains(line), "{out}");
        assert!(out.contains("1 error, 0 warnings, 0 infos."), "{out}");
    }
    // A single file is not validated against others.
    let (code, out, error) = run(folder.path(), &["check", "station_information.json"]);
    assert_eq!(code, Some(0), "{out}{error}");
    fs::rename(folder.path().join("system_regions.json"), folder.path().join("other.json"))
        .unwrap();
    let (code, out, error) = run(folder.path(), &["check", "other.json", "--format", "json"]);
    assert_eq!(code, Some(0), "{out}{error}");
    let report: Value = serde_json::from_str(&out).unwrap();
    assert_eq!(report["summary"]["format"], "gbfs");
    fs::write(folder.path().join("other.json"), r#"{"data":{"regions":[{"name":"Center"}]}}"#)
        .unwrap();
    let (code, out, _) = run(folder.path(), &["check", "other.json"]);
    assert_eq!(code, Some(1), "{out}");
    assert!(out.contains(r#"system_regions.json: path "/data/regions/0/region_id""#), "{out}");
}

#[test]
fn gbfs_is_checked_in_each_language_and_missing_files_are_reported() {
    let folder = tempfile::tempdir().unwrap();
    system(folder.path());
    let own = ["system_information", "station_information", "station_status", "system_regions"];
    let french = folder.path().join("fr");
    fs::create_dir(&french).unwrap();
    for name in own {
        let text = fs::read_to_string(folder.path().join(format!("{name}.json"))).unwrap();
        let text = text.replace("Europe/Oslo", "Oslo").replace("\"Center\"", "\"Centre\"");
        fs::write(french.join(format!("{name}.json")), text).unwrap();
    }
    let discovery = folder.path().join("gbfs.json");
    let text = fs::read_to_string(&discovery).unwrap();
    let (head, english) = text.split_once("\"en\":").unwrap();
    let english = english.strip_suffix("}}").unwrap();
    fs::write(&discovery, format!("{head}\"en\":{english},\"fr\":{english}}}}}")).unwrap();
    let ignored = ["--ignore", "outdated_file"];
    let (code, out, error) = run(folder.path(), &[&["check", "gbfs.json"], &ignored[..]].concat());
    assert_eq!(code, Some(1), "{out}{error}");
    // Files in different places count separately, even with equal content.
    assert!(out.starts_with("gbfs.json is GBFS: 9 files"), "{out}");
    assert!(out.contains("ERROR unknown_region_id (2 times)"), "{out}");
    assert!(out.contains("ERROR invalid_timezone (once)"), "{out}");
    assert!(out.contains("fr/system_information.json"), "{out}");

    fs::remove_file(folder.path().join("system_regions.json")).unwrap();
    let (_, out, _) = run(folder.path(), &[&["check", "."], &ignored[..]].concat());
    assert!(out.contains("ERROR unreachable_file (once)"), "{out}");
    let searched_text = "not in the folder: looked for en/system_regions.json, system_regions.json";
    assert!(out.contains("system_regions.json: ") && out.contains(searched_text), "{out}");
}

#[test]
fn gbfs_languages_of_a_folder_are_found_as_listed() {
    let plain = tempfile::tempdir().unwrap();
    system(plain.path());
    let own = ["system_information", "station_information", "station_status", "system_regions"];
    let languages = ["en", "fr", "nb-NO"];
    let layouts: [fn(&str, &str) -> String; 2] = [
        |language, name| format!("{language}/{name}.json"),
        |language, name| format!("{name}.{language}.json"),
    ];
    for layout in layouts {
        let folder = tempfile::tempdir().unwrap();
        let mut listed = Vec::new();
        for language in languages {
            fs::create_dir(folder.path().join(language)).unwrap();
            let mut feeds = Vec::new();
            for name in own {
                let text = fs::read_to_string(plain.path().join(format!("{name}.json"))).unwrap();
                let text = text.replace("\"R9\"", "\"R1\"");
                let text = text.replace("\"en\"", &format!("\"{language}\""));
                let text = text.replace("Center", &format!("Center {language}"));
                let path = layout(language, name);
                fs::write(folder.path().join(&path), text).unwrap();
                feeds.push(format!(r#"{{"name":"{name}","url":"https://b.example/2/{path}"}}"#));
            }
            listed.push(format!(r#""{language}":{{"feeds":[{}]}}"#, feeds.join(",")));
        }
        let discovery = format!(
            r#"{{"last_updated":1767250000,"ttl":60,"version":"2.3","data":{{{}}}}}"#,
            listed.join(",")
        );
        fs::write(folder.path().join("gbfs.json"), discovery).unwrap();
        let check = |input: &str| {
            run(folder.path(), &["check", input, "--ignore", "outdated_file", "--fail-on", "info"])
        };
        for input in [".", "gbfs.json"] {
            let (code, out, error) = check(input);
            assert_eq!(code, Some(0), "{out}{error}");
            assert!(out.starts_with(&format!("{input} is GBFS: 13 files")), "{out}");
        }
        let removed_file = layout("fr", "system_regions");
        fs::remove_file(folder.path().join(&removed_file)).unwrap();
        let (code, out, _) = check(".");
        assert_eq!(code, Some(1), "{out}");
        assert!(out.contains("ERROR unreachable_file (once)"), "{out}");
        let line = out.lines().find(|line| line.contains("not in the folder")).unwrap();
        assert!(
            line.contains("fr/system_regions.json: ") && line.contains(&removed_file),
            "{line}"
        );
    }
}

#[test]
fn unrotated_vehicle_ids_are_found_by_the_previous_system() {
    let folder = tempfile::tempdir().unwrap();
    let bikes = |name: &str, lat: f64| {
        let text = format!(
            r#"{{"last_updated":1767250000,"ttl":60,"version":"2.3","data":{{"bikes":[
                {{"bike_id":"V1","lat":{lat},"lon":10.7,"is_reserved":false,"is_disabled":false}}]}}}}"#
        );
        fs::write(folder.path().join(name), text).unwrap();
    };
    bikes("before.json", 59.9);
    bikes("now.json", 59.95);
    let ignored = ["--ignore", "outdated_file"];
    let check =
        |more: &[&str]| run(folder.path(), &[&["check", "now.json"], &ignored[..], more].concat());
    let (code, out, error) = check(&["--previous", "before.json"]);
    assert_eq!(code, Some(0), "{out}{error}");
    assert!(out.contains("WARNING vehicle_id_kept_after_move (once)"), "{out}");
    assert!(out.contains("distance 5560") && out.contains("value \"V1\""), "{out}");
    let (_, out, _) = check(&["--previous", "now.json"]);
    assert!(!out.contains("vehicle_id_kept_after_move"), "{out}");
    fs::write(folder.path().join("gtfs.zip"), zip()).unwrap();
    let (code, _, error) = run(folder.path(), &["check", "gtfs.zip", "--previous", "now.json"]);
    assert_eq!(code, Some(2), "{error}");
    assert!(error.contains("--previous is only for GTFS-Realtime, SIRI and GBFS"), "{error}");
}

#[test]
fn siri_and_netex_are_checked_by_rules() {
    let folder = tempfile::tempdir().unwrap();
    let siri = r#"<Siri xmlns="http://www.siri.org.uk/siri" version="2.0"><ServiceDelivery>
        <VehicleMonitoringDelivery version="2.0"><ResponseTimestamp>2026-01-01T08:00:00Z</ResponseTimestamp>
        <VehicleActivity><RecordedAtTime>2026-01-01T07:59:00Z</RecordedAtTime>
        <ValidUntilTime>2026-01-01T08:05:00Z</ValidUntilTime><MonitoredVehicleJourney>
        <LineRef>L1</LineRef><VehicleLocation><Longitude>0</Longitude><Latitude>0</Latitude>
        </VehicleLocation><VehicleRef>V1</VehicleRef></MonitoredVehicleJourney></VehicleActivity>
        </VehicleMonitoringDelivery></ServiceDelivery></Siri>"#;
    fs::write(folder.path().join("vm.xml"), siri).unwrap();
    let (code, out, error) = run(folder.path(), &["check", "vm.xml"]);
    assert_eq!(code, Some(1), "{out}{error}");
    assert!(out.starts_with("vm.xml is SIRI: 1 vehicle"), "{out}");
    assert!(out.contains("ERROR location_near_origin (once)") && out.contains("V1"), "{out}");
    assert!(out.contains("INFO schedule_not_given (once)"), "{out}");
    let without_zone = siri.replace("07:59:00Z", "07:59:00").replace(">0</", ">10</");
    fs::write(folder.path().join("local.xml"), without_zone).unwrap();
    let (code, out, error) = run(folder.path(), &["check", "local.xml"]);
    assert_eq!(code, Some(0), "{out}{error}");
    assert!(out.contains("WARNING timestamp_without_zone (once)"), "{out}");
    let netex = r#"<PublicationDelivery xmlns="http://www.netex.org.uk/netex" version="1.1"><dataObjects>
        <ServiceFrame id="F1" version="1"><lines><Line id="L1" version="1"><Name>Harbour</Name>
        <TransportMode>bus</TransportMode><OperatorRef ref="O9" version="1"/></Line></lines></ServiceFrame>
        </dataObjects></PublicationDelivery>"#;
    fs::write(folder.path().join("lines.xml"), netex).unwrap();
    let (code, out, error) = run(folder.path(), &["check", "lines.xml"]);
    assert_eq!(code, Some(1), "{out}{error}");
    assert!(out.contains("ERROR unresolved_reference (once)") && out.contains("O9"), "{out}");
    let ignored = ["check", "lines.xml", "--ignore", "unresolved_reference"];
    assert_eq!(run(folder.path(), &ignored).0, Some(0));
}
