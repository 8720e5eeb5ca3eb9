//! Bodies that the kernel sends from files in memory: byte by byte what the producer sent, for every kind of request
//! and for slow readers.

use lineside_testkit::wait_for_body;
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::TcpStream;

use crate::support::process::ServerProcess;
use crate::support::producer::{Answer, Producer, answer};

/// More than the socket buffers hold, and few enough to go from a file to a local client.
const LENGTH: usize = 1_000_000;

/// Returns bytes that differ by position and by version.
fn body(length: usize, version: u8) -> Vec<u8> {
    (0..length).map(|i| (i % 251) as u8 ^ (i / 4096) as u8 ^ version).collect()
}

/// Returns a producer's reply with these bytes; as an image they are not compressed.
fn good(bytes: &[u8]) -> Answer {
    Answer::Bytes(answer("200 OK", &["content-type: image/png"], bytes))
}

struct Server {
    process: ServerProcess,
    producer: Producer,
    _folder: tempfile::TempDir,
}

impl Server {
    async fn start(bytes: &[u8]) -> Self {
        let producer = Producer::start(good(bytes)).await;
        let folder = tempfile::tempdir().unwrap();
        let config = folder.path().join("lineside.toml");
        let text = format!(
            "[server]\nlisten = \"127.0.0.1:0\"\ndrain = \"0s\"\n\
             [[feed]]\nid = \"bytes\"\nformat = \"raw\"\npoll = \"1s\"\nurl = {:?}\n",
            producer.url("/")
        );
        std::fs::write(&config, text).unwrap();
        let process = ServerProcess::start(&["serve", "--config", config.to_str().unwrap()]);
        let server = Self { process, producer, _folder: folder };
        server.wait_for_body(bytes).await;
        server
    }

    async fn wait_for_body(&self, bytes: &[u8]) {
        wait_for_body(&format!("{}/proxy/bytes", self.process.url), bytes).await;
    }

    async fn connect(&self) -> BufReader<TcpStream> {
        let address = self.process.url.trim_start_matches("http://").to_owned();
        BufReader::with_capacity(1_500, TcpStream::connect(address).await.unwrap())
    }
}

async fn write_request(connection: &mut BufReader<TcpStream>, more: &str) {
    let request = format!("GET /proxy/bytes HTTP/1.1\r\nhost: x\r\n{more}\r\n");
    connection.get_mut().write_all(request.as_bytes()).await.unwrap();
}

/// Reads a reply's head, and returns the length of its body.
async fn head(connection: &mut BufReader<TcpStream>) -> (String, usize) {
    let mut head = String::new();
    while !head.ends_with("\r\n\r\n") {
        assert_ne!(connection.read_line(&mut head).await.unwrap(), 0, "the connection ended");
    }
    let length = head.lines().find_map(|line| line.strip_prefix("content-length: "));
    (head.clone(), length.unwrap().parse().unwrap())
}

async fn reply(connection: &mut BufReader<TcpStream>) -> (String, Vec<u8>) {
    let (head, length) = head(connection).await;
    let mut body = vec![0; length];
    connection.read_exact(&mut body).await.unwrap();
    (head, body)
}

#[tokio::test(flavor = "multi_thread")]
async fn pipelined_requests_each_receive_their_own_bytes() {
    let bytes = body(LENGTH, 1);
    let server = Server::start(&bytes).await;
    let mut connection = server.connect().await;
    write_request(&mut connection, "").await;
    write_request(&mut connection, "range: bytes=100000-299999\r\n").await;
    write_request(&mut connection, "range: bytes=-10\r\n").await;
    write_request(&mut connection, "accept-encoding: gzip\r\n").await;
    assert!(reply(&mut connection).await.1 == bytes);
    let (head, part) = reply(&mut connection).await;
    assert!(head.starts_with("HTTP/1.1 206"), "{head}");
    assert!(part == bytes[100_000..300_000]);
    assert!(reply(&mut connection).await.1 == bytes[LENGTH - 10..]);
    assert!(reply(&mut connection).await.1 == bytes);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_slow_reader_receives_the_version_it_began_with() {
    let first = body(LENGTH, 1);
    let server = Server::start(&first).await;
    let mut slow = server.connect().await;
    write_request(&mut slow, "").await;
    let (_, length) = head(&mut slow).await;
    let mut read = vec![0; 10_000];
    slow.read_exact(&mut read).await.unwrap();
    let second = body(LENGTH / 2, 2);
    server.producer.set(good(&second));
    server.wait_for_body(&second).await;
    let mut rest = vec![0; length - read.len()];
    slow.read_exact(&mut rest).await.unwrap();
    assert!([read, rest].concat() == first);
    write_request(&mut slow, "").await;
    assert!(reply(&mut slow).await.1 == second);
}

#[tokio::test(flavor = "multi_thread")]
async fn bodies_of_sizes_around_the_limits_arrive_complete() {
    let server = Server::start(b"few").await;
    let mut connection = server.connect().await;
    for (length, version) in [(16 << 10, 3), ((64 << 10) - 1, 4), (64 << 10, 5), (3 << 20, 6)] {
        let bytes = body(length, version);
        server.producer.set(good(&bytes));
        server.wait_for_body(&bytes).await;
        write_request(&mut connection, "").await;
        assert!(reply(&mut connection).await.1 == bytes, "{length} bytes");
    }
}
