//! Reloads of the configuration by a running server, on change and on a signal, accepted or rejected.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use lineside_testkit::{
    wait_for_json, wait_for_metric, wait_for_status, wait_until, wait_until_ready,
};

use crate::support::events::Stream;
use crate::support::http::{client, get};
use crate::support::process::{ServerProcess, lineside};

/// A server whose configuration is in a folder.
struct ConfiguredServer {
    folder: tempfile::TempDir,
    server: ServerProcess,
}

impl ConfiguredServer {
    async fn start(feeds: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        for id in ["a", "b", "c"] {
            std::fs::write(folder.path().join(format!("{id}.txt")), format!("this is {id}"))
                .unwrap();
        }
        write(folder.path(), feeds);
        let log = File::create(folder.path().join("log")).unwrap();
        let config = folder.path().join("lineside.toml");
        let arguments = ["serve", "--config", config.to_str().unwrap()];
        let server = ServerProcess::logging(lineside(&arguments), Stdio::from(log));
        wait_until_ready(&server.url).await;
        Self { folder, server }
    }

    fn url(&self, path: &str) -> String {
        format!("{}{path}", self.server.url)
    }

    /// Replaces the configuration atomically.
    fn replace(&self, feeds: &str) {
        write(self.folder.path(), feeds);
    }

    fn log(&self) -> String {
        std::fs::read_to_string(self.folder.path().join("log")).unwrap()
    }

    async fn serves(&self, id: &str) -> bool {
        get(&self.url(&format!("/proxy/{id}"))).await.status() == 200
    }

    async fn wait_until_served(&self, id: &str) {
        wait_for_status(&self.url(&format!("/proxy/{id}")), 200).await;
    }

    async fn wait_for_metric(&self, line: &str) {
        wait_for_metric(&self.server.url, line).await;
    }
}

const SERVER: &str = "[server]\nlisten = \"127.0.0.1:0\"\ndrain = \"0s\"\n";

fn write(folder: &Path, rest: &str) -> PathBuf {
    let (new, file) = (folder.join("new.toml"), folder.join("lineside.toml"));
    std::fs::write(&new, format!("{SERVER}{rest}")).unwrap();
    std::fs::rename(&new, &file).unwrap();
    file
}

fn feed(id: &str) -> String {
    format!("[[feed]]\nid = \"{id}\"\nurl = \"{id}.txt\"\nformat = \"raw\"\n")
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_changed_licence_is_sent_with_the_same_bytes() {
    let it = ConfiguredServer::start(&feed("a")).await;
    it.wait_until_served("a").await;
    let before = get(&it.url("/proxy/a")).await;
    assert!(!before.headers().contains_key("link"));
    let licence = "licence = \"https://example.org/licence\"\n";
    it.replace(&format!("{}{licence}", feed("a")));
    wait_until("it goes out", || async {
        get(&it.url("/proxy/a")).await.headers().contains_key("link")
    })
    .await;
    let after = get(&it.url("/proxy/a")).await;
    assert_eq!(after.headers()["etag"], before.headers()["etag"]);
    it.replace(&feed("a"));
    wait_until("it goes out no more", || async {
        !get(&it.url("/proxy/a")).await.headers().contains_key("link")
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn feeds_follow_the_file_while_others_are_served_without_interruption() {
    let it = Arc::new(ConfiguredServer::start(&feed("a")).await);
    it.wait_until_served("a").await;
    let (stop, reads) = (Arc::<AtomicBool>::default(), Arc::<AtomicU64>::default());
    let (reader, ended, count) = (Arc::clone(&it), Arc::clone(&stop), Arc::clone(&reads));
    let reading = tokio::spawn(async move {
        let client = client();
        while !ended.load(Ordering::Acquire) {
            let reply = client.get(reader.url("/proxy/a")).send().await.unwrap();
            assert_eq!(reply.status(), 200);
            assert_eq!(reply.text().await.unwrap(), "this is a");
            count.fetch_add(1, Ordering::AcqRel);
        }
    });
    it.replace(&format!("{}{}", feed("a"), feed("b")));
    it.wait_until_served("b").await;
    let mut stream = Stream::open(&it.server.url, "channel=feed/b").await;
    assert!(stream.next_within(Duration::from_secs(20)).await.is_some());
    it.replace(&feed("a"));
    wait_for_status(&it.url("/proxy/b"), 404).await;
    let ends = async { while stream.next().await.is_some() {} };
    tokio::time::timeout(Duration::from_secs(20), ends).await.expect("its stream ends");
    stop.store(true, Ordering::Release);
    reading.await.unwrap();
    assert!(reads.load(Ordering::Acquire) > 10);
    // Feeds of an imported file come and go likewise.
    let yaml = |id: &str| {
        let file = it.folder.path().join(format!("{id}.txt"));
        format!("feeds:\n  - identifier: {id}\n    target_url: file://{}\n", file.display())
    };
    std::fs::write(it.folder.path().join("proxy.yml"), yaml("b")).unwrap();
    it.replace(&format!("{}[import]\nfeeds = \"proxy.yml\"\n", feed("a")));
    it.wait_until_served("b").await;
    std::fs::write(it.folder.path().join("proxy.yml"), yaml("c")).unwrap();
    it.wait_until_served("c").await;
    assert!(!it.serves("b").await && it.serves("a").await);
}

#[tokio::test]
async fn a_signal_reloads_the_file_at_once() {
    let it = ConfiguredServer::start(&feed("a")).await;
    it.wait_until_served("a").await;
    it.server.signal("-HUP");
    it.wait_for_metric("lineside_config_reloads_total{outcome=\"accepted\"} 1").await;
    it.replace(&format!("{}name = \"Something else\"\n", feed("a")));
    it.server.signal("-HUP");
    let about = it.url("/api/v1/feeds/a");
    wait_for_json(&about, |found| found["name"] == "Something else").await;
    assert!(it.serves("a").await);
}

#[tokio::test]
async fn an_invalid_file_is_refused_by_line_and_key_and_changes_nothing() {
    let it = ConfiguredServer::start(&feed("a")).await;
    it.wait_until_served("a").await;
    it.replace(&format!("{}poll = \"soon\"\n{}", feed("a"), feed("b")));
    it.wait_for_metric("lineside_config_refused 1").await;
    let log = it.log();
    assert!(log.contains("lineside.toml line 8, feed[0].poll: invalid value"), "{log}");
    assert!(log.contains("the configuration was not reloaded"), "{log}");
    assert!(it.serves("a").await && !it.serves("b").await);
    // A missing file, as while an editor replaces it, does not remove the feeds either.
    std::fs::remove_file(it.folder.path().join("lineside.toml")).unwrap();
    it.wait_for_metric("lineside_config_reloads_total{outcome=\"refused\"} 2").await;
    assert!(it.serves("a").await);
    it.replace(&feed("b"));
    it.wait_until_served("b").await;
    it.wait_for_metric("lineside_config_refused 0").await;
    assert!(!it.serves("a").await);
}

#[tokio::test]
async fn keys_that_require_a_restart_are_logged() {
    let it = ConfiguredServer::start(&feed("a")).await;
    it.wait_until_served("a").await;
    let limits = "[limits]\nmax_message_size = \"64KiB\"\n[token]\nhmac = \"s3cret\"\n";
    it.replace(&format!("{limits}{}{}", feed("a"), feed("b")));
    it.wait_until_served("b").await;
    it.wait_for_metric("lineside_config_deferred_keys 2").await;
    let log = it.log();
    assert!(log.contains("limits.max_message_size, token"), "{log}");
    assert!(!log.contains("s3cret"), "{log}");
    it.replace(&feed("a"));
    it.wait_for_metric("lineside_config_deferred_keys 0").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_truncated_file_removes_no_feeds() {
    let it = ConfiguredServer::start(&feed("a")).await;
    it.wait_until_served("a").await;
    for (refused, cut_off) in ["", "[serv", SERVER, "# nothing\n"].into_iter().enumerate() {
        std::fs::write(it.folder.path().join("lineside.toml"), cut_off).unwrap();
        let outcome = "lineside_config_reloads_total{outcome=\"refused\"}";
        it.wait_for_metric(&format!("{outcome} {}", refused + 1)).await;
        assert!(it.serves("a").await, "{cut_off:?}");
    }
    // An explicit empty list removes all feeds.
    let file = it.folder.path().join("lineside.toml");
    std::fs::write(file, format!("feed = []\n{SERVER}")).unwrap();
    wait_until("the feed is removed", async || !it.serves("a").await).await;
}
