//! The parts that all operations of the API description share: unique ids, the media type of refusals, bounds of
//! parameters, and the refusal of unknown ones.

use lineside_formats::Format;
use lineside_model::FeedState;
use lineside_quality::reports::ReportVerdict;
use serde_json::{Map, Value, json};

use super::METHODS;
use crate::limits;

/// Prefixes of addresses of files, to which clients append a changing value to bypass caches.
const FILES: [&str; 6] = ["/proxy/", "/resource/", "/gtfs/", "/gtfs-rt/", "/gbfs/", "/geojson/"];
/// Name of that parameter, as jQuery sends it.
const CACHE_BUSTER: &str = "_";

/// The tags in reading order, each with its description.
const TAGS: [(&str, &str); 7] = [
    ("catalog", "Feeds, stops, vehicles and departures as JSON, with reports and availability."),
    ("changes", "Every change as it happens, and the state that changes start from."),
    ("bytes", "The last good bytes of each feed, as the producer sent them."),
    ("formats", "The same data in other formats: GTFS-Realtime, SIRI, GBFS, GeoJSON."),
    ("operate", "Health checks and metrics."),
    ("server API", "For the operator's own back end: publish to `app/` channels."),
    ("admin", "For admins: feeds, history, configuration and profiles."),
];

/// Completes the description that is generated from the handlers' attributes.
pub(super) fn complete_document(mut document: Value) -> Value {
    document["servers"] = json!([{ "url": "/", "description": "This server" }]);
    let tags = TAGS.map(|(name, text)| json!({ "name": name, "description": text }));
    document["tags"] = json!(tags);
    let paths = document["paths"].as_object_mut().into_iter().flatten();
    for (path, item) in paths {
        for method in METHODS {
            if let Some(operation) = item.get_mut(method).and_then(Value::as_object_mut) {
                complete_operation(path, method, operation);
            }
        }
    }
    document
}

fn complete_operation(path: &str, method: &str, operation: &mut Map<String, Value>) {
    operation.insert("operationId".to_owned(), json!(operation_id(path, method)));
    let parameters = operation.entry("parameters").or_insert_with(|| json!([]));
    if let Value::Array(parameters) = parameters {
        if FILES.iter().any(|prefix| path.starts_with(prefix)) {
            parameters.push(json!({
                "name": CACHE_BUSTER, "in": "query", "required": false,
                "description": "Ignored. For clients that append a changing value to bypass caches",
                "schema": { "type": "string" },
            }));
        }
        for parameter in parameters {
            add_parameter_bounds(path, parameter);
        }
    }
    let responses = operation.entry("responses").or_insert_with(|| json!({}));
    if method == "get" && path != super::super::websocket::PATH {
        document_bad_parameters(responses);
    }
    for response in responses.as_object_mut().into_iter().flat_map(Map::values_mut) {
        set_problem_media_type(response);
    }
}

/// Returns an id such as `get_feeds_id_delays` for `GET /api/v1/feeds/{id}/delays`. Ids are unique because method and
/// address are.
fn operation_id(path: &str, method: &str) -> String {
    let path = path.strip_prefix("/api/v1").unwrap_or(path);
    let words = path.split(|letter: char| !letter.is_ascii_alphanumeric());
    words.filter(|word| !word.is_empty()).fold(method.to_owned(), |id, word| id + "_" + word)
}

/// Sets the media type of refusals, which have one of their own (RFC 9457).
fn set_problem_media_type(response: &mut Value) {
    const PROBLEM: &str = "#/components/schemas/Problem";
    let Some(content) = response.get_mut("content").and_then(Value::as_object_mut) else { return };
    let is_problem = |content: &Value| content["schema"]["$ref"] == PROBLEM;
    if content.get("application/json").is_some_and(is_problem)
        && let Some(problem) = content.remove("application/json")
    {
        content.insert("application/problem+json".to_owned(), problem);
    }
}

/// Documents the refusal of unknown parameters, which precedes every GET handler.
fn document_bad_parameters(responses: &mut Value) {
    let problem = json!({ "schema": { "$ref": "#/components/schemas/Problem" } });
    let refused = responses.as_object_mut().map(|responses| {
        responses
            .entry("400")
            .or_insert_with(|| json!({ "description": "`bad_parameter`", "content": {} }))
    });
    let Some(refused) = refused else { return };
    if let Some(Value::String(description)) = refused.get_mut("description") {
        description.push_str("; `unknown_parameter`");
    }
    let content = refused
        .as_object_mut()
        .map(|refused| refused.entry("content").or_insert_with(|| json!({})));
    if let Some(Value::Object(content)) = content
        && !content.contains_key("application/json")
    {
        content.insert("application/problem+json".to_owned(), problem);
    }
}

/// Adds the bounds of a parameter's value to its type.
fn add_parameter_bounds(path: &str, parameter: &mut Value) {
    let name = parameter["name"].as_str().unwrap_or_default();
    let bounds = match parameter["in"].as_str() {
        Some("query") => query_parameter_bounds(path, name),
        Some("path") => path_parameter_bounds(path, name),
        _ => None,
    };
    let Some(schema) = parameter.get_mut("schema").and_then(Value::as_object_mut) else { return };
    // An omitted parameter is absent, never null.
    if let Some(Value::Array(types)) = schema.get("type") {
        let first = types.iter().find(|kind| *kind != "null").cloned();
        schema.extend(first.map(|kind| ("type".to_owned(), kind)));
    }
    if let Some(Value::Object(bounds)) = bounds {
        schema.extend(bounds);
    }
}

fn query_parameter_bounds(path: &str, name: &str) -> Option<Value> {
    let number = r"-?[0-9]+(\.[0-9]+)?";
    let bounds = match name {
        "limit" => {
            let (default, parameter_max) = match path {
                "/api/v1/vehicles" => (limits::VEHICLES_MAX, limits::VEHICLES_MAX),
                path if path.ends_with("/departures") => {
                    (limits::DEPARTURES_MAX, limits::DEPARTURES_MAX)
                }
                _ => (limits::PAGE_ITEMS_DEFAULT, limits::PAGE_ITEMS_MAX),
            };
            json!({ "minimum": 1, "maximum": parameter_max, "default": default })
        }
        "offset" => json!({ "minimum": 0, "maximum": limits::OFFSET_MAX, "default": 0 }),
        "before" => json!({ "minimum": 1 }),
        "q" => json!({ "maxLength": limits::SEARCH_CHARS_MAX }),
        "bbox" => json!({ "pattern": format!("^{number},{number},{number},{number}$") }),
        "near" => json!({ "pattern": format!("^{number},{number}$") }),
        "version" => json!({ "pattern": "^[0-9a-f]{64}$" }),
        "span" => json!({ "enum": ["24h", "30d"], "default": "24h" }),
        "outcome" => json!({ "enum": ["failed", "all"] }),
        "state" => json!({ "enum": FeedState::ALL.map(FeedState::as_str) }),
        "report" => json!({ "enum": ReportVerdict::ALL.map(ReportVerdict::as_str) }),
        "format" if path == "/api/v1/feeds" => json!({ "enum": Format::ALL.map(Format::as_str) }),
        "format" if path.ends_with("/profile") => {
            json!({ "enum": lineside_profile::ProfileFormat::ALL.map(lineside_profile::ProfileFormat::file_extension), "default": "html" })
        }
        "format" => json!({ "enum": ["json", "protobuf"], "default": "json" }),
        "seconds" => json!({
            "minimum": lineside_profile::SECONDS.start(), "maximum": lineside_profile::SECONDS.end(),
            "default": lineside_profile::SECONDS_DEFAULT,
        }),
        "channel" if path == "/events" => {
            json!({ "minItems": 1, "maxItems": lineside_wire::sse::CHANNELS_MAX })
        }
        _ => return None,
    };
    Some(bounds)
}

fn path_parameter_bounds(path: &str, name: &str) -> Option<Value> {
    let words: &[&str] = match (path, name) {
        ("/siri/rest/{service}", "service") => &["et", "vm", "sx"],
        (path, "service") if path.starts_with("/siri/2.0/") => &[
            "stop-monitoring",
            "estimated-timetables",
            "vehicle-monitoring",
            "situation-exchange",
            "lines-discovery",
            "stoppoints-discovery",
        ],
        (path, "part") if path.starts_with("/gtfs-rt/") => {
            &["vehicle-positions", "trip-updates", "alerts"]
        }
        (path, "version") if path.starts_with("/gbfs/") => &["2", "3"],
        (_, "hash") => return Some(json!({ "pattern": "^[0-9a-f]{64}$" })),
        _ => return None,
    };
    Some(json!({ "enum": words }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_operation_id_consists_of_method_and_address() {
        assert_eq!(operation_id("/api/v1/feeds/{id}/delays", "get"), "get_feeds_id_delays");
        assert_eq!(operation_id("/gtfs-rt/{feed}/{part}.pb", "get"), "get_gtfs_rt_feed_part_pb");
        assert_eq!(operation_id("/api/publish", "post"), "post_api_publish");
    }

    #[test]
    fn refusals_have_the_problem_media_type_and_include_status_400() {
        let document = json!({ "paths": { "/proxy/{feed}": { "get": { "responses": {
            "200": { "description": "The bytes" },
            "404": { "description": "x", "content": { "application/json":
                { "schema": { "$ref": "#/components/schemas/Problem" } } } },
        } } } } });
        let finished = complete_document(document);
        let operation = &finished["paths"]["/proxy/{feed}"]["get"];
        for status in ["400", "404"] {
            let content = &operation["responses"][status]["content"];
            assert!(content["application/problem+json"]["schema"].is_object(), "{operation}");
        }
        assert_eq!(operation["parameters"][0]["name"], CACHE_BUSTER);
    }
}
