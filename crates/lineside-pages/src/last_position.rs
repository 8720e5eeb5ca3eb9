//! The last known position of a trip's vehicle, for the page of a trip that has ended.

use lineside_formats::gtfs::Timetable;
use lineside_model::{TripCall, TripRun};

/// A vehicle farther away than this from a stop, in metres, is not near it.
const NEAR_METRES_MAX: f64 = 3000.0;
/// Metres of a degree of latitude.
const DEGREE_METRES: f64 = 111_200.0;

/// The last position that the vehicle of a trip has reported.
#[derive(Debug, PartialEq)]
pub(super) struct LastPosition<'a> {
    /// The call nearest to the position, if one is near.
    pub(super) near: Option<&'a TripCall>,
    /// The time of the position in Unix seconds.
    pub(super) at: i64,
}

/// Finds the last position of a trip's vehicle; `None` if its place or its time is not known.
pub(super) fn find_last_position<'a>(
    timetable: &Timetable,
    run: &'a TripRun,
) -> Option<LastPosition<'a>> {
    let vehicle = run.vehicle.as_ref()?;
    let position = vehicle.position()?;
    let at = i64::try_from(vehicle.vehicle()?.timestamp?).ok()?;
    Some(LastPosition { near: find_nearest_call(timetable, &run.calls, position), at })
}

/// Returns the call nearest to a position, latitude and longitude; `None` if none is near.
fn find_nearest_call<'a>(
    timetable: &Timetable,
    calls: &'a [TripCall],
    (lat, lon): (f64, f64),
) -> Option<&'a TripCall> {
    let placed = calls.iter().filter_map(|call| {
        let stop = timetable.stop(call.stop?);
        let north = (stop.lat? - lat) * DEGREE_METRES;
        let east = (stop.lon? - lon) * DEGREE_METRES * lat.to_radians().cos();
        Some((north.hypot(east), call))
    });
    let (metres, nearest) = placed.min_by(|(a, _), (b, _)| a.total_cmp(b))?;
    (metres <= NEAR_METRES_MAX).then_some(nearest)
}
