//! GTFS-Realtime messages built from the state of a feed, or of a schedule's whole network.

use axum::extract::{Path, State};
use axum::response::Response;
use axum::routing::get;
use http::HeaderValue;
use lineside_ingest::Feed;
use lineside_model::exports::{self, ExportedEntityKinds};
use lineside_sync::UnixMillis;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::documented_route::document_route;
use super::errors::{Problem, Refusal};
use super::lookup;
use super::reply::{ReplyPreferences, Representation};
use crate::app::App;

pub(crate) fn routes() -> OpenApiRouter<App> {
    document_route(
        "/gtfs-rt/{file}",
        get(get_full_message_file),
        [routes!(get_full_message), routes!(get_full_message_json)],
    )
    .merge(document_route(
        "/gtfs-rt/{feed}/{file}",
        get(get_partial_message_file),
        [routes!(get_partial_message), routes!(get_partial_message_json)],
    ))
}

#[derive(Debug, Clone, Copy)]
enum MessageEncoding {
    Protobuf,
    Json,
}

/// Splits a file name into its stem and the encoding of its extension.
fn split_extension(file: &str) -> Option<(&str, MessageEncoding)> {
    let protobuf = file.strip_suffix(".pb").map(|name| (name, MessageEncoding::Protobuf));
    protobuf.or_else(|| file.strip_suffix(".json").map(|name| (name, MessageEncoding::Json)))
}

async fn get_full_message_file(
    state: State<App>,
    Path(file): Path<String>,
    preferences: ReplyPreferences,
) -> Result<Response, Refusal> {
    let (id, encoding) = split_extension(&file).ok_or(Refusal::UnknownPath)?;
    let id = Path(id.to_owned());
    match encoding {
        MessageEncoding::Protobuf => get_full_message(state, id, preferences).await,
        MessageEncoding::Json => get_full_message_json(state, id, preferences).await,
    }
}

async fn get_partial_message_file(
    state: State<App>,
    Path((id, file)): Path<(String, String)>,
    preferences: ReplyPreferences,
) -> Result<Response, Refusal> {
    let (name, encoding) = split_extension(&file).ok_or(Refusal::UnknownPath)?;
    let path = Path((id, name.to_owned()));
    match encoding {
        MessageEncoding::Protobuf => get_partial_message(state, path, preferences).await,
        MessageEncoding::Json => get_partial_message_json(state, path, preferences).await,
    }
}

/// Returns all real-time data of a feed, or of a schedule's network, as GTFS-Realtime
#[utoipa::path(
    get, path = "/gtfs-rt/{feed}.pb", tag = "formats",
    params(("feed" = String, Path, description = "The id of a real-time feed or a schedule")),
    responses(
        (status = 200, description = "A FeedMessage; its timestamp never decreases",
            content_type = "application/x-protobuf"),
        (status = 404, description = "`unknown_feed` or `other_format`", body = Problem),
        (status = 503, description = "`no_data` or `stale`", body = Problem)
    )
)]
async fn get_full_message(
    State(app): State<App>,
    Path(id): Path<String>,
    preferences: ReplyPreferences,
) -> Result<Response, Refusal> {
    serve_and_count_message(
        &app,
        &id,
        ExportedEntityKinds::All,
        MessageEncoding::Protobuf,
        &preferences,
    )
    .await
}

/// Returns all real-time data as JSON, with the field names of the specification
#[utoipa::path(
    get, path = "/gtfs-rt/{feed}.json", tag = "formats",
    params(("feed" = String, Path, description = "The id of a real-time feed or a schedule")),
    responses(
        (status = 200, description = "The message, without extensions", content_type = "application/json"),
        (status = 404, description = "`unknown_feed` or `other_format`", body = Problem),
        (status = 503, description = "`no_data` or `stale`", body = Problem)
    )
)]
async fn get_full_message_json(
    State(app): State<App>,
    Path(id): Path<String>,
    preferences: ReplyPreferences,
) -> Result<Response, Refusal> {
    serve_and_count_message(
        &app,
        &id,
        ExportedEntityKinds::All,
        MessageEncoding::Json,
        &preferences,
    )
    .await
}

/// Returns one kind of entity
#[utoipa::path(
    get, path = "/gtfs-rt/{feed}/{part}.pb", tag = "formats",
    params(
        ("feed" = String, Path, description = "The id of a real-time feed or a schedule"),
        ("part" = String, Path, description = "`vehicle-positions`, `trip-updates` or `alerts`")
    ),
    responses(
        (status = 200, description = "A FeedMessage", content_type = "application/x-protobuf"),
        (status = 404, description = "`unknown_feed` or `other_format`", body = Problem),
        (status = 503, description = "`no_data` or `stale`", body = Problem)
    )
)]
async fn get_partial_message(
    State(app): State<App>,
    Path((id, name)): Path<(String, String)>,
    preferences: ReplyPreferences,
) -> Result<Response, Refusal> {
    let part = ExportedEntityKinds::parse_url_name(&name).ok_or(Refusal::UnknownPath)?;
    serve_and_count_message(&app, &id, part, MessageEncoding::Protobuf, &preferences).await
}

/// Returns one kind of entity as JSON
#[utoipa::path(
    get, path = "/gtfs-rt/{feed}/{part}.json", tag = "formats",
    params(
        ("feed" = String, Path, description = "The id of a real-time feed or a schedule"),
        ("part" = String, Path, description = "`vehicle-positions`, `trip-updates` or `alerts`")
    ),
    responses(
        (status = 200, description = "The message", content_type = "application/json"),
        (status = 404, description = "`unknown_feed` or `other_format`", body = Problem),
        (status = 503, description = "`no_data` or `stale`", body = Problem)
    )
)]
async fn get_partial_message_json(
    State(app): State<App>,
    Path((id, name)): Path<(String, String)>,
    preferences: ReplyPreferences,
) -> Result<Response, Refusal> {
    let part = ExportedEntityKinds::parse_url_name(&name).ok_or(Refusal::UnknownPath)?;
    serve_and_count_message(&app, &id, part, MessageEncoding::Json, &preferences).await
}

async fn serve_and_count_message(
    app: &App,
    id: &str,
    part: ExportedEntityKinds,
    encoding: MessageEncoding,
    preferences: &ReplyPreferences,
) -> Result<Response, Refusal> {
    let feed = lookup::find_decoded_feed(app, id, "real-time data")?;
    let reply = reply_with_message(app, id, &feed, part, encoding, preferences);
    lookup::count_feed_reply(&feed, preferences, reply.await)
}

async fn reply_with_message(
    app: &App,
    id: &str,
    feed: &Feed,
    part: ExportedEntityKinds,
    encoding: MessageEncoding,
    preferences: &ReplyPreferences,
) -> Result<Response, Refusal> {
    let network = feed.network();
    // A schedule's id selects its whole network, of which any feed may have data.
    if !feed.is_schedule() && network.feeds().len() == 1 {
        lookup::find_served_snapshot(app, feed, &feed.status())?;
    }
    let state = network.state();
    let export = lookup::run_state_export(&state, id, move |state, feed_id| match encoding {
        MessageEncoding::Protobuf => exports::get_gtfs_rt_export(state, feed_id, part),
        MessageEncoding::Json => exports::get_gtfs_rt_json_export(state, feed_id, part),
    });
    let export = export.await?;
    let kind = match encoding {
        MessageEncoding::Protobuf => "application/x-protobuf",
        MessageEncoding::Json => "application/json",
    };
    let made_at = i64::try_from(export.timestamp).ok().map(UnixMillis::from_seconds);
    let reply =
        Representation::with_hash(HeaderValue::from_static(kind), export.bytes, export.hash)
            .with_producer_modified_time(made_at)
            .with_freshness(lookup::time_until_network_poll(app, &network));
    Ok(reply.into_reply(preferences, app).await)
}
