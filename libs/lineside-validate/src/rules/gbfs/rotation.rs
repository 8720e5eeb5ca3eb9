//! Detection of vehicles that retain their id after a trip, so that riders could be tracked. An earlier copy of the
//! file is the reference.

use std::collections::HashMap;

use serde_json::Value;

use super::{
    FILE_BYTES_MAX,
    file_check::{GbfsFileCheck, shortened_value_text},
    kinds,
    version::GbfsVersion,
};
use crate::gtfs::haversine_distance_m;

/// The distance in meters from which a vehicle is taken to have made a trip. Positions err by some ten meters, and
/// vehicles that are in the way are moved aside.
const MOVED_M: f64 = 300.0;

/// Returns true if a file is compared with an earlier copy.
pub fn is_compared_with_earlier_copy(file: &str) -> bool {
    vehicle_list_of_file(file).is_some()
}

/// Returns the names of the vehicle list and of its id field, if the file has one.
fn vehicle_list_of_file(file: &str) -> Option<(&'static str, &'static str)> {
    match file {
        "free_bike_status" => Some(("bikes", "bike_id")),
        "vehicle_status" => Some(("vehicles", "vehicle_id")),
        _ => None,
    }
}

/// Reports vehicles that are elsewhere under the id that they had in the earlier copy. Since version 2.0, ids must
/// change after each trip. O(n) in the vehicles of both copies.
pub(super) fn check_vehicle_id_rotation(
    check: &mut GbfsFileCheck<'_>,
    document: &Value,
    previous: &[u8],
) {
    let Some((list, id)) = vehicle_list_of_file(check.file) else { return };
    let previous = previous.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(previous);
    if check.version < GbfsVersion::V2_0 || previous.len() > FILE_BYTES_MAX {
        return;
    }
    // Faults of the earlier copy are not reported here.
    let Ok(previous) = serde_json::from_slice::<Value>(previous) else { return };
    let vehicles = previous["data"][list].as_array().into_iter().flatten();
    let places: HashMap<&str, (f64, f64)> = vehicles
        .filter_map(|vehicle| Some((vehicle[id].as_str()?, vehicle_location(vehicle)?)))
        .collect();
    check.check_each_record(document, list, |check, vehicle| {
        let earlier = vehicle[id].as_str().and_then(|id| places.get(id));
        let (Some(&there), Some(here)) = (earlier, vehicle_location(vehicle)) else { return };
        let distance = haversine_distance_m(there, here);
        if distance > MOVED_M {
            check.check_with_path_appended(id, |check| {
                check.report_at_current_path(&kinds::KEPT_ID, |sample| {
                    sample
                        .set_field("value", shortened_value_text(&vehicle[id]))
                        .set_field("distance", distance.round());
                });
            });
        }
    });
}

/// Returns the location of a vehicle, if it is plausible.
fn vehicle_location(vehicle: &Value) -> Option<(f64, f64)> {
    let (lat, lon) = (vehicle["lat"].as_f64()?, vehicle["lon"].as_f64()?);
    let is_there =
        lat.abs() <= 90.0 && lon.abs() <= 180.0 && (lat.abs() >= 1.0 || lon.abs() >= 1.0);
    is_there.then_some((lat, lon))
}
