//! The API description, generated from the handlers. `finish` adds the parts that all operations share.

mod finish;

use axum::Router;
use axum::extract::State;
use axum::routing::get;
use bytes::Bytes;
use http::HeaderValue;
use serde_json::Value;
use utoipa::openapi::security::{Http, HttpAuthScheme, SecurityScheme};
use utoipa::openapi::{ComponentsBuilder, InfoBuilder, LicenseBuilder, OpenApi, OpenApiBuilder};

use super::reply::{ReplyPreferences, Representation};
use crate::app::App;

/// Address of the API description.
pub const PATH: &str = "/api/v1/openapi.json";

/// Returns the description without any operation.
pub fn base_document() -> OpenApi {
    let licence = LicenseBuilder::new().name("MIT OR Apache-2.0").build();
    let info = InfoBuilder::new()
        .title("Lineside")
        .version(env!("CARGO_PKG_VERSION"))
        .description(Some(
            "Public-transport feeds: the last good bytes, the state in other formats, and every \
             change as it happens. Times are RFC 3339, durations seconds, positions WGS 84 degrees. \
             Errors are `application/problem+json` with a `code`.",
        ))
        .license(Some(licence))
        .build();
    let token = Http::builder().scheme(HttpAuthScheme::Bearer);
    let token = token.description(Some("The token of `[admin]`; browsers use a session instead"));
    let admin = SecurityScheme::Http(token.build());
    let components = ComponentsBuilder::new().security_scheme("admin", admin).build();
    OpenApiBuilder::new().info(info).components(Some(components)).build()
}

/// Returns the complete description, as it is served.
pub fn finish_document(document: &OpenApi) -> Value {
    finish::complete_document(
        serde_json::to_value(document).expect("the API description always serializes"),
    )
}

/// Serves the finished description.
pub fn router(document: &Value) -> Router<App> {
    let body = Bytes::from(format!("{document:#}"));
    Router::new().route(
        PATH,
        get(move |State(app): State<App>, preferences: ReplyPreferences| {
            let body = body.clone();
            async move {
                let kind = HeaderValue::from_static("application/json");
                let reply = Representation::new(kind, body);
                reply
                    .modified_at(Some(app.started_at()), app.now())
                    .into_reply(&preferences, &app)
                    .await
            }
        }),
    )
}
