//! Which vehicle runs which trip, as trip updates have it and as vehicles do.

use lineside_formats::gtfs_rt::proto::FeedMessage;

use crate::{
    Notices,
    gtfs::Dict,
    notice::Kind,
    rules::gtfs_rt::{
        RealtimeRule, Subject,
        fields::{Field, TRIP, VEHICLE, error, warning},
        timetable::{NONE, Timetable, seed},
    },
};

pub(super) static RULE: RealtimeRule =
    RealtimeRule { kinds: &[&DIFFERENT, &ONE_SIDED], on_update: None, on_message: Some(check) };

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

/// Codes and what they were last said to go with, in the order in which they came.
#[derive(Default)]
struct Pairs {
    order: Vec<u32>,
    values: Vec<u32>,
}

impl Pairs {
    fn put(&mut self, key: u32, value: u32) {
        let at = key as usize;
        if self.values.len() <= at {
            self.values.resize(at + 1, NONE);
        }
        if self.values[at] == NONE {
            self.order.push(key);
        }
        self.values[at] = value;
    }

    fn get(&self, key: u32) -> Option<u32> {
        self.values.get(key as usize).copied().filter(|&value| value != NONE)
    }

    fn iter(&self) -> impl Iterator<Item = (u32, u32)> {
        self.order.iter().map(|&key| (key, self.values[key as usize]))
    }
}

/// What trip updates say, or what vehicles do.
#[derive(Default)]
struct Side {
    vehicle_of: Pairs,
    trip_of: Pairs,
    /// Trips without a vehicle, or vehicles without a trip.
    alone: Pairs,
}

impl Side {
    fn put(&mut self, trip: u32, vehicle: u32) {
        self.vehicle_of.put(trip, vehicle);
        self.trip_of.put(vehicle, trip);
    }
}

/// What all feeds say, each id as a code.
struct Network<'a> {
    timetable: &'a Timetable,
    trips: Dict,
    vehicles: Dict,
    by_updates: Side,
    by_vehicles: Side,
}

/// O(entities of all feeds).
fn check(subject: &Subject<'_>, out: &mut Notices) {
    // What others disagree about is told of them. An empty message of theirs is one of vehicles or of updates, as far as is known.
    let is_of_alerts = subject.message.entity.iter().any(|it| it.alert.is_some());
    if is_of_alerts && subject.vehicles.is_empty() && subject.updates.is_empty() {
        return;
    }
    let messages = || std::iter::once(subject.message).chain(subject.others.iter().copied());
    let mut entities = messages().flat_map(|message| &message.entity);
    // Most feeds have one kind, and nothing to compare it with.
    let has_vehicles = !subject.vehicles.is_empty() || entities.any(|it| it.vehicle.is_some());
    let mut entities = messages().flat_map(|message| &message.entity);
    let has_updates = !subject.updates.is_empty() || entities.any(|it| it.trip_update.is_some());
    if !has_vehicles || !has_updates {
        return;
    }
    let mut network = Network {
        timetable: subject.timetable,
        trips: Dict::new(seed()),
        vehicles: Dict::new(seed()),
        by_updates: Side::default(),
        by_vehicles: Side::default(),
    };
    let (mut n_updates, mut n_vehicles) = (0, 0);
    for message in messages() {
        let (updates, vehicles) = network.add(message);
        n_updates += updates;
        n_vehicles += vehicles;
    }
    // What has no ids cannot be compared either.
    if n_updates > 0 && n_vehicles > 0 {
        network.check_updates(out);
        network.check_vehicles(out);
    }
}

impl Network<'_> {
    /// Returns how many updates say their trip, and how many vehicles their id.
    fn add(&mut self, message: &FeedMessage) -> (usize, usize) {
        let (mut n_updates, mut n_vehicles) = (0, 0);
        for entity in &message.entity {
            if let Some(update) = &entity.trip_update
                && let Some(trip) = update.trip.trip_id.as_deref()
            {
                n_updates += 1;
                let trip = self.trips.add(trip);
                let vehicle = update.vehicle.as_ref().and_then(|vehicle| vehicle.id.as_deref());
                match vehicle.filter(|vehicle| !vehicle.is_empty()) {
                    Some(vehicle) => self.by_updates.put(trip, self.vehicles.add(vehicle)),
                    None => self.by_updates.alone.put(trip, 0),
                }
            }
            if let Some(position) = &entity.vehicle
                && let Some(vehicle) = position.vehicle.as_ref().and_then(|it| it.id.as_deref())
            {
                n_vehicles += 1;
                let vehicle = self.vehicles.add(vehicle);
                let trip = position.trip.as_ref().and_then(|trip| trip.trip_id.as_deref());
                match trip.filter(|trip| !trip.is_empty()) {
                    Some(trip) => self.by_vehicles.put(self.trips.add(trip), vehicle),
                    None => self.by_vehicles.alone.put(vehicle, 0),
                }
            }
        }
        (n_updates, n_vehicles)
    }

    fn check_updates(&self, out: &mut Notices) {
        let (updates, vehicles) = (&self.by_updates, &self.by_vehicles);
        for (trip, vehicle) in updates.vehicle_of.iter() {
            let other = vehicles.vehicle_of.get(trip);
            if other.is_none() {
                self.trip_is_missing("vehicles", trip, out);
            }
            let found = vehicles.trip_of.get(vehicle).or_else(|| vehicles.alone.get(vehicle));
            if found.is_none() {
                self.vehicle_is_missing("vehicles", vehicle, out);
            }
            if let Some(other) = other.filter(|&other| other != vehicle) {
                out.add(&DIFFERENT, |sample| {
                    sample.put("tripId", self.trips.get(trip));
                    sample.put("vehicleId", self.vehicles.get(vehicle));
                    sample.put("otherVehicleId", self.vehicles.get(other));
                });
            }
        }
        for (trip, _) in updates.alone.iter() {
            if vehicles.vehicle_of.get(trip).is_none() {
                self.trip_is_missing("vehicles", trip, out);
            }
        }
    }

    fn check_vehicles(&self, out: &mut Notices) {
        let (updates, vehicles) = (&self.by_updates, &self.by_vehicles);
        for (vehicle, trip) in vehicles.trip_of.iter() {
            let other = updates.trip_of.get(vehicle);
            if other.is_none() {
                self.vehicle_is_missing("trip updates", vehicle, out);
            }
            let found = updates.vehicle_of.get(trip).or_else(|| updates.alone.get(trip));
            if found.is_none() {
                self.trip_is_missing("trip updates", trip, out);
            }
            let other = other.filter(|&other| other != trip && !self.is_one_block(trip, other));
            if let Some(other) = other {
                out.add(&DIFFERENT, |sample| {
                    sample.put("tripId", self.trips.get(trip));
                    sample.put("vehicleId", self.vehicles.get(vehicle));
                    sample.put("otherTripId", self.trips.get(other));
                });
            }
        }
        for (vehicle, _) in vehicles.alone.iter() {
            if updates.trip_of.get(vehicle).is_none() {
                self.vehicle_is_missing("trip updates", vehicle, out);
            }
        }
    }

    fn trip_is_missing(&self, side: &'static str, trip: u32, out: &mut Notices) {
        out.add(&ONE_SIDED, |sample| {
            sample.put("tripId", self.trips.get(trip)).put("missingIn", side);
        });
    }

    fn vehicle_is_missing(&self, side: &'static str, vehicle: u32, out: &mut Notices) {
        out.add(&ONE_SIDED, |sample| {
            sample.put("vehicleId", self.vehicles.get(vehicle)).put("missingIn", side);
        });
    }

    /// Whether one vehicle runs both trips, so that feeds may be apart while it changes over.
    fn is_one_block(&self, one: u32, other: u32) -> bool {
        let block = |trip| self.timetable.trip(self.trips.get(trip)).and_then(|trip| trip.block);
        block(one).is_some() && block(one) == block(other)
    }
}
