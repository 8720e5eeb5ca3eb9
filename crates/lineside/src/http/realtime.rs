//! GTFS-Realtime, rebuilt from the state: of a feed, or of a schedule's whole network.

use axum::extract::{Path, State};
use axum::response::Response;
use axum::routing::get;
use http::HeaderValue;
use lineside_ingest::Feed;
use lineside_ingest::exports::{self, Part};
use lineside_sync::UnixMillis;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::documented::ending;
use super::errors::{Problem, Refusal};
use super::found;
use super::reply::{Representation, Wants};
use crate::app::App;

pub(super) fn routes() -> OpenApiRouter<App> {
    ending("/gtfs-rt/{file}", get(whole_file), [routes!(whole), routes!(whole_json)]).merge(ending(
        "/gtfs-rt/{feed}/{file}",
        get(part_file),
        [routes!(part), routes!(part_json)],
    ))
}

/// How a message is written.
#[derive(Debug, Clone, Copy)]
enum Encoding {
    Protobuf,
    Json,
}

/// The name without its ending, and what the ending means.
fn split_ending(file: &str) -> Option<(&str, Encoding)> {
    let protobuf = file.strip_suffix(".pb").map(|name| (name, Encoding::Protobuf));
    protobuf.or_else(|| file.strip_suffix(".json").map(|name| (name, Encoding::Json)))
}

async fn whole_file(
    state: State<App>,
    Path(file): Path<String>,
    wants: Wants,
) -> Result<Response, Refusal> {
    let (id, encoding) = split_ending(&file).ok_or(Refusal::UnknownPath)?;
    let id = Path(id.to_owned());
    match encoding {
        Encoding::Protobuf => whole(state, id, wants).await,
        Encoding::Json => whole_json(state, id, wants).await,
    }
}

async fn part_file(
    state: State<App>,
    Path((id, file)): Path<(String, String)>,
    wants: Wants,
) -> Result<Response, Refusal> {
    let (name, encoding) = split_ending(&file).ok_or(Refusal::UnknownPath)?;
    let path = Path((id, name.to_owned()));
    match encoding {
        Encoding::Protobuf => part(state, path, wants).await,
        Encoding::Json => part_json(state, path, wants).await,
    }
}

/// All real-time data of a feed, or of a schedule's network, as GTFS-Realtime
#[utoipa::path(
    get, path = "/gtfs-rt/{feed}.pb", tag = "formats",
    params(("feed" = String, Path, description = "A real-time feed's id, or a schedule's")),
    responses(
        (status = 200, description = "A FeedMessage; its timestamp never goes back",
            content_type = "application/x-protobuf"),
        (status = 404, description = "`unknown_feed` or `other_format`", body = Problem),
        (status = 503, description = "`no_data` or `too_old`", body = Problem)
    )
)]
async fn whole(
    State(app): State<App>,
    Path(id): Path<String>,
    wants: Wants,
) -> Result<Response, Refusal> {
    message(&app, &id, Part::All, Encoding::Protobuf, &wants).await
}

/// The same message as JSON, with the specification's own names
#[utoipa::path(
    get, path = "/gtfs-rt/{feed}.json", tag = "formats",
    params(("feed" = String, Path, description = "A real-time feed's id, or a schedule's")),
    responses(
        (status = 200, description = "The message; extensions are left out", content_type = "application/json"),
        (status = 404, description = "`unknown_feed` or `other_format`", body = Problem),
        (status = 503, description = "`no_data` or `too_old`", body = Problem)
    )
)]
async fn whole_json(
    State(app): State<App>,
    Path(id): Path<String>,
    wants: Wants,
) -> Result<Response, Refusal> {
    message(&app, &id, Part::All, Encoding::Json, &wants).await
}

/// One kind of entity only
#[utoipa::path(
    get, path = "/gtfs-rt/{feed}/{part}.pb", tag = "formats",
    params(
        ("feed" = String, Path, description = "A real-time feed's id, or a schedule's"),
        ("part" = String, Path, description = "`vehicle-positions`, `trip-updates` or `alerts`")
    ),
    responses(
        (status = 200, description = "A FeedMessage", content_type = "application/x-protobuf"),
        (status = 404, description = "`unknown_feed` or `other_format`", body = Problem),
        (status = 503, description = "`no_data` or `too_old`", body = Problem)
    )
)]
async fn part(
    State(app): State<App>,
    Path((id, name)): Path<(String, String)>,
    wants: Wants,
) -> Result<Response, Refusal> {
    let part = Part::parse(&name).ok_or(Refusal::UnknownPath)?;
    message(&app, &id, part, Encoding::Protobuf, &wants).await
}

/// One kind of entity only, as JSON
#[utoipa::path(
    get, path = "/gtfs-rt/{feed}/{part}.json", tag = "formats",
    params(
        ("feed" = String, Path, description = "A real-time feed's id, or a schedule's"),
        ("part" = String, Path, description = "`vehicle-positions`, `trip-updates` or `alerts`")
    ),
    responses(
        (status = 200, description = "The message", content_type = "application/json"),
        (status = 404, description = "`unknown_feed` or `other_format`", body = Problem),
        (status = 503, description = "`no_data` or `too_old`", body = Problem)
    )
)]
async fn part_json(
    State(app): State<App>,
    Path((id, name)): Path<(String, String)>,
    wants: Wants,
) -> Result<Response, Refusal> {
    let part = Part::parse(&name).ok_or(Refusal::UnknownPath)?;
    message(&app, &id, part, Encoding::Json, &wants).await
}

async fn message(
    app: &App,
    id: &str,
    part: Part,
    encoding: Encoding,
    wants: &Wants,
) -> Result<Response, Refusal> {
    let feed = found::decoded_feed(app, id, "real-time data")?;
    let reply = made(app, id, &feed, part, encoding, wants);
    found::counted(&feed, wants, reply.await)
}

async fn made(
    app: &App,
    id: &str,
    feed: &Feed,
    part: Part,
    encoding: Encoding,
    wants: &Wants,
) -> Result<Response, Refusal> {
    let network = feed.network();
    // What a schedule's id stands for is its whole network, of which any feed may have data.
    if !feed.is_schedule() && network.feeds().len() == 1 {
        found::held(app, feed, &feed.status())?;
    }
    let state = network.state();
    let export = found::export(&state, id, move |state, asked| match encoding {
        Encoding::Protobuf => exports::gtfs_rt(state, asked, part),
        Encoding::Json => exports::gtfs_rt_json(state, asked, part),
    });
    let export = export.await?;
    let kind = match encoding {
        Encoding::Protobuf => "application/x-protobuf",
        Encoding::Json => "application/json",
    };
    let made = i64::try_from(export.timestamp).ok().map(UnixMillis::from_seconds);
    let reply = Representation::hashed(HeaderValue::from_static(kind), export.bytes, export.hash)
        .modified_as_said(made)
        .fresh_for(found::network_fresh_for(app, &network));
    Ok(reply.reply(wants, app).await)
}
