//! `lineside check` in an unattended build: the files that it leaves, and its exit codes.

use std::fs::{self, File};
use std::path::Path;

use serde_json::Value;

use super::check_command::{DAY, FILES, run, system, zip};
use crate::support::process::lineside;
use crate::support::site::Site;
use crate::support::timetable::message;

/// A truncated or missing report is not a success.
#[cfg(target_os = "linux")]
#[test]
fn a_failed_write_to_standard_output_exits_with_3() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("gtfs.zip"), zip()).unwrap();
    for format in ["text", "json", "html"] {
        let mut command = lineside(&["check", "gtfs.zip", "--date", DAY, "--fail-on", "never"]);
        command.args(["--format", format]).current_dir(folder.path());
        let full = File::options().write(true).open("/dev/full").unwrap();
        let ended = command.stdout(full).output().unwrap();
        let error = String::from_utf8(ended.stderr).unwrap();
        assert_eq!(ended.status.code(), Some(3), "{format}: {error}");
        assert!(error.contains("standard output cannot be written"), "{format}: {error}");
    }
}

/// Returns the names of a folder's files, sorted.
fn names(folder: &Path) -> Vec<String> {
    let mut names: Vec<String> = fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

#[test]
fn a_failed_check_replaces_the_earlier_report_with_its_reason() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    fs::write(at("gtfs.zip"), zip()).unwrap();
    let check = || run(folder.path(), &["check", "gtfs.zip", "--date", DAY, "--output", "report"]);
    assert_eq!(check().0, Some(1));
    fs::write(at("report/notes.txt"), "mine").unwrap();
    assert_eq!(names(&at("report")).len(), 6);
    for (body, told) in [(&b""[..], "it is empty"), (b"PK\x03\x04", "cannot be read")] {
        fs::write(at("gtfs.zip"), body).unwrap();
        let (code, _, error) = check();
        assert_eq!(code, Some(3), "{error}");
        assert_eq!(names(&at("report")), ["notes.txt", "system_errors.json"]);
        let old_report: Value =
            serde_json::from_slice(&fs::read(at("report/system_errors.json")).unwrap()).unwrap();
        let notice = &old_report["notices"][0];
        assert_eq!((&notice["code"], &notice["totalNotices"]), (&"i_o_error".into(), &1.into()));
        let message = notice["sampleNotices"][0]["message"].as_str().unwrap();
        assert!(message.contains(told) && error.contains(message), "{message} {error}");
    }
}

#[test]
fn foreign_files_in_the_output_folder_are_preserved() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    fs::create_dir(at("own")).unwrap();
    let own = ["report.json", "report.html", "places.json", "unread.json"];
    for name in own {
        fs::write(at("own").join(name), "mine").unwrap();
    }
    // Some files of a report are missing, so these are not ours, even next to our reason.
    for _ in 0..2 {
        assert_eq!(run(folder.path(), &["check", "none.zip", "--output", "own"]).0, Some(3));
    }
    fs::write(at("own/system_errors.json"), "{\"notices\": []}").unwrap();
    // All files are there, and one is the input.
    for input in ["own/places.json", "own"] {
        assert_eq!(run(folder.path(), &["check", input, "--output", "own"]).0, Some(3), "{input}");
    }
    for name in own {
        assert_eq!(fs::read_to_string(at("own").join(name)).unwrap(), "mine", "{name}");
    }
    assert_eq!(names(&at("own")).len(), 5);
}

#[test]
fn a_report_is_written_completely_or_not_at_all() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    fs::write(at("gtfs.zip"), zip()).unwrap();
    fs::create_dir_all(at("report/places.json.part")).unwrap();
    let arguments = ["check", "gtfs.zip", "--date", DAY, "--output", "report"];
    let (code, _, error) = run(folder.path(), &arguments);
    assert_eq!(code, Some(3), "{error}");
    assert!(error.contains("places.json cannot be written"), "{error}");
    assert_eq!(names(&at("report")), ["places.json.part", "system_errors.json"]);
    // Nothing remains of the previous report either.
    fs::remove_dir(at("report/places.json.part")).unwrap();
    assert_eq!(run(folder.path(), &arguments).0, Some(1));
    fs::create_dir(at("report/unread.json.part")).unwrap();
    assert_eq!(run(folder.path(), &arguments).0, Some(3));
    assert_eq!(names(&at("report")), ["system_errors.json", "unread.json.part"]);
}

#[test]
fn if_one_report_file_cannot_be_placed_none_is() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    fs::write(at("gtfs.zip"), zip()).unwrap();
    fs::create_dir_all(at("report/report.html")).unwrap();
    let check = || run(folder.path(), &["check", "gtfs.zip", "--date", DAY, "--output", "report"]);
    let (code, _, error) = check();
    assert_eq!(code, Some(3), "{error}");
    assert!(error.contains("report.html cannot be written: is a directory"), "{error}");
    assert_eq!(names(&at("report")), ["report.html", "system_errors.json"]);
    // A foreign file is not overwritten on the way.
    fs::write(at("report/report.json"), "mine").unwrap();
    assert_eq!(check().0, Some(3));
    assert_eq!(fs::read_to_string(at("report/report.json")).unwrap(), "mine");
    assert_eq!(names(&at("report")), ["report.html", "report.json", "system_errors.json"]);
}

/// A build publishes its report and its log.
#[tokio::test(flavor = "multi_thread")]
async fn secrets_in_an_address_appear_in_no_report_or_log() {
    let site = Site::default();
    let message = r#"{"header":{"gtfs_realtime_version":"2.0","timestamp":1781500000},"entity":[
        {"id":"1","vehicle":{"vehicle":{"id":"V1"},"position":{"latitude":0.2,"longitude":0.2}}}]}"#;
    site.put("/now.json?key=s3cret&line=4", message);
    let host = site.start().await.replace("http://", "");
    let folder = tempfile::tempdir().unwrap();
    let check = async |arguments: &[&str]| {
        let arguments: Vec<String> = arguments.iter().map(|it| (*it).to_owned()).collect();
        let at = folder.path().to_owned();
        let ran = tokio::task::spawn_blocking(move || {
            let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
            run(&at, &[&["check"], &*arguments].concat())
        });
        ran.await.unwrap()
    };
    let is_clean = |text: &str| !["s3cret", "pa55w", "zqx"].iter().any(|it| text.contains(it));
    let address = format!("http://zqx:pa55w@{host}/now.json?key=s3cret&line=4");
    let called = format!("http://***@{host}/now.json?key=***&line=4");
    for format in ["text", "json", "html"] {
        let (code, out, error) = check(&[&address, "--format", format, "--output", "report"]).await;
        assert!(code.is_some_and(|code| code < 2), "{error}");
        assert!(is_clean(&out) && is_clean(&error), "{out}{error}");
        assert!(format == "html" || out.contains(&called), "{out}");
    }
    for name in names(&folder.path().join("report")) {
        let text = fs::read_to_string(folder.path().join("report").join(&name)).unwrap();
        assert!(is_clean(&text), "{name}: {text}");
    }
    let (_, out, _) = check(&[&address, "--name", "North Lines"]).await;
    assert!(out.starts_with("North Lines is "), "{out}");
    // The same without a report.
    let none = address.replace("now", "none");
    fs::write(folder.path().join("now.json"), message).unwrap();
    for arguments in [
        &[&*none, "--output", "report"][..],
        &["now.json", "--static", &none],
        &[&address, "--ids", "netex"],
    ] {
        let (code, _, error) = check(arguments).await;
        assert!(code.is_some_and(|code| code >= 2), "{arguments:?}: {error}");
        assert!(is_clean(&error) && error.contains("key=***"), "{error}");
    }
    let reason = fs::read_to_string(folder.path().join("report/system_errors.json")).unwrap();
    assert!(is_clean(&reason) && reason.contains("none.json"), "{reason}");
}

/// A line that begins like this is a command to the build system.
#[test]
fn input_names_are_escaped_in_the_log() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("gtfs.zip"), zip()).unwrap();
    let name = "no\n::error::x\u{1b}[2J";
    fs::write(folder.path().join(name), "fail_on = \n").unwrap();
    let missing = format!("{name}.zip");
    for arguments in [
        &["check", &*missing][..],
        &["check", name],
        &["check", "gtfs.zip", "--static", &missing],
        &["check", "gtfs.zip", "--config", &missing],
        &["check", "gtfs.zip", "--config", name],
        &["check", "gtfs.zip", "--output", name],
        &["check", "gtfs.zip", "--ignore", name],
        &["convert", &missing, "--to", "gtfs"],
        &["serve", "--config", &missing],
        &["serve", "--config", name],
    ] {
        let (code, _, error) = run(folder.path(), arguments);
        assert!(code.is_some_and(|code| code >= 2), "{arguments:?}: {error}");
        let is_ours = |line: &str| line.starts_with("lineside: ");
        assert!(error.lines().all(is_ours) && !error.contains('\u{1b}'), "{arguments:?}: {error}");
        assert!(error.contains(r"no\n::error::x"), "{arguments:?}: {error}");
    }
}

#[test]
fn notes_outside_the_json_report_go_to_standard_error() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("gtfs.zip"), zip()).unwrap();
    let check = |more: &[&str]| {
        let arguments = ["check", "gtfs.zip", "--date", DAY, "--format", "json"];
        run(folder.path(), &[&arguments, more].concat())
    };
    let (_, out, error) = check(&[]);
    assert!(serde_json::from_str::<Value>(&out).is_ok() && error.is_empty(), "{error}");
    let (_, out, error) = check(&["--ignore", "foreign_key_violation"]);
    assert!(serde_json::from_str::<Value>(&out).is_ok());
    assert_eq!(error, "1 code is ignored: foreign_key_violation (once).\n");
}

#[test]
fn options_for_schedules_warn_about_having_no_effect_elsewhere() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("message.pb"), message(1_700_000_000, Vec::new())).unwrap();
    fs::write(folder.path().join("gtfs.zip"), zip()).unwrap();
    let (_, _, error) =
        run(folder.path(), &["check", "message.pb", "--date", DAY, "--country", "NO"]);
    for name in ["--date", "--country"] {
        let told = format!("lineside: {name} has no effect: only rules for schedules use it\n");
        assert!(error.contains(&told), "{error}");
    }
    fs::write(folder.path().join("random.bin"), [0x9d; 64]).unwrap();
    let (code, _, error) = run(folder.path(), &["check", "random.bin", "--date", DAY]);
    assert!(code == Some(3) && !error.contains("--date"), "{error}");
    let (_, _, error) =
        run(folder.path(), &["check", "gtfs.zip", "--date", DAY, "--country", "NO"]);
    assert_eq!(error, "");
}

#[test]
fn a_folder_with_gtfs_tables_is_a_schedule_despite_other_files() {
    let folder = tempfile::tempdir().unwrap();
    for (name, text) in FILES {
        fs::write(folder.path().join(name), text).unwrap();
    }
    system(folder.path());
    let (code, out, error) = run(folder.path(), &["check", ".", "--date", DAY]);
    assert_eq!(code, Some(1), "{error}");
    assert!(out.contains("is GTFS: 1 agency") && out.contains("foreign_key_violation"), "{out}");
    // A single optional table does not make a folder a schedule.
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("levels.txt"), "level_id,level_index\nL,0\n").unwrap();
    system(folder.path());
    let (_, out, error) = run(folder.path(), &["check", ".", "--date", DAY]);
    assert!(out.contains("is GBFS"), "{out}{error}");
}

#[test]
fn a_file_that_is_not_a_netex_publication_is_reported_and_not_checked() {
    let folder = tempfile::tempdir().unwrap();
    let netex = r#"<PublicationDelivery xmlns="http://www.netex.org.uk/netex" version="1.1">
        <dataObjects/></PublicationDelivery>"#;
    fs::write(folder.path().join("a.xml"), netex).unwrap();
    let other = netex.replace("PublicationDelivery", "Notes");
    let other = other.replace("<dataObjects/>", r#"<Line id="L" version="1"/>"#);
    fs::write(folder.path().join("b.xml"), other).unwrap();
    let (code, out, error) = run(folder.path(), &["check", ".", "--date", DAY]);
    assert_eq!(code, Some(1), "{out}{error}");
    assert!(out.contains("ERROR not_netex (once)"), "{out}");
    assert_eq!(out.matches("b.xml").count(), 1, "{out}");
}
