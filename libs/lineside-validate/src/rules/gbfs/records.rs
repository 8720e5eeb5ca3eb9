//! Checks of the records of a file against each other and against the records of other files.

use serde_json::Value;

use super::{
    field::RecordIdKind,
    file_check::{FileCheck, quote_value},
    kinds,
    system_index::{FAR_M, StationEntry},
    values::parse_rfc3339,
    version::SpecVersion,
};
use crate::gtfs::haversine_distance_m;

/// The largest accepted lead of a timestamp over our clock, in seconds.
const AHEAD_MAX_S: i64 = 300;
/// The propulsion types of vehicles with a motor.
const MOTORS: &[&str] = &[
    "electric_assist",
    "electric",
    "combustion",
    "combustion_diesel",
    "hybrid",
    "plug_in_hybrid",
    "hydrogen_fuel_cell",
];

/// Checks the records of a file after its fields were checked.
pub(super) fn check_records(look: &mut FileCheck<'_>, document: &Value) {
    match look.file {
        "system_information" => check_system(look, document),
        "system_regions" => look.known.mark_file_read(RecordIdKind::Region),
        "system_pricing_plans" => check_pricing_plans(look, document),
        "vehicle_types" => check_vehicle_types(look, document),
        "station_information" => check_stations(look, document),
        "station_status" => check_station_states(look, document),
        "free_bike_status" => check_vehicles(look, document, "bikes"),
        "vehicle_status" => check_vehicles(look, document, "vehicles"),
        "vehicle_availability" => look.check_each_record(document, "vehicles", check_availability),
        "system_alerts" => look.check_each_record(document, "alerts", |look, alert| {
            check_periods(look, alert, "times", "start", "end");
        }),
        "geofencing_zones" => check_geofencing_zones(look, document),
        _ => {}
    }
}

/// Reports a time that lies in the future.
pub(super) fn check_not_in_future(look: &mut FileCheck<'_>, holder: &Value, name: &str) {
    let Some(at) = parse_time(&holder[name]) else { return };
    let ahead = at - look.now;
    if ahead > AHEAD_MAX_S {
        look.check_below(name, |look| {
            look.report_here(&kinds::IN_FUTURE, |sample| {
                sample.set_field("value", quote_value(&holder[name])).set_field("ahead", ahead);
            });
        });
    }
}

/// Parses a point in time in either version's form.
pub(super) fn parse_time(value: &Value) -> Option<i64> {
    match value {
        Value::String(text) => parse_rfc3339(text),
        // A larger number is not a time in seconds.
        value => {
            value.as_f64().filter(|seconds| seconds.abs() < 1e12).map(|seconds| seconds as i64)
        }
    }
}

/// Returns a value as a count, if it is one.
fn as_count(value: &Value) -> Option<i64> {
    value.as_i64().filter(|count| *count >= 0)
}

/// Parses a boolean in either version's form.
fn as_flag(value: &Value) -> Option<bool> {
    value.as_bool().or_else(|| value.as_f64().map(|number| number != 0.0))
}

fn check_system(look: &mut FileCheck<'_>, document: &Value) {
    let data = &document["data"];
    let programs = data["rental_apps"].as_object();
    look.known.programs = Some(programs.into_iter().flat_map(|all| all.keys().cloned()).collect());
    look.check_below("data", |look| {
        for (url, day) in
            [("terms_url", "terms_last_updated"), ("privacy_url", "privacy_last_updated")]
        {
            if look.version >= SpecVersion::V2_3
                && data.get(url).is_some()
                && data.get(day).is_none()
            {
                look.report_missing(day, &format!("{url} is present"));
            }
        }
        if look.version >= SpecVersion::V3_0 {
            check_exclusive_fields(look, data, ["license_id", "license_url"]);
        }
    });
}

/// Reports fields that exclude each other.
fn check_exclusive_fields(look: &mut FileCheck<'_>, holder: &Value, names: [&str; 2]) {
    if names.iter().all(|name| holder.get(name).is_some()) {
        look.report_here(&kinds::CONFLICTING_FIELDS, |sample| {
            _ = sample.set_field("fields", names.join(", "))
        });
    }
}

fn check_pricing_plans(look: &mut FileCheck<'_>, document: &Value) {
    look.known.mark_file_read(RecordIdKind::Plan);
    look.check_each_record(document, "plans", |look, plan| {
        if look.version >= SpecVersion::V3_1 {
            check_exclusive_fields(
                look,
                plan,
                ["reservation_price_per_min", "reservation_price_flat_rate"],
            );
        }
    });
}

fn check_vehicle_types(look: &mut FileCheck<'_>, document: &Value) {
    look.known.mark_file_read(RecordIdKind::VehicleType);
    look.check_each_record(document, "vehicle_types", |look, of| {
        let propulsion = of["propulsion_type"].as_str().unwrap_or_default();
        if !MOTORS.contains(&propulsion) {
            return;
        }
        if let Some(id) = of["vehicle_type_id"].as_str() {
            look.known.motors.insert(id.to_owned());
        }
        if of.get("max_range_meters").is_none() {
            look.report_missing("max_range_meters", &format!("propulsion_type is {propulsion}"));
        }
    });
}

fn check_platforms(look: &mut FileCheck<'_>, record: &Value) {
    for platform in ["android", "ios"] {
        if record["rental_uris"].get(platform).is_some() {
            let is_own = !look.known.is_shared;
            *look.known.platforms.entry(platform).or_default() |= is_own;
        }
    }
}

/// Reports a location near 0, 0 or far from the middle of the system.
fn check_location(look: &mut FileCheck<'_>, record: &Value, middle: Option<(f64, f64)>) {
    let (Some(lat), Some(lon)) = (record["lat"].as_f64(), record["lon"].as_f64()) else { return };
    if lat.abs() > 90.0 || lon.abs() > 180.0 {
        return;
    }
    if lat.abs() < 1.0 && lon.abs() < 1.0 {
        look.report_here(&kinds::NEAR_ORIGIN, |sample| {
            _ = sample.set_field("lat", lat).set_field("lon", lon)
        });
        return;
    }
    let distance = middle.map_or(0.0, |middle| haversine_distance_m(middle, (lat, lon)));
    if distance > FAR_M {
        look.report_here(&kinds::FAR_AWAY, |sample| {
            sample.set_field("lat", lat).set_field("lon", lon);
            sample.set_field("distanceKm", (distance / 1_000.0).round());
        });
    }
}

/// Adds the locations of a list to the index, from which the middle of the system is computed.
fn collect_locations(look: &mut FileCheck<'_>, document: &Value, list: &str) {
    for record in document["data"][list].as_array().into_iter().flatten() {
        if let (Some(lat), Some(lon)) = (record["lat"].as_f64(), record["lon"].as_f64())
            && (lat, lon) != (0.0, 0.0)
        {
            look.known.add_point(lat, lon);
        }
    }
}

fn check_stations(look: &mut FileCheck<'_>, document: &Value) {
    look.known.mark_file_read(RecordIdKind::Station);
    collect_locations(look, document, "stations");
    let middle = look.known.median_point();
    look.check_each_record(document, "stations", |look, record| {
        check_platforms(look, record);
        check_location(look, record, middle);
        let is = |name: &str| as_flag(&record[name]).unwrap_or(false);
        if let Some(id) = record["station_id"].as_str() {
            let station = StationEntry {
                capacity: as_count(&record["capacity"]),
                is_open: is("is_virtual_station") || is("is_valet_station"),
            };
            look.known.stations.insert(id.to_owned(), station);
        }
    });
}

fn check_station_states(look: &mut FileCheck<'_>, document: &Value) {
    look.known.mark_file_read(RecordIdKind::StationState);
    look.check_each_record(document, "stations", check_station_state);
    let missing: Vec<String> =
        look.known.stations_without_status().into_iter().map(str::to_owned).collect();
    for id in missing {
        look.report_here(&kinds::STATION_WITHOUT_STATUS, |sample| {
            _ = sample.set_field("stationId", id)
        });
    }
}

fn check_station_state(look: &mut FileCheck<'_>, record: &Value) {
    check_not_in_future(look, record, "last_reported");
    let name = if look.version < SpecVersion::V3_0 {
        "num_bikes_available"
    } else {
        "num_vehicles_available"
    };
    let id = record["station_id"].as_str().unwrap_or_default();
    let station = look.known.stations.get(id).copied().unwrap_or_default();
    if let (Some(capacity), Some(there)) = (station.capacity, as_count(&record[name]))
        && there > capacity
        && !station.is_open
    {
        look.check_below(name, |look| {
            look.report_here(&kinds::OVER_CAPACITY, |sample| {
                sample.set_field("count", there).set_field("capacity", capacity);
            });
        });
    }
    check_sum(look, record, name, "vehicle_types_available", |said, sum| said == sum);
    // A dock for several vehicle types is counted with each of them.
    check_sum(look, record, "num_docks_available", "vehicle_docks_available", |said, sum| {
        said <= sum
    });
    if as_flag(&record["is_installed"]) == Some(false)
        && as_flag(&record["is_renting"]) == Some(true)
    {
        look.report_here(&kinds::NOT_INSTALLED, |_| {});
    }
    let has_types =
        look.version >= SpecVersion::V2_1 && look.known.has_file_read(RecordIdKind::VehicleType);
    if has_types && record.get("vehicle_types_available").is_none() {
        look.report_missing("vehicle_types_available", "vehicle_types.json exists");
    }
}

/// Compares a count with the sum of its parts.
fn check_sum(
    look: &mut FileCheck<'_>,
    record: &Value,
    name: &str,
    parts: &str,
    fits: fn(i64, i64) -> bool,
) {
    let (Some(said), Some(parts)) = (as_count(&record[name]), record[parts].as_array()) else {
        return;
    };
    let counts: Option<Vec<i64>> = parts.iter().map(|part| as_count(&part["count"])).collect();
    let Some(sum) = counts.and_then(|counts| counts.into_iter().try_fold(0, i64::checked_add))
    else {
        return;
    };
    if !fits(said, sum) {
        look.check_below(name, |look| {
            look.report_here(&kinds::COUNT_UNLIKE_SUM, |sample| {
                _ = sample.set_field("count", said).set_field("sum", sum)
            });
        });
    }
}

fn check_vehicles(look: &mut FileCheck<'_>, document: &Value, list: &str) {
    if look.known.median_point().is_none() {
        collect_locations(look, document, list);
    }
    let middle = look.known.median_point();
    look.check_each_record(document, list, |look, record| check_vehicle(look, record, middle));
}

fn check_vehicle(look: &mut FileCheck<'_>, record: &Value, middle: Option<(f64, f64)>) {
    check_platforms(look, record);
    check_not_in_future(look, record, "last_reported");
    check_location(look, record, middle);
    let has = |name: &str| record.get(name).is_some();
    if look.version < SpecVersion::V2_1 {
        return;
    }
    match (has("lat"), has("lon")) {
        (true, true) => {}
        (true, false) => look.report_missing("lon", "lat is present"),
        (false, true) => look.report_missing("lat", "lon is present"),
        (false, false) if has("station_id") => {}
        (false, false) => look.report_missing("lat", "the vehicle has no station_id"),
    }
    if look.known.has_file_read(RecordIdKind::VehicleType) && !has("vehicle_type_id") {
        look.report_missing("vehicle_type_id", "vehicle_types.json exists");
    }
    let has_motor =
        record["vehicle_type_id"].as_str().is_some_and(|id| look.known.motors.contains(id));
    if has_motor && !has("current_range_meters") {
        look.report_missing("current_range_meters", "the vehicle has a motor");
    }
}

fn check_availability(look: &mut FileCheck<'_>, record: &Value) {
    check_periods(look, record, "availabilities", "from", "until");
}

fn check_periods(look: &mut FileCheck<'_>, record: &Value, list: &str, from: &str, to: &str) {
    for (at, period) in record[list].as_array().into_iter().flatten().enumerate() {
        look.check_below(list, |look| {
            look.check_below(&at.to_string(), |look| check_period_order(look, period, from, to))
        });
    }
}

fn check_period_order(look: &mut FileCheck<'_>, period: &Value, from: &str, to: &str) {
    if let (Some(start), Some(end)) = (parse_time(&period[from]), parse_time(&period[to]))
        && end < start
    {
        look.report_here(&kinds::OUT_OF_ORDER, |sample| {
            sample
                .set_field("start", quote_value(&period[from]))
                .set_field("end", quote_value(&period[to]));
        });
    }
}

fn check_geofencing_zones(look: &mut FileCheck<'_>, document: &Value) {
    let features = &document["data"]["geofencing_zones"]["features"];
    for (at, zone) in features.as_array().into_iter().flatten().enumerate() {
        let place = ["data", "geofencing_zones", "features", &at.to_string(), "properties"];
        check_below_names(look, &place, |look| {
            check_period_order(look, &zone["properties"], "start", "end")
        });
    }
}

/// Runs a check below a path of names.
fn check_below_names(
    look: &mut FileCheck<'_>,
    names: &[&str],
    then: impl FnOnce(&mut FileCheck<'_>),
) {
    match names.split_first() {
        Some((name, rest)) => look.check_below(name, |look| check_below_names(look, rest, then)),
        None => then(look),
    }
}
