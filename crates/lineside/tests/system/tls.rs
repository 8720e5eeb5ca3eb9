//! The server with TLS, for browsers and clients.

use std::fs::File;
use std::path::Path;
use std::process::Stdio;

use lineside_testkit::wait_until;

use crate::support::process::{ServerProcess, lineside};
use crate::support::producer::{Answer, Producer, answer};

const API_KEY: &str = "a key for tests";

/// Writes a self-signed certificate for this machine, and its key.
pub(crate) fn certify(folder: &Path) {
    let names = ["localhost".to_owned(), "127.0.0.1".to_owned()];
    let certified = rcgen::generate_simple_self_signed(names).unwrap();
    std::fs::write(folder.join("cert.pem"), certified.cert.pem()).unwrap();
    std::fs::write(folder.join("key.pem"), certified.signing_key.serialize_pem()).unwrap();
}

fn start(folder: &Path) -> ServerProcess {
    start_logging(folder, Stdio::null())
}

/// Starts a server with a destination for its log.
fn start_logging(folder: &Path, log: Stdio) -> ServerProcess {
    let text = format!(
        "[server]\nlisten = \"127.0.0.1:0\"\ndrain = \"0s\"\n\
         [server.tls]\ncert = \"cert.pem\"\nkey = \"key.pem\"\n\
         [api]\nkey = \"{API_KEY}\"\n\
         [[namespace]]\nprefix = \"app/load/\"\nsubscribe = \"anyone\"\n"
    );
    let config = folder.join("lineside.toml");
    std::fs::write(&config, text).unwrap();
    ServerProcess::logging(lineside(&["serve", "--config", config.to_str().unwrap()]), log)
}

/// Returns a client that trusts only the folder's current certificate.
pub(crate) fn client(folder: &Path, only_http1: bool) -> reqwest::Client {
    let pem = std::fs::read(folder.join("cert.pem")).unwrap();
    let trusted = [reqwest::Certificate::from_pem(&pem).unwrap()];
    let builder = reqwest::Client::builder().tls_certs_only(trusted);
    if only_http1 { builder.http1_only() } else { builder }.build().unwrap()
}

#[tokio::test]
async fn pages_and_streams_work_over_http_1_and_2() {
    let folder = tempfile::tempdir().unwrap();
    certify(folder.path());
    let server = start(folder.path());
    assert!(server.url.starts_with("https://"), "{}", server.greeting);
    for (only_http1, version) in [(true, http::Version::HTTP_11), (false, http::Version::HTTP_2)] {
        let client = client(folder.path(), only_http1);
        let page = client.get(&server.url).send().await.unwrap();
        assert_eq!((page.status(), page.version()), (http::StatusCode::OK, version));
        assert_eq!(page.headers()["strict-transport-security"], "max-age=2592000");
        let events = format!("{}/events?channel=app/load/1", server.url);
        let mut stream = client.get(events).send().await.unwrap();
        assert_eq!((stream.status(), stream.version()), (http::StatusCode::OK, version));
        let first = stream.chunk().await.unwrap().expect("the stream begins");
        assert!(first.starts_with(b"retry: "), "{first:?}");
    }
}

#[tokio::test]
async fn sessions_over_tls_lose_nothing() {
    let folder = tempfile::tempdir().unwrap();
    certify(folder.path());
    let server = start(folder.path());
    // Some publications exceed a TLS record and a socket buffer. They are few, so that a busy machine does not fall
    // behind by a channel's whole log.
    for (transport, size, rate) in
        [("websocket", "200", "10"), ("sse", "200", "10"), ("websocket", "60000", "2")]
    {
        let arguments = ["--sessions", "20", "--publish", rate, "--size", size];
        let output = lineside(&["load", &server.url, "--transport", transport, "--duration", "2s"])
            .args(arguments)
            .env("LINESIDE_API_KEY", API_KEY)
            .env("SSL_CERT_FILE", folder.path().join("cert.pem"))
            .output()
            .unwrap();
        let [stderr, report] =
            [&output.stderr, &output.stdout].map(|it| String::from_utf8_lossy(it));
        assert_eq!(output.status.code(), Some(0), "{transport}, {size} bytes: {stderr}{report}");
    }
}

#[tokio::test]
async fn a_new_certificate_is_used_without_a_restart_unless_invalid() {
    let folder = tempfile::tempdir().unwrap();
    certify(folder.path());
    let log = folder.path().join("log");
    let server = start_logging(folder.path(), File::create(&log).unwrap().into());
    // Created before, used after: each client's first request makes a new handshake.
    let [before, after] = [(), ()].map(|()| client(folder.path(), false));
    before.get(&server.url).send().await.unwrap();
    std::fs::write(folder.path().join("cert.pem"), "not a certificate").unwrap();
    let is_refused = async || std::fs::read_to_string(&log).unwrap().contains("not reloaded");
    wait_until("the file is refused", is_refused).await;
    after.get(&server.url).send().await.expect("the old one stays");

    certify(folder.path());
    let new = client(folder.path(), false);
    let is_accepted = async || new.get(&server.url).send().await.is_ok();
    wait_until("the new certificate is shown", is_accepted).await;
}

#[test]
fn invalid_certificate_files_are_reported_at_the_start() {
    let folder = tempfile::tempdir().unwrap();
    certify(folder.path());
    let config = folder.path().join("lineside.toml");
    std::fs::write(&config, "[server.tls]\ncert = \"cert.pem\"\nkey = \"cert.pem\"\n").unwrap();
    let output = lineside(&["serve", "--config", config.to_str().unwrap()]).output().unwrap();
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert_ne!(output.status.code(), Some(0));
    assert!(stderr.contains("cert.pem: cannot read a private key in PEM"), "{stderr}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_connection_that_reads_nothing_of_its_reply_is_closed() {
    const READERS: usize = 10;
    let folder = tempfile::tempdir().unwrap();
    certify(folder.path());
    // More than the socket buffers of both ends hold.
    let large = answer("200 OK", &[], &vec![b'x'; 16 << 20]);
    let producer = Producer::answering(move |_| Answer::Bytes(large.clone())).await;
    let text = format!(
        "[server]\nlisten = \"127.0.0.1:0\"\ndrain = \"0s\"\n\
         [server.tls]\ncert = \"cert.pem\"\nkey = \"key.pem\"\n[limits]\nsend_timeout = \"1s\"\n\
         [[feed]]\nid = \"bytes\"\nformat = \"raw\"\npoll = \"1s\"\nurl = {:?}\n",
        producer.url("/")
    );
    let server = ServerProcess::serving(folder.path(), text);
    let own = client(folder.path(), false);
    let get = async |client: &reqwest::Client, path: &str| {
        client.get(format!("{}{path}", server.url)).send().await.unwrap()
    };
    wait_until("the bytes are there", async || get(&own, "/proxy/bytes").await.status() == 200)
        .await;
    let clients: Vec<_> = (0..READERS).map(|_| client(folder.path(), true)).collect();
    let mut unread = Vec::new();
    for client in &clients {
        unread.push(get(client, "/proxy/bytes").await);
    }
    wait_until("they are closed", async || {
        let metrics = get(&own, "/metrics").await.text().await.unwrap();
        let name = "lineside_http_connections ";
        let count = metrics.lines().find_map(|line| line.strip_prefix(name)).unwrap();
        count.parse::<usize>().unwrap() < READERS / 2
    })
    .await;
    drop(unread);
}
