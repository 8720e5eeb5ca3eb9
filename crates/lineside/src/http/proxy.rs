//! The last good bytes of a feed, as its producer sent them.

use axum::extract::{Path, State};
use axum::response::Response;
use http::{HeaderName, HeaderValue, header};
use lineside_ingest::{Feed, FeedStatus, Snapshot};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::errors::{Problem, Refusal};
use super::found;
use super::layers::producer_policy;
use super::reply::{Representation, Wants};
use super::times::rfc3339;
use crate::app::App;

/// Says whether the bytes are what the producer sends now.
const STATUS: HeaderName = HeaderName::from_static("lineside-status");

pub(super) fn routes() -> OpenApiRouter<App> {
    OpenApiRouter::new().routes(routes!(proxy)).routes(routes!(resource))
}

/// The last good bytes of a feed
///
/// `Lineside-Status` is `fresh`, or `stale` with the reason and since when; then `Age` says how old
/// the bytes are.
#[utoipa::path(
    get, path = "/proxy/{feed}", tag = "bytes",
    params(("feed" = String, Path, description = "The feed's id")),
    responses(
        (status = 200, description = "The bytes", content_type = "application/octet-stream"),
        (status = 304, description = "The client has them already"),
        (status = 404, description = "`unknown_feed`", body = Problem),
        (status = 503, description = "`no_data` or `too_old`", body = Problem)
    )
)]
async fn proxy(
    State(app): State<App>,
    Path(id): Path<String>,
    wants: Wants,
) -> Result<Response, Refusal> {
    last_good_bytes(&app, &id, &wants).await
}

/// The last good bytes of a feed, under another name
#[utoipa::path(
    get, path = "/resource/{feed}", tag = "bytes",
    params(("feed" = String, Path, description = "The feed's id")),
    responses(
        (status = 200, description = "The bytes", content_type = "application/octet-stream"),
        (status = 304, description = "The client has them already"),
        (status = 404, description = "`unknown_feed`", body = Problem),
        (status = 503, description = "`no_data` or `too_old`", body = Problem)
    )
)]
async fn resource(
    State(app): State<App>,
    Path(id): Path<String>,
    wants: Wants,
) -> Result<Response, Refusal> {
    last_good_bytes(&app, &id, &wants).await
}

async fn last_good_bytes(app: &App, id: &str, wants: &Wants) -> Result<Response, Refusal> {
    let feed = found::feed(app, id)?;
    as_sent(app, &feed, wants, |snapshot| {
        let kind = HeaderValue::try_from(snapshot.content_type.as_str())
            .unwrap_or(HeaderValue::from_static("application/octet-stream"));
        (kind, file_name(&snapshot.file_name))
    })
    .await
}

/// A feed's last good bytes; `told` says their media type and how a client should save them.
pub(super) async fn as_sent(
    app: &App,
    feed: &Feed,
    wants: &Wants,
    told: impl FnOnce(&Snapshot) -> (HeaderValue, HeaderValue),
) -> Result<Response, Refusal> {
    let status = feed.status();
    let snapshot = found::snapshot(app, feed, &status)?;
    let (kind, disposition) = told(&snapshot);
    let chosen = &feed.config().reply_headers;
    let its_kind = chosen.iter().find(|(name, _)| *name == header::CONTENT_TYPE);
    let kind = its_kind.map_or(kind, |(_, kind)| kind.clone());
    let (policy, nothing) = producer_policy();
    let mut reply = Representation::hashed(kind, snapshot.bytes.clone(), snapshot.hash)
        .modified_as_said(Some(snapshot.modified()))
        .fresh_for(found::fresh_for(app, &status))
        .header(policy, nothing)
        .header(header::CONTENT_DISPOSITION, disposition);
    for (name, value) in chosen.iter().filter(|(name, _)| *name != header::CONTENT_TYPE) {
        reply = reply.header(name.clone(), value.clone());
    }
    Ok(with_status(app, &status, reply).reply(wants, app).await)
}

/// Adds `Lineside-Status`, and `Age` when the bytes are not the producer's latest.
fn with_status(app: &App, status: &FeedStatus, reply: Representation) -> Representation {
    let Some(failure) = &status.last_error else {
        return reply.header(STATUS, HeaderValue::from_static("fresh"));
    };
    let since = rfc3339(status.since).unwrap_or_default();
    let words = format!("stale; reason={}; since={since}", failure.code);
    let words = HeaderValue::try_from(words).expect("a code and a time are a header value");
    let age = status.last_success.map_or(0, |at| app.now().since(at).as_secs());
    reply.header(STATUS, words).header(header::AGE, HeaderValue::from(age))
}

/// The producer's own name for the file, for those who save it.
fn file_name(name: &str) -> HeaderValue {
    let plain: String = name
        .chars()
        .map(|c| if c.is_ascii_alphanumeric() || "._- ".contains(c) { c } else { '_' })
        .collect();
    HeaderValue::try_from(format!("inline; filename=\"{plain}\""))
        .expect("letters, digits and quotes are a header value")
}
