//! Approximate XML sizes of elements, computed before encoding to limit the memory of an answer.
//!
//! The estimates are based on real elements and include names and ids of usual length.

use lineside_formats::siri::{Affects, LanguageText, PtSituationElement, VehicleJourney};

/// Bytes of a journey without its calls.
const JOURNEY_BYTES: usize = 1_500;
/// Bytes of a call with its times and statuses.
const CALL_BYTES: usize = 600;
/// Bytes of a vehicle activity.
pub const ACTIVITY_BYTES: usize = 2_500;
/// Bytes of a stop visit.
pub const VISIT_BYTES: usize = 2_500;
/// Bytes of a situation without its texts and affected items.
const SITUATION_BYTES: usize = 1_500;
/// Bytes around a text.
const TEXT_BYTES: usize = 60;
/// Bytes of a line, stop or journey that a situation affects.
const AFFECTED_BYTES: usize = 250;

/// Returns the approximate size of a journey in bytes.
pub fn journey_bytes(journey: &VehicleJourney) -> usize {
    let calls = journey.recorded_calls.len() + journey.estimated_calls.len();
    JOURNEY_BYTES + calls * CALL_BYTES
}

/// Returns the approximate size of a situation in bytes.
pub fn situation_bytes(situation: &PtSituationElement) -> usize {
    let PtSituationElement { summaries, descriptions, details, reason_names, .. } = situation;
    let texts = [summaries, descriptions, details, reason_names].into_iter().flatten();
    let affected = situation.affects.as_deref().map_or(0, count_affected);
    let texts = texts.map(|LanguageText { value, .. }| TEXT_BYTES + value.len());
    SITUATION_BYTES + texts.sum::<usize>() + affected * AFFECTED_BYTES
}

fn count_affected(affects: &Affects) -> usize {
    let lines = affects.networks.iter().map(|it| 1 + it.affected_lines.len());
    let stops = affects.stop_points.len() + affects.stop_places.len();
    lines.sum::<usize>() + stops + affects.vehicle_journeys.len()
}
