//! `/events`: a subscriber that applies all changes has the server's state.

use std::time::{Duration, Instant};

use lineside_testkit::{WAIT_MAX, wait_for};
use serde_json::{Value, json};

use crate::support::events::{ReceivedByChannel, ReceivedState, Stream};
use crate::support::http::{assert_problem, get, get_json, get_with, json as json_of, problem};
use crate::support::{demo, shared_demo};

/// Returns a channel's state from the API, and its position.
async fn state(server: &str, channel: &str) -> (ReceivedState, String) {
    let query = url::form_urlencoded::byte_serialize(channel.as_bytes()).collect::<String>();
    let response = get(&format!("{server}/api/v1/state?channel={query}")).await;
    assert_eq!(response.status(), 200, "{channel}");
    let position = response.headers()["lineside-position"].to_str().unwrap().to_owned();
    let body = json_of(response).await;
    assert_eq!(body["state"], json!({ "part": 1, "parts": 1 }));
    let mut channel_state = ReceivedState::default();
    let (epoch, offset) = (body["epoch"].clone(), body["offset"].clone());
    channel_state.apply(&json!({ "epoch": epoch, "offset": offset, "data": body }));
    (channel_state, position)
}

/// Silence after which all changes up to an earlier state have surely arrived.
const SILENCE: Duration = Duration::from_secs(2);

/// Requests the state at some revision and reads until an event of the channel is past it, or none arrives: then the
/// subscriber must have that state. On a busy machine some changes may still be in transit after the silence; then the
/// test waits for them.
async fn assert_holds_what_the_server_holds(
    server: &str,
    channel: &str,
    stream: &mut Stream,
    received_by_channel: &mut ReceivedByChannel,
) {
    let mut expect = state(server, channel).await.0;
    let started_at = Instant::now();
    let mut silent_at = started_at + SILENCE;
    loop {
        let left = silent_at.saturating_duration_since(Instant::now());
        let Ok(event) = tokio::time::timeout(left, stream.next()).await else {
            let got = received_by_channel.get(channel);
            if started_at.elapsed() > WAIT_MAX
                || (&got.epoch, &got.records) == (&expect.epoch, &expect.records)
            {
                assert_same(channel, got, &expect);
                return;
            }
            silent_at = Instant::now() + SILENCE;
            continue;
        };
        let event = event.expect("the stream continues");
        let is_ours = event.data["channel"] == channel;
        let is_state = event.data["data"].get("state").is_some();
        let offset = event.data["offset"].as_u64();
        if is_ours && !is_state && offset.is_some_and(|offset| offset > expect.offset) {
            assert_same(channel, received_by_channel.get(channel), &expect);
            received_by_channel.apply(&event);
            return;
        }
        received_by_channel.apply(&event);
        if is_ours && is_state {
            // After a new state the earlier one no longer matters.
            expect = state(server, channel).await.0;
        }
    }
}

#[track_caller]
fn assert_same(channel: &str, got: &ReceivedState, expect: &ReceivedState) {
    assert_eq!(got.epoch, expect.epoch);
    let keys =
        |channel_state: &ReceivedState| channel_state.records.keys().cloned().collect::<Vec<_>>();
    assert_eq!(keys(got), keys(expect), "{channel} at {}", expect.offset);
    assert_eq!(got.records, expect.records, "{channel} at {}", expect.offset);
}

#[tokio::test]
async fn a_subscriber_converges_to_the_server_state_despite_faults() {
    // Eight seconds are nearly three minutes of the city, and include every kind of fault.
    let faults = [
        "city-vehicles:hang@20s+20s",
        "city-trips:500@30s+30s",
        "city-alerts:html@40s+40s",
        "city-vehicles:truncate@60s+30s",
        "city-trips:empty@80s+30s",
        "city-vehicles:ids@100s+20s",
        "city-trips:skew@120s+30s",
    ];
    let server = demo(20.0, &faults).await;
    let url = server.url();
    let mut stream =
        Stream::open(&url, "channel=feed/city&channel=feed/city-trips&channel=alerts/city-alerts")
            .await;
    let mut received_by_channel = ReceivedByChannel::default();
    let started_at = Instant::now();
    let count_publications = |received_by_channel: &ReceivedByChannel| {
        received_by_channel.0.get("feed/city").map_or(0, |city| city.publications)
    };
    while started_at.elapsed() < Duration::from_secs(8)
        || count_publications(&received_by_channel) <= 20
    {
        assert!(
            started_at.elapsed() < WAIT_MAX,
            "only {} publications came",
            count_publications(&received_by_channel)
        );
        if let Some(event) = stream.next_within(Duration::from_secs(1)).await {
            received_by_channel.apply(&event);
        }
    }
    for channel in ["feed/city", "feed/city-trips", "alerts/city-alerts"] {
        assert_holds_what_the_server_holds(&url, channel, &mut stream, &mut received_by_channel)
            .await;
    }
    let city = received_by_channel.get("feed/city");
    assert!(city.records_of_kind("vehicle").count() > 10);
    assert!(city.records_of_kind("trip_update").count() > 10);
    assert_eq!(city.records_of_kind("feed").count(), 4, "one for each feed of the network");
    server.stop().await;
}

#[tokio::test]
async fn the_first_message_is_the_state_with_its_position() {
    let server = shared_demo();
    let mut stream = Stream::open(&server, "channel=feed/city-vehicles").await;
    let mut received_by_channel = ReceivedByChannel::default();
    while !received_by_channel
        .0
        .get("feed/city-vehicles")
        .is_some_and(|channel_state| channel_state.is_complete)
    {
        let event = stream.next_within(WAIT_MAX).await.unwrap();
        assert!(event.data["data"]["state"].is_object(), "{}", event.data);
        assert!(event.data["data"].get("gap").is_none(), "nothing was missed yet");
        received_by_channel.apply(&event);
    }
    let retry = stream.retry_ms.expect("a pause for reconnects");
    assert!((1000..=5000).contains(&retry), "{retry}");
    let channel_state = received_by_channel.get("feed/city-vehicles");
    let id = format!("city@{}:{}", channel_state.epoch, channel_state.offset);
    assert_eq!(stream.last_event_id, id);
}

#[tokio::test]
async fn a_resumed_stream_continues_where_it_broke() {
    let server = shared_demo();
    let mut stream = Stream::open(&server, "channel=feed/city").await;
    let mut received_by_channel = ReceivedByChannel::default();
    while received_by_channel
        .0
        .get("feed/city")
        .is_none_or(|channel_state| channel_state.publications < 2)
    {
        received_by_channel.apply(&stream.next_within(WAIT_MAX).await.unwrap());
    }
    let last = stream.last_event_id.clone();
    drop(stream);
    // Something is published before the stream is resumed.
    let mut other = Stream::resume(&server, "channel=feed/city", &last).await;
    other.next_within(WAIT_MAX).await.unwrap();
    drop(other);
    let mut stream = Stream::resume(&server, "channel=feed/city", &last).await;
    let states = received_by_channel.get("feed/city").gaps;
    let first = stream.next_within(WAIT_MAX).await.unwrap();
    assert!(first.data["data"].get("state").is_none(), "a resume that the log covers has no state");
    assert_eq!(
        first.data["offset"].as_u64().unwrap(),
        received_by_channel.get("feed/city").offset + 1
    );
    received_by_channel.apply(&first);
    assert_holds_what_the_server_holds(&server, "feed/city", &mut stream, &mut received_by_channel)
        .await;
    assert_eq!(received_by_channel.get("feed/city").gaps, states);
}

#[tokio::test]
async fn a_resume_from_an_unknown_position_receives_the_state_with_gap() {
    let server = shared_demo();
    let query = "channel=feed/city&last_event_id=city@00000000:7";
    let mut stream = Stream::open(&server, query).await;
    let first = stream.next_within(WAIT_MAX).await.unwrap();
    assert_eq!(first.data["data"]["gap"], true, "{}", first.data);
    assert_eq!(first.data["data"]["state"]["part"], 1);
}

#[tokio::test]
async fn a_subscription_can_begin_at_the_position_of_the_state() {
    let server = shared_demo();
    // A subscriber keeps the log alive between the state and the subscription.
    let mut listener = Stream::open(&server, "channel=feed/city").await;
    listener.next_within(WAIT_MAX).await.unwrap();
    let (mut received_by_channel, position) = state(&server, "feed/city").await;
    let query = format!("channel=feed/city&last_event_id={position}");
    let mut stream = Stream::open(&server, &query).await;
    let event = stream.next_within(WAIT_MAX).await.unwrap();
    assert!(event.data["data"].get("state").is_none(), "{}", event.data);
    received_by_channel.apply(&event.data);
}

#[tokio::test]
async fn every_kind_of_channel_agrees_with_the_state() {
    let server = shared_demo();
    let fetch = async || {
        let channels = channels_of_a_vehicle(&server).await;
        for channel in channels.ok_or("no vehicle is on a trip")? {
            let query =
                url::form_urlencoded::byte_serialize(channel.as_bytes()).collect::<String>();
            let mut stream = Stream::open(&server, &format!("channel={query}")).await;
            let mut received_by_channel = ReceivedByChannel::default();
            received_by_channel.apply(&stream.next_within(WAIT_MAX).await.unwrap());
            let mut kinds =
                received_by_channel.get(&channel).records.keys().map(|(_, kind, _)| kind);
            assert!(kinds.clone().any(|kind| kind == "feed"), "{channel}: no feed record");
            // A trip that ended after the vehicle was chosen has no records.
            if kinds.all(|kind| kind == "feed") {
                return Err(format!("{channel} is empty"));
            }
        }
        Ok(())
    };
    wait_for("all channels of a vehicle tell of something", fetch).await;
}

/// Returns the channels of a vehicle on a trip, and one of a stop.
async fn channels_of_a_vehicle(server: &str) -> Option<[String; 5]> {
    let vehicles = get_json(&format!("{server}/api/v1/vehicles")).await;
    let vehicle = vehicles["items"].as_array().unwrap().iter().find(|vehicle| {
        vehicle["lineside"]["route_id"].is_string() && vehicle["trip"]["trip_id"].is_string()
    })?;
    let encode = |id: &Value| encode_segment(id.as_str().unwrap());
    let route = encode(&vehicle["lineside"]["route_id"]);
    let trip = encode(&vehicle["trip"]["trip_id"]);
    let id = encode(&vehicle["vehicle"]["id"]);
    let stops = get_json(&format!("{server}/api/v1/stops?limit=1")).await;
    let stop = encode(&stops["items"][0]["id"]);
    let (lat, lon) = (
        vehicle["position"]["latitude"].as_f64().unwrap(),
        vehicle["position"]["longitude"].as_f64().unwrap(),
    );
    Some([
        format!("route/city/{route}"),
        format!("trip/city-trips/{trip}"),
        format!("vehicle/city-vehicles/{id}"),
        format!("stop/city/{stop}"),
        format!("area/{}", geohash(lat, lon, 5)),
    ])
}

#[tokio::test]
async fn an_unknown_vehicle_has_an_empty_state() {
    let server = shared_demo();
    for channel in ["vehicle/city-vehicles/none", "alerts/city-vehicles"] {
        let (channel_state, _) = state(&server, channel).await;
        assert!(channel_state.records.keys().all(|(_, kind, _)| kind == "feed"), "{channel}");
    }
}

#[tokio::test]
async fn a_channel_of_an_unknown_stop_route_or_trip_is_refused() {
    let server = shared_demo();
    for (channel, code) in [
        ("stop/city/none", "unknown_stop"),
        ("route/city/none", "unknown_route"),
        ("trip/city-trips/none", "unknown_trip"),
    ] {
        for path in
            [format!("/events?channel={channel}"), format!("/api/v1/state?channel={channel}")]
        {
            assert_problem(404, code, problem(&format!("{server}{path}")).await);
        }
    }
}

#[tokio::test]
async fn an_invalid_channel_is_refused() {
    let server = shared_demo();
    let many = (0..65).map(|n| format!("channel=vehicle/city-vehicles/{n}")).collect::<Vec<_>>();
    for (query, status, code) in [
        ("", 400, "bad_channel"),
        ("channel=city", 400, "bad_channel"),
        ("channel=bogus/city", 400, "bad_channel"),
        ("channel=feed/", 400, "bad_channel"),
        ("channel=vehicle/city-vehicles/a%252fb", 400, "bad_channel"),
        ("channel=vehicle/city-vehicles/a%20b", 400, "bad_channel"),
        ("channel=area/xyz", 400, "bad_channel"),
        ("channel=feed/nothing", 404, "unknown_feed"),
        ("channel=feed/city&channel=feed/nothing", 404, "unknown_feed"),
        ("channel=feed/city&channel=stop/city/nothing", 404, "unknown_stop"),
        (many.join("&").as_str(), 400, "too_many_channels"),
    ] {
        assert_problem(status, code, problem(&format!("{server}/events?{query}")).await);
    }
}

#[tokio::test]
async fn a_stream_allows_every_origin_and_no_caching() {
    let url = format!("{}/events?channel=feed/city", shared_demo());
    let coding = [("accept-encoding", "gzip, br, zstd"), ("origin", "https://example.org")];
    let response = get_with(&url, &coding).await;
    assert_eq!(response.headers()["access-control-allow-origin"], "*");
    assert_eq!(response.headers()["cache-control"], "no-store");
    assert!(!response.headers().contains_key("content-encoding"));
}

/// Percent-encodes an id in a channel, as the protocol's documentation describes.
fn encode_segment(id: &str) -> String {
    let mut out = String::new();
    for c in id.chars() {
        if "/+#%:, ".contains(c) || c.is_control() {
            let mut bytes = [0; 4];
            for byte in c.encode_utf8(&mut bytes).bytes() {
                out.push_str(&format!("%{byte:02X}"));
            }
        } else {
            out.push(c);
        }
    }
    out
}

/// Returns the geohash of a place, as its specification describes.
fn geohash(lat: f64, lon: f64, length: usize) -> String {
    const LETTERS: &[u8] = b"0123456789bcdefghjkmnpqrstuvwxyz";
    let (mut lats, mut lons) = ((-90.0, 90.0), (-180.0, 180.0));
    let mut out = String::new();
    let mut even = true;
    for _ in 0..length {
        let mut letter = 0;
        for _ in 0..5 {
            let (range, value) = if even { (&mut lons, lon) } else { (&mut lats, lat) };
            let middle = f64::midpoint(range.0, range.1);
            letter = letter << 1 | usize::from(value >= middle);
            if value >= middle {
                range.0 = middle
            } else {
                range.1 = middle
            }
            even = !even;
        }
        out.push(char::from(LETTERS[letter]));
    }
    out
}
