//! Removal of impossible vehicle positions, which a map would show in the sea or not at all.

use lineside_formats::{
    Problem,
    gtfs_rt::proto::{Position, VehiclePosition},
};

const LATITUDE: &str = "vehicle.position.latitude";
const LONGITUDE: &str = "vehicle.position.longitude";
const LATITUDE_MAX: f32 = 90.0;
const LONGITUDE_MAX: f32 = 180.0;
/// Degrees around 0, 0 in which no vehicle runs; trackers without a fix report this position. The same limit applies to
/// stops.
const NEAR_ORIGIN: f32 = 1.0;

/// Removes an impossible position from the vehicle and returns the problem.
pub(super) fn remove_invalid_position(vehicle: &mut VehiclePosition) -> Option<Problem> {
    let fault = find_position_problem(vehicle.position.as_ref()?)?;
    vehicle.position = None;
    Some(fault)
}

fn find_position_problem(position: &Position) -> Option<Problem> {
    let (lat, lon) = (position.latitude, position.longitude);
    let outside = |field, degrees: f32, max: f32| {
        let detail = || {
            format!("{degrees} is not between -{max} and {max} degrees; the position is dropped")
        };
        let inside = degrees.abs() <= max;
        (!inside).then(|| Problem::new("entity", "number_out_of_range", detail()).with_field(field))
    };
    let near_origin = || {
        let detail = format!(
            "{lat}, {lon} is close to 0, 0, where no vehicle runs; the position is dropped"
        );
        let is_near = lat.abs() <= NEAR_ORIGIN && lon.abs() <= NEAR_ORIGIN;
        let problem = || Problem::new("entity", "point_near_origin", detail).with_field(LATITUDE);
        is_near.then(problem)
    };
    outside(LATITUDE, lat, LATITUDE_MAX)
        .or_else(|| outside(LONGITUDE, lon, LONGITUDE_MAX))
        .or_else(near_origin)
}
