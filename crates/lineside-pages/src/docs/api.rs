//! The API reference: each operation of the OpenAPI document with its parameters, replies and an example.

use std::sync::Arc;

use axum::Extension;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use axum::response::Response;
use lineside_http::app::App;
use lineside_http::openapi::ApiDescription;
use maud::{Markup, PreEscaped, html};
use serde_json::Value;

use super::{API, STYLE, markdown, render_breadcrumbs, render_navigation, schema};
use crate::layout::{self, NavSection, PageLayout};
use crate::words;

/// Characters of a path segment that need no encoding.
const SEGMENT: &percent_encoding::AsciiSet =
    &percent_encoding::NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');
const METHODS: [&str; 5] = ["get", "post", "put", "patch", "delete"];

/// One method of one path.
struct ApiOperation<'a> {
    method: &'static str,
    path: &'a str,
    value: &'a Value,
}

impl<'a> ApiOperation<'a> {
    fn list_operations(document: &'a Value) -> Vec<Self> {
        let paths = document["paths"].as_object().into_iter().flatten();
        let operations_of_path = |(path, item): (&'a String, &'a Value)| {
            METHODS.iter().filter_map(move |method| {
                let value = item.get(*method)?;
                Some(ApiOperation { method, path, value })
            })
        };
        paths.flat_map(operations_of_path).collect()
    }

    fn has_tag(&self, tag: &str) -> bool {
        let mut tags = self.value["tags"].as_array().into_iter().flatten();
        tags.any(|own| own == tag)
    }

    fn anchor(&self) -> &'a str {
        self.value["operationId"].as_str().unwrap_or_default()
    }

    fn parameters(&self) -> Vec<&'a Value> {
        self.value["parameters"].as_array().into_iter().flatten().collect()
    }
}

/// An address with example values.
#[derive(Debug, PartialEq, Eq)]
struct ExampleRequestUrl {
    /// The path and the query.
    address: String,
    /// True if the address exists on this server, so that a link makes sense.
    is_available: bool,
}

impl ExampleRequestUrl {
    /// Fills in the required parameters of an operation: with their examples, or with their names in capitals.
    fn for_operation(operation: &ApiOperation<'_>) -> Self {
        // Most systems have one language, and their files no address with it.
        let is_available = !operation.path.contains("{language}");
        let mut example = Self { address: operation.path.to_owned(), is_available };
        let mut query = Vec::new();
        for parameter in operation.parameters() {
            if parameter["required"] != true {
                continue;
            }
            let name = string_or_empty(&parameter["name"]);
            let value = match &parameter["example"] {
                Value::Array(items) => items.first().map(json_value_text),
                Value::Null => None,
                value => Some(json_value_text(value)),
            };
            example.is_available &= value.is_some();
            let value = value.unwrap_or_else(|| name.to_uppercase());
            match parameter["in"].as_str() {
                Some("path") => {
                    let value = percent_encoding::utf8_percent_encode(&value, SEGMENT).to_string();
                    example.address = example.address.replace(&format!("{{{name}}}"), &value);
                }
                Some("query") => query.push(format!("{name}={value}")),
                _ => {}
            }
        }
        if !query.is_empty() {
            example.address = format!("{}?{}", example.address, query.join("&"));
        }
        example
    }
}

fn json_value_text(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

pub(super) async fn get_reference(
    State(app): State<App>,
    Extension(description): Extension<Arc<ApiDescription>>,
    headers: HeaderMap,
) -> Response {
    let base = app.base_url(&headers);
    let description = description.fill_examples(&app).await;
    let document = &description.document;
    let operations = ApiOperation::list_operations(document);
    let mut page = PageLayout::new("API reference", NavSection::Documentation);
    page.styles = &[STYLE];
    page.canonical = Some(API.to_owned());
    page.description = Some(
        "Every address of this server's API, with parameters, replies and examples.".to_owned(),
    );
    let tags: Vec<(&str, &str)> = list_tags(document).collect();
    let main = html! {
        div.page.docs {
            (render_navigation(API))
            article.prose {
                (render_breadcrumbs())
                h1 { "API reference" }
                p { (PreEscaped(markdown::render_inline(document["info"]["description"].as_str().unwrap_or_default()))) }
                p {
                    "For tools: " a href="/api/v1/openapi.json" { "openapi.json" } " (OpenAPI " (string_or_empty(&document["openapi"])) "). "
                    "Replies may be read by pages of any origin."
                }
                (render_operation_index(&tags, &operations))
                @for (tag, about) in &tags {
                    section {
                        h2 id=(tag_anchor(tag)) { (tag) }
                        p.soft { (PreEscaped(markdown::render_inline(about))) }
                        @for operation in operations.iter().filter(|operation| operation.has_tag(tag)) {
                            (render_operation(operation, &base))
                        }
                    }
                }
                (schema::render_schemas(document))
            }
        }
    };
    layout::reply_with_page(StatusCode::OK, page.render_document(&main))
}

/// Renders the list of all addresses, by tag.
fn render_operation_index(tags: &[(&str, &str)], operations: &[ApiOperation<'_>]) -> Markup {
    html! {
        nav.api-addresses aria-label="On this page" {
            @for (tag, _) in tags {
                @let own: Vec<_> = operations.iter().filter(|operation| operation.has_tag(tag)).collect();
                details {
                    summary { (tag) " " span.soft.small { (words::format_count(own.len() as u64, "operation", "operations")) } }
                    ul {
                        @for operation in own {
                            li {
                                a href=(format!("#{}", operation.anchor())) {
                                    @if operation.method != "get" { (operation.method.to_uppercase()) " " }
                                    (words::render_breakable_path(operation.path))
                                }
                            }
                        }
                    }
                }
            }
            p { a href="#schemas" { "Schemas" } }
        }
    }
}

fn list_tags(document: &Value) -> impl Iterator<Item = (&str, &str)> {
    let tags = document["tags"].as_array().into_iter().flatten();
    tags.map(|tag| (string_or_empty(&tag["name"]), string_or_empty(&tag["description"])))
}

fn tag_anchor(tag: &str) -> String {
    format!("tag-{}", tag.replace(' ', "-"))
}

fn string_or_empty(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

fn render_operation(operation: &ApiOperation<'_>, base: &str) -> Markup {
    let parameters = operation.parameters();
    let description = string_or_empty(&operation.value["description"]);
    html! {
        section.operation id=(operation.anchor()) {
            h3 {
                (string_or_empty(&operation.value["summary"]))
                " " a.anchor href=(format!("#{}", operation.anchor())) aria-label="Link to this operation" { "#" }
            }
            p { code.method data-method=(operation.method) { (operation.method.to_uppercase()) } " " code { (operation.path) } }
            @if !description.is_empty() { p { (PreEscaped(markdown::render_inline(description))) } }
            @if !parameters.is_empty() { (render_parameter_table(&parameters)) }
            (render_responses(&operation.value["responses"]))
            (render_example(operation, base))
        }
    }
}

fn render_parameter_table(parameters: &[&Value]) -> Markup {
    html! {
        div.scroll tabindex="0" {
            table.api-table {
                thead { tr { th scope="col" { "Parameter" } th scope="col" { "Type" } th scope="col" { "Meaning" } } }
                tbody {
                    @for parameter in parameters {
                        tr {
                            td {
                                code { (string_or_empty(&parameter["name"])) }
                                @if string_or_empty(&parameter["in"]) != "query" { br; span.soft.small { "in the " (string_or_empty(&parameter["in"])) } }
                                @if parameter["required"] == true { br; span.small { "required" } }
                            }
                            td { (schema::render_type(&parameter["schema"])) (schema::render_schema_constraints(&parameter["schema"])) }
                            td { (PreEscaped(markdown::render_inline(string_or_empty(&parameter["description"])))) }
                        }
                    }
                }
            }
        }
    }
}

fn render_responses(responses: &Value) -> Markup {
    html! {
        div.scroll tabindex="0" {
            table.api-table {
                thead { tr { th scope="col" { "Status" } th scope="col" { "Reply" } th scope="col" { "Content" } } }
                tbody {
                    @for (status, response) in responses.as_object().into_iter().flatten() {
                        tr {
                            td { code { (status) } }
                            td { (PreEscaped(markdown::render_inline(string_or_empty(&response["description"])))) }
                            td {
                                @for (kind, content) in response["content"].as_object().into_iter().flatten() {
                                    div { span.small { (kind) } " " (schema::render_type(&content["schema"])) }
                                }
                            }
                        }
                    }
                }
            }
        }
    }
}

/// Renders an example command, and a link if a browser can show the reply.
fn render_example(operation: &ApiOperation<'_>, base: &str) -> Markup {
    let example = ExampleRequestUrl::for_operation(operation);
    let is_admin = operation.has_tag("admin");
    let is_endless = operation.path == "/events";
    let is_socket = operation.path.starts_with("/connection/");
    let mut command = String::from("curl");
    if is_endless {
        command.push_str(" -N");
    }
    if operation.method != "get" {
        command.push_str(&format!(" --request {}", operation.method.to_uppercase()));
    }
    if is_admin {
        command.push_str(" --header \"Authorization: Bearer $LINESIDE_ADMIN_TOKEN\"");
    }
    if operation.has_tag("server API") {
        command.push_str(" --header \"X-API-Key: $LINESIDE_API_KEY\"");
    }
    let body = &operation.value["requestBody"]["content"]["application/json"]["example"];
    if !body.is_null() {
        command.push_str(&format!(" --json '{body}'"));
    }
    command.push_str(&format!(" '{base}{}'", example.address));
    let can_be_opened =
        operation.method == "get" && !is_admin && !is_endless && example.is_available;
    html! {
        @if is_socket {
            p.soft { "Any client of the Centrifuge protocol connects to " code { (base.replacen("http", "ws", 1)) (operation.path) } "." }
        } @else {
            pre { code { (command) } }
            @if can_be_opened { p.small { a data-example href=(example.address) { "Open " (example.address) } } }
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn an_example_address_has_examples_or_names_of_parameters() {
        let address = |feed: &Value| {
            let value = json!({ "parameters": [
                { "name": "feed", "in": "path", "required": true, "example": feed },
                { "name": "id", "in": "path", "required": true, "example": "A/1" },
                { "name": "channel", "in": "query", "required": true, "example": ["feed/city"] },
                { "name": "limit", "in": "query", "required": false, "example": 20 },
            ] });
            let path = "/stops/{feed}/{id}/departures";
            ExampleRequestUrl::for_operation(&ApiOperation { method: "get", path, value: &value })
        };
        let (filled, empty) = (address(&json!("city")), address(&Value::Null));
        assert_eq!(filled.address, "/stops/city/A%2F1/departures?channel=feed/city");
        assert_eq!(empty.address, "/stops/FEED/A%2F1/departures?channel=feed/city");
        assert!(filled.is_available && !empty.is_available);
    }
}
