//! Tests of the base map.

use std::collections::BTreeSet;

use crate::common::CITY;
use serde_json::Value;

fn features(map: &Value) -> &Vec<Value> {
    map["features"].as_array().unwrap()
}

fn positions<'a>(value: &'a Value, found: &mut Vec<(&'a Value, &'a Value)>) {
    match value.as_array() {
        Some(pair) if pair.len() == 2 && pair[0].is_number() => found.push((&pair[0], &pair[1])),
        Some(list) => list.iter().for_each(|inner| positions(inner, found)),
        None => {}
    }
}

#[test]
fn the_map_has_land_water_parks_streets_rails_and_names() {
    let map = CITY.base_map_geojson();
    let kinds: BTreeSet<&str> =
        features(&map).iter().map(|f| f["properties"]["kind"].as_str().unwrap()).collect();
    assert_eq!(
        kinds,
        BTreeSet::from(["district", "ground", "land", "park", "rail", "street", "water"])
    );
    let classes: BTreeSet<&str> =
        features(&map).iter().map(|f| f["properties"]["class"].as_str().unwrap()).collect();
    for class in [
        "river", "canal", "basin", "main", "avenue", "street", "motorway", "beach", "urban", "wood",
    ] {
        assert!(classes.contains(class), "{class} is missing");
    }
    let named = |kind: &str| {
        let of_kind = features(&map).iter().filter(|f| f["properties"]["kind"] == kind);
        of_kind.filter(|f| f["properties"]["name"].is_string()).count()
    };
    assert!(named("street") > 200 && named("district") > 20 && named("water") > 5);
}

#[test]
fn every_place_is_near_the_city_and_every_ring_is_closed() {
    let map = CITY.base_map_geojson();
    let (lon, lat) = CITY.old_town_centre();
    for feature in features(&map) {
        let geometry = &feature["geometry"];
        let mut found = Vec::new();
        positions(&geometry["coordinates"], &mut found);
        assert!(!found.is_empty(), "{feature}");
        for (x, y) in found {
            assert!(
                (x.as_f64().unwrap() - lon).abs() < 0.5 && (y.as_f64().unwrap() - lat).abs() < 0.4
            );
        }
        if geometry["type"] == "Polygon" {
            for ring in geometry["coordinates"].as_array().unwrap() {
                let ring = ring.as_array().unwrap();
                assert!(ring.len() >= 4 && ring[0] == ring[ring.len() - 1]);
            }
        }
    }
}

#[test]
fn the_map_is_small_enough_for_a_browser() {
    let bytes = CITY.base_map_geojson().to_string().len();
    assert!((300_000..2_500_000).contains(&bytes), "{bytes} bytes");
}
