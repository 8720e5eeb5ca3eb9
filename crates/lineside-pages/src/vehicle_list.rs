//! The list of vehicles on `/map`: for readers without scripts, and for the map's script to fill.

use std::collections::BTreeSet;
use std::sync::Arc;

use lineside_http::app::App;
use lineside_ingest::Network;
use lineside_model::{Record, TimetableJoin};
use maud::{Markup, html};

use super::name_search::NameSearchResults;
use super::regions::{self, MapRegion, UnplacedNetwork};
use super::{badge, states, words};
use crate::links;
use crate::network_names;
use crate::vehicle_selection;

/// The most vehicles in the list without scripts.
const LISTED_MAX: usize = 100;
/// The sentence on the content of the list without scripts.
const LIST_CONTENT: &str = "The list shows the vehicles of the map and those that report no position. Outdated positions are last, in italics.";

/// The map's content as a list: for readers without scripts, for the keyboard, and for screen readers.
pub(super) struct VehicleList<'a> {
    /// The search text, and its results.
    pub(super) question: &'a str,
    pub(super) names: NameSearchResults,
    pub(super) regions: &'a [MapRegion],
    pub(super) unplaced: &'a [UnplacedNetwork],
    /// The only network to list.
    pub(super) region: Option<&'a MapRegion>,
    /// The values of the address that the map ignores.
    pub(super) notes: &'a Markup,
}

/// A vehicle of the list with its network.
struct ListedVehicle {
    network: Arc<Network>,
    record: Arc<Record>,
    /// True if its feed is unreliable.
    is_stale: bool,
}

impl VehicleList<'_> {
    /// Returns the first vehicles of the list, those with current positions first, and the total number. Vehicles
    /// without a position whose trip is not running are left out, as on other pages.
    fn list_first_vehicles(&self, app: &App) -> (Vec<ListedVehicle>, usize) {
        let networks = app.ingest().networks();
        let is_listed = |network: &&Arc<Network>| {
            self.region.is_none_or(|region| region.id == network.id().as_str())
        };
        let mut vehicles: Vec<ListedVehicle> = Vec::new();
        for network in networks.iter().filter(is_listed) {
            let (state, now) = (network.state(), network.data_time_now());
            let feeds = network.realtime_feeds();
            let unreliable = feeds.iter().filter(|it| it.status().unreliable_since.is_some());
            let unreliable: BTreeSet<&str> = unreliable.map(|feed| feed.id().as_str()).collect();
            let active = state
                .vehicles()
                .filter(|record| vehicle_selection::is_under_way(&state, record, now));
            vehicles.extend(active.map(|record| ListedVehicle {
                network: Arc::clone(network),
                record: Arc::clone(record),
                is_stale: unreliable.contains(record.feed.as_str()),
            }));
        }
        let total = vehicles.len();
        vehicles.sort_by(|a, b| a.sort_key().cmp(&b.sort_key()));
        vehicles.truncate(LISTED_MAX);
        (vehicles, total)
    }

    pub(super) fn render_vehicle_list(&self, app: &App, has_map: bool) -> Markup {
        let (vehicles, total) = self.list_first_vehicles(app);
        html! {
            section.list-view #list aria-labelledby="list-title" {
                div.page-head {
                    h1 #list-title { "Vehicles" @if let Some(region) = self.region { " in " (region.name) } }
                    @if !has_map {
                        p.note {
                            "This server was built without the map. Build it with " code { "cargo xtask build" }
                            " to add the map. " (LIST_CONTENT)
                        }
                        (states::render_recording_networks(app))
                    }
                    p.note #no-webgl hidden { "This browser cannot draw maps because WebGL is off or missing. The list shows the same vehicles." }
                    @if has_map {
                        noscript {
                            p.note { "The map needs JavaScript. " (LIST_CONTENT) }
                            (states::render_recording_networks(app))
                        }
                    }
                }
                @if !has_map { (self.render_without_scripts()) } @else { noscript { (self.render_without_scripts()) } }
                (self.render_empty_note(vehicles.is_empty()))
                (render_vehicle_table(app, &vehicles, self.region.is_none() && self.regions.len() > 1))
                @if total > vehicles.len() {
                    p.soft.small #list-more {
                        "The first " (vehicles.len()) " of " (words::format_number(total as u64)) " vehicles."
                        @if self.region.is_none() { " Choose a network above to see only its vehicles." }
                    }
                }
            }
        }
    }

    /// Renders links for networks without known vehicles. The page's script does the same for the networks in view.
    fn render_empty_note(&self, is_empty: bool) -> Markup {
        html! {
            div.list-empty #list-empty data-reason=[is_empty.then_some("no_vehicle")] hidden[!is_empty] {
                p {
                    @match self.region { Some(region) => (region.name), None => "No network" }
                    @if self.region.is_some() { " has no vehicles now." } @else { " has vehicles now." }
                    " Lines, stops and departures are on the pages of networks."
                }
                @let address = self.region.map_or_else(|| "/networks".to_owned(), |region| links::network_page_url(&region.id));
                p { a.target href=(address) { "Lines, stops and departures" } }
            }
        }
    }

    /// Renders the panel without scripts: the networks, and a search for stops.
    fn render_without_scripts(&self) -> Markup {
        html! {
            (self.notes)
            (regions::render_region_links(self.regions, self.unplaced, self.region.map(|region| region.id.as_str())))
            form.search role="search" action="/map" {
                div.search-line {
                    label.visually-hidden for="plain-search" { "Search stops and lines" }
                    input.input #plain-search name="q" type="search" value=(self.question) placeholder="Stops and lines" maxlength="100";
                    button.button type="submit" { "Search" }
                }
            }
            @if !self.question.is_empty() {
                section.stack #plain-results aria-labelledby="plain-results-title" {
                    h2 #plain-results-title { "Results for “" (self.question) "”" }
                    (self.names.render_search_results(self.question))
                    @if self.names.is_empty() { p.soft { "No network, stop or line matches." } }
                }
            }
        }
    }
}

/// The columns of the table in which at least one vehicle has a value.
#[derive(Debug, Clone, Copy)]
struct FilledColumns {
    delay: bool,
    next_stop: bool,
}

fn render_vehicle_table(app: &App, vehicles: &[ListedVehicle], names_network: bool) -> Markup {
    let has = |field: fn(&TimetableJoin) -> bool| vehicles.iter().any(|it| field(&it.record.join));
    let filled = FilledColumns {
        delay: has(|join| join.delay.is_some()),
        next_stop: has(|join| join.next_stop_name.is_some()),
    };
    // A vehicle without a destination has its name beside its line.
    let has_unnamed = vehicles.iter().any(|it| it.record.join.headsign.is_none());
    html! {
        div.card.scroll tabindex="0" role="region" aria-label="Table of vehicles" hidden[vehicles.is_empty()] {
            table.list-table.vehicle-list {
                thead {
                    tr {
                        th scope="col" { "Line" @if has_unnamed { " or vehicle" } }
                        th scope="col" { "Destination" }
                        th scope="col" hidden[!filled.delay] { "Delay" }
                        th scope="col" hidden[!filled.next_stop] { "Next stop" }
                        th.end scope="col" { "Last position" }
                    }
                }
                tbody { @for vehicle in vehicles { (vehicle.render_row(app, names_network, filled)) } }
            }
        }
    }
}

impl ListedVehicle {
    /// Sorts current vehicles with positions first, then by line, shorter line names first, then by destination.
    fn sort_key(&self) -> (bool, bool, usize, &str, &str, &str) {
        let record = &self.record;
        let name = record.join.route_short_name.as_deref().unwrap_or("~");
        let headsign = record.join.headsign.as_deref().unwrap_or("~");
        (self.is_stale, record.position().is_none(), name.len(), name, headsign, &record.id)
    }

    /// Returns the seconds since the last position, by the clock of the network's data; `None` without a position.
    fn position_age(&self) -> Option<i64> {
        self.record.position()?;
        let at = self.record.vehicle()?.timestamp?;
        Some(self.network.data_time_now().unix_seconds() - i64::try_from(at).ok()?)
    }

    fn render_row(&self, app: &App, names_network: bool, filled: FilledColumns) -> Markup {
        let (record, join) = (&*self.record, &self.record.join);
        let network = self.network.id().as_str();
        // A vehicle without a delay is not on schedule: its delay is unknown.
        let delay = join.delay.map(|delay| words::format_delay("realtime", Some(i64::from(delay))));
        let age = self.position_age();
        html! {
            tr.is-stale[self.is_stale].is-unnamed[join.headsign.is_none()] data-vehicle=(record.id) data-age=[age] {
                td {
                    (render_line_badge(network, join))
                    @if join.headsign.is_none() { " " (render_trip_link(network, record, &vehicle_title(record))) }
                }
                td {
                    @match &join.headsign {
                        Some(headsign) => (render_trip_link(network, record, headsign)),
                        None => "–",
                    }
                    @if names_network { div.soft.small { (network_names::network_name(app, &self.network)) } }
                }
                td hidden[!filled.delay] { @if let Some(delay) = delay { span class=(format!("tone-{}", delay.tone)) { (delay.text) } } @else { "–" } }
                td hidden[!filled.next_stop] {
                    @match (&join.next_stop_id, &join.next_stop_name) {
                        (Some(id), Some(name)) => a.target href=(links::departure_board_url(network, id)) { (name) },
                        _ => "–",
                    }
                }
                td.end.numeric { @match age { Some(age) => (words::format_age(age)), None => { "–" span.visually-hidden { " not reported" } } } }
            }
        }
    }
}

/// Renders the badge of a vehicle's line, as a link to the line's page if the timetable has it; nothing if its line is
/// not known.
fn render_line_badge(network: &str, join: &TimetableJoin) -> Markup {
    let Some(name) = join.route_short_name.as_deref() else {
        return html! { @if join.headsign.is_some() { "–" } };
    };
    let badge = badge::render_route_badge(name, join.route_color);
    html! {
        @match &join.route_id {
            Some(id) => a.line-link href=(links::line_page_url(network, id)) { (badge) },
            None => (badge),
        }
    }
}

/// Returns "Vehicle" and its label or id.
fn vehicle_title(record: &Record) -> String {
    let named = record.vehicle().and_then(|vehicle| vehicle.vehicle.as_ref());
    let name = named.and_then(|it| {
        let names = [&it.label, &it.id].into_iter().flatten();
        names.map(String::as_str).find(|name| !name.is_empty())
    });
    format!("Vehicle {}", name.unwrap_or(&record.id))
}

/// Renders a text as a link to the trip of a vehicle if its feed states the trip's id.
fn render_trip_link(network: &str, record: &Record, text: &str) -> Markup {
    let trip = record.trip_descriptor();
    let id = trip.and_then(|trip| trip.trip_id.as_deref()).filter(|id| !id.is_empty());
    let date = trip.and_then(|trip| trip.start_date.as_deref()).unwrap_or_default();
    let start = trip.and_then(|trip| trip.start_time.as_deref()).unwrap_or_default();
    html! {
        @match id {
            Some(id) => a.target href=(links::trip_page_url(network, id, date, start)) { (text) },
            None => (text),
        }
    }
}
