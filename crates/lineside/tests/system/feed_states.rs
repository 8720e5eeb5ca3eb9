//! States of feeds: an expired timetable, a paused feed, a rejected version.

use std::path::Path;

use jiff::{ToSpan, Zoned, civil::Date};
use lineside_testkit::{
    TestSchedule, wait_for_feed, wait_for_feed_state, wait_for_json, wait_until,
};
use serde_json::{Value, json};

use crate::support::admin::{self, BEARER, TOKEN};
use crate::support::http::{client, get, get_json, get_with, header};
use crate::support::process::ServerProcess;

/// Returns a schedule of one line that runs each day from `start` to `end`.
fn schedule(start: Date, end: Date) -> TestSchedule {
    let [start, end] = [start, end].map(|day| day.strftime("%Y%m%d").to_string());
    TestSchedule::new("UTC")
        .stop("S", "Market", 48.8, 2.3)
        .stop("T", "Harbor", 48.9, 2.3)
        .route("R", "1", 3)
        .service("s", "1111111", [&start, &end])
        .trip("T1", "S 08:00, T 08:10")
}

/// Writes a schedule of one line that runs each day until `end`.
fn write_schedule(folder: &Path, end: Date) {
    schedule(Date::constant(2020, 1, 1), end).write_to(folder);
}

/// Starts a server with these schedules, each a folder that is polled every second.
fn serve(folder: &Path, ids: &[&str]) -> ServerProcess {
    let feeds: String = ids
        .iter()
        .map(|id| {
            let url = folder.join(id).display().to_string();
            format!("[[feed]]\nid = \"{id}\"\nurl = {url:?}\npoll = \"1s\"\n")
        })
        .collect();
    let text =
        format!("[server]\nlisten = \"127.0.0.1:0\"\ndrain = \"0s\"\n{}{feeds}", admin::table());
    ServerProcess::serving(folder, text)
}

async fn text(url: String) -> String {
    get(&url).await.text().await.unwrap()
}

#[tokio::test]
async fn an_expired_timetable_is_shown_as_expired_everywhere() {
    let folder = tempfile::tempdir().unwrap();
    let today = Zoned::now().date();
    write_schedule(&folder.path().join("old"), Date::constant(2024, 6, 1));
    write_schedule(&folder.path().join("soon"), today.saturating_add(5.days()));
    let server = serve(folder.path(), &["old", "soon"]);
    let url = &server.url;
    let old = wait_for_feed_state(&server.url, "old", "expired").await;
    assert_eq!(old["service_start"], "2020-01-01");
    assert_eq!((&old["service_end"], &old["expired"]), (&json!("2024-06-01"), &json!(true)));
    assert!(old["service_days_left"].as_i64().unwrap() < 0);
    assert_eq!(old["since"], "2024-06-02T00:00:00Z");
    let soon = wait_for_feed_state(&server.url, "soon", "ok").await;
    // The agency's day may differ from this machine's.
    let left = soon["service_days_left"].as_i64().unwrap();
    assert!((4..=6).contains(&left), "{left}");
    assert_eq!(soon["expired"], false);
    let found = get_json(&format!("{url}/api/v1/feeds?state=expired")).await;
    assert_eq!(found["items"].as_array().unwrap().len(), 1);
    assert_eq!(found["items"][0]["id"], "old");
    for section in ["availability", "badge", "matches"] {
        let redirect = get(&format!("{url}/feeds/old/{section}")).await;
        let target = format!("/feeds/old#{section}");
        assert_eq!((redirect.status().as_u16(), header(&redirect, "location")), (303, &*target));
        assert_eq!(get(&format!("{url}/feeds/none/{section}")).await.status(), 404);
    }
    let catalog = text(format!("{url}/")).await;
    assert!(catalog.contains("/?state=expired") && catalog.contains("data-tone=\"warn\""));
    let board = text(format!("{url}/stops/old/S")).await;
    assert!(board.contains("2024-06-01") && board.contains("data-expired-of=\"old\">"), "{board}");
    for path in ["/networks/old", "/routes/old/R"] {
        let page = text(format!("{url}{path}")).await;
        assert!(page.contains("data-expired-of=\"old\">"), "{path}: {page}");
    }
    for (path, next) in [("/stops/old/S", "/networks/old"), ("/delays/old", "/networks/old")] {
        let page = text(format!("{url}{path}")).await;
        let (_, step) = page.split_once("data-next-step=\"network\"").expect(path);
        assert!(step.contains(&format!("href=\"{next}\"")), "{path}: {page}");
    }
    assert!(board.contains("href=\"/feeds/old/versions\""), "{board}");
    let embedded = text(format!("{url}/stops/old/S?embed=1")).await;
    assert!(!embedded.contains("data-next-step"), "not out of a frame: {embedded}");
    let delays = text(format!("{url}/delays/old")).await;
    assert!(!delays.contains("data-expired-of"), "the answer has the end: {delays}");
    assert!(!delays.contains("<select") && !delays.contains("day-title"), "{delays}");
    let line = text(format!("{url}/routes/old/R")).await;
    assert!(line.find("line-idle").unwrap() < line.find("data-stop=").unwrap(), "{line}");
    assert!(!line.contains("#times") && !line.contains("id=\"times\""), "{line}");
    assert!(line.contains("data-idle=\"timetable_ended\""), "{line}");
    wait_until("the badge says so once there is a report", async || {
        text(format!("{url}/feeds/old/report.svg")).await.contains(">expired<")
    })
    .await;
    let index = text(format!("{url}/networks")).await;
    let (_, entry) = index.split_once("data-network=\"old\"").unwrap();
    let entry = entry.split("</li>").next().unwrap();
    assert!(entry.contains("data-ended=\"2024-06-01\""), "{entry}");
    assert!(!entry.contains("data-state="), "the end is said once: {entry}");
    let other = text(format!("{url}/stops/soon/S")).await;
    assert!(other.contains(&format!("data-days-left=\"{left}\"")), "{other}");
    assert!(catalog.contains("href=\"/?expires=soon\""), "{catalog}");
    let ending = text(format!("{url}/?expires=soon")).await;
    let rows =
        |id: &str| ending.matches(&format!("class=\"feed-name\" href=\"/feeds/{id}\"")).count();
    assert_eq!((rows("soon"), rows("old")), (1, 0), "{ending}");
    assert!(!other.contains("data-expired-of"), "{other}");
    let card = async |feed: &str| get_json(&format!("{url}/map/stop?feed={feed}&stop_id=S")).await;
    assert_eq!(card("old").await["timetable_ended"], "2024-06-01");
    assert_eq!(card("soon").await["timetable_ended"], Value::Null);
    assert_eq!(card("soon").await["times_feeds"], serde_json::json!([]));
    assert!(board.contains(card("old").await["no_departures"].as_str().unwrap()), "{board}");
    // The dashboard and the feed page show the same date.
    let ended = "datetime=\"2024-06-02T00:00:00+00:00\"";
    wait_until("the incident is on both pages, with one date", async || {
        let ops = get_with(&format!("{url}/ops"), &[BEARER]).await.text().await.unwrap();
        let (_, incidents) = ops.split_once("id=\"incidents\"").unwrap();
        let history = text(format!("{url}/feeds/old")).await;
        let history = history.split_once("<summary>History").map_or("", |(_, rest)| rest);
        let entry = history.split("</li>").next().unwrap();
        [incidents, entry]
            .iter()
            .all(|it| it.contains("data-state=\"expired\"") && it.contains(ended))
    })
    .await;
    let metrics = text(format!("{url}/metrics")).await;
    for line in [
        "lineside_ingest_feed_state{feed=\"old\",state=\"expired\"} 1",
        "lineside_ingest_service_end_timestamp_seconds{feed=\"old\"} 1717286400",
    ] {
        assert!(metrics.contains(line), "{line}");
    }
    server.stop("-TERM");
}

#[tokio::test]
async fn a_future_timetable_is_not_yet_valid() {
    let folder = tempfile::tempdir().unwrap();
    let start = Zoned::now().date().saturating_add(12.days());
    schedule(start, start.saturating_add(90.days())).write_to(&folder.path().join("next"));
    let server = serve(folder.path(), &["next"]);
    let url = &server.url;
    let next = wait_for_feed_state(&server.url, "next", "ok").await;
    assert_eq!((&next["not_yet_valid"], &next["expired"]), (&json!(true), &json!(false)));
    // The agency's day may differ from this machine's.
    let ahead = next["service_days_until_start"].as_i64().unwrap();
    assert!((11..=13).contains(&ahead), "{ahead}");
    assert_eq!(next["replay_time"], Value::Null);
    for path in ["/", "/feeds/next", "/feeds/next/versions", "/networks"] {
        let page = text(format!("{url}{path}")).await;
        assert!(page.contains("data-service-of=\"next\" data-tone=\"warn\">"), "{path}: {page}");
        assert!(!page.contains("data-recording-of"), "{path}: {page}");
    }
    for path in ["/networks/next", "/stops/next/S", "/routes/next/R", "/delays/next"] {
        let page = text(format!("{url}{path}")).await;
        assert!(page.contains(&format!("data-days-until-start=\"{ahead}\"")), "{path}: {page}");
    }
    // Without real-time feeds nobody knows of alerts, and nothing is live.
    let alerts = text(format!("{url}/alerts/next")).await;
    assert!(alerts.contains("data-source=\"none\"") && !alerts.contains("id=\"live\""), "{alerts}");
    server.stop("-TERM");
}

/// Writes two messages of 8 February 2024, from 12:00:00 on, about a vehicle and two trips that the timetable does not
/// have.
fn write_recording(folder: &Path) {
    std::fs::create_dir_all(folder).unwrap();
    for at in [1_707_393_600, 1_707_393_610] {
        let position = json!({"latitude": 48.8, "longitude": 2.3});
        let vehicle = json!({"position": position, "timestamp": at, "vehicle": {"id": "bus"}});
        let arrival = json!({"time": at + 300});
        let update = |trip: &str, route: &str| {
            json!({
                "trip": {"trip_id": trip, "route_id": route},
                "stop_time_update": [{"stop_id": "T", "arrival": arrival}],
            })
        };
        let message = json!({
            "header": {"gtfs_realtime_version": "2.0", "timestamp": at},
            "entity": [
                {"id": "bus", "vehicle": vehicle},
                {"id": "strange", "trip_update": update("strange", "R")},
                {"id": "other", "trip_update": update("other", "Q")},
            ],
        });
        std::fs::write(folder.join(format!("{at}.json")), message.to_string()).unwrap();
    }
}

/// Starts a server with a schedule and a recording from the time of its service.
fn serve_recording(folder: &Path, keys: &str) -> ServerProcess {
    let town = folder.join("town");
    write_schedule(&town, Date::constant(2024, 6, 1));
    let recording = folder.join("recording");
    write_recording(&recording);
    let config = format!(
        "[server]\nlisten = \"127.0.0.1:0\"\ndrain = \"0s\"\n\
         [[feed]]\nid = \"town\"\nurl = {:?}\npoll = \"1s\"\n\
         [[feed]]\nid = \"buses\"\nurl = \"replay://{}?speed=1\"\nstatic = \"town\"\nformat = \"gtfs-rt\"\n{keys}",
        town.display().to_string(),
        recording.display(),
    );
    ServerProcess::serving(folder, config)
}

#[tokio::test]
async fn a_recording_is_marked_on_every_page_with_its_time() {
    let folder = tempfile::tempdir().unwrap();
    let server = serve_recording(folder.path(), "");
    let url = &server.url;
    let is_replay_of_day = |found: &Value| {
        found["replay_time"].as_str().is_some_and(|at| at.starts_with("2024-02-08T12:"))
    };
    for feed in ["town", "buses"] {
        wait_for_feed(url, feed, is_replay_of_day).await;
    }
    // By the clock of the recording the timetable has not expired, and the mark names that clock.
    let feed = wait_for_feed_state(&server.url, "town", "ok").await;
    assert_eq!((&feed["expired"], &feed["service_end"]), (&json!(false), &json!("2024-06-01")));
    for path in [
        "/",
        "/feeds/town",
        "/feeds/buses",
        "/feeds/town/versions",
        "/networks",
        "/networks/town",
        "/stops/town/S",
        "/routes/town/R",
        "/trips/town/T1",
        "/alerts/town",
        "/delays/town",
    ] {
        let page = text(format!("{url}{path}")).await;
        let (_, mark) = page.split_once("data-recording-of=\"town\"").expect(path);
        let (mark, _) = mark.split_once("</span>").unwrap();
        assert!(mark.contains("datetime=\"2024-02-08T12:"), "{path}: {mark}");
    }
    let versions = text(format!("{url}/feeds/town/versions")).await;
    assert!(versions.contains("data-present=\"recording\""), "{versions}");
    let map = text(format!("{url}/map")).await;
    assert!(map.contains("data-recording-of=\"town\""), "{map}");
    // Ages are counted by the clock of the recording, not by that of the server.
    let (_, row) = map.split_once("data-vehicle=\"").unwrap();
    let (_, age) = row.split_once("data-age=\"").unwrap();
    let age: i64 = age.split('"').next().unwrap().parse().unwrap();
    assert!((0..86_400).contains(&age), "{age}");
    let alerts = text(format!("{url}/alerts/town")).await;
    assert!(alerts.contains("data-source=\"without_alerts\""), "{alerts}");
    assert!(!alerts.contains("id=\"live\""), "nothing live has alerts: {alerts}");
    assert!(alerts.contains("data-recorded") && !alerts.contains("data-live-end"), "{alerts}");
    // Reports have the time of the recording, and nothing of it happens now.
    let buses = text(format!("{url}/feeds/buses")).await;
    let (_, reported) = buses.split_once("data-recorded-clock").unwrap();
    assert!(reported.split('>').next().unwrap().contains("2024-02-08T12:00:"), "{reported}");
    let network = text(format!("{url}/networks/town")).await;
    assert!(!network.contains("href=\"/alerts/town\""), "the page would be empty: {network}");
    server.stop("-TERM");
}

#[tokio::test]
async fn delays_of_a_recording_belong_to_its_day_and_unknown_is_not_zero() {
    let folder = tempfile::tempdir().unwrap();
    let server = serve_recording(folder.path(), "late_after = \"1h\"\n");
    let url = &server.url;
    let found = wait_for_json(&format!("{url}/api/v1/feeds/town/delays"), |found| {
        found["day"].as_array().is_some_and(|day| !day.is_empty())
    })
    .await;
    assert_eq!(found["day"][0]["from"], json!("2024-02-08T12:00:00Z"), "{found}");
    assert_eq!((&found["answer"], &found["unknown"]), (&json!("unknown"), &json!(2)), "{found}");
    let page = text(format!("{url}/delays/town")).await;
    assert!(page.contains("data-answer=\"unknown\"") && page.contains("data-day=\"unknown\""));
    assert!(page.contains("href=\"/feeds/buses#matches\""), "{page}");
    assert_eq!(page.matches("data-line=\"").count(), 2, "{page}");
    // Columns without a value are left out.
    assert!(!page.contains("data-count=") && !page.contains("id=\"now-title\""), "{page}");
    server.stop("-TERM");
}

#[tokio::test]
async fn a_paused_feed_has_the_state_paused() {
    let folder = tempfile::tempdir().unwrap();
    write_schedule(&folder.path().join("town"), Date::constant(2999, 1, 1));
    let server = serve(folder.path(), &["town"]);
    let url = &server.url;
    let feed = wait_for_feed_state(&server.url, "town", "ok").await;
    assert_eq!((&feed["paused"], &feed["state_before_pause"]), (&json!(false), &Value::Null));
    let act = async |act: &str| {
        let act = format!("{url}/api/v1/admin/feeds/town/{act}");
        assert_eq!(client().post(act).bearer_auth(TOKEN).send().await.unwrap().status(), 200);
    };
    act("pause").await;
    let feed = wait_for_feed_state(&server.url, "town", "paused").await;
    assert_eq!((&feed["paused"], &feed["state_before_pause"]), (&json!(true), &json!("ok")));
    let found = get_json(&format!("{url}/api/v1/feeds?state=paused")).await;
    assert_eq!(found["items"].as_array().unwrap().len(), 1);
    let is_paused = |state: &Value| {
        let changes = state["changes"].as_array().into_iter().flatten();
        let mut records = changes.map(|change| &change["record"]);
        records.any(|it| it["state"] == "paused" && it["state_before_pause"] == "ok")
    };
    wait_for_json(&format!("{url}/api/v1/feeds/town/state"), is_paused).await;
    let status = format!("{url}/proxy/town");
    let is_reported = async || {
        let reply = get(&status).await;
        header(&reply, "lineside-status").starts_with("stale; reason=paused; since=")
    };
    wait_until("the header says it", is_reported).await;
    act("resume").await;
    let feed = wait_for_feed_state(&server.url, "town", "ok").await;
    assert_eq!((&feed["paused"], &feed["state_before_pause"]), (&json!(false), &Value::Null));
    server.stop("-TERM");
}

#[tokio::test]
async fn a_schedule_without_rows_does_not_replace_a_good_one() {
    let folder = tempfile::tempdir().unwrap();
    let town = folder.path().join("town");
    write_schedule(&town, Date::constant(2999, 1, 1));
    let server = serve(folder.path(), &["town"]);
    let url = &server.url;
    wait_for_feed_state(&server.url, "town", "ok").await;
    for (name, text) in schedule(Date::constant(2020, 1, 1), Date::constant(2999, 1, 1)).files() {
        let header = text.lines().next().unwrap();
        std::fs::write(town.join(name), format!("{header}\n")).unwrap();
    }
    let is_refused = |feed: &Value| feed["last_error"]["code"] == "no_rows";
    let feed = wait_for_feed(url, "town", is_refused).await;
    assert_eq!((&feed["state"], &feed["entities"]), (&json!("stale"), &json!(1)));
    assert_eq!(get(&format!("{url}/stops/town/S")).await.status(), 200);
    write_schedule(&town, Date::constant(2999, 1, 1));
    wait_for_feed_state(&server.url, "town", "ok").await;
    server.stop("-TERM");
}

#[tokio::test]
async fn networks_are_sorted_without_accents_and_stops_with_one_name_have_numbers() {
    let folder = tempfile::tempdir().unwrap();
    let plain = schedule(Date::constant(2020, 1, 1), Date::constant(2999, 1, 1));
    let equal_names = TestSchedule::new("UTC")
        .stop("X:S", "Market", 48.8, 2.3)
        .stop("X:T", "Market", 48.9, 2.3)
        .trip("T1", "X:S 08:00, X:T 08:10");
    for (id, agency, schedule) in
        [("a", "Sound", &equal_names), ("b", "São Paulo", &plain), ("c", "samtrans", &plain)]
    {
        let row = format!("a,{agency},https://a.example,UTC");
        let head = "agency_id,agency_name,agency_url,agency_timezone";
        let schedule = schedule.clone().table("agency.txt", format!("{head}\n{row}\n"));
        schedule.write_to(&folder.path().join(id));
    }
    let server = serve(folder.path(), &["a", "b", "c"]);
    for id in ["a", "b", "c"] {
        wait_for_feed_state(&server.url, id, "ok").await;
    }
    let index = text(format!("{}/networks", server.url)).await;
    let ids = index.split("data-network=\"").skip(1).map(|it| it.split('"').next().unwrap());
    assert_eq!(ids.collect::<Vec<_>>(), ["c", "b", "a"]);
    let numbers = async |network: &str| {
        let page = text(format!("{}/networks/{network}", server.url)).await;
        page.matches("data-stop-number").count()
    };
    assert_eq!((numbers("a").await, numbers("b").await), (2, 0));
    server.stop("-TERM");
}
