//! `/api/v1/admin/session`: the state of a request's credential, and logging out.

use axum::Json;
use axum::extract::State;
use http::{HeaderMap, StatusCode};
use serde::Serialize;
use utoipa::ToSchema;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::session_id_from_cookie;
use crate::admin_auth::AdminCredential;
use crate::app::App;
use crate::errors::Problem;

pub(super) fn routes() -> OpenApiRouter<App> {
    OpenApiRouter::new().routes(routes!(get_session, end_session))
}

/// The credential of an admin.
#[derive(Debug, Serialize, ToSchema)]
struct AdminSessionReply {
    /// `token` or `session`.
    by: &'static str,
    /// Seconds until the session ends; null for a token, which does not expire.
    seconds_left: Option<u64>,
}

/// Checks that a token or a session is an admin's
///
/// Lets programs check their credential before they start.
#[utoipa::path(
    get, path = "/api/v1/admin/session", tag = "admin", security(("admin" = [])),
    responses(
        (status = 200, description = "It is", body = AdminSessionReply),
        (status = 401, description = "`not_admin`", body = Problem),
        (status = 429, description = "`too_many_attempts`", body = Problem)
    )
)]
async fn get_session(credential: AdminCredential) -> Json<AdminSessionReply> {
    Json(match credential {
        AdminCredential::Token => AdminSessionReply { by: "token", seconds_left: None },
        AdminCredential::Session(left) => {
            AdminSessionReply { by: "session", seconds_left: Some(left.as_secs()) }
        }
    })
}

/// Ends the session of the request
///
/// A token has no session, and stays valid.
#[utoipa::path(
    delete, path = "/api/v1/admin/session", tag = "admin", security(("admin" = [])),
    responses(
        (status = 204, description = "The session has ended"),
        (status = 401, description = "`not_admin`", body = Problem),
        (status = 403, description = "`other_origin`", body = Problem),
        (status = 429, description = "`too_many_attempts`", body = Problem)
    )
)]
async fn end_session(
    State(app): State<App>,
    credential: AdminCredential,
    headers: HeaderMap,
) -> StatusCode {
    if let (AdminCredential::Session(_), Some(id)) = (credential, session_id_from_cookie(&headers))
    {
        app.admin_auth().end_session(id);
    }
    StatusCode::NO_CONTENT
}
