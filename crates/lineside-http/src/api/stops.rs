//! `/api/v1/stops`: search of stops by name, in a box, or near a position.

use std::collections::BTreeMap;

use axum::extract::State;
use axum::response::Response;
use lineside_ingest::StopHit;
use lineside_model::{HexColor, StopSearchQuery};
use lineside_quality::last_stops::list_last_stops;
use serde::Serialize;
use utoipa::ToSchema;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::list::{ListPage, ListRequest, PageRange};
use crate::app::App;
use crate::blocking::run_blocking;
use crate::errors::{Problem, Refusal};
use crate::reply::{ReplyPreferences, Representation};

pub(super) fn routes() -> OpenApiRouter<App> {
    OpenApiRouter::new().routes(routes!(search_stops))
}

/// A stop or station.
#[derive(Debug, Serialize, ToSchema)]
struct StopItem {
    /// Its schedule feed.
    feed: String,
    /// `stop_id`.
    id: String,
    /// `stop_code`, as passengers see it.
    code: Option<String>,
    /// Its name.
    name: String,
    /// Latitude in degrees.
    lat: Option<f64>,
    /// Longitude in degrees.
    lon: Option<f64>,
    /// GTFS `location_type`: 0 is a stop, 1 a station.
    location_type: u8,
    /// The platform, bay or stand, such as `B`.
    platform_code: Option<String>,
    /// The short names of the routes that call here.
    routes: Vec<String>,
    /// The colors of `routes` in the same order, as six hexadecimal digits.
    route_colors: Vec<Option<String>>,
    /// Last stops of the trips that depart here, those of the most patterns first; at most four.
    towards: Vec<String>,
    /// Meters from `near`.
    distance: Option<f64>,
    /// Address of its departures.
    departures: String,
}

/// Searches the stops and stations of all schedules
///
/// With `q` the best matching names come first, and stops that no route serves last; of equal matches the nearest to
/// `near` comes first, and stops within 100 km of it come before others. With `near` alone the nearest come first.
#[utoipa::path(
    get, path = "/api/v1/stops", tag = "catalog",
    params(
        ("q" = Option<String>, Query, description = "Words of the stop's name, or its code"),
        ("bbox" = Option<String>, Query, description = "`min_lon,min_lat,max_lon,max_lat` in degrees"),
        ("near" = Option<String>, Query, description = "`lat,lon` in degrees"),
        ("limit" = Option<usize>, Query, description = "Stops per page, at most 500; default 50. A page ends after 4 MiB"),
        ("offset" = Option<usize>, Query, description = "Number of stops to skip, as in `next`. Only the first 1000 are available")
    ),
    responses(
        (status = 200, description = "The stops", body = ListPage<StopItem>),
        (status = 400, description = "`bad_parameter`", body = Problem),
        (status = 503, description = "`busy`", body = Problem)
    )
)]
async fn search_stops(
    State(app): State<App>,
    ListRequest { parameters, link, base }: ListRequest,
    preferences: ReplyPreferences,
) -> Result<Response, Refusal> {
    let page = PageRange::from_parameters(&parameters)?;
    let query = StopSearchQuery {
        text: parameters.parse_search_text("q")?.map(str::to_owned),
        bbox: parameters.parse_bounding_box()?,
        near: parameters
            .parse_near_position()?
            .map(|coordinates| (coordinates.lat, coordinates.lon)),
        limit: page.count_items_to_fetch(),
    };
    let searching = app.clone();
    // A short word in a whole country's names takes some milliseconds to search.
    let permit = app.admission().page_render_slots().acquire_permit().await?;
    let found = run_blocking(move || {
        let _permit = permit;
        let hits = searching.ingest().search_stops(&query);
        page.take_page_by_bytes(
            hits.iter().map(|hit| stop_item(hit, &base)),
            &link,
            StopItem::approximate_text_bytes,
        )
    });
    let list = found.await?;
    let networks = app.ingest().networks();
    let loaded = networks.iter().filter_map(|network| network.dataset());
    let modified = loaded.map(|dataset| dataset.fetched_at).max().or(Some(app.started_at()));
    let reply = Representation::from_json(&list).with_modified_time(modified, app.now());
    Ok(reply.into_reply(&preferences, &app).await)
}

impl StopItem {
    /// Returns the approximate size of the texts in bytes.
    fn approximate_text_bytes(&self) -> usize {
        let texts = [&self.feed, &self.id, &self.name, &self.departures];
        let texts = texts.into_iter().chain(&self.code).chain(&self.platform_code);
        let texts = texts.chain(&self.routes).chain(&self.towards);
        texts.chain(self.route_colors.iter().flatten()).map(String::len).sum()
    }
}

fn stop_item(hit: &StopHit, base: &str) -> StopItem {
    let timetable = &hit.dataset.timetable;
    let stop = timetable.stop(hit.stop);
    let feed = &hit.dataset.feed;
    // Of several routes with one name, the first decides the color.
    let mut routes: BTreeMap<&str, Option<String>> = BTreeMap::new();
    for route in timetable.routes_at_stop(hit.stop).map(|route| timetable.route(route)) {
        let color = || route.color.map(|color| HexColor(color).to_string());
        routes.entry(route.display_name()).or_insert_with(color);
    }
    let (routes, route_colors) =
        routes.into_iter().map(|(name, color)| (name.to_owned(), color)).unzip();
    StopItem {
        feed: feed.to_string(),
        id: stop.id.to_owned(),
        code: stop.code.map(str::to_owned),
        name: stop.name.to_owned(),
        lat: stop.lat,
        lon: stop.lon,
        location_type: stop.location_type,
        platform_code: stop.platform_code.map(str::to_owned),
        routes,
        route_colors,
        towards: list_last_stops(timetable, hit.stop),
        distance: hit.distance,
        departures: format!(
            "{base}/api/v1/stops/{feed}/{}/departures",
            encode_path_segment(stop.id)
        ),
    }
}

/// Percent-encodes a stop's id as a path segment.
fn encode_path_segment(id: &str) -> String {
    percent_encoding::utf8_percent_encode(id, percent_encoding::NON_ALPHANUMERIC).to_string()
}
