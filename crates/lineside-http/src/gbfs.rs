//! The files of a GBFS system as they were received, and the discovery file with this server's addresses.

use axum::extract::{Path, State};
use axum::response::Response;
use http::{HeaderMap, HeaderValue, StatusCode};
use lineside_formats::Format;
use lineside_ingest::Feed;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::errors::{Problem, Refusal};
use super::lookup;
use super::prepared_replies::{DownloadView, producer_reply_headers};
use super::reply::{ReplyPreferences, Representation};
use crate::app::App;
use crate::prepared_replies::{freshness_headers, reply_with_last_good_bytes};

/// Name of the discovery file.
const DISCOVERY: &str = "gbfs";
/// First segment of addresses that are compatible with another proxy.
const RESOURCE: &str = "resource";

pub(crate) fn routes() -> OpenApiRouter<App> {
    OpenApiRouter::new()
        .routes(routes!(get_file))
        .routes(routes!(get_localized_file))
        .routes(routes!(get_resource_file))
        .routes(routes!(get_localized_resource))
}

/// The replies to a request for a file, under each of its addresses.
#[derive(utoipa::IntoResponses)]
#[expect(dead_code, reason = "only OpenAPI uses it")]
enum GbfsFileReplies {
    /// The file
    #[response(status = 200, content_type = "application/json")]
    File,
    /// The client has this version
    #[response(status = 304)]
    NotModified,
    /// `unknown_feed` or `not_found`
    #[response(status = 404)]
    Missing(Problem),
    /// `no_data` or `stale`
    #[response(status = 503)]
    Unavailable(Problem),
}

/// Returns a file of a GBFS system as last received
///
/// `gbfs.json` is the discovery file, whose addresses lead here; the other files are those that it lists. Without a
/// language, the first language that has the file is used.
#[utoipa::path(
    get, path = "/proxy/{feed}/{file}", tag = "bytes",
    params(
        ("feed" = String, Path, description = "The system's id"),
        ("file" = String, Path, description = "The file's name, with or without `.json`")
    ),
    responses(GbfsFileReplies)
)]
async fn get_file(
    State(app): State<App>,
    Path((feed, file)): Path<(String, String)>,
    headers: HeaderMap,
    preferences: ReplyPreferences,
) -> Result<Response, Refusal> {
    reply_with_file(
        &app,
        GbfsFileRequest { prefix: "proxy", feed, language: None, file },
        &headers,
        &preferences,
    )
    .await
}

/// Returns a file of a GBFS system in one of its languages
#[utoipa::path(
    get, path = "/proxy/{feed}/{language}/{file}", tag = "bytes",
    params(
        ("feed" = String, Path, description = "The system's id"),
        ("language" = String, Path, description = "A language of the discovery file"),
        ("file" = String, Path, description = "The file's name, with or without `.json`")
    ),
    responses(GbfsFileReplies)
)]
async fn get_localized_file(
    State(app): State<App>,
    Path((feed, language, file)): Path<(String, String, String)>,
    headers: HeaderMap,
    preferences: ReplyPreferences,
) -> Result<Response, Refusal> {
    let request = GbfsFileRequest { prefix: "proxy", feed, language: Some(language), file };
    reply_with_file(&app, request, &headers, &preferences).await
}

/// Returns a file of a GBFS system, at its `/resource` address
#[utoipa::path(
    get, path = "/resource/{feed}/{file}", tag = "bytes",
    params(
        ("feed" = String, Path, description = "The system's id"),
        ("file" = String, Path, description = "The file's name, with or without `.json`")
    ),
    responses(GbfsFileReplies)
)]
async fn get_resource_file(
    State(app): State<App>,
    Path((feed, file)): Path<(String, String)>,
    headers: HeaderMap,
    preferences: ReplyPreferences,
) -> Result<Response, Refusal> {
    reply_with_file(
        &app,
        GbfsFileRequest { prefix: RESOURCE, feed, language: None, file },
        &headers,
        &preferences,
    )
    .await
}

/// Returns a file of a GBFS system in one of its languages, at its `/resource` address
#[utoipa::path(
    get, path = "/resource/{feed}/{language}/{file}", tag = "bytes",
    params(
        ("feed" = String, Path, description = "The system's id"),
        ("language" = String, Path, description = "A language of the discovery file"),
        ("file" = String, Path, description = "The file's name, with or without `.json`")
    ),
    responses(GbfsFileReplies)
)]
async fn get_localized_resource(
    State(app): State<App>,
    Path((feed, language, file)): Path<(String, String, String)>,
    headers: HeaderMap,
    preferences: ReplyPreferences,
) -> Result<Response, Refusal> {
    let request = GbfsFileRequest { prefix: RESOURCE, feed, language: Some(language), file };
    reply_with_file(&app, request, &headers, &preferences).await
}

/// A file of a GBFS system, as named by an address.
struct GbfsFileRequest {
    /// First segment of the address; the discovery file's addresses keep it.
    prefix: &'static str,
    feed: String,
    language: Option<String>,
    file: String,
}

async fn reply_with_file(
    app: &App,
    request: GbfsFileRequest,
    headers: &HeaderMap,
    preferences: &ReplyPreferences,
) -> Result<Response, Refusal> {
    let feed = lookup::find_feed(app, &request.feed)?;
    if !feed.format().is_some_and(Format::is_shared_mobility) {
        return Err(Refusal::UnknownPath);
    }
    let name = request.file.strip_suffix(".json").unwrap_or(&request.file);
    let language = request.language.as_deref();
    if name == DISCOVERY && language.is_none() {
        return reply_with_discovery(app, &feed, request.prefix, headers, preferences).await;
    }
    let part = feed.find_gbfs_file(language, name);
    // The other proxy, whose addresses these are, replaces `gbfs.json` in the system's URL by the requested name.
    let is_sibling_request = request.prefix == RESOURCE && language.is_none();
    let find_sibling = || feed.find_file_beside_discovery(name).filter(|_| is_sibling_request);
    let part = part.or_else(find_sibling).ok_or(Refusal::UnknownPath)?;
    reply_with_last_good_bytes(app, &part, preferences, DownloadView::AsSent).await
}

/// Replies with the discovery file, with this server's addresses for the files that it serves.
pub(crate) async fn reply_with_discovery(
    app: &App,
    feed: &Feed,
    prefix: &str,
    headers: &HeaderMap,
    preferences: &ReplyPreferences,
) -> Result<Response, Refusal> {
    let reply = async {
        let status = feed.status();
        let served = lookup::find_served_snapshot(app, feed, &status)?;
        let snapshot = served.snapshot();
        let base = format!("{}/{prefix}/{}", app.base_url(headers), feed.id());
        let kind = HeaderValue::from_static("application/json");
        let reply =
            Representation::new(kind, rewrite_discovery_urls(feed, &snapshot.bytes, &base)?)
                .with_producer_modified_time(Some(snapshot.modified_at()))
                .mark_single_use();
        let mut reply = reply.into_reply(preferences, app).await;
        if reply.status() != StatusCode::NOT_MODIFIED {
            reply.headers_mut().extend(producer_reply_headers(feed.config()));
        }
        reply.headers_mut().extend(freshness_headers(app, feed, &status, snapshot));
        Ok(reply)
    };
    lookup::count_feed_reply(feed, preferences, reply.await)
}

/// Rewrites the discovery file with addresses under `base` for the files that are served.
fn rewrite_discovery_urls(feed: &Feed, discovery: &[u8], base: &str) -> Result<Vec<u8>, Refusal> {
    let parts = feed.gbfs_files();
    let first = parts.first().and_then(|part| part.language.as_deref());
    let is_single = parts.iter().all(|part| part.language.as_deref() == first);
    let rewrite_url = |entry: &lineside_gbfs::DiscoveryEntry| {
        if &*entry.name == DISCOVERY {
            return Some(format!("{base}/{DISCOVERY}.json"));
        }
        let language = entry.language.as_deref();
        // An entry whose URL would reveal the feed's key leads to an unknown file instead.
        if feed.find_gbfs_file(language, &entry.name).is_none() && !feed.contains_secret(&entry.url)
        {
            return None;
        }
        Some(match language.filter(|_| !is_single) {
            Some(language) => format!("{base}/{language}/{}.json", entry.name),
            None => format!("{base}/{}.json", entry.name),
        })
    };
    lineside_gbfs::rewrite_discovery_urls(discovery, &lineside_gbfs::DiscoveryLimits::default(), rewrite_url).map_err(|error| {
        tracing::error!(feed = %feed.id(), %error, "a discovery file that was valid cannot be read");
        Refusal::Internal
    })
}
