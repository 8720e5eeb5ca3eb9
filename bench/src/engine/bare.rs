//! The least that a server can do: what a delivery costs when there is nothing but the socket.
//!
//! One thread and one epoll for accepting and reading; the answers to a handshake, to `connect` and `subscribe` and to
//! `POST /api/publish` stand in the program; what is published is framed once and given to each socket with one
//! write(2). Of a connection nothing is kept but its descriptor and whether it listens. It has one room, reads what
//! comes in one piece, and gives up at anything else: whatever a real server does beyond that is its overhead.

use std::io::{ErrorKind, Read as _, Write as _};
use std::time::{Duration, Instant};

use anyhow::{Context as _, bail, ensure};
use lineside_wire::websocket::frame::{self, Opcode};
use lineside_wire::websocket::{
    EndpointRole, Inflater, WebSocketEvent, WebSocketReader, handshake,
};
use mio::net::{TcpListener, TcpStream};
use mio::{Events, Interest, Poll, Token};

/// Read from a socket at once; nothing that the load generator sends is longer.
const READ_BYTES: usize = 64 << 10;
/// Sockets of which the system tells at once.
const EVENTS_AT_ONCE: usize = 1_024;
const LISTENER: Token = Token(usize::MAX);
/// Both replies at once: the load generator sends both commands at once.
const CANNED: &str = "{\"id\":1,\"connect\":{\"client\":\"0\",\"version\":\"0\",\"ping\":25,\"pong\":true}}\n{\"id\":2,\"subscribe\":{}}";
const BEFORE_DATA: &str = "{\"push\":{\"channel\":\"app/load/1\",\"pub\":{\"data\":";

/// A socket, and whether it has subscribed.
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
    /// Framed, and not written yet.
    pending: Vec<u8>,
    due: Option<Instant>,
    coalesce: Option<Duration>,
    offset: u64,
}

/// Serves until it is killed; says its port on a line first. With `coalesce` what is published waits that long for
/// more, and goes out in one write.
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
                    frame::write_head(&mut reply, Opcode::Text, false, CANNED.len());
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

    /// Frames what is published, with its place.
    fn publish(&mut self, request: &[u8]) -> anyhow::Result<()> {
        let request = str::from_utf8(request)?;
        let (_, body) = request.split_once("\r\n\r\n").context("a request without a body")?;
        let (_, data) = body.split_once("\"data\":").context("a publication without data")?;
        let data = data.strip_suffix('}').context("a publication that came in pieces")?;
        self.offset += 1;
        let after = format!(",\"offset\":{}}}}}}}", self.offset);
        let length = BEFORE_DATA.len() + data.len() + after.len();
        frame::write_head(&mut self.pending, Opcode::Text, false, length);
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

    /// One buffer to every socket, by one write(2) each.
    fn write_all(&mut self) -> anyhow::Result<()> {
        for row in self.rows.iter_mut().flatten().filter(|row| row.listens) {
            match row.socket.write(&self.pending) {
                Ok(n) if n == self.pending.len() => {}
                Ok(_) => bail!("a socket took only a part: this load is too much to compare with"),
                // It has gone, and the poll says so soon.
                Err(error) if error.kind() != ErrorKind::WouldBlock => {}
                Err(_) => bail!("a socket is full: this load is too much to compare with"),
            }
        }
        self.pending.clear();
        self.due = None;
        Ok(())
    }
}

/// The reply to a WebSocket's request.
fn accepted(request: &[u8]) -> anyhow::Result<Vec<u8>> {
    let request = str::from_utf8(request)?;
    let headers = request.split("\r\n").skip(1).filter_map(|line| line.split_once(':'));
    let headers = headers.map(|(name, value)| (name, value.trim().as_bytes()));
    let accepted = handshake::accept_request("GET", headers)?;
    let mut reply = String::from("HTTP/1.1 101 Switching Protocols\r\n");
    for (name, value) in accepted.reply_headers() {
        reply.extend([name, ": ", value, "\r\n"]);
    }
    reply.push_str("\r\n");
    Ok(reply.into_bytes())
}
