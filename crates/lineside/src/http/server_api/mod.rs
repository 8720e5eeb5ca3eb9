//! The server API: the operator's own back end publishes into `app/…`, and asks who is there.
//!
//! Requests and replies are those of Centrifugo's HTTP API, so that its client libraries serve: `POST` with JSON and a
//! key, 200 with `result` or `error`. It reaches the operator's own channels only; what producers
//! say, nobody else can.

mod answer;
mod call;
mod disconnect;
mod history;
mod presence;
mod publish;
mod unknown_method;

use utoipa_axum::router::OpenApiRouter;

pub(crate) use self::publish::IdempotencyCache;

use crate::app::App;

pub(super) fn routes() -> OpenApiRouter<App> {
    OpenApiRouter::new()
        .merge(publish::routes())
        .merge(presence::routes())
        .merge(history::routes())
        .merge(disconnect::routes())
        .route("/api/{method}", axum::routing::post(unknown_method::refuse_method))
        .layer(axum::extract::DefaultBodyLimit::max(super::limits::CALL_BYTES_MAX))
}
