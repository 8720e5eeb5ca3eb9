//! The benchmark's HTTP clients: connections that each send a request, read the whole answer, and repeat; one thread,
//! one epoll.
//!
//! They are our own, so that only nginx has to be installed, and so that they can hold ten thousand connections and
//! send an `If-None-Match`.

use std::io::{ErrorKind, Read as _, Write as _};
use std::process::Stdio;
use std::time::{Duration, Instant};

use anyhow::{Context as _, bail, ensure};
use mio::{Events, Interest, Poll, Registry, Token};
use nix::sys::resource::{Resource, getrlimit, setrlimit};
use serde::{Deserialize, Serialize};

use crate::http::connect;
use crate::servers::{CLIENTS, pinned};

/// The first argument of the clients' process.
pub(crate) const ASK: &str = "ask";
const READ_BYTES: usize = 256 << 10;
const EVENTS: usize = 1_024;
/// The most bytes of an answer's head.
const HEAD_BYTES_MAX: usize = 16 << 10;
/// The most connections without an answer at a time: a listener's queue holds more.
const WAITING_MAX: usize = 128;
/// The timeout of an answer.
const ANSWER_MAX: Duration = Duration::from_secs(20);

/// The requests of a run, and its duration.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Plan {
    pub(crate) port: u16,
    pub(crate) path: String,
    /// Further lines of the request's head.
    pub(crate) headers: String,
    /// The required beginning of every answer.
    pub(crate) status: String,
    pub(crate) connections: usize,
    /// The uncounted time in which a server warms up.
    pub(crate) warm_seconds: f64,
    pub(crate) seconds: f64,
}

/// The result of a run.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Asked {
    pub(crate) answers: u64,
    /// Connections that the server closed, and wrong answers.
    pub(crate) failed: u64,
    /// Bytes of bodies.
    pub(crate) bytes: u64,
    pub(crate) seconds: f64,
    /// Milliseconds.
    pub(crate) p50: f64,
    pub(crate) p99: f64,
}

impl Asked {
    pub(crate) fn rate(&self) -> f64 {
        self.answers as f64 / self.seconds
    }
}

impl Plan {
    /// Runs the clients on their core, in a separate process; returns an error if a request fails.
    pub(crate) fn run(&self) -> anyhow::Result<Asked> {
        let asked = self.count()?;
        ensure!(asked.failed == 0, "{} requests for {} failed", asked.failed, self.path);
        Ok(asked)
    }

    /// Runs the clients, and counts failed requests.
    pub(crate) fn count(&self) -> anyhow::Result<Asked> {
        let mut command = pinned(CLIENTS, std::env::current_exe()?);
        let output =
            command.args([ASK, &serde_json::to_string(self)?]).stderr(Stdio::inherit()).output()?;
        ensure!(output.status.success(), "the clients of {} failed", self.path);
        serde_json::from_slice(&output.stdout).context("the clients answered oddly")
    }
}

/// One connection, with its pending answer.
struct Asker {
    socket: mio::net::TcpStream,
    head: Vec<u8>,
    /// Bytes of the body.
    length: usize,
    /// Bytes of the body that have not arrived; `None` before the end of the head.
    left: Option<usize>,
    asked: Instant,
    /// True if the connection has had an answer.
    is_known: bool,
}

/// Runs as the clients' process: prints an [`Asked`].
pub(crate) fn ask(plan: &Plan) -> anyhow::Result<()> {
    let (_, most) = getrlimit(Resource::RLIMIT_NOFILE)?;
    setrlimit(Resource::RLIMIT_NOFILE, most, most)?;
    let mut askers = Askers::new(plan)?;
    while askers.rows.len() < plan.connections || askers.waiting > 0 {
        while askers.rows.len() < plan.connections && askers.waiting < WAITING_MAX {
            askers.come()?;
        }
        askers.turn(None)?;
    }
    for asker in &mut askers.rows {
        asker.ask(&askers.request)?;
    }
    let mut tally = Tally::new(plan);
    while Instant::now() < tally.end {
        askers.turn(Some(&mut tally))?;
    }
    println!("{}", serde_json::to_string(&tally.asked())?);
    Ok(())
}

/// All connections.
struct Askers<'a> {
    plan: &'a Plan,
    request: Vec<u8>,
    poll: Poll,
    events: Events,
    rows: Vec<Asker>,
    /// Connections without a first answer.
    waiting: usize,
    read: Vec<u8>,
}

impl<'a> Askers<'a> {
    fn new(plan: &'a Plan) -> anyhow::Result<Self> {
        let Plan { path, headers, .. } = plan;
        let request = format!("GET {path} HTTP/1.1\r\nHost: 127.0.0.1\r\n{headers}\r\n");
        Ok(Self {
            plan,
            request: request.into_bytes(),
            poll: Poll::new()?,
            events: Events::with_capacity(EVENTS),
            rows: Vec::with_capacity(plan.connections),
            waiting: 0,
            read: vec![0; READ_BYTES],
        })
    }

    /// Opens another connection, and sends its first request.
    fn come(&mut self) -> anyhow::Result<()> {
        let token = Token(self.rows.len());
        let mut asker = Asker::open(self.plan.port, token, self.poll.registry())?;
        asker.ask(&self.request)?;
        self.rows.push(asker);
        self.waiting += 1;
        Ok(())
    }

    /// Waits for answers. Counts complete answers once counting has begun, and repeats their requests.
    fn turn(&mut self, mut tally: Option<&mut Tally>) -> anyhow::Result<()> {
        self.poll.poll(&mut self.events, Some(ANSWER_MAX))?;
        ensure!(!self.events.is_empty(), "no answer came for {} s", ANSWER_MAX.as_secs());
        for event in &self.events {
            let asker = &mut self.rows[event.token().0];
            // Nothing follows a complete answer before the next request, so reading ends there.
            loop {
                let bytes = match asker.read(&mut self.read, &self.plan.status) {
                    Ok(Some(bytes)) => bytes,
                    Ok(None) => break,
                    Err(error) => {
                        let Some(tally) = &mut tally else { return Err(error) };
                        tally.fail(&error);
                        *asker = Asker::open(self.plan.port, event.token(), self.poll.registry())?;
                        asker.is_known = true;
                        asker.ask(&self.request)?;
                        break;
                    }
                };
                if !asker.is_known {
                    asker.is_known = true;
                    self.waiting -= 1;
                }
                if let Some(tally) = &mut tally {
                    tally.count(asker.asked, bytes);
                    asker.ask(&self.request)?;
                }
            }
        }
        Ok(())
    }
}

impl Asker {
    fn open(port: u16, token: Token, registry: &Registry) -> anyhow::Result<Asker> {
        let socket = connect(port)?;
        socket.set_nonblocking(true)?;
        let mut socket = mio::net::TcpStream::from_std(socket);
        registry.register(&mut socket, token, Interest::READABLE)?;
        Ok(Asker {
            socket,
            head: Vec::new(),
            length: 0,
            left: None,
            asked: Instant::now(),
            is_known: false,
        })
    }

    fn ask(&mut self, request: &[u8]) -> anyhow::Result<()> {
        self.asked = Instant::now();
        // A request fits into the buffer of an idle socket.
        let sent = self.socket.write(request)?;
        ensure!(sent == request.len(), "a request was not taken whole");
        Ok(())
    }

    /// Reads the available bytes; returns the body's length once the answer is complete.
    fn read(&mut self, into: &mut [u8], status: &str) -> anyhow::Result<Option<u64>> {
        loop {
            let n = match self.socket.read(into) {
                Ok(0) => bail!("the server ended a connection"),
                Ok(n) => n,
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(None),
                Err(error) => return Err(error.into()),
            };
            match &mut self.left {
                Some(left) => *left = left.checked_sub(n).context("more came than was said")?,
                None => self.read_head(&into[..n], status)?,
            }
            if self.left == Some(0) {
                self.left = None;
                self.head.clear();
                return Ok(Some(self.length as u64));
            }
        }
    }

    /// Reads a part of the head, and the part of the body that came with it.
    fn read_head(&mut self, came: &[u8], status: &str) -> anyhow::Result<()> {
        self.head.extend_from_slice(came);
        let Some(end) = memchr::memmem::find(&self.head, b"\r\n\r\n") else {
            ensure!(self.head.len() < HEAD_BYTES_MAX, "a head without an end");
            return Ok(());
        };
        let said = self.head.strip_prefix(b"HTTP/1.1 ").unwrap_or_default();
        if !said.starts_with(status.as_bytes()) {
            bail!("not {status}: {}", String::from_utf8_lossy(&self.head[..end]));
        }
        self.length = content_length(&self.head[..end])?;
        let body = self.head.len() - end - b"\r\n\r\n".len();
        self.left = Some(self.length.checked_sub(body).context("more came than was said")?);
        Ok(())
    }
}

/// Returns the content length of a head; 0 for a 304.
fn content_length(head: &[u8]) -> anyhow::Result<usize> {
    if head.starts_with(b"HTTP/1.1 304") {
        return Ok(0);
    }
    let name = b"content-length:";
    let line = head
        .split(|byte| *byte == b'\n')
        .find(|line| line.len() > name.len() && line[..name.len()].eq_ignore_ascii_case(name));
    let value = line.and_then(|line| std::str::from_utf8(&line[name.len()..]).ok());
    value.context("an answer without a length")?.trim().parse().context("a length")
}

/// Counts answers once the server is warm.
struct Tally {
    begin: Instant,
    end: Instant,
    bytes: u64,
    failed: u64,
    /// Nanoseconds.
    times: Vec<u64>,
}

impl Tally {
    fn new(plan: &Plan) -> Tally {
        let begin = Instant::now() + Duration::from_secs_f64(plan.warm_seconds);
        let end = begin + Duration::from_secs_f64(plan.seconds);
        Tally { begin, end, bytes: 0, failed: 0, times: Vec::new() }
    }

    fn count(&mut self, asked: Instant, bytes: u64) {
        let now = Instant::now();
        if now >= self.begin {
            self.bytes += bytes;
            self.times.push(u64::try_from((now - asked).as_nanos()).unwrap_or(u64::MAX));
        }
    }

    /// Counts a failure at any time, and prints the first one.
    fn fail(&mut self, error: &anyhow::Error) {
        if self.failed == 0 {
            eprintln!("failed: {error:#}");
        }
        self.failed += 1;
    }

    fn asked(mut self) -> Asked {
        self.times.sort_unstable();
        let part = |part: usize| {
            let at = self.times.len() * part / 100;
            self.times.get(at).map_or(f64::NAN, |nanos| *nanos as f64 / 1e6)
        };
        Asked {
            p50: part(50),
            p99: part(99),
            answers: self.times.len() as u64,
            failed: self.failed,
            bytes: self.bytes,
            seconds: self.begin.elapsed().as_secs_f64(),
        }
    }
}
