//! What the records of a file must keep to among themselves and with those of other files.

use serde_json::Value;

use super::{
    field::Of,
    kinds,
    known::{FAR_M, Station},
    look::{Look, quoted},
    values::instant,
    version::Version,
};
use crate::gtfs::haversine_m;

/// How far a clock may be ahead of ours, in seconds.
const AHEAD_MAX_S: i64 = 300;
/// The propulsions of vehicles with a motor.
const MOTORS: &[&str] = &[
    "electric_assist",
    "electric",
    "combustion",
    "combustion_diesel",
    "hybrid",
    "plug_in_hybrid",
    "hydrogen_fuel_cell",
];

/// Looks at the records of a file whose fields were looked at.
pub(super) fn look(look: &mut Look<'_>, document: &Value) {
    match look.file {
        "system_information" => system(look, document),
        "system_regions" => look.known.read(Of::Region),
        "system_pricing_plans" => plans(look, document),
        "vehicle_types" => types(look, document),
        "station_information" => stations(look, document),
        "station_status" => states(look, document),
        "free_bike_status" => vehicles(look, document, "bikes"),
        "vehicle_status" => vehicles(look, document, "vehicles"),
        "vehicle_availability" => look.each(document, "vehicles", availability),
        "system_alerts" => look.each(document, "alerts", |look, alert| {
            periods(look, alert, "times", "start", "end");
        }),
        "geofencing_zones" => zones(look, document),
        _ => {}
    }
}

/// Says that of a time that has not come yet.
pub(super) fn future(look: &mut Look<'_>, holder: &Value, name: &str) {
    let Some(at) = time(&holder[name]) else { return };
    let ahead = at - look.now;
    if ahead > AHEAD_MAX_S {
        look.at(name, |look| {
            look.say(&kinds::IN_FUTURE, |sample| {
                sample.put("value", quoted(&holder[name])).put("ahead", ahead);
            });
        });
    }
}

/// A point in time, as either version has it.
pub(super) fn time(value: &Value) -> Option<i64> {
    match value {
        Value::String(text) => instant(text),
        // Beyond what a number of seconds can be, it is no time.
        value => {
            value.as_f64().filter(|seconds| seconds.abs() < 1e12).map(|seconds| seconds as i64)
        }
    }
}

/// A count, as far as it is one.
fn count(value: &Value) -> Option<i64> {
    value.as_i64().filter(|count| *count >= 0)
}

/// Yes or no, in either form.
fn flag(value: &Value) -> Option<bool> {
    value.as_bool().or_else(|| value.as_f64().map(|number| number != 0.0))
}

fn system(look: &mut Look<'_>, document: &Value) {
    let data = &document["data"];
    let programs = data["rental_apps"].as_object();
    look.known.programs = Some(programs.into_iter().flat_map(|all| all.keys().cloned()).collect());
    look.at("data", |look| {
        for (url, day) in
            [("terms_url", "terms_last_updated"), ("privacy_url", "privacy_last_updated")]
        {
            if look.version >= Version::V2_3 && data.get(url).is_some() && data.get(day).is_none() {
                look.missing(day, &format!("{url} is there"));
            }
        }
        if look.version >= Version::V3_0 {
            either(look, data, ["license_id", "license_url"]);
        }
    });
}

/// Says it if fields are there of which only one may be.
fn either(look: &mut Look<'_>, holder: &Value, names: [&str; 2]) {
    if names.iter().all(|name| holder.get(name).is_some()) {
        look.say(&kinds::CONFLICTING_FIELDS, |sample| _ = sample.put("fields", names.join(", ")));
    }
}

fn plans(look: &mut Look<'_>, document: &Value) {
    look.known.read(Of::Plan);
    look.each(document, "plans", |look, plan| {
        if look.version >= Version::V3_1 {
            either(look, plan, ["reservation_price_per_min", "reservation_price_flat_rate"]);
        }
    });
}

fn types(look: &mut Look<'_>, document: &Value) {
    look.known.read(Of::VehicleType);
    look.each(document, "vehicle_types", |look, of| {
        let propulsion = of["propulsion_type"].as_str().unwrap_or_default();
        if !MOTORS.contains(&propulsion) {
            return;
        }
        if let Some(id) = of["vehicle_type_id"].as_str() {
            look.known.motors.insert(id.to_owned());
        }
        if of.get("max_range_meters").is_none() {
            look.missing("max_range_meters", &format!("propulsion_type is {propulsion}"));
        }
    });
}

fn platforms(look: &mut Look<'_>, record: &Value) {
    for platform in ["android", "ios"] {
        if record["rental_uris"].get(platform).is_some() {
            let is_own = !look.known.is_shared;
            *look.known.platforms.entry(platform).or_default() |= is_own;
        }
    }
}

/// Says that of a place that cannot be right, and takes others in.
fn place(look: &mut Look<'_>, record: &Value, middle: Option<(f64, f64)>) {
    let (Some(lat), Some(lon)) = (record["lat"].as_f64(), record["lon"].as_f64()) else { return };
    if lat.abs() > 90.0 || lon.abs() > 180.0 {
        return;
    }
    if lat.abs() < 1.0 && lon.abs() < 1.0 {
        look.say(&kinds::NEAR_ORIGIN, |sample| _ = sample.put("lat", lat).put("lon", lon));
        return;
    }
    let distance = middle.map_or(0.0, |middle| haversine_m(middle, (lat, lon)));
    if distance > FAR_M {
        look.say(&kinds::FAR_AWAY, |sample| {
            sample.put("lat", lat).put("lon", lon);
            sample.put("distanceKm", (distance / 1_000.0).round());
        });
    }
}

/// Takes the places of a list in, so that the middle of the system is known.
fn gather(look: &mut Look<'_>, document: &Value, list: &str) {
    for record in document["data"][list].as_array().into_iter().flatten() {
        if let (Some(lat), Some(lon)) = (record["lat"].as_f64(), record["lon"].as_f64())
            && (lat, lon) != (0.0, 0.0)
        {
            look.known.add_point(lat, lon);
        }
    }
}

fn stations(look: &mut Look<'_>, document: &Value) {
    look.known.read(Of::Station);
    gather(look, document, "stations");
    let middle = look.known.middle();
    look.each(document, "stations", |look, record| {
        platforms(look, record);
        place(look, record, middle);
        let is = |name: &str| flag(&record[name]).unwrap_or(false);
        if let Some(id) = record["station_id"].as_str() {
            let station = Station {
                capacity: count(&record["capacity"]),
                is_open: is("is_virtual_station") || is("is_valet_station"),
            };
            look.known.stations.insert(id.to_owned(), station);
        }
    });
}

fn states(look: &mut Look<'_>, document: &Value) {
    look.known.read(Of::StationState);
    look.each(document, "stations", state);
    let missing: Vec<String> =
        look.known.stations_without_state().into_iter().map(str::to_owned).collect();
    for id in missing {
        look.say(&kinds::STATION_WITHOUT_STATUS, |sample| _ = sample.put("stationId", id));
    }
}

fn state(look: &mut Look<'_>, record: &Value) {
    future(look, record, "last_reported");
    let name =
        if look.version < Version::V3_0 { "num_bikes_available" } else { "num_vehicles_available" };
    let id = record["station_id"].as_str().unwrap_or_default();
    let station = look.known.stations.get(id).copied().unwrap_or_default();
    if let (Some(capacity), Some(there)) = (station.capacity, count(&record[name]))
        && there > capacity
        && !station.is_open
    {
        look.at(name, |look| {
            look.say(&kinds::OVER_CAPACITY, |sample| {
                sample.put("count", there).put("capacity", capacity);
            });
        });
    }
    sum(look, record, name, "vehicle_types_available", |said, sum| said == sum);
    // A dock for several types is counted with each.
    sum(look, record, "num_docks_available", "vehicle_docks_available", |said, sum| said <= sum);
    if flag(&record["is_installed"]) == Some(false) && flag(&record["is_renting"]) == Some(true) {
        look.say(&kinds::NOT_INSTALLED, |_| {});
    }
    let has_types = look.version >= Version::V2_1 && look.known.has_read(Of::VehicleType);
    if has_types && record.get("vehicle_types_available").is_none() {
        look.missing("vehicle_types_available", "vehicle_types.json is there");
    }
}

/// Holds a count against what its parts come to.
fn sum(look: &mut Look<'_>, record: &Value, name: &str, parts: &str, fits: fn(i64, i64) -> bool) {
    let (Some(said), Some(parts)) = (count(&record[name]), record[parts].as_array()) else {
        return;
    };
    let counts: Option<Vec<i64>> = parts.iter().map(|part| count(&part["count"])).collect();
    let Some(sum) = counts.and_then(|counts| counts.into_iter().try_fold(0, i64::checked_add))
    else {
        return;
    };
    if !fits(said, sum) {
        look.at(name, |look| {
            look.say(&kinds::COUNT_UNLIKE_SUM, |sample| {
                _ = sample.put("count", said).put("sum", sum)
            });
        });
    }
}

fn vehicles(look: &mut Look<'_>, document: &Value, list: &str) {
    if look.known.middle().is_none() {
        gather(look, document, list);
    }
    let middle = look.known.middle();
    look.each(document, list, |look, record| vehicle(look, record, middle));
}

fn vehicle(look: &mut Look<'_>, record: &Value, middle: Option<(f64, f64)>) {
    platforms(look, record);
    future(look, record, "last_reported");
    place(look, record, middle);
    let has = |name: &str| record.get(name).is_some();
    if look.version < Version::V2_1 {
        return;
    }
    match (has("lat"), has("lon")) {
        (true, true) => {}
        (true, false) => look.missing("lon", "lat is there"),
        (false, true) => look.missing("lat", "lon is there"),
        (false, false) if has("station_id") => {}
        (false, false) => look.missing("lat", "the vehicle is at no station"),
    }
    if look.known.has_read(Of::VehicleType) && !has("vehicle_type_id") {
        look.missing("vehicle_type_id", "vehicle_types.json is there");
    }
    let has_motor =
        record["vehicle_type_id"].as_str().is_some_and(|id| look.known.motors.contains(id));
    if has_motor && !has("current_range_meters") {
        look.missing("current_range_meters", "the vehicle has a motor");
    }
}

fn availability(look: &mut Look<'_>, record: &Value) {
    periods(look, record, "availabilities", "from", "until");
}

fn periods(look: &mut Look<'_>, record: &Value, list: &str, from: &str, to: &str) {
    for (at, period) in record[list].as_array().into_iter().flatten().enumerate() {
        look.at(list, |look| look.at(&at.to_string(), |look| order(look, period, from, to)));
    }
}

fn order(look: &mut Look<'_>, period: &Value, from: &str, to: &str) {
    if let (Some(start), Some(end)) = (time(&period[from]), time(&period[to]))
        && end < start
    {
        look.say(&kinds::OUT_OF_ORDER, |sample| {
            sample.put("start", quoted(&period[from])).put("end", quoted(&period[to]));
        });
    }
}

fn zones(look: &mut Look<'_>, document: &Value) {
    let features = &document["data"]["geofencing_zones"]["features"];
    for (at, zone) in features.as_array().into_iter().flatten().enumerate() {
        let place = ["data", "geofencing_zones", "features", &at.to_string(), "properties"];
        within(look, &place, |look| order(look, &zone["properties"], "start", "end"));
    }
}

/// Looks at what stands below several names.
fn within(look: &mut Look<'_>, names: &[&str], then: impl FnOnce(&mut Look<'_>)) {
    match names.split_first() {
        Some((name, rest)) => look.at(name, |look| within(look, rest, then)),
        None => then(look),
    }
}
