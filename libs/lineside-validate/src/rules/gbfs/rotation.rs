//! Vehicles whose ids stay over a trip, by which riders could be followed: told by the same system some time before.

use std::collections::HashMap;

use serde_json::Value;

use super::{
    FILE_BYTES_MAX,
    file_check::{FileCheck, quote_value},
    kinds,
    version::SpecVersion,
};
use crate::gtfs::haversine_distance_m;

/// How far a vehicle is from where it was if it made a trip, in meters. Positions are some ten meters off, and vehicles
/// that are in the way are put aside.
const MOVED_M: f64 = 300.0;

/// Whether a file is held against what it was before.
pub fn is_compared_file(file: &str) -> bool {
    vehicle_list_of_file(file).is_some()
}

/// What the vehicles of a file are called, and their ids, if it has any.
fn vehicle_list_of_file(file: &str) -> Option<(&'static str, &'static str)> {
    match file {
        "free_bike_status" => Some(("bikes", "bike_id")),
        "vehicle_status" => Some(("vehicles", "vehicle_id")),
        _ => None,
    }
}

/// Looks for vehicles of a file that are elsewhere under the id that they had in the same file before. Ids have to
/// change after each trip since version 2.0. O(n) in the vehicles of both.
pub(super) fn check_id_rotation(look: &mut FileCheck<'_>, document: &Value, before: &[u8]) {
    let Some((list, id)) = vehicle_list_of_file(look.file) else { return };
    let before = before.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(before);
    if look.version < SpecVersion::V2_0 || before.len() > FILE_BYTES_MAX {
        return;
    }
    // What is wrong with the file as it was before is not asked here.
    let Ok(before) = serde_json::from_slice::<Value>(before) else { return };
    let vehicles = before["data"][list].as_array().into_iter().flatten();
    let places: HashMap<&str, (f64, f64)> = vehicles
        .filter_map(|vehicle| Some((vehicle[id].as_str()?, vehicle_location(vehicle)?)))
        .collect();
    look.check_each_record(document, list, |look, vehicle| {
        let earlier = vehicle[id].as_str().and_then(|id| places.get(id));
        let (Some(&there), Some(here)) = (earlier, vehicle_location(vehicle)) else { return };
        let distance = haversine_distance_m(there, here);
        if distance > MOVED_M {
            look.check_below(id, |look| {
                look.report_here(&kinds::KEPT_ID, |sample| {
                    sample
                        .set_field("value", quote_value(&vehicle[id]))
                        .set_field("distance", distance.round());
                });
            });
        }
    });
}

/// Where a vehicle is, if that can be.
fn vehicle_location(vehicle: &Value) -> Option<(f64, f64)> {
    let (lat, lon) = (vehicle["lat"].as_f64()?, vehicle["lon"].as_f64()?);
    let is_there =
        lat.abs() <= 90.0 && lon.abs() <= 180.0 && (lat.abs() >= 1.0 || lon.abs() >= 1.0);
    is_there.then_some((lat, lon))
}
