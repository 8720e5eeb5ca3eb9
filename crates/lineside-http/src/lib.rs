//! The HTTP server: every public address, each documented where it is registered.
//!
//! Handlers read the network's state and answer; none of them waits for a producer. `errors` alone defines the form of
//! a refusal, `reply` alone the form of a representation.

pub mod admin_auth;
pub mod app;
pub mod auth;
mod token;
mod metrics;
pub mod http_metrics;
mod histogram;
pub mod settings;
pub mod delays;
pub mod delay_replies;
pub mod ops;
pub mod ops_collector;
pub mod server_channels;
pub mod admin;
mod admission;
mod api;
pub mod blocking;
mod connection;
pub mod documented_route;
pub mod encoding;
pub mod errors;
mod events;
pub mod lookup;
mod frame_limit;
mod gbfs;
mod geojson;
mod health;
mod incidents;
mod known_parameters;
mod http_date;
mod idempotency;
mod render_slots;
mod request_count;
mod unsent_budget;
mod layers;
pub mod limits;
pub mod map_files;
pub mod openapi;
mod pace;
pub mod page_context;
mod page_parameters;
mod parameter_values;
pub mod page_paths;
pub mod parameters;
mod prepared_replies;
pub mod proxies;
mod proxy;
mod ranges;
mod reader_auth;
mod realtime;
pub mod reply;
mod schedule;
#[cfg(target_os = "linux")]
mod sendfile;
#[cfg(not(target_os = "linux"))]
#[path = "sendfile_fallback.rs"]
mod sendfile;
mod listener;
mod server_api;
mod shared_bytes;
mod streams;
mod systems;
mod takeover;
mod tls;
mod unsent;
mod websocket;

use utoipa_axum::router::OpenApiRouter;

pub use crate::idempotency::IdempotencyCache;
pub use crate::render_slots::RenderSlots;
pub use admission::{AdmissionControl, ConnectionLimits};
pub use api::versions::{find_schedule_with_calendar, read_report_summaries, read_stored_versions};
pub use blocking::{read_poll_archive, run_blocking};
pub use encoding::CompressedBodies;
pub use errors::Refusal;
pub use known_parameters::{KnownParameters, refuse_unknown_parameters};
pub use layers::{EmbeddableReplyMarker, add_page_etag_and_compression, wrap_router};
pub use listener::{ListenerContext, serve_listener};
pub use parameter_values::{PageParameterValues, ParameterValues};
pub use parameters::QueryParameters;
pub use parameters::bad_parameter_refusal;
pub use prepared_replies::compressed_count_and_bytes;
pub use proxies::TrustedProxies;
pub use reply::{ReplyPreferences, Representation, producer_bytes_csp};
pub use tls::ServerTls;

use crate::app::App;

/// Returns the routes that openapi.json describes.
pub fn documented_routes(app: &App) -> OpenApiRouter<App> {
    OpenApiRouter::with_openapi(openapi::base_openapi_document())
        .merge(health::routes())
        .merge(proxy::routes())
        .merge(gbfs::routes())
        .merge(systems::routes())
        .merge(schedule::routes())
        .merge(realtime::routes())
        .merge(geojson::routes())
        .merge(incidents::routes())
        .merge(events::routes())
        .merge(websocket::routes())
        .merge(api::routes())
        .merge(server_api::routes())
        .merge(admin::routes(app))
}
