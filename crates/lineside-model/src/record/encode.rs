//! JSON of records: the envelope is written by hand, the content by serde.

use std::ops::Range;

use serde::Serialize;

use super::RemovalReason;
use super::{Record, RecordBody, RecordKind};
use crate::feed_id::FeedId;

/// Returns the upsert of `record`, and the range of the record's own JSON in it.
pub(super) fn encode_upsert(record: &Record) -> (Vec<u8>, Range<usize>) {
    let mut out = Vec::with_capacity(record.bytes_max().min(4096));
    put_head(&mut out, "upsert", &record.feed, record.kind, &record.id);
    out.extend_from_slice(b",\"record\":");
    let start = out.len();
    match &record.body {
        RecordBody::Vehicle(vehicle) => write_json(&mut out, vehicle),
        RecordBody::TripUpdate(update) => write_json(&mut out, update),
        RecordBody::Alert(alert) => write_json(&mut out, alert),
        RecordBody::Departure(departure) => write_json(&mut out, departure),
        RecordBody::Dataset(dataset) => write_json(&mut out, dataset),
        RecordBody::Feed(feed) => write_json(&mut out, feed),
        RecordBody::Station(station) => station.write_json(&mut out, &record.id),
        RecordBody::RentalVehicle(vehicle) => out.extend_from_slice(&vehicle.json),
    }
    if matches!(
        record.body,
        RecordBody::Vehicle(_) | RecordBody::TripUpdate(_) | RecordBody::Alert(_)
    ) {
        put_lineside(&mut out, record);
    }
    let json = start..out.len();
    out.push(b'}');
    (out, json)
}

/// Appends the removal of a record.
pub fn encode_removal(out: &mut Vec<u8>, record: &Record, why: RemovalReason) {
    put_head(out, "remove", &record.feed, record.kind, &record.id);
    out.extend_from_slice(b",\"why\":\"");
    out.extend_from_slice(why.as_str().as_bytes());
    out.extend_from_slice(b"\"}");
}

fn put_head(out: &mut Vec<u8>, op: &str, feed: &FeedId, kind: RecordKind, id: &str) {
    out.extend_from_slice(b"{\"op\":\"");
    out.extend_from_slice(op.as_bytes());
    // A feed id and a kind contain nothing that JSON would escape.
    out.extend_from_slice(b"\",\"feed\":\"");
    out.extend_from_slice(feed.as_str().as_bytes());
    out.extend_from_slice(b"\",\"kind\":\"");
    out.extend_from_slice(kind.as_str().as_bytes());
    out.extend_from_slice(b"\",\"id\":");
    write_json(out, id);
}

/// Adds `"lineside":{…}` to the object at the end of `out`.
fn put_lineside(out: &mut Vec<u8>, record: &Record) {
    if out.last() == Some(&b'}') {
        out.pop();
        if out.last() != Some(&b'{') {
            out.push(b',');
        }
        out.extend_from_slice(b"\"lineside\":");
        write_json(out, &record.join);
        out.push(b'}');
    }
}

pub(super) fn write_json(out: &mut Vec<u8>, value: &(impl Serialize + ?Sized)) {
    serde_json::to_writer(out, value)
        .expect("writing to a Vec cannot fail, and all map keys are strings");
}
