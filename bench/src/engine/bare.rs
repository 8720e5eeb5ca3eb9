//! The least work that a server can do: a delivery costs only the socket.
//!
//! One thread and one epoll accept and read; the answers to a handshake, to `connect` and `subscribe` and to `POST
//! /api/publish` are constants; a publication is framed once and sent to each socket with one write(2). A connection is
//! only its descriptor and a subscribed flag. The server has one room, reads only messages that arrive in one piece,
//! and fails on any other: everything that a real server does beyond that is its overhead.

use std::io::{ErrorKind, Read as _, Write as _};
use std::time::{Duration, Instant};

use anyhow::{Context as _, bail, ensure};
use lineside_wire::websocket::frame::{self, Opcode};
use lineside_wire::websocket::{
    EndpointRole, Inflater, WebSocketEvent, WebSocketReader, handshake,
};
use mio::net::{TcpListener, TcpStream};
use mio::{Events, Interest, Poll, Token};

/// The size of a read; nothing that the load generator sends is longer.
const READ_BYTES: usize = 64 << 10;
/// Sockets that one poll reports.
const EVENTS_AT_ONCE: usize = 1_024;
const LISTENER: Token = Token(usize::MAX);
/// Both replies at once: the load generator sends both commands at once.
const CANNED: &str = "{\"id\":1,\"connect\":{\"client\":\"0\",\"version\":\"0\",\"ping\":25,\"pong\":true}}\n{\"id\":2,\"subscribe\":{}}";
const BEFORE_DATA: &str = "{\"push\":{\"channel\":\"app/load/1\",\"pub\":{\"data\":";

/// A socket, and true if it has subscribed.
struct Row {
    socket: TcpStream,
    listens: bool,
}

struct Bare {
    poll: Poll,
    listener: TcpListener,
    rows: Vec<Option<Row>>,
    free: Vec<usize>,
    read: Vec<u8>,
    /// Framed publications that are not written yet.
    pending: Vec<u8>,
    due: Option<Instant>,
    coalesce: Option<Duration>,
    offset: u64,
}

/// Serves until it is killed; prints its port on a line first. With `coalesce`, a publication waits that long for more,
/// and all are sent in one write.
pub(super) fn serve(coalesce: Option<Duration>) -> anyhow::Result<()> {
    let mut listener = TcpListener::bind(([127, 0, 0, 1], 0).into())?;
    println!("{}", listener.local_addr()?.port());
    let poll = Poll::new()?;
    poll.registry().register(&mut listener, LISTENER, Interest::READABLE)?;
    let mut bare = Bare {
        poll,
        listener,
        rows: Vec::new(),
        free: Vec::new(),
        read: vec![0; READ_BYTES],
        pending: Vec::new(),
        due: None,
        coalesce,
        offset: 0,
    };
    let mut events = Events::with_capacity(EVENTS_AT_ONCE);
    loop {
        let wait = bare.due.map(|due| due.saturating_duration_since(Instant::now()));
        match bare.poll.poll(&mut events, wait) {
            Err(error) if error.kind() == ErrorKind::Interrupted => continue,
            other => other?,
        }
        for event in &events {
            match event.token() {
                LISTENER => bare.accept()?,
                Token(row) => bare.receive(row)?,
            }
        }
        if bare.due.is_some_and(|due| due <= Instant::now()) {
            bare.write_all()?;
        }
    }
}

impl Bare {
    fn accept(&mut self) -> anyhow::Result<()> {
        loop {
            let mut socket = match self.listener.accept() {
                Ok((socket, _)) => socket,
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(()),
                Err(error) => return Err(error).context("accepting"),
            };
            socket.set_nodelay(true)?;
            let row = self.free.pop().unwrap_or_else(|| {
                self.rows.push(None);
                self.rows.len() - 1
            });
            self.poll.registry().register(&mut socket, Token(row), Interest::READABLE)?;
            self.rows[row] = Some(Row { socket, listens: false });
        }
    }

    fn receive(&mut self, row: usize) -> anyhow::Result<()> {
        let mut read = std::mem::take(&mut self.read);
        let took = self.rows[row].as_mut().map(|row| row.socket.read(&mut read));
        let answered = match took {
            Some(Ok(n)) if n > 0 => self.answer(row, &mut read[..n]),
            Some(Err(error)) if error.kind() == ErrorKind::WouldBlock => Ok(()),
            _ => {
                self.close(row);
                Ok(())
            }
        };
        self.read = read;
        answered
    }

    fn close(&mut self, row: usize) {
        if self.rows[row].take().is_some() {
            self.free.push(row);
        }
    }

    fn answer(&mut self, row: usize, bytes: &mut [u8]) -> anyhow::Result<()> {
        if bytes.starts_with(b"GET ") {
            let reply = accepted(bytes)?;
            return self.reply(row, &reply);
        }
        if bytes.starts_with(b"POST ") {
            if bytes.starts_with(b"POST /api/publish ") {
                self.publish(bytes)?;
            }
            let offset = self.offset;
            let body = format!("{{\"result\":{{\"offset\":{offset},\"epoch\":\"0\"}}}}");
            let length = body.len();
            let head = format!("HTTP/1.1 200 OK\r\nContent-Length: {length}\r\n\r\n");
            return self.reply(row, (head + &body).as_bytes());
        }
        let (mut reader, mut inflater) =
            (WebSocketReader::new(EndpointRole::Server, READ_BYTES, false), Inflater::default());
        let mut input = bytes;
        while let Some(event) = reader.next_event(&mut input, &mut inflater) {
            match event {
                Ok(WebSocketEvent::Text(commands)) if commands.contains("\"subscribe\"") => {
                    let mut reply = Vec::with_capacity(CANNED.len() + 4);
                    frame::write_frame_head(&mut reply, Opcode::Text, false, CANNED.len());
                    reply.extend_from_slice(CANNED.as_bytes());
                    self.reply(row, &reply)?;
                    if let Some(row) = &mut self.rows[row] {
                        row.listens = true;
                    }
                }
                Ok(WebSocketEvent::Close { .. }) | Err(_) => {
                    self.close(row);
                    return Ok(());
                }
                Ok(_) => {}
            }
        }
        ensure!(
            reader.is_between_messages(),
            "a frame came in pieces, which this server does not gather"
        );
        Ok(())
    }

    fn reply(&mut self, row: usize, reply: &[u8]) -> anyhow::Result<()> {
        let Some(row) = &mut self.rows[row] else { return Ok(()) };
        let written = row.socket.write(reply)?;
        ensure!(written == reply.len(), "a socket took only a part of a reply");
        Ok(())
    }

    /// Frames a publication with its offset.
    fn publish(&mut self, request: &[u8]) -> anyhow::Result<()> {
        let request = str::from_utf8(request)?;
        let (_, body) = request.split_once("\r\n\r\n").context("a request without a body")?;
        let (_, data) = body.split_once("\"data\":").context("a publication without data")?;
        let data = data.strip_suffix('}').context("a publication that came in pieces")?;
        self.offset += 1;
        let after = format!(",\"offset\":{}}}}}}}", self.offset);
        let length = BEFORE_DATA.len() + data.len() + after.len();
        frame::write_frame_head(&mut self.pending, Opcode::Text, false, length);
        for part in [BEFORE_DATA, data, &after] {
            self.pending.extend_from_slice(part.as_bytes());
        }
        match self.coalesce {
            None => self.write_all(),
            Some(wait) => {
                self.due.get_or_insert_with(|| Instant::now() + wait);
                Ok(())
            }
        }
    }

    /// Writes one buffer to every socket, by one write(2) each.
    fn write_all(&mut self) -> anyhow::Result<()> {
        for row in self.rows.iter_mut().flatten().filter(|row| row.listens) {
            match row.socket.write(&self.pending) {
                Ok(n) if n == self.pending.len() => {}
                Ok(_) => bail!("a socket took only a part: this load is too much to compare with"),
                // A closed socket: the next poll reports it.
                Err(error) if error.kind() != ErrorKind::WouldBlock => {}
                Err(_) => bail!("a socket is full: this load is too much to compare with"),
            }
        }
        self.pending.clear();
        self.due = None;
        Ok(())
    }
}

/// Returns the reply to a WebSocket's request.
fn accepted(request: &[u8]) -> anyhow::Result<Vec<u8>> {
    let request = str::from_utf8(request)?;
    let headers = request.split("\r\n").skip(1).filter_map(|line| line.split_once(':'));
    let headers = headers.map(|(name, value)| (name, value.trim().as_bytes()));
    let accepted = handshake::check_handshake_request("GET", headers)?;
    let mut reply = String::from("HTTP/1.1 101 Switching Protocols\r\n");
    for (name, value) in accepted.reply_headers() {
        reply.extend([name, ": ", value, "\r\n"]);
    }
    reply.push_str("\r\n");
    Ok(reply.into_bytes())
}
