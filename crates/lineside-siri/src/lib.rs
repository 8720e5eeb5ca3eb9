//! SIRI output of all networks, in the forms of the French profile (SIRI Lite, SOAP) and of the Nordic one.
//!
//! Every form of request becomes one [`SiriQuery`](query::SiriQuery), and every reply is one message of
//! `lineside_formats::siri`, so that the forms differ only in their envelopes.

mod deliveries;
mod query;
mod answer_cache;
mod fault;
mod encoding;
mod inbox;
mod lite;
mod nordic;
mod siri_service;
mod snapshot;
mod services;
mod subscriptions;

use lineside_http::app::App;
use utoipa_axum::router::OpenApiRouter;

pub use self::siri_service::SiriService;

/// Returns the routes of all forms of SIRI.
pub fn routes(service: SiriService) -> OpenApiRouter<App> {
    OpenApiRouter::new()
        .merge(lite::routes())
        .merge(nordic::routes())
        .merge(services::routes())
        .merge(subscriptions::routes())
        .merge(inbox::routes())
        .with_state(service)
}
