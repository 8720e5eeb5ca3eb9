//! Slow, dead and lying clients among thousands of good ones, who lose nothing.

use std::process::Output;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed};
use std::time::Duration;

use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::task::{JoinHandle, JoinSet};

use super::protocol_violations::VIOLATIONS;
use super::socket::{Opening, Socket, connect};
use super::{BackEnd, KEY, client_address, eventually, start};
use crate::support::process::lineside;

/// Number of good clients on each transport.
const GOOD: usize = 1_200;
/// Number of publications per second to the clients of one transport, and number of seconds.
const PUBLICATIONS: (usize, usize) = (5, 8);
/// Number of bad clients of each patient kind, and number of concurrent lying ones.
const BAD: usize = 100;
const LYING: usize = 4;
/// The channel of bad clients: more data than their socket buffers hold.
const FLOOD: &str = "app/kept/flood";
const FLOOD_BYTES: usize = 60_000;
/// The receive buffer of a bad client, in bytes.
const RECEIVE_BYTES: u32 = 4_096;
/// Maximum resident memory of the server. If it buffered everything for each client that does not read, the flood alone
/// would exceed this by far.
const RESIDENT_MAX: u64 = 384 << 20;

/// A transport with the arguments of `lineside load`, and the channel of its good clients.
const CLIENT_ARGUMENTS: [(&[&str], &str); 3] = [
    (&["--transport", "websocket"], "app/kept/json"),
    (&["--transport", "websocket", "--format", "protobuf"], "app/kept/protobuf"),
    (&["--transport", "sse"], "app/kept/events"),
];

/// Runs good clients on one transport with all their publications, and returns the result.
fn good(
    url: String,
    (transport, channel): (&'static [&'static str], &'static str),
) -> JoinHandle<Value> {
    tokio::task::spawn_blocking(move || {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("figures.json");
        let (rate, seconds) = PUBLICATIONS;
        let numbers = [GOOD.to_string(), rate.to_string(), format!("{seconds}s")];
        let mut command = lineside(&["load", &url, "--channel", channel]);
        command.args([
            "--sessions",
            &numbers[0],
            "--publish",
            &numbers[1],
            "--duration",
            &numbers[2],
        ]);
        command.args(transport).arg("--json").arg(&file).env("LINESIDE_API_KEY", KEY);
        let Output { status, stdout, stderr } = command.output().unwrap();
        let output = String::from_utf8(stdout).unwrap() + &String::from_utf8(stderr).unwrap();
        assert_eq!(status.code(), Some(0), "{output}");
        serde_json::from_slice(&std::fs::read(&file).unwrap()).unwrap()
    })
}

/// Subscribes to all channels on a socket with a small buffer.
async fn listener(address: &str) -> Socket {
    let opening = Opening { receive_bytes: Some(RECEIVE_BYTES), ..Opening::default() };
    let mut socket = Socket::open_as(address, opening).await.unwrap();
    let channels = CLIENT_ARGUMENTS.map(|(_, channel)| channel).into_iter().chain([FLOOD]);
    let subscribe = |(n, channel)| json!({"id": n + 2, "subscribe": {"channel": channel}});
    let mut commands = vec![json!({"id": 1, "connect": {}})];
    commands.extend(channels.enumerate().map(subscribe));
    socket.send(&commands).await.unwrap();
    socket
}

/// Opens an event stream of the flood on a socket with a small buffer.
async fn stream(address: &str) -> TcpStream {
    let mut stream = connect(address, Some(RECEIVE_BYTES)).await.unwrap();
    let request = format!("GET /events?channel={FLOOD} HTTP/1.1\r\nHost: {address}\r\n\r\n");
    stream.write_all(request.as_bytes()).await.unwrap();
    stream
}

#[derive(Default)]
struct BadClients {
    /// Never read the data that they requested.
    idle: Vec<Socket>,
    streams: Vec<TcpStream>,
    /// Never send a request, or only half of one.
    silent: Vec<TcpStream>,
    /// Read a few bytes now and then, or lie.
    busy: JoinSet<()>,
}

impl BadClients {
    async fn connect_all(
        address: &str,
        is_over: &Arc<AtomicBool>,
        violations: &Arc<AtomicUsize>,
    ) -> Self {
        let mut bad = Self::default();
        for n in 0..BAD {
            bad.idle.push(listener(address).await);
            bad.streams.push(stream(address).await);
            let mut silent = connect(address, None).await.unwrap();
            let half = b"GET /events?channel=app/kept/flood HTTP/1.1\r\nHost: ";
            silent.write_all(&half[..n % 2 * half.len()]).await.unwrap();
            bad.silent.push(silent);
            bad.busy.spawn(dawdle(listener(address).await.stream, Arc::clone(is_over)));
        }
        for n in 0..LYING {
            let (is_over, violations) = (Arc::clone(is_over), Arc::clone(violations));
            bad.busy.spawn(lie(address.to_owned(), n, is_over, violations));
        }
        bad
    }
}

async fn dawdle(mut stream: TcpStream, is_over: Arc<AtomicBool>) {
    let mut few = [0; 64];
    while !is_over.load(Relaxed) {
        if !matches!(stream.read(&mut few).await, Ok(1..)) {
            return;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

async fn lie(
    address: String,
    first: usize,
    is_over: Arc<AtomicBool>,
    violations: Arc<AtomicUsize>,
) {
    for lie in VIOLATIONS.iter().cycle().skip(first * VIOLATIONS.len() / LYING) {
        if is_over.load(Relaxed) {
            return;
        }
        lie.run(&address, "app/kept/lies").await;
        violations.fetch_add(1, Relaxed);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn well_behaved_clients_lose_nothing_to_misbehaving_ones() {
    let folder = tempfile::tempdir().unwrap();
    // The logs are long enough for good clients on a busy machine, and too short to buffer per client.
    let server = start(folder.path(), "1MiB");
    let (address, back_end) = (client_address(&server), BackEnd::for_server(&server));
    let (is_over, violations) = (Arc::<AtomicBool>::default(), Arc::<AtomicUsize>::default());
    let mut bad = BadClients::connect_all(&address, &is_over, &violations).await;
    let flood = tokio::spawn({
        let (back_end, is_over) = (back_end.clone(), Arc::clone(&is_over));
        async move {
            let data = json!("~".repeat(FLOOD_BYTES));
            let mut published = 0;
            while !is_over.load(Relaxed) {
                back_end.publish(FLOOD, &data).await;
                published += FLOOD_BYTES;
                tokio::time::sleep(Duration::from_millis(40)).await;
            }
            published
        }
    });

    let runs = CLIENT_ARGUMENTS.map(|client_arguments| good(server.url.clone(), client_arguments));
    for run in runs {
        let metrics = run.await.unwrap();
        let deliveries = &metrics["deliveries"];
        assert_eq!(metrics["connect"]["ready"], GOOD, "{metrics}");
        let (rate, seconds) = PUBLICATIONS;
        let publications = rate * seconds;
        assert_eq!(deliveries["publications"], publications, "{metrics}");
        assert_eq!(deliveries["deliveries"], publications * GOOD, "{metrics}");
        for losses in ["missing", "duplicates", "gaps"] {
            assert_eq!(deliveries[losses], 0, "{metrics}");
        }
        for reasons in
            [&metrics["connect"]["failed"], &deliveries["closed"], &deliveries["refused"]]
        {
            assert_eq!(reasons, &json!({}), "{metrics}");
        }
    }
    is_over.store(true, Relaxed);
    let flooded = flood.await.unwrap();
    let usage = server.usage();
    println!(
        "{} lies, a flood of {flooded} bytes, {} MiB at most",
        violations.load(Relaxed),
        usage.resident_peak >> 20
    );
    assert!(usage.resident_peak < RESIDENT_MAX, "{usage:?}");
    // Twice the memory that buffering for each client that does not read would take.
    assert!(
        (flooded * 2 * BAD) as u64 > 2 * RESIDENT_MAX,
        "a flood of {flooded} bytes shows nothing"
    );
    assert!(back_end.metric("lineside_wire_blocked_total").await > 0.0, "no client was slow");
    assert!(violations.load(Relaxed) >= VIOLATIONS.len(), "not every violation was sent");

    (bad.idle, bad.streams, bad.silent) = Default::default();
    bad.busy.join_all().await.into_iter().for_each(drop);
    eventually("all are gone", async || back_end.metric("lineside_wire_connections").await == 0.0)
        .await;
    assert!(server.stop("-TERM").0.success());
}
