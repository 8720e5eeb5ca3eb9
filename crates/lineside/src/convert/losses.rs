//! What formats of real time cannot say of each other, beyond what their translators count themselves.

use lineside_formats::{
    Losses,
    gtfs_rt::{RawEntity, Shallow, proto::FeedMessage},
    siri::{Message, Payload},
};

/// What of a message of SIRI another one cannot hold.
pub(super) fn of_siri(message: &Message, losses: &mut Losses) {
    for payload in &message.payloads {
        match payload {
            Payload::Fault(_) => losses.push("Fault", "it is of the envelope", None),
            Payload::Other(name) => losses.push(name.to_string(), "it is not read", None),
            _ => {}
        }
    }
}

/// What has no place on a map.
pub(super) fn of_geojson(message: &FeedMessage, losses: &mut Losses) {
    for entity in &message.entity {
        let id = Some(entity.id.as_str());
        if entity.trip_update.is_some() {
            losses.push("trip_update", "GeoJSON has vehicles alone", id);
        }
        if entity.alert.is_some() {
            losses.push("alert", "GeoJSON has vehicles alone", id);
        }
        if entity.vehicle.as_ref().is_some_and(|vehicle| vehicle.position.is_none()) {
            losses.push("vehicle", "it has no position", id);
        }
    }
}

/// Extensions have numbers, and other forms have names.
pub(super) fn of_extensions(message: &Shallow, why: &'static str, losses: &mut Losses) {
    for raw in &message.entities {
        let Ok(entity) = raw.decode() else { continue };
        if RawEntity::of_entity(&entity, raw.number).bytes.len() < raw.bytes.len() {
            losses.push("extension", why, Some(raw.id()));
        }
    }
}
