//! What the description of the API says of parameters holds: unknown, repeated and unbounded ones are refused.

use serde_json::Value;

use crate::support::http::{assert_problem, get, get_json, problem};
use crate::support::shared_demo;

/// Each address that is read without being an admin, with its operation.
fn read_operations(document: &Value) -> Vec<(String, Value)> {
    let paths = document["paths"].as_object().unwrap().iter();
    let read = paths.filter_map(|(path, item)| Some((path, item.get("get")?)));
    read.filter(|(path, _)| *path != "/connection/websocket")
        .filter(|(_, operation)| operation["tags"][0] != "admin")
        .map(|(path, operation)| (path.clone(), operation.clone()))
        .collect()
}

/// An address that the template stands for: of the city where it takes a feed, of the first word where only some are taken.
fn address(template: &str, operation: &Value) -> String {
    let parameters = operation["parameters"].as_array().into_iter().flatten();
    parameters.filter(|parameter| parameter["in"] == "path").fold(
        template.to_owned(),
        |path, parameter| {
            let name = parameter["name"].as_str().unwrap();
            let word = parameter["schema"]["enum"][0].as_str().unwrap_or("city");
            path.replace(&format!("{{{name}}}"), word)
        },
    )
}

async fn check_refused(url: &str, code: &str) -> Value {
    let (status, kind, refusal) = problem(url).await;
    assert_eq!((status, refusal["code"].as_str()), (400, Some(code)), "{url}: {refusal}");
    assert_problem(400, code, (status, kind, refusal.clone()));
    refusal
}

#[tokio::test]
async fn every_address_that_is_read_refuses_a_parameter_that_it_does_not_have() {
    let server = shared_demo();
    let document = get_json(&format!("{server}/api/v1/openapi.json")).await;
    let operations = read_operations(&document);
    assert!(operations.len() > 30, "{}", operations.len());
    for (template, operation) in operations {
        let path = address(&template, &operation);
        check_refused(&format!("{server}{path}?unheard_of=1"), "unknown_parameter").await;
    }
}

#[tokio::test]
async fn a_refusal_names_the_parameter_that_may_be_meant() {
    let server = shared_demo();
    for (path, meant) in [
        ("/api/v1/stops?lat=54.7&lon=2.08&limit=12", "`near`"),
        ("/api/v1/vehicles?box=1,2,3,4", "`bbox`"),
        ("/events?chanel=feed/city", "`channel`"),
    ] {
        let refusal = check_refused(&format!("{server}{path}"), "unknown_parameter").await;
        let detail = refusal["detail"].as_str().unwrap();
        assert!(detail.contains(meant), "{path}: {detail}");
    }
}

#[tokio::test]
async fn a_value_is_taken_once() {
    let server = shared_demo();
    for path in ["/api/v1/stops?limit=&limit=x", "/api/v1/feeds?q=a&q=b", "/api/v1/stops?limit=0"] {
        check_refused(&format!("{server}{path}"), "bad_parameter").await;
    }
}

#[tokio::test]
async fn what_the_description_does_not_allow_is_refused() {
    let server = shared_demo();
    let document = get_json(&format!("{server}/api/v1/openapi.json")).await;
    let mut tried = 0;
    for (template, operation) in read_operations(&document) {
        let parameters = operation["parameters"].as_array().cloned().unwrap_or_default();
        for parameter in parameters.iter().filter(|parameter| parameter["in"] == "query") {
            let schema = &parameter["schema"];
            let wrong = match schema["maximum"].as_u64() {
                Some(most) => (most + 1).to_string(),
                None if schema["enum"].is_array() || schema["pattern"].is_string() => {
                    "no-such".to_owned()
                }
                None => continue,
            };
            let (path, name) =
                (address(&template, &operation), parameter["name"].as_str().unwrap());
            check_refused(&format!("{server}{path}?{name}={wrong}"), "bad_parameter").await;
            tried += 1;
        }
    }
    assert!(tried >= 15, "{tried}");
}

#[tokio::test]
async fn a_file_may_be_asked_for_past_caches() {
    let server = shared_demo();
    for path in [
        "/proxy/city-vehicles",
        "/gtfs/city.zip",
        "/gtfs-rt/city.pb",
        "/geojson/city/stops.geojson",
    ] {
        assert_eq!(get(&format!("{server}{path}?_=1700000000")).await.status(), 200, "{path}");
    }
    assert_eq!(get(&format!("{server}/?utm_source=mail")).await.status(), 200);
}
