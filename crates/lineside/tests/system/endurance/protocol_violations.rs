//! Clients that violate the protocol, and the expected replies of the server.

use std::io::Write as _;

use flate2::Compression;
use flate2::write::DeflateEncoder;
use serde_json::json;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

use super::socket::{Opening, Socket, TEXT, connect, frame};

/// A kind of violation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ProtocolViolation {
    Unmasked,
    ReservedBits,
    UnknownKind,
    LongPing,
    GiantFrame,
    NotText,
    NotJson,
    Bomb,
    NotCompressed,
    Flood,
    Early,
    NotAnHttpRequest,
    HalfAHead,
    FalseResume,
    FalseToken,
    Reset,
}

pub(super) const VIOLATIONS: [ProtocolViolation; 16] = [
    ProtocolViolation::Unmasked,
    ProtocolViolation::ReservedBits,
    ProtocolViolation::UnknownKind,
    ProtocolViolation::LongPing,
    ProtocolViolation::GiantFrame,
    ProtocolViolation::NotText,
    ProtocolViolation::NotJson,
    ProtocolViolation::Bomb,
    ProtocolViolation::NotCompressed,
    ProtocolViolation::Flood,
    ProtocolViolation::Early,
    ProtocolViolation::NotAnHttpRequest,
    ProtocolViolation::HalfAHead,
    ProtocolViolation::FalseResume,
    ProtocolViolation::FalseToken,
    ProtocolViolation::Reset,
];

const FINAL: u8 = 0x80;
const COMPRESSED: u8 = 0x40;

impl ProtocolViolation {
    /// Performs the violation, and asserts the reply.
    pub(super) async fn run(self, address: &str, channel: &str) {
        match self {
            Self::NotAnHttpRequest => Self::is_let_go(address, b"\x16\x03\x01 lines\r\n\r\n").await,
            // The client closes in the middle.
            Self::HalfAHead => {
                let mut stream = connect(address, None).await.unwrap();
                stream.write_all(b"GET /connection/websocket HT").await.unwrap();
            }
            Self::FalseResume => Self::gets_correct_reply(address, channel).await,
            Self::FalseToken => Self::is_not_known(address).await,
            Self::Reset => {
                let mut socket = self.listener(address, channel).await;
                let half = frame(FINAL | TEXT, b"{\"id\":3,\"ping\":{}}");
                socket.stream.write_all(&half[..9]).await.unwrap();
                socket.stream.set_zero_linger().unwrap();
            }
            _ => {
                let mut socket = self.listener(address, channel).await;
                // The server may close before everything is sent.
                _ = socket.stream.write_all(&self.bytes()).await;
                let code = socket.end().await;
                assert_eq!(code, Some(self.code()), "{self:?}");
            }
        }
    }

    /// Returns the bytes to send on a connection that was valid until then.
    fn bytes(self) -> Vec<u8> {
        match self {
            Self::Unmasked => b"\x81\x02{}".to_vec(),
            Self::ReservedBits => frame(FINAL | 0x30 | TEXT, b"{}"),
            Self::UnknownKind => frame(FINAL | 3, b"{}"),
            Self::LongPing => frame(FINAL | 9, &[b'.'; 126]),
            Self::GiantFrame => b"\x81\xff\x7f\xff\xff\xff\xff\xff\xff\xff\0\0\0\0".to_vec(),
            Self::NotText => frame(FINAL | TEXT, b"\xff\xfe"),
            Self::NotJson => frame(FINAL | TEXT, b"{\"id\":"),
            Self::Bomb => frame(FINAL | COMPRESSED | TEXT, &deflated(&vec![b' '; 4 << 20])),
            Self::NotCompressed => frame(FINAL | COMPRESSED | TEXT, b"{\"id\":3,\"ping\":{}}"),
            Self::Flood => {
                let commands = "{\"id\":3,\"presence\":{\"channel\":\"app/x\"}}\n".repeat(4_000);
                frame(FINAL | TEXT, commands.trim_end().as_bytes()).repeat(8)
            }
            Self::Early => frame(FINAL | TEXT, b"{\"id\":3,\"connect\":{}}"),
            _ => Vec::new(),
        }
    }

    /// Returns the expected close code.
    fn code(self) -> u16 {
        match self {
            Self::NotText | Self::NotCompressed => 1007,
            Self::GiantFrame | Self::Bomb => 1009,
            Self::Flood => 3013,
            Self::NotJson | Self::Early => 3003,
            _ => 1002,
        }
    }

    async fn listener(self, address: &str, channel: &str) -> Socket {
        let deflate = matches!(self, Self::Bomb | Self::NotCompressed);
        let opening = Opening { has_deflate: deflate, ..Opening::default() };
        let mut socket = Socket::open_as(address, opening).await.unwrap();
        let subscribe = json!({"id": 2, "subscribe": {"channel": channel}});
        socket.send(&[json!({"id": 1, "connect": {}}), subscribe]).await.unwrap();
        while socket.next().await.expect("a reply")["id"] != 2 {}
        socket
    }

    /// Asserts that the server closes the connection, after any reply.
    async fn is_let_go(address: &str, bytes: &[u8]) {
        let mut stream = connect(address, None).await.unwrap();
        stream.write_all(bytes).await.unwrap();
        let mut answer = Vec::new();
        _ = stream.read_to_end(&mut answer).await;
    }

    /// The server must reject a false position.
    async fn gets_correct_reply(address: &str, channel: &str) {
        let mut socket = Socket::open(address).await.unwrap();
        let (epoch, offset) = ("zzzzzzzz", u64::MAX);
        let subscribe =
            json!({"channel": channel, "recover": true, "epoch": epoch, "offset": offset});
        let connect = json!({"id": 1, "connect": {}});
        socket.send(&[connect, json!({"id": 2, "subscribe": subscribe})]).await.unwrap();
        let reply = loop {
            let message = socket.next().await.expect("a reply");
            if message["id"] == 2 {
                break message;
            }
        };
        assert!(reply["subscribe"]["recovered"].is_null(), "{reply}");
    }

    async fn is_not_known(address: &str) {
        let mut socket = Socket::open(address).await.unwrap();
        let token = "eyJhbGciOiJub25lIn0.eyJzdWIiOiJyb290In0.";
        socket.send(&[json!({"id": 1, "connect": {"token": token}})]).await.unwrap();
        let reply = socket.next().await.expect("a reply");
        assert_eq!(reply["error"]["code"], 101, "{reply}");
    }
}

/// Compresses a message without the last four bytes, as permessage-deflate requires.
fn deflated(message: &[u8]) -> Vec<u8> {
    let mut encoder = DeflateEncoder::new(Vec::new(), Compression::best());
    encoder.write_all(message).unwrap();
    encoder.flush().unwrap();
    let bytes = encoder.get_ref();
    bytes[..bytes.len() - 4].to_vec()
}
