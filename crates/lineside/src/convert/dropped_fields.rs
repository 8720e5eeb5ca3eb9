//! What formats of real time cannot say of each other, beyond what their translators count themselves.

use std::collections::BTreeSet;

use lineside_formats::{
    ConversionReport,
    gtfs_rt::{ShallowMessage, proto::FeedMessage},
    siri::{MessagePayload, SiriMessage},
};

/// What of a message of SIRI another one cannot hold.
pub(super) fn report_dropped_siri(message: &SiriMessage, losses: &mut ConversionReport) {
    for payload in &message.payloads {
        match payload {
            MessagePayload::Fault(_) => {
                losses.record_dropped("Fault", "it is of the envelope", None)
            }
            MessagePayload::Other(name) => {
                losses.record_dropped(name.to_string(), "it is not read", None)
            }
            _ => {}
        }
    }
}

/// What has no place on a map, of what is not gone anyway.
pub(super) fn report_dropped_geojson(message: &FeedMessage, losses: &mut ConversionReport) {
    for entity in message.entity.iter().filter(|entity| !entity.is_deleted()) {
        let id = Some(entity.id.as_str());
        if entity.trip_update.is_some() {
            losses.record_dropped("trip_update", "GeoJSON has vehicles alone", id);
        }
        if entity.alert.is_some() {
            losses.record_dropped("alert", "GeoJSON has vehicles alone", id);
        }
    }
}

/// Most kinds of extensions that are told by their numbers; the others count together.
const EXTENSIONS_MAX: usize = 100;

/// Extensions have numbers, and other forms have names. `is_written` says of a payload whether it is written at all: of
/// one that is lost as a whole they are a part.
pub(super) fn report_dropped_extensions(
    message: &ShallowMessage,
    why: &'static str,
    is_written: impl Fn(&str) -> bool,
    losses: &mut ConversionReport,
) {
    let mut kinds = BTreeSet::new();
    for raw in message.entities.iter().filter(|raw| !raw.is_deleted) {
        raw.for_each_extension(|number, place| {
            let payload = place.split('.').next().unwrap_or_default();
            if !payload.is_empty() && !is_written(payload) {
                return;
            }
            let place = if place.is_empty() { "entity" } else { place };
            let kind = format!("extension {number} of {place}");
            let is_told = kinds.contains(&kind) || kinds.len() < EXTENSIONS_MAX;
            let told = if is_told { kind.clone() } else { "extension".to_owned() };
            if is_told {
                kinds.insert(kind);
            }
            losses.record_dropped(told, why, Some(raw.entity_id()));
        });
    }
}
