//! Tests of the protocol's exchanges, over a network of vehicles.

use std::time::Duration;

use bytes::BytesMut;
use lineside_wire::centrifuge::message::*;
use lineside_wire::centrifuge::{ClientLimits, CommandRequest};
use lineside_wire::websocket::frame::{self, Opcode};
use proptest::collection::vec;
use proptest::prelude::*;

use crate::network::{GROUP, Network};
use crate::peer::{FORMATS, Peer, SessionKind};

fn error(reply: &Reply) -> u32 {
    reply.error.as_ref().map_or(0, |error| error.code)
}

fn code(peer: &Peer) -> u16 {
    peer.closed.as_ref().map_or(0, |close| close.code)
}

fn advance(network: &Network, seconds: u64) {
    network.clock.advance_time(Duration::from_secs(seconds));
}

#[test]
fn connect_must_be_the_first_command_and_sent_once() {
    let network = Network::new(16);
    for format in FORMATS {
        let mut peer = Peer::new(&network.hub, format, false);
        peer.subscribe("feed/city");
        assert_eq!(code(&peer), 3003);
        let mut peer = Peer::new(&network.hub, format, false);
        let connected = peer.connect("").connect.expect("connected");
        assert_eq!(connected.client, *peer.connection.as_client().client_id().to_string());
        assert_eq!((connected.ping, connected.pong, connected.expires), (25, true, false));
        peer.connect("");
        assert_eq!(code(&peer), 3003);
    }
}

#[test]
fn a_client_that_never_sends_connect_is_closed() {
    let network = Network::new(16);
    let mut peer = Peer::new(&network.hub, FORMATS[0], false);
    let due = network.hub.clock().monotonic() + Duration::from_secs(10);
    assert_eq!(peer.connection.next_due(), Some(due));
    peer.ping();
    assert_eq!(peer.pings, 0, "a client without connect is not pinged");
    advance(&network, 9);
    peer.look_in();
    assert_eq!(peer.closed, None);
    advance(&network, 1);
    peer.look_in();
    assert_eq!(code(&peer), 3003);
}

#[test]
fn a_client_without_a_pong_is_closed() {
    let network = Network::new(16);
    for format in FORMATS {
        let mut peer = Peer::new(&network.hub, format, false);
        peer.connect("");
        assert_eq!(peer.connection.next_due(), None, "an idle client causes no work");
        for _ in 0..3 {
            peer.ping();
            advance(&network, 9);
            peer.ask(CommandRequest::Pong);
            peer.look_in();
        }
        assert_eq!((peer.pings, code(&peer)), (3, 0));
        peer.ping();
        advance(&network, 5);
        peer.ping();
        advance(&network, 5);
        peer.look_in();
        assert_eq!(code(&peer), 3012, "only the first of two pings counts");
    }
}

fn message(text: &[u8]) -> BytesMut {
    let mut bytes = BytesMut::new();
    frame::write_masked_frame(&mut bytes, Opcode::Text, false, text, [1, 2, 3, 4]);
    bytes
}

#[test]
fn a_message_that_takes_too_long_ends_the_connection() {
    let network = Network::new(16);
    let mut peer = Peer::new(&network.hub, FORMATS[0], false);
    peer.connect("");
    let pieces = message(b"{\"id\":7,\"ping\":{}}");
    for (n, byte) in pieces.iter().take(10).enumerate() {
        assert_eq!(code(&peer), 0, "after {n} bytes");
        peer.send(&[*byte]);
        advance(&network, 3);
        peer.look_in();
    }
    assert_eq!(code(&peer), 3003);
}

#[test]
fn completing_messages_in_pieces_is_not_slow() {
    let network = Network::new(16);
    let mut peer = Peer::new(&network.hub, FORMATS[0], false);
    peer.connect("");
    let pong = message(b"{}");
    let (begin, end) = pong.split_at(3);
    peer.send(begin);
    for _ in 0..5 {
        advance(&network, 20);
        peer.look_in();
        peer.send(&[end, begin].concat());
    }
    assert_eq!(peer.closed, None);
    advance(&network, 30);
    peer.look_in();
    assert_eq!(code(&peer), 3003, "the last message never ended");
}

#[test]
fn a_new_subscriber_starts_at_offset_zero_and_receives_the_state() {
    for format in FORMATS {
        let network = Network::new(16);
        (0..6).for_each(|vehicle| network.change(vehicle, 2));
        let mut peer = Peer::new(&network.hub, format, true);
        peer.connect("");
        let reply = peer.subscribe("feed/city").subscribe.expect("subscribed");
        assert!(reply.recoverable && reply.positioned && !reply.was_recovering && !reply.recovered);
        assert_eq!((reply.offset, reply.epoch.as_str()), (0, "00000001"));
        assert!(reply.publications.is_empty(), "a reply must not contain the state");
        assert_eq!(peer.pull(99), 3);
        network.change(1, 2);
        assert_eq!(peer.pull(99), 1);
        let content = &peer.contents["feed/city"];
        assert_eq!(content.records, network.holdings("feed/city"));
        assert_eq!((content.states, content.gaps), (1, 0));
    }
}

#[test]
fn an_idle_connection_is_small() {
    let bytes = size_of::<lineside_wire::centrifuge::CentrifugeConnection>();
    assert!(bytes <= 448, "{bytes} bytes");
}

#[test]
fn a_refused_channel_has_its_code() {
    let network = Network::new(16);
    for format in FORMATS {
        let mut peer = Peer::new(&network.hub, format, false);
        peer.connect("");
        let codes = |peer: &mut Peer, channels: &[&str]| -> Vec<u32> {
            peer.subscribe_all(channels).iter().map(error).collect()
        };
        let channels = ["feed/nowhere", "what/is", "feed", "feed/a b", "ops/node", "feed/city"];
        assert_eq!(codes(&mut peer, &channels), [102, 102, 107, 107, 103, 0]);
        assert_eq!(codes(&mut peer, &["feed/city"]), [105]);
        let many: Vec<String> = (0..520).map(|n| format!("route/city/{n}")).collect();
        let many: Vec<&str> = many.iter().map(String::as_str).collect();
        let replies = codes(&mut peer, &many);
        assert!(
            replies[..511].iter().all(|code| *code == 0),
            "one message contains hundreds of publications"
        );
        assert_eq!(replies[511..], [106; 9]);
        assert_eq!(peer.waits > 1, format == FORMATS[0], "long replies wait for the socket");
        assert!(peer.largest_frame < 64 << 10);
        let unsubscribed =
            peer.ask(CommandRequest::Unsubscribe(ChannelRequest { channel: "feed/city".into() }));
        assert!(unsubscribed.unsubscribe.is_some());
        assert_eq!(codes(&mut peer, &["feed/city"]), [0]);
        assert_eq!(peer.closed, None);
    }
}

#[test]
fn missed_publications_are_in_the_reply_and_the_rest_follows() {
    for format in FORMATS {
        let network = Network::new(1_000);
        network.change(0, 2);
        let mut peer = Peer::new(&network.hub, format, false);
        peer.connect("");
        peer.subscribe("feed/city");
        peer.pull(99);
        let before = peer.contents["feed/city"].offset;
        // Nothing was missed.
        let mut peer = peer.again();
        peer.connect("");
        let reply = peer.subscribe("feed/city").subscribe.expect("subscribed");
        assert!(reply.was_recovering && reply.recovered && reply.publications.is_empty());
        assert_eq!((reply.offset, peer.pull(99)), (before, 0));
        (0..305).for_each(|n| network.change(n, 2));
        let mut peer = peer.again();
        peer.connect("");
        let reply = peer.subscribe("feed/city").subscribe.expect("subscribed");
        assert!(reply.recovered);
        assert_eq!((reply.offset, reply.publications.len()), (before, 300));
        assert_eq!(reply.publications[0].offset, before + 1);
        assert_eq!(peer.pull(99), 5);
        assert_eq!(peer.contents["feed/city"].records, network.holdings("feed/city"));
        assert_eq!((peer.contents["feed/city"].states, peer.contents["feed/city"].gaps), (1, 0));
        // More than the ring holds.
        (0..1_100).for_each(|n| network.change(n, 2));
        let mut peer = peer.again();
        peer.connect("");
        let reply = peer.subscribe("feed/city").subscribe.expect("subscribed");
        assert!(reply.was_recovering && !reply.recovered && reply.publications.is_empty());
        assert_eq!(reply.offset, 0);
        peer.pull(99);
        assert_eq!(peer.contents["feed/city"].records, network.holdings("feed/city"));
        assert_eq!((peer.contents["feed/city"].states, peer.contents["feed/city"].gaps), (2, 1));
        // An invalid epoch.
        let mut peer = peer.again();
        peer.contents.get_mut("feed/city").expect("held").epoch = "_".into();
        peer.connect("");
        assert!(!peer.subscribe("feed/city").subscribe.expect("subscribed").recovered);
        peer.pull(99);
        assert_eq!(peer.contents["feed/city"].gaps, 2);
    }
}

#[test]
fn a_flood_ends_the_connection_and_a_resubscription_does_not() {
    let network = Network::new(16);
    let limits =
        ClientLimits { commands_burst: 20, commands_per_second: 2, ..ClientLimits::default() };
    for format in FORMATS {
        let mut peer = Peer::with_limits(&network.hub, format, false, limits);
        peer.connect("");
        assert_eq!(peer.ask_all((0..19).map(|_| CommandRequest::Ping)).len(), 19);
        for _ in 0..50 {
            advance(&network, 1);
            peer.ask_all([CommandRequest::Ping, CommandRequest::Ping]);
        }
        assert_eq!(peer.closed, None);
        peer.ask_all((0..19).map(|_| CommandRequest::Ping));
        assert_eq!(code(&peer), 3013);
        // Frames that are not messages count too.
        let mut peer = Peer::with_limits(&network.hub, format, false, limits);
        let mut pings = BytesMut::new();
        (0..30)
            .for_each(|_| frame::write_masked_frame(&mut pings, Opcode::Ping, false, b"!", [7; 4]));
        peer.send(&pings);
        assert_eq!(code(&peer), 3013);
    }
}

#[test]
fn malformed_messages_end_the_connection() {
    let network = Network::new(16);
    for (opcode, payload, expected) in [
        (Opcode::Text, &b"nonsense"[..], 3003),
        (Opcode::Text, b"\xff", 1007),
        (Opcode::Close, b"", 1000),
        (Opcode::Close, b"\x03\xe9bye", 1001),
    ] {
        let mut peer = Peer::new(&network.hub, FORMATS[0], false);
        let mut bytes = BytesMut::new();
        frame::write_masked_frame(&mut bytes, opcode, false, payload, [9; 4]);
        peer.send(&bytes);
        assert_eq!(code(&peer), expected);
    }
    let mut peer = Peer::new(&network.hub, FORMATS[0], false);
    peer.send(&[0x81, 0xff, 0, 0, 0, 0, 0, 8, 0, 0, 1, 2, 3, 4]);
    assert_eq!(code(&peer), 1009);
    let close = peer.closed.expect("closed").encoded_close_frame();
    assert_eq!(close[..4], [0x88, close.len() as u8 - 2, 3, 0xf1]);
}

#[test]
fn an_incomplete_message_ends_the_connection_after_30_seconds() {
    let network = Network::new(16);
    let mut peer = Peer::new(&network.hub, FORMATS[0], false);
    peer.connect("");
    peer.send(&[0x81, 0x85, 1]);
    advance(&network, 29);
    peer.send(&[2]);
    peer.look_in();
    assert_eq!(peer.closed, None);
    assert!(peer.connection.next_due().is_some());
    advance(&network, 1);
    peer.look_in();
    assert_eq!(code(&peer), 3003);
}

#[test]
fn a_client_that_falls_behind_repeatedly_is_disconnected_as_slow() {
    let network = Network::new(2);
    let mut peer = Peer::new(&network.hub, FORMATS[0], false);
    peer.connect("");
    peer.subscribe("feed/city");
    peer.pull(1);
    for n in 0..400 {
        network.change(n, 2);
        if n % 5 == 0 {
            peer.pull(1);
        }
    }
    peer.pull(99);
    assert_eq!(code(&peer), 3008);
    assert_eq!(peer.pull(9), 0, "no further push");
}

#[derive(Clone, Debug)]
enum Step {
    Change(u64, u64),
    Restate(bool),
    Pull(usize),
    Cut,
    Subscribe(usize),
    Unsubscribe(usize),
}

const CHANNELS: [&str; 5] = ["feed/city", "route/city/0", "route/city/1", "area/0", "area/1"];

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        8 => (0..6_u64, 0..35_u64).prop_map(|(vehicle, what)| Step::Change(vehicle, what)),
        1 => any::<bool>().prop_map(Step::Restate),
        5 => (1..6_usize).prop_map(Step::Pull),
        2 => Just(Step::Cut),
        2 => (0..CHANNELS.len()).prop_map(Step::Subscribe),
        1 => (0..CHANNELS.len()).prop_map(Step::Unsubscribe),
    ]
}

proptest! {
    #[test]
    fn a_client_converges_to_the_data_of_the_network(
        steps in vec(step(), 1..120),
        ring in 1..12_usize,
        json in any::<bool>(),
        seated in any::<bool>(),
        piece in 1..500_usize,
    ) {
        let network = Network::new(ring);
        let format = FORMATS[usize::from(json)];
        let kind = if seated { SessionKind::Partition } else { SessionKind::Direct };
        let mut peer = Peer::on(&network.hub, format, false, kind);
        peer.piece = piece;
        peer.connect("");
        for step in steps {
            match step {
                Step::Change(vehicle, what) => network.change(vehicle, what),
                Step::Restate(new_life) => network.restate(new_life),
                Step::Pull(most) => {
                    peer.pull(most);
                }
                Step::Cut => {}
                Step::Subscribe(n) => {
                    if !peer.contents.contains_key(CHANNELS[n]) {
                        peer.subscribe(CHANNELS[n]);
                    }
                }
                Step::Unsubscribe(n) => {
                    let channel = CHANNELS[n].to_owned();
                    if peer.contents.remove(&channel).is_some() {
                        peer.ask(CommandRequest::Unsubscribe(ChannelRequest { channel }));
                    }
                }
            }
            // A client that was too slow reconnects by itself.
            if matches!(step, Step::Cut) || peer.closed.is_some() {
                prop_assert!(matches!(code(&peer), 0 | 3008));
                peer = peer.again();
                peer.connect("");
                let channels: Vec<String> = peer.contents.keys().cloned().collect();
                let channels: Vec<&str> = channels.iter().map(String::as_str).collect();
                peer.subscribe_all(&channels);
            }
        }
        // The results of the workers are only signaled then.
        while peer.pull(100) > 0 || peer.pull(100) > 0 {}
        if peer.closed.is_none() {
            for (channel, held) in &peer.contents {
                prop_assert_eq!(&held.records, &network.holdings(channel), "{}", channel);
            }
        }
        prop_assert!(peer.pushes.is_empty());
    }

    #[test]
    fn receiving_any_bytes_does_not_panic(bytes in vec(any::<u8>(), 0..400), piece in 1..60_usize) {
        let network = Network::new(4);
        for format in FORMATS {
            let mut peer = Peer::new(&network.hub, format, true);
            peer.piece = piece;
            peer.connect("");
            peer.send(&bytes);
            // The same bytes as a message get further.
            let mut message = BytesMut::new();
            frame::write_masked_frame(&mut message, Opcode::Binary, false, &bytes, [1, 2, 3, 4]);
            let mut peer = Peer::new(&network.hub, format, true);
            peer.connect("");
            peer.send(&message);
        }
    }
}

#[test]
fn removing_a_feed_ends_its_subscriptions() {
    let network = Network::new(16);
    for format in FORMATS {
        let mut peer = Peer::new(&network.hub, format, false);
        peer.connect("");
        peer.subscribe("feed/city");
        peer.pull(99);
        network.hub.end_group_and_close_rooms(GROUP);
        peer.pull(99);
        let push = peer.pushes.pop().expect("an unsubscribe push");
        let end = push.unsubscribe.expect("an unsubscribe push");
        assert_eq!((push.channel.as_str(), end.code), ("feed/city", 2502));
        assert_eq!(peer.closed, None);
        // The old room must be removed to make room for the next one.
        network.hub.trim_and_close_idle_rooms();
    }
}
