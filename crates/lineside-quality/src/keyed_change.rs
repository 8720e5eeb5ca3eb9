//! Changes of the `ops/` channels, in the format of all channels.

use bytes::Bytes;
use serde::Serialize;

#[derive(Serialize)]
struct OpsChannelChange<'a, R> {
    op: &'static str,
    feed: &'a str,
    kind: &'static str,
    id: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    record: Option<&'a R>,
    #[serde(skip_serializing_if = "Option::is_none")]
    why: Option<&'static str>,
}

/// Encodes the new record of a key.
pub fn encode_upsert_change(
    feed: &str,
    kind: &'static str,
    id: &str,
    record: &impl Serialize,
) -> Bytes {
    encode_change_json(&OpsChannelChange {
        op: "upsert",
        feed,
        kind,
        id,
        record: Some(record),
        why: None,
    })
}

/// Encodes the removal of a key.
pub fn encode_removal_change(feed: &str, kind: &'static str, id: &str, why: &'static str) -> Bytes {
    encode_change_json(&OpsChannelChange::<()> {
        op: "remove",
        feed,
        kind,
        id,
        record: None,
        why: Some(why),
    })
}

fn encode_change_json(change: &impl Serialize) -> Bytes {
    serde_json::to_vec(change).expect("numbers and text always serialize").into()
}
