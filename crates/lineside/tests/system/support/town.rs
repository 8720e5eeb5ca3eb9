//! A schedule and one real-time feed for a test, and a server that polls both.

use lineside_testkit::wait_for_feed_state;
use serde_json::Value;

use super::http::get;
use super::process::ServerProcess;
use super::producer::{Answer, Producer, answer};
use super::timetable::Lines;

/// A schedule and a real-time feed on its trips, polled every second.
pub(crate) struct Town {
    _folder: tempfile::TempDir,
    pub(crate) lines: Lines,
    pub(crate) producer: Producer,
    server: ServerProcess,
}

impl Town {
    /// Starts the server. `more` has further keys of the two feeds' tables.
    pub(crate) async fn start_town(
        more: [&str; 2],
        build_message: impl Fn(Lines) -> Vec<u8>,
    ) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let schedule = folder.path().join("town");
        let lines = Lines::write(&schedule);
        let producer = Producer::start(good(&build_message(lines))).await;
        let text = format!(
            "[server]\nlisten = \"127.0.0.1:0\"\ndrain = \"0s\"\n\
             [[feed]]\nid = \"town\"\nname = \"Town <b>Lines</b>\"\nurl = {:?}\n{}\n\
             [[feed]]\nid = \"town-trips\"\nurl = {:?}\nstatic = \"town\"\npoll = \"1s\"\n{}\n",
            schedule.to_str().unwrap(),
            more[0],
            producer.url("/tu.pb"),
            more[1],
        );
        let server = ServerProcess::serving(folder.path(), text);
        // Messages may arrive before the schedule, without which they mean little.
        wait_for_feed_state(&server.url, "town", "ok").await;
        Self { _folder: folder, lines, producer, server }
    }

    pub(crate) fn url(&self, path: &str) -> String {
        format!("{}{path}", self.server.url)
    }

    /// Waits until the real-time feed is in a state, and returns its record from the API.
    pub(crate) async fn wait_for_state(&self, state: &str) -> Value {
        wait_for_feed_state(&self.server.url, "town-trips", state).await
    }

    pub(crate) async fn page(&self, path: &str) -> String {
        let reply = get(&self.url(path)).await;
        assert_eq!(reply.status(), 200, "{path}");
        reply.text().await.unwrap()
    }
}

/// Returns a reply with these bytes.
pub(crate) fn good(body: &[u8]) -> Answer {
    Answer::Bytes(answer("200 OK", &[], body))
}
