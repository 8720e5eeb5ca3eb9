//! Example values for the parameters of an address, taken from the current data of this server.

use lineside_formats::Format;
use lineside_http::app::App;
use lineside_ingest::Feed;
use serde_json::{Value, json};

/// Characters of a path segment that need no encoding.
const SEGMENT: &percent_encoding::AsciiSet =
    &percent_encoding::NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');
/// The deepest nesting of a sample request body.
const DEPTH_MAX: usize = 4;

/// The values for the examples of all operations.
#[derive(Debug, Default)]
pub(super) struct ApiExamples {
    any: Option<String>,
    schedule: Option<String>,
    realtime: Option<String>,
    system: Option<String>,
    /// A stop of the schedule.
    stop: Option<String>,
}

/// An address with example values.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct ExampleAddress {
    /// The path and the query.
    pub(super) address: String,
    /// True if the address exists on this server, so that a link makes sense.
    pub(super) is_available: bool,
}

impl ApiExamples {
    /// Picks a feed of each kind, preferring feeds with data.
    pub(super) fn for_app(app: &App) -> Self {
        let mut feeds = app.ingest().feeds();
        feeds.sort_by_key(|feed| feed.snapshot().is_none());
        let first = |is_match: &dyn Fn(Format) -> bool| {
            let feed = feeds.iter().find(|feed| feed.format().is_some_and(is_match));
            feed.map(|feed| feed.id().to_string())
        };
        let schedule = first(&Format::is_schedule);
        let timetable =
            schedule.as_deref().and_then(|id| app.ingest().find_network_of_feed(id)?.timetable());
        let stop = timetable.and_then(|timetable| Some(timetable.stops().next()?.id.to_owned()));
        Self {
            any: schedule
                .clone()
                .or_else(|| feeds.first().map(|feed: &std::sync::Arc<Feed>| feed.id().to_string())),
            realtime: first(&Format::is_realtime),
            system: first(&Format::is_system),
            schedule,
            stop,
        }
    }

    /// Returns the address of an operation with its required parameters filled in.
    pub(super) fn fill_address(&self, path: &str, parameters: &[&Value]) -> ExampleAddress {
        let mut example = ExampleAddress { address: path.to_owned(), is_available: true };
        let mut query = Vec::new();
        for parameter in parameters {
            let name = parameter["name"].as_str().unwrap_or_default();
            let is_required = parameter["required"].as_bool().unwrap_or_default();
            match parameter["in"].as_str() {
                Some("path") => {
                    let value = self.path_value(path, name, &parameter["schema"]);
                    example.is_available &= value.is_some();
                    let value =
                        value.map_or_else(|| name.to_uppercase(), |value| encode_segment(&value));
                    example.address = example.address.replace(&format!("{{{name}}}"), &value);
                }
                Some("query") if is_required => {
                    let value = self.query_value(name);
                    example.is_available &= value.is_some();
                    query.push(format!("{name}={}", value.unwrap_or_else(|| name.to_uppercase())));
                }
                _ => {}
            }
        }
        if !query.is_empty() {
            example.address = format!("{}?{}", example.address, query.join("&"));
        }
        example
    }

    fn path_value(&self, path: &str, name: &str, schema: &Value) -> Option<String> {
        match name {
            "feed" | "id" if path.starts_with("/gbfs/") || path.contains("stations") => {
                self.system.clone()
            }
            "feed" | "id" if path.contains("/{file}") => self.system.clone(),
            "id" if path.starts_with("/api/v1/stops/") => self.stop.clone(),
            "feed" | "id" if path.starts_with("/gtfs-rt/") || path.ends_with("/matches") => {
                self.realtime.clone()
            }
            "feed" | "id" if needs_schedule(path) => self.schedule.clone(),
            "feed" | "id" => self.any.clone(),
            "file" => self.system.as_ref().map(|_| "gbfs.json".to_owned()),
            // Some systems have one language, and some schedules have one version.
            "language" | "hash" | "n" => None,
            "version" => Some("3".to_owned()),
            _ => schema["enum"].as_array().and_then(|enum_values| preferred_word(enum_values)),
        }
    }

    fn query_value(&self, name: &str) -> Option<String> {
        match name {
            "channel" => self.any.as_ref().map(|feed| format!("feed/{feed}")),
            _ => None,
        }
    }
}

fn needs_schedule(path: &str) -> bool {
    let marks = ["/gtfs/", "/stops", "/routes.geojson", "/versions"];
    marks.iter().any(|mark| path.contains(mark))
}

/// Returns a service that answers without parameters: stop monitoring needs a stop.
fn preferred_word(enum_values: &[Value]) -> Option<String> {
    let enum_values = enum_values.iter().filter_map(Value::as_str);
    enum_values.filter(|word| *word != "stop-monitoring").map(str::to_owned).next()
}

fn encode_segment(value: &str) -> String {
    percent_encoding::utf8_percent_encode(value, SEGMENT).to_string()
}

/// Returns a value that fits a schema, with its required properties.
pub(super) fn sample_value(document: &Value, schema: &Value, depth: usize) -> Value {
    if depth > DEPTH_MAX {
        return Value::Null;
    }
    if let Some(reference) = schema["$ref"].as_str() {
        let found = document.pointer(reference.trim_start_matches('#'));
        return found.map_or(Value::Null, |schema| sample_value(document, schema, depth + 1));
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
                    name => sample_value(document, &schema["properties"][name], depth + 1),
                };
                (name.to_owned(), value)
            };
            let mut body: serde_json::Map<String, Value> = names.map(property).collect();
            // A publication needs data, which the call accepts in two forms.
            if schema["properties"]["b64data"].is_object() {
                body.insert("data".to_owned(), json!({ "text": "hello" }));
            }
            Value::Object(body)
        }
        Some("array") => json!([sample_value(document, &schema["items"], depth + 1)]),
        Some("integer" | "number") => json!(1),
        Some("boolean") => json!(true),
        Some("string") => schema["enum"][0].as_str().map_or(json!("text"), |word| json!(word)),
        _ => Value::Null,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_example_address_has_values_of_the_server_or_placeholders() {
        let examples = ApiExamples { stop: Some("A/1".to_owned()), ..ApiExamples::default() };
        let (feed, id) = (
            json!({ "name": "feed", "in": "path", "required": true, "schema": {} }),
            json!({ "name": "id", "in": "path", "required": true, "schema": {} }),
        );
        let path = "/api/v1/stops/{feed}/{id}/departures";
        let example = examples.fill_address(path, &[&feed, &id]);
        assert_eq!(example.address, "/api/v1/stops/FEED/A%2F1/departures");
        assert!(!example.is_available);
        let full = ApiExamples { schedule: Some("city".to_owned()), ..examples };
        assert!(full.fill_address(path, &[&feed, &id]).is_available);
    }

    #[test]
    fn a_sample_body_has_the_required_fields() {
        let document = json!({ "components": { "schemas": { "Call": { "type": "object", "required": ["channel", "n"],
            "properties": { "channel": { "type": "string" }, "n": { "type": "integer" } } } } } });
        let sample = sample_value(&document, &json!({ "$ref": "#/components/schemas/Call" }), 0);
        assert_eq!(sample, json!({ "channel": "app/news", "n": 1 }));
    }
}
