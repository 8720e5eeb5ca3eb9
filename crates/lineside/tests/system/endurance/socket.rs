//! A minimal JSON client of `/connection/websocket`, cheap enough for thousands, that can also misbehave.

use std::collections::VecDeque;
use std::io;

use bytes::{Buf as _, BytesMut};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpSocket, TcpStream};

/// An open connection.
pub(super) struct Socket {
    pub(super) stream: TcpStream,
    unread: BytesMut,
    messages: VecDeque<Value>,
    /// The close code of the server.
    pub(super) closed: Option<u16>,
}

/// The options of a connection.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Opening {
    /// The receive buffer in bytes; `None` for the system's default.
    pub(super) receive_bytes: Option<u32>,
    /// True if compression is offered.
    pub(super) has_deflate: bool,
}

pub(super) const TEXT: u8 = 1;
const CLOSE: u8 = 8;
const PING: u8 = 9;
const PONG: u8 = 10;

impl Socket {
    pub(super) async fn open(address: &str) -> io::Result<Self> {
        Self::open_as(address, Opening::default()).await
    }

    /// # Errors
    /// Returns an error if the connection fails or is refused.
    pub(super) async fn open_as(address: &str, opening: Opening) -> io::Result<Self> {
        let mut stream = connect(address, opening.receive_bytes).await?;
        let offer = if opening.has_deflate {
            "Sec-WebSocket-Extensions: permessage-deflate; client_no_context_takeover; \
             server_no_context_takeover\r\n"
        } else {
            ""
        };
        let request = format!(
            "GET /connection/websocket HTTP/1.1\r\nHost: {address}\r\nConnection: Upgrade\r\n\
             Upgrade: websocket\r\nSec-WebSocket-Version: 13\r\n{offer}\
             Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n"
        );
        stream.write_all(request.as_bytes()).await?;
        let mut unread = BytesMut::new();
        let head = loop {
            if let Some(end) = unread.windows(4).position(|bytes| bytes == b"\r\n\r\n") {
                break unread.split_to(end + 4);
            }
            if stream.read_buf(&mut unread).await? == 0 {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
        };
        if !head.starts_with(b"HTTP/1.1 101 ") {
            return Err(io::Error::other(String::from_utf8_lossy(&head).into_owned()));
        }
        Ok(Self { stream, unread, messages: VecDeque::new(), closed: None })
    }

    /// Sends several commands in one frame.
    pub(super) async fn send(&mut self, commands: &[Value]) -> io::Result<()> {
        let lines: Vec<String> = commands.iter().map(Value::to_string).collect();
        self.send_frame(0x80 | TEXT, lines.join("\n").as_bytes()).await
    }

    /// Sends a masked frame with this first byte.
    pub(super) async fn send_frame(&mut self, first: u8, payload: &[u8]) -> io::Result<()> {
        self.stream.write_all(&frame(first, payload)).await
    }

    /// Returns the next message, and answers pings; `None` at the end. Cancel safe.
    pub(super) async fn next(&mut self) -> Option<Value> {
        loop {
            if let Some(message) = self.messages.pop_front() {
                if message != json!({}) {
                    return Some(message);
                }
                self.send(&[json!({})]).await.ok()?;
                continue;
            }
            match self.take_frame() {
                Some((TEXT, payload)) => {
                    let lines = payload[..].split(|byte| *byte == b'\n');
                    self.messages.extend(lines.map(|line| serde_json::from_slice(line).unwrap()));
                }
                Some((PING, payload)) => self.send_frame(0x80 | PONG, &payload).await.ok()?,
                Some((CLOSE, payload)) => {
                    self.closed = payload.first_chunk().map(|code| u16::from_be_bytes(*code));
                    return None;
                }
                Some((other, _)) => panic!("a frame of kind {other} was not expected"),
                None => match self.stream.read_buf(&mut self.unread).await {
                    Ok(0) | Err(_) => return None,
                    Ok(_) => {}
                },
            }
        }
    }

    /// Reads to the end; returns the server's close code.
    pub(super) async fn end(&mut self) -> Option<u16> {
        while self.next().await.is_some() {}
        self.closed
    }

    /// Returns the kind and payload of the next complete frame.
    fn take_frame(&mut self) -> Option<(u8, BytesMut)> {
        let [first, second, ..] = *self.unread else { return None };
        let (head, length) = match second {
            126 => (4, u64::from(u16::from_be_bytes(*self.unread.get(2..4)?.first_chunk()?))),
            127 => (10, u64::from_be_bytes(*self.unread.get(2..10)?.first_chunk()?)),
            short => (2, u64::from(short)),
        };
        let end = head + usize::try_from(length).unwrap();
        if self.unread.len() < end {
            return None;
        }
        let mut frame = self.unread.split_to(end);
        frame.advance(head);
        Some((first & 0x0F, frame))
    }
}

/// Opens a connection without sending anything.
pub(super) async fn connect(address: &str, receive_bytes: Option<u32>) -> io::Result<TcpStream> {
    let socket = TcpSocket::new_v4()?;
    if let Some(bytes) = receive_bytes {
        socket.set_recv_buffer_size(bytes)?;
    }
    let stream = socket.connect(address.parse().unwrap()).await?;
    stream.set_nodelay(true)?;
    Ok(stream)
}

/// Encodes a client frame, masked with zeros.
pub(super) fn frame(first: u8, payload: &[u8]) -> Vec<u8> {
    let mut frame = vec![first];
    match payload.len() {
        short @ 0..126 => frame.push(0x80 | short as u8),
        length @ 126..0x1_0000 => {
            frame.push(0x80 | 126);
            frame.extend_from_slice(&(length as u16).to_be_bytes());
        }
        length => {
            frame.push(0x80 | 127);
            frame.extend_from_slice(&(length as u64).to_be_bytes());
        }
    }
    frame.extend_from_slice(&[0; 4]);
    frame.extend_from_slice(payload);
    frame
}
