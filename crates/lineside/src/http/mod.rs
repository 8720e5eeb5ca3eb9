//! The HTTP room: every public address, each documented where it is registered.
//!
//! Handlers ask the network's state and answer; none of them waits for a producer. `errors` alone
//! knows how a refusal looks, `reply` alone how a representation does.

pub(crate) mod admin;
mod admission;
mod api;
mod aside;
mod connection;
mod documented;
mod encoding;
mod errors;
mod events;
pub(crate) mod found;
mod frame_limit;
mod gbfs;
mod geojson;
mod health;
mod incidents;
mod known_parameters;
mod layers;
pub(crate) mod limits;
mod map_files;
mod openapi;
mod pace;
mod parameters;
mod prepared;
mod proxies;
mod proxy;
mod ranges;
mod readers;
mod realtime;
mod reply;
mod schedule;
#[cfg(target_os = "linux")]
mod sending;
#[cfg(not(target_os = "linux"))]
#[path = "sending_elsewhere.rs"]
mod sending;
mod server;
mod server_api;
mod shared_bytes;
mod siri;
mod streams;
mod systems;
mod takeover;
mod times;
mod tls;
mod unsent;
mod websocket;

use std::sync::Arc;

use axum::response::{IntoResponse as _, Response};
use axum::{Router, middleware};
use http::{HeaderMap, header};
use utoipa_axum::router::OpenApiRouter;

pub(crate) use admission::{Admission, ConnectionLimits};
pub(crate) use api::report::find as find_report;
pub(crate) use api::versions::{find_calendar_dataset, read as read_versions, read_reports};
pub(crate) use aside::{Makers, aside, remembered};
pub(crate) use encoding::Compressed;
pub(crate) use errors::Refusal;
use known_parameters::{KnownParameters, refuse_unknown_parameters};
pub(crate) use layers::{Embeddable, producer_policy, represent_pages};
pub(crate) use parameters::Parameters;
pub(crate) use parameters::bad;
pub(crate) use prepared::prepared_bytes;
pub(crate) use proxies::Proxies;
pub(crate) use reply::{Representation, Wants};
pub(crate) use server::{Sessions, serve};
pub(crate) use server_api::Published;
pub(crate) use siri::{Desk, Subscriptions};
pub(crate) use times::rfc3339;
pub(crate) use tls::Tls;

use crate::app::App;
use crate::pages;

/// Everything that the server answers: the API, the streams, the map's files and the pages.
pub(crate) fn router(app: &App) -> Router {
    let (api, document) = documented_routes(app).split_for_parts();
    let document = Arc::new(openapi::finish(&document));
    let known = Arc::new(KnownParameters::new(&document));
    let router = api
        .merge(openapi::router(&document))
        .merge(map_files::router())
        .with_state(app.clone())
        .merge(pages::router(app.clone(), document))
        .merge(crate::demo::router(app))
        .layer(middleware::from_fn_with_state(known, refuse_unknown_parameters))
        .method_not_allowed_fallback(async || Refusal::MethodNotAllowed)
        .fallback(unknown_path);
    layers::wrap(router, app)
}

/// The routes that openapi.json describes.
fn documented_routes(app: &App) -> OpenApiRouter<App> {
    OpenApiRouter::with_openapi(openapi::frame())
        .merge(health::routes())
        .merge(proxy::routes())
        .merge(gbfs::routes())
        .merge(systems::routes())
        .merge(schedule::routes())
        .merge(realtime::routes())
        .merge(geojson::routes())
        .merge(siri::routes())
        .merge(incidents::routes())
        .merge(events::routes())
        .merge(websocket::routes())
        .merge(api::routes())
        .merge(server_api::routes())
        .merge(admin::routes(app))
}

async fn unknown_path(headers: HeaderMap) -> Response {
    let accepted = headers.get(header::ACCEPT).and_then(|kinds| kinds.to_str().ok());
    if !accepted.is_some_and(|kinds| kinds.contains("text/html")) {
        return Refusal::UnknownPath.into_response();
    }
    pages::not_found("No page has this address.")
}
