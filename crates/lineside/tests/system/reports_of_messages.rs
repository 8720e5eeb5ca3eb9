//! Reports on real-time data: each new message is validated as it passes, and the findings are shown, announced and
//! stored.

use std::collections::HashSet;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

use lineside::{Config, ServerOptions};
use lineside_sync::{Clock as _, RealClock, ScaledClock};
use lineside_testkit::{wait_for_json, wait_until, wait_until_ready};
use serde_json::{Value, json};

use crate::reports::{count, findings, notifications};
use crate::restarts::{self, stops_and_route};
use crate::support::events::{ReceivedState, Stream};
use crate::support::http::{assert_problem, get_json, get_text, problem};
use crate::support::process::ServerProcess;
use crate::support::producer::{Producer, Reply};

/// A producer that makes a new message for every reply.
struct Buses {
    producer: Producer,
    /// True if the vehicles are on an unknown trip.
    is_bad: Arc<AtomicBool>,
    /// True if the message has an old timestamp.
    is_old: Arc<AtomicBool>,
    /// True if the message has no entities.
    is_empty: Arc<AtomicBool>,
}

/// Returns a message on one trip, or an empty one.
fn message(number: u64, trip: Option<&str>, made_at: u64) -> String {
    let update = |trip: &str| {
        json!({
            "id": number.to_string(),
            "trip_update": {
                "trip": {"trip_id": trip, "schedule_relationship": "SCHEDULED"},
                "vehicle": {"id": "bus"},
                "timestamp": made_at,
                "stop_time_update": [{
                    "stop_sequence": 1, "stop_id": "S", "departure": {"delay": 60},
                    "schedule_relationship": "SCHEDULED"
                }]
            }
        })
    };
    let updates: Vec<Value> = trip.into_iter().map(update).collect();
    let header = json!({
        "gtfs_realtime_version": "2.0", "incrementality": "FULL_DATASET", "timestamp": made_at
    });
    json!({"header": header, "entity": updates}).to_string()
}

fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |it| it.as_secs())
}

impl Buses {
    async fn new() -> Self {
        let is_bad = Arc::new(AtomicBool::new(false));
        let is_old = Arc::new(AtomicBool::new(false));
        let is_empty = Arc::new(AtomicBool::new(false));
        let (is_bad_shared, is_old_shared) = (Arc::clone(&is_bad), Arc::clone(&is_old));
        let is_empty_shared = Arc::clone(&is_empty);
        let number = AtomicU64::new(0);
        let producer = Producer::answering(move |_| {
            let trip = if is_bad_shared.load(Ordering::Relaxed) { "<b>none</b>" } else { "trip" };
            let trip = Some(trip).filter(|_| !is_empty_shared.load(Ordering::Relaxed));
            let made_at = now() - if is_old_shared.load(Ordering::Relaxed) { 600 } else { 0 };
            Reply::ok(&message(number.fetch_add(1, Ordering::Relaxed), trip, made_at))
        });
        Self { producer: producer.await, is_bad, is_old, is_empty }
    }

    /// Creates a producer that always replies with the message of this moment.
    async fn frozen() -> Self {
        let buses = Self::new().await;
        buses.producer.set(Reply::ok(&message(1, Some("trip"), now())).into());
        buses
    }
}

struct ServerSetup {
    folder: tempfile::TempDir,
}

impl ServerSetup {
    fn new(buses: &Buses, keys: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        restarts::schedule().write_to(&folder.path().join("city"));
        let config = format!(
            "[server]\nlisten = \"127.0.0.1:0\"\ndata_dir = \"data\"\ndrain = \"0s\"\n{keys}\
             [[feed]]\nid = \"city\"\nurl = \"city\"\n\
             [[feed]]\nid = \"buses\"\nurl = \"{}\"\nformat = \"gtfs-rt\"\nstatic = \"city\"\npoll = \"1s\"\n",
            buses.producer.url("/buses.pb")
        );
        let setup = Self { folder };
        std::fs::write(setup.config(), config).unwrap();
        setup
    }

    fn config(&self) -> PathBuf {
        self.folder.path().join("lineside.toml")
    }

    async fn start(&self) -> ServerProcess {
        let server = ServerProcess::start(&["serve", "--config", self.config().to_str().unwrap()]);
        wait_until_ready(&server.url).await;
        server
    }
}

fn n_checked(report: &Value) -> u64 {
    report["summary"]["presence"]["messages"].as_u64().unwrap_or_default()
}

#[tokio::test]
async fn messages_are_validated_and_persistent_errors_announced_once() {
    let hook = Producer::answering(|_| Reply::ok("")).await;
    let keys = format!("[[alert]]\nto = {:?}\non = [\"findings\"]\n", hook.url("/hook"));
    let buses = Buses::new().await;
    let setup = ServerSetup::new(&buses, &keys);
    let server = setup.start().await;
    let url = format!("{}/api/v1/feeds/buses/report", server.url);
    // Findings from the start are not news.
    let well = wait_for_json(&url, |found| n_checked(found) > 6).await;
    assert_eq!(
        (&well["lineside"]["subject"], &well["lineside"]["outcome"]),
        (&json!("realtime"), &json!("whole"))
    );
    assert_eq!((count(&well, "E003"), &well["summary"]["matchedTrips"]), (0, &json!(1)));

    buses.is_bad.store(true, Ordering::Relaxed);
    let bad = wait_for_json(&url, |found| count(found, "E003") == 1).await;
    assert_eq!(bad["summary"]["matchedTrips"], 0);
    wait_until("the webhook is notified", async || !findings(&hook).is_empty()).await;
    let sent = &findings(&hook)[0];
    assert_eq!(sent["errors"], json!([{"code": "E003", "before": 0, "now": 1}]));
    assert!(sent["report"].as_str().unwrap().ends_with("/feeds/buses#report-realtime"), "{sent}");

    let mut stream = Stream::open(&server.url, "channel=report/buses").await;
    let mut channel_state = ReceivedState::default();
    while !channel_state.records_of_kind("report").any(|record| record["errors"] == 1) {
        channel_state.apply(&stream.next().await.unwrap().data);
    }
    let page = get_text(&format!("{}/feeds/buses", server.url)).await;
    for part in ["id=\"report-realtime\"", "report-since", "E003", "&lt;b&gt;none"] {
        assert!(page.contains(part), "{part}: {page}");
    }
    let metrics = get_text(&format!("{}/metrics", server.url)).await;
    let name = "lineside_validation_messages_total ";
    let line = metrics.lines().find(|line| line.starts_with(name)).unwrap();
    assert!(line.strip_prefix(name).unwrap().parse::<u64>().unwrap() > 6, "{line}");

    // The time of the first finding survives a restart, and nothing is announced twice.
    let since = |report: &Value| report["summary"]["presence"]["codes"]["E003"]["first"].clone();
    let active = wait_for_json(&url, |found| since(found).is_i64()).await;
    server.stop("-TERM");
    let server = setup.start().await;
    let url = format!("{}/api/v1/feeds/buses/report", server.url);
    let after = wait_for_json(&url, |found| n_checked(found) > n_checked(&active) + 3).await;
    assert_eq!(since(&after), since(&active));
    assert_eq!(findings(&hook).len(), 1);
    server.stop("-TERM");
}

#[tokio::test]
async fn misplaced_vehicles_are_shown_on_a_map() {
    let producer = Producer::answering(|_| {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |it| it.as_secs());
        let message = json!({
            "header": {"gtfs_realtime_version": "2.0", "timestamp": now},
            "entity": [{"id": "1", "vehicle": {
                "vehicle": {"id": "stray"}, "timestamp": now,
                "position": {"latitude": 48.1, "longitude": 11.6}
            }}]
        });
        Reply::ok(&message.to_string())
    });
    let [is_bad, is_old, is_empty] = [(); 3].map(|()| Arc::default());
    let buses = Buses { producer: producer.await, is_bad, is_old, is_empty };
    let setup = ServerSetup::new(&buses, "");
    let server = setup.start().await;
    let url = format!("{}/api/v1/feeds/buses/report", server.url);
    wait_for_json(&url, |found| count(found, "E028") == 1).await;
    let page = get_text(&format!("{}/feeds/buses", server.url)).await;
    assert!(page.contains("report-map\"><svg"), "{page}");
    assert!(page.contains("<title>vehicle stray</title>"), "{page}");
    server.stop("-TERM");
}

#[tokio::test]
async fn an_unchanged_message_is_validated_again_after_a_restart() {
    let buses = Buses::frozen().await;
    let setup = ServerSetup::new(&buses, "");
    let mut before = None;
    for _ in 0..3 {
        let server = setup.start().await;
        let url = format!("{}/api/v1/feeds/buses/report", server.url);
        let is_new = |found: &Value| before.as_ref().is_none_or(|it| n_checked(found) > *it);
        let found = wait_for_json(&url, is_new).await;
        assert_eq!(n_checked(&found), before.unwrap_or_default() + 1, "{found}");
        before = Some(n_checked(&found));
        server.stop("-TERM");
    }
}

#[tokio::test]
async fn an_unchanged_message_becomes_stale() {
    let buses = Buses::frozen().await;
    let setup = ServerSetup::new(&buses, "");
    let text = std::fs::read_to_string(setup.config()).unwrap();
    let text = text.replace("poll = \"1s\"", "poll = \"20s\"");
    let config = Config::parse(&setup.config(), &text);
    // Half a minute passes in less than a second.
    let clock = Arc::new(ScaledClock::new(RealClock::new().wall_time(), 40.0));
    let start =
        ServerOptions { config: config.unwrap(), clock, seed: 7, demo: None, base_map: None };
    let server = lineside::start_server(start).await.unwrap();
    let url = format!("http://{}/api/v1/feeds/buses/report", server.listen_address());
    let old = wait_for_json(&url, |found| count(found, "W008") == 1).await;
    let n_age_checks = |found: &Value| found["summary"]["presence"]["again"].as_u64().unwrap();
    let older = wait_for_json(&url, |found| n_age_checks(found) > n_age_checks(&old)).await;
    assert_eq!(n_checked(&older), 1, "it is one message: {older}");
    server.shut_down().await;
}

/// Makes the schedule's trip run all day.
fn let_it_run(setup: &ServerSetup) {
    stops_and_route().trip("trip", "S 00:00, T 48:00").write_to(&setup.folder.path().join("city"));
}

/// Returns the states in all notifications. A delivery that a stop interrupts is repeated with the same id, so it
/// counts once.
fn states(hook: &Producer) -> Vec<Value> {
    let mut ids = HashSet::new();
    notifications(hook)
        .into_iter()
        .filter(|notification| ids.insert(notification["id"].to_string()))
        .map(|notification| notification["state"].clone())
        .collect()
}

#[tokio::test]
async fn a_feed_that_loses_its_trips_is_empty_and_stays_so_after_a_restart() {
    let hook = Producer::answering(|_| Reply::ok("")).await;
    let to = hook.url("/hook");
    let keys =
        format!("[[alert]]\nto = {to:?}\non = [\"state\"]\nafter = \"0s\"\nquiet = \"0s\"\n");
    let buses = Buses::new().await;
    let setup = ServerSetup::new(&buses, &keys);
    let_it_run(&setup);
    buses.is_empty.store(true, Ordering::Relaxed);
    let server = setup.start().await;
    let feed = format!("{}/api/v1/feeds/buses", server.url);
    let silent = wait_for_json(&format!("{feed}/report"), |found| n_checked(found) > 1).await;
    assert_eq!(count(&silent, "agency_without_trips"), 0, "it may be one of alerts");
    wait_for_json(&feed, |found| found["state"] == "ok").await;
    buses.is_empty.store(false, Ordering::Relaxed);
    wait_for_json(&format!("{feed}/report"), |found| found["summary"]["namedTrips"] == 1).await;
    buses.is_empty.store(true, Ordering::Relaxed);
    wait_for_json(&format!("{feed}/report"), |found| count(found, "agency_without_trips") == 1)
        .await;
    let badge = format!("{}/feeds/buses/report.svg", server.url);
    wait_until("the badge says so", async || get_text(&badge).await.contains(">empty<")).await;
    wait_until("the webhook is notified", async || !states(&hook).is_empty()).await;
    server.stop("-TERM");

    let server = setup.start().await;
    let feed = format!("{}/api/v1/feeds/buses", server.url);
    let polled = wait_for_json(&feed, |found| found["state"] != "unknown").await;
    assert_eq!(polled["state"], "empty", "{polled}");
    let before = wait_for_json(&format!("{feed}/report"), |found| n_checked(found) > 0).await;
    let is_later = |found: &Value| n_checked(found) > n_checked(&before) + 2;
    let after = wait_for_json(&format!("{feed}/report"), is_later).await;
    assert_eq!(count(&after, "agency_without_trips"), 1, "{after}");
    assert!(get_text(&format!("{}/feeds/buses/report.svg", server.url)).await.contains(">empty<"));
    assert_eq!(get_json(&feed).await["state"], "empty");
    assert_eq!(states(&hook), ["empty"], "the trouble has not ended");
    buses.is_empty.store(false, Ordering::Relaxed);
    wait_until("the recovery is notified", async || states(&hook).len() > 1).await;
    assert_eq!(states(&hook), ["empty", "ok"]);
    server.stop("-TERM");
}

#[tokio::test]
async fn a_vehicle_feed_without_a_schedule_stays_empty_after_a_crash() {
    let is_empty = Arc::new(AtomicBool::new(false));
    let is_empty_shared = Arc::clone(&is_empty);
    let producer = Producer::answering(move |_| {
        let vehicle = json!({"id": "1", "vehicle": {"vehicle": {"id": "bus"}, "timestamp": now()}});
        let vehicles: Vec<Value> = Some(vehicle)
            .into_iter()
            .filter(|_| !is_empty_shared.load(Ordering::Relaxed))
            .collect();
        let header = json!({"gtfs_realtime_version": "2.0", "timestamp": now()});
        Reply::ok(&json!({"header": header, "entity": vehicles}).to_string())
    })
    .await;
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("lineside.toml");
    let config = format!(
        "[server]\nlisten = \"127.0.0.1:0\"\ndata_dir = \"data\"\ndrain = \"0s\"\n\
         [[feed]]\nid = \"buses\"\nurl = \"{}\"\nformat = \"gtfs-rt\"\npoll = \"1s\"\n",
        producer.url("/buses.pb")
    );
    std::fs::write(&file, config).unwrap();
    for stop in ["-TERM", "-KILL", "-TERM"] {
        let server = ServerProcess::start(&["serve", "--config", file.to_str().unwrap()]);
        wait_until_ready(&server.url).await;
        let feed = format!("{}/api/v1/feeds/buses", server.url);
        let polled = wait_for_json(&feed, |found| found["state"] != "unknown").await;
        let state = if is_empty.load(Ordering::Relaxed) { "empty" } else { "ok" };
        assert_eq!(polled["state"], state, "{polled}");
        let report = wait_for_json(&format!("{feed}/report"), |found| n_checked(found) > 0).await;
        let summary = &report["summary"];
        assert!(
            summary["toldAt"].as_i64().unwrap() > 0 && summary["tripsNamedAt"] == 0,
            "{report}"
        );
        is_empty.store(true, Ordering::Relaxed);
        server.stop(stop);
    }
}

/// Returns stops, of which the first one has this type.
fn stops(location_type: u8) -> String {
    format!(
        "stop_id,stop_name,stop_lat,stop_lon,location_type\n\
         S,First,59.91,10.75,{location_type}\nT,Second,59.92,10.76,0\n"
    )
}

#[tokio::test]
async fn schedule_errors_are_reported_with_the_messages_until_fixed() {
    let buses = Buses::new().await;
    let setup = ServerSetup::new(&buses, "");
    let file = setup.folder.path().join("city/stops.txt");
    std::fs::write(&file, stops(1)).unwrap();
    let config = std::fs::read_to_string(setup.config()).unwrap();
    let often = config.replace("url = \"city\"\n", "url = \"city\"\npoll = \"1s\"\n");
    std::fs::write(setup.config(), often).unwrap();
    let server = setup.start().await;
    let url = format!("{}/api/v1/feeds/buses/report", server.url);
    // Once for the schedule, not again for each message.
    let found = wait_for_json(&url, |found| n_checked(found) > 3).await;
    let notices = found["notices"].as_array().unwrap();
    let e010 = notices.iter().find(|notice| notice["code"] == "E010").unwrap();
    assert_eq!(
        (&e010["totalNotices"], &e010["sampleNotices"]),
        (&json!(1), &json!([{"stopId": "S", "locationType": 1}]))
    );
    std::fs::write(&file, stops(0)).unwrap();
    wait_for_json(&url, |found| count(found, "E010") == 0).await;
    server.stop("-TERM");
}

#[tokio::test]
async fn without_a_schedule_messages_are_checked_by_rules_without_one() {
    let buses = Buses::new().await;
    buses.is_bad.store(true, Ordering::Relaxed);
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("lineside.toml");
    let config = format!(
        "[server]\nlisten = \"127.0.0.1:0\"\ndrain = \"0s\"\n\
         [[feed]]\nid = \"buses\"\nurl = \"{}\"\nformat = \"gtfs-rt\"\npoll = \"1s\"\n",
        buses.producer.url("/buses.pb")
    );
    std::fs::write(&file, config).unwrap();
    let server = ServerProcess::start(&["serve", "--config", file.to_str().unwrap()]);
    wait_until_ready(&server.url).await;
    let url = format!("{}/api/v1/feeds/buses/report", server.url);
    let found = wait_for_json(&url, |found| n_checked(found) > 0).await;
    assert_eq!(found["summary"]["withoutSchedule"], true);
    assert_eq!((&found["summary"]["schedule"], count(&found, "E003")), (&json!(""), 0));
    assert_eq!(found["lineside"]["outcome"], "whole");
    buses.is_old.store(true, Ordering::Relaxed);
    wait_for_json(&url, |found| count(found, "W008") == 1).await;
    let page = get_text(&format!("{}/feeds/buses", server.url)).await;
    assert!(page.contains("data-without-schedule"), "{page}");
    server.stop("-TERM");
}

#[tokio::test]
async fn the_page_shows_what_the_first_report_waits_for() {
    let buses = Buses::new().await;
    let setup = ServerSetup::new(&buses, "");
    for file in std::fs::read_dir(setup.folder.path().join("city")).unwrap() {
        std::fs::remove_file(file.unwrap().path()).unwrap();
    }
    let server = setup.start().await;
    let page = format!("{}/feeds/buses", server.url);
    wait_until("it is said", async || get_text(&page).await.contains("data-waits-for-schedule"))
        .await;
    server.stop("-TERM");
}

#[tokio::test]
async fn a_check_beyond_message_time_is_reported_as_cut_short() {
    let buses = Buses::new().await;
    buses.is_bad.store(true, Ordering::Relaxed);
    let setup = ServerSetup::new(&buses, "[validation]\nmessage_time = \"1ns\"\n");
    let server = setup.start().await;
    let url = format!("{}/api/v1/feeds/buses/report", server.url);
    let found = wait_for_json(&url, |found| found["lineside"]["outcome"] == "cut_short").await;
    assert_eq!(found["notices"], json!([]));
    let page = get_text(&format!("{}/feeds/buses", server.url)).await;
    assert!(page.contains("data-outcome=\"cut_short\""), "{page}");
    let metrics = get_text(&format!("{}/metrics", server.url)).await;
    assert!(!metrics.contains("lineside_validation_messages_cut_short_total 0"), "{metrics}");
    server.stop("-TERM");
}

#[tokio::test]
async fn without_message_time_no_message_is_validated() {
    let buses = Buses::new().await;
    let setup = ServerSetup::new(&buses, "[validation]\nmessage_time = \"0s\"\n");
    let server = setup.start().await;
    let feed = format!("{}/api/v1/feeds/buses", server.url);
    wait_for_json(&feed, |found| found["state"] == "ok").await;
    assert_problem(404, "not_found", problem(&format!("{feed}/report")).await);
    server.stop("-TERM");
}
