//! A client of `/events`, written from the protocol's documentation without code of the server.

use std::collections::BTreeMap;
use std::time::Duration;

use serde_json::Value;

/// A received event.
#[derive(Debug, Clone)]
pub(crate) struct Event {
    pub(crate) data: Value,
}

/// An open stream.
pub(crate) struct Stream {
    response: reqwest::Response,
    unread: Vec<u8>,
    pub(crate) retry_ms: Option<u64>,
    pub(crate) heartbeats: usize,
    pub(crate) last_event_id: String,
}

impl Stream {
    /// Opens `<server>/events?<query>`.
    pub(crate) async fn open(server: &str, query: &str) -> Self {
        Self::resume(server, query, "").await
    }

    /// Opens `<server>/events?<query>` after the event with this id.
    pub(crate) async fn resume(server: &str, query: &str, last_event_id: &str) -> Self {
        let mut request = reqwest::Client::new().get(format!("{server}/events?{query}"));
        if !last_event_id.is_empty() {
            request = request.header("last-event-id", last_event_id);
        }
        let response = request.send().await.unwrap();
        assert_eq!(response.status(), 200, "{query}");
        assert_eq!(response.headers()["content-type"], "text/event-stream");
        let last_event_id = last_event_id.to_owned();
        Self { response, unread: Vec::new(), retry_ms: None, heartbeats: 0, last_event_id }
    }

    /// Returns the next event; `None` after a timeout or at the end of the stream.
    pub(crate) async fn next_within(&mut self, limit: Duration) -> Option<Event> {
        tokio::time::timeout(limit, self.next()).await.ok().flatten()
    }

    /// Returns the next event; `None` at the end of the stream.
    pub(crate) async fn next(&mut self) -> Option<Event> {
        loop {
            while let Some(block) = self.take_block() {
                if let Some(event) = self.read_block(&block) {
                    return Some(event);
                }
            }
            let piece = self.response.chunk().await.ok()??;
            self.unread.extend_from_slice(&piece);
        }
    }

    fn take_block(&mut self) -> Option<String> {
        let end = self.unread.windows(2).position(|pair| pair == b"\n\n")?;
        let block: Vec<u8> = self.unread.drain(..end + 2).collect();
        Some(String::from_utf8(block).unwrap())
    }

    fn read_block(&mut self, block: &str) -> Option<Event> {
        let mut data = None;
        for line in block.lines().filter(|line| !line.is_empty()) {
            match line.split_once(':').unwrap() {
                ("", _) => self.heartbeats += 1,
                ("data", text) => data = Some(serde_json::from_str(text).unwrap()),
                ("id", id) => self.last_event_id = id.trim_start().to_owned(),
                ("retry", ms) => self.retry_ms = Some(ms.trim().parse().unwrap()),
                (other, _) => panic!("an unexpected field {other:?} in {block:?}"),
            }
        }
        Some(Event { data: data? })
    }
}

/// A subscriber's state of a channel, built from the received messages.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct ReceivedState {
    pub(crate) records: BTreeMap<(String, String, String), Value>,
    pub(crate) epoch: String,
    pub(crate) offset: u64,
    /// Number of states that were marked as following a gap.
    pub(crate) gaps: usize,
    /// Number of messages without a state.
    pub(crate) publications: usize,
    /// True if the last part of the first state has arrived.
    pub(crate) is_complete: bool,
}

impl ReceivedState {
    /// Applies a message of this channel, and checks the guarantees of the protocol.
    pub(crate) fn apply(&mut self, message: &Value) {
        let data = &message["data"];
        assert!(data["at"].is_i64(), "a message without a time: {message}");
        if let Some(state) = data.get("state") {
            self.begin_or_go_on(state, data);
        } else {
            self.publications += 1;
            let offset = message["offset"].as_u64().expect("a publication has an offset");
            let epoch = message["epoch"].as_str().unwrap();
            if self.epoch == epoch {
                assert!(offset > self.offset, "offset {offset} after {}", self.offset);
            }
        }
        for change in data["changes"].as_array().expect("changes") {
            self.change(change);
        }
        if let Some(offset) = message["offset"].as_u64() {
            self.offset = offset;
            self.epoch = message["epoch"].as_str().unwrap().to_owned();
            self.is_complete = true;
        }
    }

    fn begin_or_go_on(&mut self, state: &Value, data: &Value) {
        let (part, parts) = (state["part"].as_u64().unwrap(), state["parts"].as_u64().unwrap());
        assert!((1..=parts).contains(&part));
        if part == 1 {
            self.records.clear();
            self.gaps += usize::from(data["gap"] == true);
        }
    }

    fn change(&mut self, change: &Value) {
        let text =
            |name: &str| change[name].as_str().unwrap_or_else(|| panic!("{change}")).to_owned();
        let key = (text("feed"), text("kind"), text("id"));
        match change["op"].as_str() {
            Some("upsert") => drop(self.records.insert(key, change["record"].clone())),
            Some("remove") => {
                assert!(["gone", "moved", "expired"].contains(&text("why").as_str()), "{change}");
                self.records.remove(&key);
            }
            _ => panic!("an unknown op: {change}"),
        }
    }

    pub(crate) fn records_of_kind<'a>(&'a self, kind: &'a str) -> impl Iterator<Item = &'a Value> {
        self.records.iter().filter(move |(key, _)| key.1 == kind).map(|(_, record)| record)
    }
}

/// The state of each channel of a stream.
#[derive(Debug, Default)]
pub(crate) struct ReceivedByChannel(pub(crate) BTreeMap<String, ReceivedState>);

impl ReceivedByChannel {
    pub(crate) fn apply(&mut self, event: &Event) {
        let channel = event.data["channel"].as_str().expect("channel").to_owned();
        self.0.entry(channel).or_default().apply(&event.data);
    }

    pub(crate) fn get(&self, channel: &str) -> &ReceivedState {
        self.0.get(channel).unwrap_or_else(|| panic!("nothing came for {channel}"))
    }
}
