//! The city in SIRI and in GTFS-Realtime gives the same results.
//!
//! The clock stops during the comparison, so both are of the same instant.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use lineside::{DemoOptions, DemoSiriMode, RunningServer, start_demo_with_clock};
use lineside_sync::{Clock, SimulatedClock, UnixMillis};
use lineside_testkit::wait_until;
use serde_json::{Value, json};

use crate::support::http::get_json;

/// A whole minute: alerts are renewed four times per minute.
const START: UnixMillis = UnixMillis(1_795_268_580_000);
/// The longest step of the clock, in seconds: less than a subscription may be silent.
const STEP: u64 = 180;
/// Number of the city's stops that are compared, the busiest ones first.
const STOPS: usize = 60;
const FEEDS: [[&str; 3]; 2] =
    [["city-trips", "city-vehicles", "city-alerts"], ["twin-et", "twin-vm", "twin-sx"]];

struct Twins {
    running: RunningServer,
    clock: Arc<SimulatedClock>,
    url: String,
}

impl Twins {
    async fn start(asking: DemoSiriMode) -> Self {
        let clock = Arc::new(SimulatedClock::new(START));
        let options = DemoOptions {
            port: 0,
            seed: 7,
            speed: 1.0,
            vehicles: 150,
            siri: Some(asking),
            faults: Vec::new(),
            data_dir: None,
        };
        let running = start_demo_with_clock(clock.clone(), options).await.unwrap();
        let url = format!("http://{}", running.listen_address());
        let twins = Self { running, clock, url };
        // In small steps, so that no request times out on this clock.
        wait_until("both networks are known", async || {
            twins.clock.advance_time(Duration::from_millis(50));
            twins.all_feeds(|feed| feed["state"] == "ok" && feed["data_time"].is_string()).await
        })
        .await;
        for schedule in ["city", "twin"] {
            wait_until("the schedule is there", async || {
                twins.clock.advance_time(Duration::from_millis(50));
                twins.feed(schedule).await["state"] == "ok"
            })
            .await;
        }
        twins
    }

    async fn feed(&self, id: &str) -> Value {
        get_json(&format!("{}/api/v1/feeds/{id}", self.url)).await
    }

    async fn all_feeds(&self, is_met: impl Fn(&Value) -> bool) -> bool {
        for id in FEEDS.as_flattened() {
            if !is_met(&self.feed(id).await) {
                return false;
            }
        }
        true
    }

    /// Advances to some minutes after the start, in steps: a single step would exceed the silence after which a
    /// subscription counts as lost.
    async fn go_to(&self, minutes: u64) {
        let target_time = START + Duration::from_secs(minutes * 60);
        while self.clock.wall_time() < target_time {
            let elapsed = self.clock.wall_time().duration_since(START).as_secs();
            let next = START + Duration::from_secs((elapsed / STEP + 1) * STEP);
            self.step_to(next.min(target_time)).await;
        }
    }

    /// Advances to an instant, and waits until every feed has data of that instant.
    async fn step_to(&self, target_time: UnixMillis) {
        wait_until("no request is pending", async || {
            let now = self.clock.wall_time();
            self.all_feeds(|feed| instant(&feed["next_poll"]) > now.0).await
        })
        .await;
        self.clock.advance_time(target_time.duration_since(self.clock.wall_time()));
        wait_until("all feeds are of that instant", async || {
            self.all_feeds(|feed| instant(&feed["data_time"]) == target_time.0).await
        })
        .await;
    }

    /// Returns the departures of a board, without the fields that identify the feed.
    async fn board(&self, schedule: &str, stop: &str) -> Vec<Value> {
        let url = format!("{}/api/v1/stops/{schedule}/{stop}/departures", self.url);
        let mut board = get_json(&url).await["items"].as_array().unwrap().clone();
        for departure in &mut board {
            let departure = departure.as_object_mut().unwrap();
            departure.retain(|key, _| !["feed", "source", "links"].contains(&key.as_str()));
        }
        board.sort_by_key(|it| (it["scheduled"].to_string(), it["trip_id"].to_string()));
        board
    }

    async fn entities(&self, feed: &str) -> Vec<Value> {
        let message = get_json(&format!("{}/gtfs-rt/{feed}.json", self.url)).await;
        message["entity"].as_array().cloned().unwrap_or_default()
    }

    /// Returns the stops with the most updates.
    async fn busy_stops(&self) -> Vec<String> {
        let mut calls: BTreeMap<String, usize> = BTreeMap::new();
        for entity in self.entities("city-trips").await {
            for call in entity["trip_update"]["stop_time_update"].as_array().into_iter().flatten() {
                *calls.entry(call["stop_id"].as_str().unwrap().to_owned()).or_default() += 1;
            }
        }
        let mut stops: Vec<_> = calls.into_iter().collect();
        stops.sort_by_key(|(_, n)| std::cmp::Reverse(*n));
        stops.into_iter().take(STOPS).map(|(stop, _)| stop).collect()
    }
}

/// Returns milliseconds since 1970; 0 if the value is missing.
fn instant(value: &Value) -> i64 {
    let at = value.as_str().and_then(|at| at.parse::<jiff::Timestamp>().ok());
    at.map_or(0, jiff::Timestamp::as_millisecond)
}

/// Returns the vehicles' fields that both formats have.
fn vehicles(entities: &[Value]) -> BTreeMap<String, Value> {
    let describe_vehicle = |entity: &Value| {
        let vehicle = &entity["vehicle"];
        // SIRI distinguishes only between standing at a stop and moving.
        let is_at_stop = vehicle["current_status"] == "STOPPED_AT";
        let vehicle_data = json!({
            "trip": vehicle["trip"]["trip_id"],
            "route": vehicle["trip"]["route_id"],
            "start_time": vehicle["trip"]["start_time"],
            "position": vehicle["position"],
            "stop": vehicle["stop_id"],
            "stands": is_at_stop,
            "at": vehicle["timestamp"],
            "occupancy": vehicle["occupancy_status"],
        });
        // In SIRI the producer's prefix makes ids unique.
        let id = vehicle["vehicle"]["id"].as_str().unwrap_or_default();
        (id.strip_prefix("lindhaven:").unwrap_or(id).to_owned(), vehicle_data)
    };
    entities.iter().filter(|it| it["vehicle"].is_object()).map(describe_vehicle).collect()
}

/// Returns the alerts' texts and affected entities.
fn alerts(entities: &[Value]) -> BTreeSet<String> {
    let describe_alert = |entity: &Value| {
        let alert = &entity["alert"];
        let concerned = alert["informed_entity"].as_array().into_iter().flatten();
        let concerned: BTreeSet<String> = concerned
            .map(|it| {
                let named = [&it["stop_id"], &it["trip"]["trip_id"]].into_iter();
                let named: String = named.map(Value::to_string).collect();
                // A line belongs to its operator, with or without an explicit reference.
                let line = it["route_id"].as_str().or(it["trip"]["route_id"].as_str());
                format!("{named} {}", line.or(it["agency_id"].as_str()).unwrap_or_default())
            })
            .collect();
        json!({
            "period": alert["active_period"],
            "header": alert["header_text"],
            "description": alert["description_text"],
            "url": alert["url"]["translation"][0]["text"],
            "severity": alert["severity_level"],
            "concerned": concerned,
        })
        .to_string()
    };
    entities.iter().filter(|it| it["alert"].is_object()).map(describe_alert).collect()
}

async fn check(asking: DemoSiriMode) {
    let twins = Twins::start(asking).await;
    let mut seen = BTreeSet::new();
    let mut differences = Vec::new();
    for minutes in [6, 21, 96] {
        twins.go_to(minutes).await;
        for stop in twins.busy_stops().await {
            let board = twins.board("city", &stop).await;
            let twin = twins.board("twin", &stop).await;
            seen.extend(board.iter().map(|it| it["status"].as_str().unwrap().to_owned()));
            if board != twin {
                let mut pairs = board.iter().zip(&twin);
                let first = pairs.find(|(one, other)| one != other);
                let sizes = (board.len(), twin.len());
                differences.push(format!("{stop} after {minutes} min: {sizes:?} {first:?}"));
            }
        }
        let city = vehicles(&twins.entities("city-vehicles").await);
        let twin = vehicles(&twins.entities("twin-vm").await);
        assert!(city.len() > 50, "{} vehicles", city.len());
        let names: BTreeSet<&String> = city.keys().chain(twin.keys()).collect();
        for name in names.into_iter().filter(|name| city.get(*name) != twin.get(*name)) {
            let pair = (city.get(name), twin.get(name));
            differences.push(format!("{name} after {minutes} min: {pair:?}"));
        }
        let city = alerts(&twins.entities("city-alerts").await);
        let twin = alerts(&twins.entities("twin-sx").await);
        assert!(!city.is_empty());
        let alone = city.symmetric_difference(&twin);
        differences.extend(alone.map(|alert| format!("after {minutes} min: {alert}")));
    }
    assert!(
        differences.is_empty(),
        "{} are apart: {:#?}",
        differences.len(),
        differences.get(..20).unwrap_or(&differences)
    );
    let all = ["cancelled", "realtime", "scheduled", "skipped"];
    assert!(all.iter().all(|status| seen.contains(*status)), "{seen:?}");
    twins.running.shut_down().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn boards_from_requested_siri_equal_those_from_gtfs_realtime() {
    check(DemoSiriMode::Request).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn boards_from_subscribed_siri_equal_those_from_gtfs_realtime() {
    check(DemoSiriMode::Subscribe).await;
}
