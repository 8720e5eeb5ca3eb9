//! Vehicles that are in two places, or run two trips at once.

use crate::{
    Notices,
    gtfs::{Dict, haversine_m},
    notice::Kind,
    rules::gtfs_rt::{
        RealtimeRule, Subject,
        fields::{DISTANCE, ENTITY, OTHER_ENTITY, OTHER_TRIP, TRIP, VEHICLE, warning},
        subject::{Run, Vehicle},
        timetable::{Trip, seed},
    },
};

pub(super) static RULE: RealtimeRule =
    RealtimeRule { kinds: &[&TWO_PLACES, &TWO_TRIPS], on_update: None, on_message: Some(check) };

static TWO_PLACES: Kind = warning(
    "vehicle_in_two_places",
    &[ENTITY, OTHER_ENTITY, VEHICLE, DISTANCE],
    include_str!("vehicle_in_two_places.md"),
);

static TWO_TRIPS: Kind = warning(
    "vehicle_on_two_trips",
    &[ENTITY, OTHER_ENTITY, VEHICLE, TRIP, OTHER_TRIP],
    include_str!("vehicle_on_two_trips.md"),
);

/// Meters between two places of one vehicle that may be the same.
const DISTANCE_MIN_M: f64 = 500.0;

/// O(entities).
fn check(subject: &Subject<'_>, out: &mut Notices) {
    check_vehicles(&subject.vehicles, out);
    check_updates(subject, out);
}

/// What was first said of each vehicle.
struct Firsts<T> {
    ids: Dict,
    said: Vec<T>,
}

impl<T: Copy> Firsts<T> {
    fn new() -> Firsts<T> {
        Firsts { ids: Dict::new(seed()), said: Vec::new() }
    }

    /// What was said before, if this is not the first.
    fn add(&mut self, id: &str, this: T) -> Option<T> {
        let at = self.ids.add(id) as usize;
        let before = self.said.get(at).copied();
        if before.is_none() {
            self.said.push(this);
        }
        before
    }
}

fn check_vehicles<'a>(vehicles: &[Vehicle<'a>], out: &mut Notices) {
    let mut firsts: Firsts<Vehicle<'a>> = Firsts::new();
    for &vehicle in vehicles {
        let Some(id) = vehicle.id().filter(|id| !id.is_empty()) else { continue };
        let Some(other) = firsts.add(id, vehicle) else { continue };
        let place = |vehicle: Vehicle<'_>| {
            let position = vehicle.position.position.as_ref()?;
            Some((f64::from(position.latitude), f64::from(position.longitude)))
        };
        let distance = place(other).zip(place(vehicle)).map(|(from, to)| haversine_m(from, to));
        if let Some(distance) = distance.filter(|&meters| meters > DISTANCE_MIN_M) {
            out.add(&TWO_PLACES, |sample| {
                sample.put("entityId", vehicle.entity.id.as_str()).put("vehicleId", id);
                sample.put("otherEntityId", other.entity.id.as_str());
                sample.put("distance", distance.round() as u64);
            });
        }
        if let (Some(run), Some(before)) = (vehicle.run(), other.run()) {
            say_if_two(id, run, before, out);
        }
    }
}

/// A vehicle may be promised to one trip after the other, so only those that run at the moment count.
fn check_updates(subject: &Subject<'_>, out: &mut Notices) {
    let Some(&today) = subject.days().get(1) else { return };
    let mut firsts: Firsts<Run<'_>> = Firsts::new();
    let time = subject.now - today.start;
    let runs_now = |trip: &Trip| {
        let span = trip.start.zip(trip.end).filter(|_| !trip.is_frequent);
        let is_now =
            span.is_some_and(|(start, end)| i64::from(start) < time && time < i64::from(end));
        is_now && subject.timetable.running().runs_on(trip.service, today.number) == Some(true)
    };
    for run in subject.updates.iter().map(|update| update.run()) {
        let Some(id) = run.vehicle_id().filter(|id| !id.is_empty()) else { continue };
        if !run.trip.is_some_and(runs_now) {
            continue;
        }
        if let Some(before) = firsts.add(id, run) {
            say_if_two(id, run, before, out);
        }
    }
}

fn say_if_two(id: &str, run: Run<'_>, before: Run<'_>, out: &mut Notices) {
    if let (Some(this), Some(other)) = (trip_id(run), trip_id(before))
        && this != other
    {
        out.add(&TWO_TRIPS, |sample| {
            sample.put("entityId", run.entity.id.as_str()).put("vehicleId", id);
            sample.put("otherEntityId", before.entity.id.as_str());
            sample.put("tripId", this).put("otherTripId", other);
        });
    }
}

fn trip_id(run: Run<'_>) -> Option<&str> {
    run.descriptor.trip_id.as_deref().filter(|id| !id.is_empty())
}
