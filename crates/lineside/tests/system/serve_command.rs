//! `lineside serve` with files, folders and addresses as feeds.

use std::path::Path;

use lineside_testkit::wait_until_ready;
use serde_json::Value;

use crate::support::http::{get, get_json, get_with};
use crate::support::process::{ServerProcess, lineside};
use crate::support::shared_demo;

/// A schedule whose ids contain every character with a meaning in addresses.
const ODD_SCHEDULE: &[(&str, &str)] = &[
    (
        "agency.txt",
        "agency_id,agency_name,agency_url,agency_timezone\nA,Odd Lines,https://example.org,Europe/Oslo\n",
    ),
    (
        "stops.txt",
        "stop_id,stop_name,stop_lat,stop_lon\na/b c,First & Last,59.91,10.75\n\"x?y#z%,:+é\",Second,59.92,10.76\n",
    ),
    (
        "routes.txt",
        "route_id,agency_id,route_short_name,route_long_name,route_type\n4/B,A,4B,Harbour – Hill,3\n",
    ),
    (
        "calendar.txt",
        "service_id,monday,tuesday,wednesday,thursday,friday,saturday,sunday,start_date,end_date\nD,1,1,1,1,1,1,1,20200101,20401231\n",
    ),
    ("trips.txt", "route_id,service_id,trip_id,trip_headsign\n4/B,D,t/1,Hill\n"),
    ("frequencies.txt", "trip_id,start_time,end_time,headway_secs\nt/1,00:00:00,26:00:00,300\n"),
    (
        "stop_times.txt",
        "trip_id,arrival_time,departure_time,stop_id,stop_sequence\nt/1,00:00:00,00:00:00,a/b c,1\nt/1,00:05:00,00:05:00,\"x?y#z%,:+é\",2\n",
    ),
];

fn write_odd_schedule(folder: &Path) {
    for (name, text) in ODD_SCHEDULE {
        std::fs::write(folder.join(name), text).unwrap();
    }
}

/// Starts `serve` on a free port with these feeds.
async fn serve(folder: &Path, feeds: &[String]) -> ServerProcess {
    let config = folder.join("lineside.toml");
    std::fs::write(&config, "[server]\nlisten = \"127.0.0.1:0\"\ndrain = \"0s\"\n").unwrap();
    let mut arguments = vec!["serve", "--config", config.to_str().unwrap()];
    for feed in feeds {
        arguments.extend(["--feed", feed]);
    }
    let server = ServerProcess::start(&arguments);
    wait_until_ready(&server.url).await;
    server
}

/// Checks a configuration with the program; returns its output, and true if it succeeds.
fn check(config: &Path) -> (String, bool) {
    let program = env!("CARGO_BIN_EXE_lineside");
    let mut command = std::process::Command::new(program);
    let output = command.args(["serve", "--check", "--config"]).arg(config).output().unwrap();
    let all_output = [output.stdout, output.stderr].concat();
    (String::from_utf8(all_output).unwrap(), output.status.success())
}

#[tokio::test]
async fn a_proxy_configuration_of_transport_data_gouv_fr_works_unchanged() {
    let demo = shared_demo();
    let folder = tempfile::tempdir().unwrap();
    let origin = format!("{}/proxy", demo);
    let yaml = format!(
        "feeds:\n  - identifier: passed-on\n    target_url: {origin}/city-vehicles\n    ttl: 1\n    \
         type: gtfs-rt\n    response_headers:\n      - [Content-Disposition, attachment; \
         filename=tu.pb]\n      - [X-Served-By, the access point]\n  - identifier: schedule\n    \
         type: generic-http\n    target_url: {origin}/city\n"
    );
    std::fs::write(folder.path().join("proxy-config.yml"), yaml).unwrap();
    let config = folder.path().join("lineside.toml");
    let toml = format!(
        "[server]\nlisten = \"127.0.0.1:0\"\ndrain = \"0s\"\n[import]\nfeeds = \
         \"proxy-config.yml\"\n[[feed]]\nid = \"own\"\nurl = \"{origin}/city-trips\"\nstatic = \
         \"schedule\"\n"
    );
    std::fs::write(&config, &toml).unwrap();
    let (output, is_fine) = check(&config);
    assert!(is_fine && output.contains("3 feeds"), "{output}");
    let (output, is_fine) = check(&folder.path().join("proxy-config.yml"));
    assert!(is_fine && output.contains("2 feeds"), "{output}");

    let server = ServerProcess::start(&["serve", "--config", config.to_str().unwrap()]);
    wait_until_ready(&server.url).await;
    let ids: Vec<_> = get_json(&format!("{}/api/v1/feeds", server.url)).await["items"]
        .as_array()
        .unwrap()
        .iter()
        .map(|feed| feed["id"].as_str().unwrap().to_owned())
        .collect();
    assert_eq!(ids, ["own", "passed-on", "schedule"]);
    let reply = get(&format!("{}/resource/passed-on", server.url)).await;
    assert_eq!(reply.status(), 200);
    assert_eq!(reply.headers()["content-disposition"], "attachment; filename=tu.pb");
    assert_eq!(reply.headers()["x-served-by"], "the access point");
    assert!(!reply.bytes().await.unwrap().is_empty());

    std::fs::write(&config, toml.replace("\"own\"", "\"passed-on\"")).unwrap();
    let (output, is_fine) = check(&config);
    assert!(
        !is_fine && output.contains("feed[0].id: another feed already has the id \"passed-on\""),
        "{output}"
    );
}

/// Starts a server with these secrets, and returns its log of the start.
fn log_of_start(admin_token: &str, api_key: &str) -> String {
    let folder = tempfile::tempdir().unwrap();
    let (config, log) = (folder.path().join("lineside.toml"), folder.path().join("log"));
    let toml = format!(
        "[server]\nlisten = \"127.0.0.1:0\"\ndrain = \"0s\"\n[admin]\ntoken = \"{admin_token}\"\n\
         [api]\nkey = \"{api_key}\"\n"
    );
    std::fs::write(&config, toml).unwrap();
    let command = lineside(&["serve", "--config", config.to_str().unwrap()]);
    ServerProcess::logging(command, std::fs::File::create(&log).unwrap().into()).stop("-TERM");
    std::fs::read_to_string(log).unwrap()
}

#[test]
fn the_log_names_secrets_that_are_short_enough_to_be_guessed() {
    let log = log_of_start("guess-me", "guess-me-too");
    for key in ["admin.token", "api.key"] {
        let field = format!("key=\"{key}\"");
        assert!(log.lines().any(|line| line.contains("WARN") && line.contains(&field)), "{log}");
    }
    assert!(!log.contains("guess-me"), "{log}");

    let log = log_of_start("sixteen-letters!", "sixteen-letters?");
    assert!(!log.contains("WARN"), "{log}");
}

#[tokio::test]
async fn ids_of_any_spelling_work_in_every_address() {
    let folder = tempfile::tempdir().unwrap();
    let schedule = folder.path().join("odd");
    std::fs::create_dir(&schedule).unwrap();
    write_odd_schedule(&schedule);
    let server = serve(folder.path(), &[schedule.to_str().unwrap().to_owned()]).await;
    let url = &server.url;
    let feed = get_json(&format!("{url}/api/v1/feeds/odd")).await;
    assert_eq!(
        (&feed["format"], &feed["state"]),
        (&Value::from("gtfs"), &Value::from("ok")),
        "{feed}"
    );
    for (path, channel) in [
        ("a%2Fb%20c", "a%252Fb%2520c"),
        ("x%3Fy%23z%25%2C%3A%2B%C3%A9", "x?y%2523z%2525%252C%253A%252B%C3%A9"),
    ] {
        let board = get_json(&format!("{url}/api/v1/stops/odd/{path}/departures")).await;
        let channel = channel.replace('?', "%3F");
        let state = get_json(&format!("{url}/api/v1/state?channel=stop/odd/{channel}")).await;
        assert!(!state["changes"].as_array().unwrap().is_empty(), "{state}");
        let page = get(&format!("{url}/stops/odd/{path}")).await;
        assert_eq!(page.status(), 200, "{path}");
        if path.starts_with('a') {
            assert!(!board["items"].as_array().unwrap().is_empty(), "{board}");
            let first = &board["items"][0];
            assert_eq!(first["route_id"], "4/B");
            assert!(first["scheduled"].as_str().unwrap().contains("+0"), "{first}");
        }
    }
    let state = get_json(&format!("{url}/api/v1/state?channel=route/odd/4%252FB")).await;
    assert_eq!(state["channel"], "route/odd/4%2FB");
    assert!(server.stop("-TERM").0.success());
}

#[tokio::test]
async fn realtime_feeds_use_the_only_schedule_by_default() {
    let demo = shared_demo();
    let folder = tempfile::tempdir().unwrap();
    for (path, name) in [("/proxy/city", "plan"), ("/gtfs-rt/city.pb", "now")] {
        let bytes = get(&format!("{demo}{path}")).await.bytes().await.unwrap();
        std::fs::write(folder.path().join(name), &bytes).unwrap();
    }
    let file = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let feeds =
        [file("plan"), format!("live={}", file("now")), format!("alerts={demo}/proxy/city-alerts")];
    let server = serve(folder.path(), &feeds).await;
    let url = &server.url;
    let list = get_json(&format!("{url}/api/v1/feeds")).await;
    let find_feed = |id: &str| {
        let feeds = list["items"].as_array().unwrap();
        feeds.iter().find(|feed| feed["id"] == id).unwrap_or_else(|| panic!("{id}: {list}")).clone()
    };
    assert_eq!(find_feed("plan")["format"], "gtfs");
    assert_eq!(find_feed("live")["format"], "gtfs-rt");
    assert_eq!(find_feed("live")["static"], "plan");
    assert_eq!(find_feed("alerts")["static"], "plan");
    let state = get_json(&format!("{url}/api/v1/state?channel=feed/plan")).await;
    let changes = state["changes"].as_array().unwrap();
    let vehicle = changes.iter().find(|change| change["kind"] == "vehicle").expect("a vehicle");
    assert!(vehicle["record"]["lineside"]["route_short_name"].is_string(), "{vehicle}");
    assert!(server.stop("-TERM").0.success());
}

#[tokio::test]
async fn a_server_without_feeds_runs() {
    let folder = tempfile::tempdir().unwrap();
    let server = serve(folder.path(), &[]).await;
    let list = get_json(&format!("{}/api/v1/feeds", server.url)).await;
    assert_eq!(list["items"], Value::Array(Vec::new()));
    assert_eq!(get(&format!("{}/", server.url)).await.status(), 200);
    assert!(server.stop("-TERM").0.success());
}

#[tokio::test]
async fn a_file_of_another_format_is_proxied_unchanged() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("lifts.json");
    std::fs::write(&file, "{\"lifts\": []}").unwrap();
    let server = serve(folder.path(), &[file.to_str().unwrap().to_owned()]).await;
    let response = get(&format!("{}/proxy/lifts", server.url)).await;
    assert_eq!(response.status(), 200);
    assert_eq!(response.text().await.unwrap(), "{\"lifts\": []}");
    let feed = get_json(&format!("{}/api/v1/feeds/lifts", server.url)).await;
    assert_eq!(feed["format"], "raw");
    assert!(server.stop("-TERM").0.success());
}

#[tokio::test]
async fn a_configured_base_map_is_served_and_allowed_by_the_policy() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(
        folder.path().join("region.pmtiles"),
        [b"PMTiles".as_slice(), &[3; 993]].concat(),
    )
    .unwrap();
    std::fs::write(folder.path().join("style.json"), "{\"version\": 8}").unwrap();
    let listen = "[server]\nlisten = \"127.0.0.1:0\"\ndrain = \"0s\"\n[map]\n";
    let server =
        ServerProcess::serving(folder.path(), format!("{listen}pmtiles = \"region.pmtiles\"\n"));
    let tiles = format!("{}/map/tiles.pmtiles", server.url);
    let piece = get_with(&tiles, &[("range", "bytes=0-6")]).await;
    assert_eq!(piece.status(), 206);
    assert_eq!(piece.headers()["content-range"], "bytes 0-6/1000");
    assert_eq!(&piece.bytes().await.unwrap()[..], b"PMTiles");
    assert_eq!(get_with(&tiles, &[("range", "bytes=1000-")]).await.status(), 416);
    assert_eq!(get(&tiles).await.status(), 400);
    assert_eq!(get(&format!("{}/map/style.json", server.url)).await.status(), 404);
    assert!(server.stop("-TERM").0.success());

    let server = ServerProcess::serving(folder.path(), format!("{listen}style = \"style.json\"\n"));
    assert_eq!(get_json(&format!("{}/map/style.json", server.url)).await["version"], 8);
    let page = get(&format!("{}/map", server.url)).await;
    let policy = page.headers()["content-security-policy"].to_str().unwrap().to_owned();
    let host = server.url.strip_prefix("http://").unwrap();
    let own = format!("connect-src 'self' ws://{host} wss://{host}");
    assert!(policy.contains(&format!("{own} https: http:;")), "{policy}");
    assert!(policy.contains("script-src 'self';"), "{policy}");
    assert!(server.stop("-TERM").0.success());

    let origins = "origins = [\"http://tiles.lan:8081\"]\n";
    let server =
        ServerProcess::serving(folder.path(), format!("{listen}style = \"style.json\"\n{origins}"));
    let page = get(&format!("{}/map", server.url)).await;
    let policy = page.headers()["content-security-policy"].to_str().unwrap().to_owned();
    assert!(policy.contains(" http://tiles.lan:8081; worker-src"), "{policy}");
    assert!(server.stop("-TERM").0.success());
}
