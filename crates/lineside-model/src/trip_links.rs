//! Links between the vehicles and trip updates of the same trip, across the feeds of a network.

use std::sync::Arc;

use lineside_formats::gtfs_rt::proto::{TripUpdate, VehiclePosition};
use smol_str::SmolStr;

use crate::{
    hashing::{SeededHashBuilder, TextHashMap},
    record::Record,
    trip_identity::{TripKey, text_if_nonempty},
};

/// The location of a record: its feed's number and its item there.
pub type VehicleRecordLocation = (u16, u32);

/// Trip updates and locations of vehicles by trip id.
#[derive(Debug)]
pub struct TripRecordIndex {
    updates: TextHashMap<SmolStr, Vec<Arc<Record>>>,
    vehicles: TextHashMap<SmolStr, Vec<VehicleRecordLocation>>,
}

impl TripRecordIndex {
    pub fn new(seed: SeededHashBuilder) -> TripRecordIndex {
        TripRecordIndex {
            updates: TextHashMap::with_hasher(seed),
            vehicles: TextHashMap::with_hasher(seed),
        }
    }

    /// Returns the trip update of a vehicle's run.
    pub fn find_update_of_vehicle(&self, vehicle: &VehiclePosition) -> Option<&TripUpdate> {
        let key = TripKey::from_descriptor(vehicle.trip.as_ref()?)?;
        self.updates.get(key.trip_id)?.iter().find_map(|record| {
            let update = record.trip_update()?;
            TripKey::from_descriptor(&update.trip)
                .is_some_and(|other| key.may_be_same_run(other))
                .then_some(update)
        })
    }

    /// Returns the locations of a trip's vehicles.
    pub fn vehicle_locations_of_trip(&self, trip: &str) -> &[VehicleRecordLocation] {
        self.vehicles.get(trip).map_or(&[], Vec::as_slice)
    }

    pub fn insert(&mut self, record: &Arc<Record>, location: VehicleRecordLocation) {
        let Some(trip) = record_trip_id(record) else { return };
        if record.vehicle().is_some() {
            self.vehicles.entry(SmolStr::new(trip)).or_default().push(location);
        } else if record.trip_update().is_some() {
            self.updates.entry(SmolStr::new(trip)).or_default().push(Arc::clone(record));
        }
    }

    pub fn remove(&mut self, record: &Arc<Record>, location: VehicleRecordLocation) {
        let Some(trip) = record_trip_id(record) else { return };
        if record.vehicle().is_some() {
            remove_from_trip(&mut self.vehicles, trip, |known| *known == location);
        } else if record.trip_update().is_some() {
            remove_from_trip(&mut self.updates, trip, |known| Arc::ptr_eq(known, record));
        }
    }

    /// Replaces `old` by `new`.
    pub fn replace_record(
        &mut self,
        old: &Arc<Record>,
        new: &Arc<Record>,
        location: VehicleRecordLocation,
    ) {
        let same_trip = record_trip_id(old) == record_trip_id(new);
        if same_trip && old.vehicle().is_some() {
            return;
        }
        let known =
            record_trip_id(old).filter(|_| same_trip).and_then(|trip| self.updates.get_mut(trip));
        if let Some(known) = known.and_then(|all| all.iter_mut().find(|it| Arc::ptr_eq(it, old))) {
            *known = Arc::clone(new);
            return;
        }
        self.remove(old, location);
        self.insert(new, location);
    }
}

fn record_trip_id(record: &Record) -> Option<&str> {
    text_if_nonempty(&record.trip_descriptor()?.trip_id)
}

fn remove_from_trip<T>(
    map: &mut TextHashMap<SmolStr, Vec<T>>,
    trip: &str,
    is_match: impl Fn(&T) -> bool,
) {
    if let Some(all) = map.get_mut(trip) {
        all.retain(|it| !is_match(it));
        if all.is_empty() {
            map.remove(trip);
        }
    }
}
