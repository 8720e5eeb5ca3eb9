//! Schemas of the OpenAPI document as text: a short type, its bounds, and the list of all named schemas.

use maud::{Markup, PreEscaped, html};
use serde_json::Value;

use super::markdown;

const PREFIX: &str = "#/components/schemas/";

/// Renders a type in a few words; a named type links to the list of schemas.
pub(super) fn render_type(schema: &Value) -> Markup {
    if let Some(name) = schema["$ref"].as_str().and_then(|reference| reference.strip_prefix(PREFIX))
    {
        return html! { a href=(format!("#schema-{name}")) { code { (name) } } };
    }
    let alternatives = ["oneOf", "anyOf", "allOf"].iter().find_map(|name| schema[name].as_array());
    if let Some(alternatives) = alternatives {
        return html! {
            @for (at, schema) in alternatives.iter().filter(|schema| schema["type"] != "null").enumerate() {
                @if at > 0 { " or " }
                (render_type(schema))
            }
        };
    }
    let names: Vec<&str> = match &schema["type"] {
        Value::Array(kinds) => {
            kinds.iter().filter_map(Value::as_str).filter(|kind| *kind != "null").collect()
        }
        kind => kind.as_str().into_iter().collect(),
    };
    html! {
        @if names.contains(&"array") { "list of " (render_type(&schema["items"])) }
        @else { (names.join(" or ")) }
    }
}

/// Renders the constraints of a value besides its type.
pub(super) fn render_schema_constraints(schema: &Value) -> Markup {
    let enum_values = schema["enum"].as_array();
    let range = match (schema["minimum"].as_i64(), schema["maximum"].as_i64()) {
        (Some(minimum), Some(maximum)) => Some(format!("{minimum} to {maximum}")),
        (Some(minimum), None) => Some(format!("at least {minimum}")),
        (None, Some(maximum)) => Some(format!("at most {maximum}")),
        (None, None) => None,
    };
    let length =
        schema["maxLength"].as_i64().map(|maximum| format!("at most {maximum} characters"));
    let items = schema["maxItems"].as_i64().map(|maximum| format!("at most {maximum}"));
    html! {
        @for bound in [range, length, items].into_iter().flatten() { br; span.small.soft { (bound) } }
        @if let Some(words) = enum_values {
            br;
            span.small { @for (at, word) in words.iter().enumerate() { @if at > 0 { ", " } code { (json_value_text(word)) } } }
        }
        @if let Some(pattern) = schema["pattern"].as_str() { br; code.small { (pattern) } }
        @if !schema["default"].is_null() { br; span.small.soft { "default " code { (json_value_text(&schema["default"])) } } }
    }
}

fn json_value_text(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

/// Renders all named schemas with their properties.
pub(super) fn render_schemas(document: &Value) -> Markup {
    let schemas = document["components"]["schemas"].as_object().into_iter().flatten();
    html! {
        section {
            h2 #schemas { "Schemas" }
            @for (name, schema) in schemas {
                section.operation id=(format!("schema-{name}")) {
                    h3 { code { (name) } }
                    @if let Some(about) = schema["description"].as_str() { p { (PreEscaped(markdown::render_inline(about))) } }
                    @match schema["properties"].as_object() {
                        Some(properties) if !properties.is_empty() => (render_property_table(properties)),
                        _ => p { (render_type(schema)) (render_schema_constraints(schema)) },
                    }
                }
            }
        }
    }
}

fn render_property_table(properties: &serde_json::Map<String, Value>) -> Markup {
    html! {
        div.scroll tabindex="0" {
            table {
                thead { tr { th scope="col" { "Property" } th scope="col" { "Type" } th scope="col" { "Meaning" } } }
                tbody {
                    @for (name, property) in properties {
                        tr {
                            td { code { (name) } }
                            td { (render_type(property)) (render_schema_constraints(property)) }
                            td { (PreEscaped(markdown::render_inline(property["description"].as_str().unwrap_or_default()))) }
                        }
                    }
                }
            }
        }
    }
}
