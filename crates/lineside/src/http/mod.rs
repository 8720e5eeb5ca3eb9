//! The HTTP server: every public address, each documented where it is registered.
//!
//! Handlers read the network's state and answer; none of them waits for a producer. `errors` alone defines the form of
//! a refusal, `reply` alone the form of a representation.

pub(crate) mod admin;
mod admission;
mod api;
mod blocking;
mod connection;
mod documented_route;
mod encoding;
mod errors;
mod events;
pub(crate) mod lookup;
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
mod prepared_replies;
mod proxies;
mod proxy;
mod ranges;
mod reader_auth;
mod realtime;
mod reply;
mod schedule;
#[cfg(target_os = "linux")]
mod sendfile;
#[cfg(not(target_os = "linux"))]
#[path = "sendfile_fallback.rs"]
mod sendfile;
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

pub(crate) use admission::{AdmissionControl, ConnectionLimits};
pub(crate) use api::report::find_report;
pub(crate) use api::versions::{find_calendar_dataset, read_reports, read_versions};
pub(crate) use blocking::{RenderSlots, read_archive, run_blocking};
pub(crate) use encoding::CompressedBodies;
pub(crate) use errors::Refusal;
use known_parameters::{KnownParameters, refuse_unknown_parameters};
pub(crate) use layers::{EmbeddableReply, producer_policy, represent_pages};
pub(crate) use parameters::QueryParameters;
pub(crate) use parameters::bad_parameter;
pub(crate) use prepared_replies::encoded_sizes;
pub(crate) use proxies::TrustedProxies;
pub(crate) use reply::{ReplyPreferences, Representation};
pub(crate) use server::{ListenerContext, serve_listener};
pub(crate) use server_api::IdempotencyCache;
pub(crate) use siri::{AnswerCache, SubscriptionRegistry};
pub(crate) use times::format_rfc3339;
pub(crate) use tls::ServerTls;

use crate::app::App;
use crate::pages;

/// Builds the router of everything that the server answers: the API, the streams, the map's files and the pages.
pub(crate) fn router(app: &App) -> Router {
    let (api, document) = documented_routes(app).split_for_parts();
    let document = Arc::new(openapi::finish_document(&document));
    let known = Arc::new(KnownParameters::new(&document));
    let router = api
        .merge(openapi::router(&document))
        .merge(map_files::router())
        .with_state(app.clone())
        .merge(pages::router(app.clone(), document))
        .merge(crate::demo::faults_router(app))
        .layer(middleware::from_fn_with_state(known, refuse_unknown_parameters))
        .method_not_allowed_fallback(async || Refusal::MethodNotAllowed)
        .fallback(reply_to_unknown_path);
    layers::wrap_router(router, app)
}

/// Returns the routes that openapi.json describes.
fn documented_routes(app: &App) -> OpenApiRouter<App> {
    OpenApiRouter::with_openapi(openapi::base_document())
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

async fn reply_to_unknown_path(headers: HeaderMap) -> Response {
    let accepted = headers.get(header::ACCEPT).and_then(|kinds| kinds.to_str().ok());
    if !accepted.is_some_and(|kinds| kinds.contains("text/html")) {
        return Refusal::UnknownPath.into_response();
    }
    pages::not_found_page("No page has this address.")
}
