//! Messages that refer to an earlier version of the schedule: the report names the version, even if only the store has
//! it.

use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::{SystemTime, UNIX_EPOCH};

use lineside_testkit::{wait_for_json, wait_until_ready};
use serde_json::{Value, json};

use crate::restarts::stops_and_route;
use crate::support::process::ServerProcess;
use crate::support::producer::{Answer, Producer, Reply, answer};

/// Number of trips of each version; the rule ignores fewer.
const TRIPS: usize = 6;

fn trips(version: &str) -> impl Iterator<Item = String> {
    (0..TRIPS).map(move |n| format!("{version}-{n}"))
}

/// Returns a schedule whose trip ids contain its version.
fn schedule(version: &str) -> Vec<u8> {
    trips(version).fold(stops_and_route(), |it, trip| it.trip(&trip, "S 08:00, T 08:05")).zip()
}

/// Returns a message on the trips of a version, or an empty one.
fn message(version: Option<&str>) -> String {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |it| it.as_secs());
    let update = |trip: String| {
        json!({"id": trip, "trip_update": {
            "trip": {"trip_id": trip, "schedule_relationship": "SCHEDULED"},
            "vehicle": {"id": trip},
            "timestamp": now,
            "stop_time_update": [{
                "stop_sequence": 1, "stop_id": "S", "departure": {"delay": 60},
                "schedule_relationship": "SCHEDULED"
            }]
        }})
    };
    let updates: Vec<Value> = version.into_iter().flat_map(trips).map(update).collect();
    let header = json!({
        "gtfs_realtime_version": "2.0", "incrementality": "FULL_DATASET", "timestamp": now
    });
    json!({"header": header, "entity": updates}).to_string()
}

struct ServerSetup {
    folder: tempfile::TempDir,
    city: Producer,
    /// The version that the message refers to.
    user_agent: Arc<Mutex<Option<&'static str>>>,
}

impl ServerSetup {
    async fn new() -> Self {
        let about = Arc::new(Mutex::new(None));
        let user_agent = Arc::clone(&about);
        let buses =
            Producer::answering(move |_| Reply::ok(&message(*user_agent.lock().unwrap()))).await;
        let city = Producer::start(Answer::Bytes(Vec::new())).await;
        let setup = Self { folder: tempfile::tempdir().unwrap(), city, user_agent: about };
        let config = format!(
            "[server]\nlisten = \"127.0.0.1:0\"\ndata_dir = \"data\"\ndrain = \"0s\"\n\
             [[feed]]\nid = \"city\"\nurl = \"{}\"\npoll = \"1s\"\n\
             [[feed]]\nid = \"buses\"\nurl = \"{}\"\nformat = \"gtfs-rt\"\nstatic = \"city\"\npoll = \"1s\"\n",
            setup.city.url("/city.zip"),
            buses.url("/buses.pb")
        );
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

    fn give(&self, version: &str) {
        self.city.set(Answer::Bytes(answer("200 OK", &[], &schedule(version))));
    }

    /// Sends messages on a version, and waits until the report names it as the best match.
    async fn version_that_fits(&self, about: &'static str, server: &ServerProcess, hash: &str) {
        *self.user_agent.lock().unwrap() = Some(about);
        let url = format!("{}/api/v1/feeds/buses/report", server.url);
        let is_in_reply = |found: &Value| skew(found).is_some_and(|it| it["version"] == hash);
        let found = wait_for_json(&url, is_in_reply).await;
        let sample = skew(&found).unwrap();
        assert_eq!((&sample["rate"], &sample["currentRate"]), (&json!(100.0), &json!(0.0)));
    }
}

/// Returns the sample that names another version.
fn skew(report: &Value) -> Option<&Value> {
    let notices = report["notices"].as_array()?;
    let found = notices.iter().find(|notice| notice["code"] == "schedule_version_skew")?;
    found["sampleNotices"].get(0)
}

#[tokio::test]
async fn the_matching_version_is_found_after_a_restart_too() {
    let setup = ServerSetup::new().await;
    setup.give("one");
    let server = setup.start().await;
    let versions = |server: &ServerProcess| format!("{}/api/v1/feeds/city/versions", server.url);
    let mut hashes: Vec<String> = Vec::new();
    for (n, version) in ["one", "two", "three"].into_iter().enumerate() {
        setup.give(version);
        let found = wait_for_json(&versions(&server), |found| {
            found["items"].as_array().is_some_and(|items| items.len() == n + 1)
        })
        .await;
        hashes.push(found["items"][0]["hash"].as_str().unwrap().to_owned());
    }
    server.stop("-TERM");

    let server = setup.start().await;
    setup.version_that_fits("two", &server, &hashes[1]).await;
    setup.version_that_fits("one", &server, &hashes[0]).await;
    server.stop("-TERM");
}
