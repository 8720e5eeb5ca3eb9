//! The OpenAPI description follows the rules of OpenAPI 3.1 that generators and validators rely on.

use std::collections::BTreeSet;

use lineside_testkit::wait_for_status;
use serde_json::Value;

use crate::support::http::{get, get_json};
use crate::support::shared_demo;

const METHODS: [&str; 5] = ["get", "post", "put", "patch", "delete"];

struct Operation<'a> {
    /// A method and a path, such as `get /api/v1/feeds`.
    name: String,
    path: &'a str,
    value: &'a Value,
}

fn operations<'a>(document: &'a Value) -> Vec<Operation<'a>> {
    let paths = document["paths"].as_object().unwrap();
    let operations_of_path = |(path, item): (&'a String, &'a Value)| {
        METHODS.iter().filter_map(move |method| {
            let value = item.get(method)?;
            Some(Operation { name: format!("{method} {path}"), path, value })
        })
    };
    paths.iter().flat_map(operations_of_path).collect()
}

fn parameters<'a>(operation: &Operation<'a>) -> Vec<&'a Value> {
    operation.value["parameters"].as_array().into_iter().flatten().collect()
}

async fn description() -> Value {
    get_json(&format!("{}/api/v1/openapi.json", shared_demo())).await
}

#[tokio::test]
async fn operation_ids_are_unique_and_valid_identifiers() {
    let document = description().await;
    let mut known = BTreeSet::new();
    for operation in operations(&document) {
        let id = operation.value["operationId"].as_str().unwrap();
        assert!(id.chars().all(|letter| letter.is_ascii_alphanumeric() || letter == '_'), "{id}");
        assert!(known.insert(id), "{}: {id} is taken", operation.name);
    }
}

#[tokio::test]
async fn parameters_match_the_path_and_have_types_and_bounds() {
    let document = description().await;
    for operation in operations(&document) {
        let mut in_path: Vec<&str> = Vec::new();
        let mut known = BTreeSet::new();
        for parameter in parameters(&operation) {
            let (name, parameter_in) =
                (parameter["name"].as_str().unwrap(), parameter["in"].as_str().unwrap());
            assert!(known.insert((name, parameter_in)), "{}: {name} twice", operation.name);
            assert!(parameter["schema"]["type"].is_string(), "{}: {parameter}", operation.name);
            assert!(parameter["description"].is_string(), "{}: {name}", operation.name);
            if parameter_in == "path" {
                assert_eq!(parameter["required"], true, "{}: {name}", operation.name);
                in_path.push(name);
            }
            if ["limit", "offset"].contains(&name) {
                let bounds = ["minimum", "maximum", "default"];
                assert!(
                    bounds.iter().all(|bound| parameter["schema"][bound].is_u64()),
                    "{}",
                    operation.name
                );
            }
        }
        let holes = operation.path.split('{').skip(1).map(|rest| rest.split('}').next().unwrap());
        let holes: BTreeSet<&str> = holes.collect();
        assert_eq!(holes, in_path.into_iter().collect(), "{}", operation.name);
    }
}

#[tokio::test]
async fn refusals_are_problems_and_each_status_is_described() {
    let document = description().await;
    for operation in operations(&document) {
        let responses = operation.value["responses"].as_object().unwrap();
        for (status, response) in responses {
            assert!(
                response["description"].as_str().is_some_and(|text| !text.is_empty()),
                "{}",
                operation.name
            );
            let schema = &response["content"]["application/json"]["schema"]["$ref"];
            assert_ne!(schema, "#/components/schemas/Problem", "{} {status}", operation.name);
        }
        if operation.name.starts_with("get ") && operation.path != "/connection/websocket" {
            let bad = responses.get("400").unwrap_or_else(|| panic!("{}", operation.name));
            assert!(
                bad["content"].as_object().is_some_and(|it| !it.is_empty()),
                "{}",
                operation.name
            );
        }
    }
    let departures = &document["paths"]["/api/v1/stops/{feed}/{id}/departures"]["get"]["responses"];
    assert!(departures["400"]["content"]["application/problem+json"].is_object(), "{departures}");
}

#[tokio::test]
async fn tags_and_servers_are_declared() {
    let document = description().await;
    assert_eq!(document["servers"][0]["url"], "/");
    let tags = document["tags"].as_array().unwrap();
    assert!(tags.iter().all(|tag| tag["description"].is_string()));
    let declared: BTreeSet<&str> = tags.iter().map(|tag| tag["name"].as_str().unwrap()).collect();
    let used: BTreeSet<&str> = operations(&document)
        .iter()
        .flat_map(|operation| operation.value["tags"].as_array().unwrap())
        .map(|tag| tag.as_str().unwrap())
        .collect();
    assert_eq!(declared, used);
}

/// Returns the parameters that an operation has for itself: a parameter that is ignored needs no example.
fn own_parameters<'a>(operation: &Operation<'a>) -> Vec<&'a Value> {
    parameters(operation).into_iter().filter(|parameter| parameter["name"] != "_").collect()
}

/// Returns the address of an operation with its examples: the required ones, and optionally one that is not required.
fn example_address(operation: &Operation<'_>, optional: Option<&Value>) -> String {
    let mut address = operation.path.to_owned();
    let mut query = Vec::new();
    for parameter in parameters(operation) {
        let is_wanted = parameter["required"] == true || Some(parameter) == optional;
        let example = match &parameter["example"] {
            Value::Array(items) => &items[0],
            example => example,
        };
        let text = example.as_str().map_or_else(|| example.to_string(), str::to_owned);
        let text = text.replace('/', "%2F");
        let name = parameter["name"].as_str().unwrap();
        match parameter["in"].as_str().unwrap() {
            "path" => address = address.replace(&format!("{{{name}}}"), &text),
            "query" if is_wanted => query.push(format!("{name}={text}")),
            _ => {}
        }
    }
    if query.is_empty() { address } else { format!("{address}?{}", query.join("&")) }
}

#[tokio::test]
async fn every_operation_with_parameters_or_a_json_body_has_an_example_of_the_right_type() {
    let document = description().await;
    for operation in operations(&document) {
        let own = own_parameters(&operation);
        for parameter in own.iter().filter(|parameter| parameter["required"] == true) {
            assert!(!parameter["example"].is_null(), "{}: {parameter}", operation.name);
        }
        let examples: Vec<&&Value> =
            own.iter().filter(|parameter| !parameter["example"].is_null()).collect();
        assert_eq!(examples.is_empty(), own.is_empty(), "{}", operation.name);
        for parameter in examples {
            let example = &parameter["example"];
            let fits = match parameter["schema"]["type"].as_str().unwrap() {
                "array" => example.is_array(),
                "boolean" => example.is_boolean(),
                "integer" => example.is_u64(),
                _ => example.is_string(),
            };
            assert!(fits, "{}: {parameter}", operation.name);
        }
        let body = &operation.value["requestBody"]["content"]["application/json"];
        if body.is_object() {
            let example = body["example"].as_object();
            assert!(example.is_some_and(|example| !example.is_empty()), "{}", operation.name);
        }
    }
}

#[tokio::test]
async fn the_examples_of_every_get_operation_are_answered() {
    let server = shared_demo();
    // The description has the hash of a version as soon as it is stored.
    wait_for_status(&format!("{server}/api/v1/feeds/city/report"), 200).await;
    let document = description().await;
    let mut asked = 0;
    for operation in operations(&document) {
        let is_admin = operation.value["tags"][0] == "admin";
        // The files of the demo's system have one language, so no language in their addresses.
        let has_language = operation.path.contains("{language}");
        let is_plain = operation.path != "/connection/websocket" && !has_language && !is_admin;
        if !operation.name.starts_with("get ") || !is_plain {
            continue;
        }
        let optional = own_parameters(&operation)
            .into_iter()
            .filter(|parameter| parameter["required"] != true && !parameter["example"].is_null());
        for parameter in std::iter::once(None).chain(optional.map(Some)) {
            let address = example_address(&operation, parameter);
            let status = get(&format!("{server}{address}")).await.status();
            assert!(status.is_success(), "{address}: {status}");
            asked += 1;
        }
    }
    assert!(asked > 40, "{asked}");
}
