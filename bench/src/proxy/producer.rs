//! The producer: the files that both servers fetch, counts of requests, and a switch that makes it hang.

use std::collections::HashMap;
use std::io::{BufRead as _, BufReader, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, OnceLock};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::Context as _;
use serde::{Deserialize, Serialize};

use super::PRODUCE;
use crate::http::{connect, get};
use crate::servers::{CLIENTS, Server};

/// A file that both servers serve.
#[derive(Clone, Copy, Debug)]
pub(super) struct File {
    /// The name, and the id of its feed.
    pub(super) id: &'static str,
    pub(super) title: &'static str,
    pub(super) bytes: usize,
}

pub(super) const SMALL: File = File { id: "small", title: "2 kB", bytes: 2_000 };
pub(super) const MEDIUM: File = File { id: "medium", title: "200 kB", bytes: 200_000 };
pub(super) const LARGE: File = File { id: "large", title: "4 MB", bytes: 4_000_000 };
pub(super) const FILES: [File; 3] = [SMALL, MEDIUM, LARGE];

/// Files that change with each answer: `/changing/<n>`.
pub(super) const CHANGING: &str = "/changing/";
const CHANGING_BYTES: usize = 20_000;

/// Addresses for the measurement only.
const COUNTS: &str = "/-/counts";
const RESET: &str = "/-/reset";
const HANG: &str = "/-/hang";
const GO_ON: &str = "/-/go-on";

/// The interval at which a hanging answer checks if it may continue.
const LOOK: Duration = Duration::from_millis(20);
/// The server's own level, so that both servers send equal numbers of bytes.
const GZIP_LEVEL: u32 = 5;

/// The requests since the last reset.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct Counts {
    pub(super) requests: u64,
    /// Addresses that were requested at least twice.
    pub(super) repeated: usize,
    /// The longest time between two requests of one address, in seconds.
    pub(super) longest_gap: f64,
}

/// Starts the producer on the clients' core.
pub(super) fn start() -> anyhow::Result<Server> {
    Server::start_own(CLIENTS, &[PRODUCE])
}

/// Returns the requests since the last reset.
pub(super) fn counts(producer: &Server) -> anyhow::Result<Counts> {
    Ok(serde_json::from_slice(&say(producer, COUNTS)?)?)
}

pub(super) fn reset(producer: &Server) -> anyhow::Result<()> {
    say(producer, RESET).map(drop)
}

/// Makes the producer accept requests without answering them.
pub(super) fn hang(producer: &Server) -> anyhow::Result<()> {
    say(producer, HANG).map(drop)
}

pub(super) fn go_on(producer: &Server) -> anyhow::Result<()> {
    say(producer, GO_ON).map(drop)
}

fn say(producer: &Server, what: &str) -> anyhow::Result<Vec<u8>> {
    get(&mut BufReader::new(connect(producer.port)?), what, "")
}

/// Returns lines that compress about as well as feeds do; the seed determines them.
pub(super) fn text(bytes: usize, seed: u64) -> Vec<u8> {
    let mut rng = fastrand::Rng::with_seed(seed);
    let mut text = Vec::with_capacity(bytes + 100);
    while text.len() < bytes {
        let (vehicle, delay) = (rng.u32(..10_000), rng.i32(-60..600));
        let (lat, lon) = (48.0 + rng.f64(), 2.0 + rng.f64());
        _ = writeln!(text, "vehicle-{vehicle},{lat:.5},{lon:.5},route-{},{delay}", vehicle % 100);
    }
    text.truncate(bytes);
    text
}

fn gzip(body: &[u8]) -> Vec<u8> {
    let level = flate2::Compression::new(GZIP_LEVEL);
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), level);
    _ = encoder.write_all(body);
    encoder.finish().unwrap_or_default()
}

/// The shared state of the producer's connections.
#[derive(Default)]
struct Producer {
    hangs: AtomicBool,
    /// The request times of each address since the last reset.
    asked: Mutex<HashMap<String, Times>>,
    turn: AtomicU64,
    bodies: OnceLock<Vec<Bodies>>,
}

/// The bodies of one address, plain and compressed.
struct Bodies {
    path: String,
    plain: Vec<u8>,
    coded: Vec<u8>,
}

struct Times {
    last: Instant,
    count: u64,
    /// The longest time between two requests.
    longest: Duration,
}

/// Runs as the producer: prints its port, and answers until it is killed.
pub(super) fn serve() -> anyhow::Result<()> {
    let listener = TcpListener::bind("127.0.0.1:0")?;
    println!("{}", listener.local_addr()?.port());
    let producer = Arc::new(Producer::default());
    let bodies = FILES.iter().map(|file| {
        let plain = text(file.bytes, file.bytes as u64);
        Bodies { path: format!("/{}", file.id), coded: gzip(&plain), plain }
    });
    producer.bodies.get_or_init(|| bodies.collect());
    for socket in listener.incoming() {
        let (socket, producer) = (socket?, Arc::clone(&producer));
        // A server that disconnects in the middle of an answer is not an error.
        thread::spawn(move || producer.serve(socket).ok());
    }
    Ok(())
}

impl Producer {
    fn serve(&self, socket: TcpStream) -> anyhow::Result<()> {
        socket.set_nodelay(true)?;
        let mut socket = BufReader::new(socket);
        loop {
            let mut line = String::new();
            if socket.read_line(&mut line)? == 0 {
                return Ok(());
            }
            let path = line.split(' ').nth(1).context("a request")?.to_owned();
            let mut takes_gzip = false;
            while line != "\r\n" {
                line.clear();
                if socket.read_line(&mut line)? == 0 {
                    return Ok(());
                }
                let header = line.to_ascii_lowercase();
                takes_gzip |= header.starts_with("accept-encoding:") && header.contains("gzip");
            }
            let (headers, body) = self.answer(&path, takes_gzip)?;
            let length = body.len();
            let head = format!("HTTP/1.1 200 OK\r\nContent-Length: {length}\r\n{headers}\r\n");
            socket.get_mut().write_all(&[head.as_bytes(), &body].concat())?;
        }
    }

    fn answer(&self, path: &str, takes_gzip: bool) -> anyhow::Result<(String, Vec<u8>)> {
        match path {
            COUNTS => return Ok((String::new(), serde_json::to_vec(&self.counts())?)),
            RESET => self.lock().clear(),
            HANG => self.hangs.store(true, Relaxed),
            GO_ON => self.hangs.store(false, Relaxed),
            _ => return Ok(self.file(path, takes_gzip)),
        }
        Ok((String::new(), Vec::new()))
    }

    fn file(&self, path: &str, takes_gzip: bool) -> (String, Vec<u8>) {
        self.note(path);
        while self.hangs.load(Relaxed) {
            thread::sleep(LOOK);
        }
        let mut bodies = self.bodies.get().into_iter().flatten();
        let Some(Bodies { coded, plain, .. }) = bodies.find(|bodies| bodies.path == path) else {
            let turn = self.turn.fetch_add(1, Relaxed);
            return ("Content-Type: text/plain\r\n".to_owned(), text(CHANGING_BYTES, turn));
        };
        let common = "Content-Type: text/plain\r\nLast-Modified: Wed, 04 Mar 2026 07:00:00 GMT\r\nVary: Accept-Encoding\r\n";
        if takes_gzip {
            let coding = format!("{common}ETag: \"coded\"\r\nContent-Encoding: gzip\r\n");
            return (coding, coded.clone());
        }
        (format!("{common}ETag: \"plain\"\r\n"), plain.clone())
    }

    fn note(&self, path: &str) {
        let now = Instant::now();
        let mut asked = self.lock();
        let first = Times { last: now, count: 0, longest: Duration::ZERO };
        let times = asked.entry(path.to_owned()).or_insert(first);
        times.longest = times.longest.max(now - times.last);
        times.last = now;
        times.count += 1;
    }

    fn counts(&self) -> Counts {
        let now = Instant::now();
        let asked = self.lock();
        // An address that is not requested any more counts as late, too.
        let longest = asked.values().map(|times| times.longest.max(now - times.last)).max();
        let longest = longest.unwrap_or_default();
        Counts {
            requests: asked.values().map(|times| times.count).sum(),
            repeated: asked.values().filter(|times| times.count > 1).count(),
            longest_gap: longest.as_secs_f64(),
        }
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, HashMap<String, Times>> {
        self.asked.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }
}
