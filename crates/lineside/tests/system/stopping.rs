//! The server stops cleanly within five seconds in every situation.

use std::fs::File;
use std::io::{Read as _, Write as _};
use std::os::fd::AsRawFd as _;
use std::os::unix::fs::OpenOptionsExt as _;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use lineside_testkit::{wait_for_status, wait_until};

use crate::support::events::Stream;
use crate::support::http::get;
use crate::support::process::{ServerProcess, lineside};

/// Five seconds, and some more because a busy machine delays the signal and the exit.
pub(crate) const STOP_MAX: Duration = Duration::from_secs(5 + 3);

#[tokio::test(flavor = "multi_thread")]
async fn a_server_stops_cleanly_within_five_seconds() {
    for signal in ["-TERM", "-INT"] {
        let server = ServerProcess::start(&["demo", "--port", "0", "--vehicles", "20"]);
        let mut streams = Vec::new();
        for _ in 0..5 {
            streams.push(Stream::open(&server.url, "channel=feed/city").await);
        }
        // A connection without a request, and one in the middle of a request head.
        let address = server.url.trim_start_matches("http://").to_owned();
        let _silent = std::net::TcpStream::connect(&address).unwrap();
        let mut half = std::net::TcpStream::connect(&address).unwrap();
        half.write_all(b"GET / HT").unwrap();
        let stopping = tokio::task::spawn_blocking(move || server.stop(signal));
        for mut stream in streams {
            while stream.next_within(STOP_MAX).await.is_some() {}
        }
        let (status, took) = stopping.await.unwrap();
        assert!(status.success(), "{signal}: {status}");
        assert!(took < STOP_MAX, "{signal}: {took:?}");
    }
}

/// A parent that reads the greeting may stop the server at once.
#[tokio::test]
async fn a_server_stops_even_if_its_greeting_is_unread() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("lineside.toml");
    std::fs::write(&file, "[server]\nlisten = \"127.0.0.1:0\"\ndrain = \"0s\"\n").unwrap();
    let (mut reader, writer) = std::io::pipe().unwrap();
    fill(&writer);
    let mut command = lineside(&["serve", "--config", file.to_str().unwrap()]);
    let mut child = LeftoverProcess(command.stdout(writer).stderr(Stdio::null()).spawn().unwrap());
    // The command still holds an end of the pipe.
    drop(command);
    // The full pipe blocks the greeting.
    let status = format!("/proc/{}/status", child.0.id());
    wait_until("it listens for SIGTERM", async || {
        let status = std::fs::read_to_string(&status).unwrap();
        let caught = status.lines().find_map(|line| line.strip_prefix("SigCgt:")).unwrap();
        u64::from_str_radix(caught.trim(), 16).unwrap() & (1 << (15 - 1)) != 0
    })
    .await;
    let id = child.0.id().to_string();
    assert!(Command::new("kill").args(["-TERM", &id]).status().unwrap().success());
    let mut output = String::new();
    reader.read_to_string(&mut output).unwrap();
    let status = child.0.wait().unwrap();
    assert!(status.success() && output.contains("Ctrl-C"), "{status} {output}");
}

/// A process that is killed when the test ends.
struct LeftoverProcess(Child);

impl Drop for LeftoverProcess {
    fn drop(&mut self) {
        // The process is gone already if the test stopped it.
        _ = self.0.kill();
    }
}

/// Fills a pipe completely.
fn fill(pipe: &std::io::PipeWriter) {
    // A second descriptor, so that only this end is non-blocking.
    let pipe_path = format!("/proc/self/fd/{}", pipe.as_raw_fd());
    let mut options = File::options();
    let options = options.write(true).custom_flags(nix::libc::O_NONBLOCK);
    let mut reopened = options.open(pipe_path).unwrap();
    while reopened.write(&[b' '; 4096]).is_ok() {}
}

#[tokio::test(flavor = "multi_thread")]
async fn a_connection_beyond_the_limit_is_refused_at_once() {
    let folder = tempfile::tempdir().unwrap();
    let text = "[server]\nlisten = \"127.0.0.1:0\"\ndrain = \"0s\"\n[limits]\nconnections = 3\n";
    let server = ServerProcess::serving(folder.path(), text);
    let address = server.url.trim_start_matches("http://").to_owned();
    let open = || std::net::TcpStream::connect(&address).unwrap();
    let mut open_connections = vec![open(), open(), open()];
    let health = format!("{}/healthz", server.url);
    // A waiting connection would be admitted once the three are closed.
    let refused = wait_for_status(&health, 503).await;
    assert_eq!(refused.headers()["retry-after"], "5");
    open_connections.clear();
    wait_for_status(&health, 200).await;
    // The metric counts refused connections by the limit.
    let metrics = get(&format!("{}/metrics", server.url)).await.text().await.unwrap();
    let refused = |reason| {
        let name = format!("lineside_http_refused_total{{reason=\"{reason}\"}} ");
        let line = metrics.lines().find_map(|line| line.strip_prefix(&name));
        line.unwrap_or_else(|| panic!("no {name}in\n{metrics}")).parse::<u64>().unwrap()
    };
    assert!(refused("connections") >= 1);
    assert_eq!(refused("address"), 0);
    assert!(server.stop("-TERM").0.success());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stopping_server_is_not_ready_and_refuses_new_streams() {
    let folder = tempfile::tempdir().unwrap();
    let server = ServerProcess::serving(
        folder.path(),
        "[server]\nlisten = \"127.0.0.1:0\"\ndrain = \"4s\"\n",
    );
    let url = server.url.clone();
    assert_eq!(get(&format!("{url}/readyz")).await.status(), 200);
    let stopping = tokio::task::spawn_blocking(move || server.stop("-TERM"));
    wait_for_status(&format!("{url}/readyz"), 503).await;
    assert_eq!(get(&format!("{url}/healthz")).await.status(), 200);
    assert_eq!(get(&format!("{url}/events?channel=feed/x")).await.status(), 503);
    let (status, took) = stopping.await.unwrap();
    assert!(status.success() && took < STOP_MAX, "{status} {took:?}");
}
