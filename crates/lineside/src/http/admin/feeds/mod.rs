//! `/api/v1/admin/feeds/…`: feeds added, changed, removed, paused and asked at once; with their history, and the way back.
//!
//! Whatever changes a feed goes through [`Settings::edit`], from here and from the forms of the dashboard alike.

mod asked;
mod edits;
mod history;
mod shown;
mod source_test;

use axum::Json;
use axum::extract::DefaultBodyLimit;
use axum::response::{IntoResponse as _, Response};
use http::StatusCode;
use lineside_ingest::FeedId;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

pub(crate) use self::asked::ask_now;
pub(crate) use self::history::{before, edits_before};
use self::shown::EditReply;
use self::source_test::run_source_test;
pub(crate) use self::source_test::{source_test_timed_out, test_source};
use crate::app::App;
use crate::http::errors::Refusal;
use crate::http::found;
use crate::http::parameters::{Parameters, bad};
use crate::settings::{NotEdited, Settings, What};

/// The keys of a feed with their headers and credentials, as JSON or as a form.
pub(crate) const BODY_BYTES_MAX: usize = 64 << 10;

pub(super) fn routes() -> OpenApiRouter<App> {
    OpenApiRouter::new()
        .routes(routes!(edits::add))
        .routes(routes!(edits::one, edits::change, edits::remove))
        .routes(routes!(edits::revert))
        .routes(routes!(edits::pause))
        .routes(routes!(edits::resume))
        .routes(routes!(asked::poll))
        .routes(routes!(history::history))
        .routes(routes!(history::history_of_all))
        .routes(routes!(history::undo))
        .routes(routes!(history::undo_any))
        .layer(DefaultBodyLimit::max(BODY_BYTES_MAX))
}

impl From<NotEdited> for Refusal {
    fn from(why: NotEdited) -> Self {
        let (status, code) = match &why {
            NotEdited::UnknownFeed => (StatusCode::NOT_FOUND, "unknown_feed"),
            NotEdited::UnknownEdit => (StatusCode::NOT_FOUND, "unknown_edit"),
            NotEdited::Exists => (StatusCode::CONFLICT, "feed_exists"),
            NotEdited::InUse(_) => (StatusCode::CONFLICT, "feed_in_use"),
            NotEdited::ChangedSince(_) => (StatusCode::CONFLICT, "changed_since"),
            NotEdited::BadKeys(_) => (StatusCode::UNPROCESSABLE_ENTITY, "bad_feed"),
            NotEdited::TooMany => (StatusCode::UNPROCESSABLE_ENTITY, "too_many"),
            NotEdited::NotRecorded => (StatusCode::SERVICE_UNAVAILABLE, "not_recorded"),
            NotEdited::Stopping => return Self::ShuttingDown,
            NotEdited::OnlyRecorded(_) => (StatusCode::SERVICE_UNAVAILABLE, "shutting_down"),
        };
        Self::NotEdited { status, code, why: why.to_string() }
    }
}

fn id_of(text: &str) -> Result<FeedId, Refusal> {
    FeedId::new(text).map_err(|_| Refusal::UnknownFeed(found::shortened(text)))
}

/// Applies an edit, or with `dry_run` only says what it would change. A dry run that concerns how a source is requested
/// also requests it once.
async fn edit(
    app: &App,
    id: FeedId,
    what: What,
    parameters: &Parameters,
) -> Result<Response, Refusal> {
    let only_try = flag(parameters, "dry_run")?.unwrap_or(false);
    let wants_test = flag(parameters, "test")?.unwrap_or(true);
    let (is_new, is_tested) = (matches!(what, What::Add(_)), only_try && wants_test);
    let is_tested = is_tested && what.requests_otherwise();
    let mut edited = Settings::edit(app, id.clone(), what, only_try).await?;
    let becomes = edited.becomes.take().filter(|_| is_tested);
    let source = match becomes {
        Some(config) => Some(run_source_test(app, *config).await),
        None => None,
    };
    let status = if is_new && !only_try { StatusCode::CREATED } else { StatusCode::OK };
    Ok((status, Json(EditReply::new(app, &id, edited, source))).into_response())
}

/// A parameter that is `true` or `false`. Elsewhere an empty value counts as none, but `?dry_run` must not apply an edit.
fn flag(parameters: &Parameters, name: &'static str) -> Result<Option<bool>, Refusal> {
    if parameters.all(name).any(|value| value.trim().is_empty()) {
        return Err(bad(name, "expected true or false"));
    }
    parameters.choice(name, [("true", true), ("false", false)])
}
