//! The opening handshake (RFC 6455 §4), from headers to headers.
//!
//! Of permessage-deflate, only the form without context takeover on both sides is negotiated: any other would cost
//! memory per connection.

use std::fmt::Write as _;

use bytes::BytesMut;
use tungstenite::handshake::client::generate_key;
use tungstenite::handshake::derive_accept_key;

use crate::protocol_format::ProtocolFormat;

/// The longest head of a server's reply that a client reads, in bytes.
pub const REPLY_BYTES_MAX: usize = 16 << 10;

/// The largest number of headers in a reply.
const REPLY_HEADERS_MAX: usize = 64;

const EXTENSION: &str =
    "permessage-deflate; server_no_context_takeover; client_no_context_takeover";

/// The length of 16 bytes in Base64.
const KEY_CHARACTERS: usize = 24;

/// A valid WebSocket request, and the negotiated options.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AcceptedHandshake {
    /// The value of `Sec-WebSocket-Accept`.
    pub key: String,
    /// The first known format in the client's `Sec-WebSocket-Protocol`, if there is one.
    pub format: Option<ProtocolFormat>,
    /// True if messages may be compressed.
    pub deflate: bool,
}

/// The reason why a request gets an HTTP error.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{detail}")]
pub struct HandshakeError {
    /// The HTTP status: 400, 405 or 426. With 426, the reply has `Sec-WebSocket-Version: 13`.
    pub status: u16,
    /// The error, for the developer of the client.
    pub detail: &'static str,
}

const fn new_handshake_error(status: u16, detail: &'static str) -> HandshakeError {
    HandshakeError { status, detail }
}

impl AcceptedHandshake {
    /// Returns the headers of the reply with status 101.
    pub fn reply_headers(&self) -> impl Iterator<Item = (&'static str, &str)> {
        let always = [
            ("connection", "Upgrade"),
            ("upgrade", "websocket"),
            ("sec-websocket-accept", self.key.as_str()),
        ];
        let protocol =
            self.format.map(|format| ("sec-websocket-protocol", format.subprotocol_name()));
        let extension = self.deflate.then_some(("sec-websocket-extensions", EXTENSION));
        always.into_iter().chain(protocol).chain(extension)
    }
}

/// Checks a request by its method and its headers, whose names may be in any case.
///
/// # Errors
/// Returns an error if the request does not open a WebSocket of version 13.
pub fn check_handshake_request<'a>(
    method: &str,
    headers: impl IntoIterator<Item = (&'a str, &'a [u8])>,
) -> Result<AcceptedHandshake, HandshakeError> {
    if method != "GET" {
        return Err(new_handshake_error(405, "the method of a WebSocket handshake must be GET"));
    }
    let mut offered = HandshakeHeaders::default();
    for (name, value) in headers {
        if let Ok(value) = str::from_utf8(value) {
            offered.read_handshake_header(name, value)?;
        }
    }
    if !offered.upgrade {
        return Err(new_handshake_error(
            426,
            "this URL expects a WebSocket handshake; send Upgrade: websocket",
        ));
    }
    if !offered.connection {
        return Err(new_handshake_error(400, "the header Connection: Upgrade is missing"));
    }
    if !offered.version {
        return Err(new_handshake_error(426, "the header Sec-WebSocket-Version must be 13"));
    }
    let key =
        offered.key.ok_or(new_handshake_error(400, "the header Sec-WebSocket-Key is missing"))?;
    if key.len() != KEY_CHARACTERS || !key.ends_with("==") {
        return Err(new_handshake_error(
            400,
            "the header Sec-WebSocket-Key must be 16 bytes in base64",
        ));
    }
    let key = derive_accept_key(key.as_bytes());
    Ok(AcceptedHandshake { key, format: offered.format, deflate: offered.deflate })
}

#[derive(Debug, Default)]
struct HandshakeHeaders<'a> {
    upgrade: bool,
    connection: bool,
    version: bool,
    key: Option<&'a str>,
    format: Option<ProtocolFormat>,
    deflate: bool,
}

impl<'a> HandshakeHeaders<'a> {
    fn read_handshake_header(&mut self, name: &str, value: &'a str) -> Result<(), HandshakeError> {
        let is = |other: &str| name.eq_ignore_ascii_case(other);
        if is("upgrade") {
            self.upgrade |= does_header_list_token(value, "websocket");
        } else if is("connection") {
            self.connection |= does_header_list_token(value, "upgrade");
        } else if is("sec-websocket-version") {
            self.version = value.trim() == "13";
        } else if is("sec-websocket-key") {
            if self.key.replace(value.trim()).is_some() {
                return Err(new_handshake_error(400, "the header Sec-WebSocket-Key appears twice"));
            }
        } else if is("sec-websocket-protocol") {
            // The client's order is its preference.
            let known =
                || value.split(',').find_map(|it| ProtocolFormat::from_subprotocol(it.trim()));
            self.format = self.format.or_else(known);
        } else if is("sec-websocket-extensions") {
            self.deflate |= value.split(',').any(is_acceptable_deflate_offer);
        }
        Ok(())
    }
}

fn does_header_list_token(value: &str, token: &str) -> bool {
    value.split(',').any(|it| it.trim().eq_ignore_ascii_case(token))
}

/// Returns true if an offer (RFC 7692 §7.1) can be accepted. An offer that limits the server's window cannot; one for
/// the client's window only announces support.
fn is_acceptable_deflate_offer(offer: &str) -> bool {
    let mut parameters = offer.split(';').map(str::trim);
    if !parameters.next().is_some_and(|name| name.eq_ignore_ascii_case("permessage-deflate")) {
        return false;
    }
    let mut seen = Vec::with_capacity(3);
    parameters.all(|parameter| {
        let (name, value) = match parameter.split_once('=') {
            Some((name, value)) => (name.trim(), Some(value.trim().trim_matches('"'))),
            None => (parameter, None),
        };
        let is_valid = match name {
            "server_no_context_takeover" | "client_no_context_takeover" => value.is_none(),
            "client_max_window_bits" => value
                .is_none_or(|bits| bits.parse::<u8>().is_ok_and(|bits| (8..=15).contains(&bits))),
            _ => false,
        };
        let is_repeated = seen.contains(&name);
        seen.push(name);
        is_valid && !is_repeated
    })
}

/// A client's request.
#[derive(Clone, Debug)]
pub struct ClientHandshakeRequest {
    key: String,
    pub format: ProtocolFormat,
    /// True if compression is offered.
    pub deflate: bool,
}

/// The options that a server has accepted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ServerHandshakeReply {
    /// True if messages may be compressed.
    pub deflate: bool,
    /// The length of the reply's head in bytes; frames start after it.
    pub head_bytes: usize,
}

/// The reason why a client got no WebSocket.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum HandshakeRefusal {
    /// The server answered with another status.
    #[error("the server answered {0} instead of 101")]
    Status(u16),
    /// The reply is not valid for this request.
    #[error("{0}")]
    Malformed(&'static str),
}

impl ClientHandshakeRequest {
    /// Creates a request with a new key.
    pub fn new(format: ProtocolFormat, deflate: bool) -> Self {
        Self { key: generate_key(), format, deflate }
    }

    /// Writes the request as text. `host` is an authority and `target` a path with its query, both in the form used in
    /// a request.
    pub fn write_handshake_request(&self, host: &str, target: &str, into: &mut BytesMut) {
        let _ = write!(
            into,
            "GET {target} HTTP/1.1\r\nHost: {host}\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\
             Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: {}\r\nSec-WebSocket-Protocol: {}\r\n",
            self.key,
            self.format.subprotocol_name()
        );
        if self.deflate {
            let _ = write!(into, "Sec-WebSocket-Extensions: {EXTENSION}\r\n");
        }
        let _ = write!(into, "\r\n");
    }

    /// Reads the server's reply; returns `None` while its head is incomplete.
    ///
    /// # Errors
    /// Returns an error if the reply is a refusal, or not valid for this request.
    pub fn read_server_reply(
        &self,
        bytes: &[u8],
    ) -> Result<Option<ServerHandshakeReply>, HandshakeRefusal> {
        let mut headers = [httparse::EMPTY_HEADER; REPLY_HEADERS_MAX];
        let mut reply = httparse::Response::new(&mut headers);
        let head_bytes = match reply.parse(bytes) {
            Ok(httparse::Status::Complete(bytes)) => bytes,
            Ok(httparse::Status::Partial) if bytes.len() < REPLY_BYTES_MAX => return Ok(None),
            _ => {
                return Err(HandshakeRefusal::Malformed(
                    "the reply is not HTTP, or its head is too large",
                ));
            }
        };
        let status = reply.code.unwrap_or_default();
        if status != 101 {
            return Err(HandshakeRefusal::Status(status));
        }
        let find = |name: &str| {
            let found = reply.headers.iter().find(|it| it.name.eq_ignore_ascii_case(name));
            found.and_then(|it| str::from_utf8(it.value).ok())
        };
        if find("sec-websocket-accept") != Some(&derive_accept_key(self.key.as_bytes())) {
            return Err(HandshakeRefusal::Malformed(
                "the reply has the wrong Sec-WebSocket-Accept",
            ));
        }
        if find("sec-websocket-protocol") != Some(self.format.subprotocol_name()) {
            return Err(HandshakeRefusal::Malformed(
                "the server did not accept the requested subprotocol",
            ));
        }
        let deflate = match find("sec-websocket-extensions") {
            None => false,
            Some(extension) if self.deflate && is_acceptable_deflate_offer(extension) => true,
            Some(_) => {
                return Err(HandshakeRefusal::Malformed(
                    "the server selected an extension that was not offered",
                ));
            }
        };
        Ok(Some(ServerHandshakeReply { deflate, head_bytes }))
    }
}
