//! Tests of the stream's text, its wake-ups, its heartbeats and its refusals.

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll, Wake, Waker};
use std::time::Duration;

use bytes::Bytes;
use futures_util::Stream;
use lineside_hub::{BadChannelName, DisconnectOrder};
use lineside_wire::partition::ConnectionCloseReason;
use lineside_wire::sse::{
    CHANNELS_MAX, HEARTBEAT_INTERVAL, RETRY_MILLIS, SseOpenError, SseStream, SseSubscriber,
};
use serde_json::json;

use crate::browser::Parser;
use crate::network::Network;

#[derive(Default)]
struct Wakes(AtomicUsize);

impl Wake for Wakes {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}

fn open(network: &Network, channels: &[&str], id: Option<&str>) -> SseStream {
    SseStream::open_stream(&network.hub, channels, id, &SseSubscriber::default(), 1)
        .expect("opened")
}

/// Returns all available bytes, as text.
fn text(stream: &mut SseStream) -> String {
    let pieces: Vec<Bytes> = std::iter::from_fn(|| stream.next_output_bytes()).collect();
    String::from_utf8(pieces.concat()).expect("text")
}

fn poll(stream: &mut SseStream, wakes: &Arc<Wakes>) -> Poll<Option<Bytes>> {
    Pin::new(stream).poll_next(&mut Context::from_waker(&Waker::from(wakes.clone())))
}

#[test]
fn states_and_changes_have_the_documented_form() {
    let network = Network::new(8);
    network.change(1, 3);
    let mut stream = open(&network, &["feed/city"], None);
    let first = text(&mut stream);
    let (retry, state) = first.split_once('\n').expect("two lines");
    let millis: u64 =
        retry.strip_prefix("retry: ").and_then(|it| it.parse().ok()).expect("a retry");
    assert!(RETRY_MILLIS.contains(&millis));
    assert_eq!(first.matches("\n\n").count(), 1, "one block: {first}");
    assert_eq!(state.lines().count(), 3, "one data line, one id line, one empty line: {state}");
    assert!(state.ends_with("\nid: city@00000001:1\n\n"));
    let event = Parser::default().push(state.as_bytes()).remove(0);
    let upsert = json!({"op": "upsert", "id": 1, "record": {"dataset": 1, "moves": 1}});
    let data = json!({"at": 0, "state": {"part": 1, "parts": 1}, "changes": [upsert]});
    let expected = json!({"channel": "feed/city", "epoch": "00000001", "offset": 1, "data": data});
    assert_eq!(event.data, expected);
    network.change(1, 3);
    assert_eq!(
        text(&mut stream),
        "data: {\"channel\":\"feed/city\",\"epoch\":\"00000001\",\"offset\":2,\"data\":\
         {\"at\":0,\"changes\":[{\"id\":1,\"op\":\"upsert\",\"record\":{\"dataset\":1,\"moves\":2}}]}}\n\
         id: city@00000001:2\n\n"
    );
}

#[test]
fn a_gap_is_marked_on_each_part_of_the_state() {
    let network = Network::new(1);
    for vehicle in 0..5 {
        network.change(vehicle, 3);
    }
    let mut stream = open(&network, &["feed/city"], Some("city@00000001:1"));
    let events = Parser::default().push(text(&mut stream).as_bytes());
    assert_eq!(events.len(), 3);
    assert!(events.iter().all(|event| event.data["data"]["gap"] == json!(true)));
    let ids: Vec<&str> = events.iter().map(|event| event.last_event_id.as_str()).collect();
    assert_eq!(
        ids,
        ["city@00000001:1", "city@00000001:1", "city@00000001:5"],
        "the id stays the same until the state is complete"
    );
}

#[test]
fn a_first_state_has_no_id_before_its_end() {
    let network = Network::new(8);
    for vehicle in 0..5 {
        network.change(vehicle, 3);
    }
    let mut stream = open(&network, &["feed/city", "area/1"], None);
    let events = Parser::default().push(text(&mut stream).as_bytes());
    let ids: Vec<&str> = events.iter().map(|event| event.last_event_id.as_str()).collect();
    let first = ids.iter().position(|id| !id.is_empty()).expect("only the last part has an id");
    assert!(first > 0 && ids[..first].iter().all(|id| id.is_empty()));
    assert_eq!(ids.last(), Some(&"city@00000001:5"), "an offset of 0 is not listed");
    network.change(0, 1);
    let events = Parser::default().push(text(&mut stream).as_bytes());
    let last = events.last().expect("events");
    let (city, area) = last.last_event_id.split_once(',').expect("two sequences");
    assert_eq!(city, "city@00000001:6");
    assert!(area.starts_with("area/1@") && area.ends_with(":1"), "{area}");
}

#[test]
fn an_event_is_framed_once_for_streams_of_one_channel() {
    let network = Network::new(8);
    let mut streams = [(); 3].map(|()| open(&network, &["feed/city"], None));
    streams.iter_mut().for_each(|stream| drop(text(stream)));
    network.change(1, 3);
    let pieces = streams.each_mut().map(|stream| stream.next_output_bytes().expect("an event"));
    assert!(pieces.iter().all(|piece| piece.as_ptr() == pieces[0].as_ptr()));
    assert!(
        streams.iter_mut().all(|stream| stream.next_output_bytes().is_none()),
        "one piece is the whole event"
    );
}

#[test]
fn streams_of_several_channels_share_the_data_but_not_the_id() {
    let network = Network::new(8);
    let mut one = open(&network, &["feed/city", "area/0"], None);
    let mut two = open(&network, &["feed/city", "area/1"], None);
    drop((text(&mut one), text(&mut two)));
    network.change(1, 3);
    let (a, b) = (one.next_output_bytes(), two.next_output_bytes());
    let (a, b) = (a.expect("data"), b.expect("data"));
    let shared = |bytes: &Bytes| bytes.starts_with(b"data: {\"channel\":\"feed/city\"");
    assert!(shared(&a) && shared(&b) && a.as_ptr() == b.as_ptr());
}

#[test]
fn a_publication_wakes_the_task_of_the_stream() {
    let network = Network::new(8);
    let wakes = Arc::new(Wakes::default());
    let mut stream = open(&network, &["feed/city"], None);
    while poll(&mut stream, &wakes).is_ready() {}
    network.change(1, 3);
    assert_eq!(wakes.0.load(Ordering::Relaxed), 1);
    assert!(poll(&mut stream, &wakes).is_ready());
    assert!(poll(&mut stream, &wakes).is_pending());
}

#[test]
fn a_heartbeat_comment_updates_the_id() {
    let network = Network::new(8);
    network.change(1, 3);
    let wakes = Arc::new(Wakes::default());
    let mut quiet = open(&network, &["route/city/2"], None);
    let (mut _other, mut parser) =
        (open(&network, &["route/city/0", "feed/city"], None), Parser::default());
    let heartbeat = |stream: &mut SseStream| {
        while poll(stream, &wakes).is_ready() {}
        network.clock.advance_time(HEARTBEAT_INTERVAL);
        let Poll::Ready(Some(beat)) = poll(stream, &wakes) else { panic!("no heartbeat arrived") };
        assert!(poll(stream, &wakes).is_pending(), "exactly one heartbeat is due");
        String::from_utf8(beat.to_vec()).expect("text")
    };
    assert_eq!(heartbeat(&mut quiet), ":\nid: city@00000001:1\n\n");
    assert_eq!(heartbeat(&mut quiet), ":\n", "a comment alone does not end a block");
    // A publication on another channel moves the network on.
    network.change(1, 2);
    let text = heartbeat(&mut quiet);
    assert_eq!(text, ":\nid: city@00000001:2\n\n");
    assert!(parser.push(text.as_bytes()).is_empty(), "the page receives no event");
    assert_eq!(parser.comments, 1);
}

#[test]
fn the_first_heartbeats_of_many_streams_are_spread() {
    let network = Network::new(8);
    let wakes = Arc::new(Wakes::default());
    let mut streams: Vec<SseStream> = (0..100)
        .map(|seed| {
            SseStream::open_stream(
                &network.hub,
                &["feed/city"],
                None,
                &SseSubscriber::default(),
                seed,
            )
            .expect("opened")
        })
        .collect();
    for stream in &mut streams {
        while poll(stream, &wakes).is_ready() {}
    }
    network.clock.advance_time(HEARTBEAT_INTERVAL * 3 / 4);
    let early = streams
        .iter_mut()
        .filter_map(|stream| poll(stream, &wakes).is_ready().then_some(()))
        .count();
    assert!((20..80).contains(&early), "{early} of 100");
}

#[test]
fn a_repeatedly_slow_client_is_closed_with_a_reason() {
    let network = Network::new(1);
    let mut stream = open(&network, &["feed/city"], None);
    drop(text(&mut stream));
    let mut parser = Parser::default();
    for _ in 0..2 {
        (0..5).for_each(|vehicle| network.change(vehicle, 3));
        // Reads to the end of the state, but never to the top.
        while let Some(piece) = stream.next_output_bytes() {
            if parser.push(&piece).iter().any(|event| event.data["offset"].is_u64()) {
                break;
            }
        }
    }
    (0..5).for_each(|vehicle| network.change(vehicle, 3));
    let rest = text(&mut stream);
    assert_eq!(rest, ": slow: the client fell behind repeatedly\n");
    assert!(stream.close_reason().is_some());
    let wakes = Arc::new(Wakes::default());
    assert_eq!(poll(&mut stream, &wakes), Poll::Ready(None));
}

fn open_as(network: &Network, reader: &SseSubscriber) -> SseStream {
    SseStream::open_stream(&network.hub, &["feed/city"], None, reader, 1).expect("opened")
}

#[test]
fn a_stream_ends_when_its_token_expires() {
    let network = Network::new(8);
    let wakes = Arc::new(Wakes::default());
    let reader =
        SseSubscriber { user: "anna".into(), token_lifetime: Some(Duration::from_secs(5)) };
    let [mut stream, mut other] =
        [&reader, &SseSubscriber::default()].map(|it| open_as(&network, it));
    for stream in [&mut stream, &mut other] {
        while poll(stream, &wakes).is_ready() {}
    }
    network.clock.advance_time(Duration::from_millis(4_999));
    assert!(poll(&mut stream, &wakes).is_pending() && stream.close_reason().is_none());
    let before = wakes.0.load(Ordering::Relaxed);
    network.clock.advance_time(Duration::from_millis(1));
    assert!(wakes.0.load(Ordering::Relaxed) > before, "the stream's task is woken");
    network.change(1, 3);
    let Poll::Ready(Some(last)) = poll(&mut stream, &wakes) else {
        panic!("the stream sent no last comment")
    };
    assert_eq!(&last[..], b": expired: the token has expired\n");
    assert_eq!(poll(&mut stream, &wakes), Poll::Ready(None));
    assert_eq!(stream.close_reason(), Some(ConnectionCloseReason::Expired));
    assert!(text(&mut other).contains("\"offset\":1"));
}

#[test]
fn the_streams_of_a_user_end_when_the_user_is_disconnected() {
    let network = Network::new(8);
    let reader = |user: &str| SseSubscriber { user: user.into(), token_lifetime: None };
    let [mut anna, mut bert] = ["anna", "bert"].map(|user| open_as(&network, &reader(user)));
    let disconnect = |client: Option<&str>| {
        let client = client.map(Into::into);
        let order =
            DisconnectOrder { client, except: vec![], code: 3503, reason: "go\n\nnow".into() };
        network.hub.disconnect_user("anna", order);
    };
    network.change(1, 3);
    let begun = text(&mut anna);
    assert!(begun.ends_with("id: city@00000001:1\n\n"), "a personal channel has no id: {begun}");
    assert_eq!(begun, text(&mut bert));
    disconnect(Some("a connection over WebSocket"));
    assert_eq!(text(&mut anna), "", "the order names another client");
    disconnect(None);
    network.change(1, 3);
    let end = text(&mut anna);
    assert!(end.ends_with(": disconnected: go  now\n"), "{end}");
    assert_eq!(anna.close_reason(), Some(ConnectionCloseReason::Disconnected));
    assert!(text(&mut bert).contains("\"offset\":2") && bert.close_reason().is_none());
}

#[test]
fn refusals_have_a_status_and_a_code() {
    let network = Network::new(8);
    let open = |channels: &[&str]| {
        SseStream::open_stream(&network.hub, channels, None, &SseSubscriber::default(), 1).map(drop)
    };
    let refusal = |channels: &[&str]| {
        let error = open(channels).expect_err("an error");
        (error.http_status(), error.problem_code())
    };
    assert_eq!(refusal(&[]), (400, "bad_channel"));
    assert_eq!(refusal(&["feed/city", "feed/a b"]), (400, "bad_channel"));
    assert_eq!(refusal(&["nothing/city"]), (400, "bad_channel"));
    assert_eq!(refusal(&["feed/village"]), (404, "unknown_feed"));
    let many: Vec<String> = (0..=CHANNELS_MAX).map(|n| format!("area/{n}")).collect();
    let many: Vec<&str> = many.iter().map(String::as_str).collect();
    assert_eq!(refusal(&many), (400, "too_many_channels"));
    assert_eq!(open(&many[..CHANNELS_MAX]), Ok(()));
    assert_eq!(
        open(&["feed/city", "feed/city"]),
        Ok(()),
        "a channel that is named twice is subscribed once"
    );
    let long = "x".repeat(10_000);
    let Err(SseOpenError::BadChannel { name, why: BadChannelName::TooLong }) = open(&[&long])
    else {
        panic!("the name was accepted")
    };
    assert!(name.len() < 200);
}

#[test]
fn an_invalid_last_event_id_is_ignored() {
    let network = Network::new(8);
    network.change(1, 3);
    for id in
        ["", "57", "city", "city@", "city@x:1", "town@00000001:1", &"\u{1f68b},".repeat(50_000)]
    {
        let mut stream = open(&network, &["feed/city"], Some(id));
        let events = Parser::default().push(text(&mut stream).as_bytes());
        assert_eq!(events.len(), 1);
        assert!(events[0].data["data"]["gap"].is_null(), "{id}");
    }
}
