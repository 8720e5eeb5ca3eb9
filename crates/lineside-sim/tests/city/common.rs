//! Shared parts of the tests: one city, generated once.

use std::io::Cursor;
use std::sync::{Arc, LazyLock};

use lineside_formats::gtfs::{self, Timetable};
use lineside_formats::gtfs_rt::proto::{
    self, FeedMessage, TripDescriptor, TripUpdate, VehiclePosition,
};
use lineside_sim::{City, CityOptions};
use lineside_sync::UnixMillis;

/// 2026-11-21T13:43:20Z: a Saturday afternoon, so hours, minutes and the week are all shifted.
pub(crate) const START: UnixMillis = UnixMillis(1_795_268_600_000);

pub(crate) static CITY: LazyLock<Arc<City>> =
    LazyLock::new(|| Arc::new(City::generate_city(7, CityOptions::with_start(START))));

/// A second city with the same seed and start.
pub(crate) static TWIN: LazyLock<City> =
    LazyLock::new(|| City::generate_city(7, CityOptions::with_start(START)));

pub(crate) static SCHEDULE: LazyLock<Timetable> = LazyLock::new(|| load(&CITY));

pub(crate) fn written(city: &City) -> Vec<u8> {
    city.write_gtfs(Cursor::new(Vec::new())).unwrap().into_inner()
}

/// Loads the schedule that a city writes, and asserts that it has no problems.
pub(crate) fn load(city: &City) -> Timetable {
    let limits = gtfs::DatasetLimits::default();
    let mut files = gtfs::ZipFiles::new(Cursor::new(written(city)), &limits).unwrap();
    let (timetable, problems) = gtfs::load_timetable(&mut files, &limits).unwrap();
    let shown: Vec<String> =
        problems.retained_problems().iter().take(20).map(ToString::to_string).collect();
    assert_eq!(problems.total_count(), 0, "{shown:#?}");
    timetable
}

/// Returns the instant this many minutes after the start.
pub(crate) fn after(minutes: i64) -> UnixMillis {
    UnixMillis(START.0 + minutes * 60_000)
}

pub(crate) fn vehicles(message: &FeedMessage) -> impl Iterator<Item = &VehiclePosition> {
    message.entity.iter().map(|e| e.vehicle.as_ref().unwrap())
}

pub(crate) fn updates(message: &FeedMessage) -> impl Iterator<Item = &TripUpdate> {
    message.entity.iter().map(|e| e.trip_update.as_ref().unwrap())
}

pub(crate) fn trip_of(vehicle: &VehiclePosition) -> &TripDescriptor {
    vehicle.trip.as_ref().unwrap()
}

pub(crate) fn vehicle_id(vehicle: &VehiclePosition) -> &str {
    vehicle.vehicle.as_ref().unwrap().id.as_deref().unwrap()
}

/// Returns trip, date and time, which identify a trip instance.
pub(crate) fn instance(trip: &TripDescriptor) -> (String, String, Option<String>) {
    (trip.trip_id.clone().unwrap(), trip.start_date.clone().unwrap(), trip.start_time.clone())
}

pub(crate) fn is(
    trip: &TripDescriptor,
    relationship: proto::trip_descriptor::ScheduleRelationship,
) -> bool {
    trip.schedule_relationship == Some(relationship as i32)
}

/// Returns the metres between two places in degrees, accurate enough for a city.
pub(crate) fn metres(a: (f64, f64), b: (f64, f64)) -> f64 {
    let north = (a.0 - b.0) * 111_195.0;
    let east = (a.1 - b.1) * 111_195.0 * a.0.to_radians().cos();
    north.hypot(east)
}
