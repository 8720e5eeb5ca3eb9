//! The messages of `lineside check` tell a producer what to do.

use std::fs;
use std::io::Write as _;
use std::path::Path;

use flate2::Compression;
use flate2::write::GzEncoder;
use serde_json::Value;

use super::check_command::{DAY, FILES, run, zip, zip_of};

/// Returns the schedule with another text in one file.
fn with(name: &str, text: &str) -> Vec<u8> {
    zip_of(&FILES.map(|(other, own)| (other, if other == name { text } else { own })))
}

#[test]
fn skipped_rows_are_reported_with_the_rules_that_could_not_run() {
    let folder = tempfile::tempdir().unwrap();
    let routes = "route_id,agency_id,route_short_name,route_long_name,route_type,route_color\n\
                  R1,A1,1,Harbour to Hall,3,00FF00\nR2,A1,2,Hall to Harbour,3,ZZZZZZ\n";
    let bad = with("routes.txt", routes);
    fs::write(folder.path().join("gtfs.zip"), bad).unwrap();
    let arguments = ["check", "gtfs.zip", "--date", DAY, "--output", "report"];
    let (code, out, error) = run(folder.path(), &arguments);
    assert_eq!(code, Some(1), "{out}{error}");
    assert!(out.contains("1 agency, 1 readable route, 1 trip"), "{out}");
    let message = "1 unreadable row in routes.txt was skipped, so ";
    assert!(out.contains(message) && out.contains("rules could not run"));
    let read = |name: &str| fs::read_to_string(folder.path().join("report").join(name)).unwrap();
    assert!(read("report.html").contains(message), "{}", read("report.html"));
    let unread: Value = serde_json::from_str(&read("unread.json")).unwrap();
    assert_eq!((&unread[0]["filename"], &unread[0]["rows"]), (&"routes.txt".into(), &1.into()));
    assert!(!read("report.json").contains("unread"), "it has the reference's shape");
    // A fully read schedule causes no mention of unread data.
    fs::write(folder.path().join("gtfs.zip"), zip()).unwrap();
    let (_, out, _) = run(folder.path(), &arguments);
    assert!(!out.contains("readable") && !out.contains("skipped"), "{out}");
    assert_eq!(read("unread.json"), "[]");
}

#[test]
fn a_schedule_in_utf_16_is_reported_with_advice() {
    let folder = tempfile::tempdir().unwrap();
    let mut writer = zip::ZipWriter::new(std::io::Cursor::new(Vec::new()));
    for (name, text) in FILES {
        writer.start_file(name, zip::write::SimpleFileOptions::default()).unwrap();
        let wide = format!("\u{FEFF}{text}");
        let wide: Vec<u8> = wide.encode_utf16().flat_map(u16::to_le_bytes).collect();
        writer.write_all(&wide).unwrap();
    }
    fs::write(folder.path().join("gtfs.zip"), writer.finish().unwrap().into_inner()).unwrap();
    let (code, out, error) = run(folder.path(), &["check", "gtfs.zip", "--date", DAY]);
    assert_eq!(code, Some(1), "{out}{error}");
    assert!(out.contains("stops.txt is in UTF-16 and was skipped: save it as UTF-8"), "{out}");
    // The encoding is the cause of all following errors, so it comes first.
    assert!(out.find("save it as UTF-8") < out.find("\nERROR "), "{out}");
}

#[test]
fn unreadable_zones_are_reported() {
    let folder = tempfile::tempdir().unwrap();
    let zones = [&FILES[..], &[("locations.geojson", "zone")]].concat();
    fs::write(folder.path().join("gtfs.zip"), zip_of(&zones)).unwrap();
    let (code, out, error) = run(folder.path(), &["check", "gtfs.zip", "--date", DAY]);
    assert_eq!(code, Some(1), "{out}{error}");
    let message = "unreadable zones of locations.geojson were skipped, so 3 rules";
    assert!(out.contains(message), "{out}");
}

#[test]
fn an_unsupported_folder_is_described_by_its_contents() {
    let folder = tempfile::tempdir().unwrap();
    let cases: [(&[&str], &str); 3] = [
        (&[], "no GBFS file such as gbfs.json: it is empty"),
        (&["readme.md"], ": it has readme.md"),
        (
            &["a.json", "gbfs.3.0.json"],
            "if gbfs.3.0.json lists the files of a system, give that file",
        ),
    ];
    for (at, (names, message)) in cases.into_iter().enumerate() {
        let name = format!("folder{at}");
        fs::create_dir(folder.path().join(&name)).unwrap();
        for file in names {
            fs::write(folder.path().join(&name).join(file), "{}").unwrap();
        }
        let (code, out, error) = run(folder.path(), &["check", &name]);
        assert_eq!((code, out.as_str()), (Some(3), ""), "{name}: {error}");
        assert!(error.contains(&format!("{name}: this folder has no GTFS table")), "{error}");
        assert!(error.contains(message), "{message}: {error}");
    }
}

/// Returns the zip, marked as encrypted.
fn encrypted() -> Vec<u8> {
    let mut zip = zip();
    for (mark, flags) in [(b"PK\x03\x04", 6), (b"PK\x01\x02", 8)] {
        let at: Vec<usize> = (0..zip.len() - 4).filter(|&at| zip[at..at + 4] == *mark).collect();
        at.into_iter().for_each(|at| zip[at + flags] |= 1);
    }
    zip
}

/// Asserts that a file cannot be checked, with an error that names the reason.
fn cannot_be_checked(folder: &Path, name: &str, body: &[u8], message: &str) {
    fs::write(folder.join(name), body).unwrap();
    let (code, out, error) = run(folder, &["check", name]);
    assert_eq!((code, out.as_str()), (Some(3), ""), "{name}: {error}");
    assert!(error.contains(message), "{name}: {error}");
}

#[test]
fn an_unreadable_zip_is_reported_with_advice() {
    let folder = tempfile::tempdir().unwrap();
    let inner = String::from_utf8_lossy(&zip()).into_owned();
    let cases = [
        ("enc.zip", encrypted(), "encrypted"),
        (
            "zips.zip",
            zip_of(&[("north.zip", &inner), ("readme.md", "stops.txt")]),
            "it has north.zip",
        ),
    ];
    for (name, body, message) in cases {
        cannot_be_checked(folder.path(), name, &body, message);
    }
}

#[test]
fn a_contradictory_command_exits_with_2_before_any_check() {
    let folder = tempfile::tempdir().unwrap();
    let siri = r#"<Siri xmlns="http://www.siri.org.uk/siri" version="2.0"><ServiceDelivery>
        <VehicleMonitoringDelivery version="2.0"/></ServiceDelivery></Siri>"#;
    let json = r#"{"header":{"gtfsRealtimeVersion":"2.0","timestamp":"1781500000"},"entity":[]}"#;
    fs::write(folder.path().join("vm.xml"), siri).unwrap();
    fs::write(folder.path().join("rt.json"), json).unwrap();
    fs::write(folder.path().join("afile"), "").unwrap();
    let cases: [(&[&str], &str); 6] = [
        (&["none.zip", "--output", "afile"], "--output: afile is a file"),
        (&["none.zip", "--output", "afile/report"], "--output: afile is a file"),
        (&["-", "--static", "-"], "can be standard input"),
        (&["none.zip", "--memory", "0"], "above 0"),
        (&["vm.xml", "--ids", "prefix:x"], "give the schedule with --static"),
        (
            &["rt.json", "--previous", "vm.xml"],
            "--previous vm.xml is SIRI, but the message is GTFS-Realtime",
        ),
    ];
    for (arguments, message) in cases {
        let (code, out, error) = run(folder.path(), &[&["check"], arguments].concat());
        assert_eq!((code, out.as_str()), (Some(2), ""), "{arguments:?}: {error}");
        assert!(error.contains(message), "{message}: {error}");
    }
}

#[test]
fn an_unsupported_file_is_described_with_advice() {
    let folder = tempfile::tempdir().unwrap();
    let mut gzip = GzEncoder::new(Vec::new(), Compression::fast());
    gzip.write_all(&zip()).unwrap();
    let cases: [(&str, Vec<u8>, &str); 4] = [
        ("empty.zip", Vec::new(), "empty.zip: it is empty"),
        ("page.html", b"<!doctype html><p>Log in".to_vec(), "page.html: this is a web page"),
        ("gtfs.zip.gz", gzip.finish().unwrap(), "unpack it with gunzip"),
        ("stops.txt", FILES[1].1.as_bytes().to_vec(), "a single GTFS table (stops.txt"),
    ];
    for (name, body, message) in cases {
        cannot_be_checked(folder.path(), name, &body, message);
    }
}

#[test]
fn a_zip_bomb_is_refused_without_being_unpacked() {
    let folder = tempfile::tempdir().unwrap();
    let rows = |n: usize| with("stops.txt", &format!("stop_id,stop_name\n{}", "S1,A\n".repeat(n)));
    let told = "bomb.zip: stops.txt: its decompressed size far exceeds its compressed size";
    cannot_be_checked(folder.path(), "bomb.zip", &rows(8 << 20), told);
    fs::write(folder.path().join("rows.zip"), rows(1 << 20)).unwrap();
    let (code, _, error) = run(folder.path(), &["check", "rows.zip", "--memory", "16MiB"]);
    assert_eq!(code, Some(3), "{error}");
    assert!(error.contains("of memory, and --memory allows 16MiB"), "{error}");
    let (code, _, error) = run(folder.path(), &["check", "rows.zip", "--memory", "much"]);
    assert_eq!(code, Some(2), "{error}");
    // The schedule of a message is limited as well.
    let json = r#"{"header":{"gtfsRealtimeVersion":"2.0","timestamp":"1781500000"},"entity":[]}"#;
    fs::write(folder.path().join("trips.json"), json).unwrap();
    let arguments = ["check", "trips.json", "--static", "rows.zip", "--memory", "16MiB"];
    let (code, _, error) = run(folder.path(), &arguments);
    assert_eq!(code, Some(3), "{error}");
    assert!(error.contains("the schedule: it would take about"), "{error}");
    // Formats that are parsed into trees are limited as well.
    let stations = format!(
        r#"{{"last_updated":1,"ttl":0,"version":"2.3","data":{{"stations":[{}0]}}}}"#,
        "{},".repeat(1 << 15)
    );
    fs::write(folder.path().join("station_status.json"), stations).unwrap();
    let netex = r#"<PublicationDelivery xmlns="http://www.netex.org.uk/netex" version="1.1"/>"#;
    fs::write(folder.path().join("lines.xml"), netex.to_owned() + &" ".repeat(1 << 10)).unwrap();
    for (name, memory) in [("station_status.json", "16MiB"), ("lines.xml", "1KiB")] {
        let (code, _, error) = run(folder.path(), &["check", name, "--memory", memory]);
        assert_eq!(code, Some(3), "{name}: {error}");
        assert!(error.contains(&format!("--memory allows {memory}")), "{error}");
    }
}

#[test]
fn service_days_over_many_years_stay_within_the_memory_limit() {
    let folder = tempfile::tempdir().unwrap();
    let journey = |n: u32| {
        format!(
            r#"<ServiceJourney id="J{n}"><validityConditions><ValidBetween><FromDate>1900-01-01</FromDate>
            <ToDate>{}-06-01</ToDate></ValidBetween></validityConditions><LineRef ref="L"/><calls>
            <Call><ScheduledStopPointRef ref="A"/><Departure><Time>08:00:00</Time></Departure></Call>
            <Call><ScheduledStopPointRef ref="B"/><Arrival><Time>08:10:00</Time></Arrival></Call></calls></ServiceJourney>"#,
            2_000 + n
        )
    };
    let content: String = (0..300).map(journey).collect();
    let netex = format!(
        r#"<PublicationDelivery xmlns="http://www.netex.org.uk/netex" version="1.1">
        <Line id="L"><TransportMode>bus</TransportMode></Line>{content}</PublicationDelivery>"#
    );
    fs::write(folder.path().join("years.xml"), netex).unwrap();
    let check = |memory| run(folder.path(), &["check", "years.xml", "--memory", memory]);
    let (code, _, error) = check("2MiB");
    assert_eq!(code, Some(3), "{error}");
    assert!(error.contains("the service days of the journeys need more than"), "{error}");
    let (code, _, error) = check("64MiB");
    assert_ne!(code, Some(3), "{error}");
}

#[test]
fn ignored_codes_are_mentioned_and_an_empty_list_ignores_none() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("gtfs.zip"), zip()).unwrap();
    let check =
        |more: &[&str]| run(folder.path(), &[&["check", "gtfs.zip", "--date", DAY], more].concat());
    let (code, out, error) = check(&["--ignore", "foreign_key_violation,unknown_file,E001"]);
    assert_eq!(code, Some(0), "{out}{error}");
    let message = "No other findings. 2 codes are ignored: foreign_key_violation (once), unknown_file (once).";
    assert!(out.contains(message), "{out}");
    let (code, out, error) = check(&["--ignore", ""]);
    assert_eq!(code, Some(1), "{out}{error}");
    assert!(out.contains("1 error, 0 warnings, 1 info.\n"), "{out}");
    let (_, out, _) = check(&["--ignore", "unknown_file", "--format", "html"]);
    assert!(out.contains("1 code is ignored: unknown_file (once)."), "{out}");
}

#[test]
fn netex_files_are_checked_despite_a_truncated_one() {
    let folder = tempfile::tempdir().unwrap();
    let file = |inside: &str| {
        format!(
            r#"<PublicationDelivery xmlns="http://www.netex.org.uk/netex" version="1.1"><dataObjects>
            <ServiceFrame id="F1" version="1"><lines>{inside}</lines></ServiceFrame></dataObjects></PublicationDelivery>"#
        )
    };
    let line = |id: &str, operator: &str| {
        format!(
            r#"<Line id="{id}" version="1"><Name>Harbour</Name><TransportMode>bus</TransportMode>{operator}</Line>"#
        )
    };
    let sound = file(&line("L1", r#"<OperatorRef ref="O9" version="1"/>"#));
    let bad = file(&format!("{0}{0}", line("L2", "")));
    let torn = &sound[..sound.len() / 2];
    let zip = zip_of(&[("a.xml", &sound), ("b.xml", torn), ("c.xml", &bad), ("d.xml", &file(""))]);
    fs::write(folder.path().join("lines.zip"), zip).unwrap();
    let (code, out, error) = run(folder.path(), &["check", "lines.zip"]);
    assert_eq!(code, Some(1), "{out}{error}");
    assert!(
        out.contains("ERROR unreadable_file (once)") && out.contains("- b.xml: message"),
        "{out}"
    );
    assert!(out.contains("duplicate_id") && out.contains("c.xml"), "{out}");
    // References may lead into the unreadable file.
    assert!(!out.contains("unresolved_reference"), "{out}");
    fs::write(folder.path().join("torn.zip"), zip_of(&[("a.xml", torn), ("b.xml", torn)])).unwrap();
    let (code, _, error) = run(folder.path(), &["check", "torn.zip"]);
    assert_eq!(code, Some(3), "{error}");
    assert!(error.contains("can be read: a.xml: ") && error.contains("; b.xml: "), "{error}");
    // A single file is reported by its own name.
    fs::write(folder.path().join("one.xml"), torn).unwrap();
    let (code, _, error) = run(folder.path(), &["check", "one.xml"]);
    assert_eq!(code, Some(3), "{error}");
    assert!(error.contains("one.xml: ") && !error.contains("publication.xml"), "{error}");
    fs::write(folder.path().join("two.xml"), bad).unwrap();
    let (_, out, error) = run(folder.path(), &["check", "two.xml"]);
    assert!(out.contains("- two.xml") && !out.contains("publication.xml"), "{out}{error}");
}
