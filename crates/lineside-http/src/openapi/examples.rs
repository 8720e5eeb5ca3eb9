//! Examples in the API description: values of parameters, taken from the current data of this server, and request
//! bodies.
//!
//! The API reference makes its addresses and commands from these examples, so both have the same.

use lineside_formats::Format;
use lineside_ingest::Feed;
use serde_json::{Map, Value, json};

use super::METHODS;
use crate::api::versions::read_stored_versions;
use crate::app::App;

/// The deepest nesting of a sample request body.
const DEPTH_MAX: usize = 4;
/// Decimals of an example position, about 100 meters.
const POSITION_DECIMALS: usize = 3;
/// Half the height and width of an example area, in degrees.
const AREA_HALF_SIDE: f64 = 0.05;

/// The values for the examples of all operations.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct ApiExamples {
    any: Option<String>,
    schedule: Option<String>,
    realtime: Option<String>,
    siri: Option<String>,
    system: Option<String>,
    /// The network of the real-time feed, which SIRI has as a dataset.
    dataset: Option<String>,
    /// A stop of the schedule.
    stop: Option<String>,
    /// Latitude and longitude of the stop.
    position: Option<(f64, f64)>,
    /// The hash of a stored version of the schedule.
    hash: Option<String>,
}

impl ApiExamples {
    /// Picks a feed of each kind, preferring feeds with data.
    pub(super) async fn for_app(app: &App) -> Self {
        let mut examples = Self::from_feeds(app);
        let schedule = examples.schedule.as_deref();
        let schedule = schedule
            .and_then(|id| app.ingest().feeds().into_iter().find(|feed| feed.id().as_str() == id));
        if let Some(feed) = schedule {
            let versions = read_stored_versions(app, feed.id(), 0, 1).await.unwrap_or_default();
            examples.hash = versions.first().map(|version| version.hash.to_string());
        }
        examples
    }

    fn from_feeds(app: &App) -> Self {
        let mut feeds = app.ingest().feeds();
        feeds.sort_by_key(|feed| feed.snapshot().is_none());
        let first = |is_match: &dyn Fn(Format) -> bool| {
            let feed = feeds.iter().find(|feed| feed.format().is_some_and(is_match));
            feed.map(|feed| feed.id().to_string())
        };
        let schedule = first(&Format::is_schedule);
        let realtime = first(&Format::is_realtime);
        let network = |id: &Option<String>| app.ingest().find_network_of_feed(id.as_deref()?);
        let timetable = network(&schedule).and_then(|network| network.timetable());
        let stop = timetable.as_ref().and_then(|timetable| timetable.stops().next());
        Self {
            any: schedule
                .clone()
                .or_else(|| feeds.first().map(|feed: &std::sync::Arc<Feed>| feed.id().to_string())),
            dataset: network(&realtime).map(|network| network.id().to_string()),
            siri: first(&|format| format == Format::Siri).or_else(|| realtime.clone()),
            system: first(&Format::is_shared_mobility),
            stop: stop.map(|stop| stop.id.to_owned()),
            position: stop.and_then(|stop| stop.lat.zip(stop.lon)),
            hash: None,
            schedule,
            realtime,
        }
    }

    /// Adds examples to each operation's parameters and JSON body. An example that a handler's documentation has stays.
    pub(super) fn fill_document(&self, document: &Value) -> Value {
        let mut filled = document.clone();
        let paths = filled["paths"].as_object_mut().into_iter().flatten();
        for (path, item) in paths {
            for method in METHODS {
                if let Some(operation) = item.get_mut(method) {
                    self.fill_operation(document, path, operation);
                }
            }
        }
        filled
    }

    fn fill_operation(&self, document: &Value, path: &str, operation: &mut Value) {
        for parameter in operation["parameters"].as_array_mut().into_iter().flatten() {
            let example = self.example_parameter_value(path, parameter);
            if let (Some(parameter), Some(example)) = (parameter.as_object_mut(), example) {
                parameter.insert("example".to_owned(), example);
            }
        }
        let body = operation.pointer_mut("/requestBody/content/application~1json");
        if let Some(Value::Object(body)) = body
            && !body.contains_key("example")
            && let Some(schema) = body.get("schema")
        {
            let sample = sample_value_for_schema(document, schema, 0);
            body.insert("example".to_owned(), sample);
        }
    }

    fn example_parameter_value(&self, path: &str, parameter: &Value) -> Option<Value> {
        let name = parameter["name"].as_str().unwrap_or_default();
        let schema = &parameter["schema"];
        match parameter["in"].as_str() {
            Some("path") => self.example_path_value(path, name, schema),
            Some("query") => {
                let value =
                    self.example_query_value(name).or_else(|| schema.get("default").cloned())?;
                Some(if schema["type"] == "array" { json!([value]) } else { value })
            }
            _ => None,
        }
    }

    fn example_path_value(&self, path: &str, name: &str, schema: &Value) -> Option<Value> {
        let text = match name {
            "feed" | "id" if path.starts_with("/gbfs/") || path.contains("stations") => {
                self.system.clone()
            }
            "feed" | "id" if path.contains("/{file}") => self.system.clone(),
            "id" if path.starts_with("/api/v1/stops/") => self.stop.clone(),
            "feed" if path.starts_with("/siri/inbox/") => self.siri.clone(),
            "feed" | "id" if path.starts_with("/gtfs-rt/") || path.ends_with("/matches") => {
                self.realtime.clone()
            }
            "feed" | "id" if path_needs_schedule(path) => self.schedule.clone(),
            "feed" | "id" => self.any.clone(),
            "file" => self.system.as_ref().map(|_| "gbfs.json".to_owned()),
            "language" => Some("en".to_owned()),
            "hash" => self.hash.clone(),
            "version" => Some("3".to_owned()),
            // The number of an edit.
            "n" => return Some(json!(1)),
            _ => {
                schema["enum"].as_array().and_then(|enum_values| preferred_enum_value(enum_values))
            }
        };
        text.map(Value::String)
    }

    /// Returns a value that keeps a request valid; a filter has none, because it could hide everything.
    fn example_query_value(&self, name: &str) -> Option<Value> {
        match name {
            "channel" => self.any.as_ref().map(|feed| json!(format!("feed/{feed}"))),
            "DatasetId" | "datasetId" => self.dataset.as_ref().map(|dataset| json!(dataset)),
            "near" => self.position.map(|(lat, lon)| json!(join_degrees(&[lat, lon]))),
            "bbox" => self.position.map(|(lat, lon)| {
                let half = AREA_HALF_SIDE;
                json!(join_degrees(&[lon - half, lat - half, lon + half, lat + half]))
            }),
            "key" => Some(json!("a-long-random-key")),
            "before" => Some(json!(100)),
            "dry_run" => Some(json!(true)),
            _ => None,
        }
    }
}

fn join_degrees(degrees: &[f64]) -> String {
    let texts: Vec<String> =
        degrees.iter().map(|degree| format!("{degree:.POSITION_DECIMALS$}")).collect();
    texts.join(",")
}

fn path_needs_schedule(path: &str) -> bool {
    let marks = ["/gtfs/", "/stops", "/routes.geojson", "/versions"];
    marks.iter().any(|mark| path.contains(mark))
}

/// Returns a service that answers without parameters: stop monitoring needs a stop.
fn preferred_enum_value(enum_values: &[Value]) -> Option<String> {
    let enum_values = enum_values.iter().filter_map(Value::as_str);
    enum_values.filter(|word| *word != "stop-monitoring").map(str::to_owned).next()
}

/// Returns a value that fits a schema, with its required properties.
fn sample_value_for_schema(document: &Value, schema: &Value, depth: usize) -> Value {
    if depth > DEPTH_MAX {
        return Value::Null;
    }
    if let Some(reference) = schema["$ref"].as_str() {
        let found = document.pointer(reference.trim_start_matches('#'));
        return found
            .map_or(Value::Null, |schema| sample_value_for_schema(document, schema, depth + 1));
    }
    match schema["type"].as_str() {
        Some("object") => {
            let required = schema["required"].as_array().into_iter().flatten();
            let names = required.filter_map(Value::as_str);
            let property = |name: &str| {
                let value = match name {
                    "channel" => json!("app/news"),
                    "channels" => json!(["app/news"]),
                    "user" => json!("42"),
                    name => {
                        sample_value_for_schema(document, &schema["properties"][name], depth + 1)
                    }
                };
                (name.to_owned(), value)
            };
            let mut body: Map<String, Value> = names.map(property).collect();
            // A publication needs data, which the call accepts in two forms.
            if schema["properties"]["b64data"].is_object() {
                body.insert("data".to_owned(), json!({ "text": "hello" }));
            }
            Value::Object(body)
        }
        Some("array") => json!([sample_value_for_schema(document, &schema["items"], depth + 1)]),
        Some("integer" | "number") => json!(1),
        Some("boolean") => json!(true),
        Some("string") => schema["enum"][0].as_str().map_or(json!("text"), |word| json!(word)),
        _ => Value::Null,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn filled_parameters(examples: &ApiExamples, path: &str, parameters: &Value) -> Vec<Value> {
        let document = json!({ "paths": { path: { "get": { "parameters": parameters } } } });
        let filled = examples.fill_document(&document);
        let parameters = filled["paths"][path]["get"]["parameters"].as_array().unwrap();
        parameters.iter().map(|parameter| parameter["example"].clone()).collect()
    }

    #[test]
    fn parameters_have_values_of_the_server_or_no_example() {
        let text = json!({ "type": "string" });
        let path = "/api/v1/stops/{feed}/{id}/departures";
        let parameters = json!([
            { "name": "feed", "in": "path", "schema": text },
            { "name": "id", "in": "path", "schema": text },
            { "name": "limit", "in": "query", "schema": { "type": "integer", "default": 20 } },
            { "name": "q", "in": "query", "schema": text },
            { "name": "channel", "in": "query", "schema": { "type": "array" } },
        ]);
        let examples = ApiExamples {
            stop: Some("A/1".to_owned()),
            any: Some("city".to_owned()),
            ..ApiExamples::default()
        };
        assert_eq!(
            filled_parameters(&examples, path, &parameters),
            [Value::Null, json!("A/1"), json!(20), Value::Null, json!(["feed/city"])]
        );
    }

    #[test]
    fn an_area_surrounds_the_position_of_the_stop() {
        let parameters = json!([
            { "name": "bbox", "in": "query", "schema": {} },
            { "name": "near", "in": "query", "schema": {} },
        ]);
        let examples = ApiExamples { position: Some((50.0, -4.0)), ..ApiExamples::default() };
        assert_eq!(
            filled_parameters(&examples, "/api/v1/stops", &parameters),
            [json!("-4.050,49.950,-3.950,50.050"), json!("50.000,-4.000")]
        );
    }

    #[test]
    fn a_body_has_the_example_of_its_handler_or_the_required_fields() {
        let own = json!({ "content": { "application/json": { "schema": { "type": "object" }, "example": { "id": "a" } } } });
        let made = json!({ "content": { "application/json": { "schema": { "$ref": "#/components/schemas/Call" } } } });
        let document = json!({
            "paths": { "/a": { "post": { "requestBody": own }, "patch": { "requestBody": made } } },
            "components": { "schemas": { "Call": { "type": "object", "required": ["channel", "n"],
                "properties": { "channel": { "type": "string" }, "n": { "type": "integer" } } } } },
        });
        let filled = ApiExamples::default().fill_document(&document);
        let example = |method: &str| {
            filled["paths"]["/a"][method]["requestBody"]["content"]["application/json"]["example"]
                .clone()
        };
        assert_eq!(example("post"), json!({ "id": "a" }));
        assert_eq!(example("patch"), json!({ "channel": "app/news", "n": 1 }));
    }
}
