//! Clients that request and do not read, or that keep the server busy without requests.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use lineside_testkit::{WAIT_MAX, wait_for_status, wait_until};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::net::tcp::OwnedReadHalf;

use crate::support::http::{get, json};
use crate::support::process::ServerProcess;
use crate::support::producer::{Answer, Producer, answer};

/// More than the socket buffers of both ends hold.
const LENGTH: usize = 16 << 20;

/// The settings of a client without a flow-control window.
const NO_WINDOW: [(u16, u32); 1] = [(4, 0)];

const DATA: u8 = 0;
const HEADERS: u8 = 1;
const RST_STREAM: u8 = 3;
const SETTINGS: u8 = 4;
const PING: u8 = 6;
const WINDOW_UPDATE: u8 = 8;

struct Server {
    process: ServerProcess,
    _producer: Producer,
    _folder: tempfile::TempDir,
}

impl Server {
    async fn start(limits: &str) -> Self {
        let good = body(0);
        Self::start_with(limits, Producer::answering(move |_| Answer::Bytes(good.clone())).await)
            .await
    }

    async fn start_with(limits: &str, producer: Producer) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let text = format!(
            "[server]\nlisten = \"127.0.0.1:0\"\ndrain = \"0s\"\n[limits]\n{limits}\n\
             [[feed]]\nid = \"bytes\"\nformat = \"raw\"\npoll = \"1s\"\nurl = {:?}\n",
            producer.url("/")
        );
        let process = ServerProcess::serving(folder.path(), text);
        let server = Self { process, _producer: producer, _folder: folder };
        let url = format!("{}/proxy/bytes", server.process.url);
        wait_for_status(&url, 200).await;
        server
    }

    async fn connect(&self) -> TcpStream {
        let address = self.process.url.trim_start_matches("http://");
        TcpStream::connect(address).await.unwrap()
    }

    /// Returns a metric without labels.
    async fn metric(&self, name: &str) -> u64 {
        let url = format!("{}/metrics", self.process.url);
        let text = get(&url).await.text().await.unwrap();
        let line = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
        line.unwrap().parse().unwrap()
    }

    /// Opens an HTTP/2 connection with these settings.
    async fn connect_http2(&self, settings: &[(u16, u32)]) -> TcpStream {
        let mut socket = self.connect().await;
        let settings: Vec<u8> = settings
            .iter()
            .flat_map(|(id, value)| [&id.to_be_bytes()[..], &value.to_be_bytes()].concat())
            .collect();
        let preface = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".to_vec();
        let opening = [preface, frame(SETTINGS, 0, 0, &settings)].concat();
        socket.write_all(&opening).await.unwrap();
        socket
    }
}

/// Returns a reply of the producer, distinct for each number.
fn body(number: u64) -> Vec<u8> {
    let mut bytes: Vec<u8> = (0..LENGTH).map(|i| (i % 251) as u8).collect();
    bytes[..8].copy_from_slice(&number.to_be_bytes());
    answer("200 OK", &["content-type: image/png"], &bytes)
}

/// Reads until the server resets the stream.
async fn read_until_reset(read: &mut OwnedReadHalf, stream: u32) {
    let reset = async {
        loop {
            let (kind, stream_id, _) = next_frame(read).await.expect("the connection stays open");
            if kind == RST_STREAM && stream_id == stream {
                return;
            }
        }
    };
    tokio::time::timeout(WAIT_MAX, reset).await.expect("it is reset");
}

fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    let length = (payload.len() as u32).to_be_bytes();
    [&length[1..], &[kind, flags], &stream.to_be_bytes(), payload].concat()
}

/// Encodes the header block of a request for a path.
fn request(path: &str) -> Vec<u8> {
    // GET and http from the static table, and two literals with its names: the path and the authority.
    let path = [&[0x04, path.len() as u8], path.as_bytes()].concat();
    [&[0x82, 0x86][..], &path, &[0x01, 0x01, b'x']].concat()
}

/// Returns the kind, the stream and the payload of the next frame; `None` at the end of the connection.
async fn next_frame(socket: &mut OwnedReadHalf) -> Option<(u8, u32, Vec<u8>)> {
    let mut head = [0; 9];
    socket.read_exact(&mut head).await.ok()?;
    let mut payload = vec![0; u32::from_be_bytes([0, head[0], head[1], head[2]]) as usize];
    socket.read_exact(&mut payload).await.ok()?;
    let stream = u32::from_be_bytes([head[5], head[6], head[7], head[8]]);
    Some((head[3], stream, payload))
}

#[tokio::test(flavor = "multi_thread")]
async fn a_connection_that_reads_nothing_of_its_reply_is_closed() {
    let server = Server::start("send_timeout = \"1s\"").await;
    let mut connections = Vec::new();
    for _ in 0..40 {
        let mut connection = server.connect().await;
        connection.write_all(b"GET /proxy/bytes HTTP/1.1\r\nhost: x\r\n\r\n").await.unwrap();
        connections.push(connection);
    }
    // The connection that reads the metrics may stay open for a while.
    wait_until("stalled connections are closed", async || {
        server.metric("lineside_http_connections").await <= 5
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_unread_http2_stream_is_reset_and_its_connection_continues() {
    const STREAMS: u32 = 20;
    let server = Server::start("send_timeout = \"1s\"").await;
    let (mut read, mut write) = server.connect_http2(&NO_WINDOW).await.into_split();
    let (proxied, compressed) = (request("/proxy/bytes"), request("/api/v1/openapi.json"));
    for n in 0..STREAMS {
        let path = if n % 2 == 0 { &proxied } else { &compressed };
        write.write_all(&frame(HEADERS, 0x5, 2 * n + 1, path)).await.unwrap();
    }
    // One stream of the connection does read.
    let good = 2 * STREAMS + 1;
    write.write_all(&frame(HEADERS, 0x5, good, &request("/healthz"))).await.unwrap();
    write.write_all(&frame(WINDOW_UPDATE, 0, good, &[0, 1, 0, 0])).await.unwrap();
    let (mut n_reset, mut was_answered) = (0, false);
    while n_reset < STREAMS || !was_answered {
        let next = tokio::time::timeout(WAIT_MAX, next_frame(&mut read)).await;
        let (kind, stream, payload) = next.unwrap().expect("the connection stays open");
        match kind {
            RST_STREAM => {
                assert_ne!(stream, good);
                n_reset += 1;
            }
            DATA => {
                assert_eq!(stream, good);
                was_answered |= !payload.is_empty();
            }
            _ => {}
        }
    }
    wait_until("unsent bytes are released", async || {
        server.metric("lineside_http_unsent_bytes").await < 1 << 20
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn unsent_bytes_of_a_connection_are_limited() {
    let server = Server::start("unsent_bytes = \"1MiB\"").await;
    let client = reqwest::Client::builder()
        .http2_prior_knowledge()
        .http2_initial_stream_window_size(1_000)
        .build()
        .unwrap();
    let url = format!("{}/api/v1/openapi.json", server.process.url);
    let send_concurrently = async || client.get(&url).send().await.unwrap();
    let unread = send_concurrently().await;
    assert_eq!(unread.status(), 200);
    let failed = async || server.metric("lineside_http_requests_total{status=\"5xx\"}").await;
    let failed_before = failed().await;
    let refused = send_concurrently().await;
    assert_eq!(refused.status(), 503);
    for name in ["retry-after", "access-control-allow-origin", "x-content-type-options", "date"] {
        assert!(refused.headers().contains_key(name), "{name}");
    }
    assert_eq!(json(refused).await["code"], "busy");
    assert_eq!(failed().await, failed_before + 1, "counted by the status that the client receives");
    assert_eq!(get(&url).await.status(), 200, "another connection has room of its own");
    drop(unread);
    wait_until("a request is served", async || send_concurrently().await.status() == 200).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn under_pressure_unread_streams_are_reset_before_the_timeout() {
    let server = Server::start("send_timeout = \"10m\"\nunsent_bytes = \"4MiB\"").await;
    let url = format!("{}/api/v1/openapi.json", server.process.url);
    let length = get(&url).await.bytes().await.unwrap().len();
    let mut connections = Vec::new();
    for _ in 0..=(3 << 20) / length {
        let (read, mut write) = server.connect_http2(&NO_WINDOW).await.into_split();
        write.write_all(&frame(HEADERS, 0x5, 1, &request("/api/v1/openapi.json"))).await.unwrap();
        connections.push((read, write));
    }
    // One reset may free enough memory, so the others may stay open.
    let resets = connections.iter_mut().map(|(read, _)| Box::pin(read_until_reset(read, 1)));
    futures_util::future::select_all(resets).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn streams_that_hold_too_many_replaced_bodies_are_reset() {
    let number = AtomicU64::new(0);
    let producer =
        Producer::answering(move |_| Answer::Bytes(body(number.fetch_add(1, Relaxed)))).await;
    let limits = "send_timeout = \"10m\"\nunsent_bytes = \"1MiB\"";
    let server = Server::start_with(limits, producer).await;
    let (mut read, mut write) = server.connect_http2(&NO_WINDOW).await.into_split();
    write.write_all(&frame(HEADERS, 0x5, 1, &request("/proxy/bytes"))).await.unwrap();
    read_until_reset(&mut read, 1).await;
    wait_until("shared bytes are released", async || {
        server.metric("lineside_http_unsent_shared_bytes").await == 0
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_flood_of_resets_closes_the_connection() {
    let server = Server::start("").await;
    let (mut read, mut write) = server.connect_http2(&[]).await.into_split();
    write.write_all(&frame(HEADERS, 0x5, 1, &request("/healthz"))).await.unwrap();
    let reading = tokio::spawn(async move { while next_frame(&mut read).await.is_some() {} });
    let resets = frame(RST_STREAM, 0, 1, &[0, 0, 0, 8]).repeat(1_000);
    let flood = async { while write.write_all(&resets).await.is_ok() {} };
    tokio::time::timeout(WAIT_MAX, flood).await.expect("it is cut");
    reading.await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_flood_of_pings_closes_the_connection() {
    let server = Server::start("").await;
    let (mut read, mut write) = server.connect_http2(&[]).await.into_split();
    let reading = tokio::spawn(async move { while next_frame(&mut read).await.is_some() {} });
    let pings = frame(PING, 0, 0, b"12345678").repeat(1_000);
    let flood = async { while write.write_all(&pings).await.is_ok() {} };
    tokio::time::timeout(WAIT_MAX, flood).await.expect("it is cut");
    reading.await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_file_size_signal_does_not_end_the_server() {
    let server = Server::start("").await;
    server.process.signal("-XFSZ");
    assert_eq!(get(&format!("{}/healthz", server.process.url)).await.status(), 200);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_request_names_exactly_one_host() {
    let server = Server::start("").await;
    for (head, status) in [
        ("GET /healthz HTTP/1.1\r\nhost: x\r\n", "200"),
        ("GET /healthz HTTP/1.0\r\n", "200"),
        ("GET /healthz HTTP/1.1\r\n", "400"),
        ("GET /healthz HTTP/1.1\r\nhost: x\r\nhost: x\r\n", "400"),
        ("GET http://x/healthz HTTP/1.1\r\n", "400"),
    ] {
        let mut socket = server.connect().await;
        let request = format!("{head}connection: close\r\n\r\n");
        socket.write_all(request.as_bytes()).await.unwrap();
        let mut reply = String::new();
        socket.read_to_string(&mut reply).await.unwrap();
        assert_eq!(reply.split(' ').nth(1), Some(status), "{head}: {reply}");
        assert_eq!(status == "400", reply.contains("\"bad_host\""), "{reply}");
        for name in ["access-control-allow-origin", "x-content-type-options", "date"] {
            assert!(reply.contains(&format!("\r\n{name}: ")), "{name}: {reply}");
        }
    }
}
