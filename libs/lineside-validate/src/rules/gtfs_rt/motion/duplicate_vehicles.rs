//! Checks of vehicles that are in two places or run two trips at once.

use crate::{
    Notices,
    gtfs::{TextDict, haversine_distance_m},
    notice::NoticeKind,
    rules::gtfs_rt::{
        MessageSubject, RealtimeRule,
        fields::{DISTANCE, ENTITY, OTHER_ENTITY, OTHER_TRIP, TRIP, VEHICLE, warning_kind},
        schedule_index::{TripEntry, random_seed},
        subject::{TripRef, VehicleRef},
    },
};

pub(super) static RULE: RealtimeRule = RealtimeRule {
    kinds: &[&TWO_PLACES, &TWO_TRIPS],
    on_update: None,
    on_message: Some(check_duplicate_vehicles),
};

static TWO_PLACES: NoticeKind = warning_kind(
    "vehicle_in_two_places",
    &[ENTITY, OTHER_ENTITY, VEHICLE, DISTANCE],
    include_str!("vehicle_in_two_places.md"),
);

static TWO_TRIPS: NoticeKind = warning_kind(
    "vehicle_on_two_trips",
    &[ENTITY, OTHER_ENTITY, VEHICLE, TRIP, OTHER_TRIP],
    include_str!("vehicle_on_two_trips.md"),
);

/// The distance in meters from which two positions of a vehicle differ.
const DISTANCE_MIN_M: f64 = 500.0;

/// O(entities).
fn check_duplicate_vehicles(subject: &MessageSubject<'_>, out: &mut Notices) {
    check_vehicles(&subject.vehicles, out);
    check_updates(subject, out);
}

/// The first report of each vehicle.
struct FirstSeen<T> {
    ids: TextDict,
    values: Vec<T>,
}

impl<T: Copy> FirstSeen<T> {
    fn new() -> FirstSeen<T> {
        FirstSeen { ids: TextDict::new(random_seed()), values: Vec::new() }
    }

    /// Returns the first report of an id, or adds this one as the first.
    fn find_or_add(&mut self, id: &str, this: T) -> Option<T> {
        let at = self.ids.intern_text(id) as usize;
        let first = self.values.get(at).copied();
        if first.is_none() {
            self.values.push(this);
        }
        first
    }
}

fn check_vehicles<'a>(vehicles: &[VehicleRef<'a>], out: &mut Notices) {
    let mut firsts: FirstSeen<VehicleRef<'a>> = FirstSeen::new();
    for &vehicle in vehicles {
        let Some(id) = vehicle.vehicle_id().filter(|id| !id.is_empty()) else { continue };
        let Some(other) = firsts.find_or_add(id, vehicle) else { continue };
        let place = |vehicle: VehicleRef<'_>| {
            let position = vehicle.position.position.as_ref()?;
            Some((f64::from(position.latitude), f64::from(position.longitude)))
        };
        let distance =
            place(other).zip(place(vehicle)).map(|(from, to)| haversine_distance_m(from, to));
        if let Some(distance) = distance.filter(|&meters| meters > DISTANCE_MIN_M) {
            out.add_notice(&TWO_PLACES, |sample| {
                sample.set_field("entityId", vehicle.entity.id.as_str()).set_field("vehicleId", id);
                sample.set_field("otherEntityId", other.entity.id.as_str());
                sample.set_field("distance", distance.round() as u64);
            });
        }
        if let (Some(run), Some(first)) = (vehicle.trip_ref(), other.trip_ref()) {
            report_if_two_trips(id, run, first, out);
        }
    }
}

/// Checks vehicles with several trip updates. A vehicle may be assigned to successive trips, so only trips that run now
/// count.
fn check_updates(subject: &MessageSubject<'_>, out: &mut Notices) {
    let Some(&today) = subject.service_days().get(1) else { return };
    let mut firsts: FirstSeen<TripRef<'_>> = FirstSeen::new();
    let time = subject.now - today.start;
    let runs_now = |trip: &TripEntry| {
        let span = trip.start.zip(trip.end).filter(|_| !trip.is_frequent);
        let is_now =
            span.is_some_and(|(start, end)| i64::from(start) < time && time < i64::from(end));
        is_now && subject.timetable.active_trips().runs_on(trip.service, today.number) == Some(true)
    };
    for run in subject.updates.iter().map(|update| update.trip_ref()) {
        let Some(id) = run.vehicle_id().filter(|id| !id.is_empty()) else { continue };
        if !run.trip.is_some_and(runs_now) {
            continue;
        }
        if let Some(first) = firsts.find_or_add(id, run) {
            report_if_two_trips(id, run, first, out);
        }
    }
}

fn report_if_two_trips(id: &str, run: TripRef<'_>, first: TripRef<'_>, out: &mut Notices) {
    if let (Some(this), Some(other)) = (scheduled_trip_id(run), scheduled_trip_id(first))
        && this != other
    {
        out.add_notice(&TWO_TRIPS, |sample| {
            sample.set_field("entityId", run.entity.id.as_str()).set_field("vehicleId", id);
            sample.set_field("otherEntityId", first.entity.id.as_str());
            sample.set_field("tripId", this).set_field("otherTripId", other);
        });
    }
}

fn scheduled_trip_id(run: TripRef<'_>) -> Option<&str> {
    run.descriptor.trip_id.as_deref().filter(|id| !id.is_empty())
}
