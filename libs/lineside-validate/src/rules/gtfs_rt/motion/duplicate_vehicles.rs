//! Checks of vehicles that are in two places or run two trips at once.

use crate::{
    Notices,
    gtfs::{DistinctTexts, haversine_distance_m},
    notice::NoticeKind,
    rules::gtfs_rt::{
        MessageWithContext, RealtimeRule,
        fields::{DISTANCE, ENTITY, OTHER_ENTITY, OTHER_TRIP, TRIP, VEHICLE, new_warning_kind},
        schedule_index::{IndexedTrip, random_hash_seed},
        subject::{TripReferenceWithSchedule, VehicleWithSchedule},
    },
};

pub(super) static RULE: RealtimeRule = RealtimeRule {
    kinds: &[&TWO_PLACES, &TWO_TRIPS],
    on_update: None,
    on_message: Some(check_duplicate_vehicles),
};

static TWO_PLACES: NoticeKind = new_warning_kind(
    "vehicle_in_two_places",
    &[ENTITY, OTHER_ENTITY, VEHICLE, DISTANCE],
    include_str!("vehicle_in_two_places.md"),
);

static TWO_TRIPS: NoticeKind = new_warning_kind(
    "vehicle_on_two_trips",
    &[ENTITY, OTHER_ENTITY, VEHICLE, TRIP, OTHER_TRIP],
    include_str!("vehicle_on_two_trips.md"),
);

/// The distance in meters from which two positions of a vehicle differ.
const DISTANCE_MIN_M: f64 = 500.0;

/// O(entities).
fn check_duplicate_vehicles(subject: &MessageWithContext<'_>, out: &mut Notices) {
    check_same_vehicle_positions(&subject.vehicles, out);
    check_vehicles_on_two_trips(subject, out);
}

/// The first report of each vehicle.
struct FirstReportById<T> {
    ids: DistinctTexts,
    values: Vec<T>,
}

impl<T: Copy> FirstReportById<T> {
    fn new() -> FirstReportById<T> {
        FirstReportById { ids: DistinctTexts::new(random_hash_seed()), values: Vec::new() }
    }

    /// Returns the first report of an id, or adds this one as the first.
    fn first_report_or_insert(&mut self, id: &str, this: T) -> Option<T> {
        let at = self.ids.intern_text(id) as usize;
        let first = self.values.get(at).copied();
        if first.is_none() {
            self.values.push(this);
        }
        first
    }
}

fn check_same_vehicle_positions<'a>(vehicles: &[VehicleWithSchedule<'a>], out: &mut Notices) {
    let mut firsts: FirstReportById<VehicleWithSchedule<'a>> = FirstReportById::new();
    for &vehicle in vehicles {
        let Some(id) = vehicle.vehicle_id().filter(|id| !id.is_empty()) else { continue };
        let Some(other) = firsts.first_report_or_insert(id, vehicle) else { continue };
        let place = |vehicle: VehicleWithSchedule<'_>| {
            let position = vehicle.position.position.as_ref()?;
            Some((f64::from(position.latitude), f64::from(position.longitude)))
        };
        let distance =
            place(other).zip(place(vehicle)).map(|(from, to)| haversine_distance_m(from, to));
        if let Some(distance) = distance.filter(|&meters| meters > DISTANCE_MIN_M) {
            out.count_notice_with_sample(&TWO_PLACES, |sample| {
                sample.set_field("entityId", vehicle.entity.id.as_str()).set_field("vehicleId", id);
                sample.set_field("otherEntityId", other.entity.id.as_str());
                sample.set_field("distance", distance.round() as u64);
            });
        }
        if let (Some(run), Some(first)) = (vehicle.trip_ref(), other.trip_ref()) {
            report_vehicle_on_two_trips(id, run, first, out);
        }
    }
}

/// Checks vehicles with several trip updates. A vehicle may be assigned to successive trips, so only trips that run now
/// count.
fn check_vehicles_on_two_trips(subject: &MessageWithContext<'_>, out: &mut Notices) {
    let Some(&today) = subject.service_days_around_now().get(1) else { return };
    let mut firsts: FirstReportById<TripReferenceWithSchedule<'_>> = FirstReportById::new();
    let time = subject.now - today.start;
    let runs_now = |trip: &IndexedTrip| {
        let span = trip.start.zip(trip.end).filter(|_| !trip.is_frequent);
        let is_now =
            span.is_some_and(|(start, end)| i64::from(start) < time && time < i64::from(end));
        is_now
            && subject.timetable.active_trip_index().does_service_run_on(trip.service, today.number)
                == Some(true)
    };
    for run in subject.updates.iter().map(|update| update.trip_reference()) {
        let Some(id) = run.vehicle_id().filter(|id| !id.is_empty()) else { continue };
        if !run.trip.is_some_and(runs_now) {
            continue;
        }
        if let Some(first) = firsts.first_report_or_insert(id, run) {
            report_vehicle_on_two_trips(id, run, first, out);
        }
    }
}

fn report_vehicle_on_two_trips(
    id: &str,
    run: TripReferenceWithSchedule<'_>,
    first: TripReferenceWithSchedule<'_>,
    out: &mut Notices,
) {
    if let (Some(this), Some(other)) = (nonempty_trip_id(run), nonempty_trip_id(first))
        && this != other
    {
        out.count_notice_with_sample(&TWO_TRIPS, |sample| {
            sample.set_field("entityId", run.entity.id.as_str()).set_field("vehicleId", id);
            sample.set_field("otherEntityId", first.entity.id.as_str());
            sample.set_field("tripId", this).set_field("otherTripId", other);
        });
    }
}

fn nonempty_trip_id(run: TripReferenceWithSchedule<'_>) -> Option<&str> {
    run.descriptor.trip_id.as_deref().filter(|id| !id.is_empty())
}
