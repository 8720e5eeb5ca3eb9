//! The description of the API, generated from the handlers.

use axum::Router;
use axum::extract::State;
use axum::routing::get;
use bytes::Bytes;
use http::HeaderValue;
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

/// Serves the finished description.
pub(super) fn router(document: OpenApi) -> Router<App> {
    let body = document.to_pretty_json().expect("a description made of texts serializes");
    let body = Bytes::from(body);
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
