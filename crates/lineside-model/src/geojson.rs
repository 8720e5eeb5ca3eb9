//! GeoJSON of vehicles, stations, stops and routes for maps and tables.

use std::{
    collections::BTreeSet,
    sync::{Arc, OnceLock},
};

use bytes::Bytes;
use lineside_sync::UnixMillis;
use serde::Serialize;
use serde_json::{Value, json};

use crate::{
    dataset::Dataset,
    network_state::NetworkState,
    record::{HexColor, Record, format_rfc3339_utc},
};

/// Encodes the vehicles with a position of a feed, or of the whole network if `id` names it; `None` if the network has
/// no such feed. Computed once per state.
pub fn vehicles_geojson(state: &NetworkState, id: &str) -> Option<Bytes> {
    get_or_encode_for_feed(
        state,
        id,
        |views| &views.vehicles,
        |includes_record| {
            let vehicles = state.vehicles().filter(|record| includes_record(record));
            let rental = state.rental_vehicles().filter(|record| includes_record(record));
            let vehicles = vehicles.filter_map(|record| vehicle_feature(record));
            encode_collection(
                vehicles.chain(rental.filter_map(|record| gbfs_record_feature(record))),
            )
        },
    )
}

/// Encodes the stations with a position of a GBFS system; `None` if the network has no such feed. Computed once per
/// state.
pub fn gbfs_stations_geojson(state: &NetworkState, id: &str) -> Option<Bytes> {
    get_or_encode_for_feed(
        state,
        id,
        |views| &views.stations,
        |includes_record| {
            let stations = state.stations().filter(|record| includes_record(record));
            encode_collection(stations.filter_map(|record| gbfs_record_feature(record)))
        },
    )
}

/// The encodings of one state.
#[derive(Default)]
struct CachedGeoJson {
    vehicles: OnceLock<Bytes>,
    stations: OnceLock<Bytes>,
}

/// Returns the cached encoding of a feed's records, or of all records if `id` names the network.
fn get_or_encode_for_feed(
    state: &NetworkState,
    id: &str,
    select_view: fn(&CachedGeoJson) -> &OnceLock<Bytes>,
    make: impl FnOnce(&dyn Fn(&Record) -> bool) -> Bytes,
) -> Option<Bytes> {
    let slice = state.find_feed_slice(id)?;
    let whole = state.feeds.first().is_some_and(|first| Arc::ptr_eq(first, slice));
    let cache = if whole { &state.cache } else { &slice.cache };
    let includes_record = |record: &Record| whole || record.feed.as_str() == id;
    let view = select_view(cache.get_or_init(CachedGeoJson::default));
    Some(view.get_or_init(|| make(&includes_record)).clone())
}

/// Encodes a GBFS record with its own fields as properties.
fn gbfs_record_feature(record: &Record) -> Option<Value> {
    let (lat, lon) = record.position()?;
    let Ok(Value::Object(mut properties)) = serde_json::from_slice(record.json()) else {
        return None;
    };
    properties.insert("feed".to_owned(), record.feed.as_str().into());
    properties.insert("id".to_owned(), record.id.as_str().into());
    Some(point_feature(lat, lon, properties.into()))
}

/// Encodes the stops with a position of a schedule. Computed once per dataset.
pub fn stops_geojson(dataset: &Dataset) -> Bytes {
    dataset
        .stops_geojson
        .get_or_init(|| {
            let timetable = &dataset.timetable;
            encode_collection(timetable.stops().filter_map(|stop| {
                let (lat, lon) = (stop.lat?, stop.lon?);
                let parent = stop.parent.map(|parent| timetable.stop(parent).id);
                let routes: Vec<_> = timetable
                    .routes_at_stop(stop.idx)
                    .map(|route| timetable.route(route))
                    .collect();
                let route_types: BTreeSet<u16> = routes.iter().map(|route| route.kind).collect();
                let route_ids: Vec<&str> = routes.iter().map(|route| route.id).collect();
                Some(point_feature(
                    lat,
                    lon,
                    json!({
                        "stop_id": stop.id,
                        "stop_code": stop.code,
                        "stop_name": stop.name,
                        "location_type": stop.location_type,
                        "parent_station": parent,
                        "platform_code": stop.platform_code,
                        "wheelchair_boarding": stop.wheelchair,
                        "route_types": route_types,
                        "route_ids": route_ids,
                    }),
                ))
            }))
        })
        .clone()
}

/// Encodes the routes of a schedule, each as a few lines. Computed once per dataset.
pub fn routes_geojson(dataset: &Dataset) -> Bytes {
    dataset
        .routes_geojson
        .get_or_init(|| {
            let timetable = &dataset.timetable;
            encode_collection(timetable.routes().map(|route| {
                let lines: Vec<Vec<[f64; 2]>> = timetable
                    .route_map_lines(route.idx)
                    .into_iter()
                    .map(|line| line.points.into_iter().map(|(lat, lon)| [lon, lat]).collect())
                    .collect();
                json!({
                    "type": "Feature",
                    "geometry": {"type": "MultiLineString", "coordinates": lines},
                    "properties": {
                        "route_id": route.id,
                        "agency_id": route.agency.map(|agency| timetable.agency(agency).id),
                        "route_short_name": route.short_name,
                        "route_long_name": route.long_name,
                        "route_type": route.kind,
                        "route_color": route.color.map(|color| HexColor(color).to_string()),
                        "route_text_color": route.text_color.map(|color| HexColor(color).to_string()),
                        "route_sort_order": route.sort_order,
                    },
                })
            }))
        })
        .clone()
}

fn vehicle_feature(record: &Record) -> Option<Value> {
    let (lat, lon) = record.position()?;
    let vehicle = record.vehicle()?;
    let position = vehicle.position.as_ref()?;
    let trip = vehicle.trip.as_ref();
    let descriptor = vehicle.vehicle.as_ref();
    let at = vehicle.timestamp.and_then(|seconds| i64::try_from(seconds).ok());
    let mut properties = json!({
        "feed": record.feed,
        "id": record.id,
        "vehicle_id": descriptor.and_then(|it| it.id.as_deref()),
        "label": descriptor.and_then(|it| it.label.as_deref()),
        "trip_id": trip.and_then(|it| it.trip_id.as_deref()),
        "start_date": trip.and_then(|it| it.start_date.as_deref()),
        "bearing": position.bearing,
        "speed": position.speed,
        "timestamp": at.map(|seconds| format_rfc3339_utc(UnixMillis::from_seconds(seconds))),
    });
    if let (Some(all), Ok(Value::Object(join))) =
        (properties.as_object_mut(), serde_json::to_value(&record.join))
    {
        all.extend(join);
    }
    Some(point_feature(lat, lon, properties))
}

fn point_feature(lat: f64, lon: f64, properties: Value) -> Value {
    json!({
        "type": "Feature",
        "geometry": {"type": "Point", "coordinates": [round_degrees(lon), round_degrees(lat)]},
        "properties": properties,
    })
}

/// Rounds to seven decimal places, a centimetre; a float converted from fewer bits would show meaningless digits.
fn round_degrees(degrees: f64) -> f64 {
    (degrees * 1e7).round() / 1e7
}

fn encode_collection(features: impl Iterator<Item = Value>) -> Bytes {
    #[derive(Serialize)]
    struct GeoJsonCollection {
        r#type: &'static str,
        features: Vec<Value>,
    }
    let collection =
        GeoJsonCollection { r#type: "FeatureCollection", features: features.collect() };
    serde_json::to_vec(&collection).expect("a JSON value can always be serialized").into()
}
