//! Normalization of GTFS-Realtime entities to record drafts with dates and ids, but not yet joined.

use crate::trip_identity::timestamp_if_nonzero;
use lineside_formats::{Problem, gtfs_rt::proto::FeedEntity};
use smol_str::SmolStr;

use super::{
    NormalizeContext,
    identity::{fill_start_date, trip_update_record_id, vehicle_record_id},
    vehicle_position::remove_invalid_position,
};
use crate::record::{Record, RecordBody, RecordKind};

/// Seconds into the future beyond which a vehicle's timestamp is ignored, so that a clock that was wrong does not
/// freeze the vehicle once it is right again.
const FUTURE_SECONDS_MAX: i64 = 60;

/// A record without its join.
#[derive(Debug)]
pub(crate) struct RecordDraft {
    pub(crate) id: SmolStr,
    pub(crate) body: RecordBody,
    /// The problem of a value that was removed from the body as invalid.
    pub(crate) fault: Option<Problem>,
}

impl RecordDraft {
    pub(crate) fn record_kind(&self) -> RecordKind {
        match self.body {
            RecordBody::Vehicle(_) => RecordKind::Vehicle,
            RecordBody::TripUpdate(_) => RecordKind::TripUpdate,
            _ => RecordKind::Alert,
        }
    }
}

/// Returns the records of an entity; normally one.
pub(crate) fn entity_to_record_drafts(
    entity: FeedEntity,
    context: NormalizeContext<'_>,
) -> impl Iterator<Item = RecordDraft> {
    let FeedEntity { id: entity_id, trip_update, vehicle, alert, .. } = entity;
    let update = trip_update.map(|mut update| {
        let at = timestamp_if_nonzero(update.timestamp).unwrap_or(context.message_time);
        fill_start_date(&mut update.trip, &update.stop_time_update, context, at);
        let id = trip_update_record_id(&update, &entity_id);
        RecordDraft { id, body: RecordBody::TripUpdate(Box::new(update)), fault: None }
    });
    let vehicle = vehicle.map(|mut vehicle| {
        let at = timestamp_if_nonzero(vehicle.timestamp).unwrap_or(context.message_time);
        if let Some(trip) = &mut vehicle.trip {
            fill_start_date(trip, &[], context, at);
        }
        let fault = remove_invalid_position(&mut vehicle);
        RecordDraft {
            id: vehicle_record_id(&vehicle, &entity_id),
            body: RecordBody::Vehicle(vehicle),
            fault,
        }
    });
    let alert = alert.map(|alert| {
        let id = SmolStr::new(&entity_id);
        RecordDraft { id, body: RecordBody::Alert(Box::new(alert)), fault: None }
    });
    [update, vehicle, alert].into_iter().flatten()
}

/// Returns true if `new` may replace `old`: a vehicle never goes back to an older timestamp.
pub(crate) fn can_replace_record(old: &Record, new: &RecordBody, now: i64) -> bool {
    let (RecordBody::Vehicle(old), RecordBody::Vehicle(new)) = (&old.body, new) else {
        return true;
    };
    match (timestamp_if_nonzero(old.timestamp), timestamp_if_nonzero(new.timestamp)) {
        (Some(old), Some(new)) => new >= old || old > now + FUTURE_SECONDS_MAX,
        _ => true,
    }
}
