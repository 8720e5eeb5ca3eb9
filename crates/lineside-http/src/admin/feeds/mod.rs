//! `/api/v1/admin/feeds/…`: adding, changing, removing, pausing and polling feeds, with the history of edits and undo.
//!
//! Every change of a feed goes through [`LiveSettings::edit_feed`], from here and from the dashboard's forms alike.

mod poll_now;
mod edits;
mod history;
mod edit_reply;
mod source_test;

use axum::Json;
use axum::extract::DefaultBodyLimit;
use axum::response::{IntoResponse as _, Response};
use http::StatusCode;
use lineside_model::FeedId;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use self::edit_reply::EditReply;
pub use self::history::{next_page_before, parse_before_parameter};
pub use self::poll_now::poll_now;
use self::source_test::run_source_test;
pub use self::source_test::{source_test_timeout_message, test_source_with_timeout};
use crate::app::App;
use crate::errors::Refusal;
use crate::lookup;
use crate::parameters::{QueryParameters, bad_parameter_refusal};
use crate::settings::{EditAction, EditError};

/// Largest body, as JSON or as a form: a feed's keys with its headers and credentials.
pub const BODY_BYTES_MAX: usize = 64 << 10;

pub(super) fn routes() -> OpenApiRouter<App> {
    OpenApiRouter::new()
        .routes(routes!(edits::add_feed))
        .routes(routes!(edits::get_override, edits::change_feed, edits::remove_feed))
        .routes(routes!(edits::revert_feed))
        .routes(routes!(edits::pause_feed))
        .routes(routes!(edits::resume_feed))
        .routes(routes!(poll_now::request_poll))
        .routes(routes!(history::get_feed_edit_history))
        .routes(routes!(history::get_all_feeds_edit_history))
        .routes(routes!(history::undo_feed_edit))
        .routes(routes!(history::undo_any_edit))
        .layer(DefaultBodyLimit::max(BODY_BYTES_MAX))
}

impl From<EditError> for Refusal {
    fn from(why: EditError) -> Self {
        let (status, code) = match &why {
            EditError::UnknownFeed => (StatusCode::NOT_FOUND, "unknown_feed"),
            EditError::UnknownEdit => (StatusCode::NOT_FOUND, "unknown_edit"),
            EditError::Exists => (StatusCode::CONFLICT, "feed_exists"),
            EditError::InUse(_) => (StatusCode::CONFLICT, "feed_in_use"),
            EditError::ChangedSince(_) => (StatusCode::CONFLICT, "changed_since"),
            EditError::BadKeys(_) => (StatusCode::UNPROCESSABLE_ENTITY, "bad_feed"),
            EditError::TooMany => (StatusCode::UNPROCESSABLE_ENTITY, "too_many"),
            EditError::NotRecorded => (StatusCode::SERVICE_UNAVAILABLE, "not_recorded"),
            EditError::Stopping => return Self::ShuttingDown,
            EditError::OnlyRecorded(_) => (StatusCode::SERVICE_UNAVAILABLE, "shutting_down"),
        };
        Self::NotEdited { status, code, reason: why.to_string() }
    }
}

fn parse_feed_id(text: &str) -> Result<FeedId, Refusal> {
    FeedId::new(text).map_err(|_| Refusal::UnknownFeed(lookup::shorten_id(text)))
}

/// Applies an edit, or with `dry_run` only reports what it would change. A dry run that changes how a source is
/// requested also requests the source once.
async fn apply_or_preview_edit(
    app: &App,
    id: FeedId,
    action: EditAction,
    parameters: &QueryParameters,
) -> Result<Response, Refusal> {
    let only_try = parse_bool_parameter(parameters, "dry_run")?.unwrap_or(false);
    let is_test_requested = parse_bool_parameter(parameters, "test")?.unwrap_or(true);
    let (is_new, is_tested) = (matches!(action, EditAction::Add(_)), only_try && is_test_requested);
    let is_tested = is_tested && action.changes_source_requests();
    let mut edited =
        app.live_settings().edit_feed(app.server_context(), id.clone(), action, only_try).await?;
    let becomes = edited.new_config.take().filter(|_| is_tested);
    let source = match becomes {
        Some(config) => Some(run_source_test(app, *config).await),
        None => None,
    };
    let status = if is_new && !only_try { StatusCode::CREATED } else { StatusCode::OK };
    Ok((status, Json(EditReply::new(app, &id, edited, source))).into_response())
}

/// Parses a parameter that is `true` or `false`. Elsewhere an empty value counts as none, but `?dry_run` must not apply
/// an edit.
fn parse_bool_parameter(
    parameters: &QueryParameters,
    name: &'static str,
) -> Result<Option<bool>, Refusal> {
    if parameters.values_of(name).any(|value| value.trim().is_empty()) {
        return Err(bad_parameter_refusal(name, "expected true or false"));
    }
    parameters.parse_choice(name, [("true", true), ("false", false)])
}
