//! Tests of incoming and outgoing frames.

use bytes::BytesMut;
use lineside_wire::websocket::frame::{self, Opcode};
use lineside_wire::websocket::{
    Deflater, EndpointRole, Inflater, WebSocketEvent, WebSocketReadError, WebSocketReader,
};
use proptest::collection::vec;
use proptest::prelude::*;
use tungstenite::protocol::{Role as PeerRole, WebSocket};
use tungstenite::{Message, Utf8Bytes};

use crate::checks;

const FINAL: u8 = 0x80;
const CONTINUATION: u8 = 0;
const MASK: [u8; 4] = [0x5a, 0, 0xff, 0x31];

type Events = Vec<Result<WebSocketEvent<'static>, WebSocketReadError>>;

/// A message or frame from a client.
#[derive(Clone, Debug)]
enum Sent {
    Text(String),
    Binary(Vec<u8>),
    Deflated(String),
    /// A text in fragments, with a ping after each but the last.
    Fragments(String, Vec<usize>),
    Ping(Vec<u8>),
}

fn sent() -> impl Strategy<Value = Sent> {
    prop_oneof![
        ".{0,200}".prop_map(Sent::Text),
        vec(any::<u8>(), 0..2_000).prop_map(Sent::Binary),
        "(abc|.){0,200}".prop_map(Sent::Deflated),
        (".{0,60}", vec(any::<usize>(), 0..4)).prop_map(|(text, cuts)| Sent::Fragments(text, cuts)),
        vec(any::<u8>(), 0..=125).prop_map(Sent::Ping),
    ]
}

/// Returns a client's frame (RFC 6455 §5.2) with the given first byte.
fn raw(first: u8, payload: &[u8], mask: [u8; 4]) -> Vec<u8> {
    let mut bytes = BytesMut::new();
    frame::write_masked_frame(&mut bytes, Opcode::Binary, false, payload, mask);
    bytes[0] = first;
    bytes.to_vec()
}

fn write(sent: &[Sent], mask: [u8; 4]) -> (Vec<u8>, Events) {
    let (mut bytes, mut events) = (BytesMut::new(), Vec::new());
    let mut deflater = Deflater::default();
    for sent in sent {
        match sent {
            Sent::Text(text) => {
                frame::write_masked_frame(&mut bytes, Opcode::Text, false, text.as_bytes(), mask);
                events.push(Ok(WebSocketEvent::Text(text.clone().into())));
            }
            Sent::Binary(payload) => {
                frame::write_masked_frame(&mut bytes, Opcode::Binary, false, payload, mask);
                events.push(Ok(WebSocketEvent::Binary(payload.clone().into())));
            }
            Sent::Deflated(text) => {
                let mut payload = BytesMut::new();
                deflater.deflate_message(text.as_bytes(), &mut payload);
                frame::write_masked_frame(&mut bytes, Opcode::Text, true, &payload, mask);
                events.push(Ok(WebSocketEvent::Text(text.clone().into())));
            }
            Sent::Fragments(text, cuts) => {
                let mut cuts: Vec<usize> = cuts.iter().map(|cut| cut % (text.len() + 1)).collect();
                cuts.sort_unstable();
                let (mut from, mut opcode) = (0, Opcode::Text as u8);
                for cut in cuts {
                    bytes.extend_from_slice(&raw(opcode, &text.as_bytes()[from..cut], mask));
                    frame::write_masked_frame(&mut bytes, Opcode::Ping, false, b"?", mask);
                    events.push(Ok(WebSocketEvent::Ping(b"?".as_slice().into())));
                    (from, opcode) = (cut, CONTINUATION);
                }
                bytes.extend_from_slice(&raw(FINAL | opcode, &text.as_bytes()[from..], mask));
                events.push(Ok(WebSocketEvent::Text(text.clone().into())));
            }
            Sent::Ping(payload) => {
                frame::write_masked_frame(&mut bytes, Opcode::Ping, false, payload, mask);
                events.push(Ok(WebSocketEvent::Ping(payload.clone().into())));
            }
        }
    }
    (bytes.to_vec(), events)
}

fn server_reads(bytes: &[u8]) -> Events {
    checks::read(EndpointRole::Server, true, [bytes])
}

fn error(bytes: &[u8]) -> Option<WebSocketReadError> {
    server_reads(bytes).pop().and_then(Result::err)
}

#[test]
fn each_protocol_violation_has_its_close_code() {
    let protocol = |bytes: &[u8]| error(bytes).map(WebSocketReadError::close_code);
    assert_eq!(protocol(&[FINAL | 1, 1, b'x']), Some(1002), "no mask");
    for opcode in [3, 7, 11, 15] {
        assert_eq!(protocol(&raw(FINAL | opcode, b"", MASK)), Some(1002), "reserved opcode");
    }
    for bit in [0x20, 0x10] {
        assert_eq!(protocol(&raw(FINAL | bit | 1, b"", MASK)), Some(1002), "reserved bit");
    }
    assert_eq!(protocol(&raw(FINAL | CONTINUATION, b"", MASK)), Some(1002), "nothing to continue");
    let twice = [raw(1, b"a", MASK), raw(FINAL | 1, b"b", MASK)].concat();
    assert_eq!(protocol(&twice), Some(1002), "a message within a message");
    let marked_twice = [raw(0x41, b"a", MASK), raw(FINAL | 0x40, b"b", MASK)].concat();
    assert_eq!(
        protocol(&marked_twice),
        Some(1002),
        "only the first frame of a message has the compression bit"
    );
    for first in [9, FINAL | 0x40 | 9] {
        assert_eq!(
            protocol(&raw(first, b"", MASK)),
            Some(1002),
            "a ping is not fragmented or compressed"
        );
    }
    assert_eq!(
        protocol(&raw(FINAL | 9, &[0; 126], MASK)),
        Some(1002),
        "a ping has at most 125 bytes"
    );
    for (kind, length_bytes, length) in
        [(126_u8, 2, 0_u64), (126, 2, 125), (127, 8, 1), (127, 8, 0xffff)]
    {
        let length = &length.to_be_bytes()[8 - length_bytes..];
        let long = [&[FINAL | 2, 0x80 | kind][..], length, &[0; 4], &[0; 0xffff]].concat();
        assert_eq!(protocol(&long), Some(1002), "the length is minimally encoded: {length:?}");
    }
    for code in [0_u16, 999, 1004, 1005, 1006, 1015, 2999, 5000] {
        let close = raw(FINAL | 8, &code.to_be_bytes(), MASK);
        assert_eq!(protocol(&close), Some(1002), "close code {code}");
    }
    assert_eq!(protocol(&raw(FINAL | 8, &[3], MASK)), Some(1002), "a truncated close code");
    assert_eq!(
        protocol(&raw(FINAL | 8, &[3, 232, 0xff], MASK)),
        Some(1007),
        "a close reason is UTF-8"
    );
    assert_eq!(protocol(&raw(FINAL | 1, b"\xc3\x28", MASK)), Some(1007), "a text is UTF-8");
    let split = [raw(1, b"\xc3", MASK), raw(FINAL, b"\xa9", MASK)].concat();
    assert_eq!(
        server_reads(&split),
        [Ok(WebSocketEvent::Text("é".into()))],
        "a character may be split"
    );
    assert_eq!(protocol(&raw(FINAL | 0x40 | 1, b"\xff\xff", MASK)), Some(1007), "no such block");
}

#[test]
fn an_oversized_message_is_refused_by_its_head() {
    let short = |length: u16| [&[FINAL | 2, 0x80 | 126][..], &length.to_be_bytes(), &MASK].concat();
    assert_eq!(error(&short(4_096)), None);
    assert_eq!(error(&short(4_097)), Some(WebSocketReadError::TooLarge));
    let long = [&[FINAL | 2, 0x80 | 127][..], &u64::MAX.to_be_bytes(), &MASK].concat();
    assert_eq!(error(&long), Some(WebSocketReadError::TooLarge));
    let grows = [raw(2, &[0; 4_000], MASK), raw(CONTINUATION, &[0; 97], MASK)].concat();
    assert_eq!(error(&grows), Some(WebSocketReadError::TooLarge));
    assert_eq!(WebSocketReadError::TooLarge.close_code(), 1009);
}

#[test]
fn a_message_in_too_many_frames_is_refused_even_if_empty() {
    let message = |n: usize| [raw(2, b"", MASK), raw(CONTINUATION, b"", MASK).repeat(n)].concat();
    assert_eq!(error(&message(4_095)), None);
    assert_eq!(error(&message(4_096)), Some(WebSocketReadError::TooLarge));
}

#[test]
fn a_compression_bomb_is_refused_in_bounded_memory() {
    let mut bomb = BytesMut::new();
    Deflater::default().deflate_message(&vec![b' '; 4 << 20], &mut bomb);
    assert!(bomb.len() < 6_000);
    let limit = 64 << 10;
    assert_eq!(
        Inflater::default().inflate_message(&bomb, limit),
        Err(WebSocketReadError::TooLarge)
    );
    let exact =
        Inflater::default().inflate_message(&bomb, 4 << 20).expect("exactly the largest size");
    assert!(exact.len() == 4 << 20 && exact.capacity() <= (4 << 20) + 1);
}

#[test]
fn a_compressed_message_may_end_with_a_final_block() {
    // RFC 7692 §7.2.3.4
    let payload = [0xf3, 0x48, 0xcd, 0xc9, 0xc9, 0x07, 0x00, 0x00];
    assert_eq!(Inflater::default().inflate_message(&payload, 100).as_deref(), Ok(&b"Hello"[..]));
    // RFC 7692 §7.2.3.3: not compressed at all
    let stored = [0x00, 0x05, 0x00, 0xfa, 0xff, 0x48, 0x65, 0x6c, 0x6c, 0x6f, 0x00];
    assert_eq!(Inflater::default().inflate_message(&stored, 100).as_deref(), Ok(&b"Hello"[..]));
    assert_eq!(Inflater::default().inflate_message(&[0], 100).as_deref(), Ok(&b""[..]));
}

#[test]
fn an_idle_reader_buffers_nothing() {
    let mut reader = WebSocketReader::new(EndpointRole::Server, 1 << 20, true);
    assert!(size_of::<WebSocketReader>() <= 64);
    let mut inflater = Inflater::default();
    let mut bytes = [raw(1, b"one", MASK), raw(FINAL, b" two", MASK)].concat();
    let (begun, rest) = bytes.split_at_mut(5);
    assert!(reader.next_event(&mut &mut *begun, &mut inflater).is_none());
    assert!(!reader.is_between_messages() && reader.partial_input_memory() > 0);
    let mut rest = rest;
    assert_eq!(
        reader.next_event(&mut rest, &mut inflater),
        Some(Ok(WebSocketEvent::Text("one two".into())))
    );
    assert!(reader.is_between_messages() && reader.partial_input_memory() == 0);
}

#[test]
fn nothing_is_read_after_a_close() {
    let bytes = [raw(FINAL | 8, b"\x0b\xb9bye", MASK), raw(FINAL | 1, b"x", MASK)].concat();
    let close = WebSocketEvent::Close { code: Some(3001), reason: "bye".into() };
    assert_eq!(server_reads(&bytes), [Ok(close)]);
}

/// A socket that returns the given bytes, then ends.
struct Wire {
    incoming: std::io::Cursor<Vec<u8>>,
    outgoing: Vec<u8>,
}

impl std::io::Read for Wire {
    fn read(&mut self, into: &mut [u8]) -> std::io::Result<usize> {
        self.incoming.read(into)
    }
}

impl std::io::Write for Wire {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.outgoing.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

fn peer(incoming: Vec<u8>, role: PeerRole) -> WebSocket<Wire> {
    let wire = Wire { incoming: std::io::Cursor::new(incoming), outgoing: Vec::new() };
    WebSocket::from_raw_socket(wire, role, None)
}

#[test]
fn frames_are_exchanged_with_another_library() {
    let texts = ["", "a", &"b".repeat(125), &"c".repeat(126), &"d".repeat(70_000)];
    let mut bytes = BytesMut::new();
    for text in texts {
        frame::write_frame_head(&mut bytes, Opcode::Text, false, text.len());
        assert!(bytes.ends_with(&bytes[bytes.len() - frame::frame_head_size(text.len())..]));
        bytes.extend_from_slice(text.as_bytes());
    }
    bytes.extend_from_slice(&frame::PING);
    frame::write_pong_frame(&mut bytes, b"!");
    bytes.extend_from_slice(&frame::encode_close_frame(3001, &"é".repeat(100)));
    let mut client = peer(bytes.to_vec(), PeerRole::Client);
    for text in texts {
        assert_eq!(client.read().expect("a message"), Message::Text(Utf8Bytes::from(text)));
    }
    assert_eq!(client.read().expect("a ping"), Message::Ping(Vec::new().into()));
    assert_eq!(client.read().expect("a pong"), Message::Pong(b"!".to_vec().into()));
    let Message::Close(Some(close)) = client.read().expect("a close") else { panic!("no close") };
    assert_eq!((u16::from(close.code), close.reason.as_str()), (3001, &*"é".repeat(61)));

    for text in texts {
        let mut client = peer(Vec::new(), PeerRole::Client);
        client.send(Message::Text(text.into())).expect("memory");
        let sent = &client.get_ref().outgoing;
        let events = read_large(sent);
        assert_eq!(events, [Ok(WebSocketEvent::Text(text.into()))]);
    }
}

fn read_large(bytes: &[u8]) -> Events {
    let mut bytes = bytes.to_vec();
    let mut input = bytes.as_mut_slice();
    let mut reader = WebSocketReader::new(EndpointRole::Server, 1 << 20, false);
    let event = reader.next_event(&mut input, &mut Inflater::default()).expect("an event");
    let Ok(WebSocketEvent::Text(text)) = event else { panic!("{event:?}") };
    vec![Ok(WebSocketEvent::Text(text.into_owned().into()))]
}

proptest! {
    #[test]
    fn client_frames_are_read_in_any_pieces(
        sent in vec(sent(), 0..12),
        mask in any::<[u8; 4]>(),
        pieces in vec(1..400_usize, 1..40),
    ) {
        let (bytes, events) = write(&sent, mask);
        let mut rest = bytes.as_slice();
        let mut cut = Vec::new();
        for piece in pieces.iter().cycle() {
            if rest.is_empty() {
                break;
            }
            let (piece, after) = rest.split_at((*piece).min(rest.len()));
            cut.push(piece);
            rest = after;
        }
        prop_assert_eq!(&checks::read(EndpointRole::Server, true, [bytes.as_slice()]), &events);
        prop_assert_eq!(&checks::read(EndpointRole::Server, true, cut), &events);
    }

    #[test]
    fn reading_any_bytes_does_not_panic(bytes in vec(any::<u8>(), 0..300)) {
        checks::websocket(&bytes);
    }

    #[test]
    fn reading_frames_with_a_changed_byte_does_not_panic(
        sent in vec(sent(), 1..5), at in any::<usize>(), to in any::<u8>(), how in any::<u8>(),
    ) {
        let (mut bytes, _) = write(&sent, MASK);
        let at = at % bytes.len();
        bytes[at] = to;
        bytes.insert(0, how & !1);
        checks::websocket(&bytes);
    }

    #[test]
    fn compressed_server_frames_are_read_by_a_client(texts in vec(".{0,300}", 0..5)) {
        let mut bytes = BytesMut::new();
        let mut deflater = Deflater::default();
        for text in &texts {
            let mut payload = BytesMut::new();
            deflater.deflate_message(text.as_bytes(), &mut payload);
            frame::write_frame_head(&mut bytes, Opcode::Text, true, payload.len());
            bytes.extend_from_slice(&payload);
        }
        let events: Events = texts.iter().map(|it| Ok(WebSocketEvent::Text(it.clone().into()))).collect();
        prop_assert_eq!(checks::read(EndpointRole::Client, true, [&bytes[..]]), events);
    }
}
