//! The last good schedule as a GTFS zip.

use axum::extract::{Path, State};
use axum::response::Response;
use axum::routing::get;
use lineside_formats::Format;
use lineside_ingest::Feed;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::documented::ending;
use super::errors::{Problem, Refusal};
use super::found;
use super::prepared::{Prepared, View};
use super::proxy::{as_sent, freshness};
use super::reply::Wants;
use crate::app::App;

pub(super) fn routes() -> OpenApiRouter<App> {
    ending("/gtfs/{file}", get(file), [routes!(schedule)])
}

async fn file(
    state: State<App>,
    Path(file): Path<String>,
    wants: Wants,
) -> Result<Response, Refusal> {
    let id = file.strip_suffix(".zip").ok_or(Refusal::UnknownPath)?;
    schedule(state, Path(id.to_owned()), wants).await
}

/// The last good schedule of a feed, as a GTFS zip
///
/// A schedule that is a folder of files here is served as a zip too, and of one that comes as NeTEx what GTFS can say of it.
#[utoipa::path(
    get, path = "/gtfs/{feed}.zip", tag = "bytes",
    params(("feed" = String, Path, description = "The schedule feed's id")),
    responses(
        (status = 200, description = "The zip", content_type = "application/zip"),
        (status = 206, description = "The part that `Range` asks for"),
        (status = 304, description = "The client has it already"),
        (status = 404, description = "`unknown_feed` or `other_format`", body = Problem),
        (status = 416, description = "`bad_range`", body = Problem),
        (status = 503, description = "`no_data` or `too_old`", body = Problem)
    )
)]
async fn schedule(
    State(app): State<App>,
    Path(id): Path<String>,
    wants: Wants,
) -> Result<Response, Refusal> {
    let feed = found::feed(&app, &id)?;
    match feed.format() {
        Some(Format::Netex) => converted(&app, &feed, &wants).await,
        None | Some(Format::Gtfs) => as_sent(&app, &feed, &wants, View::Schedule).await,
        Some(format) => {
            Err(Refusal::OtherFormat { feed: id, is: format.as_str(), wanted: "schedules" })
        }
    }
}

/// The zip that was made of a schedule that came as something else.
async fn converted(app: &App, feed: &Feed, wants: &Wants) -> Result<Response, Refusal> {
    let reply = async {
        let status = feed.status();
        let held = found::held(app, feed, &status)?;
        let freshness = freshness(app, feed, &status, held.snapshot());
        let dataset = found::dataset(app, feed.id().as_str(), &feed.network())?;
        let zip = tokio::task::spawn_blocking(move || dataset.converted(&held)).await;
        let zip = zip.ok().flatten().ok_or(Refusal::Internal)?;
        Prepared::of(&zip, zip.config())?.reply(View::Schedule, wants, freshness).await
    };
    found::counted(feed, wants, reply.await)
}
