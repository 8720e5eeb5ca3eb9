//! Edits of a feed's overrides: read, change, delete.

use axum::Json;
use axum::extract::{Path, State};
use axum::response::Response;
use bytes::Bytes;
use lineside_config::overrides::{FeedKeys, OverrideKeyError};
use lineside_model::FeedId;
use serde_json::Value;

use super::edit_reply::{EditReply, OverrideReply};
use super::{apply_or_preview_edit, parse_feed_id};
use crate::app::App;
use crate::errors::{Problem, Refusal};
use crate::lookup;
use crate::parameters::QueryParameters;
use crate::settings::{EditAction, EditError};

fn parse_feed_keys(body: &Bytes) -> Result<FeedKeys, Refusal> {
    serde_json::from_slice(body).map_err(|error| {
        let reason = format!("expected a JSON object with the keys of a feed: {error}");
        Refusal::BadParameter { name: "body", reason: reason.into() }
    })
}

/// Adds a feed
///
/// The body has its `id` and the keys that it would have in the configuration, durations and sizes as strings.
/// Addresses are http(s) URLs, secrets are strings. The feed is polled at once.
#[utoipa::path(
    post, path = "/api/v1/admin/feeds", tag = "admin", security(("admin" = [])),
    params(
        ("dry_run" = Option<bool>, Query, description = "`true` only returns what would change, and requests the source once"),
        ("test" = Option<bool>, Query, description = "`false` disables the request of a dry run")
    ),
    request_body(
        content = Object, description = "The id and the keys of the feed",
        example = json!({"id": "buses", "url": "https://example.org/gtfs.zip", "poll": "30s"})
    ),
    responses(
        (status = 201, description = "The feed was added", body = EditReply),
        (status = 200, description = "The changes that would be made", body = EditReply),
        (status = 401, description = "`not_admin`", body = Problem),
        (status = 409, description = "`feed_exists`", body = Problem),
        (status = 422, description = "`bad_feed`: the errors, by key", body = Problem)
    )
)]
pub(super) async fn add_feed(
    State(app): State<App>,
    parameters: QueryParameters,
    body: Bytes,
) -> Result<Response, Refusal> {
    let mut keys = parse_feed_keys(&body)?;
    let id = match keys.remove("id") {
        Some(Value::String(id)) => FeedId::new(&id).map_err(|error| error.to_string()),
        _ => Err("expected text".to_owned()),
    };
    let mut faults = app.live_settings().find_key_errors(None, &keys);
    match id {
        Ok(id) if faults.is_empty() => {
            apply_or_preview_edit(&app, id, EditAction::Add(keys), &parameters).await
        }
        id => {
            let fault = id.err().map(|reason| OverrideKeyError { key: "id".to_owned(), reason });
            faults.splice(0..0, fault);
            Err(EditError::BadKeys(faults).into())
        }
    }
}

/// Returns the overrides of a feed
#[utoipa::path(
    get, path = "/api/v1/admin/feeds/{id}", tag = "admin", security(("admin" = [])),
    params(("id" = String, Path, description = "The feed's id")),
    responses(
        (status = 200, description = "The overrides", body = OverrideReply),
        (status = 401, description = "`not_admin`", body = Problem),
        (status = 404, description = "`unknown_feed`", body = Problem)
    )
)]
pub(super) async fn get_override(
    State(app): State<App>,
    Path(id): Path<String>,
) -> Result<Json<OverrideReply>, Refusal> {
    let known = parse_feed_id(&id)?;
    let (feed_override, in_file) = app.live_settings().find_feed_override(&known);
    if feed_override.is_none() {
        lookup::find_feed(&app, &id)?;
    }
    Ok(Json(OverrideReply::for_feed(&app, &known, feed_override.as_ref(), in_file)))
}

/// Changes keys of a feed
///
/// The body has the keys that differ from the file, as they would be written there; `null` restores the file's value.
/// Headers, parameters and credentials are replaced as a whole, but a secret given as `***` keeps its value.
#[utoipa::path(
    patch, path = "/api/v1/admin/feeds/{id}", tag = "admin", security(("admin" = [])),
    params(
        ("id" = String, Path, description = "The feed's id"),
        ("dry_run" = Option<bool>, Query, description = "`true` only returns what would change; if the change affects requests of the source, it is requested once"),
        ("test" = Option<bool>, Query, description = "`false` disables the request of a dry run")
    ),
    request_body(
        content = Object, description = "The changed keys",
        example = json!({"poll": "30s", "name": null})
    ),
    responses(
        (status = 200, description = "The feed was changed", body = EditReply),
        (status = 401, description = "`not_admin`", body = Problem),
        (status = 404, description = "`unknown_feed`", body = Problem),
        (status = 422, description = "`bad_feed`: the errors, by key", body = Problem)
    )
)]
pub(super) async fn change_feed(
    State(app): State<App>,
    Path(id): Path<String>,
    parameters: QueryParameters,
    body: Bytes,
) -> Result<Response, Refusal> {
    let keys = parse_feed_keys(&body)?;
    apply_or_preview_edit(&app, parse_feed_id(&id)?, EditAction::Change(keys), &parameters).await
}

/// Removes a feed
///
/// A feed of the file stays removed until this edit is undone or reverted.
#[utoipa::path(
    delete, path = "/api/v1/admin/feeds/{id}", tag = "admin", security(("admin" = [])),
    params(
        ("id" = String, Path, description = "The feed's id"),
        ("dry_run" = Option<bool>, Query, description = "`true` only returns what would change")
    ),
    responses(
        (status = 200, description = "The feed was removed", body = EditReply),
        (status = 401, description = "`not_admin`", body = Problem),
        (status = 404, description = "`unknown_feed`", body = Problem),
        (status = 409, description = "`feed_in_use`: another feed uses it as its schedule", body = Problem)
    )
)]
pub(super) async fn remove_feed(
    State(app): State<App>,
    Path(id): Path<String>,
    parameters: QueryParameters,
) -> Result<Response, Refusal> {
    apply_or_preview_edit(&app, parse_feed_id(&id)?, EditAction::Remove, &parameters).await
}

/// Deletes all overrides of a feed
///
/// The feed is then as in the file; a feed that was added here is removed.
#[utoipa::path(
    delete, path = "/api/v1/admin/feeds/{id}/override", tag = "admin", security(("admin" = [])),
    params(
        ("id" = String, Path, description = "The feed's id"),
        ("dry_run" = Option<bool>, Query, description = "`true` only returns what would change")
    ),
    responses(
        (status = 200, description = "The overrides were deleted", body = EditReply),
        (status = 401, description = "`not_admin`", body = Problem),
        (status = 404, description = "`unknown_feed`", body = Problem)
    )
)]
pub(super) async fn revert_feed(
    State(app): State<App>,
    Path(id): Path<String>,
    parameters: QueryParameters,
) -> Result<Response, Refusal> {
    apply_or_preview_edit(&app, parse_feed_id(&id)?, EditAction::Revert, &parameters).await
}

/// Pauses a feed
///
/// Its source is no longer requested, and its last data are still served. It stays paused after a restart.
#[utoipa::path(
    post, path = "/api/v1/admin/feeds/{id}/pause", tag = "admin", security(("admin" = [])),
    params(("id" = String, Path, description = "The feed's id")),
    responses(
        (status = 200, description = "The feed is paused", body = EditReply),
        (status = 401, description = "`not_admin`", body = Problem),
        (status = 404, description = "`unknown_feed`", body = Problem)
    )
)]
pub(super) async fn pause_feed(
    State(app): State<App>,
    Path(id): Path<String>,
) -> Result<Response, Refusal> {
    apply_or_preview_edit(&app, parse_feed_id(&id)?, EditAction::Pause, &QueryParameters::default())
        .await
}

/// Resumes a paused feed
#[utoipa::path(
    post, path = "/api/v1/admin/feeds/{id}/resume", tag = "admin", security(("admin" = [])),
    params(("id" = String, Path, description = "The feed's id")),
    responses(
        (status = 200, description = "The feed is polled", body = EditReply),
        (status = 401, description = "`not_admin`", body = Problem),
        (status = 404, description = "`unknown_feed`", body = Problem)
    )
)]
pub(super) async fn resume_feed(
    State(app): State<App>,
    Path(id): Path<String>,
) -> Result<Response, Refusal> {
    apply_or_preview_edit(
        &app,
        parse_feed_id(&id)?,
        EditAction::Resume,
        &QueryParameters::default(),
    )
    .await
}
