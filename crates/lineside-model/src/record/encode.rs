//! JSON of records: the envelope is written by hand, the content by serde.

use std::ops::Range;

use serde::Serialize;

use super::RemovalReason;
use super::{Record, RecordBody, RecordKind};
use crate::feed_id::FeedId;

/// Returns the upsert of `record`, and the range of the record's own JSON in it.
pub(super) fn encode_upsert_json(record: &Record) -> (Vec<u8>, Range<usize>) {
    let mut out = Vec::with_capacity(record.upsert_json_bytes_max().min(4096));
    append_change_head(&mut out, "upsert", &record.feed, record.kind, &record.id);
    out.extend_from_slice(b",\"record\":");
    let start = out.len();
    match &record.body {
        RecordBody::Vehicle(vehicle) => append_json(&mut out, vehicle),
        RecordBody::TripUpdate(update) => append_json(&mut out, update),
        RecordBody::Alert(alert) => append_json(&mut out, alert),
        RecordBody::Departure(departure) => append_json(&mut out, departure),
        RecordBody::Dataset(dataset) => append_json(&mut out, dataset),
        RecordBody::Feed(feed) => append_json(&mut out, feed),
        RecordBody::Station(station) => station.append_station_json(&mut out, &record.id),
        RecordBody::RentalVehicle(vehicle) => out.extend_from_slice(&vehicle.json),
    }
    if matches!(
        record.body,
        RecordBody::Vehicle(_) | RecordBody::TripUpdate(_) | RecordBody::Alert(_)
    ) {
        append_timetable_join(&mut out, record);
    }
    let json = start..out.len();
    out.push(b'}');
    (out, json)
}

/// Appends the removal of a record.
pub fn append_removal_json(out: &mut Vec<u8>, record: &Record, why: RemovalReason) {
    append_change_head(out, "remove", &record.feed, record.kind, &record.id);
    out.extend_from_slice(b",\"why\":\"");
    out.extend_from_slice(why.as_str().as_bytes());
    out.extend_from_slice(b"\"}");
}

fn append_change_head(out: &mut Vec<u8>, op: &str, feed: &FeedId, kind: RecordKind, id: &str) {
    out.extend_from_slice(b"{\"op\":\"");
    out.extend_from_slice(op.as_bytes());
    // A feed id and a kind contain nothing that JSON would escape.
    out.extend_from_slice(b"\",\"feed\":\"");
    out.extend_from_slice(feed.as_str().as_bytes());
    out.extend_from_slice(b"\",\"kind\":\"");
    out.extend_from_slice(kind.as_str().as_bytes());
    out.extend_from_slice(b"\",\"id\":");
    append_json(out, id);
}

/// Adds `"lineside":{…}` to the object at the end of `out`.
fn append_timetable_join(out: &mut Vec<u8>, record: &Record) {
    if out.last() == Some(&b'}') {
        out.pop();
        if out.last() != Some(&b'{') {
            out.push(b',');
        }
        out.extend_from_slice(b"\"lineside\":");
        append_json(out, &record.join);
        out.push(b'}');
    }
}

pub(super) fn append_json(out: &mut Vec<u8>, value: &(impl Serialize + ?Sized)) {
    serde_json::to_writer(out, value)
        .expect("writing to a Vec cannot fail, and all map keys are strings");
}
