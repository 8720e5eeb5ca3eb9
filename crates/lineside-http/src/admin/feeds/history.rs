//! The edit history of feeds, and undoing edits.

use axum::Json;
use axum::extract::{Path, State};
use axum::response::Response;
use lineside_config::overrides::{FeedOverride, KeyDifference, diff_keys, redact_secrets};
use lineside_config::times::format_rfc3339;
use lineside_store::NumberedOverrideEdit;
use serde::Serialize;
use serde_json::Value;
use utoipa::ToSchema;

use super::edit_reply::EditReply;
use super::{apply_or_preview_edit, parse_bool_parameter, parse_feed_id};
use crate::app::App;
use crate::errors::{Problem, Refusal};
use crate::parameters::{QueryParameters, bad_parameter_refusal};
use crate::settings::edit_log::parse_before_and_after;
use crate::settings::{EditAction, EditError, HISTORY_SHOWN};

/// One edit of a feed.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct EditItem {
    /// The edit's number; later ones are greater.
    n: i64,
    /// The feed.
    feed: String,
    /// Time of the edit.
    at: Option<String>,
    /// The author of the edit.
    who: String,
    /// `add`, `change`, `remove`, `revert`, `pause`, `resume` or `undo`.
    what: String,
    /// The overridden keys whose value changed; null if none did.
    differences: Vec<KeyDifference>,
    /// The feed's overrides before the edit; null if there were none.
    #[schema(value_type = Object)]
    before: Value,
    /// The feed's overrides after the edit; null if there are none.
    #[schema(value_type = Object)]
    after: Value,
    /// The edit that this one undid.
    undoes: Option<i64>,
}

/// The edits of a feed.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct EditHistory {
    /// Newest first, at most 100.
    items: Vec<EditItem>,
}

/// The edits of all feeds.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct FullEditHistory {
    /// Newest first, at most 100.
    items: Vec<EditItem>,
    /// Address of the next page of older edits; null if there is none.
    next: Option<String>,
}

/// Lists the edits of a feed, with their authors and changes
#[utoipa::path(
    get, path = "/api/v1/admin/feeds/{id}/history", tag = "admin", security(("admin" = [])),
    params(("id" = String, Path, description = "The id of a feed, also of a removed one")),
    responses(
        (status = 200, description = "Newest first; secrets are shown as `***`", body = EditHistory),
        (status = 401, description = "`not_admin`", body = Problem)
    )
)]
pub(super) async fn get_feed_edit_history(
    State(app): State<App>,
    Path(id): Path<String>,
) -> Result<Json<EditHistory>, Refusal> {
    let edits = app.live_settings().list_feed_edits(parse_feed_id(&id)?).await?;
    Ok(Json(EditHistory { items: edits.into_iter().map(edit_item).collect() }))
}

/// Lists the edits of all feeds, removed ones included
#[utoipa::path(
    get, path = "/api/v1/admin/history", tag = "admin", security(("admin" = [])),
    params(("before" = Option<i64>, Query, description = "Only edits before the edit with this number")),
    responses(
        (status = 200, description = "Newest first; secrets are shown as `***`", body = FullEditHistory),
        (status = 400, description = "`bad_parameter`", body = Problem),
        (status = 401, description = "`not_admin`", body = Problem)
    )
)]
pub(super) async fn get_all_feeds_edit_history(
    State(app): State<App>,
    parameters: QueryParameters,
) -> Result<Json<FullEditHistory>, Refusal> {
    let edits = app.live_settings().list_edits_before(parse_before_parameter(&parameters)?).await?;
    let next = next_page_before(&edits).map(|n| format!("/api/v1/admin/history?before={n}"));
    Ok(Json(FullEditHistory { items: edits.into_iter().map(edit_item).collect(), next }))
}

/// Parses the parameter `before`, the number of the edit after the page; `i64::MAX` without it.
pub fn parse_before_parameter(parameters: &QueryParameters) -> Result<i64, Refusal> {
    let Some(text) = parameters.find_value("before") else { return Ok(i64::MAX) };
    let number = text.parse::<i64>().ok().filter(|number| *number >= 1);
    number.ok_or_else(|| bad_parameter_refusal("before", "expected the number of an edit"))
}

/// Returns the `before` of the next page, if this page is full.
pub fn next_page_before(edits: &[NumberedOverrideEdit]) -> Option<i64> {
    edits.last().filter(|_| edits.len() >= HISTORY_SHOWN).map(|(n, _)| *n)
}

fn edit_item((n, edit): NumberedOverrideEdit) -> EditItem {
    let (before, after) = parse_before_and_after(&edit);
    let keys = |feed_override: &Option<FeedOverride>| {
        feed_override.as_ref().map(|feed_override| feed_override.keys.clone())
    };
    let differences =
        diff_keys(&keys(&before).unwrap_or_default(), &keys(&after).unwrap_or_default());
    let shown = |feed_override: Option<FeedOverride>| {
        let feed_override = feed_override.map(|feed_override| FeedOverride {
            keys: redact_secrets(&feed_override.keys),
            ..feed_override
        });
        feed_override
            .and_then(|feed_override| serde_json::to_value(feed_override).ok())
            .unwrap_or_default()
    };
    EditItem {
        n,
        feed: edit.feed.to_string(),
        at: format_rfc3339(edit.at),
        who: edit.who,
        what: edit.what,
        differences,
        before: shown(before),
        after: shown(after),
        undoes: edit.undoes,
    }
}

/// Undoes an edit
///
/// Only the changes of that edit are undone; later edits of other keys stay. If a later edit changed the same key,
/// nothing is changed and the error names that edit, unless `overwrite=true` restores the earlier values nevertheless.
#[utoipa::path(
    post, path = "/api/v1/admin/feeds/{id}/history/{n}/undo", tag = "admin", security(("admin" = [])),
    params(
        ("id" = String, Path, description = "The feed's id"),
        ("n" = i64, Path, description = "The number of the edit"),
        ("dry_run" = Option<bool>, Query, description = "`true` only returns what would change"),
        ("overwrite" = Option<bool>, Query, description = "`true` also restores keys that later edits changed")
    ),
    responses(
        (status = 200, description = "The edit was undone", body = EditReply),
        (status = 401, description = "`not_admin`", body = Problem),
        (status = 404, description = "`unknown_edit`", body = Problem),
        (status = 409, description = "`changed_since`: a later edit changed the same key", body = Problem)
    )
)]
pub(super) async fn undo_feed_edit(
    State(app): State<App>,
    Path((id, n)): Path<(String, String)>,
    parameters: QueryParameters,
) -> Result<Response, Refusal> {
    let number = n.parse().map_err(|_| Refusal::from(EditError::UnknownEdit))?;
    let overwrites = parse_bool_parameter(&parameters, "overwrite")?.unwrap_or(false);
    apply_or_preview_edit(
        &app,
        parse_feed_id(&id)?,
        EditAction::Undo { number, overwrites },
        &parameters,
    )
    .await
}

/// Undoes an edit of any feed
///
/// As `/api/v1/admin/feeds/{id}/history/{n}/undo`; numbers are unique among all feeds.
#[utoipa::path(
    post, path = "/api/v1/admin/history/{n}/undo", tag = "admin", security(("admin" = [])),
    params(
        ("n" = i64, Path, description = "The number of the edit"),
        ("dry_run" = Option<bool>, Query, description = "`true` only returns what would change"),
        ("overwrite" = Option<bool>, Query, description = "`true` also restores keys that later edits changed")
    ),
    responses(
        (status = 200, description = "The edit was undone", body = EditReply),
        (status = 401, description = "`not_admin`", body = Problem),
        (status = 404, description = "`unknown_edit`", body = Problem),
        (status = 409, description = "`changed_since`: a later edit changed the same key", body = Problem)
    )
)]
pub(super) async fn undo_any_edit(
    State(app): State<App>,
    Path(n): Path<String>,
    parameters: QueryParameters,
) -> Result<Response, Refusal> {
    let number = n.parse().map_err(|_| Refusal::from(EditError::UnknownEdit))?;
    let overwrites = parse_bool_parameter(&parameters, "overwrite")?.unwrap_or(false);
    let feed = app.live_settings().find_feed_of_edit(number).await?;
    apply_or_preview_edit(&app, feed, EditAction::Undo { number, overwrites }, &parameters).await
}
