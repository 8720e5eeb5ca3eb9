//! Liveness, readiness and metrics of the server.

use axum::Json;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use http::{HeaderMap, HeaderValue, StatusCode, header};
use serde::Serialize;
use utoipa::ToSchema;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::blocking::run_blocking;
use super::errors::Refusal;
use super::reply::{ReplyPreferences, Representation};
use crate::app::App;
use crate::metrics::{self, ExpositionFormat};

pub(crate) fn routes() -> OpenApiRouter<App> {
    OpenApiRouter::new()
        .routes(routes!(get_liveness))
        .routes(routes!(get_readiness))
        .routes(routes!(get_metrics))
}

/// The health of the server.
#[derive(Debug, Serialize, ToSchema)]
struct HealthStatus {
    /// `ok`, or the reason why the server is not ready.
    status: &'static str,
}

fn health_reply(code: StatusCode, status: &'static str) -> Response {
    let no_store = (header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    (code, [no_store], Json(HealthStatus { status })).into_response()
}

/// Checks that the process answers
#[utoipa::path(
    get, path = "/healthz", tag = "operate",
    responses((status = 200, description = "The process responds", body = HealthStatus))
)]
async fn get_liveness() -> Response {
    health_reply(StatusCode::OK, "ok")
}

/// Checks that the server is ready for requests
///
/// It is ready once each feed was tried, or after 5 s; a failing producer does not make it unready.
#[utoipa::path(
    get, path = "/readyz", tag = "operate",
    responses(
        (status = 200, description = "The server is ready", body = HealthStatus),
        (status = 503, description = "The server is starting or stopping", body = HealthStatus)
    )
)]
async fn get_readiness(State(app): State<App>) -> Response {
    if app.shutdown().is_draining() {
        health_reply(StatusCode::SERVICE_UNAVAILABLE, "stopping")
    } else if app.ingest().is_ready() {
        health_reply(StatusCode::OK, "ok")
    } else {
        health_reply(StatusCode::SERVICE_UNAVAILABLE, "waiting for the first poll of each feed")
    }
}

/// Returns the server's metrics
///
/// OpenMetrics text, the classic Prometheus text for clients that prefer `text/plain`, or protobuf messages with native
/// histograms for clients that prefer them.
#[utoipa::path(
    get, path = "/metrics", tag = "operate",
    responses((
        status = 200, description = "The metrics",
        content(
            (String = "application/openmetrics-text"),
            (String = "text/plain"),
            (Vec<u8> = "application/vnd.google.protobuf"),
        )
    ))
)]
async fn get_metrics(
    State(app): State<App>,
    headers: HeaderMap,
    preferences: ReplyPreferences,
) -> Result<Response, Refusal> {
    let exposition_format = ExpositionFormat::from_accept(&headers);
    let kind = HeaderValue::from_static(exposition_format.content_type());
    let task_app = app.clone();
    // Encoding the metrics of thousands of feeds takes milliseconds.
    let exposition =
        run_blocking(move || metrics::encode_metrics(&task_app, exposition_format)).await?;
    let reply = Representation::new(kind, exposition).mark_no_store().mark_single_use();
    let mut reply = reply.into_reply(&preferences, &app).await;
    let vary = HeaderValue::from_static("Accept, Accept-Encoding");
    reply.headers_mut().insert(header::VARY, vary);
    Ok(reply)
}
