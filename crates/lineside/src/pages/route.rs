//! `/routes/<feed>/<route_id>`: a line with its stops in order, in each direction as most of its trips go, and its vehicles
//! along it; where no vehicle tells where it is, the trips where they should be by their times. It reads whole without scripts; with
//! them `web/plain/route.js` moves the vehicles by the line's channel, and asks for the page again for the trips.

use std::collections::BTreeMap;
use std::sync::Arc;

use axum::extract::{Path, State};
use axum::http::HeaderMap;
use axum::response::Response;
use lineside_formats::gtfs::{PatternIdx, RouteIdx, StopIdx, Timetable};
use lineside_hub::encode_segment;
use lineside_ingest::{Kind, Network, NetworkState, Record, UnderWay};
use maud::{Markup, html};
use serde_json::json;

use super::alerts::{self, Told};
use super::languages::Languages;
use super::layout::{self, Page, Section};
use super::{badge, board, map, of_network, states, words};
use crate::app::App;
use crate::http::Parameters;

/// How often the page is loaded again where no scripts run, in seconds.
const REFRESH_S: u32 = 30;
/// Vehicles that are shown; a line has some dozens.
const VEHICLES_MAX: usize = 1_000;

/// The address of a line's page.
pub(super) fn address(feed: &str, route_id: &str) -> String {
    format!("/routes/{feed}/{}", map::path_segment(route_id))
}

pub(super) async fn page(
    State(app): State<App>,
    Path((feed, route_id)): Path<(String, String)>,
    parameters: Parameters,
    headers: HeaderMap,
) -> Response {
    let (network, timetable) = match of_network::named(&app, &feed) {
        Ok(named) => named,
        Err(reply) => return *reply,
    };
    let Some(route) = timetable.find_route(&route_id) else {
        return layout::not_found("This feed has no such line.");
    };
    let languages = Languages::of(&parameters, &headers);
    let line = Line::of(&app, &network, &timetable, route, &languages);
    let title = line.title();
    let mut page = Page::new(&title, Section::Other);
    page.styles = &["delays.css"];
    page.scripts = &["route.js"];
    page.refresh = Some(REFRESH_S);
    of_network::reply(&page, &line.markup())
}

/// Everything that one page shows.
struct Line<'a> {
    app: &'a App,
    network: &'a Network,
    timetable: &'a Timetable,
    route: RouteIdx,
    directions: Vec<Direction>,
    /// Vehicles that no direction has a place for.
    elsewhere: Vec<Arc<Record>>,
    /// Trips that no direction has a place for.
    reckoned_elsewhere: Vec<UnderWay>,
    alerts: Vec<Told>,
    now: i64,
}

/// One way of a line.
struct Direction {
    id: Option<u8>,
    headsign: String,
    stops: Vec<Place>,
}

/// A stop on the way, and the vehicles that come to it next.
struct Place {
    stop: StopIdx,
    coming: Vec<Arc<Record>>,
    /// Trips that should come to it next by their times.
    reckoned: Vec<UnderWay>,
}

impl<'a> Line<'a> {
    fn of(
        app: &'a App,
        network: &'a Network,
        timetable: &'a Timetable,
        route: RouteIdx,
        languages: &Languages,
    ) -> Self {
        let now = network.now().seconds();
        let state = network.state();
        let id = timetable.route(route).id;
        let mut directions = directions(timetable, route);
        let elsewhere = put_vehicles(&state, timetable, id, &mut directions);
        let reckoned_elsewhere = put_reckoned(network, &state, timetable, id, &mut directions);
        let alerts = alerts::of_route(&state, timetable, route, now, languages);
        Self {
            app,
            network,
            timetable,
            route,
            directions,
            elsewhere,
            reckoned_elsewhere,
            alerts,
            now,
        }
    }

    fn feed_id(&self) -> &str {
        self.network.id().as_str()
    }

    fn title(&self) -> String {
        let route = self.timetable.route(self.route);
        match route.name() {
            "" => format!("Line {}", route.id),
            name => format!("Line {name}"),
        }
    }

    fn markup(&self) -> Markup {
        html! {
            div.page.delays {
                (self.head())
                @if !self.alerts.is_empty() { (alerts::markup(&self.alerts)) }
                @if self.directions.is_empty() { p.soft { "The timetable has no trips of this line." } }
                (self.note())
                div.directions {
                    @for direction in &self.directions { (self.direction(direction)) }
                }
                (self.elsewhere())
                (states::templates())
                (layout::data_island("route-data", &self.live_data()))
            }
        }
    }

    fn head(&self) -> Markup {
        let route = self.timetable.route(self.route);
        let zone = self.timetable.timezone();
        let name = of_network::name(self.app, self.network);
        html! {
            div.page-head.tight {
                p.crumbs { a href=(format!("/feeds/{}", self.feed_id())) { (name) } }
                h1 { (badge::badge(route.name(), route.color)) " " (self.title()) }
                @if !route.long_name.is_empty() && route.long_name != route.name() { p.soft { (route.long_name) } }
                p.answer-at {
                    span.live #live data-status="off" { "As of " time datetime=(words::rfc3339(self.now, zone)) { (words::clock_seconds(self.now, zone)) } }
                    a.small href=(format!("/delays/{}?route={}", self.feed_id(), map::query_value(route.id))) { "Is my train late?" }
                }
                @for feed in self.network.realtime_feeds() {
                    (of_network::trouble(&feed, "Live data"))
                }
            }
        }
    }

    /// What the sign of a trip means that is where it should be.
    fn note(&self) -> Markup {
        let mut all = self.directions.iter().flat_map(|direction| &direction.stops);
        let has_any = !self.reckoned_elsewhere.is_empty() || all.any(|it| !it.reckoned.is_empty());
        html! {
            p.soft.small data-reckoned="note" hidden[!has_any] {
                span.vehicle-sign aria-hidden="true" { "▽" }
                " No vehicle tells where it is: this is where the trip should be by its predicted times."
            }
        }
    }

    /// Trips where they should be, as a list of its own: `web/plain/route.js` takes it whole from the page of a later moment.
    fn reckoned(&self, name: &str, trips: &[UnderWay]) -> Markup {
        let zone = self.timetable.timezone();
        html! {
            ul.coming data-reckoned=(name) {
                @for trip in trips {
                    @let said = words::delay("realtime", trip.delay.map(i64::from));
                    li.vehicle.reckoned data-id=(trip.id) {
                        span.vehicle-sign aria-hidden="true" { "▽" }
                        span.vehicle-name { "to " (trip.headsign.as_deref().unwrap_or("its last stop")) }
                        span.soft.small { "by its times, at the next stop about " time datetime=(words::rfc3339(trip.next_at, zone)) { (words::clock(trip.next_at, zone)) } }
                        @if trip.delay.is_some() { span class=(format!("delay tone-{}", said.tone)) { (said.words) } }
                    }
                }
            }
        }
    }

    fn direction(&self, direction: &Direction) -> Markup {
        let own = direction.id.map_or_else(|| "any".to_owned(), |id| id.to_string());
        html! {
            section.card.direction data-direction=[direction.id] aria-label=(format!("To {}", direction.headsign)) {
                h2 { "To " (direction.headsign) }
                ol.line-stops {
                    @for (number, place) in direction.stops.iter().enumerate() {
                        @let stop = self.timetable.stop(place.stop);
                        li data-stop=(stop.id) {
                            ul.coming { @for vehicle in &place.coming { (of_vehicle(vehicle)) } }
                            (self.reckoned(&format!("{own}/{number}"), &place.reckoned))
                            span.stop-name {
                                a href=(board::address(self.feed_id(), stop.id)) { (if stop.name.is_empty() { stop.id } else { stop.name }) }
                                @if let Some(platform) = stop.platform_code { " " span.soft.small { "platform " (platform) } }
                            }
                        }
                    }
                }
            }
        }
    }

    fn elsewhere(&self) -> Markup {
        html! {
            section.card #elsewhere aria-label="Not on the way above" hidden[self.elsewhere.is_empty() && self.reckoned_elsewhere.is_empty()] {
                h2 { "Not on the way above" }
                div.card-body {
                    ul.coming { @for vehicle in &self.elsewhere { (of_vehicle(vehicle)) } }
                    (self.reckoned("elsewhere", &self.reckoned_elsewhere))
                }
            }
        }
    }

    fn live_data(&self) -> serde_json::Value {
        let id = self.timetable.route(self.route).id;
        json!({
            "now": self.network.now().0,
            "wall": self.app.now().0,
            "channel": format!("route/{}/{}", self.feed_id(), encode_segment(id)),
            "timezone": self.timetable.timezone_name(),
        })
    }
}

/// Its directions, each with the pattern that most trips follow; of those that are alike the first.
fn directions(timetable: &Timetable, route: RouteIdx) -> Vec<Direction> {
    let mut trips: BTreeMap<Option<u8>, BTreeMap<PatternIdx, usize>> = BTreeMap::new();
    for &trip in timetable.trips_of_route(route) {
        if let Some(pattern) = timetable.pattern_of(trip) {
            let patterns = trips.entry(timetable.trip(trip).direction).or_default();
            *patterns.entry(pattern).or_default() += 1;
        }
    }
    let usual = trips.into_iter().filter_map(|(id, patterns)| {
        let most = patterns.into_iter().max_by_key(|&(idx, n)| (n, std::cmp::Reverse(idx)));
        Some((id, most?.0))
    });
    usual
        .map(|(id, pattern)| {
            let stops: Vec<Place> = timetable
                .stops_of_pattern(pattern)
                .map(|stop| Place { stop, coming: Vec::new(), reckoned: Vec::new() })
                .collect();
            let last = stops.last().map_or("", |place| timetable.stop(place.stop).name);
            Direction { id, headsign: last.to_owned(), stops }
        })
        .collect()
}

/// Puts the line's vehicles where they come next, and gives those that have no place: none is known, or it lies beside the
/// usual way. A stop that both directions have counts for the one that the vehicle's trip goes in by the timetable, else by what
/// the feed says, else for the first.
fn put_vehicles(
    state: &NetworkState,
    timetable: &Timetable,
    route: &str,
    directions: &mut [Direction],
) -> Vec<Arc<Record>> {
    let mut elsewhere = Vec::new();
    let vehicles = state.by_route(route).filter(|record| record.kind == Kind::Vehicle);
    for vehicle in vehicles.take(VEHICLES_MAX) {
        let said = || vehicle.trip().and_then(|trip| trip.direction_id);
        let said = vehicle.join.direction_id.map(u32::from).or_else(said);
        let next = vehicle.join.next_stop_id.as_deref().and_then(|id| timetable.find_stop(id));
        let place = next.and_then(|next| find_place(directions, next, said));
        match place {
            Some(place) => place.coming.push(Arc::clone(vehicle)),
            None => elsewhere.push(Arc::clone(vehicle)),
        }
    }
    elsewhere
}

/// Puts the trips of which only times are known before the stop that they come to next, and gives those that have no place.
/// What a feed predicted that has stopped telling is not to be believed.
fn put_reckoned(
    network: &Network,
    state: &NetworkState,
    timetable: &Timetable,
    route: &str,
    directions: &mut [Direction],
) -> Vec<UnderWay> {
    let feeds = network.realtime_feeds();
    let misleads = |id: &str| {
        let mut own = feeds.iter().filter(|feed| feed.id().as_str() == id);
        own.any(|feed| states::misleads_riders(feed.status().state))
    };
    let mut elsewhere = Vec::new();
    for trip in state.under_way(route, network.now(), VEHICLES_MAX) {
        if misleads(trip.feed.as_str()) {
            continue;
        }
        let next = timetable.find_stop(&trip.next_stop_id);
        match next.and_then(|next| find_place(directions, next, trip.direction)) {
            Some(place) => place.reckoned.push(trip),
            None => elsewhere.push(trip),
        }
    }
    elsewhere
}

fn find_place(
    directions: &mut [Direction],
    next: StopIdx,
    said: Option<u32>,
) -> Option<&mut Place> {
    let has = |direction: &Direction| direction.stops.iter().any(|place| place.stop == next);
    let is_said = |direction: &Direction| said.is_some() && direction.id.map(u32::from) == said;
    let at = directions.iter().position(|it| is_said(it) && has(it));
    let at = at.or_else(|| directions.iter().position(has))?;
    directions[at].stops.iter_mut().find(|place| place.stop == next)
}

/// A vehicle, as `web/plain/route.js` shows it too.
fn of_vehicle(record: &Record) -> Markup {
    let said = match record.join.delay {
        Some(delay) => words::delay("realtime", Some(i64::from(delay))),
        None => words::delay("scheduled", None),
    };
    let vehicle = record.vehicle().and_then(|vehicle| vehicle.vehicle.as_ref());
    let label = vehicle.and_then(|it| it.label.as_deref()).filter(|label| !label.is_empty());
    html! {
        li.vehicle data-id=(record.id) {
            span.vehicle-sign aria-hidden="true" { "▼" }
            span.vehicle-name { (label.unwrap_or(&record.id)) }
            @if let Some(headsign) = &record.join.headsign { span.soft.small { "to " (headsign) } }
            @if record.join.delay.is_some() { span class=(format!("delay tone-{}", said.tone)) { (said.words) } }
        }
    }
}
