//! Every public address responds with the right media type.

use serde_json::Value;

use crate::support::http::{assert_problem, get, get_json, get_with, problem, send};
use crate::support::process::ServerProcess;
use crate::support::shared_demo;

/// Each public address of this version, and the media type of its reply.
const ADDRESSES: &[(&str, &str)] = &[
    ("/healthz", "application/json"),
    ("/readyz", "application/json"),
    ("/metrics", "application/openmetrics-text"),
    ("/proxy/city", "application/zip"),
    ("/proxy/city-vehicles", "application/x-protobuf"),
    ("/resource/city-trips", "application/x-protobuf"),
    ("/gtfs/city.zip", "application/zip"),
    ("/gtfs-rt/city.pb", "application/x-protobuf"),
    ("/gtfs-rt/city.json", "application/json"),
    ("/gtfs-rt/city-vehicles.pb", "application/x-protobuf"),
    ("/gtfs-rt/city/vehicle-positions.pb", "application/x-protobuf"),
    ("/gtfs-rt/city/trip-updates.pb", "application/x-protobuf"),
    ("/gtfs-rt/city/alerts.pb", "application/x-protobuf"),
    ("/gtfs-rt/city/vehicle-positions.json", "application/json"),
    ("/gtfs-rt/city/trip-updates.json", "application/json"),
    ("/gtfs-rt/city/alerts.json", "application/json"),
    ("/geojson/city/vehicles.geojson", "application/geo+json"),
    ("/geojson/city/stops.geojson", "application/geo+json"),
    ("/geojson/city/routes.geojson", "application/geo+json"),
    ("/siri/2.0/estimated-timetables.json", "application/json"),
    ("/siri/2.0/vehicle-monitoring.xml", "application/xml"),
    ("/siri/2.0/situation-exchange.xml", "application/xml"),
    ("/siri/2.0/lines-discovery.json", "application/json"),
    ("/siri/2.0/stoppoints-discovery.xml", "application/xml"),
    ("/siri/rest/et", "application/xml"),
    ("/siri/rest/vm", "application/xml"),
    ("/siri/rest/sx", "application/xml"),
    ("/gbfs/manifest.json", "application/json"),
    ("/api/v1/openapi.json", "application/json"),
    ("/api/v1/feeds", "application/json"),
    ("/api/v1/feeds/city", "application/json"),
    ("/api/v1/feeds/city-alerts/state", "application/json"),
    ("/api/v1/feeds/city/availability", "application/json"),
    ("/api/v1/feeds/city/availability?span=30d&outcome=all", "application/json"),
    ("/feeds/city/availability.csv", "text/csv"),
    ("/api/v1/feeds/city/delays", "application/json"),
    ("/api/v1/feeds/city-trips/delays", "application/json"),
    ("/api/v1/feeds/city-trips/matches", "application/json"),
    ("/delays/city", "text/html"),
    ("/delays/city/badge.svg", "image/svg+xml"),
    ("/api/v1/feeds/city/versions", "application/json"),
    ("/feeds/city/versions", "text/html"),
    ("/feeds/city/incidents.atom", "application/atom+xml"),
    ("/incidents.atom", "application/atom+xml"),
    ("/api/v1/state?channel=feed/city", "application/json"),
    ("/api/v1/stops", "application/json"),
    ("/api/v1/vehicles", "application/json"),
    ("/map/base-map.geojson", "application/geo+json"),
    ("/", "text/html"),
    ("/map", "text/html"),
    ("/feeds/city", "text/html"),
    ("/demo/faults", "text/html"),
];

#[tokio::test]
async fn every_address_responds_with_its_content_type() {
    let server = shared_demo();
    for (path, kind) in ADDRESSES {
        let response = get(&format!("{server}{path}")).await;
        assert_eq!(response.status(), 200, "{path}");
        let got = response.headers()["content-type"].to_str().unwrap().to_owned();
        assert!(got.starts_with(kind), "{path}: {got}");
        let length = response.bytes().await.unwrap().len();
        assert!(length > 0, "{path} is empty");
    }
}

#[tokio::test]
async fn every_reply_allows_cross_origin_requests() {
    let server = shared_demo();
    for path in ADDRESSES.iter().map(|(path, _)| *path).chain(["/nowhere", "/proxy/nothing"]) {
        let response = get(&format!("{server}{path}")).await;
        assert_eq!(response.headers()["access-control-allow-origin"], "*", "{path}");
        assert_eq!(response.headers()["x-content-type-options"], "nosniff", "{path}");
    }
    let preflight = [("origin", "https://example.org"), ("access-control-request-method", "GET")];
    let url = format!("{server}/api/v1/feeds");
    let response = send(reqwest::Method::OPTIONS, &url, &preflight).await;
    assert_eq!(response.status(), 204);
    assert!(response.headers().contains_key("access-control-allow-methods"));
}

#[tokio::test]
async fn the_operator_can_disable_cross_origin_requests() {
    let folder = tempfile::tempdir().unwrap();
    let text = "[server]\nlisten = \"127.0.0.1:0\"\ncross_origin = false\n";
    let server = ServerProcess::serving(folder.path(), text);
    let url = format!("{}/api/v1/feeds", server.url);
    let preflight = [("origin", "https://example.org"), ("access-control-request-method", "GET")];
    for reply in [get(&url).await, send(reqwest::Method::OPTIONS, &url, &preflight).await] {
        assert!(reply.status().is_success());
        let names: Vec<&str> = reply.headers().keys().map(|name| name.as_str()).collect();
        assert!(names.iter().all(|name| !name.starts_with("access-control-")), "{names:?}");
    }
    server.stop("-TERM");
}

#[tokio::test]
async fn the_api_description_has_every_address_except_pages_and_files() {
    let document = get_json(&format!("{}/api/v1/openapi.json", shared_demo())).await;
    let paths = document["paths"].as_object().unwrap();
    let undescribed = [
        "/",
        "/map",
        "/feeds/city",
        "/feeds/city/versions",
        "/networks/city",
        "/alerts/city",
        "/delays/city",
        "/delays/city/badge.svg",
        "/demo/faults",
        "/map/base-map.geojson",
        "/api/v1/openapi.json",
    ];
    for (path, _) in ADDRESSES.iter().filter(|(path, _)| !undescribed.contains(path)) {
        let path = path.split('?').next().unwrap();
        let found = paths.keys().any(|template| fits(template, path));
        assert!(found, "{path} is in none of {:?}", paths.keys());
    }
    assert!(paths.contains_key("/events"));
    assert!(paths.contains_key("/api/v1/stops/{feed}/{id}/departures"));
    for (path, item) in paths {
        let methods = ["get", "post", "put", "patch", "delete"];
        let operations: Vec<_> = methods.iter().filter_map(|method| item.get(method)).collect();
        assert!(!operations.is_empty(), "{path} is neither read nor written to");
        for operation in operations {
            assert!(operation["summary"].is_string(), "{path} says nothing about itself");
            // Upgraded connections and replies without a body have no 200.
            let good = ["200", "101", "202", "204"];
            let good = good.iter().any(|status| operation["responses"][status].is_object());
            assert!(good, "{path}");
        }
    }
}

/// Returns true if a path matches a template such as `/gtfs/{feed}.zip`.
fn fits(template: &str, path: &str) -> bool {
    let (template, path) = (template.split('/'), path.split('/'));
    template.clone().count() == path.clone().count()
        && template.zip(path).all(|(template, segment)| match template.split_once('}') {
            Some((_, ending)) => segment.ends_with(ending),
            None => template == segment,
        })
}

#[tokio::test]
async fn every_reference_in_the_api_description_resolves() {
    let document = get_json(&format!("{}/api/v1/openapi.json", shared_demo())).await;
    let mut references = Vec::new();
    collect_references(&document, &mut references);
    assert!(!references.is_empty());
    for reference in references {
        let pointer = reference.strip_prefix('#').unwrap();
        assert!(document.pointer(pointer).is_some(), "{reference} leads nowhere");
    }
}

fn collect_references(value: &Value, into: &mut Vec<String>) {
    match value {
        Value::Object(members) => {
            into.extend(members.get("$ref").and_then(Value::as_str).map(str::to_owned));
            members.values().for_each(|member| collect_references(member, into));
        }
        Value::Array(items) => items.iter().for_each(|item| collect_references(item, into)),
        _ => {}
    }
}

#[tokio::test]
async fn an_unknown_address_is_a_problem_with_a_code() {
    let server = shared_demo();
    for (path, status, code) in [
        ("/nowhere", 404, "not_found"),
        ("/api/v1/nowhere", 404, "not_found"),
        ("/proxy/nothing", 404, "unknown_feed"),
        ("/gtfs/nothing.zip", 404, "unknown_feed"),
        ("/gtfs/city", 404, "not_found"),
        ("/gtfs/city-trips.zip", 404, "other_format"),
        ("/gtfs-rt/nothing.pb", 404, "unknown_feed"),
        ("/gtfs-rt/city.xml", 404, "not_found"),
        ("/geojson/nothing/stops.geojson", 404, "unknown_feed"),
        ("/geojson/city/stations.geojson", 404, "other_format"),
        ("/gbfs/city/3/gbfs.json", 404, "other_format"),
        ("/gbfs/nothing/3/gbfs.json", 404, "unknown_feed"),
        ("/api/v1/feeds/nothing", 404, "unknown_feed"),
        ("/api/v1/feeds/nothing/availability", 404, "unknown_feed"),
        ("/feeds/nothing/availability.csv", 404, "unknown_feed"),
        ("/feeds/city/availability.csv?span=7d", 400, "bad_parameter"),
        ("/api/v1/feeds/city/availability?outcome=good", 400, "bad_parameter"),
        ("/api/v1/feeds?state=good", 400, "bad_parameter"),
        ("/api/v1/feeds?limit=-1", 400, "bad_parameter"),
        ("/api/v1/vehicles?bbox=1,2,3", 400, "bad_parameter"),
        ("/api/v1/stops?near=north", 400, "bad_parameter"),
        ("/api/v1/stops/city/no-such-stop/departures", 404, "unknown_stop"),
        ("/api/v1/stops/nothing/x/departures", 404, "unknown_feed"),
        ("/api/v1/state", 400, "bad_channel"),
        ("/api/v1/state?channel=feed/nothing", 404, "unknown_feed"),
        ("/api/v1/state?channel=nonsense", 400, "bad_channel"),
    ] {
        assert_problem(status, code, problem(&format!("{server}{path}")).await);
    }
}

#[tokio::test]
async fn an_invalid_channel_is_refused_with_the_expected_form() {
    let server = shared_demo();
    for (address, expected_message) in [
        ("/api/v1/state", "?channel=feed/city"),
        ("/events", "?channel=feed/city"),
        ("/api/v1/state?channel=area/u33", "4 to 6 characters"),
        ("/events?channel=area/u33dbfcy", "4 to 6 characters"),
    ] {
        let (_, _, problem) = problem(&format!("{server}{address}")).await;
        let detail = problem["detail"].as_str().unwrap();
        assert!(detail.contains(expected_message), "{address}: {detail}");
    }
}

#[tokio::test]
async fn public_addresses_refuse_post() {
    for path in ["/api/v1/feeds", "/proxy/city", "/gtfs/city.zip", "/", "/map"] {
        let url = format!("{}{path}", shared_demo());
        let response = send(reqwest::Method::POST, &url, &[]).await;
        assert_eq!(response.status(), 405, "{path}");
        assert_eq!(response.headers()["content-type"], "application/problem+json", "{path}");
    }
}

#[tokio::test]
async fn an_address_with_invalid_utf_8_is_refused() {
    for path in ["/proxy/%FF", "/feeds/%C3", "/api/v1/stops/city/%80/departures", "/%FE"] {
        let url = format!("{}{path}", shared_demo());
        assert_problem(400, "invalid_utf8", problem(&url).await);
    }
}

#[tokio::test]
async fn browsers_receive_a_page_for_an_unknown_address() {
    let url = format!("{}/nowhere", shared_demo());
    let response = get_with(&url, &[("accept", "text/html,application/xhtml+xml")]).await;
    assert_eq!(response.status(), 404);
    assert!(response.headers()["content-type"].to_str().unwrap().starts_with("text/html"));
}

#[tokio::test]
async fn an_overlong_address_is_refused() {
    let url = format!("{}/api/v1/stops?q={}", shared_demo(), "x".repeat(20_000));
    assert_problem(414, "uri_too_long", problem(&url).await);
}

#[tokio::test]
async fn the_feed_list_is_searched_filtered_and_paged() {
    let server = shared_demo();
    let ids = async |query: &str| -> Vec<String> {
        let list = get_json(&format!("{server}/api/v1/feeds{query}")).await;
        let items = list["items"].as_array().unwrap();
        items.iter().map(|feed| feed["id"].as_str().unwrap().to_owned()).collect()
    };
    let all = ["city", "city-vehicles", "city-trips", "city-alerts", "city-bikes"];
    assert_eq!(ids("").await, all);
    assert_eq!(ids("?format=gtfs").await, ["city"]);
    assert_eq!(ids("?format=gtfs-rt").await, all[1..4]);
    assert_eq!(ids("?q=alerts").await, ["city-alerts"]);
    assert!(ids("?publisher=nobody").await.is_empty());
    let first = get_json(&format!("{server}/api/v1/feeds?limit=3")).await;
    let next = first["next"].as_str().expect("a second page");
    let second = get_json(next).await;
    assert_eq!(second["items"][0]["id"], "city-alerts");
    assert_eq!(second["next"], Value::Null);
}

#[tokio::test]
async fn a_feed_has_its_metadata_and_state() {
    let feed = get_json(&format!("{}/api/v1/feeds/city-vehicles", shared_demo())).await;
    for name in [
        "id",
        "name",
        "publisher",
        "licence",
        "format",
        "theme",
        "description",
        "state",
        "reason",
        "last_success",
        "data_time",
        "next_poll",
        "entities",
        "problems",
        "links",
    ] {
        assert!(feed.get(name).is_some(), "{name} is missing in {feed}");
    }
    assert_eq!(feed["state"], "ok", "{feed}");
    assert_eq!(feed["format"], "gtfs-rt");
    assert!(feed["entities"].as_u64().unwrap() > 0);
    let proxied = feed["links"]["proxy"].as_str().unwrap();
    assert_eq!(get(proxied).await.status(), 200);
    for (name, link) in feed["links"].as_object().unwrap() {
        if name != "events" {
            assert_eq!(get(link.as_str().unwrap()).await.status(), 200, "{name}: {link}");
        }
    }
}

#[tokio::test]
async fn stops_are_found_by_name_and_place_and_have_departures() {
    let server = shared_demo();
    let list = get_json(&format!("{server}/api/v1/stops?limit=500")).await;
    let stops = list["items"].as_array().unwrap();
    assert!(stops.len() > 100, "{}", stops.len());
    let mut colors = Vec::new();
    for stop in stops {
        let (routes, own) = (stop["routes"].as_array(), stop["route_colors"].as_array().unwrap());
        assert_eq!(routes.map(Vec::len), Some(own.len()), "{stop}");
        colors.extend(own.iter().filter_map(serde_json::Value::as_str));
    }
    assert!(!colors.is_empty() && colors.iter().all(|color| color.len() == 6), "{colors:?}");
    let stop = &stops[0];
    let (lat, lon) = (stop["lat"].as_f64().unwrap(), stop["lon"].as_f64().unwrap());
    let name = stop["name"].as_str().unwrap();
    let word: String = url::form_urlencoded::byte_serialize(name.as_bytes()).collect();
    let found = get_json(&format!("{server}/api/v1/stops?q={word}")).await;
    assert!(found["items"].as_array().unwrap().iter().any(|found| found["name"] == name), "{name}");
    let near = get_json(&format!("{server}/api/v1/stops?near={lat},{lon}&limit=5")).await;
    assert_eq!(near["items"][0]["lat"].as_f64(), Some(lat), "{near}");
    let bbox = format!("{},{},{},{}", lon - 0.001, lat - 0.001, lon + 0.001, lat + 0.001);
    let inside = get_json(&format!("{server}/api/v1/stops?bbox={bbox}")).await;
    assert!(inside["items"].as_array().unwrap().iter().any(|inside| inside["id"] == stop["id"]));
    let mut departures = 0;
    for stop in stops.iter().take(40) {
        let id: String = stop["id"].as_str().unwrap().replace('/', "%2F");
        let url = format!("{server}/api/v1/stops/city/{id}/departures");
        let board = get_json(&url).await;
        for departure in board["items"].as_array().unwrap() {
            departures += 1;
            for name in [
                "feed",
                "trip_id",
                "route_id",
                "route_short_name",
                "headsign",
                "platform",
                "scheduled",
                "expected",
                "delay",
                "status",
                "source",
                "age",
            ] {
                assert!(departure.get(name).is_some(), "{name} is missing in {departure}");
            }
            let status = departure["status"].as_str().unwrap();
            assert!(["scheduled", "realtime", "cancelled", "skipped"].contains(&status));
        }
    }
    assert!(departures > 40, "{departures}");
}

#[tokio::test]
async fn vehicles_are_found_by_bounding_box() {
    let server = shared_demo();
    let all = get_json(&format!("{server}/api/v1/vehicles")).await;
    let all = all["items"].as_array().unwrap().clone();
    assert!(all.len() > 10, "{}", all.len());
    let lon = |vehicle: &Value| vehicle["position"]["longitude"].as_f64().unwrap();
    let mut lons: Vec<f64> = all.iter().map(lon).collect();
    lons.sort_by(f64::total_cmp);
    let middle = lons[lons.len() / 2];
    let paged = get_json(&format!("{server}/api/v1/vehicles?limit=5")).await;
    assert_eq!(paged["items"].as_array().unwrap().len(), 5);
    let second = get_json(paged["next"].as_str().unwrap()).await;
    assert_ne!(second["items"][0]["id"], paged["items"][0]["id"]);
    let west = get_json(&format!("{server}/api/v1/vehicles?bbox=-180,-90,{middle},90")).await;
    let west = west["items"].as_array().unwrap();
    assert!(west.len() < all.len() && !west.is_empty());
    assert!(west.iter().all(|vehicle| lon(vehicle) <= middle + 1e-6));
}
