//! Tests that misbehaving clients do not affect others, and that every client gets its deliveries.

use std::io::{Read as _, Write as _};
use std::time::{Duration, Instant};

use lineside_hub::DisconnectOrder;
use lineside_wire::partition::ConnectionCloseReason;
use lineside_wire::partition::limits::{COALESCE, PING_INTERVAL, STALL_MAX};
use lineside_wire::sse::SseSubscriber;
use serde_json::json;

use crate::peer::Peer;
use crate::stage::{FAULT, Stage, TIMEOUT, eventually};

const SECOND: Duration = Duration::from_secs(1);

#[test]
fn every_client_receives_all_publications_over_both_transports() {
    let stage = Stage::new(10);
    let mut peers: Vec<Peer> = (0..200).map(|_| stage.listener(1)).collect();
    let mut events: Vec<_> = (0..200).map(|_| stage.events(1, SseSubscriber::default())).collect();
    eventually("all clients are connected", || {
        stage.partitions.metrics().connection_count() == 400
    });
    eventually("all streams are subscribed", || stage.hub.metrics().subscriptions == 400);
    let last = (0..50).map(|_| stage.publish(1, 100)).last().expect("a published offset");
    for peer in &mut peers {
        assert!((1..=last).all(|offset| peer.next_offset() == offset));
    }
    for stream in &mut events {
        let mut text = String::new();
        let ends = format!("id: 1@{}:{last}\n\n", lineside_hub::Epoch::from_bits(7));
        while !text.ends_with(&ends) {
            let mut bytes = [0; 4096];
            let n = stream.read(&mut bytes).expect("more bytes");
            assert!(n > 0, "the stream ended after {text}");
            text.push_str(str::from_utf8(&bytes[..n]).expect("ASCII"));
        }
        assert!(text.starts_with("head\r\n\r\nretry: "), "{text}");
    }
}

#[test]
fn a_failed_partition_serves_reconnecting_clients() {
    let stage = Stage::new(10);
    let mut peers: Vec<Peer> = (0..6).map(|_| stage.listener(1)).collect();
    let token = json!({"subscribe": {"channel": "feed/2", "token": FAULT}, "id": 9});
    peers[0].send(&token);
    eventually("the connections of the failed partition are closed", || {
        stage.partitions.metrics().connection_count() == 3
    });
    assert_eq!(stage.partitions.metrics().closed_connection_count(ConnectionCloseReason::Fault), 3);
    let mut back: Vec<Peer> = (0..6).map(|_| stage.listener(1)).collect();
    let offset = stage.publish(1, 10);
    assert!(back.iter_mut().all(|peer| peer.next_offset() == offset), "both partitions deliver");
    let received = peers.iter_mut().map(|peer| usize::from(peer.next().is_some()));
    assert_eq!(
        received.sum::<usize>(),
        3,
        "the clients of the other partition are still connected"
    );
}

#[test]
fn a_stalled_client_is_disconnected_without_affecting_others() {
    let stage = Stage::new(10);
    let sleepers: Vec<Peer> = (0..10).map(|_| stage.listener(1)).collect();
    let mut good: Vec<Peer> = (0..50).map(|_| stage.listener(1)).collect();
    // More than a socket's buffers accept, and more than the ring retains.
    for _ in 0..200 {
        let offset = stage.publish(1, 100_000);
        for peer in &mut good {
            assert_eq!(peer.next_offset(), offset);
        }
    }
    assert!(stage.partitions.metrics().blocked_write_count() >= 10);
    let closed = || stage.partitions.metrics().closed_connection_count(ConnectionCloseReason::Slow);
    assert_eq!(closed(), 0, "the stall timeout has not passed");
    eventually("the stalled clients are disconnected", || {
        stage.clock.advance_time(STALL_MAX / 10);
        // The good clients must answer the pings meanwhile.
        good.iter_mut().for_each(|peer| peer.send(&json!({})));
        closed() == 10
    });
    drop(sleepers);
    let offset = stage.publish(1, 10);
    assert!(good.iter_mut().all(|peer| peer.next_offset() == offset));
}

#[test]
fn an_overtaken_reader_receives_the_state_with_a_gap() {
    let stage = Stage::new(10);
    let mut slow = stage.listener(1);
    let is_blocked = || stage.partitions.metrics().blocked_write_count() > 0;
    // If it were overtaken repeatedly before its socket is full, it would be cut off.
    while !is_blocked() {
        let deliveries = || stage.hub.metrics().deliveries_total;
        let before = deliveries();
        stage.publish(1, 100_000);
        eventually("the publication was sent, or the socket is blocked", || {
            stage.clock.advance_time(COALESCE);
            is_blocked() || deliveries() > before
        });
    }
    let last = (0..300).map(|_| stage.publish(1, 100_000)).last().expect("a published offset");
    let mut gaps = 0;
    loop {
        let message = slow.next().expect("another message");
        let publication = &message["push"]["pub"];
        gaps += u32::from(publication["data"]["gap"] == true);
        if publication["offset"].as_u64() == Some(last) {
            break;
        }
    }
    assert!(gaps > 0, "a ring of some hundred kilobytes cannot hold 30 MB");
    let next = stage.publish(1, 10);
    assert_eq!(slow.next_offset(), next);
}

#[test]
fn sending_a_large_state_to_many_does_not_delay_other_rooms() {
    let stage = Stage::new(2_000_000);
    let mut lone = stage.listener(2);
    // These clients do not read, so as many states as possible are in transfer.
    let crowd: Vec<Peer> = (0..1_500)
        .map(|_| {
            let mut peer = stage.websocket();
            peer.send(&json!({"id": 1, "connect": {}}));
            peer.send(&json!({"id": 2, "subscribe": {"channel": "feed/1"}}));
            peer
        })
        .collect();
    let waiting = || stage.partitions.metrics().waiting_for_state_count();
    eventually("some states are pending", || waiting() > 0);
    let begun = Instant::now();
    for _ in 0..20 {
        let offset = stage.publish(2, 100);
        assert_eq!(lone.next_offset(), offset);
        assert!(waiting() > 0, "the publication arrived before the pending states");
    }
    // All together, because a busy machine may delay any one of them.
    assert!(begun.elapsed() < TIMEOUT, "{:?}", begun.elapsed());
    assert_eq!(stage.hub.metrics().states_encoded_total, 2, "one encoding for each room");
    drop(crowd);
    eventually("the slots of pending states are freed", || {
        let metrics = stage.partitions.metrics();
        metrics.connection_count() == 1 && metrics.waiting_for_state_count() == 0
    });
}

#[test]
fn a_client_that_does_not_answer_a_ping_is_disconnected() {
    let stage = Stage::new(10);
    let (mut silent, mut lively) = (stage.listener(1), stage.listener(1));
    let quiet = stage.websocket();
    stage.clock.advance_time(PING_INTERVAL + SECOND);
    assert_eq!(lively.next(), Some(json!({})), "a ping");
    lively.send(&json!({}));
    assert_eq!(silent.next(), Some(json!({})));
    stage.clock.advance_time(11 * SECOND);
    assert_eq!(silent.end(), Some(3012));
    let mut quiet = quiet;
    assert_eq!(quiet.end(), Some(3003), "the client never sent connect");
    let offset = stage.publish(1, 10);
    assert_eq!(lively.next_offset(), offset);
    eventually("both closings are counted, although the clients keep their sockets open", || {
        stage.clock.advance_time(SECOND);
        lively.send(&json!({}));
        let metrics = stage.partitions.metrics();
        (
            metrics.closed_connection_count(ConnectionCloseReason::NoPong),
            metrics.closed_connection_count(ConnectionCloseReason::Protocol),
        ) == (1, 1)
    });
}

#[test]
fn malformed_input_ends_only_its_own_connection() {
    let stage = Stage::new(10);
    let mut good = stage.listener(1);
    let unmasked = b"\x81\x02{}".as_slice();
    let reserved = b"\xf1\x80\0\0\0\0".as_slice();
    let giant = b"\x81\xff\x7f\xff\xff\xff\xff\xff\xff\xff\0\0\0\0".as_slice();
    let not_text = b"\x81\x81\0\0\0\0\xff".as_slice();
    for (nonsense, code) in [(unmasked, 1002), (reserved, 1002), (giant, 1009), (not_text, 1007)] {
        let mut bad = stage.websocket();
        bad.socket.write_all(nonsense).expect("sent");
        assert_eq!(bad.end(), Some(code), "{nonsense:x?}");
    }
    let mut flood = stage.listener(1);
    let commands = "{\"id\":1,\"ping\":{}}\n".repeat(5_000);
    for _ in 0..4 {
        let mut bytes = bytes::BytesMut::new();
        let opcode = lineside_wire::websocket::frame::Opcode::Text;
        lineside_wire::websocket::frame::write_masked_frame(
            &mut bytes,
            opcode,
            false,
            commands.as_bytes(),
            [1; 4],
        );
        _ = flood.socket.write_all(&bytes);
    }
    assert_eq!(flood.end(), Some(3013));
    let offset = stage.publish(1, 10);
    assert_eq!(good.next_offset(), offset);
}

#[test]
fn a_stream_ends_when_its_token_expires_or_the_back_end_orders_it() {
    let stage = Stage::new(10);
    let short = SseSubscriber { user: "anna".into(), token_lifetime: Some(5 * SECOND) };
    let long = SseSubscriber { user: "bert".into(), token_lifetime: None };
    let mut streams = [short, long].map(|reader| stage.events(1, reader));
    let mut good = stage.listener(1);
    // One channel each, and the orders for each user.
    eventually("both streams are subscribed", || stage.hub.metrics().subscriptions == 5);
    stage.clock.advance_time(4 * SECOND);
    assert_eq!(stage.partitions.metrics().connection_count(), 3);
    stage.clock.advance_time(3 * SECOND);
    let closed = |why| stage.partitions.metrics().closed_connection_count(why);
    eventually("one token expired", || closed(ConnectionCloseReason::Expired) == 1);
    let order =
        DisconnectOrder { client: None, except: vec![], code: 3503, reason: "banned".into() };
    stage.hub.disconnect_user("bert", order);
    eventually("the other stream was closed", || closed(ConnectionCloseReason::Disconnected) == 1);
    let ends = [": expired: the token has expired\n", ": disconnected: banned\n"];
    for (stream, end) in streams.iter_mut().zip(ends) {
        let mut text = String::new();
        stream.read_to_string(&mut text).expect("the end of the stream");
        assert!(text.ends_with(end), "{text}");
    }
    let offset = stage.publish(1, 10);
    assert_eq!(good.next_offset(), offset);
    eventually("only the other client is subscribed", || stage.hub.metrics().subscriptions == 1);
}

#[test]
fn a_client_that_floods_an_event_stream_is_disconnected() {
    let stage = Stage::new(10);
    let mut good = stage.listener(1);
    let mut chatty = stage.events(1, SseSubscriber::default());
    eventually("both clients are connected", || stage.partitions.metrics().connection_count() == 2);
    chatty.write_all(&[b'x'; 60_000]).expect("the server ignores input on an event stream");
    let offset = stage.publish(1, 10);
    assert_eq!(good.next_offset(), offset);
    assert_eq!(stage.partitions.metrics().closed_connection_count(ConnectionCloseReason::Flood), 0);
    eventually("the input exceeds the limit", || {
        // Writing may fail once it is closed.
        _ = chatty.write_all(&[b'x'; 10_000]);
        stage.partitions.metrics().closed_connection_count(ConnectionCloseReason::Flood) == 1
    });
    let offset = stage.publish(1, 10);
    assert_eq!(good.next_offset(), offset);
}

#[test]
fn draining_closes_all_connections_evenly_with_the_shutdown_code() {
    let stage = Stage::new(10);
    let mut peers: Vec<Peer> = (0..100).map(|_| stage.listener(1)).collect();
    let mut stream = stage.events(1, SseSubscriber::default());
    eventually("all clients are subscribed", || stage.hub.metrics().subscriptions == 101);
    stage.partitions.close_connections_evenly(10 * SECOND);
    let open = || stage.partitions.metrics().connection_count();
    let half_way = |stage: &Stage| {
        stage.clock.advance_time(SECOND / 10);
        open() < 70
    };
    eventually("some connections are closed", || half_way(&stage));
    assert!(open() > 20, "{} connections are open; they must not close all at once", open());
    eventually("all connections are closed", || {
        stage.clock.advance_time(SECOND / 10);
        open() == 0
    });
    assert!(peers.iter_mut().all(|peer| peer.end() == Some(3001)));
    let mut rest = Vec::new();
    stream.read_to_end(&mut rest).expect("the end of the stream");
    stage.partitions.wait_for_threads();
    assert_eq!(
        stage.partitions.metrics().closed_connection_count(ConnectionCloseReason::Shutdown),
        101
    );
}
