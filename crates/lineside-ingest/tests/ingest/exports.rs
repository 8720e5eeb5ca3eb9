//! Tests of GTFS-Realtime and GeoJSON exports.

use bytes::Bytes;
use lineside_formats::gtfs_rt::{FeedMessageLimits, decode_feed_message, proto::FeedEntity};
use lineside_model::{
    exports::{ExportedEntityKinds, get_gtfs_rt_export, get_gtfs_rt_json_export},
    geojson,
};
use prost::Message as _;
use serde_json::Value;

use crate::support::*;

fn read(bytes: Bytes) -> lineside_formats::gtfs_rt::proto::FeedMessage {
    let (message, problems) = decode_feed_message(bytes, &FeedMessageLimits::default()).unwrap();
    assert!(problems.is_empty(), "{:?}", problems.retained_problems());
    message
}

#[test]
fn an_export_contains_the_entities_of_the_feed() {
    let mut world = World::new();
    world.writer.apply_dataset(dataset(0), world.now());
    let entities = vec![
        vehicle("1", Some("T18"), 48.87, 2.34, EIGHT),
        update("T18", 20, 60),
        alert("works", Some("R1"), None, "\"Works\""),
    ];
    world.apply("city-vehicles", entities.clone());
    let state = world.network.state();
    let export = get_gtfs_rt_export(&state, "city-vehicles", ExportedEntityKinds::All).unwrap();
    let message = read(export.bytes);
    assert_eq!(message.header.timestamp, Some(EIGHT as u64));
    let mut ids: Vec<_> = message.entity.iter().map(|entity| entity.id.clone()).collect();
    ids.sort();
    assert_eq!(ids, ["tT18", "v1", "works"]);
    for entity in &message.entity {
        assert!(entities.contains(entity), "{entity:?}");
    }
    let vehicles = read(
        get_gtfs_rt_export(&state, "city-vehicles", ExportedEntityKinds::VehiclePositions)
            .unwrap()
            .bytes,
    );
    assert_eq!(vehicles.entity, entities[..1]);
    assert!(get_gtfs_rt_export(&state, "city", ExportedEntityKinds::All).is_some());
    assert!(get_gtfs_rt_export(&state, "other", ExportedEntityKinds::All).is_none());
}

#[test]
fn extensions_are_exported() {
    let mut world = World::new();
    let mut entity = vehicle("1", None, 48.87, 2.34, EIGHT).encode_to_vec();
    // Field 1001, like a producer's extension.
    entity.extend_from_slice(&[0xCA, 0x3E, 3, b'e', b'x', b't']);
    let mut body = message(EIGHT, Vec::new()).to_vec();
    body.push(0x12);
    body.push(entity.len() as u8);
    body.extend_from_slice(&entity);
    world
        .writer
        .decode_and_apply_message("city-vehicles", body.clone().into(), world.now())
        .unwrap();
    let export =
        get_gtfs_rt_export(&world.network.state(), "city-vehicles", ExportedEntityKinds::All)
            .unwrap();
    assert!(export.bytes.windows(entity.len()).any(|window| window == entity));
}

#[test]
fn an_entity_of_two_kinds_is_split_in_partial_exports() {
    let mut world = World::new();
    let mut both = vehicle("1", Some("T18"), 48.87, 2.34, EIGHT);
    both.trip_update = update("T18", 20, 60).trip_update;
    world.apply("city-vehicles", vec![both.clone()]);
    let state = world.network.state();
    let part = |part| read(get_gtfs_rt_export(&state, "city-vehicles", part).unwrap().bytes).entity;
    assert_eq!(part(ExportedEntityKinds::All), [both.clone()]);
    assert_eq!(
        part(ExportedEntityKinds::TripUpdates),
        [FeedEntity { vehicle: None, ..both.clone() }]
    );
    assert_eq!(
        part(ExportedEntityKinds::VehiclePositions),
        [FeedEntity { trip_update: None, ..both }]
    );
    assert_eq!(part(ExportedEntityKinds::Alerts), []);
}

#[test]
fn entity_ids_in_a_network_export_have_feed_prefixes() {
    let mut world = World::new();
    let mut one = vehicle("1", None, 48.87, 2.34, EIGHT);
    let mut two = update("T18", 20, 60);
    one.id = "1".into();
    two.id = "1".into();
    world.apply("city-vehicles", vec![one]);
    world.apply("city-trips", vec![two]);
    let export =
        get_gtfs_rt_export(&world.network.state(), "city", ExportedEntityKinds::All).unwrap();
    let mut ids: Vec<_> = read(export.bytes).entity.into_iter().map(|entity| entity.id).collect();
    ids.sort();
    assert_eq!(ids, ["city-trips:1", "city-vehicles:1"]);
}

#[test]
fn timestamps_never_decrease_and_rise_with_the_content() {
    let mut world = World::new();
    let mut at = |time: i64, lat: f32| {
        let body = message(time, vec![vehicle("1", None, lat, 2.34, EIGHT)]);
        let now = lineside_sync::UnixMillis::from_seconds(EIGHT);
        world.writer.decode_and_apply_message("city-vehicles", body, now).unwrap();
        let export =
            get_gtfs_rt_export(&world.network.state(), "city-vehicles", ExportedEntityKinds::All)
                .unwrap();
        (export.timestamp - EIGHT as u64, export.etag())
    };
    let (first, tag) = at(EIGHT + 10, 48.87);
    assert_eq!(first, 10);
    assert_eq!(at(EIGHT + 10, 48.87), (10, tag.clone()));
    assert_eq!(at(EIGHT + 5, 48.87), (10, tag));
    assert_eq!(at(EIGHT + 5, 48.88).0, 11);
    assert_eq!(at(EIGHT + 20, 48.88).0, 20);
    assert_eq!(at(EIGHT + 10_000_000, 48.89).0, 21);
}

#[test]
fn the_json_export_has_the_same_content() {
    let mut world = World::new();
    world.apply("city-trips", vec![update("T18", 20, -60)]);
    let export =
        get_gtfs_rt_json_export(&world.network.state(), "city-trips", ExportedEntityKinds::All)
            .unwrap();
    let json: Value = serde_json::from_slice(&export.bytes).unwrap();
    assert_eq!(json["header"]["incrementality"], "FULL_DATASET");
    assert_eq!(json["entity"][0]["id"], "tT18");
    assert_eq!(json["entity"][0]["trip_update"]["stop_time_update"][0]["arrival"]["delay"], -60);
}

#[test]
fn vehicles_stops_and_routes_export_to_geojson() {
    let mut world = World::new();
    world.writer.apply_dataset(dataset(0), world.now());
    world.apply("city-vehicles", vec![vehicle("1", Some("T18"), 48.87, 2.34, EIGHT)]);
    let json = |bytes: Bytes| -> Value { serde_json::from_slice(&bytes).unwrap() };
    let state = world.network.state();
    for id in ["city", "city-vehicles"] {
        let vehicles = json(geojson::vehicles_geojson(&state, id).unwrap());
        let feature = &vehicles["features"][0];
        assert_eq!(feature["geometry"]["coordinates"], serde_json::json!([2.3399999, 48.8699989]));
        assert_eq!(feature["properties"]["route_short_name"], "12");
        assert_eq!(feature["properties"]["timestamp"], "2026-03-04T07:00:00Z");
    }
    assert_eq!(
        json(geojson::vehicles_geojson(&state, "city-trips").unwrap())["features"],
        serde_json::json!([])
    );
    let dataset = world.network.dataset().unwrap();
    let stops = json(geojson::stops_geojson(&dataset));
    assert!(
        stops["features"].as_array().unwrap().iter().any(|it| it["properties"]["stop_id"] == "C1")
    );
    let property = |id: &str, name: &str| {
        let features = stops["features"].as_array().unwrap();
        let stop = features.iter().find(|it| it["properties"]["stop_id"] == id).unwrap();
        stop["properties"][name].clone()
    };
    let route_types = |id: &str| property(id, "route_types");
    assert_eq!(
        route_types("C"),
        serde_json::json!([0, 3, 4]),
        "the route types of a station's platforms"
    );
    assert_eq!(route_types("C2"), serde_json::json!([]));
    assert_eq!(property("C", "route_ids").as_array().unwrap().len(), 3, "the platforms' routes");
    assert_eq!(property("C2", "route_ids"), serde_json::json!([]));
    let routes = json(geojson::routes_geojson(&dataset));
    assert_eq!(routes["features"][0]["properties"]["route_color"], "FF8800");
    assert_eq!(routes["features"][0]["geometry"]["coordinates"][0].as_array().unwrap().len(), 4);
}

#[test]
fn the_network_timestamp_rises_with_each_feed() {
    let mut world = World::new();
    world.apply("city-vehicles", vec![vehicle("1", None, 48.87, 2.34, EIGHT)]);
    world.clock.advance_time(minutes(1));
    let old = message(EIGHT - 600, vec![update("T18", 20, 60)]);
    world.writer.decode_and_apply_message("city-trips", old, world.now()).unwrap();
    let export =
        get_gtfs_rt_export(&world.network.state(), "city", ExportedEntityKinds::All).unwrap();
    assert_eq!(export.timestamp, EIGHT as u64 + 60);
    world.clock.set_wall_time(lineside_sync::UnixMillis::from_seconds(EIGHT - 3_600));
    world.apply("city-trips", vec![update("T18", 20, 90)]);
    let later =
        get_gtfs_rt_export(&world.network.state(), "city", ExportedEntityKinds::All).unwrap();
    assert_eq!(later.timestamp, export.timestamp);
    assert!(world.network.state().at.unix_seconds() >= EIGHT + 60);
}
