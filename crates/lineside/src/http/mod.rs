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
pub(crate) mod map_files;
pub(crate) mod openapi;
mod pace;
pub(crate) mod page_context;
pub(crate) mod page_parameters;
pub(crate) mod page_paths;
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
mod tls;
mod unsent;
mod websocket;

use utoipa_axum::router::OpenApiRouter;

pub(crate) use admission::{AdmissionControl, ConnectionLimits};
pub(crate) use api::versions::{find_calendar_dataset, read_reports, read_versions};
pub(crate) use blocking::{RenderSlots, read_archive, run_blocking};
pub(crate) use encoding::CompressedBodies;
pub(crate) use errors::Refusal;
pub(crate) use known_parameters::{KnownParameters, refuse_unknown_parameters};
pub(crate) use layers::{EmbeddableReply, producer_policy, represent_pages, wrap_router};
pub(crate) use parameters::QueryParameters;
pub(crate) use parameters::bad_parameter;
pub(crate) use prepared_replies::encoded_sizes;
pub(crate) use proxies::TrustedProxies;
pub(crate) use reply::{ReplyPreferences, Representation};
pub(crate) use server::{ListenerContext, serve_listener};
pub(crate) use server_api::IdempotencyCache;
pub(crate) use siri::{AnswerCache, SubscriptionRegistry};
pub(crate) use tls::ServerTls;

use crate::app::App;

/// Returns the routes that openapi.json describes.
pub(crate) fn documented_routes(app: &App) -> OpenApiRouter<App> {
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
