//! The description of the API, generated from the handlers. `finish` adds what holds for all of them.

mod finish;

use axum::Router;
use axum::extract::State;
use axum::routing::get;
use bytes::Bytes;
use http::HeaderValue;
use serde_json::Value;
use utoipa::openapi::security::{Http, HttpAuthScheme, SecurityScheme};
use utoipa::openapi::{ComponentsBuilder, InfoBuilder, LicenseBuilder, OpenApi, OpenApiBuilder};

use super::reply::{Representation, Wants};
use crate::app::App;

/// Where the description is served.
pub(super) const PATH: &str = "/api/v1/openapi.json";

/// The description without any route.
pub(super) fn frame() -> OpenApi {
    let licence = LicenseBuilder::new().name("MIT OR Apache-2.0").build();
    let info = InfoBuilder::new()
        .title("Lineside")
        .version(env!("CARGO_PKG_VERSION"))
        .description(Some(
            "Public-transport feeds: the last good bytes, the state in other formats, and every \
             change as it happens. Times are RFC 3339, durations seconds, positions WGS 84 degrees. \
             Refusals are `application/problem+json` with a `code`.",
        ))
        .license(Some(licence))
        .build();
    let token = Http::builder().scheme(HttpAuthScheme::Bearer);
    let token =
        token.description(Some("The token of `[admin]`; a browser shows its session instead"));
    let admin = SecurityScheme::Http(token.build());
    let components = ComponentsBuilder::new().security_scheme("admin", admin).build();
    OpenApiBuilder::new().info(info).components(Some(components)).build()
}

/// The whole description, as it is served.
pub(super) fn finish(document: &OpenApi) -> Value {
    finish::finish(serde_json::to_value(document).expect("a description made of texts serializes"))
}

/// Serves the finished description.
pub(super) fn router(document: &Value) -> Router<App> {
    let body = Bytes::from(format!("{document:#}"));
    Router::new().route(
        PATH,
        get(move |State(app): State<App>, wants: Wants| {
            let body = body.clone();
            async move {
                let kind = HeaderValue::from_static("application/json");
                let reply = Representation::new(kind, body);
                reply.modified(Some(app.started()), app.now()).reply(&wants, &app).await
            }
        }),
    )
}
