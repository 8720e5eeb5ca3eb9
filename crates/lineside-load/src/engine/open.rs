//! Opening sessions, at the pace that was asked for or that the server keeps.

use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::time::Duration;

use bytes::BytesMut;
use lineside_wire::websocket::handshake::Request;
use mio::net::TcpStream;
use mio::{Interest, Token};
use socket2::{Domain, Protocol, Socket, Type};

use super::row::Row;
use super::stream::Stream;
use super::{Engine, LOOK_INTERVAL, interval};
use crate::clock::{self, Nanos};
use crate::limits::{OPENED_AT_ONCE, SESSIONS_PER_ADDRESS, UNANSWERED_MAX};
use crate::plan::{Plan, Transport};

/// What a session asks for. With WebSocket, each has a key of its own.
pub(super) fn request(plan: &Plan) -> BytesMut {
    let mut request = BytesMut::new();
    match plan.transport {
        Transport::Sse => {
            let mut query = url::form_urlencoded::Serializer::new(String::new());
            query.extend_pairs(plan.channels.iter().map(|channel| ("channel", channel)));
            let path = format!("/events?{}", query.finish());
            request.extend_from_slice(plan.target.request("GET", &path).as_bytes());
            request.extend_from_slice(b"Accept: text/event-stream\r\n\r\n");
        }
        Transport::WebSocket => {
            let (authority, path) =
                (plan.target.authority(), plan.target.path("/connection/websocket"));
            Request::new(plan.format.on_the_wire(), false).write(&authority, &path, &mut request);
        }
    }
    request
}

impl Engine {
    /// Opens what may be opened by now.
    pub(super) fn open_some(&mut self, began: Nanos) {
        for _ in 0..OPENED_AT_ONCE {
            let is_due = self.next_opening(began) <= clock::now();
            if self.opened == self.rows.len() || self.unanswered >= UNANSWERED_MAX || !is_due {
                return;
            }
            let index = self.opened;
            self.opened += 1;
            if let Err(error) = self.open(index) {
                super::count(&mut self.ended, &sentence(&error), 1);
            }
        }
    }

    /// When the next session may be opened.
    fn next_opening(&self, began: Nanos) -> Nanos {
        let ramp = self.plan.ramp.map_or(0, interval);
        began.saturating_add(ramp.saturating_mul(self.opened as u64))
    }

    /// How long to wait for sockets before there is something to open.
    pub(super) fn until_next_opening(&self, began: Nanos) -> Option<Duration> {
        let may_open = self.opened < self.rows.len() && self.unanswered < UNANSWERED_MAX;
        let due = self.next_opening(began).saturating_sub(clock::now());
        let wait = if may_open { Duration::from_nanos(due) } else { LOOK_INTERVAL };
        Some(wait.min(LOOK_INTERVAL))
    }

    fn open(&mut self, index: usize) -> io::Result<()> {
        let opened = clock::now();
        let mut socket = connect(self.plan.target.address, self.source(index))?;
        let interest = Interest::READABLE | Interest::WRITABLE;
        self.poll.registry().register(&mut socket, Token(index), interest)?;
        let stream = Stream::new(socket, self.tls.as_ref()).map_err(io::Error::other)?;
        let request = request(&self.plan);
        let channels = u32::try_from(self.plan.channels.len()).unwrap_or(u32::MAX);
        self.rows[index] = Some(Row::new(stream, opened, request, channels));
        self.unanswered += 1;
        self.unready += 1;
        Ok(())
    }

    /// On loopback an address of its own for every so many sessions, so that ports suffice.
    fn source(&self, index: usize) -> Option<SocketAddr> {
        let block = u32::try_from((self.first + index) / SESSIONS_PER_ADDRESS).ok()?;
        let ip = IpAddr::V4(Ipv4Addr::from_bits(self.loopback.to_bits() + block));
        self.plan.target.is_on_loopback().then_some(SocketAddr::new(ip, 0))
    }
}

fn connect(to: SocketAddr, from: Option<SocketAddr>) -> io::Result<TcpStream> {
    let socket = Socket::new(Domain::for_address(to), Type::STREAM, Some(Protocol::TCP))?;
    socket.set_nonblocking(true)?;
    socket.set_tcp_nodelay(true)?;
    if let Some(from) = from {
        socket.bind(&from.into())?;
    }
    match socket.connect(&to.into()) {
        Err(error) if !is_under_way(&error) => Err(error),
        _ => Ok(TcpStream::from_std(socket.into())),
    }
}

fn is_under_way(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::WouldBlock
        || error.raw_os_error() == Some(nix::errno::Errno::EINPROGRESS as i32)
}

/// What a socket's error means for who reads it.
pub(super) fn sentence(error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::ConnectionRefused => "nobody listens there".to_owned(),
        io::ErrorKind::ConnectionReset => "the server reset the connection".to_owned(),
        io::ErrorKind::AddrInUse | io::ErrorKind::AddrNotAvailable => {
            "no local port is left".to_owned()
        }
        _ => error.to_string(),
    }
}
