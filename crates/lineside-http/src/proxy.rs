//! The last good bytes of a feed, as its producer sent them.

use axum::extract::{Path, State};
use axum::response::Response;
use http::HeaderMap;
use lineside_formats::Format;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::errors::{Problem, Refusal};
use super::prepared_replies::DownloadView;
use super::reply::ReplyPreferences;
use super::{gbfs, lookup};
use crate::app::App;
use crate::prepared_replies::reply_with_last_good_bytes;

pub(crate) fn routes() -> OpenApiRouter<App> {
    OpenApiRouter::new().routes(routes!(get_proxied_feed)).routes(routes!(get_feed_resource))
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
async fn get_proxied_feed(
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
async fn get_feed_resource(
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
    if feed.format().is_some_and(Format::is_shared_mobility) {
        return gbfs::reply_with_discovery(app, &feed, prefix, headers, preferences).await;
    }
    reply_with_last_good_bytes(app, &feed, preferences, DownloadView::AsSent).await
}
