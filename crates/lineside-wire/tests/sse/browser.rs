//! A browser's `EventSource`, as far as its bytes go, and a page that applies its events.

use std::collections::BTreeMap;

use lineside_wire::sse::{SseStream, SseSubscriber};
use serde_json::Value;

use crate::network::{Holdings, Network};

/// One dispatched event.
#[derive(Debug)]
pub(crate) struct Event {
    pub(crate) data: Value,
    pub(crate) last_event_id: String,
}

/// A parser of the event stream format; a block without a blank line at its end is not dispatched.
#[derive(Debug, Default)]
pub(crate) struct Parser {
    text: String,
    data: String,
    last_event_id: String,
    pub(crate) retry: Option<u64>,
    pub(crate) comments: usize,
}

impl Parser {
    pub(crate) fn push(&mut self, bytes: &[u8]) -> Vec<Event> {
        self.text.push_str(str::from_utf8(bytes).expect("the test cuts pieces between characters"));
        let mut events = Vec::new();
        while let Some(end) = self.text.find('\n') {
            let line: String = self.text.drain(..=end).collect();
            events.extend(self.line(line.trim_end_matches('\n')));
        }
        events
    }

    fn line(&mut self, line: &str) -> Option<Event> {
        let (field, value) = line.split_once(':').unwrap_or((line, ""));
        let value = value.strip_prefix(' ').unwrap_or(value);
        match field {
            "" if line.is_empty() => {
                let data = std::mem::take(&mut self.data);
                (!data.is_empty()).then(|| Event {
                    data: serde_json::from_str(&data).expect("each event is JSON"),
                    last_event_id: self.last_event_id.clone(),
                })
            }
            "" => {
                self.comments += 1;
                None
            }
            "data" => {
                assert!(self.data.is_empty(), "one line of data");
                self.data = value.to_owned();
                None
            }
            // The standard takes an id when its event ends; the server's blocks have one id each, before the end.
            "id" => {
                self.last_event_id = value.to_owned();
                None
            }
            "retry" => {
                self.retry = value.parse().ok();
                None
            }
            other => panic!("unexpected field {other:?}"),
        }
    }
}

/// A page's content of one channel.
#[derive(Debug, Default)]
struct Page {
    records: Holdings,
    next_part: u64,
    is_complete: bool,
    position: Option<(String, u64)>,
}

/// A page with some channels, over connections that are cut.
pub(crate) struct Browser {
    channels: Vec<String>,
    pages: BTreeMap<String, Page>,
    last_event_id: String,
    connection: Option<(SseStream, Parser)>,
    pub(crate) gaps: usize,
}

impl Browser {
    pub(crate) fn new(channels: &[&str]) -> Self {
        Self {
            channels: channels.iter().map(|name| (*name).to_owned()).collect(),
            pages: channels.iter().map(|name| ((*name).to_owned(), Page::default())).collect(),
            last_event_id: String::new(),
            connection: None,
            gaps: 0,
        }
    }

    pub(crate) fn cut(&mut self) {
        self.connection = None;
    }

    /// Connects if necessary, with the last id it saw, and reads a piece; returns false if there is nothing to read
    /// now.
    pub(crate) fn read_piece(&mut self, network: &Network) -> bool {
        if self.connection.is_none() {
            let id = (!self.last_event_id.is_empty()).then_some(self.last_event_id.as_str());
            let stream = SseStream::open_stream(
                &network.hub,
                &self.channels,
                id,
                &SseSubscriber::default(),
                3,
            )
            .expect("opened");
            for page in self.pages.values_mut() {
                page.position = None;
            }
            self.connection = Some((stream, Parser::default()));
        }
        let Some((stream, parser)) = &mut self.connection else { return false };
        let Some(bytes) = stream.next_output_bytes() else {
            if stream.close_reason().is_some() {
                self.connection = None;
                return true;
            }
            return false;
        };
        for event in parser.push(&bytes) {
            self.take(&event);
        }
        true
    }

    fn take(&mut self, event: &Event) {
        let data = &event.data["data"];
        let name = event.data["channel"].as_str().expect("a channel");
        let page = self.pages.get_mut(name).expect("a subscribed channel");
        let mut ends = true;
        if let Some(part) = data["state"]["part"].as_u64() {
            let parts = data["state"]["parts"].as_u64().expect("parts");
            if part == 1 {
                page.records.clear();
                page.next_part = 1;
                self.gaps += usize::from(data["gap"] == Value::Bool(true));
            }
            assert_eq!(part, page.next_part, "parts arrive in order");
            page.next_part += 1;
            ends = part == parts;
            page.is_complete = ends;
            assert_eq!(
                event.data["offset"].is_u64(),
                ends,
                "only the last part carries the offset"
            );
        } else {
            assert!(page.is_complete, "a change arrived before the state");
        }
        for change in data["changes"].as_array().expect("changes") {
            let id = change["id"].to_string();
            match change["op"].as_str() {
                Some("upsert") => drop(page.records.insert(id, change["record"].clone())),
                _ => drop(page.records.remove(&id)),
            }
        }
        if ends {
            let epoch = event.data["epoch"].as_str().expect("an epoch").to_owned();
            let offset = event.data["offset"].as_u64().expect("an offset");
            if let Some((known, before)) = page.position.replace((epoch.clone(), offset)) {
                assert!(known != epoch || offset > before, "{offset} after {before}");
            }
        }
        self.last_event_id.clone_from(&event.last_event_id);
    }

    /// Reads to the end, and compares the content.
    pub(crate) fn check_converged(&mut self, network: &Network) {
        while self.read_piece(network) {}
        for (name, page) in &self.pages {
            assert!(page.is_complete, "{name} has its state");
            assert_eq!(page.records, network.holdings(name), "{name}");
        }
    }
}
