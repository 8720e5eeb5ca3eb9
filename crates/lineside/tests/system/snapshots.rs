//! The last good bytes survive a kill, a stop, and a disk that rejects writes, in the real program.

use std::collections::HashMap;
use std::fmt::Write as _;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use lineside_testkit::{wait_for_body, wait_until, wait_until_ready};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};

use crate::support::admin;
use crate::support::http::{client, get};
use crate::support::process::ServerProcess;
use crate::support::producer::{Answer, Producer, answer};

const KILLS: usize = 5;
/// Minimum number of new bodies that clients receive before the process is killed.
const SEEN_MIN: usize = 20;
/// Body sizes of the feeds.
const SIZES: [usize; 8] = [300, 2_000, 2_000, 20_000, 20_000, 200_000, 200_000, 2_000_000];

/// A producer with a new body for every request, until it fails.
#[derive(Clone, Debug, Default)]
struct VersionedSource {
    number: Arc<AtomicU64>,
    is_down: Arc<AtomicBool>,
}

impl VersionedSource {
    async fn start(&self) -> String {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let source = self.clone();
        tokio::spawn(async move {
            while let Ok((socket, _)) = listener.accept().await {
                let source = source.clone();
                tokio::spawn(async move { source.answer(socket).await });
            }
        });
        url
    }

    async fn answer(&self, mut socket: TcpStream) {
        let mut head = Vec::new();
        while !head.ends_with(b"\r\n\r\n") {
            match socket.read_u8().await {
                Ok(byte) => head.push(byte),
                Err(_) => return,
            }
        }
        let head = String::from_utf8(head).unwrap();
        let feed: usize =
            head.trim_start_matches("GET /").split(' ').next().unwrap().parse().unwrap();
        let reply = if self.is_down.load(Ordering::Relaxed) {
            answer("500 Internal Server Error", &[], b"")
        } else {
            answer("200 OK", &[], &body(feed, self.number.fetch_add(1, Ordering::Relaxed)))
        };
        // A killed process reads no reply.
        _ = socket.write_all(&reply).await;
    }
}

/// Returns a body with its number repeated, so that a torn one is recognized.
fn body(feed: usize, number: u64) -> Vec<u8> {
    let mut body = format!("{number:020}\n").into_bytes().repeat(SIZES[feed] / 21);
    body.push(feed as u8);
    body
}

fn version_number(feed: usize, bytes: &[u8]) -> u64 {
    let number = std::str::from_utf8(&bytes[..20]).unwrap().parse().unwrap();
    assert!(bytes == body(feed, number), "the bytes of feed {feed} are not whole");
    number
}

fn configure(folder: &Path, producer: &str) -> String {
    let mut config =
        "[server]\nlisten = \"127.0.0.1:0\"\ndata_dir = \"data\"\ndrain = \"0s\"\n".to_owned();
    for feed in 0..SIZES.len() {
        let feed = format!(
            "[[feed]]\nid = \"f{feed}\"\nurl = \"{producer}/{feed}\"\nformat = \"raw\"\npoll = \"1s\"\n"
        );
        config.write_str(&feed).unwrap();
    }
    let path = folder.join("lineside.toml");
    std::fs::write(&path, config).unwrap();
    path.to_str().unwrap().to_owned()
}

/// The newest body of each feed that a client received.
type SeenVersions = Arc<Mutex<HashMap<usize, u64>>>;

/// Reads a feed repeatedly until the server is gone.
async fn read(url: String, feed: usize, seen: SeenVersions, n_seen: Arc<AtomicU64>) {
    let client = client();
    while let Ok(response) = client.get(format!("{url}/proxy/f{feed}")).send().await {
        if response.status() != 200 {
            continue;
        }
        let Ok(bytes) = response.bytes().await else { return };
        let number = version_number(feed, &bytes);
        if seen.lock().unwrap().insert(feed, number) != Some(number) {
            n_seen.fetch_add(1, Ordering::Relaxed);
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn served_bytes_survive_a_kill() {
    let folder = tempfile::tempdir().unwrap();
    let source = VersionedSource::default();
    let config = configure(folder.path(), &source.start().await);
    let seen = SeenVersions::default();
    let mut rng = fastrand::Rng::with_seed(7);
    for _ in 0..KILLS {
        source.is_down.store(false, Ordering::Relaxed);
        let server = ServerProcess::start(&["serve", "--config", &config]);
        let n_seen = Arc::new(AtomicU64::new(0));
        let readers: Vec<_> = (0..SIZES.len())
            .map(|feed| {
                let (url, seen, n_seen) =
                    (server.url.clone(), Arc::clone(&seen), Arc::clone(&n_seen));
                tokio::spawn(read(url, feed, seen, n_seen))
            })
            .collect();
        let enough = (SEEN_MIN + rng.usize(..10)) as u64;
        wait_until("clients have seen news", async || n_seen.load(Ordering::Relaxed) >= enough)
            .await;
        server.stop("-KILL");
        for reader in readers {
            reader.await.unwrap();
        }
        source.is_down.store(true, Ordering::Relaxed);
        let server = ServerProcess::start(&["serve", "--config", &config]);
        // At once, before the producer is polled.
        let given = seen.lock().unwrap().clone();
        for (feed, number) in given {
            let response = get(&format!("{}/proxy/f{feed}", server.url)).await;
            assert_eq!(response.status(), 200);
            let found = version_number(feed, &response.bytes().await.unwrap());
            assert!(
                found >= number,
                "feed {feed}: {found} is older than {number}, which was served"
            );
        }
        wait_until_ready(&server.url).await;
        for feed in 0..SIZES.len() {
            let response = get(&format!("{}/proxy/f{feed}", server.url)).await;
            let status = response.headers()["lineside-status"].to_str().unwrap();
            assert!(status.starts_with("stale; reason=http_500; since="), "{status}");
            assert!(response.headers().contains_key("age"));
        }
        server.stop("-KILL");
    }
}

fn one_feed(folder: &Path, url: &str) -> String {
    let path = folder.join("lineside.toml");
    let config = format!(
        "[server]\nlisten = \"127.0.0.1:0\"\ndata_dir = \"data\"\ndrain = \"0s\"\n\
         [[feed]]\nid = \"a\"\nurl = \"{url}\"\nformat = \"raw\"\npoll = \"1s\"\n"
    );
    std::fs::write(&path, config).unwrap();
    path.to_str().unwrap().to_owned()
}

#[tokio::test]
async fn the_first_request_after_a_stop_or_crash_is_conditional() {
    let modified = "last-modified: Wed, 04 Mar 2026 07:00:00 GMT";
    let good = answer("200 OK", &["etag: \"one\"", modified], b"a body");
    let producer = Producer::start(Answer::Conditional("\"one\"", good)).await;
    let folder = tempfile::tempdir().unwrap();
    let config = one_feed(folder.path(), &producer.url("/a"));
    for signal in ["-TERM", "-KILL", "-TERM"] {
        let server = ServerProcess::start(&["serve", "--config", &config]);
        wait_until_ready(&server.url).await;
        let response = get(&format!("{}/proxy/a", server.url)).await;
        assert_eq!(response.headers()["last-modified"], "Wed, 04 Mar 2026 07:00:00 GMT");
        assert_eq!(response.headers()["lineside-status"], "fresh");
        assert_eq!(response.text().await.unwrap(), "a body");
        server.stop(signal);
    }
    let requests = producer.heads();
    assert!(!requests[0].contains("if-none-match"));
    let later = &requests[1..];
    assert!(later.len() >= 2 && later.iter().all(|it| it.contains("if-none-match: \"one\"")));
    assert!(later.iter().all(|it| it.contains("if-modified-since: wed, 04 mar 2026")));
}

#[tokio::test]
async fn a_failing_disk_prevents_neither_polling_nor_serving() {
    let producer = Producer::start(Answer::Bytes(answer("200 OK", &[], b"one"))).await;
    let folder = tempfile::tempdir().unwrap();
    let config = one_feed(folder.path(), &producer.url("/a"));
    std::fs::create_dir(folder.path().join("data")).unwrap();
    // A file where the server needs a folder.
    std::fs::write(folder.path().join("data/blobs"), "in the way").unwrap();
    let server = ServerProcess::start(&["serve", "--config", &config]);
    wait_until_ready(&server.url).await;
    producer.set(Answer::Bytes(answer("200 OK", &[], b"two")));
    wait_for_body(&format!("{}/proxy/a", server.url), b"two").await;
    let metrics = get(&format!("{}/metrics", server.url)).await.text().await.unwrap();
    assert!(metrics.contains("lineside_store_snapshots_failing 1"), "{metrics}");
    server.stop("-TERM");
}

#[tokio::test]
async fn a_start_on_a_failing_disk_preserves_removals_and_last_good_bytes() {
    let producer = Producer::start(Answer::Bytes(answer("200 OK", &[], b"good"))).await;
    let folder = tempfile::tempdir().unwrap();
    let config = one_feed(folder.path(), &producer.url("/a"));
    let more = format!(
        "{}[[feed]]\nid = \"gone\"\nurl = \"{}\"\nformat = \"raw\"\npoll = \"1s\"\n{}",
        std::fs::read_to_string(&config).unwrap(),
        producer.url("/gone"),
        admin::table()
    );
    std::fs::write(&config, more).unwrap();
    let server = ServerProcess::start(&["serve", "--config", &config]);
    wait_until_ready(&server.url).await;
    let (name, value) = admin::BEARER;
    let removal = client().delete(format!("{}/api/v1/admin/feeds/gone", server.url));
    assert!(removal.header(name, value).send().await.unwrap().status().is_success());
    assert_eq!(get(&format!("{}/proxy/gone", server.url)).await.status(), 404);
    server.stop("-TERM");
    producer.set(Answer::Bytes(answer("500 Internal Server Error", &[], b"")));
    // Every write to a file fails, as on a full disk.
    let mut limited = std::process::Command::new("sh");
    limited.args(["-c", "ulimit -f 0; exec \"$0\" serve --config \"$1\""]);
    limited.args([env!("CARGO_BIN_EXE_lineside"), &config]);
    let server = ServerProcess::from_command(limited);
    wait_until_ready(&server.url).await;
    assert_eq!(get(&format!("{}/proxy/gone", server.url)).await.status(), 404);
    let last = get(&format!("{}/proxy/a", server.url)).await;
    assert_eq!(last.status(), 200);
    assert_eq!(last.text().await.unwrap(), "good");
    let (status, took) = server.stop("-TERM");
    assert!(status.success() && took < Duration::from_secs(5), "{status} after {took:?}");
    assert!(!folder.path().join("data/handoff.bin.part").exists());
}
