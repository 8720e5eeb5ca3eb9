//! Restarts of the real program: a planned one loses and repeats nothing; a crash marks a gap.

use std::path::Path;

use lineside_testkit::{TestSchedule, WAIT_MAX, wait_for_json, wait_until_ready};
use serde_json::{Value, json};

use crate::support::events::{ReceivedByChannel, Stream};
use crate::support::http::{client, json as json_of};
use crate::support::process::ServerProcess;
use crate::support::websocket_client::Socket;

const CHANNELS: [&str; 5] =
    ["feed/city", "feed/vehicles", "route/city/R", "vehicle/vehicles/bus", "app/kept/x"];
const KEY: &str = "a key of the tests";

/// Returns a schedule of the trip `trip` from stop `S` to stop `T`.
pub(crate) fn schedule() -> TestSchedule {
    stops_and_route().trip("trip", "S 08:00, T 08:05")
}

/// Returns [`schedule`] without its trip.
pub(crate) fn stops_and_route() -> TestSchedule {
    TestSchedule::new("Europe/Oslo")
        .stop("S", "First", 59.91, 10.75)
        .stop("T", "Second", 59.92, 10.76)
        .route("R", "4", 3)
        .service("D", "1111111", ["20200101", "20401231"])
}

/// A folder with a schedule, vehicles and a configuration.
struct ServerSetup(tempfile::TempDir);

impl ServerSetup {
    fn new() -> Self {
        let setup = Self(tempfile::tempdir().unwrap());
        let folder = setup.path().join("city");
        schedule().write_to(&folder);
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
            city = folder.display(),
            vehicles = setup.path().join("vehicles.json").display(),
        );
        std::fs::write(setup.path().join("lineside.toml"), config).unwrap();
        setup.place_bus(59.91);
        setup
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
        wait_until_ready(&server.url).await;
        server
    }

    fn handoff_file(&self) -> std::path::PathBuf {
        self.path().join("data/handoff.bin")
    }
}

async fn publish(server: &ServerProcess, what: u64) {
    let call = json!({"channel": "app/kept/x", "data": {"at": what, "changes": []}});
    let request = client().post(format!("{}/api/publish", server.url)).header("x-api-key", KEY);
    let answer = json_of(request.body(call.to_string()).send().await.unwrap()).await;
    assert_eq!(answer["result"]["offset"], what, "{answer}");
}

fn query() -> String {
    CHANNELS.map(|channel| format!("channel={channel}")).join("&")
}

/// Reads until `is_met` holds.
async fn read_until(
    stream: &mut Stream,
    received_by_channel: &mut ReceivedByChannel,
    is_met: impl Fn(&ReceivedByChannel) -> bool,
) {
    while !is_met(received_by_channel) {
        let event = stream.next_within(WAIT_MAX).await.expect("more has to come");
        received_by_channel.apply(&event);
    }
}

fn latitude(received_by_channel: &ReceivedByChannel, channel: &str) -> Option<f64> {
    let channel_state = received_by_channel.0.get(channel)?;
    channel_state.records_of_kind("vehicle").next()?["position"]["latitude"].as_f64()
}

/// Returns true if every transit channel has the bus there.
fn all_know(received_by_channel: &ReceivedByChannel, at: f64) -> bool {
    CHANNELS[..4].iter().all(|channel| {
        latitude(received_by_channel, channel)
            .is_some_and(|latitude| (latitude - at).abs() < 0.000_1)
    })
}

async fn revision(server: &ServerProcess) -> Value {
    let url = format!("{}/api/v1/state?channel=feed/city", server.url);
    let response = crate::support::http::get(&url).await;
    json!(response.headers()["lineside-position"].to_str().unwrap())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_planned_restart_loses_and_repeats_no_publication() {
    let setup = ServerSetup::new();
    let server = setup.start().await;
    let mut stream = Stream::open(&server.url, &query()).await;
    let mut received_by_channel = ReceivedByChannel::default();
    read_until(&mut stream, &mut received_by_channel, |received_by_channel| {
        all_know(received_by_channel, 59.91)
    })
    .await;
    publish(&server, 1).await;
    read_until(&mut stream, &mut received_by_channel, |received_by_channel| {
        received_by_channel.0.contains_key("app/kept/x")
    })
    .await;
    let (away, position) =
        (stream.last_event_id.clone(), received_by_channel.get("feed/city").clone());
    // Another client stays subscribed, so that the logs survive on a slow machine.
    let staying_client = Stream::open(&server.url, &query()).await;
    drop(stream);

    // Changes while the reader is away, which the server knows.
    setup.place_bus(59.915);
    publish(&server, 2).await;
    let state = format!("{}/api/v1/state?channel=feed/city", server.url);
    wait_for_json(&state, |state| state.to_string().contains("59.915")).await;
    let before = revision(&server).await;
    assert!(server.stop("-TERM").0.success());
    assert!(setup.handoff_file().exists());
    drop(staying_client);

    let server = setup.start().await;
    assert!(!setup.handoff_file().exists(), "it can be gone on with once");
    assert_eq!(revision(&server).await, before);
    let mut stream = Stream::resume(&server.url, &query(), &away).await;
    read_until(&mut stream, &mut received_by_channel, |received_by_channel| {
        all_know(received_by_channel, 59.915) && received_by_channel.get("app/kept/x").offset == 2
    })
    .await;
    // New changes follow those.
    setup.place_bus(59.92);
    publish(&server, 3).await;
    read_until(&mut stream, &mut received_by_channel, |received_by_channel| {
        all_know(received_by_channel, 59.92) && received_by_channel.get("app/kept/x").offset == 3
    })
    .await;
    for channel in CHANNELS {
        let channel_state = received_by_channel.get(channel);
        assert_eq!(channel_state.gaps, 0, "{channel}");
    }
    let after = received_by_channel.get("feed/city");
    assert_eq!(after.epoch, position.epoch);
    // Every revision arrives once, and no state, which would not count.
    assert_eq!((after.publications - position.publications) as u64, after.offset - position.offset);
    assert_eq!(received_by_channel.get("app/kept/x").publications, 3);
    assert!(server.stop("-INT").0.success());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_websocket_resumes_after_a_planned_restart() {
    let setup = ServerSetup::new();
    let server = setup.start().await;
    let url = server.url.clone();
    let (socket, received_by_channel) = tokio::task::spawn_blocking(move || {
        let mut socket = Socket::open(&url);
        let received_by_channel = CHANNELS[..4]
            .iter()
            .map(|channel| {
                let epoch = socket.subscribe(channel, None)["epoch"].as_str().unwrap().to_owned();
                let state = socket.publication(channel);
                assert!(state["data"]["state"].is_object(), "{state}");
                (*channel, epoch, state["offset"].as_u64().unwrap())
            })
            .collect::<Vec<_>>();
        (socket, received_by_channel)
    })
    .await
    .unwrap();
    publish(&server, 1).await;
    publish(&server, 2).await;
    assert!(server.stop("-TERM").0.success());
    drop(socket);
    let server = setup.start().await;
    let url = server.url.clone();
    let (own, first) = tokio::task::spawn_blocking(move || {
        let mut socket = Socket::open(&url);
        for (channel, epoch, offset) in received_by_channel {
            let reply = socket.subscribe(channel, Some((&epoch, offset)));
            assert_eq!((&reply["recovered"], &reply["epoch"]), (&json!(true), &json!(epoch)));
            for publication in reply["publications"].as_array().into_iter().flatten() {
                assert!(publication["data"]["state"].is_null(), "{channel}: {publication}");
            }
        }
        let now = socket.subscribe("app/kept/x", None);
        let epoch = now["epoch"].as_str().unwrap().to_owned();
        let mut second = Socket::open(&url);
        let own = second.subscribe("app/kept/x", Some((&epoch, 1)));
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
    let setup = ServerSetup::new();
    // A clean stop first: its restart state must not return after the crash of the next process.
    assert!(setup.start().await.stop("-TERM").0.success());
    let server = setup.start().await;
    let mut stream = Stream::open(&server.url, &query()).await;
    let mut received_by_channel = ReceivedByChannel::default();
    read_until(&mut stream, &mut received_by_channel, |received_by_channel| {
        all_know(received_by_channel, 59.91)
    })
    .await;
    let away = stream.last_event_id.clone();
    let before = received_by_channel.get("feed/city").epoch.clone();
    drop(stream);
    assert!(!server.stop("-KILL").0.success());
    assert!(!setup.handoff_file().exists());

    let server = setup.start().await;
    let mut stream = Stream::resume(&server.url, &query(), &away).await;
    read_until(&mut stream, &mut received_by_channel, |received_by_channel| {
        CHANNELS[..4].iter().all(|channel| received_by_channel.get(channel).gaps == 1)
    })
    .await;
    read_until(&mut stream, &mut received_by_channel, |received_by_channel| {
        all_know(received_by_channel, 59.91)
    })
    .await;
    assert_ne!(received_by_channel.get("feed/city").epoch, before);
    assert!(server.stop("-TERM").0.success());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_damaged_restart_file_does_not_prevent_the_start() {
    let setup = ServerSetup::new();
    let server = setup.start().await;
    let before = revision(&server).await;
    assert!(server.stop("-TERM").0.success());
    let mut file = std::fs::read(setup.handoff_file()).unwrap();
    let middle = file.len() / 2;
    file[middle] ^= 1;
    std::fs::write(setup.handoff_file(), file).unwrap();
    let server = setup.start().await;
    let epoch = |position: &Value| position.as_str().unwrap().split(':').next().map(str::to_owned);
    assert_ne!(epoch(&revision(&server).await), epoch(&before));
    assert!(server.stop("-TERM").0.success());
    assert!(!String::from_utf8_lossy(&std::fs::read(setup.handoff_file()).unwrap()).contains(KEY));
}
