//! The command line, as people and scripts use it.

use std::fs;
use std::process::{Child, Command, Output};
use std::sync::{Arc, Mutex};

use lineside_testkit::wait_for;
use tokio::net::{TcpListener, TcpStream};

use crate::support::process::{ServerProcess, lineside};
use crate::support::shared_demo;
use crate::support::site::Site;

fn run(arguments: &[&str]) -> (Option<i32>, String, String) {
    let Output { status, stdout, stderr } = lineside(arguments).output().unwrap();
    (status.code(), String::from_utf8(stdout).unwrap(), String::from_utf8(stderr).unwrap())
}

/// Runs a command, asserts its exit code, and returns its output.
#[track_caller]
fn check(arguments: &[&str], code: i32) -> String {
    let (got, out, error) = run(arguments);
    assert_eq!(got, Some(code), "{arguments:?}\n{out}\n{error}");
    out + &error
}

/// A command that runs until it is stopped; killed if a test leaves it behind.
struct RunningServer {
    child: Child,
    /// The folder with the file of its output.
    folder: tempfile::TempDir,
}

impl RunningServer {
    fn start(mut command: Command) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let out = fs::File::create(folder.path().join("said")).unwrap();
        let child = command.stdout(out.try_clone().unwrap()).stderr(out).spawn().unwrap();
        Self { child, folder }
    }

    fn output(&self) -> String {
        fs::read_to_string(self.folder.path().join("said")).unwrap()
    }

    /// Waits until its output satisfies `is_met`.
    async fn wait_for_output(&self, what: &str, is_met: impl Fn(&str) -> bool) {
        let read_output = async || {
            let output = self.output();
            if is_met(&output) { Ok(()) } else { Err(output) }
        };
        wait_for(what, read_output).await;
    }

    /// Ends the command by a signal, asserts a clean exit, and returns its output.
    fn end(mut self, signal: &str) -> String {
        let id = self.child.id().to_string();
        assert!(Command::new("kill").args([signal, &id]).status().unwrap().success());
        assert!(self.child.wait().unwrap().success(), "it ends well when it is asked to");
        self.output()
    }
}

impl Drop for RunningServer {
    fn drop(&mut self) {
        // The process is gone already if the test ended it.
        _ = self.child.kill();
        _ = self.child.wait();
    }
}

fn repository() -> String {
    concat!(env!("CARGO_MANIFEST_DIR"), "/../..").to_owned()
}

#[test]
fn help_lists_every_documented_command_and_option() {
    let help = check(&["--help"], 0);
    for word in ["demo", "serve", "check", "convert", "watch", "load", "profile"] {
        assert!(help.contains(word), "{word}: {help}");
    }
    let demo = check(&["demo", "--help"], 0);
    for option in ["--port", "--seed", "--speed", "--vehicles", "--fault", "--data-dir"] {
        assert!(demo.contains(option), "{option}: {demo}");
    }
    let serve = check(&["serve", "--help"], 0);
    for option in ["--config", "--feed", "--check"] {
        assert!(serve.contains(option), "{option}: {serve}");
    }
    assert!(check(&["watch", "--help"], 0).contains("--json"));
    let checking = check(&["check", "--help"], 0);
    for option in
        ["--date", "--country", "--format", "--output", "--fail-on", "--ignore", "--config"]
    {
        assert!(checking.contains(option), "{option}: {checking}");
    }
    let convert = check(&["convert", "--help"], 0);
    for option in ["--to", "--static", "--output", "--report"] {
        assert!(convert.contains(option), "{option}: {convert}");
    }
    for input in
        ["GTFS (a zip, or a folder", "NeTEx (an XML file", "SIRI in XML", "gbfs.json", "256 MiB"]
    {
        assert!(convert.contains(input), "{input}: {convert}");
    }
    let profile = check(&["profile", "--help"], 0);
    for option in ["--seconds", "--output"] {
        assert!(profile.contains(option), "{option}: {profile}");
    }
    assert!(check(&["--version"], 0).starts_with("lineside "));
}

#[test]
fn wrong_usage_exits_with_2() {
    for arguments in [
        &["fly"] as &[&str],
        &["serve", "--fed", "x"],
        &["serve", "lineside.toml"],
        &["serve", "--config", "/nowhere/lineside.toml"],
        &["serve", "--feed", "ftp://example.org/x"],
        &["serve", "--feed", "a=/x", "--feed", "a=/y", "--check"],
        &["demo", "--fault", "city:flood@1s+1s"],
        &["demo", "--fault", "nothing:hang@1s+1s"],
        &["demo", "--speed", "0"],
        &["watch"],
        &["check"],
        &["check", "x.zip", "--country", "Norway"],
        &["check", "x.zip", "--date", "tomorrow"],
        &["check", "x.zip", "--config", "/nowhere/check.toml"],
        &["convert", "x.xml"],
        &["convert", "x.xml", "--to", "hafas"],
        &["convert", "x.json", "--to", "gbfs3"],
        &["watch", "http://127.0.0.1:1"],
        &["watch", "not a url", "feed/x"],
    ] {
        check(arguments, 2);
    }
}

#[test]
fn a_port_in_use_names_the_key_that_changes_it() {
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let folder = tempfile::tempdir().unwrap();
    let config = folder.path().join("lineside.toml");
    let address = taken.local_addr().unwrap();
    fs::write(&config, format!("[server]\nlisten = \"{address}\"\n")).unwrap();
    let (code, _, error) = run(&["serve", "--config", config.to_str().unwrap()]);
    assert_ne!(code, Some(0));
    assert!(error.contains(&address.to_string()) && error.contains("listen"), "{error}");
    assert!(error.contains("[server]"), "{error}");
}

#[test]
fn a_file_is_converted_with_a_report_of_the_losses() {
    let dir = tempfile::tempdir().unwrap();
    let path = |name: &str| dir.path().join(name).to_str().unwrap().to_owned();
    let siri = "<Siri xmlns=\"http://www.siri.org.uk/siri\" version=\"2.0\"><ServiceDelivery>\
        <VehicleMonitoringDelivery><VehicleActivity><MonitoredVehicleJourney>\
        <LineRef>L</LineRef><DataSource>gps</DataSource><VehicleRef>V</VehicleRef>\
        <VehicleFeatureRef>lowFloor</VehicleFeatureRef><VehicleLocation><Longitude>5.5</Longitude><Latitude>60.5</Latitude></VehicleLocation>\
        </MonitoredVehicleJourney></VehicleActivity></VehicleMonitoringDelivery>\
        </ServiceDelivery></Siri>";
    fs::write(path("vm.xml"), siri).unwrap();
    let (out, report) = (path("vm.json"), path("report.json"));
    let input = path("vm.xml");
    let output = check(
        &["convert", &input, "--to", "gtfs-rt-json", "--output", &out, "--report", &report],
        0,
    );
    assert!(output.contains("siri to gtfs-rt-json: 1 vehicles"), "{output}");
    assert!(output.contains("lost: 1 VehicleFeatureRef"), "{output}");
    let read =
        |file: &str| serde_json::from_slice::<serde_json::Value>(&fs::read(file).unwrap()).unwrap();
    let vehicle = &read(&out)["entity"][0]["vehicle"]["vehicle"];
    assert_eq!((&vehicle["id"], &vehicle["label"]), (&"gps:V".into(), &"V".into()));
    assert_eq!(read(&report)["losses"]["losses"][0]["kind"], "VehicleFeatureRef");
    let geojson = check(&["convert", &input, "--to", "geojson"], 0);
    assert!(geojson.starts_with("{\"type\":\"FeatureCollection\""), "{geojson}");
    let reason = check(&["convert", &input, "--to", "gtfs"], 2);
    assert!(reason.contains("siri cannot be converted to gtfs, only to gtfs-rt"), "{reason}");
    check(&["convert", &path("none.xml"), "--to", "gtfs-rt"], 3);
}

/// A publication with one stop.
const PUBLICATION: &str = "<PublicationDelivery xmlns=\"http://www.netex.org.uk/netex\"><dataObjects>\
    <GeneralFrame><members><Quay id=\"Q\"><Name>Pier</Name><Centroid><Location>\
    <Longitude>10.7</Longitude><Latitude>59.9</Latitude></Location></Centroid></Quay></members>\
    </GeneralFrame></dataObjects></PublicationDelivery>";

#[test]
fn a_schedule_is_converted_from_a_file_a_folder_or_standard_input() {
    let dir = tempfile::tempdir().unwrap();
    let path = |name: &str| dir.path().join(name).to_str().unwrap().to_owned();
    fs::write(path("town.xml"), PUBLICATION).unwrap();
    check(&["convert", &path("town.xml"), "--to", "gtfs", "--output", &path("town.zip")], 0);
    let zip = fs::read(path("town.zip")).unwrap();
    assert!(zip.starts_with(b"PK"));

    fs::create_dir_all(path("parts/stops")).unwrap();
    fs::write(path("parts/stops/1.XML"), PUBLICATION).unwrap();
    fs::write(path("parts/readme.txt"), "about this publication").unwrap();
    check(&["convert", &path("parts"), "--to", "gtfs", "--output", &path("parts.zip")], 0);
    assert_eq!(fs::read(path("parts.zip")).unwrap(), zip, "a folder is read as its files are");

    let piped = lineside(&["convert", "-", "--to", "gtfs"])
        .stdin(fs::File::open(path("town.xml")).unwrap())
        .output()
        .unwrap();
    assert_eq!(piped.stdout, zip, "{}", String::from_utf8_lossy(&piped.stderr));

    let geojson = check(&["convert", &path("town.zip"), "--to", "geojson"], 0);
    assert!(geojson.contains("\"Pier\"") && geojson.contains("gtfs to geojson"), "{geojson}");
}

#[test]
fn a_failed_conversion_preserves_the_existing_output() {
    let dir = tempfile::tempdir().unwrap();
    let path = |name: &str| dir.path().join(name).to_str().unwrap().to_owned();
    fs::write(path("town.xml"), &PUBLICATION[..PUBLICATION.len() - 30]).unwrap();
    fs::write(path("town.zip"), "as before").unwrap();
    let reason =
        check(&["convert", &path("town.xml"), "--to", "gtfs", "--output", &path("town.zip")], 3);
    assert!(reason.contains("truncated"), "{reason}");
    assert_eq!(fs::read_to_string(path("town.zip")).unwrap(), "as before");
    assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 2, "nothing half-written stays");
}

#[test]
fn only_schedules_may_be_large() {
    let dir = tempfile::tempdir().unwrap();
    let large = dir.path().join("large.xml");
    let mut file = fs::File::create(&large).unwrap();
    std::io::Write::write_all(&mut file, b"<Siri>").unwrap();
    // A sparse file has a size without using the disk.
    file.set_len((256 << 20) + 1).unwrap();
    let reason = check(&["convert", large.to_str().unwrap(), "--to", "gtfs-rt"], 3);
    assert!(reason.contains("larger than 256 MiB; only schedules"), "{reason}");
}

#[tokio::test]
async fn a_url_is_downloaded_and_converted() {
    let site = Site::default();
    site.put("/town.xml", PUBLICATION);
    let url = format!("{}/town.xml", site.start().await);
    let output = tokio::task::spawn_blocking(move || {
        lineside(&["convert", &url, "--to", "geojson"]).output().unwrap()
    });
    let output = output.await.unwrap();
    let stderr_text = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && stderr_text.contains("netex to geojson"), "{stderr_text}");
    assert!(String::from_utf8_lossy(&output.stdout).contains("\"Pier\""));
}

#[test]
fn the_example_configuration_is_valid() {
    let example = format!("{}/lineside.example.toml", repository());
    let output = check(&["serve", "--config", &example, "--check"], 0);
    assert!(output.contains("is valid: 4 feeds"), "{output}");
}

#[test]
fn the_example_shows_every_key() {
    let example =
        std::fs::read_to_string(format!("{}/lineside.example.toml", repository())).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("lineside.toml");
    // The server lists the known keys when it meets an unknown one.
    for table in ["[server]", "[server.tls]", "[limits]", "[map]", "[[feed]]", "[[converter]]"] {
        std::fs::write(&file, format!("{table}\nno-such-key = 1\n")).unwrap();
        let output = check(&["serve", "--check", "--config", file.to_str().unwrap()], 2);
        let (_, known) = output.split_once("expected ").unwrap();
        for key in known.split('`').skip(1).step_by(2) {
            assert!(
                example.contains(&format!("{key} = ")) || example.contains(&format!(".{key}]")),
                "{key} of {table} is not in the example"
            );
        }
    }
}

#[test]
fn a_configuration_error_names_file_line_key_and_expected_value() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("bad.toml");
    let name = file.to_str().unwrap();
    let feed = "[[feed]]\nid = \"a\"\nurl = \"https://example.org/a\"\n";
    for (text, line, key, expected) in [
        ("[server]\nlisten = \"8080\"\n".to_owned(), 2, "server.listen", "an address and port"),
        (format!("{feed}{feed}"), 5, "feed[1].id", "already has the id"),
        (format!("{feed}static = \"b\"\n"), 4, "feed[0].static", "the id of a schedule feed"),
        (format!("{feed}poll = \"1ms\"\n"), 4, "feed[0].poll", "out of range"),
        (format!("{feed}pol = \"1s\"\n"), 4, "feed[0].pol", "did you mean `poll`?"),
        (format!("{feed}format = \"gpx\"\n"), 4, "feed[0].format", "`gtfs-rt`"),
        (
            "[[feed]]\nid = \"a\"\nurl = \"gbfs.json\"\nformat = \"gbfs\"\n".to_owned(),
            3,
            "feed[0].url",
            "URL of a gbfs.json",
        ),
        (
            format!("{feed}headers = {{ key = {{ env = \"LINESIDE_TEST_NOT_SET\" }} }}\n"),
            4,
            "feed[0].headers.key",
            "LINESIDE_TEST_NOT_SET is not set",
        ),
        ("[[feed]]\nid = \"a b\"\nurl = \"x\"\n".to_owned(), 2, "feed[0].id", "letters"),
        ("[[feed]]\nid = \"a\"\nurl = \"gopher://x\"\n".to_owned(), 3, "feed[0].url", "http"),
        ("[server.tls]\ncert = \"x\"\n".to_owned(), 1, "server.tls", "missing field `key`"),
    ] {
        std::fs::write(&file, &text).unwrap();
        let output = check(&["serve", "--check", "--config", name], 2);
        let error_start = format!("{name} line {line}, {key}: ");
        assert!(output.contains(&error_start), "expected {error_start:?} in {output}");
        assert!(output.contains(expected), "expected {expected:?} in {output}");
    }
}

#[test]
fn several_invalid_values_are_reported_in_file_order() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("bad.toml");
    let name = file.to_str().unwrap();
    let text = "[server]\ndrain = \"9s\"\n[[feed]]\nid = \"a\"\nurl = \"x.pb\"\nmax_bytes = \"lots\"\n\
                late_after = \"x\"\ntimeout = 3\npoll = \"8d\"\n[[feed]]\nid = 1\nurl = \"ftp://x\"\n\
                [[feed]]\nid = \"c d\"\nurl = \"x.pb\"\n";
    std::fs::write(&file, text).unwrap();
    let output = check(&["serve", "--check", "--config", name], 2);
    let error_lines = [
        (2, "server.drain: 9s is out of range: expected 0s to 4s"),
        (6, "feed[0].max_bytes: "),
        (7, "feed[0].late_after: "),
        (8, "feed[0].timeout: "),
        (9, "feed[0].poll: 8d is out of range: expected 1s to 7d"),
        (11, "feed[1].id: "),
        (14, "feed[2].id: "),
    ];
    let mut rest = output.as_str();
    for (line, expected) in error_lines {
        let error_start = format!("{name} line {line}, {expected}");
        let found =
            rest.find(&error_start).unwrap_or_else(|| panic!("{error_start:?} is not in {output}"));
        rest = &rest[found + error_start.len()..];
    }
    assert_eq!(output.matches(" line ").count(), error_lines.len(), "{output}");
}

#[test]
fn a_configuration_in_another_encoding_names_its_line() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("bad.toml");
    std::fs::write(&file, b"[server]\n# caf\xE9\n").unwrap();
    let output = check(&["serve", "--check", "--config", file.to_str().unwrap()], 2);
    assert!(output.contains("bad.toml line 2: not UTF-8"), "{output}");
}

#[test]
fn a_missing_feed_file_is_a_warning() {
    let folder = tempfile::tempdir().unwrap();
    let absent = folder.path().join("absent.pb");
    let feed = format!("a={}", absent.display());
    let warning = format!("warning: feed a: {} does not exist", absent.display());
    let output = check(&["serve", "--check", "--feed", &feed], 0);
    assert!(
        output.contains("is valid, 1 warning: 1 feed") && output.contains(&warning),
        "{output}"
    );
    std::fs::write(&absent, "").unwrap();
    assert!(!check(&["serve", "--check", "--feed", &feed], 0).contains("warning"));
    std::fs::remove_file(&absent).unwrap();
    let file = folder.path().join("lineside.toml");
    std::fs::write(&file, "[[feed]]\nid = \"a\"\nurl = \"absent.pb\"\n").unwrap();
    let output = check(&["serve", "--check", "--config", file.to_str().unwrap()], 0);
    assert!(output.contains("is valid, 1 warning") && output.contains(&warning), "{output}");
}

#[test]
fn a_number_out_of_range_is_refused_with_the_range() {
    for (option, range) in [("--speed", "from 0.1 to 60"), ("--vehicles", "from 1 to")] {
        let output = check(&["demo", option, "-3"], 2);
        assert!(output.contains(range), "{output}");
    }
}

#[tokio::test]
async fn a_secret_is_never_printed() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("lineside.toml");
    let text = "[server]\nlisten = \"127.0.0.1:0\"\n[[feed]]\nid = \"a\"\n\
                url = \"http://me:hunter2@127.0.0.1:1/feed?key=hunter2\"\n\
                headers = { x-key = \"hunter2\" }\nquery = { token = \"hunter2\" }\n";
    std::fs::write(&file, text).unwrap();
    let name = file.to_str().unwrap();
    assert!(!check(&["serve", "--check", "--config", name], 0).contains("hunter2"));
    let mut command = lineside(&["serve", "--config", name]);
    command.env("RUST_LOG", "trace");
    let server = RunningServer::start(command);
    // The last line after the start, and the feed.
    let is_reported = |output: &str| output.contains("Ctrl-C") && output.contains("127.0.0.1:1");
    server.wait_for_output("the feed is spoken of", is_reported).await;
    let log = server.end("-TERM");
    assert!(!log.contains("hunter2"), "{log}");
}

#[test]
fn a_second_server_cannot_use_the_same_data_folder() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().to_str().unwrap();
    let arguments = ["demo", "--port", "0", "--vehicles", "10", "--data-dir", data];
    let first = ServerProcess::start(&arguments);
    let output = check(&arguments, 3);
    assert!(output.contains("another server"), "{output}");
    drop(first);
}

#[test]
fn an_address_in_use_is_named() {
    let used_port = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = used_port.local_addr().unwrap().port().to_string();
    let output = check(&["demo", "--port", &port, "--vehicles", "10"], 3);
    assert!(output.contains(&format!("127.0.0.1:{port}")), "{output}");
}

#[test]
fn the_greeting_has_the_address_and_commands_to_try() {
    let server = ServerProcess::start(&["demo", "--port", "0", "--vehicles", "10"]);
    for word in
        ["/map", "curl -N", "/events?channel=feed/city", "lineside watch", "/demo/faults", "Ctrl-C"]
    {
        assert!(server.greeting.contains(word), "{word}: {}", server.greeting);
    }
}

/// Runs `watch` until its output satisfies `is_met`, and returns that output.
async fn watch(arguments: &[&str], what: &str, is_met: impl Fn(&str) -> bool) -> String {
    let watching = RunningServer::start(lineside(arguments));
    watching.wait_for_output(what, is_met).await;
    watching.end("-INT")
}

#[tokio::test]
async fn watch_shows_the_state_and_then_the_changes() {
    let server = shared_demo();
    let is_change = |line: &str| line.contains("feed/city  ") && !line.contains("  state");
    let lines = watch(&["watch", &server, "feed/city"], "it shows a change", |output| {
        output.lines().any(is_change)
    })
    .await;
    let (state, _) = lines.split_once("+ vehicle ").expect("vehicles in the state");
    assert!(state.contains("feed/city  state, part 1 of"), "{lines}");
    let vehicles = ["watch", &server, "feed/city-vehicles", "--json"];
    let json = watch(&vehicles, "it prints a line", |output| output.contains('\n')).await;
    let first: serde_json::Value = serde_json::from_str(json.lines().next().unwrap()).unwrap();
    assert_eq!(first["channel"], "feed/city-vehicles");
}

#[test]
fn watch_explains_errors_and_exits_with_their_code() {
    let server = shared_demo();
    assert!(check(&["watch", &server, "nonsense"], 2).contains("nonsense"));
    assert!(check(&["watch", &server, "feed/nothing"], 3).contains("feed/nothing"));
    check(&["watch", "http://127.0.0.1:1", "feed/city"], 3);
}

/// Returns the address of a proxy whose target can change.
async fn leading_to(server: Arc<Mutex<String>>) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    tokio::spawn(async move {
        while let Ok((mut client, _)) = listener.accept().await {
            let address = server.lock().unwrap().trim_start_matches("http://").to_owned();
            tokio::spawn(async move {
                let mut server = TcpStream::connect(address).await.unwrap();
                // Either side may close at any time.
                _ = tokio::io::copy_bidirectional(&mut client, &mut server).await;
            });
        }
    });
    url
}

#[tokio::test]
async fn watch_resumes_a_broken_connection() {
    let start = || ServerProcess::start(&["demo", "--port", "0", "--vehicles", "10"]);
    let (first, second) = (start(), start());
    let upstream_url = Arc::new(Mutex::new(first.url.clone()));
    // A freed port could go to another process before the second server takes it, so a proxy has a fixed one.
    let url = leading_to(Arc::clone(&upstream_url)).await;
    let watching = RunningServer::start(lineside(&["watch", &url, "feed/city"]));
    watching
        .wait_for_output("it shows the state", |output| output.contains("feed/city  state, part"))
        .await;
    upstream_url.lock().unwrap().clone_from(&second.url);
    drop(first);
    watching
        .wait_for_output("the stream continues with the state", |output| {
            let (_, broken) = output.split_once("retrying in").unwrap_or_default();
            let (_, again) = broken.split_once("reconnected").unwrap_or_default();
            again.contains("state again, after a gap")
        })
        .await;
    watching.end("-INT");
}
