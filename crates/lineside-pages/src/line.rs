//! `/routes/<feed>/<route_id>`: a line with its stops in order, in each direction and on each branch, and its vehicles
//! along it; if no vehicle reports a position, the trips at their estimated positions. It is complete without scripts;
//! with scripts, `web/plain/route.js` moves the vehicles from the line's channel, and reloads the page for the trips.

use std::collections::BTreeSet;
use std::sync::Arc;

use axum::extract::{Path, State};
use axum::http::HeaderMap;
use axum::response::Response;
use jiff::civil::Date;
use lineside_formats::gtfs::{RouteIdx, StopIdx, Timetable};
use lineside_http::app::App;
use lineside_http::delays::VehicleNoun;
use lineside_http::{QueryParameters, Refusal, lookup, run_blocking};
use lineside_hub::encode_segment;
use lineside_ingest::Network;
use lineside_model::{
    ActiveTripWithoutVehicle, NetworkState, Record, RecordKind, RouteVariants, UpcomingExtraTrip,
};
use maud::{Markup, html};
use serde_json::json;

use super::alerts::{self, AlertSummary};
use super::favourites::{self, FavouriteKind};
use super::languages::PreferredLanguages;
use super::layout::{self, NavSection, PageLayout};
use super::line_directions::{self, DirectionTermini};
use super::line_estimates::{self, EstimatedLineTrips};
use super::line_times::{IdleReason, LineDepartures};
use super::{badge, line_vehicles, network_page, states, trips, words};
use crate::links;
use crate::network_names;
use crate::not_found;
use crate::stop_lines::line_termini;

/// Seconds between reloads of the page without scripts.
const REFRESH_S: u32 = 30;
/// The name of the list of vehicles and trips without a place on the line.
const ELSEWHERE: &str = "elsewhere";
/// The most vehicles shown; a line has some dozens.
const VEHICLES_MAX: usize = 1_000;

pub(super) async fn get_line(
    State(app): State<App>,
    Path((feed, route_id)): Path<(String, String)>,
    parameters: QueryParameters,
    headers: HeaderMap,
) -> Response {
    let (network, dataset) = match network_page::find_network_and_schedule(&app, &feed) {
        Ok(named) => named,
        Err(refusal) => return not_found::reply_with_refusal_page(&refusal, false),
    };
    let Some(route) = dataset.timetable.find_route(&route_id) else {
        let (feed, route) = (lookup::shorten_id(&feed), lookup::shorten_id(&route_id));
        return not_found::reply_with_refusal_page(&Refusal::UnknownRoute { feed, route }, false);
    };
    let languages = PreferredLanguages::from_request(&parameters, &headers);
    let date = parameters.find_value("date").and_then(trips::parse_date);
    let permit = match app.admission().page_render_slots().acquire_permit().await {
        Ok(permit) => permit,
        Err(refusal) => return not_found::reply_with_refusal_page(&refusal, false),
    };
    let work = move || {
        let _permit = permit;
        let variants = dataset.route_variants(route);
        let line =
            LineView::for_route(&app, &network, &dataset.timetable, route, &variants, &languages);
        let times = line.departures_on_date(date);
        reply_with_line(&line, &times)
    };
    run_blocking(work)
        .await
        .unwrap_or_else(|refusal| not_found::reply_with_refusal_page(&refusal, false))
}

fn reply_with_line(line: &LineView<'_>, times: &LineDepartures) -> Response {
    let (line_title, network) = (line.title(), network_names::network_name(line.app, line.network));
    let title = format!("{line_title} · {network}");
    let mut page = PageLayout::new(&title, NavSection::Networks);
    page.description =
        Some(format!("Stops, times and vehicles of {line_title} of {network}, in real time."));
    page.styles = &["delays.css", "riders.css", favourites::STYLE];
    page.scripts = &["route.js", favourites::SCRIPT];
    page.refresh = Some(REFRESH_S);
    network_page::reply_with_localized_page(&page, &line.render_line_page(times))
}

/// The data of a line's page.
struct LineView<'a> {
    app: &'a App,
    network: &'a Network,
    timetable: &'a Timetable,
    route: RouteIdx,
    directions: Vec<LineVariantView<'a>>,
    /// Trips of the timetable on variants that are not shown.
    n_left_out: usize,
    /// Vehicles without a place in any direction.
    unplaced_vehicles: Vec<Arc<Record>>,
    /// Trips and vehicles without positions that have no place in any direction.
    reckoned_elsewhere: EstimatedLineTrips,
    /// Trips that start later and are not in the timetable.
    announced: Vec<UpcomingExtraTrip>,
    /// Feeds with unreliable data.
    misleading: BTreeSet<String>,
    alerts: Vec<AlertSummary>,
    now: i64,
}

/// One variant of a line.
struct LineVariantView<'a> {
    id: Option<u8>,
    /// The first stop.
    first: String,
    /// The first stop, if other variants of the line have the same last stop.
    from: Option<String>,
    /// The last stop.
    to: String,
    /// The headsigns of its trips.
    headsigns: &'a BTreeSet<String>,
    stops: Vec<LineStop<'a>>,
}

impl LineVariantView<'_> {
    /// Returns the last stops of its trips: those under way may not be in the timetable.
    fn direction_termini(&self) -> DirectionTermini<'_> {
        let vehicles =
            self.stops.iter().flat_map(|it| it.approaching.iter().chain(&it.reckoned.vehicles));
        let trips = self.stops.iter().flat_map(|it| &it.reckoned.trips);
        let live = vehicles
            .filter_map(|vehicle| vehicle.join.headsign.as_deref())
            .chain(trips.filter_map(|trip| trip.headsign.as_deref()))
            .map(words::shorten_name);
        let scheduled = self.headsigns.iter().map(|headsign| words::shorten_name(headsign));
        DirectionTermini::new((&self.first, &self.to), live, scheduled)
    }
}

/// A stop on the line, and the vehicles that come to it next.
struct LineStop<'a> {
    /// The stops of its station from which trips leave.
    stops: &'a [StopIdx],
    approaching: Vec<Arc<Record>>,
    /// The trips and vehicles without a position that should come to the stop next.
    reckoned: EstimatedLineTrips,
}

impl<'a> LineView<'a> {
    fn for_route(
        app: &'a App,
        network: &'a Network,
        timetable: &'a Timetable,
        route: RouteIdx,
        variants: &'a RouteVariants,
        languages: &PreferredLanguages,
    ) -> Self {
        let now = network.data_time_now().unix_seconds();
        let state = network.state();
        let id = timetable.route(route).id;
        let mut directions = list_line_variants(timetable, variants);
        let unplaced = place_vehicles_at_stops(&state, timetable, id, variants, &mut directions);
        let feeds = network.realtime_feeds();
        let misleading = feeds.iter().filter(|it| it.status().unreliable_since.is_some());
        let misleading: BTreeSet<String> = misleading.map(|feed| feed.id().to_string()).collect();
        let active_trips = state
            .active_trips_without_vehicle(id, network.data_time_now(), VEHICLES_MAX)
            .into_iter();
        // Predictions of a silent feed are not reliable.
        let active_trips = active_trips.filter(|trip| !misleading.contains(trip.feed.as_str()));
        let mut reckoned_elsewhere =
            place_estimated_trips_at_stops(timetable, active_trips, variants, &mut directions);
        let unlocated =
            state.vehicles_without_position(id, network.data_time_now()).take(VEHICLES_MAX);
        for vehicle in unlocated {
            let place = find_next_stop_of_vehicle(timetable, vehicle, variants, &mut directions);
            let estimates = place.map_or(&mut reckoned_elsewhere, |place| &mut place.reckoned);
            estimates.vehicles.push(Arc::clone(vehicle));
        }
        let mut announced = state.upcoming_extra_trips(id, network.data_time_now(), VEHICLES_MAX);
        announced.retain(|trip| !misleading.contains(trip.feed.as_str()));
        let alerts = alerts::find_for_route(&state, timetable, route, now, languages);
        Self {
            app,
            network,
            timetable,
            route,
            directions,
            n_left_out: variants.n_other_trips,
            unplaced_vehicles: unplaced,
            reckoned_elsewhere,
            announced,
            misleading,
            alerts,
            now,
        }
    }

    fn network_id(&self) -> &str {
        self.network.id().as_str()
    }

    fn title(&self) -> String {
        let route = self.timetable.route(self.route);
        let name = route.display_name();
        words::line_title(if name.is_empty() { route.id } else { name })
    }

    /// Returns true if the page shows a vehicle or an estimated trip.
    fn has_vehicles_or_estimates(&self) -> bool {
        let mut places = self.directions.iter().flat_map(|direction| &direction.stops);
        self.has_positioned_vehicles()
            || !self.reckoned_elsewhere.is_empty()
            || places.any(|line_stop| !line_stop.reckoned.is_empty())
    }

    /// Returns true if the page shows vehicles with positions, and not only estimates.
    fn has_positioned_vehicles(&self) -> bool {
        let mut places = self.directions.iter().flat_map(|direction| &direction.stops);
        !self.unplaced_vehicles.is_empty()
            || places.any(|line_stop| !line_stop.approaching.is_empty())
    }

    /// Returns true if the timetable has trips of the line.
    fn has_scheduled_trips(&self) -> bool {
        !self.timetable.route_trips(self.route).is_empty()
    }

    /// Returns true if the departures of days are shown. After the end of the timetable, an empty day would say that
    /// nothing runs.
    fn should_show_departures(&self, times: &LineDepartures) -> bool {
        let has_ended = network_page::ended_timetable_last_day(self.network).is_some();
        times.has_departures() || (!has_ended && self.has_scheduled_trips())
    }

    /// Returns the line's departures on a service date, today by default.
    fn departures_on_date(&self, date: Option<Date>) -> LineDepartures {
        let runs_now = !self.announced.is_empty() || self.has_vehicles_or_estimates();
        LineDepartures::new(self.timetable, self.route, date, self.now, runs_now)
    }

    fn render_line_page(&self, times: &LineDepartures) -> Markup {
        let id = self.timetable.route(self.route).id;
        html! {
            div.page.delays {
                @let has_times = self.should_show_departures(times);
                (self.render_line_heading(has_times))
                (times.render_idle_note(self.timetable, self.now, self.idle_reason()))
                @if !self.alerts.is_empty() { (alerts::render_alerts(&self.alerts)) }
                (self.render_estimate_note())
                div.directions {
                    @for (number, direction) in self.directions.iter().enumerate() { (self.render_direction(number, direction)) }
                }
                (line_directions::render_omitted_variants_note(self.n_left_out, self.directions.is_empty()))
                (self.render_unplaced_vehicles())
                (line_estimates::render_announced(self.network_id(), self.timetable, &self.announced))
                @if has_times { (times.render_departures_section(self.timetable, self.network_id(), id)) }
                (states::render_state_templates())
                (layout::render_script_data("route-data", &self.page_script_data()))
            }
        }
    }

    /// Returns the reason for a line without further trips.
    fn idle_reason(&self) -> IdleReason {
        if !self.has_scheduled_trips() {
            IdleReason::NoTrips
        } else if network_page::ended_timetable_last_day(self.network).is_some() {
            IdleReason::TimetableEnded
        } else {
            IdleReason::NoFurtherTrips
        }
    }

    fn render_line_heading(&self, has_times: bool) -> Markup {
        let route = self.timetable.route(self.route);
        let zone = self.timetable.timezone();
        let name = network_names::network_name(self.app, self.network);
        let noun = VehicleNoun::for_route_types([route.kind].into_iter());
        let state = self.network.state();
        let records = state.vehicles().chain(state.trip_updates());
        let feeds =
            network_page::find_realtime_feeds_of_records(self.app, self.network, &state, records);
        html! {
            div.page-head.tight {
                p.crumbs { a.target href=(format!("/networks/{}", self.network_id())) { (name) } }
                div.starred {
                    // A badge with the whole title replaces it.
                    h1 { (badge::render_route_badge(route.display_name(), route.color)) @if route.display_name() != self.title() { " " (self.title()) } }
                    (favourites::render_star(self.app, self.network, FavouriteKind::Line, &links::line_page_url(self.network_id(), route.id), &self.title(), Some((route.display_name(), route.color))))
                }
                @if !route.long_name.is_empty() && route.long_name != route.display_name() { p.soft { (words::shorten_name(route.long_name)) } }
                @else if let Some(termini) = line_termini(self.timetable, self.route) { p.soft data-termini { (termini) } }
                p.answer-at {
                    (states::render_recording_tag(self.network))
                    span.live #live data-status="off" { "As of " time datetime=(words::format_rfc3339(self.now, zone)) { (words::format_clock_seconds(self.now, zone)) } }
                    // Without live trips, an ended timetable has no answer.
                    @if self.has_vehicles_or_estimates() || network_page::ended_timetable_last_day(self.network).is_none() { a.small.target href=(format!("/delays/{}?route={}", self.network_id(), links::encode_query_value(route.id))) { "Is my " (noun.one) " late?" } }
                    @if !self.directions.is_empty() || self.has_vehicles_or_estimates() { a.small.target href=(format!("/map?route={}:{}", self.network_id(), links::encode_query_value(route.id))) { "On the map" } }
                    @if has_times { a.small.target href="#times" { "Departures today" } }
                }
                (network_page::render_timetable_validity_notice(self.network))
                (network_page::render_unreliable_data_banner(self.app, &feeds, zone, "live positions", if self.has_positioned_vehicles() { "Vehicles below are where they were last seen." } else { "" }))
            }
        }
    }

    /// Renders the explanation of the symbol for estimated positions.
    fn render_estimate_note(&self) -> Markup {
        let mut all = self.directions.iter().flat_map(|direction| &direction.stops);
        let has_any = !self.reckoned_elsewhere.is_empty() || all.any(|it| !it.reckoned.is_empty());
        html! {
            p.soft.small data-reckoned="note" hidden[!has_any] {
                span.vehicle-sign aria-hidden="true" { "▽" }
                " Estimated from predicted times, because their vehicles report no current position."
                @if network_page::ended_timetable_last_day(self.network).is_some() { " The stops are those of the timetable that has ended; trips may take another way." }
            }
        }
    }

    /// Renders the trips and vehicles without positions as a separate list: `web/plain/route.js` replaces it with the
    /// list of a newer page.
    fn render_estimated_trips(&self, name: &str, estimates: &EstimatedLineTrips) -> Markup {
        let has_place = name != ELSEWHERE;
        html! {
            ul.coming data-reckoned=(name) {
                @for vehicle in &estimates.vehicles { (self.render_vehicle(vehicle)) }
                (line_estimates::render_trips(self.network_id(), self.timetable, &estimates.trips, has_place))
            }
        }
    }

    fn render_direction(&self, number: usize, direction: &LineVariantView<'_>) -> Markup {
        let headsigns = direction.headsigns.iter().map(|headsign| words::shorten_name(headsign));
        let headsigns: Vec<&str> = headsigns.collect();
        let ends = direction.direction_termini();
        let heading = ends.heading();
        // The stops are those of the timetable, and its end is why live trips go further.
        let has_ended = network_page::ended_timetable_last_day(self.network).is_some();
        let further = if has_ended { ends.termini_beyond_stop(&direction.to) } else { Vec::new() };
        html! {
            section.card.direction data-direction=[direction.id] data-headsigns=(json!(headsigns)) data-to=(direction.to) aria-label=(heading) {
                details open {
                    summary.card-head { h2 { (heading) @if let Some(from) = &direction.from { " " span.soft.small { "From " (from) } } } }
                    ol.line-stops {
                        @for (at, place) in direction.stops.iter().enumerate() { (self.render_stop(&format!("{number}/{at}"), place)) }
                    }
                    @if !further.is_empty() { p.soft.small.line-further data-further=(further.len()) { "Some trips continue to " (further.join(", ")) ", which the ended timetable does not have." } }
                }
            }
        }
    }

    /// Renders a stop, or a station if trips leave from several of its stops: then the link is to the station's board.
    fn render_stop(&self, key: &str, line_stop: &LineStop<'_>) -> Markup {
        let stops = line_stop.stops.iter().map(|&stop| self.timetable.stop(stop));
        let ids: Vec<&str> = stops.clone().map(|stop| stop.id).collect();
        let (first, is_one) = (self.timetable.stop(line_stop.stops[0]), ids.len() == 1);
        let shown = first.parent.filter(|_| !is_one).unwrap_or(line_stop.stops[0]);
        html! {
            li data-stop=(first.id) data-stops=(json!(ids)) {
                ul.coming { @for vehicle in &line_stop.approaching { (self.render_vehicle(vehicle)) } }
                (self.render_estimated_trips(key, &line_stop.reckoned))
                span.stop-name {
                    a.target href=(links::departure_board_url(self.network_id(), self.timetable.stop(shown).id)) { (stop_name(self.timetable, shown)) }
                    @if let Some(platform) = first.platform_code.filter(|_| is_one) { " " span.soft.small { "platform " (words::shorten_name(platform)) } }
                }
            }
        }
    }

    fn render_unplaced_vehicles(&self) -> Markup {
        html! {
            section.card #elsewhere aria-label="Not on the way above" hidden[self.unplaced_vehicles.is_empty() && self.reckoned_elsewhere.is_empty()] {
                h2 { "Not on the way above" }
                div.card-body {
                    ul.coming { @for vehicle in &self.unplaced_vehicles { (self.render_vehicle(vehicle)) } }
                    (self.render_estimated_trips(ELSEWHERE, &self.reckoned_elsewhere))
                }
            }
        }
    }

    fn render_vehicle(&self, record: &Record) -> Markup {
        let is_stale = self.misleading.contains(record.feed.as_str());
        line_vehicles::render_vehicle(self.network_id(), record, is_stale)
    }

    fn page_script_data(&self) -> serde_json::Value {
        let id = self.timetable.route(self.route).id;
        json!({
            "now": self.network.data_time_now().0,
            "rate": self.network.replay_rate(),
            "wall": self.app.now().0,
            "network": self.network_id(),
            "channel": format!("route/{}/{}", self.network_id(), encode_segment(id)),
        })
    }
}

/// Returns the line's variants, by direction.
fn list_line_variants<'a>(
    timetable: &Timetable,
    variants: &'a RouteVariants,
) -> Vec<LineVariantView<'a>> {
    let name = |line_stop: Option<&LineStop<'_>>| {
        line_stop.map_or("", |it| stop_name(timetable, it.stops[0])).to_owned()
    };
    let directions = variants.variants.iter().map(|variant| {
        let stops = variant.stops.iter().map(Vec::as_slice);
        let line_stop = |stops| LineStop {
            stops,
            approaching: Vec::new(),
            reckoned: EstimatedLineTrips::default(),
        };
        let stops: Vec<LineStop<'_>> = stops.map(line_stop).collect();
        let (first, to) = (name(stops.first()), name(stops.last()));
        let from = Some(first.clone());
        LineVariantView { id: variant.id, first, from, to, headsigns: &variant.headsigns, stops }
    });
    let mut directions: Vec<LineVariantView<'_>> = directions.collect();
    let ends: Vec<String> = directions.iter().map(|it| it.to.clone()).collect();
    for direction in &mut directions {
        if ends.iter().filter(|end| **end == direction.to).count() == 1 {
            direction.from = None;
        }
    }
    directions
}

/// Returns the name of a stop, or its id.
fn stop_name(timetable: &Timetable, stop: StopIdx) -> &str {
    let stop = timetable.stop(stop);
    words::shorten_name(if stop.name.is_empty() { stop.id } else { stop.name })
}

/// Puts the line's vehicles with positions at their next stops, and returns those without a place: their next stop is
/// unknown or not on a shown variant.
fn place_vehicles_at_stops(
    state: &NetworkState,
    timetable: &Timetable,
    route: &str,
    variants: &RouteVariants,
    directions: &mut [LineVariantView<'_>],
) -> Vec<Arc<Record>> {
    let mut unplaced = Vec::new();
    let vehicles = state
        .realtime_records_by_route(route)
        .filter(|record| record.kind == RecordKind::Vehicle && record.position().is_some());
    for vehicle in vehicles.take(VEHICLES_MAX) {
        match find_next_stop_of_vehicle(timetable, vehicle, variants, directions) {
            Some(line_stop) => line_stop.approaching.push(Arc::clone(vehicle)),
            None => unplaced.push(Arc::clone(vehicle)),
        }
    }
    unplaced
}

/// Returns the next stop of a vehicle. If several variants have the stop, the direction decides (by the timetable, or
/// as the feed states it), then the headsign, then the order.
fn find_next_stop_of_vehicle<'a, 'w>(
    timetable: &Timetable,
    vehicle: &Record,
    variants: &RouteVariants,
    directions: &'a mut [LineVariantView<'w>],
) -> Option<&'a mut LineStop<'w>> {
    let find_direction = || vehicle.trip_descriptor().and_then(|trip| trip.direction_id);
    let direction_id = vehicle.join.direction_id.map(u32::from).or_else(find_direction);
    let next = vehicle.join.next_stop_id.as_deref().and_then(|id| timetable.find_stop(id))?;
    find_line_stop(variants, directions, next, direction_id, vehicle.join.headsign.as_deref())
}

/// Puts the trips without positions at their next stops, and returns those without a place.
fn place_estimated_trips_at_stops(
    timetable: &Timetable,
    active_trips: impl Iterator<Item = ActiveTripWithoutVehicle>,
    variants: &RouteVariants,
    directions: &mut [LineVariantView<'_>],
) -> EstimatedLineTrips {
    let mut elsewhere = EstimatedLineTrips::default();
    for trip in active_trips {
        let next = timetable.find_stop(&trip.next_stop_id);
        let headsign = trip.headsign.as_deref();
        let place = next
            .and_then(|next| find_line_stop(variants, directions, next, trip.direction, headsign));
        match place {
            Some(place) => place.reckoned.trips.push(trip),
            None => elsewhere.trips.push(trip),
        }
    }
    elsewhere
}

fn find_line_stop<'a, 'w>(
    ways: &RouteVariants,
    directions: &'a mut [LineVariantView<'w>],
    next: StopIdx,
    direction_id: Option<u32>,
    headsign: Option<&str>,
) -> Option<&'a mut LineStop<'w>> {
    let fit = |direction: &LineVariantView<'_>| {
        let is_stated = direction_id.is_some() && direction.id.map(u32::from) == direction_id;
        let matches_direction =
            headsign.is_some_and(|it| direction.to == it || direction.headsigns.contains(it));
        (is_stated, matches_direction)
    };
    // If several places fit equally well, the first one is chosen.
    let has = ways.positions_of_stop(next).rev();
    let (variant, line_stop) = has.max_by_key(|&(variant, _)| directions.get(variant).map(fit))?;
    directions.get_mut(variant)?.stops.get_mut(line_stop)
}
