//! GTFS-Realtime entities to drafts of records: decoded, dated and named, not yet joined.

use lineside_formats::{Problem, gtfs_rt::proto::FeedEntity};
use smol_str::SmolStr;

use super::{
    Context,
    identity::{fill_start_date, trip_update_id, vehicle_id},
    place::take_wrong_place,
};
use crate::record::{Body, Kind, Record};

/// A vehicle's time this far ahead is not believed, so that a clock that went wrong does not freeze the vehicle once
/// it is right again.
const AHEAD_SECONDS_MAX: i64 = 60;

/// A record without its join.
#[derive(Debug)]
pub(crate) struct Draft {
    pub(crate) id: SmolStr,
    pub(crate) body: Body,
    /// What the body lost because it could not be right.
    pub(crate) fault: Option<Problem>,
}

impl Draft {
    pub(crate) fn kind(&self) -> Kind {
        match self.body {
            Body::Vehicle(_) => Kind::Vehicle,
            Body::TripUpdate(_) => Kind::TripUpdate,
            _ => Kind::Alert,
        }
    }
}

/// The records that one entity holds; normally one.
pub(crate) fn drafts_of(entity: FeedEntity, context: Context<'_>) -> impl Iterator<Item = Draft> {
    let FeedEntity { id: entity_id, trip_update, vehicle, alert, .. } = entity;
    let update = trip_update.map(|mut update| {
        let at = seconds(update.timestamp).unwrap_or(context.message_time);
        fill_start_date(&mut update.trip, &update.stop_time_update, context, at);
        let id = trip_update_id(&update, &entity_id);
        Draft { id, body: Body::TripUpdate(Box::new(update)), fault: None }
    });
    let vehicle = vehicle.map(|mut vehicle| {
        let at = seconds(vehicle.timestamp).unwrap_or(context.message_time);
        if let Some(trip) = &mut vehicle.trip {
            fill_start_date(trip, &[], context, at);
        }
        let fault = take_wrong_place(&mut vehicle);
        Draft { id: vehicle_id(&vehicle, &entity_id), body: Body::Vehicle(vehicle), fault }
    });
    let alert = alert.map(|alert| {
        let id = SmolStr::new(&entity_id);
        Draft { id, body: Body::Alert(Box::new(alert)), fault: None }
    });
    [update, vehicle, alert].into_iter().flatten()
}

/// Whether `new` may take the place of `old`: a vehicle is not moved back by an older time than the one known.
pub(crate) fn says_newer(old: &Record, new: &Body, now: i64) -> bool {
    let (Body::Vehicle(old), Body::Vehicle(new)) = (&old.body, new) else { return true };
    match (seconds(old.timestamp), seconds(new.timestamp)) {
        (Some(old), Some(new)) => new >= old || old > now + AHEAD_SECONDS_MAX,
        _ => true,
    }
}

/// A timestamp of a message; 0 means that it has none.
pub(crate) fn seconds(timestamp: Option<u64>) -> Option<i64> {
    i64::try_from(timestamp?).ok().filter(|&seconds| seconds > 0)
}
