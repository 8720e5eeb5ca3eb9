//! Reports: each new version of a schedule is validated, and the findings are shown, announced and stored.

use std::collections::BTreeSet;
use std::path::Path;

use lineside_testkit::{
    wait_for_feed_state, wait_for_json, wait_for_status, wait_until, wait_until_ready,
};
use serde_json::{Value, json};

use crate::restarts;
use crate::support::events::{ReceivedState, Stream};
use crate::support::http::{assert_problem, get, get_json, get_text, header, problem};
use crate::support::process::ServerProcess;
use crate::support::producer::{Answer, Producer, Reply, answer};

/// Returns a schedule with an additional line in its stops.
pub(crate) fn schedule(stop: &str) -> Vec<u8> {
    let schedule = restarts::schedule();
    // An empty row would be a finding.
    if stop.is_empty() { schedule.zip() } else { schedule.row("stops.txt", stop.trim_end()).zip() }
}

/// A misplaced stop whose name contains markup.
pub(crate) const FAR: &str = "<b>U</b>,Far,0.0,0.0";

struct ServerSetup {
    folder: tempfile::TempDir,
    producer: Producer,
}

impl ServerSetup {
    async fn new(keys: &str) -> Self {
        let producer = Producer::start(Answer::Bytes(Vec::new())).await;
        let setup = Self { folder: tempfile::tempdir().unwrap(), producer };
        let config = format!(
            "[server]\nlisten = \"127.0.0.1:0\"\ndata_dir = \"data\"\ndrain = \"0s\"\n\
             [[feed]]\nid = \"city\"\nurl = \"{}\"\npoll = \"1s\"\n\
             [[feed]]\nid = \"notes\"\nurl = \"lineside.toml\"\nformat = \"raw\"\n{keys}",
            setup.producer.url("/city.zip")
        );
        std::fs::write(setup.config(), config).unwrap();
        setup
    }

    fn config(&self) -> std::path::PathBuf {
        self.folder.path().join("lineside.toml")
    }

    fn give(&self, bytes: &[u8]) {
        self.producer.set(Answer::Bytes(answer("200 OK", &[], bytes)));
    }

    async fn start(&self) -> ServerProcess {
        let server = ServerProcess::start(&["serve", "--config", self.config().to_str().unwrap()]);
        wait_until_ready(&server.url).await;
        server
    }
}

/// Returns the number of findings of a code in the report.
pub(crate) fn count(report: &Value, code: &str) -> u64 {
    let notices = report["notices"].as_array().unwrap();
    let found = notices.iter().find(|notice| notice["code"] == code);
    found.map_or(0, |notice| notice["totalNotices"].as_u64().unwrap())
}

/// Returns the notifications in all messages to a hook.
pub(crate) fn notifications(hook: &Producer) -> Vec<Value> {
    let bodies = hook.requests().into_iter().filter(|request| request.starts_with("POST /hook"));
    let messages = bodies.map(|request| {
        let body = request.split_once("\r\n\r\n").unwrap().1.to_owned();
        serde_json::from_str::<Value>(&body).unwrap()
    });
    messages.flat_map(|message| message["notifications"].as_array().unwrap().clone()).collect()
}

/// Returns the notifications of findings that a hook received.
pub(crate) fn findings(hook: &Producer) -> Vec<Value> {
    notifications(hook).into_iter().filter(|it| it["kind"] == "findings").collect()
}

async fn wait_for_record(
    stream: &mut Stream,
    channel_state: &mut ReceivedState,
    is_met: impl Fn(&Value) -> bool,
) -> Value {
    loop {
        let found = channel_state.records_of_kind("report").find(|record| is_met(record)).cloned();
        if let Some(found) = found {
            return found;
        }
        channel_state.apply(&stream.next().await.unwrap().data);
    }
}

/// Starts a server with a valid schedule that sends new errors to the returned hook.
async fn with_alert() -> (Producer, ServerSetup, ServerProcess) {
    let hook = Producer::answering(|_| Reply::ok("")).await;
    let keys = format!("[[alert]]\nto = {:?}\non = [\"findings\"]\n", hook.url("/hook"));
    let setup = ServerSetup::new(&keys).await;
    setup.give(&schedule(""));
    let server = setup.start().await;
    (hook, setup, server)
}

#[tokio::test]
async fn every_version_has_a_lasting_report_and_new_errors_are_announced() {
    let (hook, setup, server) = with_alert().await;
    let report_url = format!("{}/api/v1/feeds/city/report", server.url);
    let first = wait_for_json(&report_url, |found| found["notices"].is_array()).await;
    assert_eq!(first["lineside"]["outcome"], "whole");
    assert_eq!(first["lineside"]["previous"], Value::Null);
    assert_eq!(first["summary"]["counts"]["Stops"], 2, "{first}");
    assert_eq!(count(&first, "point_near_origin"), 0);

    let mut stream = Stream::open(&server.url, "channel=report/city").await;
    let mut channel_state = ReceivedState::default();
    wait_for_record(&mut stream, &mut channel_state, |record| record["errors"] == 0).await;
    setup.give(&schedule(FAR));
    let active_record =
        wait_for_record(&mut stream, &mut channel_state, |record| record["errors"] != 0).await;
    let second = get_json(&report_url).await;
    assert_eq!(second["lineside"]["version"], active_record["version"]);
    assert_eq!(second["lineside"]["previous"], first["lineside"]["version"]);
    assert_eq!(count(&second, "point_near_origin"), 1);
    let change = json!({"code": "point_near_origin", "severity": "ERROR", "before": 0, "now": 1});
    assert!(active_record["changed"].as_array().unwrap().contains(&change), "{active_record}");

    shown(&server.url, &first, &second).await;
    listed(&server.url, &second).await;
    in_the_catalog(&server.url, &second).await;
    wait_until("the webhook is notified", async || !findings(&hook).is_empty()).await;
    let sent = &findings(&hook)[0];
    assert_eq!(sent["errors"], json!([{"code": "point_near_origin", "before": 0, "now": 1}]));
    let address = second["lineside"]["url"].as_str().unwrap();
    let path = address.strip_prefix(server.url.as_str()).unwrap();
    assert!(sent["report"].as_str().unwrap().ends_with(path), "{sent}");

    // Reports survive a crash and an outage of the producer, and nothing is announced twice.
    server.stop("-KILL");
    setup.producer.set(Answer::Bytes(answer("500 Internal Server Error", &[], b"")));
    let server = setup.start().await;
    let report_url = format!("{}/api/v1/feeds/city/report", server.url);
    let first_report = wait_for_json(&report_url, |found| found["notices"].is_array()).await;
    assert_eq!(first_report["lineside"]["at"], second["lineside"]["at"], "it was not made again");
    let version_of = |report: &Value| report["lineside"]["version"].as_str().unwrap().to_owned();
    let earlier = get_json(&format!("{report_url}?version={}", version_of(&first))).await;
    assert_eq!(earlier["notices"], first["notices"]);
    get_text(&format!("{}/feeds/city/versions/{}/report", server.url, version_of(&first))).await;
    let metrics = get_text(&format!("{}/metrics", server.url)).await;
    assert!(metrics.contains("lineside_validation_finished_total 0"), "{metrics}");
    // The crash may precede the record of the delivery. Then the hook receives the same notification again.
    let ids: BTreeSet<String> = findings(&hook).iter().map(|it| it["id"].to_string()).collect();
    assert_eq!(ids.len(), 1, "{ids:?}");
    let odd = problem(&format!("{report_url}?version=zz")).await;
    assert_problem(400, "bad_parameter", odd);
    let nowhere = format!("{report_url}?version={}", "0".repeat(64));
    assert_problem(404, "not_found", problem(&nowhere).await);
    server.stop("-TERM");
}

#[tokio::test]
async fn recurring_errors_are_announced_again() {
    let (hook, setup, server) = with_alert().await;
    let report_url = format!("{}/api/v1/feeds/city/report", server.url);
    for n_sent in 1..=2 {
        // Two valid versions, so that the test has time to see one of them.
        for (stop, stops) in [("", 2), ("F,Fair,59.9,10.7\n", 3)] {
            setup.give(&schedule(stop));
            let is_well = |found: &Value| {
                count(found, "point_near_origin") == 0
                    && found["summary"]["counts"]["Stops"] == stops
            };
            wait_for_json(&report_url, is_well).await;
        }
        setup.give(&schedule(FAR));
        wait_until("the webhook is notified", async || findings(&hook).len() >= n_sent).await;
    }
    let ids: BTreeSet<String> = findings(&hook).iter().map(|it| it["id"].to_string()).collect();
    assert_eq!(ids.len(), 2, "{ids:?}");
    server.stop("-TERM");
}

/// Asserts the content of pages and the badge on the two versions.
async fn shown(server: &str, first: &Value, second: &Value) {
    let page = get_text(&format!("{server}/feeds/city")).await;
    let version_of = |report: &Value| report["lineside"]["version"].as_str().unwrap().to_owned();
    let (before, now) = (version_of(first), version_of(second));
    for part in [
        "/rules/point_near_origin",
        "data-severity=\"error\"",
        "new, 1",
        "report-map",
        "&lt;b&gt;U&lt;/b&gt;",
    ] {
        assert!(page.contains(part), "{part}: {page}");
    }
    assert!(!page.contains("<b>U"), "{page}");
    assert!(page.contains(&format!("/feeds/city/versions/{now}/report")), "{page}");
    let page = get_text(&format!("{server}/feeds/city/versions/{before}/report")).await;
    assert!(!page.contains("near_<wbr>origin") && !page.contains("point_near_origin"), "{page}");
    assert!(page.contains("<h1>Report on city</h1>"), "{page}");
    assert!(page.contains("class=\"version-validity\""), "{page}");
    let badge = get(&format!("{server}/feeds/city/report.svg")).await;
    assert_eq!(header(&badge, "content-type"), "image/svg+xml");
    let badge = badge.text().await.unwrap();
    assert!(badge.contains("aria-label=\"city: 1 error\""), "{badge}");
}

/// Asserts the reports in the lists of feeds.
async fn in_the_catalog(server: &str, second: &Value) {
    let feeds = get_json(&format!("{server}/api/v1/feeds")).await;
    let find_feed = |id: &str| {
        let items = feeds["items"].as_array().unwrap();
        items.iter().find(|item| item["id"] == id).unwrap()["report"].clone()
    };
    let counts = find_feed("city")["counts"].clone();
    assert_eq!(
        (&counts["errors"], &counts["warnings"]),
        (&second["lineside"]["errors"], &second["lineside"]["warnings"])
    );
    assert_eq!(find_feed("city")["subject"], "dataset");
    assert_eq!(find_feed("notes"), Value::Null, "what was not looked at is no feed without errors");
    let one = get_json(&format!("{server}/api/v1/feeds/city")).await;
    assert_eq!(one["report"]["counts"], counts);
    for (verdict, found) in [
        ("errors", vec!["city"]),
        ("warnings", vec![]),
        ("none", vec![]),
        ("unknown", vec!["notes"]),
    ] {
        let list = get_json(&format!("{server}/api/v1/feeds?report={verdict}")).await;
        let items = list["items"].as_array().unwrap().iter();
        let ids: Vec<&str> = items.map(|item| item["id"].as_str().unwrap()).collect();
        assert_eq!(ids, found, "{verdict}");
        let page = get_text(&format!("{server}/?report={verdict}")).await;
        assert_eq!(
            page.contains("href=\"/feeds/city#report-dataset\">1\u{a0}error, "),
            verdict == "errors"
        );
    }
    assert_problem(
        400,
        "bad_parameter",
        problem(&format!("{server}/api/v1/feeds?report=bad")).await,
    );
    let page = get_text(&format!("{server}/")).await;
    assert!(page.contains("<a href=\"/?report=errors\">1</a> has errors in its report."), "{page}");
    let page = get_text(&format!("{server}/feeds/city")).await;
    for part in [
        "<a href=\"#report-dataset\">1\u{a0}error, ",
        "channel=report/city",
        "href=\"/feeds/city/report.svg\"",
        "<img src=\"/feeds/city/report.svg\"",
        "data-badge=\"markdown\"",
        "data-badge=\"html\"",
        "id=\"problems\"",
    ] {
        assert!(page.contains(part), "{part}: {page}");
    }
}

/// Asserts the reports in the list of versions.
async fn listed(server: &str, second: &Value) {
    let url = format!("{server}/api/v1/feeds/city/versions");
    // The store writes a moment later.
    let is_listed = |found: &Value| found["items"][0]["report"]["url"] == second["lineside"]["url"];
    let versions = wait_for_json(&url, is_listed).await;
    let report = &versions["items"][0]["report"];
    assert_eq!(report["counts"]["outcome"], "whole");
    assert_eq!(report["counts"]["errors"], second["lineside"]["errors"]);
    let page = get_text(&format!("{server}/feeds/city/versions")).await;
    assert!(page.contains("/report\">1\u{a0}error, "), "{page}");
}

#[tokio::test]
async fn reports_on_refused_versions_do_not_displace_others() {
    let house = ServerSetup::new("[retention]\nreports = 2\n").await;
    let sound = schedule("");
    house.give(&sound);
    let server = house.start().await;
    let url = format!("{}/api/v1/feeds/city/report", server.url);
    let good = wait_for_json(&url, |found| found["lineside"]["outcome"] == "whole").await;
    let version = good["lineside"]["version"].as_str().unwrap().to_owned();
    let mut seen = Vec::new();
    for cut in 0..4 {
        house.give(&sound[..200 + cut]);
        let is_new = |found: &Value| {
            found["lineside"]["outcome"] == "unreadable"
                && !seen.contains(&found["lineside"]["version"])
        };
        let found = wait_for_json(&url, is_new).await;
        seen.push(found["lineside"]["version"].clone());
    }
    server.stop("-TERM");
    let server = house.start().await;
    let url = format!("{}/api/v1/feeds/city/report", server.url);
    let oldest = format!("{url}?version={}", seen[0].as_str().unwrap());
    wait_for_status(&oldest, 404).await;
    let other_report = get_json(&format!("{url}?version={version}")).await;
    assert_eq!(other_report["notices"], good["notices"]);
    server.stop("-TERM");
}

#[tokio::test]
async fn an_unreadable_schedule_has_a_report_until_it_is_fixed() {
    let setup = ServerSetup::new("").await;
    let sound = schedule("");
    setup.give(&sound);
    let server = setup.start().await;
    let url = format!("{}/api/v1/feeds/city/report", server.url);
    let good = wait_for_json(&url, |found| found["notices"].is_array()).await;
    setup.give(&sound[..200]);
    let found = wait_for_json(&url, |found| found["lineside"]["outcome"] == "unreadable").await;
    assert_eq!((count(&found, "unreadable"), &found["lineside"]["refused"]), (1, &json!(true)));
    assert_eq!(found["lineside"]["previous"], good["lineside"]["version"]);
    let change = json!([{"code": "unreadable", "severity": "ERROR", "before": 0, "now": 1}]);
    assert_eq!(found["lineside"]["changed"], change, "the rest is not known to be gone");
    let page = get_text(&format!("{}/feeds/city", server.url)).await;
    assert!(page.contains("This version is not served"), "{page}");
    let badge = get_text(&format!("{}/feeds/city/report.svg", server.url)).await;
    assert!(badge.contains("unreadable"), "{badge}");
    // The last good version returns, and is the current one.
    setup.give(&sound);
    let mended = wait_for_json(&url, |found| found["lineside"]["outcome"] == "whole").await;
    assert_eq!(mended["lineside"]["version"], good["lineside"]["version"]);
    assert_eq!(count(&mended, "unreadable"), 0);
    assert_eq!(
        mended["lineside"]["previous"],
        Value::Null,
        "no other version could be read so far"
    );
    server.stop("-TERM");
}

#[tokio::test]
async fn a_check_over_the_memory_limit_is_reported_as_unfinished() {
    let setup = ServerSetup::new("[validation]\nmemory = \"1KiB\"\n").await;
    setup.give(&schedule(&"V,More,59.9,10.7\n".repeat(200)));
    let server = setup.start().await;
    let url = format!("{}/api/v1/feeds/city/report", server.url);
    let found = wait_for_json(&url, |found| found["lineside"]["outcome"] == "unfinished").await;
    assert!(found["lineside"]["reason"].as_str().unwrap().contains("validation.memory"), "{found}");
    assert_eq!(
        (found["notices"].as_array().unwrap().len(), &found["lineside"]["errors"]),
        (0, &json!(0))
    );
    let page = get_text(&format!("{}/feeds/city", server.url)).await;
    assert!(page.contains("says nothing of the data"), "{page}");
    let badge = get_text(&format!("{}/feeds/city/report.svg", server.url)).await;
    assert!(badge.contains("unknown"), "{badge}");
    let metrics = get_text(&format!("{}/metrics", server.url)).await;
    assert!(metrics.contains("lineside_validation_aborted_total 1"), "{metrics}");
    server.stop("-TERM");
}

/// Writes a configuration with feeds from files in the same folder.
fn write_feeds(folder: &Path, n: usize, keys: &str) -> String {
    std::fs::write(folder.join("city.zip"), schedule("")).unwrap();
    let feed = |n| format!("[[feed]]\nid = \"city-{n}\"\nurl = \"city.zip\"\n");
    let feeds: String = (0..n).map(feed).collect();
    let server = "[server]\nlisten = \"127.0.0.1:0\"\ndrain = \"0s\"\n";
    let file = folder.join("lineside.toml");
    std::fs::write(&file, format!("{server}{keys}{feeds}")).unwrap();
    file.to_str().unwrap().to_owned()
}

#[tokio::test]
async fn a_full_queue_is_counted_and_every_feed_is_checked() {
    const FEEDS: usize = 20;
    let folder = tempfile::tempdir().unwrap();
    let config = write_feeds(folder.path(), FEEDS, "[validation]\nqueue = 1\n");
    let server = ServerProcess::start(&["serve", "--config", &config]);
    for n in 0..FEEDS {
        let url = format!("{}/api/v1/feeds/city-{n}/report", server.url);
        wait_for_json(&url, |found| found["lineside"]["outcome"] == "whole").await;
    }
    let metrics = get_text(&format!("{}/metrics", server.url)).await;
    let value = |name: &str| {
        let line = metrics.lines().find(|line| line.starts_with(&format!("{name} ")));
        line.unwrap().rsplit(' ').next().unwrap().parse::<u64>().unwrap()
    };
    assert!(value("lineside_validation_refused_total") > 0, "{metrics}");
    assert_eq!(value("lineside_validation_slots"), 1);
    assert_eq!(value("lineside_validation_finished_total"), FEEDS as u64);
    assert_eq!(value("lineside_validation_seconds_count"), FEEDS as u64);
    assert_problem(
        404,
        "unknown_feed",
        problem(&format!("{}/events?channel=report/nobody", server.url)).await,
    );
    server.stop("-TERM");
}

#[tokio::test]
async fn without_slots_nothing_is_validated() {
    let folder = tempfile::tempdir().unwrap();
    let config = write_feeds(folder.path(), 1, "[validation]\nconcurrency = 0\n");
    let server = ServerProcess::start(&["serve", "--config", &config]);
    wait_for_feed_state(&server.url, "city-0", "ok").await;
    assert_problem(
        404,
        "not_found",
        problem(&format!("{}/api/v1/feeds/city-0/report", server.url)).await,
    );
    let badge = get_text(&format!("{}/feeds/city-0/report.svg", server.url)).await;
    assert!(badge.contains("unknown"), "{badge}");
    server.stop("-TERM");
}
