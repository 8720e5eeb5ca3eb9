//! What was changed of feeds, and the way back.

use axum::Json;
use axum::extract::{Path, State};
use axum::response::Response;
use lineside_store::NumberedEdit;
use serde::Serialize;
use serde_json::Value;
use utoipa::ToSchema;

use super::shown::EditReply;
use super::{edit, flag, id_of};
use crate::app::App;
use crate::http::errors::{Problem, Refusal};
use crate::http::parameters::{Parameters, bad};
use crate::http::times::rfc3339;
use crate::overrides::{Difference, Override, before_and_after, differences, redacted};
use crate::settings::{HISTORY_SHOWN, NotEdited, Settings, What};

/// One edit of a feed.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct EditItem {
    /// Its number; later ones are greater.
    n: i64,
    /// The feed.
    feed: String,
    /// When.
    at: Option<String>,
    /// Who.
    who: String,
    /// `add`, `change`, `remove`, `revert`, `pause`, `resume` or `undo`.
    what: String,
    /// Which keys were then laid over it with another value than before; null where none was.
    differences: Vec<Difference>,
    /// What was laid over the feed before; null where nothing was.
    #[schema(value_type = Object)]
    before: Value,
    /// The same afterwards.
    #[schema(value_type = Object)]
    after: Value,
    /// The edit that this one took back.
    undoes: Option<i64>,
}

/// The edits of a feed.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct History {
    /// Newest first, at most 100.
    items: Vec<EditItem>,
}

/// The edits of all feeds.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct HistoryOfAll {
    /// Newest first, at most 100.
    items: Vec<EditItem>,
    /// Where those before them are; null where there are none.
    next: Option<String>,
}

/// What was changed of a feed, by whom, and from what to what
#[utoipa::path(
    get, path = "/api/v1/admin/feeds/{id}/history", tag = "admin", security(("admin" = [])),
    params(("id" = String, Path, description = "The feed's id, also of one that is gone")),
    responses(
        (status = 200, description = "Newest first; secrets are shown as `***`", body = History),
        (status = 401, description = "`not_admin`", body = Problem)
    )
)]
pub(super) async fn history(
    State(app): State<App>,
    Path(id): Path<String>,
) -> Result<Json<History>, Refusal> {
    let edits = Settings::history(&app, id_of(&id)?).await?;
    Ok(Json(History { items: edits.into_iter().map(item).collect() }))
}

/// What was changed of all feeds, those that are gone among them
#[utoipa::path(
    get, path = "/api/v1/admin/history", tag = "admin", security(("admin" = [])),
    params(("before" = Option<i64>, Query, description = "Only edits that came before the one of this number")),
    responses(
        (status = 200, description = "Newest first; secrets are shown as `***`", body = HistoryOfAll),
        (status = 400, description = "`bad_parameter`", body = Problem),
        (status = 401, description = "`not_admin`", body = Problem)
    )
)]
pub(super) async fn history_of_all(
    State(app): State<App>,
    parameters: Parameters,
) -> Result<Json<HistoryOfAll>, Refusal> {
    let edits = Settings::history_of_all(&app, before(&parameters)?).await?;
    let next = edits_before(&edits).map(|n| format!("/api/v1/admin/history?before={n}"));
    Ok(Json(HistoryOfAll { items: edits.into_iter().map(item).collect(), next }))
}

/// The number that the edits asked for came before.
pub(crate) fn before(parameters: &Parameters) -> Result<i64, Refusal> {
    let Some(text) = parameters.one("before") else { return Ok(i64::MAX) };
    let number = text.parse::<i64>().ok().filter(|number| *number >= 1);
    number.ok_or_else(|| bad("before", "expected the number of an edit"))
}

/// The number before which there may be more than these.
pub(crate) fn edits_before(edits: &[NumberedEdit]) -> Option<i64> {
    edits.last().filter(|_| edits.len() >= HISTORY_SHOWN).map(|(n, _)| *n)
}

fn item((n, edit): NumberedEdit) -> EditItem {
    let (before, after) = before_and_after(&edit);
    let keys = |over: &Option<Override>| over.as_ref().map(|over| over.keys.clone());
    let differences =
        differences(&keys(&before).unwrap_or_default(), &keys(&after).unwrap_or_default());
    let shown = |over: Option<Override>| {
        let over = over.map(|over| Override { keys: redacted(&over.keys), ..over });
        over.and_then(|over| serde_json::to_value(over).ok()).unwrap_or_default()
    };
    EditItem {
        n,
        feed: edit.feed.to_string(),
        at: rfc3339(edit.at),
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
/// Only what that edit changed is set back; later edits of other keys stay. Where a later edit changed the same key, nothing
/// is changed and that edit is named, unless `overwrite=true` restores the values before the edit all the same.
#[utoipa::path(
    post, path = "/api/v1/admin/feeds/{id}/history/{n}/undo", tag = "admin", security(("admin" = [])),
    params(
        ("id" = String, Path, description = "The feed's id"),
        ("n" = i64, Path, description = "The number of the edit"),
        ("dry_run" = Option<bool>, Query, description = "`true` only says what would change"),
        ("overwrite" = Option<bool>, Query, description = "`true` also sets back keys that later edits changed")
    ),
    responses(
        (status = 200, description = "The edit is undone, and that is recorded", body = EditReply),
        (status = 401, description = "`not_admin`", body = Problem),
        (status = 404, description = "`unknown_edit`", body = Problem),
        (status = 409, description = "`changed_since`: a later edit changed the same key", body = Problem)
    )
)]
pub(super) async fn undo(
    State(app): State<App>,
    Path((id, n)): Path<(String, String)>,
    parameters: Parameters,
) -> Result<Response, Refusal> {
    let number = n.parse().map_err(|_| Refusal::from(NotEdited::UnknownEdit))?;
    let overwrites = flag(&parameters, "overwrite")?.unwrap_or(false);
    edit(&app, id_of(&id)?, What::Undo { number, overwrites }, &parameters).await
}

/// Undoes an edit of any feed
///
/// As `/api/v1/admin/feeds/{id}/history/{n}/undo`; numbers are unique among all feeds.
#[utoipa::path(
    post, path = "/api/v1/admin/history/{n}/undo", tag = "admin", security(("admin" = [])),
    params(
        ("n" = i64, Path, description = "The number of the edit"),
        ("dry_run" = Option<bool>, Query, description = "`true` only says what would change"),
        ("overwrite" = Option<bool>, Query, description = "`true` also sets back keys that later edits changed")
    ),
    responses(
        (status = 200, description = "The edit is undone, and that is recorded", body = EditReply),
        (status = 401, description = "`not_admin`", body = Problem),
        (status = 404, description = "`unknown_edit`", body = Problem),
        (status = 409, description = "`changed_since`: a later edit changed the same key", body = Problem)
    )
)]
pub(super) async fn undo_any(
    State(app): State<App>,
    Path(n): Path<String>,
    parameters: Parameters,
) -> Result<Response, Refusal> {
    let number = n.parse().map_err(|_| Refusal::from(NotEdited::UnknownEdit))?;
    let overwrites = flag(&parameters, "overwrite")?.unwrap_or(false);
    let feed = Settings::feed_of_edit(&app, number).await?;
    edit(&app, feed, What::Undo { number, overwrites }, &parameters).await
}
