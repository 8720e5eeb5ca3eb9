//! The last good bytes of a feed, as its producer sent them.

use std::time::Duration;

use axum::extract::{Path, State};
use axum::response::Response;
use http::{HeaderMap, HeaderName, HeaderValue, header};
use lineside_config::times::format_rfc3339;
use lineside_formats::Format;
use lineside_ingest::{FailureCode, Feed, FeedStatus, Snapshot};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::errors::{Problem, Refusal};
use super::prepared_replies::{DownloadView, PreparedReplies, cache_control};
use super::reply::ReplyPreferences;
use super::{gbfs, limits, lookup};
use crate::app::App;

/// Reports if the bytes are the producer's current ones.
const STATUS: HeaderName = HeaderName::from_static("lineside-status");

pub(super) fn routes() -> OpenApiRouter<App> {
    OpenApiRouter::new().routes(routes!(get_proxied)).routes(routes!(get_resource))
}

/// The replies to a request for bytes, under each of their addresses.
#[derive(utoipa::IntoResponses)]
#[expect(dead_code, reason = "only OpenAPI uses it")]
enum ProxyReplies {
    /// The bytes
    #[response(status = 200, content_type = "application/octet-stream")]
    Bytes,
    /// The part that `Range` asks for
    #[response(status = 206)]
    Part,
    /// The client has this version
    #[response(status = 304)]
    NotModified,
    /// `unknown_feed`
    #[response(status = 404)]
    Missing(Problem),
    /// `bad_range`
    #[response(status = 416)]
    RangeNotSatisfiable(Problem),
    /// `no_data` or `stale`
    #[response(status = 503)]
    Unavailable(Problem),
}

/// Returns the last good bytes of a feed
///
/// `Lineside-Status` is `fresh`, or `stale` with the reason and the time since when; then `Age` is the age of the
/// bytes.
#[utoipa::path(
    get, path = "/proxy/{feed}", tag = "bytes",
    params(("feed" = String, Path, description = "The feed's id")),
    responses(ProxyReplies)
)]
async fn get_proxied(
    State(app): State<App>,
    Path(id): Path<String>,
    headers: HeaderMap,
    preferences: ReplyPreferences,
) -> Result<Response, Refusal> {
    reply_with_snapshot(&app, ("proxy", &id), &headers, &preferences).await
}

/// Returns the last good bytes of a feed, at its `/resource` address
#[utoipa::path(
    get, path = "/resource/{feed}", tag = "bytes",
    params(("feed" = String, Path, description = "The feed's id")),
    responses(ProxyReplies)
)]
async fn get_resource(
    State(app): State<App>,
    Path(id): Path<String>,
    headers: HeaderMap,
    preferences: ReplyPreferences,
) -> Result<Response, Refusal> {
    reply_with_snapshot(&app, ("resource", &id), &headers, &preferences).await
}

async fn reply_with_snapshot(
    app: &App,
    (prefix, id): (&'static str, &str),
    headers: &HeaderMap,
    preferences: &ReplyPreferences,
) -> Result<Response, Refusal> {
    let feed = lookup::find_feed(app, id)?;
    if feed.format() == Some(Format::Gbfs) {
        return gbfs::reply_with_discovery(app, &feed, prefix, headers, preferences).await;
    }
    reply_as_sent(app, &feed, preferences, DownloadView::AsSent).await
}

/// Replies with a feed's last good bytes in the given view.
pub(super) async fn reply_as_sent(
    app: &App,
    feed: &Feed,
    preferences: &ReplyPreferences,
    view: DownloadView,
) -> Result<Response, Refusal> {
    let reply = async {
        let status = feed.status();
        let served = match view {
            DownloadView::AsSent => lookup::original_snapshot(app, feed, &status)?,
            DownloadView::Schedule => lookup::served_snapshot(app, feed, &status)?,
        };
        let freshness = freshness_headers(app, feed, &status, served.snapshot());
        PreparedReplies::for_snapshot(&served, served.config())?
            .build_reply(view, preferences, freshness)
            .await
    };
    lookup::count_reply(feed, preferences, reply.await)
}

/// Returns the headers that are valid only now: `Cache-Control` and `Lineside-Status`, with `Age` if the bytes are not
/// the producer's latest.
pub(super) fn freshness_headers(
    app: &App,
    feed: &Feed,
    status: &FeedStatus,
    snapshot: &Snapshot,
) -> HeaderMap {
    let mut headers = HeaderMap::with_capacity(limits::REPLY_HEADERS);
    let age = lookup::snapshot_age(app, status, snapshot);
    let good_for = match feed.config().max_age {
        Some(max_age) => max_age.saturating_sub(age).min(limits::STALE_IF_ERROR_MAX),
        None => limits::STALE_IF_ERROR_MAX,
    };
    let fresh_for = lookup::feed_fresh_for(app, status).min(good_for);
    let cache = |age| (header::CACHE_CONTROL, cache_control(age, fresh_for, good_for));
    let (reason, since) = match &status.last_error {
        Some(failure) => (failure.code.to_string(), status.failing_since.unwrap_or(failure.at)),
        None if let Some(since) = status.empty_since => (FailureCode::Empty.to_string(), since),
        // After a restart it is unknown if the producer still serves the restored bytes.
        None if status.is_restored && age > feed.config().poll_interval(status.format) => {
            let confirmed_at = status.last_success.unwrap_or(snapshot.fetched_at);
            ("restart".to_owned(), confirmed_at)
        }
        None if feed.config().paused && age > feed.config().poll_interval(status.format) => {
            ("paused".to_owned(), status.last_success.unwrap_or(snapshot.fetched_at))
        }
        None => {
            headers.insert(STATUS, HeaderValue::from_static("fresh"));
            headers.extend([cache(Duration::ZERO)]);
            return headers;
        }
    };
    let since = format_rfc3339(since).unwrap_or_default();
    let status_text = format!("stale; reason={reason}; since={since}");
    let words =
        HeaderValue::try_from(status_text).expect("a code and a time are a valid header value");
    headers.insert(STATUS, words);
    headers.insert(header::AGE, HeaderValue::from(age.as_secs()));
    headers.extend([cache(age)]);
    headers
}
