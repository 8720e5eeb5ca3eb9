//! Mapping of stop visits, the data about a journey at one stop. The visits of a journey make one trip update.

use std::collections::{BTreeSet, HashMap};

use lineside_formats::{
    gtfs_rt::proto::{FeedEntity, TripUpdate, trip_update::StopTimeUpdate},
    siri::{MonitoredStopVisit, MonitoredStopVisitCancellation, SiriCall, VehicleJourney},
};
use smol_str::{SmolStr, format_smolstr};

use super::{
    CancelledEntity, GRACE_SECONDS, IdKind, SiriEntity, SiriIdMapping, TripRef,
    calls::{CallMapper, latest_time_of_call},
    journeys::{
        date_of_framed_ref, journey_entity_id, name_from_planned_properties, to_trip_descriptor,
    },
    sequences::CallMatchingHints,
    service_days::list_aimed_call_times,
    to_timestamp,
};
use crate::{limits::JOURNEY_VISITS_MAX, trip_identity::text_if_nonempty};

/// The prefix of entity ids made of visits. A journey's own entity has another prefix: data about some stops must not
/// replace those about all.
const PREFIX: &str = "stop-visits";

/// The visits of a journey and their calls. Bounded: [`VISITS_OF_JOURNEY_MAX`] of each.
#[derive(Clone, Debug, Default)]
pub(crate) struct JourneyVisits {
    items: Vec<StopVisit>,
    calls: Vec<CallFromVisit>,
}

#[derive(Clone, Debug)]
struct StopVisit {
    /// The name by which the producer cancels the visit.
    item: SmolStr,
    at: StopOfVisit,
    /// The stop at which the journey calls, if that is a part of the monitored stop.
    call_stop_id: Option<SmolStr>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct StopOfVisit {
    /// The monitored stop.
    pub(crate) stop_id: Option<SmolStr>,
    /// The number of the journey's visit to this stop.
    pub(crate) number: Option<u32>,
}

/// A call reported by a visit.
#[derive(Clone, Debug)]
struct CallFromVisit {
    update: StopTimeUpdate,
    hints: CallMatchingHints,
    /// The name of the visit that determines the call.
    item: SmolStr,
    /// True if the visit monitors this stop, not an earlier or later one.
    is_monitored: bool,
}

/// Maps a visit to an entity; `None` without a journey.
pub(super) fn map_visit(visit: &MonitoredStopVisit, ids: &SiriIdMapping) -> Option<SiriEntity> {
    let journey = visit.monitored_vehicle_journey.as_deref()?;
    // A cancelled call does not cancel the journey: it skips this stop and may run elsewhere.
    let trip = to_trip_descriptor(journey, false, ids);
    let monitored = journey.monitored_call.as_deref();
    let stop_id =
        visit.monitoring_ref.as_deref().map(|stop| ids.map_to_schedule_id(IdKind::Stop, stop));
    let (id, item) = visit_entity_id_and_name(
        visit,
        journey,
        text_if_nonempty(&trip.trip_id).zip(Some(&trip.start_date)),
    );
    let taking = CallMapper {
        ids,
        is_unscheduled: crate::trip_identity::is_extra_trip(&trip),
        is_cancelled: false,
    };
    let visit_call = |(call, is_past): (&SiriCall, bool)| {
        let is_monitored = monitored.is_some_and(|it| std::ptr::eq(it, call));
        let update = match call.stop_point_ref.is_none() && is_monitored {
            true => {
                let stop_point_ref = visit.monitoring_ref.clone();
                taking.map_to_stop_time_update(
                    &SiriCall { stop_point_ref, ..call.clone() },
                    is_past,
                )?
            }
            false => taking.map_to_stop_time_update(call, is_past)?,
        };
        Some(CallFromVisit {
            update,
            hints: CallMatchingHints::from_call(call),
            item: item.clone(),
            is_monitored,
        })
    };
    let mut calls: Vec<CallFromVisit> =
        monitored_journey_calls(journey).filter_map(visit_call).take(JOURNEY_VISITS_MAX).collect();
    calls.sort_by_key(CallFromVisit::best_known_call_time);
    let here = calls.iter().find(|call| call.is_monitored);
    let call_stop_id =
        here.and_then(|call| text_if_nonempty(&call.update.stop_id)).map(SmolStr::new);
    let at = StopOfVisit { stop_id, number: monitored.and_then(|call| call.visit_number) };
    let items = vec![StopVisit { item: item.clone(), at, call_stop_id }];
    let visits = JourneyVisits { items, calls };
    let update = TripUpdate {
        trip,
        stop_time_update: visits.stop_time_updates(),
        timestamp: to_timestamp(visit.recorded_at_time),
        ..TripUpdate::default()
    };
    let ends =
        monitored_journey_calls(journey).filter_map(|(call, _)| latest_time_of_call(call)).max();
    let until =
        super::to_unix_seconds(visit.valid_until_time).max(ends.map(|it| it + GRACE_SECONDS));
    let entity = FeedEntity { id: id.into(), trip_update: Some(update), ..FeedEntity::default() };
    let aimed = list_aimed_call_times(journey, ids);
    Some(SiriEntity { visits: Some(visits), aimed, ..SiriEntity::from_entity(entity, until) })
}

/// Returns the id of the visit's entity and the name by which the visit is cancelled; a visit without a name gets one
/// from its journey, stop and aimed time.
fn visit_entity_id_and_name(
    visit: &MonitoredStopVisit,
    journey: &VehicleJourney,
    trip: Option<(&str, &Option<String>)>,
) -> (SmolStr, SmolStr) {
    let call = journey.monitored_call.as_deref();
    let named = visit.item_identifier.clone().filter(|item| !item.is_empty());
    let id = match (trip, &named) {
        (Some((trip_id, date)), _) => journey_entity_id(PREFIX, trip_id, date.as_deref()),
        (None, Some(item)) => format_smolstr!("{PREFIX}:{item}"),
        (None, None) => format_smolstr!("{PREFIX}:{}", name_from_planned_properties(journey, call)),
    };
    let item = named.unwrap_or_else(|| {
        let stop = visit.monitoring_ref.as_deref().unwrap_or_default();
        let aimed = call.and_then(|call| call.aimed_departure_time.or(call.aimed_arrival_time));
        match aimed {
            Some(aimed) => format_smolstr!("{id}@{stop}@{aimed}"),
            None => format_smolstr!("{id}@{stop}"),
        }
    });
    (id, item)
}

/// Returns the calls of a monitored journey in order, each with true if it is over.
pub(super) fn monitored_journey_calls(
    journey: &VehicleJourney,
) -> impl Iterator<Item = (&SiriCall, bool)> {
    let past_calls = journey.previous_calls.iter().map(|call| (call, true));
    let here = journey.monitored_call.as_deref().map(|call| (call, false));
    let ahead = journey.onward_calls.iter().map(|call| (call, false));
    past_calls.chain(here).chain(ahead)
}

/// Maps the cancellation of a visit.
pub(super) fn map_visit_cancellation(
    visit: &MonitoredStopVisitCancellation,
    ids: &SiriIdMapping,
) -> CancelledEntity {
    let journey = visit.vehicle_journey_ref.as_ref();
    let trip_id = journey.and_then(|it| it.dated_vehicle_journey_ref.as_deref());
    let trip = trip_id.map(|id| TripRef {
        trip_id: ids.map_to_schedule_id(IdKind::Journey, id),
        start_date: journey.and_then(date_of_framed_ref).map(SmolStr::from),
    });
    let stop_id =
        visit.monitoring_ref.as_deref().map(|stop| ids.map_to_schedule_id(IdKind::Stop, stop));
    let at = StopOfVisit { stop_id, number: visit.visit_number };
    CancelledEntity::Visit { item: visit.item_ref.clone(), trip, at }
}

/// Merges all visits of a journey into one entity. Visits beyond [`VISITS_OF_JOURNEY_MAX`] are dropped.
pub(super) fn merge_visits_of_journeys(entities: &mut Vec<SiriEntity>) {
    let is_visit = |it: &SiriEntity| it.visits.is_some();
    if !entities.iter().any(is_visit) {
        return;
    }
    let mut at: HashMap<SmolStr, usize> = HashMap::new();
    let mut merged: Vec<SiriEntity> = Vec::with_capacity(entities.len());
    let mut grown = BTreeSet::new();
    for it in entities.drain(..) {
        if !is_visit(&it) {
            merged.push(it);
            continue;
        }
        let known = at.get(it.entity.id.as_str()).copied();
        match known.and_then(|at| Some((at, merged.get_mut(at)?))) {
            Some((at, known)) => {
                known.add_later_visit_data(it);
                grown.insert(at);
            }
            None => {
                at.insert(SmolStr::new(&it.entity.id), merged.len());
                merged.push(it);
            }
        }
    }
    // Once for all visits of a journey, instead of for each.
    for at in grown {
        merged[at].update_calls_from_visits();
    }
    *entities = merged;
}

impl SiriEntity {
    /// Merges a later visit of the same journey. For a call in both, the later data win.
    pub(crate) fn merge_later_visit(&mut self, later: SiriEntity) {
        self.add_later_visit_data(later);
        self.update_calls_from_visits();
    }

    /// Merges a later visit without rewriting the calls.
    fn add_later_visit_data(&mut self, later: SiriEntity) {
        let (Some(known), Some(new)) = (&mut self.visits, later.visits) else { return };
        known.merge_later(new);
        self.until = self.until.max(later.until);
        if let (Some(known), Some(new)) = (&mut self.entity.trip_update, later.entity.trip_update) {
            known.timestamp = known.timestamp.max(new.timestamp);
            known.trip = new.trip;
        }
    }

    /// Removes a visit; returns true if none is left.
    pub(crate) fn remove_visit_by_name(&mut self, item: &str) -> bool {
        self.remove_visits_if(|visit| visit.item == item)
    }

    /// Removes the visits at a stop, or all without a stop; returns true if none is left.
    pub(crate) fn remove_visits_at(&mut self, at: &StopOfVisit) -> bool {
        self.remove_visits_if(|visit| {
            let is_here = |stop_id| {
                visit.at.stop_id.as_ref() == Some(stop_id)
                    || visit.call_stop_id.as_ref() == Some(stop_id)
            };
            let is_other = |(number, other): (u32, u32)| number != other;
            at.stop_id.as_ref().is_none_or(is_here)
                && !visit.at.number.zip(at.number).is_some_and(is_other)
        })
    }

    pub(crate) fn names_of_visits(&self) -> impl Iterator<Item = &SmolStr> {
        self.visits.iter().flat_map(|visits| visits.items.iter().map(|visit| &visit.item))
    }

    fn remove_visits_if(&mut self, is_expired: impl Fn(&StopVisit) -> bool) -> bool {
        let Some(visits) = &mut self.visits else { return false };
        let expired: Vec<SmolStr> = visits
            .items
            .iter()
            .filter(|visit| is_expired(visit))
            .map(|it| it.item.clone())
            .collect();
        expired.iter().for_each(|item| visits.remove_visit_and_calls(item));
        let is_empty = visits.items.is_empty();
        self.update_calls_from_visits();
        is_empty
    }

    fn update_calls_from_visits(&mut self) {
        if let (Some(visits), Some(update)) = (&self.visits, &mut self.entity.trip_update) {
            update.stop_time_update = visits.stop_time_updates();
        }
    }
}

impl JourneyVisits {
    fn merge_later(&mut self, later: JourneyVisits) {
        // The later data of a visit replace all its earlier ones.
        later.items.iter().for_each(|visit| self.remove_visit_and_calls(&visit.item));
        let n_left = JOURNEY_VISITS_MAX.saturating_sub(self.items.len());
        self.items.extend(later.items.into_iter().take(n_left));
        for call in later.calls {
            let has_room = self.calls.len() < JOURNEY_VISITS_MAX;
            match self.calls.iter_mut().find(|known| known.is_same_call(&call)) {
                // The visit of an earlier stop may have newer data about this call, but does not take it over.
                Some(known) if known.is_monitored && !call.is_monitored => {
                    let item = known.item.clone();
                    *known = CallFromVisit { item, is_monitored: true, ..call };
                }
                Some(known) => *known = call,
                None if has_room => self.calls.push(call),
                None => {}
            }
        }
        self.calls.sort_by_key(CallFromVisit::best_known_call_time);
    }

    fn remove_visit_and_calls(&mut self, item: &str) {
        self.items.retain(|visit| visit.item != item);
        self.calls.retain(|call| call.item != item);
    }

    /// Returns the hints that identify the calls, one for each.
    pub(super) fn call_hints(&self) -> impl Iterator<Item = CallMatchingHints> {
        self.calls.iter().map(|call| call.hints)
    }

    pub(super) fn set_stop_sequences(&mut self, sequences: &[Option<u32>]) {
        for (call, sequence) in self.calls.iter_mut().zip(sequences) {
            call.update.stop_sequence = *sequence;
        }
    }

    fn stop_time_updates(&self) -> Vec<StopTimeUpdate> {
        self.calls.iter().map(|call| call.update.clone()).collect()
    }
}

impl CallFromVisit {
    /// Returns true if both are the same call. A journey may call at a stop twice, at different times.
    fn is_same_call(&self, other: &CallFromVisit) -> bool {
        let arrivals = self.hints.aimed_arrival.zip(other.hints.aimed_arrival);
        let departures = self.hints.aimed_departure.zip(other.hints.aimed_departure);
        self.update.stop_id == other.update.stop_id
            && arrivals.or(departures).is_none_or(|(own, others)| own == others)
    }

    /// Returns the aimed time, else the scheduled or predicted one.
    fn best_known_call_time(&self) -> i64 {
        let event = || self.update.departure.as_ref().or(self.update.arrival.as_ref());
        let event_time = || event().and_then(|event| event.scheduled_time.or(event.time));
        let aimed = self.hints.aimed_departure.or(self.hints.aimed_arrival);
        aimed.or_else(event_time).unwrap_or(i64::MAX)
    }
}
