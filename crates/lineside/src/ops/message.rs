//! Changes of the `ops/` channels, as every channel writes them.

use bytes::Bytes;
use serde::Serialize;

#[derive(Serialize)]
struct Change<'a, R> {
    op: &'static str,
    feed: &'a str,
    kind: &'static str,
    id: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    record: Option<&'a R>,
    #[serde(skip_serializing_if = "Option::is_none")]
    why: Option<&'static str>,
}

/// What is under this key now.
pub(crate) fn upsert(feed: &str, kind: &'static str, id: &str, record: &impl Serialize) -> Bytes {
    written(&Change { op: "upsert", feed, kind, id, record: Some(record), why: None })
}

/// Nothing is under this key any more.
pub(super) fn removal(feed: &str, kind: &'static str, id: &str, why: &'static str) -> Bytes {
    written(&Change::<()> { op: "remove", feed, kind, id, record: None, why: Some(why) })
}

fn written(change: &impl Serialize) -> Bytes {
    serde_json::to_vec(change).expect("figures and texts always serialize").into()
}
