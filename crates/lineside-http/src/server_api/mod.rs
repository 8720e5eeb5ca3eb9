//! The server API: the operator's back end publishes into `app/…` channels, and reads their presence and history.
//!
//! Requests and replies are those of Centrifugo's HTTP API, so that its client libraries work: `POST` with JSON and a
//! key, 200 with `result` or `error`. The API reaches the operator's own channels only; nothing but the producers' data
//! is published in the others.

mod answer;
mod call;
mod disconnect;
mod history;
mod presence;
mod publish;
mod unknown_method;

use utoipa_axum::router::OpenApiRouter;

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
