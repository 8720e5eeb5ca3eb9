//! Whether the server lives, whether it is ready, and what it counts.

use axum::Json;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use http::{HeaderMap, HeaderValue, StatusCode, header};
use serde::Serialize;
use utoipa::ToSchema;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::aside::aside;
use super::errors::Refusal;
use super::reply::{Representation, Wants};
use crate::app::App;
use crate::metrics::{self, Form};

pub(super) fn routes() -> OpenApiRouter<App> {
    OpenApiRouter::new().routes(routes!(live)).routes(routes!(ready)).routes(routes!(figures))
}

/// How the server is.
#[derive(Debug, Serialize, ToSchema)]
struct Health {
    /// `ok`, or what it is waiting for.
    status: &'static str,
}

fn health(code: StatusCode, status: &'static str) -> Response {
    let no_store = (header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    (code, [no_store], Json(Health { status })).into_response()
}

/// Whether the process answers
#[utoipa::path(
    get, path = "/healthz", tag = "operate",
    responses((status = 200, description = "It does", body = Health))
)]
async fn live() -> Response {
    health(StatusCode::OK, "ok")
}

/// Whether the server should get requests
///
/// Yes once each feed was tried, or 5 s passed; a dead producer does not make it no.
#[utoipa::path(
    get, path = "/readyz", tag = "operate",
    responses(
        (status = 200, description = "It should", body = Health),
        (status = 503, description = "It starts or stops", body = Health)
    )
)]
async fn ready(State(app): State<App>) -> Response {
    if app.shutdown().is_draining() {
        health(StatusCode::SERVICE_UNAVAILABLE, "stopping")
    } else if app.ingest().ready() {
        health(StatusCode::OK, "ok")
    } else {
        health(StatusCode::SERVICE_UNAVAILABLE, "waiting for the first poll of each feed")
    }
}

/// What the server counts
///
/// OpenMetrics text, the classic Prometheus text for clients that prefer `text/plain`, or protobuf messages with native
/// histograms for clients that prefer them.
#[utoipa::path(
    get, path = "/metrics", tag = "operate",
    responses((
        status = 200, description = "The figures",
        content(
            (String = "application/openmetrics-text"),
            (String = "text/plain"),
            (Vec<u8> = "application/vnd.google.protobuf"),
        )
    ))
)]
async fn figures(
    State(app): State<App>,
    headers: HeaderMap,
    wants: Wants,
) -> Result<Response, Refusal> {
    let form = Form::accepted(&headers);
    let kind = HeaderValue::from_static(form.content_type());
    let asked = app.clone();
    // Of thousands of feeds it takes milliseconds to write it out.
    let figures = aside(move || metrics::figures(&asked, form)).await?;
    let reply = Representation::new(kind, figures).private().passing();
    let mut reply = reply.reply(&wants, &app).await;
    let vary = HeaderValue::from_static("Accept, Accept-Encoding");
    reply.headers_mut().insert(header::VARY, vary);
    Ok(reply)
}
