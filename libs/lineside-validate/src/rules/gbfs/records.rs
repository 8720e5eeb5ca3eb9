//! Checks of the records of a file against each other and against the records of other files.

use serde_json::Value;

use super::{
    field::RecordIdKind,
    file_check::{GbfsFileCheck, shortened_value_text},
    kinds,
    system_index::{FAR_M, StationFacts},
    values::parse_rfc3339,
    version::GbfsVersion,
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
pub(super) fn check_records_of_file(check: &mut GbfsFileCheck<'_>, document: &Value) {
    match check.file {
        "system_information" => check_system_information(check, document),
        "system_regions" => check.system_index.mark_id_file_read(RecordIdKind::Region),
        "system_pricing_plans" => check_pricing_plans(check, document),
        "vehicle_types" => check_vehicle_types(check, document),
        "station_information" => check_stations(check, document),
        "station_status" => check_station_statuses(check, document),
        "free_bike_status" => check_vehicles(check, document, "bikes"),
        "vehicle_status" => check_vehicles(check, document, "vehicles"),
        "vehicle_availability" => check.check_each_record(document, "vehicles", check_availability),
        "system_alerts" => check.check_each_record(document, "alerts", |check, alert| {
            check_period_list(check, alert, "times", "start", "end");
        }),
        "geofencing_zones" => check_geofencing_zones(check, document),
        _ => {}
    }
}

/// Reports a time that lies in the future.
pub(super) fn check_not_in_future(check: &mut GbfsFileCheck<'_>, holder: &Value, name: &str) {
    let Some(at) = parse_gbfs_timestamp(&holder[name]) else { return };
    let ahead = at - check.now;
    if ahead > AHEAD_MAX_S {
        check.check_with_path_appended(name, |check| {
            check.report_at_current_path(&kinds::IN_FUTURE, |sample| {
                sample
                    .set_field("value", shortened_value_text(&holder[name]))
                    .set_field("ahead", ahead);
            });
        });
    }
}

/// Parses a point in time in either version's form.
pub(super) fn parse_gbfs_timestamp(value: &Value) -> Option<i64> {
    match value {
        Value::String(text) => parse_rfc3339(text),
        // A larger number is not a time in seconds.
        value => {
            value.as_f64().filter(|seconds| seconds.abs() < 1e12).map(|seconds| seconds as i64)
        }
    }
}

fn as_nonnegative_count(value: &Value) -> Option<i64> {
    value.as_i64().filter(|count| *count >= 0)
}

/// Parses a boolean in either version's form.
fn as_boolean(value: &Value) -> Option<bool> {
    value.as_bool().or_else(|| value.as_f64().map(|number| number != 0.0))
}

fn check_system_information(check: &mut GbfsFileCheck<'_>, document: &Value) {
    let data = &document["data"];
    let programs = data["rental_apps"].as_object();
    check.system_index.programs =
        Some(programs.into_iter().flat_map(|all| all.keys().cloned()).collect());
    check.check_with_path_appended("data", |check| {
        for (url, day) in
            [("terms_url", "terms_last_updated"), ("privacy_url", "privacy_last_updated")]
        {
            if check.version >= GbfsVersion::V2_3
                && data.get(url).is_some()
                && data.get(day).is_none()
            {
                check.report_missing_field(day, &format!("{url} is present"));
            }
        }
        if check.version >= GbfsVersion::V3_0 {
            check_exclusive_fields(check, data, ["license_id", "license_url"]);
        }
    });
}

/// Reports fields that exclude each other.
fn check_exclusive_fields(check: &mut GbfsFileCheck<'_>, holder: &Value, names: [&str; 2]) {
    if names.iter().all(|name| holder.get(name).is_some()) {
        check.report_at_current_path(&kinds::CONFLICTING_FIELDS, |sample| {
            _ = sample.set_field("fields", names.join(", "))
        });
    }
}

fn check_pricing_plans(check: &mut GbfsFileCheck<'_>, document: &Value) {
    check.system_index.mark_id_file_read(RecordIdKind::Plan);
    check.check_each_record(document, "plans", |check, plan| {
        if check.version >= GbfsVersion::V3_1 {
            check_exclusive_fields(
                check,
                plan,
                ["reservation_price_per_min", "reservation_price_flat_rate"],
            );
        }
    });
}

fn check_vehicle_types(check: &mut GbfsFileCheck<'_>, document: &Value) {
    check.system_index.mark_id_file_read(RecordIdKind::VehicleType);
    check.check_each_record(document, "vehicle_types", |check, vehicle_type| {
        let propulsion = vehicle_type["propulsion_type"].as_str().unwrap_or_default();
        if !MOTORS.contains(&propulsion) {
            return;
        }
        if let Some(id) = vehicle_type["vehicle_type_id"].as_str() {
            check.system_index.motors.insert(id.to_owned());
        }
        if vehicle_type.get("max_range_meters").is_none() {
            check.report_missing_field(
                "max_range_meters",
                &format!("propulsion_type is {propulsion}"),
            );
        }
    });
}

fn record_rental_uri_platforms(check: &mut GbfsFileCheck<'_>, record: &Value) {
    for platform in ["android", "ios"] {
        if record["rental_uris"].get(platform).is_some() {
            let is_own = !check.system_index.is_shared;
            *check.system_index.platforms.entry(platform).or_default() |= is_own;
        }
    }
}

/// Reports a location near 0, 0 or far from the middle of the system.
fn check_location_plausible(
    check: &mut GbfsFileCheck<'_>,
    record: &Value,
    middle: Option<(f64, f64)>,
) {
    let (Some(lat), Some(lon)) = (record["lat"].as_f64(), record["lon"].as_f64()) else { return };
    if lat.abs() > 90.0 || lon.abs() > 180.0 {
        return;
    }
    if lat.abs() < 1.0 && lon.abs() < 1.0 {
        check.report_at_current_path(&kinds::NEAR_ORIGIN, |sample| {
            _ = sample.set_field("lat", lat).set_field("lon", lon)
        });
        return;
    }
    let distance = middle.map_or(0.0, |middle| haversine_distance_m(middle, (lat, lon)));
    if distance > FAR_M {
        check.report_at_current_path(&kinds::FAR_AWAY, |sample| {
            sample.set_field("lat", lat).set_field("lon", lon);
            sample.set_field("distanceKm", (distance / 1_000.0).round());
        });
    }
}

/// Adds the locations of a list to the index, from which the middle of the system is computed.
fn collect_locations(check: &mut GbfsFileCheck<'_>, document: &Value, list: &str) {
    for record in document["data"][list].as_array().into_iter().flatten() {
        if let (Some(lat), Some(lon)) = (record["lat"].as_f64(), record["lon"].as_f64())
            && (lat, lon) != (0.0, 0.0)
        {
            check.system_index.add_location(lat, lon);
        }
    }
}

fn check_stations(check: &mut GbfsFileCheck<'_>, document: &Value) {
    check.system_index.mark_id_file_read(RecordIdKind::Station);
    collect_locations(check, document, "stations");
    let middle = check.system_index.median_location();
    check.check_each_record(document, "stations", |check, record| {
        record_rental_uri_platforms(check, record);
        check_location_plausible(check, record, middle);
        let is = |name: &str| as_boolean(&record[name]).unwrap_or(false);
        if let Some(id) = record["station_id"].as_str() {
            let station = StationFacts {
                capacity: as_nonnegative_count(&record["capacity"]),
                is_open: is("is_virtual_station") || is("is_valet_station"),
            };
            check.system_index.stations.insert(id.to_owned(), station);
        }
    });
}

fn check_station_statuses(check: &mut GbfsFileCheck<'_>, document: &Value) {
    check.system_index.mark_id_file_read(RecordIdKind::StationState);
    check.check_each_record(document, "stations", check_station_status);
    let missing: Vec<String> =
        check.system_index.stations_without_status().into_iter().map(str::to_owned).collect();
    for id in missing {
        check.report_at_current_path(&kinds::STATION_WITHOUT_STATUS, |sample| {
            _ = sample.set_field("stationId", id)
        });
    }
}

fn check_station_status(check: &mut GbfsFileCheck<'_>, record: &Value) {
    check_not_in_future(check, record, "last_reported");
    let name = if check.version < GbfsVersion::V3_0 {
        "num_bikes_available"
    } else {
        "num_vehicles_available"
    };
    let id = record["station_id"].as_str().unwrap_or_default();
    let station = check.system_index.stations.get(id).copied().unwrap_or_default();
    if let (Some(capacity), Some(available)) =
        (station.capacity, as_nonnegative_count(&record[name]))
        && available > capacity
        && !station.is_open
    {
        check.check_with_path_appended(name, |check| {
            check.report_at_current_path(&kinds::OVER_CAPACITY, |sample| {
                sample.set_field("count", available).set_field("capacity", capacity);
            });
        });
    }
    check_count_equals_sum(check, record, name, "vehicle_types_available", |declared, sum| {
        declared == sum
    });
    // A dock for several vehicle types is counted with each of them.
    check_count_equals_sum(
        check,
        record,
        "num_docks_available",
        "vehicle_docks_available",
        |declared, sum| declared <= sum,
    );
    if as_boolean(&record["is_installed"]) == Some(false)
        && as_boolean(&record["is_renting"]) == Some(true)
    {
        check.report_at_current_path(&kinds::NOT_INSTALLED, |_| {});
    }
    let has_types = check.version >= GbfsVersion::V2_1
        && check.system_index.was_id_file_read(RecordIdKind::VehicleType);
    if has_types && record.get("vehicle_types_available").is_none() {
        check.report_missing_field("vehicle_types_available", "vehicle_types.json exists");
    }
}

/// Compares a count with the sum of its parts.
fn check_count_equals_sum(
    check: &mut GbfsFileCheck<'_>,
    record: &Value,
    name: &str,
    parts: &str,
    fits: fn(i64, i64) -> bool,
) {
    let (Some(declared), Some(parts)) =
        (as_nonnegative_count(&record[name]), record[parts].as_array())
    else {
        return;
    };
    let counts: Option<Vec<i64>> =
        parts.iter().map(|part| as_nonnegative_count(&part["count"])).collect();
    let Some(sum) = counts.and_then(|counts| counts.into_iter().try_fold(0, i64::checked_add))
    else {
        return;
    };
    if !fits(declared, sum) {
        check.check_with_path_appended(name, |check| {
            check.report_at_current_path(&kinds::COUNT_UNLIKE_SUM, |sample| {
                _ = sample.set_field("count", declared).set_field("sum", sum)
            });
        });
    }
}

fn check_vehicles(check: &mut GbfsFileCheck<'_>, document: &Value, list: &str) {
    if check.system_index.median_location().is_none() {
        collect_locations(check, document, list);
    }
    let middle = check.system_index.median_location();
    check.check_each_record(document, list, |look, record| check_vehicle(look, record, middle));
}

fn check_vehicle(check: &mut GbfsFileCheck<'_>, record: &Value, middle: Option<(f64, f64)>) {
    record_rental_uri_platforms(check, record);
    check_not_in_future(check, record, "last_reported");
    check_location_plausible(check, record, middle);
    let has = |name: &str| record.get(name).is_some();
    if check.version < GbfsVersion::V2_1 {
        return;
    }
    match (has("lat"), has("lon")) {
        (true, true) => {}
        (true, false) => check.report_missing_field("lon", "lat is present"),
        (false, true) => check.report_missing_field("lat", "lon is present"),
        (false, false) if has("station_id") => {}
        (false, false) => check.report_missing_field("lat", "the vehicle has no station_id"),
    }
    if check.system_index.was_id_file_read(RecordIdKind::VehicleType) && !has("vehicle_type_id") {
        check.report_missing_field("vehicle_type_id", "vehicle_types.json exists");
    }
    let has_motor =
        record["vehicle_type_id"].as_str().is_some_and(|id| check.system_index.motors.contains(id));
    if has_motor && !has("current_range_meters") {
        check.report_missing_field("current_range_meters", "the vehicle has a motor");
    }
}

fn check_availability(check: &mut GbfsFileCheck<'_>, record: &Value) {
    check_period_list(check, record, "availabilities", "from", "until");
}

fn check_period_list(
    check: &mut GbfsFileCheck<'_>,
    record: &Value,
    list: &str,
    from: &str,
    to: &str,
) {
    for (at, period) in record[list].as_array().into_iter().flatten().enumerate() {
        check.check_with_path_appended(list, |check| {
            check.check_with_path_appended(&at.to_string(), |look| {
                check_period_order(look, period, from, to)
            })
        });
    }
}

fn check_period_order(check: &mut GbfsFileCheck<'_>, period: &Value, from: &str, to: &str) {
    if let (Some(start), Some(end)) =
        (parse_gbfs_timestamp(&period[from]), parse_gbfs_timestamp(&period[to]))
        && end < start
    {
        check.report_at_current_path(&kinds::OUT_OF_ORDER, |sample| {
            sample
                .set_field("start", shortened_value_text(&period[from]))
                .set_field("end", shortened_value_text(&period[to]));
        });
    }
}

fn check_geofencing_zones(check: &mut GbfsFileCheck<'_>, document: &Value) {
    let features = &document["data"]["geofencing_zones"]["features"];
    for (at, zone) in features.as_array().into_iter().flatten().enumerate() {
        let place = ["data", "geofencing_zones", "features", &at.to_string(), "properties"];
        check_with_path_names_appended(check, &place, |check| {
            check_period_order(check, &zone["properties"], "start", "end")
        });
    }
}

/// Runs a check below a path of names.
fn check_with_path_names_appended(
    check: &mut GbfsFileCheck<'_>,
    names: &[&str],
    then: impl FnOnce(&mut GbfsFileCheck<'_>),
) {
    match names.split_first() {
        Some((name, rest)) => check.check_with_path_appended(name, |look| {
            check_with_path_names_appended(look, rest, then)
        }),
        None => then(check),
    }
}
