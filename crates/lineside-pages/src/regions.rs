//! The networks that the map can jump to: their names, their locations, and their numbers of vehicles and stations.

use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use jiff::civil::Date;
use jiff::tz::TimeZone;
use lineside_http::app::App;
use lineside_http::delay_replies::has_only_alerts;
use lineside_ingest::{Feed, Network};
use lineside_model::MapExtent;
use lineside_model::{GeoBounds, Record};
use maud::{Markup, html};
use serde::Serialize;

use super::{network_page, words};
use crate::links;
use crate::network_names;
use crate::vehicle_selection;

/// A network with a location on the map.
#[derive(Debug, Serialize)]
pub(super) struct MapRegion {
    /// The network's id.
    pub(super) id: String,
    pub(super) name: String,
    feeds: Vec<String>,
    /// The real-time feeds with vehicles or predictions, and the rental systems. Alerts and the timetable are not live.
    live: Vec<String>,
    /// The states of those feeds.
    states: Vec<LiveFeedState>,
    /// The box around all of the network, except outliers.
    bounds: GeoBounds,
    /// The box at which the map opens.
    frame: GeoBounds,
    /// The last service day of a timetable that has ended.
    ended: Option<Date>,
    /// Transit vehicles with reliable positions.
    vehicles: usize,
    /// Available rental vehicles of reliable feeds.
    rentals: usize,
    /// True if all rental vehicles are bicycles.
    only_bikes: bool,
    /// Rental stations of reliable feeds.
    stations: usize,
    /// Active vehicles of reliable feeds without a position.
    unplaced: usize,
    /// Vehicles of unreliable feeds with a position.
    old: usize,
    /// Vehicles without a position whose trips have not begun or have ended.
    idle: usize,
    /// The GTFS types of the timetable's lines.
    route_types: BTreeSet<u16>,
    /// The vehicles by the type of their line.
    by_type: VehiclesByType,
    /// True for rental stations and vehicles without a timetable or transit vehicles.
    only_rentals: bool,
    /// True if the live data are a recording.
    recording: bool,
    /// True if one of the live feeds is reliable.
    #[serde(skip)]
    is_reliable: bool,
}

/// Returns all networks with a known location; the map opens at the first.
pub(super) fn list_regions(app: &App) -> Vec<MapRegion> {
    let networks = app.ingest().networks();
    let mut regions: Vec<MapRegion> =
        networks.iter().filter_map(|network| region_of_network(app, network)).collect();
    regions.sort_by(MapRegion::compare_list_order);
    regions
}

fn region_of_network(app: &App, network: &Network) -> Option<MapRegion> {
    let extent = extent_of_network(network)?;
    let counts = count_vehicles_and_stations(app, network);
    let timetable = network.timetable();
    let mut live = network.realtime_feeds();
    live.retain(|feed| !has_only_alerts(app, feed));
    Some(MapRegion {
        id: network.id().as_str().to_owned(),
        name: network_names::network_name(app, network),
        feeds: network.feeds().iter().map(|feed| feed.id().as_str().to_owned()).collect(),
        live: live.iter().map(|feed| feed.id().as_str().to_owned()).collect(),
        states: counts.states,
        bounds: extent.bounds,
        frame: extent.frame,
        ended: network_page::ended_timetable_last_day(network),
        vehicles: counts.vehicles,
        rentals: counts.rentals,
        only_bikes: network.feeds().iter().all(|feed| rents_only_bikes(feed)),
        stations: counts.stations,
        unplaced: counts.unplaced,
        old: counts.old,
        idle: counts.idle,
        route_types: timetable
            .map(|timetable| timetable.routes().map(|route| route.kind).collect())
            .unwrap_or_default(),
        by_type: counts.by_type,
        only_rentals: !is_transit(network),
        recording: network.replayed_time_now().is_some(),
        is_reliable: live.iter().any(|feed| feed.status().unreliable_since.is_none()),
    })
}

/// The state of a live feed, with the fields of its record in channels.
#[derive(Debug, Serialize)]
struct LiveFeedState {
    feed: String,
    record: FeedStateRecord,
}

#[derive(Debug, Serialize)]
struct FeedStateRecord {
    state: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    unreliable_since: Option<String>,
}

/// The numbers of a network, for the panel and the bubbles.
#[derive(Debug, Serialize)]
struct NetworkCounts {
    id: String,
    /// The states of the live feeds: at city zoom a feed without vehicles in view sends none.
    states: Vec<LiveFeedState>,
    vehicles: usize,
    rentals: usize,
    stations: usize,
    unplaced: usize,
    old: usize,
    idle: usize,
    by_type: VehiclesByType,
    /// As of the network on the map: the clock of a recording jumps over its gaps.
    behind: i64,
    rate: Option<f64>,
}

/// Returns the seconds by which the clock of a network's data is behind the server's: more than 0 for a recording.
pub(super) fn seconds_behind_server(app: &App, network: &Network) -> i64 {
    (app.now().0 - network.data_time_now().0) / 1000
}

/// The numbers of vehicles with a reliable position, without one, and with an old one by the GTFS type of their line;
/// of an unknown line, under an empty key.
type VehiclesByType = BTreeMap<String, [usize; 3]>;

/// Returns true if no vehicle type of a GBFS system is anything but a bicycle. A system without types has bicycles.
fn rents_only_bikes(feed: &Feed) -> bool {
    let types = feed.find_gbfs_file(None, "vehicle_types").and_then(|file| file.snapshot());
    let Some(types) = types else { return true };
    let json: serde_json::Value = serde_json::from_slice(&types.bytes).unwrap_or_default();
    let all = json["data"]["vehicle_types"].as_array().map(Vec::as_slice).unwrap_or_default();
    all.iter().all(|kind| matches!(kind["form_factor"].as_str(), Some("bicycle" | "cargo_bicycle")))
}

fn count_vehicles_and_stations(app: &App, network: &Network) -> NetworkCounts {
    let state = network.state();
    let is_placed = |record: &&Arc<Record>| record.position().is_some();
    let mut by_type = VehiclesByType::new();
    let mut count_vehicle = |vehicle: &Record, column: usize| {
        let route_type = vehicle.join.route_type.map(|route_type| route_type.to_string());
        by_type.entry(route_type.unwrap_or_default()).or_default()[column] += 1;
    };
    for vehicle in vehicle_selection::list_reliable_vehicles(network, |_| true) {
        count_vehicle(&vehicle, usize::from(vehicle.position().is_none()));
    }
    for vehicle in vehicle_selection::list_outdated_vehicles(network) {
        count_vehicle(&vehicle, 2);
    }
    let sum = |column: usize| by_type.values().map(|counts| counts[column]).sum();
    let states = list_live_states(network);
    let is_outdated =
        |id: &str| states.iter().any(|it| it.feed == id && it.record.unreliable_since.is_some());
    let is_counted =
        |record: &&Arc<Record>| is_placed(record) && !is_outdated(record.feed.as_str());
    let (rentals, stations) = (
        state.rental_vehicles().filter(is_counted).count(),
        state.stations().filter(is_counted).count(),
    );
    NetworkCounts {
        id: network.id().as_str().to_owned(),
        vehicles: sum(0),
        rentals,
        stations,
        states,
        unplaced: sum(1),
        old: sum(2),
        idle: vehicle_selection::count_idle_vehicles(network),
        by_type,
        behind: seconds_behind_server(app, network),
        rate: network.replay_rate(),
    }
}

fn list_live_states(network: &Network) -> Vec<LiveFeedState> {
    let states = network.realtime_feeds().into_iter().map(|feed| {
        let status = feed.status();
        let unreliable_since = status
            .unreliable_since
            .map(|at| words::format_rfc3339(at.unix_seconds(), &TimeZone::UTC));
        LiveFeedState {
            feed: feed.id().to_string(),
            record: FeedStateRecord { state: status.state.as_str(), unreliable_since },
        }
    });
    states.collect()
}

/// A network with a timetable but without a known location.
#[derive(Debug)]
pub(super) struct UnplacedNetwork {
    id: String,
    name: String,
    /// True if the timetable has ended.
    has_ended: bool,
}

/// Returns the networks that riders can look up and the map cannot show.
pub(super) fn list_unplaced_networks(app: &App, regions: &[MapRegion]) -> Vec<UnplacedNetwork> {
    let networks = app.ingest().networks();
    let is_unplaced = |network: &&Arc<Network>| {
        network.timetable().is_some()
            && regions.iter().all(|region| region.id != network.id().as_str())
    };
    let unplaced = networks.iter().filter(is_unplaced).map(|network| UnplacedNetwork {
        id: network.id().to_string(),
        name: network_names::network_name(app, network),
        has_ended: network_page::ended_timetable_last_day(network).is_some(),
    });
    unplaced.collect()
}

/// Handles `/map/counts`: the numbers of vehicles and stations of each network.
pub(super) async fn get_network_counts(State(app): State<App>) -> Response {
    let networks = app.ingest().networks();
    let counts: Vec<NetworkCounts> =
        networks.iter().map(|it| count_vehicles_and_stations(&app, it)).collect();
    Json(counts).into_response()
}

/// Renders links to every network on the map, with counts, and to those without a location; nothing if there is only
/// one.
pub(super) fn render_region_links(
    regions: &[MapRegion],
    unplaced: &[UnplacedNetwork],
    chosen: Option<&str>,
) -> Markup {
    let n_networks = regions.len() + unplaced.len();
    let have_all_ended = regions.iter().all(|region| region.ended.is_some())
        && unplaced.iter().all(|network| network.has_ended);
    html! {
        @if n_networks > 1 {
            nav.regions aria-label="Networks" {
                p.regions-title {
                    (describe_regions(regions, unplaced.len()))
                    @if have_all_ended { ", all timetables expired" }
                }
                ul tabindex="0" aria-label="Networks" {
                    @for region in regions {
                        li {
                            a href=(format!("/map?network={}", links::encode_query_value(&region.id))) data-region=(region.id)
                                aria-current=[(chosen == Some(region.id.as_str())).then_some("true")] {
                                (region.name) " " span.region-count { (region.describe_vehicle_count()) }
                            }
                            @if region.ended.is_some() && !have_all_ended { " " span.region-note { "Expired" } }
                            @if region.only_rentals && !region.is_reliable { " " span.region-note { "Stale" } }
                        }
                    }
                    @for UnplacedNetwork { id, name, .. } in unplaced {
                        li data-unplaced=(id) { a href=(links::network_page_url(id)) { (name) } " " span.region-note { "No coordinates" } }
                    }
                }
            }
        }
    }
}

/// Describes the number of networks, and of systems that only rent vehicles.
fn describe_regions(regions: &[MapRegion], n_unplaced: usize) -> String {
    let n_systems = regions.iter().filter(|region| region.only_rentals).count();
    let n_networks = (regions.len() - n_systems + n_unplaced) as u64;
    let networks = (n_networks > 0).then(|| words::format_count(n_networks, "network", "networks"));
    let systems = (n_systems > 0)
        .then(|| words::format_count(n_systems as u64, "bike system", "bike systems"));
    networks.into_iter().chain(systems).collect::<Vec<_>>().join(", ")
}

impl MapRegion {
    /// Compares two regions for the list: networks before rental systems, then by size, then reliable ones first, then
    /// those with a current timetable, then by name.
    fn compare_list_order(&self, other: &Self) -> Ordering {
        let rank = |it: &Self| {
            let size = (it.vehicles + it.rentals, it.stations);
            (!it.only_rentals, size, it.is_reliable, it.ended.is_none())
        };
        let by_rank = rank(other).cmp(&rank(self));
        by_rank.then_with(|| self.name.cmp(&other.name)).then_with(|| self.id.cmp(&other.id))
    }

    /// Formats the number of vehicles, or of rental vehicles, or of stations; empty if there are none.
    fn describe_vehicle_count(&self) -> String {
        let (vehicles, rentals) = (self.vehicles as u64, self.rentals as u64);
        match (vehicles, rentals, self.stations as u64) {
            (0, 0, 0) => String::new(),
            (0, 0, stations) => words::format_count(stations, "station", "stations"),
            (0, _, _) if self.only_bikes => words::format_count(rentals, "bike", "bikes"),
            (0, _, _) => format!("{} to rent", words::format_number(rentals)),
            _ => words::format_count(vehicles, "vehicle", "vehicles"),
        }
    }
}

/// Renders the reason why the network in the address is not on the map; nothing if it is, or if there is none.
pub(super) fn render_missing_network(
    id: Option<&str>,
    regions: &[MapRegion],
    unplaced: &[UnplacedNetwork],
) -> Markup {
    let missing = id.filter(|id| regions.iter().all(|region| region.id != *id));
    let known = unplaced.iter().find(|network| missing == Some(network.id.as_str()));
    html! {
        @if let Some(network) = known {
            p.note.small #missing-network data-missing="no_coordinates" {
                "The stops of " a href=(links::network_page_url(&network.id)) { (network.name) } " have no coordinates, so the map cannot show them."
            }
        } @else if let Some(id) = missing {
            p.note.small #missing-network data-missing="unknown" { "There is no network “" (id) "”. Choose another one:" }
        }
    }
}

/// Returns the extent of a network's stops, or of its vehicles, and of its rental stations and vehicles.
pub(super) fn extent_of_network(network: &Network) -> Option<MapExtent> {
    let transit = is_transit(network).then(|| extent_of_transit(network)).flatten();
    transit.into_iter().chain(extent_of_rentals(network)).reduce(MapExtent::union)
}

pub(super) fn extent_of_rentals(network: &Network) -> Option<MapExtent> {
    let state = network.state();
    let placed = state.stations().chain(state.rental_vehicles());
    MapExtent::from_coordinates(placed.filter_map(|record| record.position()).collect())
}

pub(super) fn extent_of_transit(network: &Network) -> Option<MapExtent> {
    let stops = network.dataset().and_then(|dataset| dataset.stop_extent());
    stops.or_else(|| {
        let state = network.state();
        let vehicles = state.vehicles().filter_map(|record| record.position());
        MapExtent::from_coordinates(vehicles.collect())
    })
}

/// Returns true if a network has a schedule or real-time data, and not only rental vehicles.
pub(super) fn is_transit(network: &Network) -> bool {
    network.feeds().iter().any(|feed| {
        let format = feed.status().format.or(feed.config().configured_format());
        format.is_some_and(|it| it.is_schedule() || it.is_realtime())
    })
}

#[cfg(test)]
mod tests {
    use jiff::civil;

    use super::*;

    fn region(name: &str, vehicles: usize, is_reliable: bool, has_ended: bool) -> MapRegion {
        let bounds = [10.6, 59.8, 10.9, 60.0];
        MapRegion {
            id: name.to_owned(),
            name: name.to_owned(),
            feeds: Vec::new(),
            live: Vec::new(),
            states: Vec::new(),
            bounds,
            frame: bounds,
            ended: has_ended.then(|| civil::date(2016, 12, 31)),
            vehicles,
            rentals: 0,
            only_bikes: true,
            stations: 0,
            unplaced: 0,
            old: 0,
            idle: 0,
            route_types: BTreeSet::new(),
            by_type: VehiclesByType::new(),
            only_rentals: false,
            recording: false,
            is_reliable,
        }
    }

    #[test]
    fn networks_are_ranked_by_vehicles_reliability_and_timetable() {
        let mut regions = [
            region("a ended", 0, false, true),
            region("b stale", 0, false, false),
            region("c reliable but ended", 0, true, true),
            region("d reliable", 0, true, false),
            region("e large", 9, false, true),
        ];
        regions.sort_by(MapRegion::compare_list_order);
        let names = regions.each_ref().map(|region| region.name.as_str());
        assert_eq!(names, ["e large", "d reliable", "c reliable but ended", "b stale", "a ended"]);
    }

    #[test]
    fn rental_systems_come_last_and_are_not_counted_as_networks() {
        let bikes =
            MapRegion { only_rentals: true, rentals: 107, ..region("bikes", 0, true, false) };
        let mut regions = [bikes, region("city", 0, false, false)];
        regions.sort_by(MapRegion::compare_list_order);
        assert_eq!(regions[0].name, "city");
        assert_eq!(describe_regions(&regions, 0), "1 network, 1 bike system");
        assert_eq!(describe_regions(&regions[1..], 0), "1 bike system");
    }

    #[test]
    fn if_all_timetables_have_expired_a_single_note_is_shown() {
        let ended = [region("a", 0, false, true), region("b", 0, false, true)];
        let text = render_region_links(&ended, &[], None).into_string();
        assert!(text.contains("2 networks, all timetables expired<"), "{text}");
        assert!(!text.contains("Expired"), "{text}");
        let one = [region("a", 0, false, true), region("b", 0, false, false)];
        let text = render_region_links(&one, &[], None).into_string();
        assert!(text.contains("2 networks<"), "{text}");
        assert_eq!(text.matches("Expired").count(), 1, "{text}");
    }
}
