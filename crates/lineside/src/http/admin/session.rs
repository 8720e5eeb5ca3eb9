//! `/api/v1/admin/session`: who a request is taken for, and the end of that.

use axum::Json;
use axum::extract::State;
use http::{HeaderMap, StatusCode};
use serde::Serialize;
use utoipa::ToSchema;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::session_id;
use crate::admin::By;
use crate::app::App;
use crate::http::errors::Problem;

pub(super) fn routes() -> OpenApiRouter<App> {
    OpenApiRouter::new().routes(routes!(session, end))
}

/// How an admin showed who asks.
#[derive(Debug, Serialize, ToSchema)]
struct Session {
    /// `token` or `session`.
    by: &'static str,
    /// Seconds until the session ends; null for a token, which does not.
    left: Option<u64>,
}

/// Whether a token or a session is an admin's
///
/// For programs that would rather know before they begin.
#[utoipa::path(
    get, path = "/api/v1/admin/session", tag = "admin", security(("admin" = [])),
    responses(
        (status = 200, description = "It is", body = Session),
        (status = 401, description = "`not_admin`", body = Problem),
        (status = 429, description = "`too_many_attempts`", body = Problem)
    )
)]
async fn session(by: By) -> Json<Session> {
    Json(match by {
        By::Token => Session { by: "token", left: None },
        By::Session(left) => Session { by: "session", left: Some(left.as_secs()) },
    })
}

/// Ends the session that is shown
///
/// A token has none, and stays good.
#[utoipa::path(
    delete, path = "/api/v1/admin/session", tag = "admin", security(("admin" = [])),
    responses(
        (status = 204, description = "The session has ended"),
        (status = 401, description = "`not_admin`", body = Problem),
        (status = 403, description = "`other_origin`", body = Problem),
        (status = 429, description = "`too_many_attempts`", body = Problem)
    )
)]
async fn end(State(app): State<App>, by: By, headers: HeaderMap) -> StatusCode {
    if let (By::Session(_), Some(id)) = (by, session_id(&headers)) {
        app.admin().end_session(id);
    }
    StatusCode::NO_CONTENT
}
