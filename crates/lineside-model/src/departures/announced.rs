//! Departures whose calls only a trip update has: of trips that are added to the timetable or replace one of its trips.

use std::collections::{BTreeMap, btree_map::Entry};

use lineside_formats::{
    gtfs::{StopIdx, Timetable},
    gtfs_rt::proto::{
        TripUpdate,
        trip_update::{StopTimeUpdate, stop_time_update},
    },
};
use smol_str::{SmolStr, format_smolstr};

use super::{BUS, DepartureSearch, TripRunUpdate};
use crate::{
    record::{Departure, DepartureStatus},
    trip_forecast::saturate_to_i32,
    trip_identity::{TripKey, is_cancelled_extra_trip, is_extra_trip, text_if_nonempty},
};

impl DepartureSearch<'_> {
    /// Lists the departures of trips that the schedule does not have.
    pub(super) fn list_extra_trip_departures(&self) -> Vec<Departure> {
        let here = self.timetable().stop_and_descendants(self.stop);
        let mut departures = Vec::new();
        for (id, said) in self.find_extra_trip_updates() {
            // The last call is no departure.
            let calls = said.update.stop_time_update.iter().enumerate();
            let departing = calls.take(said.update.stop_time_update.len().saturating_sub(1));
            let calls_here = departing.filter(|(_, call)| {
                find_stop_of_call(self.timetable(), call).is_some_and(|stop| here.contains(&stop))
            });
            let made =
                calls_here.map(|(index, _)| self.build_extra_trip_departure(&said, &id, index));
            departures.extend(made.flatten());
        }
        departures
    }

    /// Returns the updates of trips that the schedule does not have, by the prefix of their departures' ids. If several
    /// feeds report one trip, the update with [precedence](super::find_run_update) is used.
    fn find_extra_trip_updates(&self) -> BTreeMap<SmolStr, TripRunUpdate<'_>> {
        let mut all = BTreeMap::new();
        for feed in &self.state.feeds {
            for record in feed.tables.trip_updates.extra_trip_records() {
                let Some(update) =
                    record.trip_update().filter(|update| self.is_extra_trip_update(update))
                else {
                    continue;
                };
                let said = TripRunUpdate::new(feed, update, self.now);
                if said.is_out_of_date(self.now) {
                    continue;
                }
                // A trip without an id belongs to one feed, even if entities of other feeds have the same id.
                let id = match TripKey::from_descriptor(&update.trip) {
                    Some(_) => record.id.clone(),
                    None => format_smolstr!("{}:{}", feed.id, record.id),
                };
                match all.entry(id) {
                    Entry::Vacant(place) => _ = place.insert(said),
                    Entry::Occupied(mut known) => {
                        if said.precedence_key(self.now) >= known.get().precedence_key(self.now) {
                            known.insert(said);
                        }
                    }
                }
            }
        }
        all
    }

    /// Returns true if an update is of a trip that the schedule does not have, or has with other calls.
    fn is_extra_trip_update(&self, update: &TripUpdate) -> bool {
        let is_known = || {
            text_if_nonempty(&update.trip.trip_id)
                .is_some_and(|id| self.timetable().find_trip(id).is_some())
        };
        is_extra_trip(&update.trip) || (is_cancelled_extra_trip(update) && !is_known())
    }

    /// Builds the departure at one call of a trip update, with the times that the update announces; `None` without a
    /// known stop and a time. `id` is the trip's part of the departure's id.
    pub(super) fn build_extra_trip_departure(
        &self,
        said: &TripRunUpdate<'_>,
        id: &str,
        index: usize,
    ) -> Option<Departure> {
        let (timetable, calls) = (self.timetable(), &said.update.stop_time_update);
        let call = calls.get(index)?;
        let stop = find_stop_of_call(timetable, call)?;
        let expected = predicted_departure_or_arrival(call)?;
        let is_off = is_cancelled_extra_trip(said.update);
        let is_skipped =
            call.schedule_relationship() == stop_time_update::ScheduleRelationship::Skipped;
        let event = call.departure.as_ref();
        let by_delay = || Some(expected - i64::from(event?.delay?));
        let announced = event.and_then(|event| event.scheduled_time).or_else(by_delay);
        // A call that is not served has only its scheduled time.
        let scheduled = announced.or((is_off || is_skipped).then_some(expected));
        let trip =
            text_if_nonempty(&said.update.trip.trip_id).and_then(|id| timetable.find_trip(id));
        let mut departure = match trip {
            Some(trip) => self.build_scheduled_only_departure(trip, stop, scheduled),
            None => self.build_unscheduled_departure(said.update, stop, scheduled),
        };
        if let Some(properties) = &call.stop_time_properties {
            self.apply_assigned_platform(&mut departure, properties);
        }
        if let Some(own) = said.update.trip_properties.as_ref() {
            let own_id = text_if_nonempty(&own.trip_id).map(SmolStr::new);
            departure.trip_id = own_id.unwrap_or(departure.trip_id);
            departure.headsign =
                text_if_nonempty(&own.trip_headsign).map(SmolStr::new).or(departure.headsign);
        }
        departure.id = match call.stop_sequence {
            Some(sequence) => format_smolstr!("{id}:{sequence}"),
            // Producers drop past calls, so only the number of calls from here on is constant.
            None => format_smolstr!("{id}:{}", calls.len() - index),
        };
        departure.stop_sequence = call.stop_sequence;
        departure.source = said.feed.clone();
        departure.age = Some(u64::try_from(self.now - said.made_at).unwrap_or(0));
        departure.expected = (!is_off).then_some(expected);
        let delay = |scheduled: i64| saturate_to_i32(expected - scheduled);
        departure.delay = scheduled.filter(|_| !is_off).map(delay);
        departure.status = match is_skipped {
            _ if is_off => DepartureStatus::Cancelled,
            true => DepartureStatus::Skipped,
            false => DepartureStatus::Realtime,
        };
        Some(departure)
    }

    /// Builds a departure of a trip that is only in its update.
    fn build_unscheduled_departure(
        &self,
        update: &TripUpdate,
        stop: StopIdx,
        scheduled: Option<i64>,
    ) -> Departure {
        let timetable = self.timetable();
        let route_id = text_if_nonempty(&update.trip.route_id).unwrap_or_default();
        let route = timetable.find_route(route_id).map(|route| timetable.route(route));
        let mut stops = update.stop_time_update.iter().rev();
        let last = stops.find_map(|call| timetable.find_stop(text_if_nonempty(&call.stop_id)?));
        let last = last.map(|stop| timetable.stop(stop).name);
        Departure {
            trip_id: SmolStr::new(text_if_nonempty(&update.trip.trip_id).unwrap_or_default()),
            route_id: SmolStr::new(route_id),
            route_short_name: SmolStr::new(route.map_or(route_id, |route| route.display_name())),
            route_color: route.and_then(|route| route.color),
            route_text_color: route.and_then(|route| route.text_color),
            route_type: route.map_or(BUS, |route| route.kind),
            headsign: last.filter(|name| !name.is_empty()).map(SmolStr::new),
            status: DepartureStatus::Realtime,
            ..self.build_departure_without_trip(stop, scheduled)
        }
    }
}

/// Returns the stop of an announced call in the timetable: the assigned stop, or the named one.
pub(super) fn find_stop_of_call(timetable: &Timetable, call: &StopTimeUpdate) -> Option<StopIdx> {
    let assigned = call.stop_time_properties.as_ref();
    let assigned = assigned.and_then(|properties| text_if_nonempty(&properties.assigned_stop_id));
    timetable.find_stop(assigned.or(text_if_nonempty(&call.stop_id))?)
}

/// Returns the predicted departure of an announced call, Unix seconds, or the predicted arrival.
pub(super) fn predicted_departure_or_arrival(call: &StopTimeUpdate) -> Option<i64> {
    let departs = call.departure.as_ref().and_then(|event| event.time);
    departs.or_else(|| call.arrival.as_ref().and_then(|event| event.time))
}
