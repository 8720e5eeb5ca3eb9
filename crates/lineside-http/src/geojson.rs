//! GeoJSON exports, for maps without transit formats.

use axum::extract::{Path, State};
use axum::response::Response;
use bytes::Bytes;
use http::HeaderValue;
use lineside_ingest::Feed;
use lineside_model::{Dataset, NetworkState, geojson};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::blocking::run_blocking;
use super::errors::{Problem, Refusal};
use super::lookup;
use super::reply::{ReplyPreferences, Representation};
use crate::app::App;

const GEOJSON_TYPE: HeaderValue = HeaderValue::from_static("application/geo+json");

pub(crate) fn routes() -> OpenApiRouter<App> {
    OpenApiRouter::new()
        .routes(routes!(get_vehicles))
        .routes(routes!(get_stations))
        .routes(routes!(get_stops))
        .routes(routes!(get_lines))
}

/// The replies to a request for features of any kind.
#[derive(utoipa::IntoResponses)]
#[expect(dead_code, reason = "only OpenAPI uses it")]
enum GeoJsonReplies {
    /// A FeatureCollection
    #[response(status = 200, content_type = "application/geo+json")]
    Collection,
    /// `unknown_feed` or `other_format`
    #[response(status = 404)]
    Missing(Problem),
    /// `no_data`
    #[response(status = 503)]
    Unavailable(Problem),
}

/// Returns the vehicles of a feed, or of a schedule's network, as points
///
/// The vehicles of a GBFS system are those that can be rented, with the fields of `vehicle_status`.
#[utoipa::path(
    get, path = "/geojson/{feed}/vehicles.geojson", tag = "formats",
    params(("feed" = String, Path, description = "The id of a real-time feed, a schedule or a GBFS system")),
    responses(GeoJsonReplies)
)]
async fn get_vehicles(
    State(app): State<App>,
    Path(id): Path<String>,
    preferences: ReplyPreferences,
) -> Result<Response, Refusal> {
    let feed = lookup::find_feed_with_map_data(&app, &id, "vehicles")?;
    reply_from_state(&app, &feed, &preferences, geojson::vehicles_geojson).await
}

/// Returns the stations of a GBFS system as points, with the fields of `station_information` and `station_status`
#[utoipa::path(
    get, path = "/geojson/{feed}/stations.geojson", tag = "formats",
    params(("feed" = String, Path, description = "The id of a GBFS system")),
    responses(GeoJsonReplies)
)]
async fn get_stations(
    State(app): State<App>,
    Path(id): Path<String>,
    preferences: ReplyPreferences,
) -> Result<Response, Refusal> {
    let feed = lookup::find_gbfs_system(&app, &id, "stations")?;
    lookup::find_served_snapshot(&app, &feed, &feed.status())?;
    reply_from_state(&app, &feed, &preferences, geojson::gbfs_stations_geojson).await
}

/// Replies with a body that is computed once per network state.
async fn reply_from_state(
    app: &App,
    feed: &Feed,
    preferences: &ReplyPreferences,
    make: fn(&NetworkState, &str) -> Option<Bytes>,
) -> Result<Response, Refusal> {
    let network = feed.network();
    let state = network.state();
    let body = lookup::run_state_export(&state, feed.id().as_str(), make).await?;
    let fresh_for = lookup::time_until_network_poll(app, &network);
    let reply = Representation::new(GEOJSON_TYPE, body)
        .with_modified_time(Some(state.at), app.now())
        .with_freshness(fresh_for);
    Ok(reply.into_reply(preferences, app).await)
}

/// Returns the stops of a schedule as points
#[utoipa::path(
    get, path = "/geojson/{feed}/stops.geojson", tag = "formats",
    params(("feed" = String, Path, description = "The id of a schedule feed, or of a feed of its network")),
    responses(GeoJsonReplies)
)]
async fn get_stops(
    State(app): State<App>,
    Path(id): Path<String>,
    preferences: ReplyPreferences,
) -> Result<Response, Refusal> {
    reply_from_dataset(&app, &id, &preferences, geojson::stops_geojson).await
}

/// Returns the routes of a schedule as lines, in their colors
#[utoipa::path(
    get, path = "/geojson/{feed}/routes.geojson", tag = "formats",
    params(("feed" = String, Path, description = "The id of a schedule feed, or of a feed of its network")),
    responses(GeoJsonReplies)
)]
async fn get_lines(
    State(app): State<App>,
    Path(id): Path<String>,
    preferences: ReplyPreferences,
) -> Result<Response, Refusal> {
    reply_from_dataset(&app, &id, &preferences, geojson::routes_geojson).await
}

/// Replies with a body that is computed once per dataset, off the socket threads: a large one takes a while.
async fn reply_from_dataset(
    app: &App,
    id: &str,
    preferences: &ReplyPreferences,
    make: fn(&Dataset) -> Bytes,
) -> Result<Response, Refusal> {
    let network = lookup::find_network(app, id)?;
    let dataset = lookup::find_schedule_dataset(app, id, &network)?;
    let schedule = network.schedule_feed();
    let modified =
        schedule.as_ref().and_then(|feed| feed.snapshot()).map(|snapshot| snapshot.modified_at());
    let fresh_for = schedule
        .map_or_else(Default::default, |feed| lookup::time_until_next_poll(app, &feed.status()));
    let body = run_blocking(move || make(&dataset)).await?;
    let reply = Representation::new(GEOJSON_TYPE, body)
        .with_producer_modified_time(modified)
        .with_freshness(fresh_for);
    Ok(reply.into_reply(preferences, app).await)
}
