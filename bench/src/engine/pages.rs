//! A morning: users who open the front page and stay for the live changes, one after another, on a server with one
//! core.

use std::collections::BTreeMap;
use std::io::{BufReader, ErrorKind, Read as _, Write as _};
use std::net::TcpStream;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context as _, bail, ensure};
use bytes::BytesMut;
use lineside_wire::centrifuge::ProtocolFormat;
use lineside_wire::websocket::frame::{self, Opcode};
use lineside_wire::websocket::{
    EndpointRole, Inflater, WebSocketEvent, WebSocketReader, handshake,
};
use mio::{Events, Interest, Poll, Token};
use serde::{Deserialize, Serialize};

use super::servers::{CLIENTS, ONE_CORE, pinned};
use super::{Bench, MB, PAGES, Samples, feeds};
use crate::http::{connect, get};
use crate::report::Row;

const USERS: usize = 2_500;
const USERS_QUICK: usize = 250;
const SECONDS: u64 = 30;
const SECONDS_QUICK: u64 = 3;
/// A small city, of which a part moves every other second.
const VEHICLES: usize = 300;
const MOVING: usize = 100;
const MOVES_EVERY: Duration = Duration::from_secs(2);
/// Users that may wait for a page at the same time.
const VISITORS: usize = 64;
const MESSAGE_BYTES_MAX: usize = 16 << 20;
const READ_BYTES: usize = 64 << 10;
/// The interval at which newly subscribed users join the connected ones.
const LOOK: Duration = Duration::from_millis(20);
const COMMANDS: &[u8] =
    b"{\"id\":1,\"connect\":{}}\n{\"id\":2,\"subscribe\":{\"channel\":\"feed/city\"}}";

/// The result of the visitors' process.
#[derive(Debug, Default, Serialize, Deserialize)]
struct Visit {
    requests: usize,
    failed: BTreeMap<String, usize>,
    /// Connections that the server closed while they were subscribed.
    cut: usize,
    /// Milliseconds from opening the first connection to the subscription.
    p99: f64,
    bytes: u64,
}

pub(super) fn run(bench: &mut Bench) -> anyhow::Result<()> {
    let users = bench.effort.size(USERS_QUICK, USERS);
    let seconds = if bench.effort.is_quick { SECONDS_QUICK } else { SECONDS };
    let file = bench.place.folder.path().join("city.pb");
    let mut samples = Samples::default();
    for _ in 0..bench.effort.rounds {
        feeds::write(&file, VEHICLES, MOVING, 0)?;
        let server = bench.place.lineside(ONE_CORE, &feeds::section("city", &file))?;
        let is_over = AtomicBool::new(false);
        let visit = thread::scope(|scope| {
            scope.spawn(|| {
                for turn in 1.. {
                    if is_over.load(Ordering::Relaxed) {
                        break;
                    }
                    // A failed write only delays a change of the feed, which is not measured.
                    _ = feeds::write(&file, VEHICLES, MOVING, turn);
                    thread::park_timeout(MOVES_EVERY);
                }
            });
            let mut command = pinned(CLIENTS, std::env::current_exe()?);
            let port = server.port.to_string();
            let output =
                command.args([PAGES, &port, &users.to_string(), &seconds.to_string()]).output();
            is_over.store(true, Ordering::Relaxed);
            let output = output?;
            let said = String::from_utf8_lossy(&output.stderr);
            ensure!(output.status.success(), "the visitors failed: {said}");
            Ok(serde_json::from_slice::<Visit>(&output.stdout)?)
        })?;
        if !visit.failed.is_empty() {
            println!("failed: {:?}", visit.failed);
        }
        samples.add("failed", (visit.failed.values().sum::<usize>() + visit.cut) as f64);
        samples.add("requests", visit.requests as f64);
        samples.add("p99", visit.p99);
        samples.add("bytes", visit.bytes as f64);
        samples.add("peak", server.peak_bytes()?);
    }
    let all = format!("{users} users of the front page in {seconds} s");
    let requests = samples.sum("requests");
    let row = Row::new(format!("{all}: failed of {requests}"), samples.sum("failed"), "");
    bench.report.add(row.at_most(0.0));
    let row = Row::new(format!("{all}: most memory"), samples.most("peak") / MB, "MB");
    bench.report.add(row.at_most(512.0));
    let row = Row::new(format!("{all}: p99 to live"), samples.median("p99"), "ms");
    bench.report.add(row);
    bench.report.add(Row::new(format!("{all}: read"), samples.median("bytes") / MB, "MB"));
    Ok(())
}

/// Runs as the visitors' process: prints a [`Visit`].
pub(super) fn visit(port: &str, users: &str, seconds: &str) -> anyhow::Result<()> {
    let port: u16 = port.parse()?;
    let (users, seconds): (usize, u64) = (users.parse()?, seconds.parse()?);
    let paths = page(port)?;
    let start = Instant::now();
    let arrival =
        |user: usize| start + Duration::from_secs(seconds).mul_f64(user as f64 / users as f64);
    let next = AtomicUsize::new(0);
    let (seat, seats) = mpsc::sync_channel(VISITORS);
    let visit = thread::scope(|scope| {
        let sitting = scope.spawn(move || sit(&seats));
        let visitors: Vec<_> = (0..VISITORS)
            .map(|_| {
                let (seat, next, paths) = (seat.clone(), &next, &paths);
                scope.spawn(move || {
                    let mut visitor = Visitor::default();
                    loop {
                        let user = next.fetch_add(1, Ordering::Relaxed);
                        if user >= users {
                            return visitor;
                        }
                        thread::sleep(arrival(user).saturating_duration_since(Instant::now()));
                        if let Some(live) = visitor.come(port, paths) {
                            // A connection after the end of the measurement is not needed.
                            _ = seat.send(live);
                        }
                    }
                })
            })
            .collect();
        let visitors: Vec<Visitor> = visitors
            .into_iter()
            .map(|visitor| visitor.join().expect("a visitor comes back"))
            .collect();
        drop(seat);
        let (cut, bytes) = sitting.join().expect("who sits comes back")?;
        anyhow::Ok(summed(visitors, cut, bytes))
    })?;
    println!("{}", serde_json::to_string(&visit)?);
    Ok(())
}

fn summed(visitors: Vec<Visitor>, cut: usize, bytes: u64) -> Visit {
    let mut visit = Visit { cut, bytes, ..Visit::default() };
    let mut times: Vec<f64> = Vec::new();
    for visitor in visitors {
        visit.requests += visitor.requests;
        visit.bytes += visitor.bytes;
        times.extend(visitor.times);
        for (reason, n) in visitor.failed {
            *visit.failed.entry(reason).or_default() += n;
        }
    }
    times.sort_by(f64::total_cmp);
    visit.p99 = times.get(times.len() * 99 / 100).copied().unwrap_or_default();
    visit
}

/// A thread that simulates one user after another.
#[derive(Default)]
struct Visitor {
    requests: usize,
    failed: BTreeMap<String, usize>,
    times: Vec<f64>,
    bytes: u64,
}

/// A connection with live changes.
struct Live {
    socket: TcpStream,
    reader: WebSocketReader,
}

impl Visitor {
    /// Opens the page and its assets, then subscribes.
    fn come(&mut self, port: u16, paths: &[String]) -> Option<Live> {
        let start = Instant::now();
        let came = self.read_page(port, paths).and_then(|()| {
            self.requests += 1;
            subscribe(port)
        });
        match came {
            Ok(live) => {
                self.times.push(start.elapsed().as_secs_f64() * 1e3);
                Some(live)
            }
            Err(error) => {
                *self.failed.entry(format!("{error:#}")).or_default() += 1;
                None
            }
        }
    }

    fn read_page(&mut self, port: u16, paths: &[String]) -> anyhow::Result<()> {
        self.requests += 1;
        let mut connection = BufReader::new(connect(port)?);
        let length = get(&mut connection, "/", ENCODINGS)?.len();
        self.bytes += length as u64;
        for path in paths {
            self.requests += 1;
            self.bytes += get(&mut connection, path, ENCODINGS)?.len() as u64;
        }
        Ok(())
    }
}

/// The encodings that browsers accept.
const ENCODINGS: &str = "Accept-Encoding: gzip, br\r\n";

/// Returns the addresses of the front page's assets.
fn page(port: u16) -> anyhow::Result<Vec<String>> {
    let html = get(&mut BufReader::new(connect(port)?), "/", "")?;
    let html = String::from_utf8(html).context("the front page is text")?;
    let named = ["src=\"/", "href=\"/"].into_iter().flat_map(|how| {
        let paths = html.split(how).skip(1);
        paths.filter_map(|rest| Some(format!("/{}", rest.split_once('"')?.0)))
    });
    let mut files: Vec<String> =
        named.filter(|path| path.rsplit('/').next().is_some_and(|it| it.contains('.'))).collect();
    files.sort();
    files.dedup();
    Ok(files)
}

/// Opens a WebSocket and waits until it is subscribed.
fn subscribe(port: u16) -> anyhow::Result<Live> {
    let mut socket = connect(port)?;
    let request = handshake::ClientHandshakeRequest::new(ProtocolFormat::Json, false);
    let mut bytes = BytesMut::new();
    request.write_handshake_request(
        &format!("127.0.0.1:{port}"),
        "/connection/websocket",
        &mut bytes,
    );
    socket.write_all(&bytes)?;
    let mut read = vec![0; READ_BYTES];
    let mut reply = Vec::new();
    let agreed = loop {
        let n = socket.read(&mut read)?;
        ensure!(n > 0, "the server ended the handshake");
        reply.extend_from_slice(&read[..n]);
        if let Some(agreed) = request.read_server_reply(&reply)? {
            break agreed;
        }
    };
    socket.write_all(&masked(COMMANDS))?;
    let mut reader = WebSocketReader::new(EndpointRole::Client, MESSAGE_BYTES_MAX, false);
    let mut inflater = Inflater::default();
    let mut input = reply.split_off(agreed.head_bytes);
    loop {
        let (mut rest, mut is_there) = (&mut input[..], false);
        while let Some(event) = reader.next_event(&mut rest, &mut inflater) {
            match event? {
                WebSocketEvent::Text(text) if text.contains("\"error\"") => {
                    bail!("refused: {text}")
                }
                WebSocketEvent::Text(text) => is_there |= text.contains("\"subscribe\""),
                WebSocketEvent::Close { code, .. } => bail!("closed with {code:?}"),
                _ => {}
            }
        }
        if is_there {
            return Ok(Live { socket, reader });
        }
        let n = socket.read(&mut read)?;
        ensure!(n > 0, "the server ended the connection");
        input = read[..n].to_vec();
    }
}

fn masked(payload: &[u8]) -> BytesMut {
    let mut into = BytesMut::new();
    frame::write_masked_frame(&mut into, Opcode::Text, false, payload, [7; 4]);
    into
}

/// Reads everything sent to the connected users, and answers pings, until no more users come. Returns the number of
/// closed connections, and the bytes received.
fn sit(seats: &mpsc::Receiver<Live>) -> anyhow::Result<(usize, u64)> {
    let mut poll = Poll::new()?;
    let mut events = Events::with_capacity(1_024);
    let mut rows: Vec<Option<(mio::net::TcpStream, WebSocketReader)>> = Vec::new();
    let (mut cut, mut bytes) = (0, 0);
    let (mut read, mut inflater) = (vec![0; READ_BYTES], Inflater::default());
    loop {
        loop {
            match seats.try_recv() {
                Ok(Live { socket, reader }) => {
                    socket.set_nonblocking(true)?;
                    let mut socket = mio::net::TcpStream::from_std(socket);
                    let token = Token(rows.len());
                    poll.registry().register(&mut socket, token, Interest::READABLE)?;
                    rows.push(Some((socket, reader)));
                }
                Err(mpsc::TryRecvError::Empty) => break,
                Err(mpsc::TryRecvError::Disconnected) => return Ok((cut, bytes)),
            }
        }
        poll.poll(&mut events, Some(LOOK))?;
        for event in &events {
            let row = &mut rows[event.token().0];
            if !drain(row, &mut read, &mut inflater, &mut bytes) && row.take().is_some() {
                cut += 1;
            }
        }
    }
}

/// Reads the available bytes; returns false at the end of the connection.
fn drain(
    row: &mut Option<(mio::net::TcpStream, WebSocketReader)>,
    read: &mut [u8],
    inflater: &mut Inflater,
    bytes: &mut u64,
) -> bool {
    let Some((socket, reader)) = row else { return true };
    loop {
        let n = match socket.read(read) {
            Ok(0) => return false,
            Ok(n) => n,
            Err(error) if error.kind() == ErrorKind::WouldBlock => return true,
            Err(_) => return false,
        };
        *bytes += n as u64;
        let mut rest = &mut read[..n];
        while let Some(event) = reader.next_event(&mut rest, inflater) {
            match event {
                // A ping; a pong is as short as a request, and fits into the buffer.
                Ok(WebSocketEvent::Text(text)) if text == "{}" => {
                    if socket.write(&masked(b"{}")).is_err() {
                        return false;
                    }
                }
                Ok(WebSocketEvent::Close { .. }) | Err(_) => return false,
                Ok(_) => {}
            }
        }
    }
}
