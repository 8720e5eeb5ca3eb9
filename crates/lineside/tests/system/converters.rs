//! Feeds in foreign formats, and the operator's converter programs for them.

use std::io::{Cursor, Write as _};
use std::path::Path;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use lineside_testkit::{
    wait_for, wait_for_body, wait_for_freshness, wait_for_json, wait_for_status, wait_until_ready,
};
use serde_json::Value;
use zip::write::SimpleFileOptions;

use crate::stopping::STOP_MAX;
use crate::support::http::{get, get_json};
use crate::support::process::{ServerProcess, lineside};
use crate::support::repository;
use crate::support::site::{configure, serve};
use crate::support::timetable::Lines;

/// Decodes a base64 schedule, and writes a warning.
const UNPACK: &str = "base64 -d < \"$1\" > \"$2\" && echo 'two stops have no name' >&2\n";
/// Always fails with an error message.
const BROKEN: &str = "echo 'Traceback: much' >&2; echo 'no such column: delay' >&2; exit 3\n";

const SCHEDULE: &str = "\
    [[converter]]\nfrom = \"packed\"\nto = \"gtfs\"\ncommand = [\"sh\", \"{config_dir}/unpack.sh\", \"{input}\", \"{output}\"]\n\
    [[feed]]\nid = \"town\"\nurl = \"town.b64\"\nformat = \"packed\"\npoll = \"1s\"\n";
const DELAYS: &str = "\
    [[converter]]\nfrom = \"delays\"\nto = \"gtfs-rt\"\ncommand = [\"awk\", \"-f\", \"{config_dir}/delays.awk\"]\n\
    [[feed]]\nid = \"delays\"\nurl = \"delays.txt\"\nformat = \"delays\"\nstatic = \"town\"\npoll = \"1s\"\n";

/// Returns the tables of a folder as a zip with this comment, in base64.
fn packed(folder: &Path, comment: &str) -> String {
    let mut archive = zip::ZipWriter::new(Cursor::new(Vec::new()));
    archive.set_comment(comment).unwrap();
    for table in std::fs::read_dir(folder).unwrap() {
        let table = table.unwrap();
        let name = table.file_name().into_string().unwrap();
        archive.start_file(name, SimpleFileOptions::default()).unwrap();
        archive.write_all(&std::fs::read(table.path()).unwrap()).unwrap();
    }
    BASE64_STANDARD.encode(archive.finish().unwrap().into_inner())
}

fn unpacked(text: &str) -> Vec<u8> {
    BASE64_STANDARD.decode(text).unwrap()
}

/// Returns the program in the documentation.
fn program_of_the_paper() -> String {
    let document =
        std::fs::read_to_string(repository().join("docs/operate/converters.md")).unwrap();
    let (_, rest) = document.split_once("```awk\n").unwrap();
    rest.split_once("```").unwrap().0.to_owned()
}

/// Replaces a file atomically, because it is polled meanwhile.
fn put(folder: &Path, name: &str, text: &str) {
    std::fs::write(folder.join("new"), text).unwrap();
    std::fs::rename(folder.join("new"), folder.join(name)).unwrap();
}

async fn body(url: &str) -> Vec<u8> {
    let reply = get(url).await;
    assert_eq!(reply.status(), 200, "{url}");
    reply.bytes().await.unwrap().to_vec()
}

/// Waits until a trip leaves the stop `s2` this late.
async fn wait_for_delay(url: &str, trip: &str, seconds: i64) {
    let board = format!("{url}/api/v1/stops/town/s2/departures");
    let is_met = |item: &Value| item["trip_id"] == trip && item["delay"] == seconds;
    wait_for_json(&board, |board| board["items"].as_array().unwrap().iter().any(is_met)).await;
}

#[tokio::test]
async fn a_converted_feed_is_served_and_keeps_its_last_good_bytes() {
    let folder = tempfile::tempdir().unwrap();
    let folder_path = folder.path();
    Lines::write(&folder_path.join("tables"));
    let first = packed(&folder_path.join("tables"), "first");
    put(folder_path, "town.b64", &first);
    put(folder_path, "unpack.sh", UNPACK);
    put(folder_path, "delays.txt", "a2;5\nnonsense\n");
    put(folder_path, "delays.awk", &program_of_the_paper());
    let server = serve(folder_path, &format!("{SCHEDULE}{DELAYS}")).await;
    let url = &server.url;

    // The feed is served in both its converted and its original form.
    let (zip, own) = (format!("{url}/gtfs/town.zip"), format!("{url}/proxy/town"));
    wait_for_status(&zip, 200).await;
    assert_eq!(body(&zip).await, unpacked(&first));
    wait_for_body(&own, first.as_bytes()).await;
    wait_for_delay(url, "a2", 300).await;
    assert_eq!(body(&format!("{url}/proxy/delays")).await, b"a2;5\nnonsense\n");
    let town = get_json(&format!("{url}/api/v1/feeds/town")).await;
    assert_eq!((&town["format"], &town["state"]), (&"gtfs".into(), &"ok".into()), "{town}");
    let has_detail = |feed: &Value, what: &str| {
        let samples = feed["problem_samples"].as_array().unwrap();
        samples.iter().any(|it| it["code"] == "converter_message" && it["detail"] == what)
    };
    assert!(has_detail(&town, "two stops have no name"), "{town}");
    let delays = get_json(&format!("{url}/api/v1/feeds/delays")).await;
    assert!(has_detail(&delays, "line 2: expected trip;minutes, not nonsense"), "{delays}");
    assert_eq!(delays["entities"], 1, "{delays}");
    let page = get(&format!("{url}/feeds/town")).await.text().await.unwrap();
    assert!(page.contains("converted from packed"), "{page}");

    // New bytes on which the programs fail leave the old ones, and the reason is public.
    let second = packed(&folder_path.join("tables"), "second");
    put(folder_path, "unpack.sh", BROKEN);
    put(folder_path, "town.b64", &second);
    put(folder_path, "delays.awk", "END { print \"this is no real time\" }\n");
    put(folder_path, "delays.txt", "a2;6\n");
    for feed in ["town", "delays"] {
        wait_for_freshness(&format!("{url}/proxy/{feed}"), "stale; reason=convert").await;
    }
    assert_eq!((body(&zip).await, body(&own).await), (unpacked(&first), first.clone().into()));
    wait_for_delay(url, "a2", 300).await;
    let town = get_json(&format!("{url}/api/v1/feeds/town")).await;
    let error = &town["last_error"];
    assert_eq!(error["code"], "convert", "{town}");
    let expected_message =
        "the converter from packed to gtfs ended with exit code 3: no such column: delay";
    assert_eq!(
        (&error["detail"], town["state"].as_str()),
        (&expected_message.into(), Some("stale"))
    );
    assert_eq!(error["first_bytes"], "Traceback: much\nno such column: delay\n");
    let delays = get_json(&format!("{url}/api/v1/feeds/delays")).await;
    let detail = delays["last_error"]["detail"].as_str().unwrap();
    assert!(detail.contains("to gtfs-rt cannot be used: "), "{detail}");
    let page = get(&format!("{url}/feeds/town")).await.text().await.unwrap();
    assert!(page.contains("Traceback: much") && page.contains(expected_message), "{page}");

    // The old bytes also survive a crash, before the programs can run again.
    server.stop("-KILL");
    let config = folder_path.join("lineside.toml");
    let server = ServerProcess::start(&["serve", "--config", config.to_str().unwrap()]);
    wait_until_ready(&server.url).await;
    let url = &server.url;
    let (zip, own) = (format!("{url}/gtfs/town.zip"), format!("{url}/proxy/town"));
    assert_eq!((body(&zip).await, body(&own).await), (unpacked(&first), first.into()));
    wait_for_freshness(&own, "stale; reason=convert").await;
    wait_for_delay(url, "a2", 300).await;

    // Repaired programs convert the new bytes.
    put(folder_path, "unpack.sh", UNPACK);
    put(folder_path, "delays.awk", &program_of_the_paper());
    wait_for_body(&zip, &unpacked(&second)).await;
    wait_for_body(&own, second.as_bytes()).await;
    wait_for_delay(url, "a2", 360).await;
    server.stop("-TERM");
}

#[tokio::test]
async fn a_hanging_converter_blocks_nothing_else() {
    let folder = tempfile::tempdir().unwrap();
    let folder_path = folder.path();
    Lines::write(&folder_path.join("tables"));
    put(folder_path, "town.b64", &packed(&folder_path.join("tables"), "first"));
    put(folder_path, "unpack.sh", UNPACK);
    let stuck = format!("echo $$ >> {}/begun; exec sleep 1000\n", folder_path.display());
    put(folder_path, "stuck.sh", &stuck);
    let server = serve(folder_path, SCHEDULE).await;
    let url = &server.url;
    let zip = format!("{url}/gtfs/town.zip");
    wait_for_status(&zip, 200).await;

    // A program hangs from its first poll on, and the schedule's program is replaced meanwhile.
    let real_time = "[[converter]]\nfrom = \"stuck\"\nto = \"gtfs-rt\"\ntimeout = \"1h\"\n\
        command = [\"sh\", \"{config_dir}/stuck.sh\"]\n\
        [[feed]]\nid = \"stuck\"\nurl = \"town.b64\"\nformat = \"stuck\"\nstatic = \"town\"\n";
    let has_begun = async |times: usize| {
        let count_runs = async || {
            let text = std::fs::read_to_string(folder_path.join("begun")).unwrap_or_default();
            if text.lines().count() == times { Ok(text) } else { Err(text) }
        };
        wait_for(format_args!("it began {times} times"), count_runs).await
    };
    configure(folder_path, &format!("{SCHEDULE}{real_time}"));
    let first = has_begun(1).await;
    let other = packed(&folder_path.join("tables"), "by another program");
    std::fs::write(folder_path.join("other.zip"), unpacked(&other)).unwrap();
    let command = "[\"cat\", \"{config_dir}/other.zip\"]";
    let (config_head, rest) = SCHEDULE.split_once("[\"sh\"").unwrap();
    let (_, rest) = rest.split_once("]\n").unwrap();
    let renamed = real_time.replace("[[feed]]\n", "[[feed]]\nname = \"Stuck\"\n");
    configure(folder_path, &format!("{config_head}{command}\n{rest}{renamed}"));
    wait_for_body(&zip, &unpacked(&other)).await;
    let page = get(&format!("{url}/api/v1/stops/town/s2/departures")).await;
    assert_eq!(page.status(), 200);

    // The changed program was ended and restarted; the last run ends with the server.
    let both = has_begun(2).await;
    let (status, took) = server.stop("-TERM");
    assert!(status.success() && took < STOP_MAX, "{status} after {took:?}");
    assert!(both.starts_with(&first));
    for id in both.lines() {
        let is_gone = async || {
            let state = std::fs::read_to_string(format!("/proc/{id}/stat")).unwrap_or_default();
            if state.contains("(sleep) S") || state.contains("(sh) ") { Err(state) } else { Ok(()) }
        };
        wait_for(format_args!("process {id} has ended"), is_gone).await;
    }
}

#[test]
fn a_missing_program_is_reported_by_file_and_key() {
    let folder = tempfile::tempdir().unwrap();
    let missing = SCHEDULE.replace("\"sh\"", "\"./unpack\"");
    let config = configure(folder.path(), &missing);
    let checked =
        lineside(&["serve", "--check", "--config", config.to_str().unwrap()]).output().unwrap();
    assert!(checked.status.success());
    let stderr = String::from_utf8(checked.stderr).unwrap();
    let program = folder.path().join("unpack");
    let expect =
        format!("lineside.toml, converter[0].command: {program:?} cannot be run: No such file");
    assert!(stderr.contains(&expect), "{stderr}");
}
