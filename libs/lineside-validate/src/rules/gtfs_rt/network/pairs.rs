//! Comparison of the assignments of vehicles to trips in trip updates and in vehicle positions.

use lineside_formats::gtfs_rt::proto::FeedMessage;

use crate::{
    Notices,
    gtfs::DistinctTexts,
    notice::NoticeKind,
    rules::gtfs_rt::{
        MessageWithContext, RealtimeRule,
        fields::{NoticeFieldMeaning, TRIP, VEHICLE, new_error_kind, new_warning_kind},
        schedule_index::{NONE, ScheduleIndex, random_hash_seed},
    },
};

pub(super) static RULE: RealtimeRule = RealtimeRule {
    kinds: &[&DIFFERENT, &ONE_SIDED],
    on_update: None,
    on_message: Some(check_assignments_across_feeds),
};

const MISSING_IN: NoticeFieldMeaning =
    ("missingIn", "The feed that lacks it: trip updates or vehicles.");

static DIFFERENT: NoticeKind = new_error_kind(
    "E047",
    &[
        TRIP,
        VEHICLE,
        ("otherTripId", "The trip of the vehicle in the trip updates."),
        ("otherVehicleId", "The vehicle whose position names the trip."),
    ],
    include_str!("E047.md"),
);

static ONE_SIDED: NoticeKind =
    new_warning_kind("W003", &[TRIP, VEHICLE, MISSING_IN], include_str!("W003.md"));

/// A map from codes to their last value, in insertion order.
#[derive(Default)]
struct CodeMap {
    order: Vec<u32>,
    values: Vec<u32>,
}

impl CodeMap {
    fn set_pair(&mut self, key: u32, value: u32) {
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

/// The assignments of trip updates or of vehicle positions.
#[derive(Default)]
struct VehicleTripAssignments {
    vehicle_of: CodeMap,
    trip_of: CodeMap,
    /// Trips without a vehicle, or vehicles without a trip.
    alone: CodeMap,
}

impl VehicleTripAssignments {
    fn set_vehicle_trip_assignment(&mut self, trip: u32, vehicle: u32) {
        self.vehicle_of.set_pair(trip, vehicle);
        self.trip_of.set_pair(vehicle, trip);
    }
}

/// The assignments of all feeds, with each id as a code.
struct AssignmentsOfAllFeeds<'a> {
    timetable: &'a ScheduleIndex,
    trips: DistinctTexts,
    vehicles: DistinctTexts,
    by_updates: VehicleTripAssignments,
    by_vehicles: VehicleTripAssignments,
}

/// O(entities of all feeds).
fn check_assignments_across_feeds(subject: &MessageWithContext<'_>, out: &mut Notices) {
    // A feed of alerts only is skipped: the disagreement is reported for the other feeds. An empty message may be of
    // vehicles or updates, so it is checked.
    let is_of_alerts = subject.message.entity.iter().any(|it| it.alert.is_some());
    if is_of_alerts && subject.vehicles.is_empty() && subject.updates.is_empty() {
        return;
    }
    let messages = || std::iter::once(subject.message).chain(subject.others.iter().copied());
    let mut entities = messages().flat_map(|message| &message.entity);
    // Most feeds have one kind of entity, so there is nothing to compare.
    let has_vehicles = !subject.vehicles.is_empty() || entities.any(|it| it.vehicle.is_some());
    let mut entities = messages().flat_map(|message| &message.entity);
    let has_updates = !subject.updates.is_empty() || entities.any(|it| it.trip_update.is_some());
    if !has_vehicles || !has_updates {
        return;
    }
    let mut network = AssignmentsOfAllFeeds {
        timetable: subject.timetable,
        trips: DistinctTexts::new(random_hash_seed()),
        vehicles: DistinctTexts::new(random_hash_seed()),
        by_updates: VehicleTripAssignments::default(),
        by_vehicles: VehicleTripAssignments::default(),
    };
    let (mut n_updates, mut n_vehicles) = (0, 0);
    for message in messages() {
        let (updates, vehicles) = network.add_message_assignments(message);
        n_updates += updates;
        n_vehicles += vehicles;
    }
    // Entities without ids cannot be compared either.
    if n_updates > 0 && n_vehicles > 0 {
        network.compare_update_assignments(out);
        network.compare_vehicle_assignments(out);
    }
}

impl AssignmentsOfAllFeeds<'_> {
    /// Returns the numbers of updates with a trip id and of vehicles with an id.
    fn add_message_assignments(&mut self, message: &FeedMessage) -> (usize, usize) {
        let (mut n_updates, mut n_vehicles) = (0, 0);
        for entity in &message.entity {
            if let Some(update) = &entity.trip_update
                && let Some(trip) = update.trip.trip_id.as_deref()
            {
                n_updates += 1;
                let trip = self.trips.intern_text(trip);
                let vehicle = update.vehicle.as_ref().and_then(|vehicle| vehicle.id.as_deref());
                match vehicle.filter(|vehicle| !vehicle.is_empty()) {
                    Some(vehicle) => self
                        .by_updates
                        .set_vehicle_trip_assignment(trip, self.vehicles.intern_text(vehicle)),
                    None => self.by_updates.alone.set_pair(trip, 0),
                }
            }
            if let Some(position) = &entity.vehicle
                && let Some(vehicle) = position.vehicle.as_ref().and_then(|it| it.id.as_deref())
            {
                n_vehicles += 1;
                let vehicle = self.vehicles.intern_text(vehicle);
                let trip = position.trip.as_ref().and_then(|trip| trip.trip_id.as_deref());
                match trip.filter(|trip| !trip.is_empty()) {
                    Some(trip) => self
                        .by_vehicles
                        .set_vehicle_trip_assignment(self.trips.intern_text(trip), vehicle),
                    None => self.by_vehicles.alone.set_pair(vehicle, 0),
                }
            }
        }
        (n_updates, n_vehicles)
    }

    fn compare_update_assignments(&self, out: &mut Notices) {
        let (updates, vehicles) = (&self.by_updates, &self.by_vehicles);
        for (trip, vehicle) in updates.vehicle_of.iter() {
            let other = vehicles.vehicle_of.get(trip);
            if other.is_none() {
                self.report_one_sided_trip("vehicles", trip, out);
            }
            let found = vehicles.trip_of.get(vehicle).or_else(|| vehicles.alone.get(vehicle));
            if found.is_none() {
                self.report_one_sided_vehicle("vehicles", vehicle, out);
            }
            if let Some(other) = other.filter(|&other| other != vehicle) {
                out.count_notice_with_sample(&DIFFERENT, |sample| {
                    sample.set_field("tripId", self.trips.get(trip));
                    sample.set_field("vehicleId", self.vehicles.get(vehicle));
                    sample.set_field("otherVehicleId", self.vehicles.get(other));
                });
            }
        }
        for (trip, _) in updates.alone.iter() {
            if vehicles.vehicle_of.get(trip).is_none() {
                self.report_one_sided_trip("vehicles", trip, out);
            }
        }
    }

    fn compare_vehicle_assignments(&self, out: &mut Notices) {
        let (updates, vehicles) = (&self.by_updates, &self.by_vehicles);
        for (vehicle, trip) in vehicles.trip_of.iter() {
            let other = updates.trip_of.get(vehicle);
            if other.is_none() {
                self.report_one_sided_vehicle("trip updates", vehicle, out);
            }
            let found = updates.vehicle_of.get(trip).or_else(|| updates.alone.get(trip));
            if found.is_none() {
                self.report_one_sided_trip("trip updates", trip, out);
            }
            let other =
                other.filter(|&other| other != trip && !self.are_in_same_block(trip, other));
            if let Some(other) = other {
                out.count_notice_with_sample(&DIFFERENT, |sample| {
                    sample.set_field("tripId", self.trips.get(trip));
                    sample.set_field("vehicleId", self.vehicles.get(vehicle));
                    sample.set_field("otherTripId", self.trips.get(other));
                });
            }
        }
        for (vehicle, _) in vehicles.alone.iter() {
            if updates.trip_of.get(vehicle).is_none() {
                self.report_one_sided_vehicle("trip updates", vehicle, out);
            }
        }
    }

    fn report_one_sided_trip(&self, side: &'static str, trip: u32, out: &mut Notices) {
        out.count_notice_with_sample(&ONE_SIDED, |sample| {
            sample.set_field("tripId", self.trips.get(trip)).set_field("missingIn", side);
        });
    }

    fn report_one_sided_vehicle(&self, side: &'static str, vehicle: u32, out: &mut Notices) {
        out.count_notice_with_sample(&ONE_SIDED, |sample| {
            sample.set_field("vehicleId", self.vehicles.get(vehicle)).set_field("missingIn", side);
        });
    }

    /// Returns true if both trips belong to one block, so that feeds may disagree while the vehicle changes trips.
    fn are_in_same_block(&self, one: u32, other: u32) -> bool {
        let block =
            |trip| self.timetable.find_trip_by_id(self.trips.get(trip)).and_then(|trip| trip.block);
        block(one).is_some() && block(one) == block(other)
    }
}
