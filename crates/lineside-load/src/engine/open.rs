//! Opens sessions, at the requested rate or as fast as the server answers.

use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::time::Duration;

use bytes::BytesMut;
use lineside_wire::websocket::handshake::ClientHandshakeRequest;
use mio::net::TcpStream;
use mio::{Interest, Token};
use socket2::{Domain, Protocol, Socket, Type};

use super::session_row::SessionRow;
use super::stream::SocketStream;
use super::{LoadTestEngine, POLL_INTERVAL, rate_to_interval_nanos};
use crate::clock::{self, MonotonicNanos};
use crate::limits::{OPENING_MAX, SESSIONS_PER_ADDRESS, UNANSWERED_MAX};
use crate::plan::{LoadTestPlan, SessionTransport};

/// Builds the request of a session. With WebSocket each session has its own key.
pub(super) fn build_session_request(plan: &LoadTestPlan) -> BytesMut {
    let mut request = BytesMut::new();
    match plan.transport {
        SessionTransport::Sse => {
            let mut query = url::form_urlencoded::Serializer::new(String::new());
            query.extend_pairs(plan.channels.iter().map(|channel| ("channel", channel)));
            let path = format!("/events?{}", query.finish());
            request.extend_from_slice(plan.target.request_head("GET", &path).as_bytes());
            request.extend_from_slice(b"Accept: text/event-stream\r\n\r\n");
        }
        SessionTransport::WebSocket => {
            let (authority, path) =
                (plan.target.host_authority(), plan.target.path_on_server("/connection/websocket"));
            ClientHandshakeRequest::new(plan.format.to_protocol_format(), false)
                .write_handshake_request(&authority, &path, &mut request);
        }
    }
    request
}

impl LoadTestEngine {
    pub(super) fn open_due_sessions(&mut self, began: MonotonicNanos) {
        for _ in 0..OPENING_MAX {
            let is_due = self.next_opening_at(began) <= clock::now_nanos();
            if self.opened == self.rows.len() || self.unanswered >= UNANSWERED_MAX || !is_due {
                return;
            }
            let index = self.opened;
            self.opened += 1;
            if let Err(error) = self.open_session(index) {
                crate::reasons::count_failure_reason(
                    &mut self.ended,
                    &describe_socket_error(&error),
                    1,
                );
            }
        }
    }

    /// Returns the time at which the next session may be opened.
    fn next_opening_at(&self, began: MonotonicNanos) -> MonotonicNanos {
        let ramp = self.plan.ramp.map_or(0, rate_to_interval_nanos);
        began.saturating_add(ramp.saturating_mul(self.opened as u64))
    }

    /// Returns the time to wait for sockets until the next session is due.
    pub(super) fn poll_wait_until_opening(&self, began: MonotonicNanos) -> Option<Duration> {
        let may_open = self.opened < self.rows.len() && self.unanswered < UNANSWERED_MAX;
        let due = self.next_opening_at(began).saturating_sub(clock::now_nanos());
        let wait = if may_open { Duration::from_nanos(due) } else { POLL_INTERVAL };
        Some(wait.min(POLL_INTERVAL))
    }

    fn open_session(&mut self, index: usize) -> io::Result<()> {
        let opened = clock::now_nanos();
        let mut socket =
            connect_socket(self.plan.target.address, self.loopback_source_address(index))?;
        let interest = Interest::READABLE | Interest::WRITABLE;
        self.poll.registry().register(&mut socket, Token(index), interest)?;
        let stream = SocketStream::new(socket, self.tls.as_ref()).map_err(io::Error::other)?;
        let request = build_session_request(&self.plan);
        let channels = u32::try_from(self.plan.channels.len()).unwrap_or(u32::MAX);
        self.rows[index] = Some(SessionRow::new(stream, opened, request, channels));
        self.unanswered += 1;
        self.unready += 1;
        Ok(())
    }

    /// Returns a source address on loopback for every [`SESSIONS_PER_ADDRESS`] sessions, so that ports suffice.
    fn loopback_source_address(&self, index: usize) -> Option<SocketAddr> {
        let block = u32::try_from((self.first + index) / SESSIONS_PER_ADDRESS).ok()?;
        let ip = IpAddr::V4(Ipv4Addr::from_bits(self.loopback.to_bits() + block));
        self.plan.target.is_on_loopback().then_some(SocketAddr::new(ip, 0))
    }
}

fn connect_socket(to: SocketAddr, from: Option<SocketAddr>) -> io::Result<TcpStream> {
    let socket = Socket::new(Domain::for_address(to), Type::STREAM, Some(Protocol::TCP))?;
    socket.set_nonblocking(true)?;
    socket.set_tcp_nodelay(true)?;
    if let Some(from) = from {
        socket.bind(&from.into())?;
    }
    match socket.connect(&to.into()) {
        Err(error) if !is_connect_in_progress(&error) => Err(error),
        _ => Ok(TcpStream::from_std(socket.into())),
    }
}

fn is_connect_in_progress(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::WouldBlock
        || error.raw_os_error() == Some(nix::errno::Errno::EINPROGRESS as i32)
}

/// Describes a socket error for the report.
pub(super) fn describe_socket_error(error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::ConnectionRefused => {
            "connection refused: no server listens there".to_owned()
        }
        io::ErrorKind::ConnectionReset => "the server reset the connection".to_owned(),
        io::ErrorKind::AddrInUse | io::ErrorKind::AddrNotAvailable => {
            "no local port is free".to_owned()
        }
        _ => error.to_string(),
    }
}
