//! Tests of both sides of the opening handshake.

use bytes::BytesMut;
use lineside_wire::centrifuge::ProtocolFormat;
use lineside_wire::websocket::handshake::{self, ClientHandshakeRequest, HandshakeRefusal};

const KEY: &str = "dGhlIHNhbXBsZSBub25jZQ==";

fn headers<'a>(extra: &'a [(&'a str, &'a str)]) -> Vec<(&'a str, &'a [u8])> {
    let usual = [
        ("Host", "example.org"),
        ("Upgrade", "WebSocket"),
        ("Connection", "keep-alive, Upgrade"),
        ("Sec-WebSocket-Version", "13"),
        ("Sec-WebSocket-Key", KEY),
    ];
    let replaced = |name: &str| extra.iter().any(|(it, _)| *it == name);
    let defaults = usual.into_iter().filter(|(name, _)| !replaced(name));
    defaults
        .chain(extra.iter().copied())
        .filter(|(_, value)| !value.is_empty())
        .map(|(name, value)| (name, value.as_bytes()))
        .collect()
}

fn status(extra: &[(&str, &str)]) -> u16 {
    handshake::check_handshake_request("GET", headers(extra))
        .map_or_else(|error| error.status, |_| 101)
}

#[test]
fn the_example_of_the_specification_is_answered_correctly() {
    let accepted = handshake::check_handshake_request("GET", headers(&[])).expect("accepted");
    assert_eq!(accepted.key, "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=");
    assert_eq!((accepted.format, accepted.deflate), (None, false));
    assert_eq!(accepted.reply_headers().count(), 3);
}

#[test]
fn an_invalid_handshake_is_refused_with_its_status() {
    let post = handshake::check_handshake_request("POST", headers(&[])).expect_err("not with POST");
    assert_eq!(post.status, 405);
    assert_eq!(status(&[("Upgrade", "")]), 426);
    assert_eq!(status(&[("Upgrade", "h2c")]), 426);
    assert_eq!(status(&[("Connection", "close")]), 400);
    assert_eq!(status(&[("Sec-WebSocket-Version", "8")]), 426);
    assert_eq!(status(&[("Sec-WebSocket-Key", "")]), 400);
    assert_eq!(status(&[("Sec-WebSocket-Key", "short==")]), 400);
    assert_eq!(status(&[("Sec-WebSocket-Key", KEY), ("sec-websocket-key", KEY)]), 400);
}

#[test]
fn the_first_known_subprotocol_is_selected() {
    let format = |value| {
        let extra = [("Sec-WebSocket-Protocol", value)];
        handshake::check_handshake_request("GET", headers(&extra)).expect("accepted").format
    };
    assert_eq!(format("centrifuge-protobuf"), Some(ProtocolFormat::Protobuf));
    assert_eq!(format("chat, centrifuge-json, centrifuge-protobuf"), Some(ProtocolFormat::Json));
    assert_eq!(format("chat"), None);
}

#[test]
fn compression_is_accepted_only_with_supported_parameters() {
    let deflate = |value| {
        let extra = [("Sec-WebSocket-Extensions", value)];
        handshake::check_handshake_request("GET", headers(&extra)).expect("accepted").deflate
    };
    // The offers of browsers.
    assert!(deflate("permessage-deflate; client_max_window_bits"));
    assert!(deflate("permessage-deflate"));
    assert!(deflate("x-other, permessage-deflate; server_no_context_takeover"));
    // The second of two offers.
    assert!(deflate("permessage-deflate; server_max_window_bits=10, permessage-deflate"));
    for refused in [
        "",
        "x-webkit-deflate-frame",
        "permessage-deflate; server_max_window_bits=10",
        "permessage-deflate; client_max_window_bits=99",
        "permessage-deflate; server_no_context_takeover=1",
        "permessage-deflate; server_no_context_takeover; server_no_context_takeover",
        "permessage-deflate; surprise",
    ] {
        assert!(!deflate(refused), "{refused}");
    }
}

/// Passes a request on as a server's HTTP library would, and returns the server's reply.
fn answer(request: &[u8]) -> String {
    let mut headers = [httparse::EMPTY_HEADER; 16];
    let mut parsed = httparse::Request::new(&mut headers);
    assert!(parsed.parse(request).expect("HTTP").is_complete());
    let headers = parsed.headers.iter().map(|it| (it.name, it.value));
    let accepted = handshake::check_handshake_request(parsed.method.expect("a method"), headers)
        .expect("accepted");
    let mut reply = String::from("HTTP/1.1 101 Switching Protocols\r\n");
    for (name, value) in accepted.reply_headers() {
        reply.push_str(&format!("{name}: {value}\r\n"));
    }
    reply + "\r\n"
}

#[test]
fn a_client_and_a_server_complete_the_handshake() {
    for (format, deflate) in [(ProtocolFormat::Json, true), (ProtocolFormat::Protobuf, false)] {
        let request = ClientHandshakeRequest::new(format, deflate);
        let mut bytes = BytesMut::new();
        request.write_handshake_request(
            "example.org:8080",
            "/connection/websocket?x=1",
            &mut bytes,
        );
        assert!(
            bytes.starts_with(
                b"GET /connection/websocket?x=1 HTTP/1.1\r\nHost: example.org:8080\r\n"
            )
        );
        let reply = answer(&bytes);
        for cut in 0..reply.len() {
            assert_eq!(request.read_server_reply(&reply.as_bytes()[..cut]), Ok(None));
        }
        let with_frames = [reply.as_bytes(), b"\x81\x00"].concat();
        let agreed = request.read_server_reply(&with_frames).expect("agreed").expect("complete");
        assert_eq!((agreed.deflate, agreed.head_bytes), (deflate, reply.len()));
        let other = ClientHandshakeRequest::new(format, deflate);
        assert!(matches!(
            other.read_server_reply(reply.as_bytes()),
            Err(HandshakeRefusal::Malformed(_))
        ));
    }
}

#[test]
fn a_client_reports_a_refused_handshake() {
    let request = ClientHandshakeRequest::new(ProtocolFormat::Json, false);
    let refusal = b"HTTP/1.1 503 Service Unavailable\r\nRetry-After: 3\r\n\r\n";
    assert_eq!(request.read_server_reply(refusal), Err(HandshakeRefusal::Status(503)));
    assert!(matches!(
        request.read_server_reply(b"SSH-2.0\r\n\r\n"),
        Err(HandshakeRefusal::Malformed(_))
    ));
    let endless = [b"HTTP/1.1 101 x\r\n".as_slice(), &[b'a'; 20 << 10]].concat();
    assert!(matches!(request.read_server_reply(&endless), Err(HandshakeRefusal::Malformed(_))));
}
