//! Visits of stops: what is told of one journey at one stop. The visits of a journey make one trip update.

use std::collections::HashMap;

use lineside_formats::{
    gtfs_rt::proto::{FeedEntity, TripUpdate, trip_update::StopTimeUpdate},
    siri::{Call, MonitoredStopVisit, MonitoredStopVisitCancellation, VehicleJourney},
};
use smol_str::{SmolStr, format_smolstr};

use super::{
    Cancelled, GRACE_SECONDS, IdKind, SiriEntity, SiriIds, Visit,
    calls::{Calls, last_moment},
    journeys::{date_of, journey_entity_id, trip_of},
    seconds, timestamp,
};
use crate::normalize::given;

/// A visit as an entity; none if it tells of no journey.
pub(super) fn entity_of(visit: &MonitoredStopVisit, ids: &SiriIds) -> Option<SiriEntity> {
    let journey = visit.monitored_vehicle_journey.as_deref()?;
    let calls: Vec<(&Call, bool)> = calls_of(journey).collect();
    let mut trip = trip_of(journey, false, ids);
    // A journey that does not call here may well run elsewhere.
    if journey.monitored_call.as_ref().is_some_and(|call| call.cancellation == Some(true)) {
        trip.schedule_relationship = None;
    }
    let taking = Calls { ids, is_own: crate::normalize::is_extra(&trip) };
    let updates = calls.iter().filter_map(|(call, is_over)| {
        let mut call = (*call).clone();
        if call.stop_point_ref.is_none() {
            call.stop_point_ref = visit.monitoring_ref.clone();
        }
        taking.update_of(&call, *is_over)
    });
    let stop_time_update: Vec<StopTimeUpdate> = updates.collect();
    let id = match given(&trip.trip_id) {
        Some(trip_id) => journey_entity_id(trip_id, trip.start_date.as_deref()),
        None => format_smolstr!("visit:{}", visit.item_identifier.as_deref().unwrap_or_default()),
    };
    let stop_id = visit.monitoring_ref.as_deref().map(|stop| ids.map(IdKind::Stop, stop));
    let item = visit.item_identifier.clone();
    let visits = item.zip(stop_id).map(|(item, stop_id)| Visit { item, stop_id });
    let update = TripUpdate {
        trip,
        stop_time_update,
        timestamp: timestamp(visit.recorded_at_time),
        ..TripUpdate::default()
    };
    let ends = calls.iter().filter_map(|(call, _)| last_moment(call)).max();
    let until = seconds(visit.valid_until_time).max(ends.map(|it| it + GRACE_SECONDS));
    let entity = FeedEntity { id: id.into(), trip_update: Some(update), ..FeedEntity::default() };
    Some(SiriEntity { entity, until, visits: visits.into_iter().collect() })
}

/// The calls of a monitored journey in their order, and whether they are over.
pub(super) fn calls_of(journey: &VehicleJourney) -> impl Iterator<Item = (&Call, bool)> {
    let over = journey.previous_calls.iter().map(|call| (call, true));
    let here = journey.monitored_call.as_deref().map(|call| (call, false));
    let ahead = journey.onward_calls.iter().map(|call| (call, false));
    over.chain(here).chain(ahead)
}

/// What a visit's cancellation takes back.
pub(super) fn cancelled(visit: &MonitoredStopVisitCancellation, ids: &SiriIds) -> Cancelled {
    let journey = visit.vehicle_journey_ref.as_ref();
    let trip_id = journey.and_then(|it| it.dated_vehicle_journey_ref.as_deref());
    let trip_id = trip_id.map(|id| ids.map(IdKind::Journey, id));
    let date = journey.and_then(date_of);
    Cancelled {
        entity_id: trip_id.as_deref().map(|id| journey_entity_id(id, date.as_deref())),
        item: visit.item_ref.clone(),
        trip_id: None,
    }
}

/// Makes one entity of all visits of a journey.
pub(super) fn merge(entities: &mut Vec<SiriEntity>) {
    let is_visit = |it: &SiriEntity| !it.visits.is_empty();
    if !entities.iter().any(is_visit) {
        return;
    }
    let mut at: HashMap<SmolStr, usize> = HashMap::new();
    let mut merged: Vec<SiriEntity> = Vec::with_capacity(entities.len());
    for it in entities.drain(..) {
        if !is_visit(&it) {
            merged.push(it);
            continue;
        }
        match at.get(it.entity.id.as_str()).and_then(|&at| merged.get_mut(at)) {
            Some(known) => known.merge(it),
            None => {
                at.insert(SmolStr::new(&it.entity.id), merged.len());
                merged.push(it);
            }
        }
    }
    *entities = merged;
}

impl SiriEntity {
    /// Takes in what a later visit of the same journey says. Of a stop that both tell of, the later word counts.
    pub(crate) fn merge(&mut self, later: SiriEntity) {
        self.until = self.until.max(later.until);
        for visit in later.visits {
            self.visits.retain(|known| known.item != visit.item);
            self.visits.push(visit);
        }
        let (Some(known), Some(new)) = (&mut self.entity.trip_update, later.entity.trip_update)
        else {
            return;
        };
        known.timestamp = known.timestamp.max(new.timestamp);
        known.trip = new.trip;
        for call in new.stop_time_update {
            match known.stop_time_update.iter_mut().find(|it| it.stop_id == call.stop_id) {
                Some(it) => *it = call,
                None => known.stop_time_update.push(call),
            }
        }
        known.stop_time_update.sort_by_key(moment);
    }

    /// Takes a visit back. Tells whether none is left.
    pub(crate) fn take_back(&mut self, item: &str) -> bool {
        let Some(at) = self.visits.iter().position(|visit| visit.item == item) else {
            return false;
        };
        let visit = self.visits.remove(at);
        if let Some(update) = &mut self.entity.trip_update {
            update.stop_time_update.retain(|it| it.stop_id.as_deref() != Some(&visit.stop_id));
        }
        self.visits.is_empty()
    }
}

fn moment(call: &StopTimeUpdate) -> i64 {
    let event = call.departure.as_ref().or(call.arrival.as_ref());
    event.and_then(|event| event.scheduled_time.or(event.time)).unwrap_or(i64::MAX)
}
