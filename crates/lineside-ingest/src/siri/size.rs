//! About how many bytes of XML elements take, told before they are written: what bounds the memory of an answer.
//!
//! Estimates by what real elements take; names and ids of usual length are in them.

use lineside_formats::siri::{Affects, LanguageText, PtSituationElement, VehicleJourney};

/// A journey without its calls.
const JOURNEY_BYTES: usize = 1_500;
/// A call with its times and statuses.
const CALL_BYTES: usize = 600;
/// A vehicle's activity.
pub const ACTIVITY_BYTES: usize = 2_500;
/// A visit of a stop.
pub const VISIT_BYTES: usize = 2_500;
/// A situation without its texts, and without what it affects.
const SITUATION_BYTES: usize = 1_500;
/// What stands around a text.
const TEXT_BYTES: usize = 60;
/// A line, stop or journey that a situation affects.
const AFFECTED_BYTES: usize = 250;

/// About how many bytes a journey takes.
pub fn journey_bytes(journey: &VehicleJourney) -> usize {
    let calls = journey.recorded_calls.len() + journey.estimated_calls.len();
    JOURNEY_BYTES + calls * CALL_BYTES
}

/// About how many bytes a situation takes.
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
