//! Reports on SIRI: each message is validated by SIRI's own rules, and its content by the real-time rules.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use jiff::{Timestamp, ToSpan as _};
use lineside::{Config, ServerOptions};
use lineside_sync::{Clock as _, RealClock, ScaledClock};
use lineside_testkit::{wait_for_json, wait_until_ready};
use serde_json::{Value, json};

use crate::restarts;
use crate::support::http::get;
use crate::support::process::{ServerProcess, lineside};
use crate::support::producer::{Producer, Reply};

/// Returns vehicles on unknown trips, which reported `seconds_ago`; the last one has no name.
fn vehicles(number: u64, seconds_ago: i64) -> String {
    let now = Timestamp::now();
    let at = now - seconds_ago.seconds();
    let until = now + 60.seconds();
    let vehicle = |n: u64| {
        let named = if n < 6 { format!("<VehicleRef>V{n}</VehicleRef>") } else { String::new() };
        format!(
            "<VehicleActivity><RecordedAtTime>{at}</RecordedAtTime><ValidUntilTime>{until}</ValidUntilTime>\
             <MonitoredVehicleJourney><LineRef>L</LineRef><FramedVehicleJourneyRef>\
             <DataFrameRef>2026-11-22</DataFrameRef><DatedVehicleJourneyRef>none-{n}</DatedVehicleJourneyRef>\
             </FramedVehicleJourneyRef><VehicleLocation><Longitude>10.7</Longitude>\
             <Latitude>59.{number:06}</Latitude></VehicleLocation>{named}</MonitoredVehicleJourney></VehicleActivity>"
        )
    };
    let all: String = (0..7).map(vehicle).collect();
    format!(
        "<Siri xmlns=\"http://www.siri.org.uk/siri\" version=\"2.0\"><ServiceDelivery>\
         <ResponseTimestamp>{now}</ResponseTimestamp><VehicleMonitoringDelivery>\
         <ResponseTimestamp>{now}</ResponseTimestamp>{all}</VehicleMonitoringDelivery></ServiceDelivery></Siri>"
    )
}

/// Returns a producer that makes a new message for every reply.
async fn producer(seconds_ago: i64) -> Producer {
    let number = Arc::new(AtomicU64::new(900_000));
    Producer::answering(move |_| {
        Reply::ok(&vehicles(number.fetch_add(1, Ordering::Relaxed), seconds_ago))
    })
    .await
}

async fn start(folder: &std::path::Path, feeds: &str) -> ServerProcess {
    let file = folder.join("lineside.toml");
    let server = "[server]\nlisten = \"127.0.0.1:0\"\ndrain = \"0s\"\n";
    std::fs::write(&file, format!("{server}{feeds}")).unwrap();
    let server = ServerProcess::start(&["serve", "--config", file.to_str().unwrap()]);
    wait_until_ready(&server.url).await;
    server
}

fn codes(report: &Value) -> Vec<(String, u64)> {
    let notices = report["notices"].as_array().unwrap().iter();
    let code = |notice: &Value| notice["code"].as_str().unwrap().to_owned();
    notices.map(|notice| (code(notice), notice["totalNotices"].as_u64().unwrap())).collect()
}

#[tokio::test]
async fn siri_is_checked_by_its_own_rules_and_against_the_schedule() {
    let folder = tempfile::tempdir().unwrap();
    let schedule = folder.path().join("city");
    restarts::schedule().write_to(&schedule);
    let producer = producer(300).await;
    let feeds = format!(
        "[[feed]]\nid = \"city\"\nurl = \"city\"\n\
         [[feed]]\nid = \"buses\"\nurl = {:?}\nstatic = \"city\"\npoll = \"1s\"\n\
         siri = {{ services = [\"vm\"], mode = \"request\" }}\n",
        producer.url("/siri")
    );
    let server = start(folder.path(), &feeds).await;
    let url = format!("{}/api/v1/feeds/buses/report", server.url);
    let is_whole = |found: &Value| found["summary"]["namedTrips"].as_u64() >= Some(6);
    let found = wait_for_json(&url, is_whole).await;
    assert_eq!(found["lineside"]["subject"], "realtime");
    assert_eq!(found["lineside"]["outcome"], "whole");
    let codes = codes(&found);
    let count = |code: &str| codes.iter().find(|(it, _)| it == code).map_or(0, |(_, n)| *n);
    // SIRI's own codes and those of the content, none of which is GTFS-Realtime's.
    assert_eq!(count("vehicle_without_ref"), 1, "{codes:?}");
    assert!(count("low_match_rate") >= 1 && count("stale_vehicle") >= 6, "{codes:?}");
    let is_reference_code = |code: &String| code.starts_with(['E', 'W']);
    assert!(!codes.iter().any(|(code, _)| is_reference_code(code)), "{codes:?}");
    assert_eq!(found["summary"]["matchedTrips"], 0);
    let page = get(&format!("{}/feeds/buses", server.url)).await.text().await.unwrap();
    for part in ["id=\"report-realtime\"", "report-since", "vehicle_without_ref"] {
        assert!(page.contains(part), "{part}: {page}");
    }
    server.stop("-TERM");

    // The command reports the same on the same message.
    let file = folder.path().join("siri.xml");
    std::fs::write(&file, vehicles(1, 300)).unwrap();
    let arguments = ["check", file.to_str().unwrap(), "--format", "json"];
    let run_check = |more: &[&str]| {
        let done = lineside(&[&arguments[..], more].concat()).output().unwrap();
        serde_json::from_slice::<Value>(&done.stdout).unwrap()
    };
    let alone = self::codes(&run_check(&[]));
    assert!(alone.iter().all(|(code, _)| code != "low_match_rate"), "{alone:?}");
    let with_schedule = self::codes(&run_check(&["--static", schedule.to_str().unwrap()]));
    for code in ["vehicle_without_ref", "low_match_rate", "stale_vehicle"] {
        assert!(
            codes.iter().any(|it| it.0 == code && with_schedule.contains(it)),
            "{code}: {with_schedule:?}, {codes:?}"
        );
    }
    assert!(!with_schedule.iter().any(|(code, _)| is_reference_code(code)), "{with_schedule:?}");
}

#[tokio::test]
async fn siri_changes_are_validated_together_without_staleness_findings() {
    let folder = tempfile::tempdir().unwrap();
    let producer = producer(300).await;
    let feeds = format!(
        "[[feed]]\nid = \"buses\"\nurl = {:?}\npoll = \"1s\"\n\
         siri = {{ services = [\"vm\"], mode = \"request\", answers = \"changes\", requestor_ref = \"us\" }}\n",
        producer.url("/siri")
    );
    let server = start(folder.path(), &feeds).await;
    let url = format!("{}/api/v1/feeds/buses/report", server.url);
    let found = wait_for_json(&url, |found| found["notices"].is_array()).await;
    assert_eq!(found["summary"]["withoutSchedule"], json!(true));
    let codes = codes(&found);
    let [(code, count)] = codes.as_slice() else { panic!("{codes:?}") };
    assert_eq!(code, "vehicle_without_ref");
    assert!(*count > 1, "several messages are counted in one report: {count}");
    server.stop("-TERM");
}

/// Returns a producer that always replies with the message of this moment, and its feed.
async fn frozen() -> (Producer, String) {
    let producer = Producer::start(Reply::ok(&vehicles(900_000, 0)).into()).await;
    let feed = format!(
        "[[feed]]\nid = \"buses\"\nurl = {:?}\npoll = \"1s\"\n\
         siri = {{ services = [\"vm\"], mode = \"request\" }}\n",
        producer.url("/siri")
    );
    (producer, feed)
}

#[tokio::test]
async fn an_unchanged_answer_becomes_stale() {
    let (_producer, feed) = frozen().await;
    let text = format!("[server]\nlisten = \"127.0.0.1:0\"\ndrain = \"0s\"\n{feed}");
    let text = text.replace("poll = \"1s\"", "poll = \"20s\"");
    let folder = tempfile::tempdir().unwrap();
    let config = Config::parse(&folder.path().join("lineside.toml"), &text);
    // Half a minute passes in less than a second.
    let clock = Arc::new(ScaledClock::new(RealClock::new().wall_time(), 40.0));
    let start =
        ServerOptions { config: config.unwrap(), clock, seed: 7, demo: None, base_map: None };
    let server = lineside::start_server(start).await.unwrap();
    let url = format!("http://{}/api/v1/feeds/buses/report", server.listen_address());
    let count = |found: &Value, code: &str| {
        codes(found).into_iter().find(|(it, _)| it == code).map_or(0, |(_, n)| n)
    };
    let old = wait_for_json(&url, |found| count(found, "stale_vehicle") == 7).await;
    assert_eq!(count(&old, "vehicle_without_ref"), 1, "what else it has stays: {old}");
    assert!(codes(&old).iter().all(|(code, _)| !code.starts_with('W')), "{old}");
    server.shut_down().await;
}

#[tokio::test]
async fn an_unchanged_answer_is_validated_again_after_a_restart() {
    let (_producer, feed) = frozen().await;
    let folder = tempfile::tempdir().unwrap();
    let n_checks = |found: &Value| found["summary"]["presence"]["messages"].as_u64();
    for n in 1..=2 {
        let server = start(folder.path(), &format!("data_dir = \"data\"\n{feed}")).await;
        let url = format!("{}/api/v1/feeds/buses/report", server.url);
        wait_for_json(&url, |found| n_checks(found) == Some(n)).await;
        server.stop("-TERM");
    }
}
