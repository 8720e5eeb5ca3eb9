//! The last good schedule as a GTFS zip.

use axum::extract::{Path, State};
use axum::response::Response;
use axum::routing::get;
use lineside_ingest::Feed;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::documented_route::document_route;
use super::errors::{Problem, Refusal};
use super::lookup;
use super::prepared_replies::{DownloadView, PreparedReplies};
use super::reply::ReplyPreferences;
use crate::app::App;
use crate::prepared_replies::{freshness_headers, reply_with_last_good_bytes};

pub(crate) fn routes() -> OpenApiRouter<App> {
    document_route("/gtfs/{file}", get(get_gtfs_zip), [routes!(get_gtfs_schedule)])
}

async fn get_gtfs_zip(
    state: State<App>,
    Path(file): Path<String>,
    preferences: ReplyPreferences,
) -> Result<Response, Refusal> {
    let id = file.strip_suffix(".zip").ok_or(Refusal::UnknownPath)?;
    get_gtfs_schedule(state, Path(id.to_owned()), preferences).await
}

/// Returns the last good schedule of a feed as a GTFS zip
///
/// A schedule that is a local folder of files is served as a zip too. A NeTEx schedule is converted to GTFS, without
/// what GTFS cannot represent.
#[utoipa::path(
    get, path = "/gtfs/{feed}.zip", tag = "bytes",
    params(("feed" = String, Path, description = "The schedule feed's id")),
    responses(
        (status = 200, description = "The zip", content_type = "application/zip"),
        (status = 206, description = "The requested `Range`"),
        (status = 304, description = "The client's copy is current"),
        (status = 404, description = "`unknown_feed` or `other_format`", body = Problem),
        (status = 416, description = "`bad_range`", body = Problem),
        (status = 503, description = "`no_data` or `stale`", body = Problem)
    )
)]
async fn get_gtfs_schedule(
    State(app): State<App>,
    Path(id): Path<String>,
    preferences: ReplyPreferences,
) -> Result<Response, Refusal> {
    let feed = lookup::find_feed(&app, &id)?;
    match feed.format() {
        Some(format) if format.is_converted_to_gtfs() => {
            reply_with_converted_gtfs(&app, &feed, &preferences).await
        }
        Some(format) if !format.is_schedule() => {
            Err(Refusal::OtherFormat { feed: id, actual: format.as_str(), expected: "schedules" })
        }
        _ => reply_with_last_good_bytes(&app, &feed, &preferences, DownloadView::Schedule).await,
    }
}

/// Replies with the GTFS zip converted from a NeTEx schedule.
async fn reply_with_converted_gtfs(
    app: &App,
    feed: &Feed,
    preferences: &ReplyPreferences,
) -> Result<Response, Refusal> {
    let reply = async {
        let status = feed.status();
        let served = lookup::find_served_snapshot(app, feed, &status)?;
        let freshness = freshness_headers(app, feed, &status, served.snapshot());
        let dataset = lookup::find_schedule_dataset(app, feed.id().as_str(), &feed.network())?;
        let zip =
            tokio::task::spawn_blocking(move || dataset.converted_gtfs_snapshot(&served)).await;
        let zip = zip.ok().flatten().ok_or(Refusal::Internal)?;
        PreparedReplies::for_snapshot(&zip, zip.config())?
            .build_reply(DownloadView::Schedule, preferences, freshness)
            .await
    };
    lookup::count_feed_reply(feed, preferences, reply.await)
}
