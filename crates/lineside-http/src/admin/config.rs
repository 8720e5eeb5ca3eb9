//! `/api/v1/admin/config`: the state of the configuration file.

use axum::Json;
use axum::extract::State;
use lineside_config::times::format_rfc3339;
use serde::Serialize;
use utoipa::ToSchema;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::app::App;
use crate::errors::Problem;

pub(super) fn routes() -> OpenApiRouter<App> {
    OpenApiRouter::new().routes(routes!(get_config))
}

/// The state of the configuration file, and of the configuration in force.
#[derive(Debug, Serialize, ToSchema)]
struct ConfigState {
    /// The file; null if there is none.
    file: Option<String>,
    /// Time at which the configuration in force was read.
    read_at: Option<String>,
    /// Time at which the file was rejected; null while it is valid.
    refused_at: Option<String>,
    /// All errors of the file: file, line, key and reason.
    errors: Vec<String>,
    /// Keys whose change takes effect at the next start.
    deferred: Vec<&'static str>,
}

/// Returns the state of the configuration file and its errors
#[utoipa::path(
    get, path = "/api/v1/admin/config", tag = "admin", security(("admin" = [])),
    responses(
        (status = 200, description = "The state of the configuration file", body = ConfigState),
        (status = 401, description = "`not_admin`", body = Problem)
    )
)]
async fn get_config(State(app): State<App>) -> Json<ConfigState> {
    let state = app.live_settings().reload_state();
    let file = app.config().source.file.as_ref().map(|file| file.display().to_string());
    let refused = state.rejected.as_ref();
    Json(ConfigState {
        file,
        read_at: format_rfc3339(state.read_at),
        refused_at: refused.and_then(|refused| format_rfc3339(refused.at)),
        errors: refused.map(|refused| refused.errors.clone()).unwrap_or_default(),
        deferred: state.deferred_keys.clone(),
    })
}
