//! `/map`: the networks on a map, or as a list if no map is possible.
//!
//! The map is drawn by `web/map`; this module provides its initial data. Without scripts, or in a binary built without
//! the bundle, the page is a list of the active vehicles and a search for stops.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use lineside_formats::Format;
use lineside_http::QueryParameters;
use lineside_http::app::App;
use lineside_ingest::{Feed, Network};
use lineside_model::{GeoBounds, Record};
use maud::{Markup, html};
use serde::Serialize;
use serde_json::json;

use super::ignored_values::{self, IgnoredMapParameter};
use super::layout::{self, NavSection, PageLayout};
use super::name_search;
use super::regions::{self, MapRegion, UnplacedNetwork};
use super::vehicle_list::VehicleList;
use super::{assets, board, icons, network_page, states};
use crate::links;
use crate::links::encode_query_value;
use crate::network_names;
use crate::not_found;
use crate::regions::extent_of_network;
use crate::regions::extent_of_rentals;
use crate::regions::extent_of_transit;
use crate::regions::is_transit;
use crate::stop_lines;
use crate::vehicle_selection;

/// The source of the bundle in the bundler's manifest.
const BUNDLE: &str = "map/main.js";
/// The most vehicles without a position in a reply.
const UNPLACED_MAX: usize = 300;
/// Bytes at the start of a raw feed that are searched for GeoJSON.
const GEOJSON_INSPECTED_BYTES: usize = 4096;

/// A network for the map's script.
#[derive(Debug, Serialize)]
pub(super) struct MapNetwork {
    id: String,
    name: String,
    timezone: String,
    routes: Option<String>,
    stops: Option<String>,
    feeds: Vec<String>,
    /// Seconds by which the data's clock is behind the server's: more than 0 for a recording.
    behind: i64,
    /// The recorded seconds per second of a recording.
    rate: Option<f64>,
    bounds: Option<GeoBounds>,
}

/// A raw feed with GeoJSON, or the GeoJSON of a GBFS system.
#[derive(Debug, Serialize)]
pub(super) struct MapGeoJson {
    url: String,
    name: String,
}

pub(super) async fn get_map(State(app): State<App>, parameters: QueryParameters) -> Response {
    let bundle = assets::find_bundle(BUNDLE);
    let has_map = bundle.is_some();
    let stop = SelectedStop::from_parameters(&app, &parameters);
    let title =
        stop.as_ref().map_or_else(|| "Map".to_owned(), |stop| format!("{} on the map", stop.name));
    let mut page = PageLayout::new(&title, NavSection::Map);
    if let Some(stop) = &stop {
        page.description = Some(format!("Live vehicles and departures around {}.", stop.name));
        page.canonical = Some(stop.address.clone());
    }
    page.class = if has_map { "map-page" } else { "map-page no-map" };
    page.styles = &["map.css", "catalog.css"];
    page.bundle = bundle;
    let question = parameters.find_value("q").unwrap_or_default();
    let names = match name_search::search_names(&app, question).await {
        Ok(names) => names,
        Err(refusal) => return not_found::reply_with_refusal_page(&refusal, false),
    };
    let regions = regions::list_regions(&app);
    let chosen = parameters.find_value("network");
    let region = regions.iter().find(|region| chosen == Some(region.id.as_str()));
    let unplaced = regions::list_unplaced_networks(&app, &regions);
    let ignored = ignored_values::list_ignored_values(&app, &parameters);
    let notes = ignored_values::render_ignored_values(&ignored);
    let list = VehicleList {
        question,
        names,
        regions: &regions,
        unplaced: &unplaced,
        region,
        notes: &notes,
    };
    let main = html! {
        @if has_map {
            div.map #map {}
            (render_panel(&regions, &unplaced, chosen, &notes, &states::render_recording_networks(&app)))
            div.map-buttons {
                button.button.plain #show-list type="button" aria-pressed="false" { (icons::list()) span #show-list-words { "List" } }
                button.button.plain #locate type="button" aria-describedby="locate-note" { (icons::locate()) "Near me" }
                p.locate-note #locate-note role="status" hidden {}
            }
        }
        @if let Some(stop) = &stop {
            noscript { div.page { p { a href=(stop.board_address) { "Departures from " (stop.name) } } } }
        }
        (list.render_vehicle_list(&app, has_map))
        p.visually-hidden #announcement role="status" {}
        (states::render_state_templates())
        (layout::render_script_data("map-data", &map_script_data(&app, &regions, &ignored)))
    };
    layout::reply_with_page(StatusCode::OK, page.render_document(&main))
}

/// The stop that the address selects: `stop=<feed>:<stop>`.
struct SelectedStop {
    /// Its name, or its id.
    name: String,
    /// The map with only this stop selected, for sharing.
    address: String,
    /// Its departure board, for readers without scripts.
    board_address: String,
}

impl SelectedStop {
    fn from_parameters(app: &App, parameters: &QueryParameters) -> Option<Self> {
        let (feed, stop) = parameters.find_value("stop")?.split_once(':')?;
        let (network, timetable, stop) = stop_lines::find_stop(app, feed, stop)?;
        let stop = timetable.stop(stop);
        let name = if stop.name.is_empty() { stop.id } else { stop.name };
        let address = format!("/map?stop={}:{}", network.id(), encode_query_value(stop.id));
        let board_address = links::departure_board_url(network.id().as_str(), stop.id);
        Some(Self { name: name.to_owned(), address, board_address })
    }
}

/// Renders the search, the filters and the selection.
fn render_panel(
    regions: &[MapRegion],
    unplaced: &[UnplacedNetwork],
    chosen: Option<&str>,
    notes: &Markup,
    recordings: &Markup,
) -> Markup {
    let searched = if regions.len() > 1 { "Stops, lines and networks" } else { "Stops and lines" };
    html! {
        div.panel {
            section.card.panel-search aria-label="Search and filters" {
                form.search-box role="search" action="/map" {
                    (icons::search())
                    label.visually-hidden for="search" { "Search: " (searched) }
                    input.input #search name="q" type="text" placeholder=(searched) maxlength="100" autocomplete="off"
                        role="combobox" aria-expanded="false" aria-controls="results" aria-autocomplete="list";
                }
                p.results-from.soft.small #results-from hidden {}
                div.results #results role="listbox" aria-label=(format!("{searched} found")) tabindex="-1" hidden {}
                div.panel-status {
                    span.live #live data-status="off" { "Starting" }
                    span #count {}
                    button.panel-toggle #panel-toggle type="button" aria-expanded="true" aria-controls="panel-more" aria-label="Networks and filters" { (icons::chevron()) }
                }
                (notes)
                (regions::render_missing_network(chosen, regions, unplaced))
                p.outside.small #members hidden {}
                p.outside.small #outside hidden {}
                div.panel-more #panel-more {
                    (regions::render_region_links(regions, unplaced, None))
                    div.chips #modes role="group" aria-label="Show only" hidden {}
                    p.soft.small #modes-note role="status" hidden {}
                    div.chips.routes-filter #routes role="group" aria-label="Only these lines" hidden {}
                    p.soft.small #idle-lines hidden {}
                    ul.feed-states #feed-states hidden {}
                    (recordings)
                }
            }
            section.card.detail #detail aria-labelledby="detail-title" tabindex="-1" hidden {}
        }
    }
}

fn map_script_data(
    app: &App,
    regions: &[MapRegion],
    ignored: &[IgnoredMapParameter],
) -> serde_json::Value {
    let networks: Vec<MapNetwork> = app
        .ingest()
        .networks()
        .iter()
        .filter_map(|network| build_map_network(app, network))
        .collect();
    let raw: Vec<MapGeoJson> =
        app.ingest().feeds().iter().flat_map(|feed| list_geojson(feed)).collect();
    let links = app.map_source_urls();
    json!({
        "now": app.now().0,
        "base_map": links.base_map, "style": links.style, "pmtiles": links.pmtiles,
        "networks": networks, "raw": raw, "regions": regions,
        "ignored_routes": ignored_values::ignored_routes(ignored),
    })
}

/// Returns the data of the small map on a feed's page; `None` if the feed has no location.
pub(super) fn feed_map_data(
    app: &App,
    feed: &Feed,
    network: &Network,
) -> Option<serde_json::Value> {
    let raw = list_geojson(feed);
    let networks: Vec<MapNetwork> = if raw.is_empty() {
        build_map_network(app, network).into_iter().collect()
    } else {
        Vec::new()
    };
    let extent =
        if raw.is_empty() { extent_of_network(network) } else { extent_of_rentals(network) };
    if raw.is_empty() && extent.is_none() {
        return None;
    }
    let links = app.map_source_urls();
    Some(json!({
        "base_map": links.base_map, "style": links.style, "pmtiles": links.pmtiles,
        "networks": networks, "raw": raw,
        "bounds": extent.map(|extent| extent.bounds), "frame": extent.map(|extent| extent.frame),
    }))
}

fn build_map_network(app: &App, network: &Network) -> Option<MapNetwork> {
    if !is_transit(network) {
        return None;
    }
    let feeds = network.feeds();
    let id = network.id().as_str().to_owned();
    let timetable = network.timetable();
    let name = network_names::network_name(app, network);
    let geojson = |what: &str| timetable.as_ref().map(|_| format!("/geojson/{id}/{what}.geojson"));
    Some(MapNetwork {
        routes: geojson("routes"),
        stops: geojson("stops"),
        timezone: timetable
            .as_ref()
            .map_or_else(|| "UTC".to_owned(), |timetable| timetable.timezone_name().to_owned()),
        behind: regions::seconds_behind_server(app, network),
        rate: network.replay_rate(),
        feeds: feeds.iter().map(|feed| feed.config().id.as_str().to_owned()).collect(),
        bounds: extent_of_transit(network).map(|extent| extent.bounds),
        id,
        name,
    })
}

/// Returns the GeoJSON files of a feed: a raw feed's bytes, a system's stations and vehicles.
fn list_geojson(feed: &Feed) -> Vec<MapGeoJson> {
    if !feed.format().is_some_and(Format::is_shared_mobility) {
        return raw_geojson(feed).into_iter().collect();
    }
    let (id, state) = (feed.id(), feed.network().state());
    let is_its = |record: &Arc<Record>| record.feed == *id;
    let layers = [
        ("stations", state.stations().any(is_its)),
        ("vehicles", state.rental_vehicles().any(is_its)),
    ];
    let name = feed.config().display_name();
    let layers = layers.into_iter().filter(|(_, is_present_layer)| *is_present_layer);
    layers
        .map(|(what, _)| MapGeoJson {
            url: format!("/geojson/{id}/{what}.geojson"),
            name: format!("{name}: {what}"),
        })
        .collect()
}

fn raw_geojson(feed: &Feed) -> Option<MapGeoJson> {
    let snapshot = feed.snapshot().filter(|snapshot| snapshot.format.is_raw())?;
    let start = snapshot.bytes.get(..GEOJSON_INSPECTED_BYTES).unwrap_or(&snapshot.bytes);
    is_geojson(start).then(|| MapGeoJson {
        url: format!("/proxy/{}", feed.config().id),
        name: feed.config().display_name().to_owned(),
    })
}

/// Returns true if a body begins like GeoJSON (RFC 7946): an object that names its kind.
fn is_geojson(start: &[u8]) -> bool {
    let text = String::from_utf8_lossy(start);
    let text = text.trim_start_matches('\u{feff}').trim_start();
    let squeezed: String = text.chars().filter(|character| !character.is_whitespace()).collect();
    squeezed.starts_with('{')
        && ["FeatureCollection", "Feature", "Point", "LineString", "Polygon"]
            .iter()
            .any(|kind| squeezed.contains(&format!("\"type\":\"{kind}\"")))
}

/// Handles `/map/stop?feed=&stop_id=`: the map's card of a stop.
pub(super) async fn get_stop_card(State(app): State<App>, parameters: QueryParameters) -> Response {
    let ids = (parameters.find_value("feed"), parameters.find_value("stop_id"));
    let (Some(feed), Some(stop_id)) = ids else { return StatusCode::BAD_REQUEST.into_response() };
    let Some((network, timetable, stop)) = stop_lines::find_stop(&app, feed, stop_id) else {
        return StatusCode::NOT_FOUND.into_response();
    };
    let stop = timetable.stop(stop);
    let ended = network_page::ended_timetable_last_day(&network);
    let state = network.state();
    let times =
        network_page::find_realtime_feeds_of_records(&app, &network, &state, state.trip_updates());
    Json(json!({
        "feed": network.id().as_str(), "id": stop.id, "name": stop.name,
        "platform": stop.platform_code, "latitude": stop.lat, "longitude": stop.lon,
        "timetable_ended": ended.map(|day| day.to_string()),
        "times_feeds": times.iter().map(|feed| feed.id().as_str()).collect::<Vec<_>>(),
        "no_departures": board::no_departures_reason(&network),
    }))
    .into_response()
}

/// Handles `/map/unplaced?network=`: the active vehicles of a network that report no position, which no cell of the map
/// has.
pub(super) async fn get_unplaced_vehicles(
    State(app): State<App>,
    parameters: QueryParameters,
) -> Response {
    let Some(id) = parameters.find_value("network") else {
        return StatusCode::BAD_REQUEST.into_response();
    };
    let Some(network) = app.ingest().find_network_of_feed(id) else {
        return StatusCode::NOT_FOUND.into_response();
    };
    let mut vehicles =
        vehicle_selection::list_reliable_vehicles(&network, |it| it.position().is_none());
    vehicles.sort_by(|a, b| a.id.cmp(&b.id));
    vehicles.truncate(UNPLACED_MAX);
    let rows: Vec<_> =
        vehicles.iter().map(|record| unplaced_vehicle_json(&network, record)).collect();
    Json(rows).into_response()
}

/// Returns a vehicle in the shape of a record of a channel, with the address of its trip.
fn unplaced_vehicle_json(network: &Network, record: &Record) -> serde_json::Value {
    let vehicle = record.vehicle().and_then(|vehicle| vehicle.vehicle.as_ref());
    let trip = record.trip_descriptor();
    let trip_id = trip.and_then(|trip| trip.trip_id.as_deref()).filter(|id| !id.is_empty());
    let date = trip.and_then(|trip| trip.start_date.as_deref()).unwrap_or_default();
    let start = trip.and_then(|trip| trip.start_time.as_deref()).unwrap_or_default();
    json!({
        "feed": record.feed.as_str(), "id": record.id,
        "trip_address": trip_id.map(|id| links::trip_page_url(network.id().as_str(), id, date, start)),
        "record": {
            "trip": { "trip_id": trip_id, "route_id": trip.and_then(|trip| trip.route_id.as_deref()) },
            "vehicle": { "label": vehicle.and_then(|vehicle| vehicle.label.as_deref()) },
            "lineside": record.join,
        },
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn geojson_is_distinguished_from_other_json() {
        assert!(is_geojson(b" {\n \"type\" : \"FeatureCollection\", \"features\": ["));
        assert!(is_geojson("\u{feff}{\"type\":\"Feature\"".as_bytes()));
        assert!(!is_geojson(b"{\"type\":\"Topology\"}"));
        assert!(!is_geojson(b"[{\"type\":\"Feature\"}]"));
        assert!(!is_geojson(b""));
    }
}
