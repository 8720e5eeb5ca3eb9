//! Trips and routes that deviate from their shape according to alerts.

use std::collections::HashSet;

use lineside_formats::gtfs_rt::proto::{FeedMessage, alert::Effect};

use super::{ScheduleIndex, subject::VehicleWithSchedule};

/// The trips and routes with an alert about a detour.
#[derive(Debug)]
pub(super) struct DetourIndex<'a> {
    trips: HashSet<&'a str>,
    routes: HashSet<&'a str>,
}

impl<'a> DetourIndex<'a> {
    /// Collects the detours of these messages. O(entities).
    pub(super) fn collect_detour_alerts(
        messages: impl Iterator<Item = &'a FeedMessage>,
    ) -> DetourIndex<'a> {
        let entities = messages.flat_map(|message| &message.entity);
        let alerts = entities.filter_map(|entity| entity.alert.as_ref());
        let detours = alerts.filter(|alert| alert.effect == Some(Effect::Detour as i32));
        let (mut trips, mut routes) = (HashSet::new(), HashSet::new());
        for selector in detours.flat_map(|alert| &alert.informed_entity) {
            let trip = selector.trip.as_ref();
            trips.extend(trip.and_then(|trip| trip.trip_id.as_deref()));
            routes.extend(trip.and_then(|trip| trip.route_id.as_deref()));
            routes.extend(selector.route_id.as_deref().filter(|_| trip.is_none()));
        }
        DetourIndex { trips, routes }
    }

    /// Returns true if the vehicle's trip or route has a detour. If the vehicle names no route, the route of its trip
    /// in the schedule counts.
    pub(super) fn has_detour_for(
        &self,
        vehicle: &VehicleWithSchedule<'_>,
        timetable: &ScheduleIndex,
    ) -> bool {
        let names = |ids: &HashSet<&str>, id: Option<&str>| id.is_some_and(|id| ids.contains(id));
        let descriptor = vehicle.position.trip.as_ref();
        names(&self.trips, descriptor.and_then(|it| it.trip_id.as_deref()))
            || names(&self.routes, descriptor.and_then(|it| it.route_id.as_deref()))
            || names(&self.routes, vehicle.trip.map(|trip| timetable.route_id_of_trip(trip)))
    }
}
