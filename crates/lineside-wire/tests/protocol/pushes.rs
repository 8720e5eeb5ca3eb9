//! Tests of a session's deliveries as a client reads them.

use std::sync::Arc;

use bytes::{Bytes, BytesMut};
use lineside_hub::{
    ClientDelivery, EncodedChannelName, NewsListener, PublicationExtras, Session, SessionLimits,
};
use lineside_wire::centrifuge::{ProtocolFormat, Reply, push};
use lineside_wire::websocket::{Deflater, EndpointRole, Inflater, WebSocketEvent, WebSocketReader};
use serde_json::Value;

use crate::network::Network;

struct Deaf;

impl NewsListener for Deaf {
    fn signal_news(&self) {}
}

fn session(network: &Network, channel: &str) -> (Session, EncodedChannelName) {
    let channel = EncodedChannelName::parse_channel_name(channel).expect("a channel");
    let mut session = network.hub.open_session(Arc::new(Deaf), SessionLimits::default());
    session.subscribe(&channel, None).expect("subscribed");
    (session, channel)
}

/// Parses one frame as a client does.
fn read(frame: &[u8], format: ProtocolFormat, deflate: bool) -> Reply {
    let mut bytes = frame.to_vec();
    let mut input = bytes.as_mut_slice();
    let mut reader = WebSocketReader::new(EndpointRole::Client, 1 << 20, deflate);
    let event = reader.next_event(&mut input, &mut Inflater::default());
    let message = match event.expect("a message").expect("well-formed") {
        WebSocketEvent::Text(text) if format == ProtocolFormat::Json => {
            text.into_owned().into_bytes()
        }
        WebSocketEvent::Binary(bytes) if format == ProtocolFormat::Protobuf => bytes.into_owned(),
        event => panic!("{event:?}"),
    };
    assert!(reader.is_between_messages() && input.is_empty(), "a delivery is one frame");
    let mut replies = Reply::read_replies_of_message(format, &message);
    let reply = replies.next().expect("a reply").expect("well-formed");
    assert!(replies.next().is_none());
    reply
}

fn check(delivery: &ClientDelivery, format: ProtocolFormat, deflater: Option<&mut Deflater>) {
    let deflate = deflater.is_some();
    let pieces = push::encode_delivery_frame(delivery, format, deflater).expect("a delivery");
    let frame = pieces.concat();
    let data = delivery.payload().expect("data").data();
    let is_large = data.len() >= 256;
    assert_eq!(frame[0] & 0x40 != 0, deflate && is_large, "large messages are compressed");
    assert!(
        !(deflate && is_large) || frame.len() < data.len(),
        "compression makes the message smaller"
    );

    let push = read(&frame, format, deflate).push.expect("a push");
    assert_eq!(push.channel, delivery.channel().as_str());
    let publication = push.publication.expect("a publication");
    let mut expected: Value = serde_json::from_slice(data).expect("JSON");
    if let ClientDelivery::State { gap: true, .. } = delivery {
        expected["gap"] = true.into();
    }
    let got: Value = serde_json::from_slice(&publication.data).expect("JSON");
    assert_eq!(got, expected);
    assert_eq!(publication.offset, delivery.position().map_or(0, |position| position.offset));
    if let ClientDelivery::State { state, part, .. } = delivery {
        let last = part + 1 == state.parts().len();
        let epoch = state.position().epoch.to_string();
        assert_eq!(publication.epoch, if last { epoch } else { String::new() });
    }
}

fn check_all(delivery: &ClientDelivery) {
    for format in [ProtocolFormat::Json, ProtocolFormat::Protobuf] {
        check(delivery, format, None);
        check(delivery, format, Some(&mut Deflater::default()));
        // A cached frame must be equal.
        check(delivery, format, Some(&mut Deflater::default()));
    }
}

#[test]
fn states_and_publications_are_encoded_in_every_format() {
    let network = Network::new(4);
    for vehicle in 0..6 {
        network.change(vehicle, 2);
    }
    let (mut session, _) = session(&network, "feed/city");
    let mut deliveries = 0;
    while let Some(delivery) = session.next_delivery() {
        assert!(delivery.payload().expect("data").data().len() >= 256, "data that compress well");
        check_all(&delivery);
        deliveries += 1;
    }
    assert_eq!(deliveries, 3, "a state in three parts");
    for vehicle in 0..3 {
        network.change(vehicle, 2);
        check_all(&session.next_delivery().expect("a publication"));
    }
    // More than the ring holds.
    for vehicle in 0..9 {
        network.change(vehicle % 6, 2);
    }
    let delivery = session.next_delivery().expect("a state");
    assert!(matches!(delivery, ClientDelivery::State { gap: true, .. }));
    check_all(&delivery);
}

#[test]
fn applying_deliveries_yields_the_data_of_the_network() {
    let network = Network::new(4);
    for format in [ProtocolFormat::Json, ProtocolFormat::Protobuf] {
        let (mut session, _) = session(&network, "feed/city");
        let mut content = std::collections::BTreeMap::new();
        for step in 0..40_u64 {
            network.clock.advance_time(std::time::Duration::from_secs(1));
            network.change(step * 7, step * 5);
            if step % 16 == 9 {
                network.restate(step == 25);
            }
            if step % 6 > 0 {
                continue;
            }
            while let Some(delivery) = session.next_delivery() {
                check_all(&delivery);
                let frame =
                    push::encode_delivery_frame(&delivery, format, None).expect("a frame").concat();
                let push = read(&frame, format, false).push.expect("a push");
                apply(&push.publication.expect("a publication").data, &mut content);
            }
            assert_eq!(content, network.holdings("feed/city"));
        }
    }
}

fn apply(data: &[u8], content: &mut crate::network::Holdings) {
    let data: Value = serde_json::from_slice(data).expect("JSON");
    if data["state"]["part"] == 1 {
        content.clear();
    }
    for change in data["changes"].as_array().expect("changes") {
        let id = change["id"].to_string();
        if change["op"] == "upsert" {
            content.insert(id, change["record"].clone());
        } else {
            content.remove(&id);
        }
    }
}

#[test]
fn a_ping_is_an_empty_reply() {
    for format in [ProtocolFormat::Json, ProtocolFormat::Protobuf] {
        assert_eq!(read(&push::encode_ping_frame(format), format, false), Reply::default());
    }
}

#[test]
fn a_large_part_is_compressed_once() {
    let network = Network::new(4);
    let mut deflater = Deflater::default();
    for vehicle in 0..6 {
        network.change(vehicle, 2);
    }
    let (mut session, channel) = session(&network, "feed/city");
    let Some(ClientDelivery::State { state, .. }) = session.next_delivery() else {
        panic!("the delivery is not a state")
    };
    // The test network's parts are small; this one is not.
    let large = format!("{{\n\"changes\":[{}0]}}", "\"tram\",".repeat(200));
    let payload = lineside_hub::FramedPayload::new(Bytes::from(large.clone()));
    push::compress_state_part(&payload, &mut deflater);
    assert!(state.parts().len() == 3 && !channel.as_str().is_empty());
    let once =
        payload.get_or_encode_frame(4, |_| unreachable!("the payload is compressed already"));
    assert!(once.len() < large.len() / 4);
}

#[test]
fn a_publication_is_framed_once_for_all_clients() {
    let network = Network::new(16);
    let (mut one, _) = session(&network, "feed/city");
    let (mut other, _) = session(&network, "feed/city");
    while one.next_delivery().is_some() || other.next_delivery().is_some() {}
    network.change(1, 2);
    let (one, other) = (one.next_delivery(), other.next_delivery());
    for format in [ProtocolFormat::Json, ProtocolFormat::Protobuf] {
        let frame = |delivery: &Option<ClientDelivery>| {
            push::encode_delivery_frame(delivery.as_ref().expect("a publication"), format, None)
                .expect("a frame")
        };
        let (first, second) = (frame(&one), frame(&other));
        assert_eq!(first[0].as_ptr(), second[0].as_ptr());
        assert!(first[1].is_empty() && first[2].is_empty());
    }
}

#[test]
fn publisher_and_tags_are_encoded() {
    let network = Network::new(16);
    let (mut session, channel) = session(&network, "app/chat");
    while session.next_delivery().is_some() {}
    let member = lineside_hub::PresenceMember {
        client: "c1".into(),
        user: "ann".into(),
        connection_info: Bytes::from_static(b"{\"name\":\"Ann\"}"),
        channel_info: Bytes::new(),
    };
    let extras = PublicationExtras {
        publisher: Some(Arc::new(member)),
        tags: vec![("line".into(), "1".into())],
        skip_history: false,
    };
    network
        .hub
        .publish_to_app_channel(&channel, Bytes::from_static(b"\"hi\""), extras)
        .expect("published");
    let delivery = session.next_delivery().expect("a publication");
    for format in [ProtocolFormat::Json, ProtocolFormat::Protobuf] {
        let frame = push::encode_delivery_frame(&delivery, format, None).expect("a frame").concat();
        let publication = read(&frame, format, false).push.expect("a push").publication;
        let publication = publication.expect("a publication");
        let info = publication.info.expect("the publisher's client info");
        assert_eq!((info.user.as_str(), info.client.as_str()), ("ann", "c1"));
        assert_eq!(&info.conn_info[..], b"{\"name\":\"Ann\"}");
        assert_eq!(publication.tags["line"], "1");
        assert_eq!((&publication.data[..], publication.offset), (&b"\"hi\""[..], 1));
    }
}

#[test]
fn an_unsubscribe_push_has_its_code() {
    let channel = EncodedChannelName::parse_channel_name("app/chat").expect("a channel");
    for format in [ProtocolFormat::Json, ProtocolFormat::Protobuf] {
        let code = lineside_wire::codes::INSUFFICIENT_STATE;
        let frame = push::encode_unsubscribe_frame(&channel, &code, format);
        let push = read(&BytesMut::from(&frame[..]), format, false).push.expect("a push");
        let unsubscribe = push.unsubscribe.expect("an unsubscribe push");
        assert_eq!((unsubscribe.code, &*unsubscribe.reason), (2500, "insufficient state"));
        assert_eq!(push.channel, "app/chat");
    }
}
