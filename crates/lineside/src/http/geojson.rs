//! GeoJSON, for maps that know no transit.

use axum::extract::{Path, State};
use axum::response::Response;
use bytes::Bytes;
use http::HeaderValue;
use lineside_ingest::{Dataset, Feed, NetworkState, geojson};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::aside::aside;
use super::errors::{Problem, Refusal};
use super::found;
use super::reply::{Representation, Wants};
use crate::app::App;

const KIND: HeaderValue = HeaderValue::from_static("application/geo+json");

pub(super) fn routes() -> OpenApiRouter<App> {
    OpenApiRouter::new()
        .routes(routes!(vehicles))
        .routes(routes!(stations))
        .routes(routes!(stops))
        .routes(routes!(lines))
}

/// What is answered to who asks for places, of whatever kind.
#[derive(utoipa::IntoResponses)]
#[expect(dead_code, reason = "it only describes")]
enum Replies {
    /// A FeatureCollection
    #[response(status = 200, content_type = "application/geo+json")]
    Collection,
    /// `unknown_feed` or `other_format`
    #[response(status = 404)]
    Missing(Problem),
    /// `no_data`
    #[response(status = 503)]
    NothingGood(Problem),
}

/// The vehicles of a feed, or of a schedule's network, as points
///
/// Those of a GBFS system are the ones that can be rented, with the fields of `vehicle_status`.
#[utoipa::path(
    get, path = "/geojson/{feed}/vehicles.geojson", tag = "formats",
    params(("feed" = String, Path, description = "A real-time feed's id, a schedule's, or a GBFS system's")),
    responses(Replies)
)]
async fn vehicles(
    State(app): State<App>,
    Path(id): Path<String>,
    wants: Wants,
) -> Result<Response, Refusal> {
    let feed = found::placed_feed(&app, &id, "vehicles")?;
    of_state(&app, &feed, &wants, geojson::vehicles).await
}

/// The stations of a GBFS system as points, with the fields of `station_information` and `station_status`
#[utoipa::path(
    get, path = "/geojson/{feed}/stations.geojson", tag = "formats",
    params(("feed" = String, Path, description = "A GBFS system's id")),
    responses(Replies)
)]
async fn stations(
    State(app): State<App>,
    Path(id): Path<String>,
    wants: Wants,
) -> Result<Response, Refusal> {
    let feed = found::system(&app, &id, "stations")?;
    found::held(&app, &feed, &feed.status())?;
    of_state(&app, &feed, &wants, geojson::stations).await
}

/// Something made once per state.
async fn of_state(
    app: &App,
    feed: &Feed,
    wants: &Wants,
    make: fn(&NetworkState, &str) -> Option<Bytes>,
) -> Result<Response, Refusal> {
    let network = feed.network();
    let state = network.state();
    let body = found::export(&state, feed.id().as_str(), make).await?;
    let fresh_for = found::network_fresh_for(app, &network);
    let reply =
        Representation::new(KIND, body).modified(Some(state.at), app.now()).fresh_for(fresh_for);
    Ok(reply.reply(wants, app).await)
}

/// The stops of a schedule as points
#[utoipa::path(
    get, path = "/geojson/{feed}/stops.geojson", tag = "formats",
    params(("feed" = String, Path, description = "A schedule feed's id, or one of its network")),
    responses(Replies)
)]
async fn stops(
    State(app): State<App>,
    Path(id): Path<String>,
    wants: Wants,
) -> Result<Response, Refusal> {
    of_dataset(&app, &id, &wants, geojson::stops).await
}

/// The routes of a schedule as lines, in their colors
#[utoipa::path(
    get, path = "/geojson/{feed}/routes.geojson", tag = "formats",
    params(("feed" = String, Path, description = "A schedule feed's id, or one of its network")),
    responses(Replies)
)]
async fn lines(
    State(app): State<App>,
    Path(id): Path<String>,
    wants: Wants,
) -> Result<Response, Refusal> {
    of_dataset(&app, &id, &wants, geojson::routes).await
}

/// Something made once per dataset. The first request of a large one takes a while, so it is made
/// away from the threads that serve sockets.
async fn of_dataset(
    app: &App,
    id: &str,
    wants: &Wants,
    make: fn(&Dataset) -> Bytes,
) -> Result<Response, Refusal> {
    let network = found::network(app, id)?;
    let dataset = found::dataset(app, id, &network)?;
    let schedule = network.schedule_feed();
    let modified =
        schedule.as_ref().and_then(|feed| feed.snapshot()).map(|snapshot| snapshot.modified());
    let fresh_for =
        schedule.map_or_else(Default::default, |feed| found::fresh_for(app, &feed.status()));
    let body = aside(move || make(&dataset)).await?;
    let reply = Representation::new(KIND, body).modified_as_said(modified).fresh_for(fresh_for);
    Ok(reply.reply(wants, app).await)
}
