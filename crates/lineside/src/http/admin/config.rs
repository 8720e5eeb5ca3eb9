//! `/api/v1/admin/config`: how the configuration's file and what is in force go together.

use axum::Json;
use axum::extract::State;
use serde::Serialize;
use utoipa::ToSchema;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::app::App;
use crate::http::errors::Problem;
use crate::http::times::format_rfc3339;

pub(super) fn routes() -> OpenApiRouter<App> {
    OpenApiRouter::new().routes(routes!(get_config))
}

/// How the configuration's file and what is in force go together.
#[derive(Debug, Serialize, ToSchema)]
struct ConfigState {
    /// The file; null where there is none.
    file: Option<String>,
    /// When what is in force was read.
    read_at: Option<String>,
    /// When the file was found to be no good; null while it is good.
    refused_at: Option<String>,
    /// All that is wrong with it: file, line, key and reason.
    errors: Vec<String>,
    /// Keys that say something else than what is in force until the next start.
    waiting: Vec<&'static str>,
}

/// Whether the configuration's file is in force, and what is wrong with it if not
#[utoipa::path(
    get, path = "/api/v1/admin/config", tag = "admin", security(("admin" = [])),
    responses(
        (status = 200, description = "How it is", body = ConfigState),
        (status = 401, description = "`not_admin`", body = Problem)
    )
)]
async fn get_config(State(app): State<App>) -> Json<ConfigState> {
    let state = app.settings().reload_state();
    let file = app.config().source.file.as_ref().map(|file| file.display().to_string());
    let refused = state.refused.as_ref();
    Json(ConfigState {
        file,
        read_at: format_rfc3339(state.read_at),
        refused_at: refused.and_then(|refused| format_rfc3339(refused.at)),
        errors: refused.map(|refused| refused.errors.clone()).unwrap_or_default(),
        waiting: state.waiting.clone(),
    })
}
