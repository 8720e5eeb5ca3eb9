//! `/stops/<feed>/<stop_id>`: a departure board. The rows are complete without scripts; with scripts,
//! `web/plain/board.js` updates the same rows from the stop's channel. `?lines=` and `?limit=` reduce the rows,
//! `?after=` shows a later time, `?lang=` selects the language of alerts, and `?embed=1` is the page for embedding.

use std::collections::{BTreeMap, BTreeSet};

use axum::extract::{Path, State};
use axum::http::HeaderMap;
use axum::response::Response;
use jiff::tz::TimeZone;
use lineside_formats::gtfs::{Route, StopIdx, Timetable};
use lineside_http::app::App;
use lineside_http::delays::VehicleNoun;
use lineside_http::{EmbeddableReplyMarker, QueryParameters, Refusal, lookup};
use lineside_hub::encode_segment;
use lineside_ingest::Network;
use lineside_ingest::limits::STOP_DELAYS_MAX;
use lineside_model::{Departure, DepartureStatus, FeedState};
use maud::{Markup, html};
use serde_json::json;

use super::alerts::{self, AlertSummary};
use super::board_options::{BoardOptions, DEPARTURES_MAX};
use super::board_rows::BoardRowRenderer;
use super::board_window::{self, BoardWindow};
use super::favourites::{self, FavouriteKind};
use super::layout::{self, NavSection, PageLayout};
use super::{badge, nearby_stops, network_page, states, words};
use crate::links;
use crate::links::departure_board_url;
use crate::network_names;
use crate::not_found;

/// Seconds between reloads of a board without scripts.
const REFRESH_S: u32 = 30;
/// Line badges in the head; a large station has hundreds.
const ROUTES_MAX: usize = 40;

pub(super) async fn get_board(
    State(app): State<App>,
    Path((feed, stop_id)): Path<(String, String)>,
    parameters: QueryParameters,
    headers: HeaderMap,
) -> Response {
    let options = BoardOptions::from_request(&parameters, &headers);
    let is_embedded = options.is_embedded;
    let (network, dataset) = match network_page::find_network_and_schedule(&app, &feed) {
        Ok(named) => named,
        Err(refusal) => return not_found::reply_with_refusal_page(&refusal, is_embedded),
    };
    let timetable = &dataset.timetable;
    let Some(stop) = timetable.find_stop(&stop_id) else {
        let (feed, stop) = (lookup::shorten_id(&feed), lookup::shorten_id(&stop_id));
        return not_found::reply_with_refusal_page(
            &Refusal::UnknownStop { feed, stop },
            is_embedded,
        );
    };
    let mut board = DepartureBoard::for_stop(&app, &network, timetable, stop, options);
    board.nearby = nearby_stops::render_same_name_stops(network.id().as_str(), &dataset, stop);
    let mut page = PageLayout::new(&board.title, NavSection::Networks);
    page.description = Some(format!("The next departures from {}, in real time.", board.title));
    page.scripts = &["board.js", favourites::SCRIPT];
    page.styles = &["riders.css", favourites::STYLE];
    page.refresh = Some(REFRESH_S);
    page.is_embedded = is_embedded;
    page.alternates.push(("application/json", board.departures_api_url()));
    let mut reply = network_page::reply_with_localized_page(&page, &board.render_board());
    if is_embedded {
        reply.extensions_mut().insert(EmbeddableReplyMarker);
    }
    reply
}

/// The data of a board.
struct DepartureBoard<'a> {
    title: String,
    network: &'a Network,
    timetable: &'a Timetable,
    stop: StopIdx,
    departures: Vec<Departure>,
    alerts: Vec<AlertSummary>,
    options: BoardOptions,
    /// The real-time feeds with unreliable times.
    stale: BTreeSet<String>,
    now: i64,
    window: BoardWindow,
    /// Links to other stops with the same name.
    nearby: Markup,
    app: &'a App,
}

impl<'a> DepartureBoard<'a> {
    fn for_stop(
        app: &'a App,
        network: &'a Network,
        timetable: &'a Timetable,
        stop: StopIdx,
        options: BoardOptions,
    ) -> Self {
        let now = network.data_time_now().0.div_euclid(1000);
        let at = timetable.stop(stop);
        let title = match at.platform_code {
            Some(platform) if !at.name.is_empty() => format!("{}, platform {platform}", at.name),
            _ if at.name.is_empty() => at.id.to_owned(),
            _ => at.name.to_owned(),
        };
        let from = board_window::parse_start(options.after.as_deref(), now, timetable.timezone());
        // One more than the board shows means that there are later ones.
        let departures_max = DEPARTURES_MAX + 1;
        let mut departures =
            options.list_departures(network, at.id, from.unwrap_or(now), departures_max);
        let window = BoardWindow::new(from, now, &departures, options.limit, |from| {
            options.list_departures(network, at.id, from, STOP_DELAYS_MAX)
        });
        departures.truncate(options.limit);
        let alerts = alerts::find_for_stop(network, timetable, stop, now, &options.languages);
        let feeds = network.realtime_feeds();
        // The page says that data are delayed before they are unreliable.
        let misleading = feeds.iter().filter(|feed| {
            let status = feed.status();
            let is_delayed =
                matches!(status.state, FeedState::Late | FeedState::Stale | FeedState::Failing);
            is_delayed || status.unreliable_since.is_some()
        });
        let stale = misleading.map(|feed| feed.id().to_string()).collect();
        Self {
            title,
            network,
            timetable,
            stop,
            departures,
            alerts,
            options,
            stale,
            now,
            window,
            nearby: html! {},
            app,
        }
    }

    fn time_zone(&self) -> &TimeZone {
        self.timetable.timezone()
    }

    fn network_id(&self) -> &str {
        self.network.id().as_str()
    }

    fn departures_api_url(&self) -> String {
        let id = links::encode_path_segment(self.timetable.stop(self.stop).id);
        format!("/api/v1/stops/{}/{id}/departures", self.network_id())
    }

    fn render_board(&self) -> Markup {
        html! {
            div.page {
                (self.render_board_heading())
                (network_page::render_timetable_validity_notice(self.network))
                (self.render_unreliable_data_notice())
                (alerts::render_alerts(&self.alerts))
                @if !self.options.is_embedded { (self.render_line_and_platform_choice()) }
                (self.render_unmatched_trips_note())
                section.card aria-label="Departures" {
                    (self.row_renderer().render_table(&self.departures))
                    p.board-empty hidden[!self.departures.is_empty()] { (self.render_no_departures()) }
                    @if !self.options.is_embedded { (self.render_time_pager()) }
                }
                (self.render_lines_without_departures())
                @if !self.options.is_embedded { (self.nearby) }
                @if !self.options.is_embedded { (self.render_source_feeds()) }
                (states::render_state_templates())
                (layout::render_script_data("board-data", &self.page_script_data()))
            }
        }
    }

    fn row_renderer(&self) -> BoardRowRenderer<'_> {
        BoardRowRenderer {
            network: self.network_id(),
            zone: self.time_zone(),
            is_embedded: self.options.is_embedded,
            stale: &self.stale,
            now: self.now,
        }
    }

    fn timetable_has_ended(&self) -> bool {
        network_page::ended_timetable_last_day(self.network).is_some()
    }

    /// Returns the lines of a board of the present without known departures, once the timetable has ended. On a board
    /// without rows these are all.
    fn list_lines_without_departures(&self) -> Vec<(String, Option<[u8; 3]>, String)> {
        let is_present = self.window.from.is_none() && self.options.lines.is_empty();
        if !is_present || self.departures.is_empty() || !self.timetable_has_ended() {
            return Vec::new();
        }
        let stop_id = self.timetable.stop(self.stop).id;
        let all = self.options.list_departures(self.network, stop_id, self.now, STOP_DELAYS_MAX);
        let known: BTreeSet<&str> = all.iter().map(|it| it.route_short_name.as_str()).collect();
        let mut lines = self.list_routes_at_stop();
        lines.retain(|(name, _, _)| !known.contains(name.as_str()));
        lines
    }

    /// Renders the explanation of rows that replace the timetable.
    fn render_unmatched_trips_note(&self) -> Markup {
        let is_unmatched = self.network.state().has_feed_without_matches();
        let is_live = self.departures.iter().any(|it| it.status == DepartureStatus::Realtime);
        html! {
            @if is_unmatched && is_live {
                p.board-note.soft data-unmatched { "The live trips of this network do not match its timetable: where a line has live trips, the board shows their live times in place of the timetable." }
            }
        }
    }

    /// Renders the lines without known departures.
    fn render_lines_without_departures(&self) -> Markup {
        let silent = self.list_lines_without_departures();
        html! {
            @if !silent.is_empty() {
                p.board-note.soft data-silent-lines=(silent.len()) {
                    "No departures known: "
                    @for (name, color, _) in silent.iter().take(ROUTES_MAX) { span data-line=(name) { (badge::render_route_badge(name, *color)) " " } }
                }
            }
        }
    }

    /// Renders the text in place of rows, with a next step.
    fn render_no_departures(&self) -> Markup {
        let zone = self.time_zone();
        html! {
            @match self.window.from {
                None => (no_departures_reason(self.network)),
                Some(from) => { "No departures from " (words::format_clock_or_day(from, self.now, zone)) " to " (words::format_clock_or_day(from + board_window::HORIZON_S, self.now, zone)) "." }
            }
            @if self.departures.is_empty() && !self.options.is_embedded { (self.render_next_departure_link()) }
        }
    }

    /// Renders a link to the next departure; once the timetable has ended, links to where its times may be.
    fn render_next_departure_link(&self) -> Markup {
        let (id, stop_id) = (self.network_id(), self.timetable.stop(self.stop).id);
        if self.timetable_has_ended() {
            return html! {
                span.next-step data-next-step="network" {
                    a.target href=(format!("/networks/{id}")) { "Lines and stops of " (network_names::network_name(self.app, self.network)) }
                    a.target href=(format!("/feeds/{id}/versions")) { "Versions of the timetable" }
                }
            };
        }
        let from = self.window.from.unwrap_or(self.now);
        let next = self.options.find_next_departure_time(self.network, stop_id, from);
        html! {
            span.next-step {
                @match next {
                    Some(at) => { a.target data-next-step="departure" href=(self.board_url_at(Some(at))) { "Next departure: " (words::format_clock_or_day(at, self.now, self.time_zone())) } },
                    None => a.target data-next-step="network" href=(format!("/networks/{id}")) { "No departure within a week. Other stops" },
                }
            }
        }
    }

    /// Renders links to later departures, and back.
    fn render_time_pager(&self) -> Markup {
        let address = |at: i64| self.board_url_at(Some(at));
        let earlier = self.window.earlier;
        let has_later = !self.timetable_has_ended() || !self.departures.is_empty();
        html! {
            nav.pager.board-pager aria-label="Earlier and later departures" hidden[earlier.is_none() && !has_later] {
                @match earlier {
                    Some(at) if at <= self.now => a.button.plain rel="prev" href=(self.board_url_at(None)) { "Now" },
                    Some(at) => a.button.plain rel="prev" href=(address(at)) { "Earlier" },
                    None => {}
                }
                @if has_later { a.button.plain rel="next" data-later href=(address(self.window.later)) { "Later" } }
            }
        }
    }

    /// Returns the address of this board at another time.
    fn board_url_at(&self, after: Option<i64>) -> String {
        let mut query = url::form_urlencoded::Serializer::new(String::new());
        if !self.options.lines.is_empty() {
            query.append_pair("lines", &self.options.lines.join(","));
        }
        if self.options.limit != DEPARTURES_MAX {
            query.append_pair("limit", &self.options.limit.to_string());
        }
        if let Some(after) = after {
            query.append_pair(
                "after",
                &board_window::format_local_time_for_url(after, self.time_zone()),
            );
        }
        let query = query.finish();
        let separator = if query.is_empty() { "" } else { "?" };
        format!(
            "{}{separator}{query}",
            departure_board_url(self.network_id(), self.timetable.stop(self.stop).id)
        )
    }

    fn render_board_heading(&self) -> Markup {
        let noun = VehicleNoun::for_route_types(self.route_types_at_stop());
        let stop = self.timetable.stop(self.stop);
        let routes = self.list_routes_at_stop();
        let live_routes = self.list_unscheduled_live_routes(&routes);
        // Without live data the answer would be "Unknown".
        let has_live_times = !self.timetable_has_ended()
            || self.departures.iter().any(|it| it.status == DepartureStatus::Realtime);
        html! {
            div.board-head {
                div.page-head.tight {
                    p.crumbs {
                        a.target href=(format!("/networks/{}", self.network_id())) { (network_names::network_name(self.app, self.network)) }
                        @if let Some(parent) = stop.parent.map(|parent| self.timetable.stop(parent)) {
                            " › " a href=(departure_board_url(self.network_id(), parent.id)) { (parent.name) }
                        }
                    }
                    div.starred {
                        h1 { (self.title) }
                        @if !self.options.is_embedded { (favourites::render_star(self.app, self.network, FavouriteKind::Stop, &departure_board_url(self.network_id(), stop.id), &self.title, None)) }
                    }
                    @if !routes.is_empty() || !live_routes.is_empty() {
                        div.stop-routes aria-label="Lines" role="group" {
                            @for (name, color, id) in routes.iter().take(ROUTES_MAX) {
                                a.line-link href=(links::line_page_url(self.network_id(), id)) { (badge::render_route_badge(name, *color)) }
                            }
                            @for route in &live_routes {
                                a.line-link data-live-line href=(links::line_page_url(self.network_id(), route.id)) { (badge::render_route_badge(route.display_name(), route.color)) }
                            }
                            @if routes.len() > ROUTES_MAX { span.soft.small { "and " (routes.len() - ROUTES_MAX) " more" } }
                        }
                    }
                }
                div.board-now {
                    // A clock next to nothing would say that the board is live.
                    @if has_live_times { time.board-clock datetime=(words::format_rfc3339(self.now, self.time_zone())) { (words::format_clock(self.now, self.time_zone())) } }
                    p.board-links {
                        (states::render_recording_tag(self.network))
                        span.live #live data-status="off" { "As of " (words::format_clock_seconds(self.now, self.time_zone())) }
                        @if !self.options.is_embedded {
                            @if has_live_times { a.small href=(format!("/delays/{}?stop={}", self.network_id(), links::encode_query_value(stop.id))) { "Is my " (noun.one) " late?" } }
                            a.small href=(format!("/map?stop={}:{}", self.network_id(), links::encode_query_value(stop.id))) { "On the map" }
                        }
                    }
                }
            }
        }
    }

    fn route_types_at_stop(&self) -> impl Iterator<Item = u16> {
        let stops = self.timetable.stop_and_descendants(self.stop).into_iter();
        let routes = stops.flat_map(|stop| self.timetable.routes_at_stop(stop));
        routes.map(|route| self.timetable.route(route).kind)
    }

    /// Returns the lines that call here, by name; of lines with one name, the first.
    fn list_routes_at_stop(&self) -> Vec<(String, Option<[u8; 3]>, String)> {
        let mut routes: Vec<_> = self
            .timetable
            .stop_and_descendants(self.stop)
            .into_iter()
            .flat_map(|stop| self.timetable.routes_at_stop(stop))
            .map(|route| self.timetable.route(route))
            .map(|route| {
                let name = route.display_name().to_owned();
                (route.sort_order, name.len(), name, route.color, route.id.to_owned())
            })
            .collect();
        routes.sort();
        routes.dedup_by(|a, b| (&a.2, a.3) == (&b.2, b.3));
        routes.into_iter().map(|(_, _, name, color, id)| (name, color, id)).collect()
    }

    /// Returns the lines of the rows that do not call here by the timetable, which may have ended.
    fn list_unscheduled_live_routes(
        &self,
        routes: &[(String, Option<[u8; 3]>, String)],
    ) -> Vec<Route<'_>> {
        let is_new = |departure: &&Departure| {
            routes.iter().all(|(name, _, _)| *name != departure.route_short_name.as_str())
        };
        let ids: BTreeSet<&str> =
            self.departures.iter().filter(is_new).map(|it| it.route_id.as_str()).collect();
        let found = ids.into_iter().filter_map(|id| self.timetable.find_route(id));
        let mut found: Vec<Route<'_>> = found.map(|route| self.timetable.route(route)).collect();
        found.sort_by_key(|route| (route.sort_order, route.display_name().len(), route.id));
        found
    }

    /// Renders the choice of a line, and links to the boards of a station's platforms.
    fn render_line_and_platform_choice(&self) -> Markup {
        let routes = self.list_routes_at_stop();
        let chosen = self.options.lines.first().map(String::as_str);
        let is_chosen = |name: &str, id: &str| chosen.is_some_and(|it| it == name || it == id);
        html! {
            @if (2..=ROUTES_MAX).contains(&routes.len()) || chosen.is_some() {
                form.board-choice method="get" {
                    label.soft.small for="lines" { "Only line" }
                    select.select.compact #lines name="lines" {
                        option value="" selected[chosen.is_none()] { "All lines" }
                        @for (name, _, id) in &routes { option value=(name) selected[is_chosen(name, id)] { (name) } }
                    }
                    button.button.plain.compact type="submit" { "Show" }
                }
            }
            (self.render_platforms())
        }
    }

    /// Renders a notice about unreliable predictions; the page's script shows and hides it as the states change.
    fn render_unreliable_data_notice(&self) -> Markup {
        let state = self.network.state();
        let feeds = network_page::find_realtime_feeds_of_records(
            self.app,
            self.network,
            &state,
            state.trip_updates(),
        );
        network_page::render_unreliable_times_banner(
            self.app,
            &feeds,
            self.time_zone(),
            !self.departures.is_empty(),
        )
    }

    /// Renders the feeds of this board and their states.
    fn render_source_feeds(&self) -> Markup {
        let feeds = self.network.feeds();
        html! {
            details.sources {
                summary { "Details" }
                ul {
                    @for feed in &feeds {
                        @let status = feed.status();
                        @let id = feed.config().id.as_str();
                        li {
                            a href=(format!("/feeds/{id}")) { (feed.config().display_name()) }
                            (states::render_live_state(id, status.state))
                            span.soft data-reason-of=(id) hidden[status.state == FeedState::Ok] { (status.reason) }
                            span.soft { "data " (states::render_data_age(feed, &status, self.app.now())) }
                        }
                    }
                }
            }
        }
    }

    /// Renders links to the boards of a station's platforms.
    fn render_platforms(&self) -> Markup {
        let mut named: BTreeMap<(usize, &str), &str> = BTreeMap::new();
        for child in self.timetable.child_stops(self.stop) {
            let stop = self.timetable.stop(*child);
            if let Some(code) = stop.platform_code.filter(|_| stop.location_type == 0) {
                named.insert((code.len(), code), stop.id);
            }
        }
        html! {
            @if named.len() > 1 {
                nav.platforms aria-label="Boards by platform" {
                    span.soft.small { "Only one platform:" }
                    @for ((_, code), id) in &named { a.platform-link href=(departure_board_url(self.network_id(), id)) { (code) } }
                }
            }
        }
    }

    fn page_script_data(&self) -> serde_json::Value {
        let feeds: Vec<String> =
            self.network.feeds().iter().map(|feed| feed.config().id.as_str().to_owned()).collect();
        let id = self.timetable.stop(self.stop).id;
        json!({
            "now": self.network.data_time_now().0,
            "rate": self.network.replay_rate(),
            "wall": self.app.now().0,
            "channel": format!("stop/{}/{}", self.network_id(), encode_segment(id)),
            "departures": format!("{}?limit={}", self.departures_api_url(), self.options.limit),
            "timezone": self.timetable.timezone_name(),
            "schedule": self.network_id(),
            "lines": self.options.lines,
            "after": self.window.from,
            "limit": self.options.limit,
            "feeds": feeds,
        })
    }
}

/// Returns the sentence of a board of the present without departures.
pub(super) fn no_departures_reason(network: &Network) -> &'static str {
    match network_page::ended_timetable_last_day(network) {
        Some(_) if network.state().has_feed_without_matches() => {
            "No departures are known: the live data have no trips that stop here."
        }
        Some(_) => "No departures are known.",
        None => "No departures in the next two hours.",
    }
}
