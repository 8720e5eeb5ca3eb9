//! `/api/v1/admin/feeds/…`: feeds added, changed, removed, paused and asked at once; with their history, and the way back.

use axum::Json;
use axum::extract::{DefaultBodyLimit, Path, State};
use axum::response::{IntoResponse as _, Response};
use bytes::Bytes;
use http::StatusCode;
use lineside_ingest::{FeedId, PollRefused};
use lineside_store::NumberedEdit;
use serde::Serialize;
use serde_json::Value;
use utoipa::ToSchema;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::app::App;
use crate::http::errors::{Problem, Refusal};
use crate::http::found;
use crate::http::parameters::Parameters;
use crate::http::times::rfc3339;
use crate::overrides::{Keys, Override, redacted, toml_of};
use crate::patience::within;
use crate::settings::{Edited, NotEdited, Settings, What};

/// The keys of a feed with their headers and credentials.
const BODY_BYTES_MAX: usize = 64 << 10;
/// How long an answer waits for a feed's task, which may be taking in a large schedule.
const POLL_ANSWER_MAX: std::time::Duration = std::time::Duration::from_secs(5);

pub(super) fn routes() -> OpenApiRouter<App> {
    OpenApiRouter::new()
        .routes(routes!(add))
        .routes(routes!(one, change, remove))
        .routes(routes!(revert))
        .routes(routes!(poll))
        .routes(routes!(pause))
        .routes(routes!(resume))
        .routes(routes!(history))
        .routes(routes!(undo))
        .routes(routes!(config))
        .layer(DefaultBodyLimit::max(BODY_BYTES_MAX))
}

/// What is laid over the configuration's file for one feed. Secrets are shown as `***`.
#[derive(Debug, Serialize, ToSchema)]
struct LaidOver {
    /// Its name in addresses and channels.
    id: String,
    /// Whether the file has it.
    in_file: bool,
    /// Whether all of it stands here, because the file does not have it.
    added: bool,
    /// Whether the file's feed is left out.
    removed: bool,
    /// Whether its source is left alone.
    paused: bool,
    /// The keys that are others than in the file, with their values.
    #[schema(value_type = Object)]
    keys: Keys,
    /// The same as it would stand in the file; null where no key is.
    toml: Option<String>,
    /// Whether it is there after a restart: not without a `data_dir`.
    kept: bool,
}

impl LaidOver {
    fn of(app: &App, id: &FeedId, over: Option<&Override>, in_file: bool) -> Self {
        let keys = over.map(|over| redacted(&over.keys)).unwrap_or_default();
        Self {
            id: id.to_string(),
            in_file,
            added: over.is_some_and(|over| over.added),
            removed: over.is_some_and(|over| over.removed),
            paused: over.is_some_and(|over| over.paused),
            toml: toml_of(id, &keys).ok().filter(|_| !keys.is_empty()),
            keys,
            kept: app.settings().keeps_edits(),
        }
    }
}

/// What an edit came to, or would.
#[derive(Debug, Serialize, ToSchema)]
struct EditReply {
    /// Whether this only says what would change.
    dry_run: bool,
    /// The number of the edit in the feed's history.
    edit: Option<i64>,
    /// What it means for what runs.
    changes: Changes,
    /// What is then laid over the feed.
    feed: LaidOver,
}

/// Feeds and networks, by their ids.
#[derive(Debug, Serialize, ToSchema)]
struct Changes {
    /// Feeds that come.
    added: Vec<String>,
    /// Feeds that go.
    removed: Vec<String>,
    /// Feeds that are configured otherwise.
    changed: Vec<String>,
    /// Networks that are put together anew: their readers are given the state.
    networks: Vec<String>,
}

/// One edit of a feed.
#[derive(Debug, Serialize, ToSchema)]
struct EditItem {
    /// Its number; later ones are greater.
    n: i64,
    /// When.
    at: Option<String>,
    /// Who.
    who: String,
    /// `add`, `change`, `remove`, `revert`, `pause`, `resume` or `undo`.
    what: String,
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
struct History {
    /// Newest first, at most 100.
    items: Vec<EditItem>,
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

impl From<NotEdited> for Refusal {
    fn from(why: NotEdited) -> Self {
        let (status, code) = match &why {
            NotEdited::UnknownFeed => (StatusCode::NOT_FOUND, "unknown_feed"),
            NotEdited::UnknownEdit => (StatusCode::NOT_FOUND, "unknown_edit"),
            NotEdited::Exists => (StatusCode::CONFLICT, "feed_exists"),
            NotEdited::InUse(_) => (StatusCode::CONFLICT, "feed_in_use"),
            NotEdited::ChangedSince => (StatusCode::CONFLICT, "changed_since"),
            NotEdited::BadKeys(_) => (StatusCode::UNPROCESSABLE_ENTITY, "bad_feed"),
            NotEdited::TooMany => (StatusCode::UNPROCESSABLE_ENTITY, "too_many"),
            NotEdited::NotRecorded => (StatusCode::SERVICE_UNAVAILABLE, "not_recorded"),
            NotEdited::Stopping => return Self::ShuttingDown,
        };
        Self::NotEdited { status, code, why: why.to_string() }
    }
}

fn id_of(text: &str) -> Result<FeedId, Refusal> {
    FeedId::new(text).map_err(|_| Refusal::UnknownFeed(found::shortened(text)))
}

fn keys_of(body: &Bytes) -> Result<Keys, Refusal> {
    serde_json::from_slice(body).map_err(|error| {
        let reason = format!("expected a JSON object with keys of a feed: {error}");
        Refusal::BadParameter { name: "body", reason: reason.into() }
    })
}

async fn edit(
    app: &App,
    id: FeedId,
    what: What,
    parameters: &Parameters,
) -> Result<Response, Refusal> {
    let only_try =
        parameters.choice("dry_run", [("true", true), ("false", false)])?.unwrap_or(false);
    let is_new = matches!(what, What::Add(_));
    let Edited { number, changed, over, in_file } =
        Settings::edit(app, id.clone(), what, only_try).await?;
    let names = |ids: Vec<FeedId>| ids.iter().map(ToString::to_string).collect();
    let reply = EditReply {
        dry_run: only_try,
        edit: number,
        changes: Changes {
            added: names(changed.added),
            removed: names(changed.removed),
            changed: names(changed.changed),
            networks: names(changed.networks),
        },
        feed: LaidOver::of(app, &id, over.as_ref(), in_file),
    };
    let status = if is_new && !only_try { StatusCode::CREATED } else { StatusCode::OK };
    Ok((status, Json(reply)).into_response())
}

/// Adds a feed
///
/// The body has its `id` and the keys that it would have in the configuration, durations and sizes as texts. Addresses are
/// http(s) URLs, secrets are texts. It is polled at once.
#[utoipa::path(
    post, path = "/api/v1/admin/feeds", tag = "admin", security(("admin" = [])),
    params(("dry_run" = Option<bool>, Query, description = "`true` only says what would change")),
    request_body(content = Object, description = "`{\"id\": \"buses\", \"url\": \"https://…\", \"poll\": \"30s\"}`"),
    responses(
        (status = 201, description = "It is there, and recorded", body = EditReply),
        (status = 200, description = "What would change", body = EditReply),
        (status = 401, description = "`not_admin`", body = Problem),
        (status = 409, description = "`feed_exists`", body = Problem),
        (status = 422, description = "`bad_feed`: what is wrong, by key", body = Problem)
    )
)]
async fn add(
    State(app): State<App>,
    parameters: Parameters,
    body: Bytes,
) -> Result<Response, Refusal> {
    let mut keys = keys_of(&body)?;
    let id = keys.remove("id");
    let bad = |reason: String| Refusal::NotEdited {
        status: StatusCode::UNPROCESSABLE_ENTITY,
        code: "bad_feed",
        why: reason,
    };
    let id =
        id.as_ref().and_then(Value::as_str).ok_or_else(|| bad("id: expected text".to_owned()))?;
    let id = FeedId::new(id).map_err(|error| bad(format!("id: {error}")))?;
    edit(&app, id, What::Add(keys), &parameters).await
}

/// What is laid over the configuration's file for a feed
#[utoipa::path(
    get, path = "/api/v1/admin/feeds/{id}", tag = "admin", security(("admin" = [])),
    params(("id" = String, Path, description = "The feed's id")),
    responses(
        (status = 200, description = "It", body = LaidOver),
        (status = 401, description = "`not_admin`", body = Problem),
        (status = 404, description = "`unknown_feed`", body = Problem)
    )
)]
async fn one(State(app): State<App>, Path(id): Path<String>) -> Result<Json<LaidOver>, Refusal> {
    let known = id_of(&id)?;
    let (over, in_file) = app.settings().find_override(&known);
    if over.is_none() {
        found::feed(&app, &id)?;
    }
    Ok(Json(LaidOver::of(&app, &known, over.as_ref(), in_file)))
}

/// Changes keys of a feed
///
/// The body has the keys that are to be others than in the file, as they would stand there; `null` gives one back to the
/// file. Headers, parameters and credentials are replaced whole, but a secret given as `***` stays what it is.
#[utoipa::path(
    patch, path = "/api/v1/admin/feeds/{id}", tag = "admin", security(("admin" = [])),
    params(
        ("id" = String, Path, description = "The feed's id"),
        ("dry_run" = Option<bool>, Query, description = "`true` only says what would change")
    ),
    request_body(content = Object, description = "`{\"poll\": \"30s\", \"name\": null}`"),
    responses(
        (status = 200, description = "It is in force, and recorded", body = EditReply),
        (status = 401, description = "`not_admin`", body = Problem),
        (status = 404, description = "`unknown_feed`", body = Problem),
        (status = 422, description = "`bad_feed`: what is wrong, by key", body = Problem)
    )
)]
async fn change(
    State(app): State<App>,
    Path(id): Path<String>,
    parameters: Parameters,
    body: Bytes,
) -> Result<Response, Refusal> {
    let keys = keys_of(&body)?;
    edit(&app, id_of(&id)?, What::Change(keys), &parameters).await
}

/// Removes a feed
///
/// One of the file is left out until this is undone or reverted.
#[utoipa::path(
    delete, path = "/api/v1/admin/feeds/{id}", tag = "admin", security(("admin" = [])),
    params(
        ("id" = String, Path, description = "The feed's id"),
        ("dry_run" = Option<bool>, Query, description = "`true` only says what would change")
    ),
    responses(
        (status = 200, description = "It is gone, and that is recorded", body = EditReply),
        (status = 401, description = "`not_admin`", body = Problem),
        (status = 404, description = "`unknown_feed`", body = Problem),
        (status = 409, description = "`feed_in_use`: another one names it as its schedule", body = Problem)
    )
)]
async fn remove(
    State(app): State<App>,
    Path(id): Path<String>,
    parameters: Parameters,
) -> Result<Response, Refusal> {
    edit(&app, id_of(&id)?, What::Remove, &parameters).await
}

/// Takes away all that is laid over a feed
///
/// It is then as the file says; one that was added is gone.
#[utoipa::path(
    delete, path = "/api/v1/admin/feeds/{id}/override", tag = "admin", security(("admin" = [])),
    params(
        ("id" = String, Path, description = "The feed's id"),
        ("dry_run" = Option<bool>, Query, description = "`true` only says what would change")
    ),
    responses(
        (status = 200, description = "Nothing is laid over it", body = EditReply),
        (status = 401, description = "`not_admin`", body = Problem),
        (status = 404, description = "`unknown_feed`", body = Problem)
    )
)]
async fn revert(
    State(app): State<App>,
    Path(id): Path<String>,
    parameters: Parameters,
) -> Result<Response, Refusal> {
    edit(&app, id_of(&id)?, What::Revert, &parameters).await
}

/// Leaves a feed's source alone
///
/// What came of it goes on being served. It stays paused over a restart.
#[utoipa::path(
    post, path = "/api/v1/admin/feeds/{id}/pause", tag = "admin", security(("admin" = [])),
    params(("id" = String, Path, description = "The feed's id")),
    responses(
        (status = 200, description = "It is paused", body = EditReply),
        (status = 401, description = "`not_admin`", body = Problem),
        (status = 404, description = "`unknown_feed`", body = Problem)
    )
)]
async fn pause(State(app): State<App>, Path(id): Path<String>) -> Result<Response, Refusal> {
    edit(&app, id_of(&id)?, What::Pause, &Parameters::default()).await
}

/// Has a paused feed's source asked again
#[utoipa::path(
    post, path = "/api/v1/admin/feeds/{id}/resume", tag = "admin", security(("admin" = [])),
    params(("id" = String, Path, description = "The feed's id")),
    responses(
        (status = 200, description = "It is polled", body = EditReply),
        (status = 401, description = "`not_admin`", body = Problem),
        (status = 404, description = "`unknown_feed`", body = Problem)
    )
)]
async fn resume(State(app): State<App>, Path(id): Path<String>) -> Result<Response, Refusal> {
    edit(&app, id_of(&id)?, What::Resume, &Parameters::default()).await
}

/// Asks a feed's source at once
///
/// Within the `rate` of its host and credential, and in its host's turn.
#[utoipa::path(
    post, path = "/api/v1/admin/feeds/{id}/poll", tag = "admin", security(("admin" = [])),
    params(("id" = String, Path, description = "The feed's id")),
    responses(
        (status = 202, description = "It is being asked"),
        (status = 401, description = "`not_admin`", body = Problem),
        (status = 404, description = "`unknown_feed`", body = Problem),
        (status = 409, description = "`feed_paused`", body = Problem),
        (status = 429, description = "`no_room`: `Retry-After` says when the rate leaves room", body = Problem)
    )
)]
async fn poll(State(app): State<App>, Path(id): Path<String>) -> Result<StatusCode, Refusal> {
    // Without an answer in time the feed's task is at work, and asks as soon as it can.
    let Some(asked) = within(POLL_ANSWER_MAX, app.ingest().poll_now(&id)).await else {
        return Ok(StatusCode::ACCEPTED);
    };
    match asked {
        Ok(()) => Ok(StatusCode::ACCEPTED),
        Err(PollRefused::UnknownFeed) => Err(Refusal::UnknownFeed(found::shortened(&id))),
        Err(why @ PollRefused::Paused) => Err(Refusal::NotEdited {
            status: StatusCode::CONFLICT,
            code: "feed_paused",
            why: why.to_string(),
        }),
        Err(PollRefused::NoRoom(wait)) => Err(Refusal::NoRoom(wait)),
        Err(why @ PollRefused::NotNow) => Err(Refusal::NotEdited {
            status: StatusCode::SERVICE_UNAVAILABLE,
            code: "not_now",
            why: why.to_string(),
        }),
    }
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
async fn history(State(app): State<App>, Path(id): Path<String>) -> Result<Json<History>, Refusal> {
    let edits = Settings::history(&app, id_of(&id)?).await?;
    Ok(Json(History { items: edits.into_iter().map(item).collect() }))
}

fn item((n, edit): NumberedEdit) -> EditItem {
    let shown = |text: &lineside_ingest::Secret| {
        let over = Override::parse(text.reveal())?;
        let over = Override { keys: redacted(&over.keys), ..over };
        serde_json::to_value(over).ok()
    };
    let shown = |text: Option<&lineside_ingest::Secret>| text.and_then(shown).unwrap_or_default();
    EditItem {
        n,
        at: rfc3339(edit.at),
        before: shown(edit.before.as_ref()),
        after: shown(edit.after.as_ref()),
        who: edit.who,
        what: edit.what,
        undoes: edit.undoes,
    }
}

/// Takes an edit back
///
/// The feed is then as it was before it; an edit that others came after is not taken back before them.
#[utoipa::path(
    post, path = "/api/v1/admin/feeds/{id}/history/{n}/undo", tag = "admin", security(("admin" = [])),
    params(
        ("id" = String, Path, description = "The feed's id"),
        ("n" = i64, Path, description = "The number of the edit"),
        ("dry_run" = Option<bool>, Query, description = "`true` only says what would change")
    ),
    responses(
        (status = 200, description = "It is as it was before, and that is recorded", body = EditReply),
        (status = 401, description = "`not_admin`", body = Problem),
        (status = 404, description = "`unknown_edit`", body = Problem),
        (status = 409, description = "`changed_since`", body = Problem)
    )
)]
async fn undo(
    State(app): State<App>,
    Path((id, n)): Path<(String, String)>,
    parameters: Parameters,
) -> Result<Response, Refusal> {
    let n = n.parse().map_err(|_| Refusal::from(NotEdited::UnknownEdit))?;
    edit(&app, id_of(&id)?, What::Undo(n), &parameters).await
}

/// Whether the configuration's file is in force, and what is wrong with it if not
#[utoipa::path(
    get, path = "/api/v1/admin/config", tag = "admin", security(("admin" = [])),
    responses(
        (status = 200, description = "How it is", body = ConfigState),
        (status = 401, description = "`not_admin`", body = Problem)
    )
)]
async fn config(State(app): State<App>) -> Json<ConfigState> {
    let state = app.settings().state();
    let file = app.config().source.file.as_ref().map(|file| file.display().to_string());
    let refused = state.refused.as_ref();
    Json(ConfigState {
        file,
        read_at: rfc3339(state.read_at),
        refused_at: refused.and_then(|refused| rfc3339(refused.at)),
        errors: refused.map(|refused| refused.errors.clone()).unwrap_or_default(),
        waiting: state.waiting.clone(),
    })
}
