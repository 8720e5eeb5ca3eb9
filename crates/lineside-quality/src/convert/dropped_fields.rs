//! Data that real-time formats cannot represent, beyond the losses that their converters count.

use std::collections::BTreeSet;

use lineside_formats::{
    ConversionReport,
    gtfs_rt::{SplitFeedMessage, proto::FeedMessage},
    siri::{MessagePayload, SiriMessage},
};

/// Counts the parts of a SIRI message that SIRI output drops.
pub(super) fn report_parts_dropped_from_siri(message: &SiriMessage, losses: &mut ConversionReport) {
    for payload in &message.payloads {
        match payload {
            MessagePayload::Fault(_) => {
                losses.record_dropped_object("Fault", "it belongs to the envelope", None)
            }
            MessagePayload::Other(name) => {
                losses.record_dropped_object(name.to_string(), "it is not read", None)
            }
            _ => {}
        }
    }
}

/// Counts the entities that GeoJSON cannot represent, except deleted ones.
pub(super) fn report_entities_dropped_from_geojson(
    message: &FeedMessage,
    losses: &mut ConversionReport,
) {
    for entity in message.entity.iter().filter(|entity| !entity.is_deleted()) {
        let id = Some(entity.id.as_str());
        if entity.trip_update.is_some() {
            losses.record_dropped_object("trip_update", "GeoJSON only has vehicles", id);
        }
        if entity.alert.is_some() {
            losses.record_dropped_object("alert", "GeoJSON only has vehicles", id);
        }
    }
}

/// Largest number of kinds of extensions that are counted by their numbers; the others are counted together.
const EXTENSIONS_MAX: usize = 100;

/// Counts dropped extensions: they have numbers, but other formats need names. `is_written` returns true for payloads
/// that are written; the extensions of other payloads are dropped with them.
pub(super) fn report_dropped_gtfs_rt_extensions(
    message: &SplitFeedMessage,
    why: &'static str,
    is_written: impl Fn(&str) -> bool,
    losses: &mut ConversionReport,
) {
    let mut kinds = BTreeSet::new();
    for raw in message.entities.iter().filter(|raw| !raw.is_deleted) {
        raw.for_each_extension(|number, entity_path| {
            let payload = entity_path.split('.').next().unwrap_or_default();
            if !payload.is_empty() && !is_written(payload) {
                return;
            }
            let entity_path = if entity_path.is_empty() { "entity" } else { entity_path };
            let kind = format!("extension {number} of {entity_path}");
            let is_listed = kinds.contains(&kind) || kinds.len() < EXTENSIONS_MAX;
            let reported_kind = if is_listed { kind.clone() } else { "extension".to_owned() };
            if is_listed {
                kinds.insert(kind);
            }
            losses.record_dropped_object(reported_kind, why, Some(raw.entity_id()));
        });
    }
}
