//! Restarts of the real program: a planned one loses and repeats nothing; a crash marks a gap.

use std::path::Path;
use std::time::Duration;

use serde_json::{Value, json};

use crate::support::caller::Socket;
use crate::support::events::{HeldByChannel, Stream};
use crate::support::http::{client, json as json_of};
use crate::support::process::ServerProcess;
use crate::support::until::until_json;
use crate::support::until_ready;

const PATIENCE: Duration = Duration::from_secs(20);
const CHANNELS: [&str; 5] =
    ["feed/city", "feed/vehicles", "route/city/R", "vehicle/vehicles/bus", "app/kept/x"];
const KEY: &str = "a key of the tests";

pub(crate) const SCHEDULE: &[(&str, &str)] = &[
    (
        "agency.txt",
        "agency_id,agency_name,agency_url,agency_timezone\nA,Lines,https://example.org,Europe/Oslo\n",
    ),
    (
        "stops.txt",
        "stop_id,stop_name,stop_lat,stop_lon\nS,First,59.91,10.75\nT,Second,59.92,10.76\n",
    ),
    ("routes.txt", "route_id,agency_id,route_short_name,route_type\nR,A,4,3\n"),
    (
        "calendar.txt",
        "service_id,monday,tuesday,wednesday,thursday,friday,saturday,sunday,start_date,end_date\nD,1,1,1,1,1,1,1,20200101,20401231\n",
    ),
    ("trips.txt", "route_id,service_id,trip_id\nR,D,trip\n"),
    (
        "stop_times.txt",
        "trip_id,arrival_time,departure_time,stop_id,stop_sequence\ntrip,08:00:00,08:00:00,S,1\ntrip,08:05:00,08:05:00,T,2\n",
    ),
];

/// A folder with a schedule, vehicles and a configuration.
struct House(tempfile::TempDir);

impl House {
    fn new() -> Self {
        let house = Self(tempfile::tempdir().unwrap());
        let schedule = house.path().join("city");
        std::fs::create_dir(&schedule).unwrap();
        for (name, text) in SCHEDULE {
            std::fs::write(schedule.join(name), text).unwrap();
        }
        let config = format!(
            r#"[server]
listen = "127.0.0.1:0"
data_dir = "data"
drain = "200ms"
[api]
key = "{KEY}"
[[namespace]]
prefix = "app/kept/"
history_size = 50
[[feed]]
id = "city"
url = "{city}"
[[feed]]
id = "vehicles"
url = "{vehicles}"
format = "gtfs-rt"
static = "city"
poll = "1s"
"#,
            city = schedule.display(),
            vehicles = house.path().join("vehicles.json").display(),
        );
        std::fs::write(house.path().join("lineside.toml"), config).unwrap();
        house.place_bus(59.91);
        house
    }

    fn path(&self) -> &Path {
        self.0.path()
    }

    /// Sets the position of the bus. The message's timestamp is current, so that a slow machine does not matter.
    fn place_bus(&self, latitude: f64) {
        let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap();
        let message = json!({
            "header": {"gtfs_realtime_version": "2.0", "timestamp": now.as_secs()},
            "entity": [{"id": "1", "vehicle": {
                "trip": {"trip_id": "trip", "route_id": "R"}, "vehicle": {"id": "bus"},
                "position": {"latitude": latitude, "longitude": 10.75},
            }}],
        });
        // Atomically, because the file is polled meanwhile.
        let new = self.path().join("new.json");
        std::fs::write(&new, message.to_string()).unwrap();
        std::fs::rename(new, self.path().join("vehicles.json")).unwrap();
    }

    async fn start(&self) -> ServerProcess {
        let config = self.path().join("lineside.toml");
        let server = ServerProcess::start(&["serve", "--config", config.to_str().unwrap()]);
        until_ready(&server.url).await;
        server
    }

    fn kept(&self) -> std::path::PathBuf {
        self.path().join("data/restart.kept")
    }
}

async fn say(server: &ServerProcess, what: u64) {
    let call = json!({"channel": "app/kept/x", "data": {"at": what, "changes": []}});
    let request = client().post(format!("{}/api/publish", server.url)).header("x-api-key", KEY);
    let answer = json_of(request.body(call.to_string()).send().await.unwrap()).await;
    assert_eq!(answer["result"]["offset"], what, "{answer}");
}

fn query() -> String {
    CHANNELS.map(|channel| format!("channel={channel}")).join("&")
}

/// Reads until `is_so` holds.
async fn read_until(
    stream: &mut Stream,
    held: &mut HeldByChannel,
    is_so: impl Fn(&HeldByChannel) -> bool,
) {
    while !is_so(held) {
        let event = stream.next_within(PATIENCE).await.expect("more has to come");
        held.apply(&event);
    }
}

fn latitude(held: &HeldByChannel, channel: &str) -> Option<f64> {
    let held = held.0.get(channel)?;
    held.of_kind("vehicle").next()?["position"]["latitude"].as_f64()
}

/// Returns true if every transit channel has the bus there.
fn all_know(held: &HeldByChannel, at: f64) -> bool {
    CHANNELS[..4].iter().all(|channel| {
        latitude(held, channel).is_some_and(|latitude| (latitude - at).abs() < 0.000_1)
    })
}

async fn revision(server: &ServerProcess) -> Value {
    let url = format!("{}/api/v1/state?channel=feed/city", server.url);
    let response = crate::support::http::get(&url).await;
    json!(response.headers()["lineside-position"].to_str().unwrap())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_planned_restart_loses_and_repeats_no_publication() {
    let house = House::new();
    let server = house.start().await;
    let mut stream = Stream::open(&server.url, &query()).await;
    let mut held = HeldByChannel::default();
    read_until(&mut stream, &mut held, |held| all_know(held, 59.91)).await;
    say(&server, 1).await;
    read_until(&mut stream, &mut held, |held| held.0.contains_key("app/kept/x")).await;
    let (away, position) = (stream.last_event_id.clone(), held.get("feed/city").clone());
    // Another client stays subscribed, so that the logs survive on a slow machine.
    let stayer = Stream::open(&server.url, &query()).await;
    drop(stream);

    // Changes while the reader is away, which the server knows.
    house.place_bus(59.915);
    say(&server, 2).await;
    let state = format!("{}/api/v1/state?channel=feed/city", server.url);
    until_json(&state, |state| state.to_string().contains("59.915")).await;
    let before = revision(&server).await;
    assert!(server.stop("-TERM").0.success());
    assert!(house.kept().exists());
    drop(stayer);

    let server = house.start().await;
    assert!(!house.kept().exists(), "it can be gone on with once");
    assert_eq!(revision(&server).await, before);
    let mut stream = Stream::resume(&server.url, &query(), &away).await;
    read_until(&mut stream, &mut held, |held| {
        all_know(held, 59.915) && held.get("app/kept/x").offset == 2
    })
    .await;
    // New changes follow those.
    house.place_bus(59.92);
    say(&server, 3).await;
    read_until(&mut stream, &mut held, |held| {
        all_know(held, 59.92) && held.get("app/kept/x").offset == 3
    })
    .await;
    for channel in CHANNELS {
        let held = held.get(channel);
        assert_eq!(held.gaps, 0, "{channel}");
    }
    let after = held.get("feed/city");
    assert_eq!(after.epoch, position.epoch);
    // Every revision arrives once, and no state, which would not count.
    assert_eq!((after.publications - position.publications) as u64, after.offset - position.offset);
    assert_eq!(held.get("app/kept/x").publications, 3);
    assert!(server.stop("-INT").0.success());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_websocket_resumes_after_a_planned_restart() {
    let house = House::new();
    let server = house.start().await;
    let url = server.url.clone();
    let (socket, held) = tokio::task::spawn_blocking(move || {
        let mut socket = Socket::open(&url);
        let held = CHANNELS[..4]
            .iter()
            .map(|channel| {
                let epoch = socket.subscribe(channel, None)["epoch"].as_str().unwrap().to_owned();
                let state = socket.publication(channel);
                assert!(state["data"]["state"].is_object(), "{state}");
                (*channel, epoch, state["offset"].as_u64().unwrap())
            })
            .collect::<Vec<_>>();
        (socket, held)
    })
    .await
    .unwrap();
    say(&server, 1).await;
    say(&server, 2).await;
    assert!(server.stop("-TERM").0.success());
    drop(socket);
    let server = house.start().await;
    let url = server.url.clone();
    let (own, first) = tokio::task::spawn_blocking(move || {
        let mut socket = Socket::open(&url);
        for (channel, epoch, offset) in held {
            let reply = socket.subscribe(channel, Some((&epoch, offset)));
            assert_eq!((&reply["recovered"], &reply["epoch"]), (&json!(true), &json!(epoch)));
            for publication in reply["publications"].as_array().into_iter().flatten() {
                assert!(publication["data"]["state"].is_null(), "{channel}: {publication}");
            }
        }
        let now = socket.subscribe("app/kept/x", None);
        let epoch = now["epoch"].as_str().unwrap().to_owned();
        let mut again = Socket::open(&url);
        let own = again.subscribe("app/kept/x", Some((&epoch, 1)));
        (own, now)
    })
    .await
    .unwrap();
    assert_eq!(first["offset"], 2);
    assert_eq!(own["recovered"], true, "{own}");
    let missed: Vec<&Value> = own["publications"].as_array().unwrap().iter().collect();
    assert_eq!(missed.len(), 1, "{own}");
    assert_eq!((&missed[0]["offset"], &missed[0]["data"]["at"]), (&json!(2), &json!(2)));
    assert!(server.stop("-TERM").0.success());
}

#[tokio::test(flavor = "multi_thread")]
async fn after_a_crash_a_gap_is_marked() {
    let house = House::new();
    // A clean stop first: its restart state must not return after the crash of the next process.
    assert!(house.start().await.stop("-TERM").0.success());
    let server = house.start().await;
    let mut stream = Stream::open(&server.url, &query()).await;
    let mut held = HeldByChannel::default();
    read_until(&mut stream, &mut held, |held| all_know(held, 59.91)).await;
    let away = stream.last_event_id.clone();
    let before = held.get("feed/city").epoch.clone();
    drop(stream);
    assert!(!server.stop("-KILL").0.success());
    assert!(!house.kept().exists());

    let server = house.start().await;
    let mut stream = Stream::resume(&server.url, &query(), &away).await;
    read_until(&mut stream, &mut held, |held| {
        CHANNELS[..4].iter().all(|channel| held.get(channel).gaps == 1)
    })
    .await;
    read_until(&mut stream, &mut held, |held| all_know(held, 59.91)).await;
    assert_ne!(held.get("feed/city").epoch, before);
    assert!(server.stop("-TERM").0.success());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_damaged_restart_file_does_not_prevent_the_start() {
    let house = House::new();
    let server = house.start().await;
    let before = revision(&server).await;
    assert!(server.stop("-TERM").0.success());
    let mut file = std::fs::read(house.kept()).unwrap();
    let middle = file.len() / 2;
    file[middle] ^= 1;
    std::fs::write(house.kept(), file).unwrap();
    let server = house.start().await;
    let epoch = |position: &Value| position.as_str().unwrap().split(':').next().map(str::to_owned);
    assert_ne!(epoch(&revision(&server).await), epoch(&before));
    assert!(server.stop("-TERM").0.success());
    assert!(!String::from_utf8_lossy(&std::fs::read(house.kept()).unwrap()).contains(KEY));
}
