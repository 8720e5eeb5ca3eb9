//! Which vehicle runs which trip, as trip updates have it and as vehicles do.

use std::collections::HashMap;

use crate::{
    Notices,
    notice::Kind,
    rules::gtfs_rt::{
        RealtimeRule, Subject,
        fields::{Field, TRIP, VEHICLE, error, warning},
        timetable::Timetable,
    },
};

pub(super) static RULE: RealtimeRule = RealtimeRule { kinds: &[&DIFFERENT, &ONE_SIDED], check };

const MISSING_IN: Field = ("missingIn", "Where it should be too: trip updates or vehicles.");

static DIFFERENT: Kind = error(
    "E047",
    &[
        TRIP,
        VEHICLE,
        ("otherTripId", "The trip that trip updates have the vehicle on."),
        ("otherVehicleId", "The vehicle that says it runs the trip."),
    ],
    include_str!("E047.md"),
);

static ONE_SIDED: Kind = warning("W003", &[TRIP, VEHICLE, MISSING_IN], include_str!("W003.md"));

/// Ids and what they were last said to go with, in the order in which they came.
#[derive(Default)]
struct Pairs<'a> {
    all: Vec<(&'a str, &'a str)>,
    at: HashMap<&'a str, usize>,
}

impl<'a> Pairs<'a> {
    fn put(&mut self, key: &'a str, value: &'a str) {
        let at = *self.at.entry(key).or_insert(self.all.len());
        match self.all.get_mut(at) {
            Some(pair) => pair.1 = value,
            None => self.all.push((key, value)),
        }
    }

    fn get(&self, key: &str) -> Option<&'a str> {
        self.at.get(key).map(|&at| self.all[at].1)
    }
}

/// What trip updates say, or what vehicles do.
#[derive(Default)]
struct Side<'a> {
    vehicle_of: Pairs<'a>,
    trip_of: Pairs<'a>,
    /// Trips without a vehicle, or vehicles without a trip.
    alone: Pairs<'a>,
    n: usize,
}

impl<'a> Side<'a> {
    fn put(&mut self, trip: &'a str, vehicle: &'a str) {
        self.vehicle_of.put(trip, vehicle);
        self.trip_of.put(vehicle, trip);
    }
}

/// O(entities of all feeds).
fn check(subject: &Subject<'_>, out: &mut Notices) {
    let (mut updates, mut vehicles) = (Side::default(), Side::default());
    let messages = std::iter::once(subject.message).chain(subject.others.iter().copied());
    for entity in messages.flat_map(|message| &message.entity) {
        if let Some(update) = &entity.trip_update
            && let Some(trip) = update.trip.trip_id.as_deref()
        {
            let vehicle = update.vehicle.as_ref().and_then(|vehicle| vehicle.id.as_deref());
            updates.n += 1;
            match vehicle.filter(|vehicle| !vehicle.is_empty()) {
                Some(vehicle) => updates.put(trip, vehicle),
                None => updates.alone.put(trip, ""),
            }
        }
        if let Some(position) = &entity.vehicle
            && let Some(vehicle) = position.vehicle.as_ref().and_then(|it| it.id.as_deref())
        {
            let trip = position.trip.as_ref().and_then(|trip| trip.trip_id.as_deref());
            vehicles.n += 1;
            match trip.filter(|trip| !trip.is_empty()) {
                Some(trip) => vehicles.put(trip, vehicle),
                None => vehicles.alone.put(vehicle, ""),
            }
        }
    }
    // A feed of one kind cannot be compared.
    if updates.n > 0 && vehicles.n > 0 {
        check_updates(&updates, &vehicles, out);
        check_vehicles(subject.timetable, &updates, &vehicles, out);
    }
}

fn missing(out: &mut Notices, side: &'static str, (field, id): (&'static str, &str)) {
    out.add(&ONE_SIDED, |sample| {
        sample.put(field, id).put("missingIn", side);
    });
}

fn check_updates(updates: &Side<'_>, vehicles: &Side<'_>, out: &mut Notices) {
    for &(trip, vehicle) in &updates.vehicle_of.all {
        let other = vehicles.vehicle_of.get(trip);
        if other.is_none() {
            missing(out, "vehicles", ("tripId", trip));
        }
        let has_vehicle = vehicles.trip_of.at.contains_key(vehicle);
        if !has_vehicle && !vehicles.alone.at.contains_key(vehicle) {
            missing(out, "vehicles", ("vehicleId", vehicle));
        }
        if let Some(other) = other.filter(|&other| !other.is_empty() && other != vehicle) {
            out.add(&DIFFERENT, |sample| {
                sample.put("tripId", trip).put("vehicleId", vehicle).put("otherVehicleId", other);
            });
        }
    }
    for &(trip, _) in &updates.alone.all {
        if vehicles.vehicle_of.get(trip).is_none() {
            missing(out, "vehicles", ("tripId", trip));
        }
    }
}

fn check_vehicles(
    timetable: &Timetable,
    updates: &Side<'_>,
    vehicles: &Side<'_>,
    out: &mut Notices,
) {
    for &(vehicle, trip) in &vehicles.trip_of.all {
        let other = updates.trip_of.get(vehicle);
        if other.is_none() {
            missing(out, "trip updates", ("vehicleId", vehicle));
        }
        let has_trip = updates.vehicle_of.at.contains_key(trip);
        if !has_trip && !updates.alone.at.contains_key(trip) {
            missing(out, "trip updates", ("tripId", trip));
        }
        let other = other.filter(|&other| !other.is_empty() && other != trip);
        if let Some(other) = other.filter(|other| !is_one_block(timetable, trip, other)) {
            out.add(&DIFFERENT, |sample| {
                sample.put("tripId", trip).put("vehicleId", vehicle).put("otherTripId", other);
            });
        }
    }
    for &(vehicle, _) in &vehicles.alone.all {
        if updates.trip_of.get(vehicle).is_none() {
            missing(out, "trip updates", ("vehicleId", vehicle));
        }
    }
}

/// Whether one vehicle runs both trips, so that feeds may be apart while it changes over.
fn is_one_block(timetable: &Timetable, one: &str, other: &str) -> bool {
    let block = |trip| timetable.trip(trip).and_then(|trip| trip.block);
    block(one).is_some() && block(one) == block(other)
}
