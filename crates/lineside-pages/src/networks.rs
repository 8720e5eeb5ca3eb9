//! `/networks/<feed>`: a network for riders: its lines by mode, its stops, and links to its other pages. `?q=` searches
//! lines and stops, `?page=` and `?lines=` select the pages of stops and of lines.

use std::collections::BTreeMap;
use std::sync::Arc;

use axum::extract::{Path, State};
use axum::response::Response;
use lineside_formats::gtfs::{Route, RouteIdx, StopIdx, Timetable};
use lineside_http::app::App;
use lineside_http::{QueryParameters, Refusal, run_blocking};
use lineside_ingest::{Feed, Network};
use lineside_model::{Dataset, RouteMode, StopSearchPage};
use maud::{Markup, html};

use super::alert_source::AlertFeedStatus;
use super::layout::{NavSection, PageLayout};
use super::{badge, favourites, network_page, states, words};
use crate::links;
use crate::network_index;
use crate::network_names;
use crate::not_found;
use crate::stop_lines::{line_termini, lines_at_stop, main_destinations};
use crate::words::mode_lines_heading;

const STOPS_PER_PAGE: usize = 50;
const LINES_PER_PAGE: usize = 300;
/// The most characters of a search that are used.
const SEARCH_CHARS_MAX: usize = 100;
/// Lines shown with a stop.
const STOP_LINES_MAX: usize = 8;

pub(super) async fn get_network(
    State(app): State<App>,
    Path(feed): Path<String>,
    parameters: QueryParameters,
) -> Response {
    match load_network_view(&app, &feed, &parameters).await {
        Ok(view) => {
            let mut page = PageLayout::new(&view.name, NavSection::Networks);
            page.styles = &["riders.css", favourites::STYLE];
            page.scripts = &[favourites::SCRIPT];
            page.description = Some(format!(
                "Lines and stops of {}, with departures, live vehicles and alerts.",
                view.name
            ));
            network_page::reply_with_localized_page(&page, &view.render_network_page())
        }
        Err(refusal) => not_found::reply_with_refusal_page(&refusal, false),
    }
}

async fn load_network_view(
    app: &App,
    feed: &str,
    parameters: &QueryParameters,
) -> Result<NetworkView, Refusal> {
    let (network, dataset) = network_page::find_network_and_schedule(app, feed)?;
    let query = NetworkQuery::from_parameters(parameters);
    let permit = app.admission().page_render_slots().acquire_permit().await?;
    let name = network_names::network_name(app, &network);
    run_blocking(move || {
        let _permit = permit;
        NetworkView::new(name, &network, dataset, query)
    })
    .await
}

/// Renders a link from the page of a schedule to that of its network.
pub(super) fn render_network_breadcrumb(feed: &Feed) -> Markup {
    html! { @if feed.is_schedule() { " › " a.target href=(format!("/networks/{}", feed.id())) { "Lines and stops" } } }
}

/// The query of a network's page.
#[derive(Debug, Clone, Default)]
struct NetworkQuery {
    text: String,
    /// Counted from 1.
    stops_page: usize,
    /// Counted from 1.
    lines_page: usize,
}

impl NetworkQuery {
    fn from_parameters(parameters: &QueryParameters) -> Self {
        let number = |name| parameters.find_value(name).and_then(|page| page.parse().ok());
        let search_text = parameters.find_value("q").unwrap_or_default();
        Self {
            text: search_text.chars().take(SEARCH_CHARS_MAX).collect(),
            stops_page: number("page").unwrap_or(1).max(1),
            lines_page: number("lines").unwrap_or(1).max(1),
        }
    }

    fn network_page_url(&self, feed: &str, stops_page: usize, lines_page: usize) -> String {
        let mut query = url::form_urlencoded::Serializer::new(String::new());
        if !self.text.is_empty() {
            query.append_pair("q", &self.text);
        }
        for (name, page) in [("lines", lines_page), ("page", stops_page)] {
            if page > 1 {
                query.append_pair(name, &page.to_string());
            }
        }
        let query = query.finish();
        let separator = if query.is_empty() { "" } else { "?" };
        format!("/networks/{feed}{separator}{query}")
    }
}

/// The data of a network's page.
struct NetworkView {
    id: String,
    name: String,
    dataset: Arc<Dataset>,
    query: NetworkQuery,
    /// The lines of the page, and the total number.
    lines: Vec<RouteIdx>,
    n_lines: usize,
    stops: StopSearchPage,
    n_alerts: usize,
    /// True if the network has a source of alerts.
    has_alerts: bool,
    /// The notice that a recording is played.
    recording: Markup,
    /// The notice that the timetable has ended, has not begun, or ends soon.
    timetable_end: Markup,
}

impl NetworkView {
    fn new(
        name: String,
        network: &Network,
        dataset: Arc<Dataset>,
        mut query: NetworkQuery,
    ) -> Self {
        let (mut lines, mut stops) = find_lines_and_stops(&dataset, &query);
        let last = stops.total.div_ceil(STOPS_PER_PAGE).max(1);
        if query.stops_page > last {
            query.stops_page = last;
            stops = find_lines_and_stops(&dataset, &query).1;
        }
        let n_lines = lines.len();
        query.lines_page = query.lines_page.min(n_lines.div_ceil(LINES_PER_PAGE).max(1));
        lines = lines
            .into_iter()
            .skip((query.lines_page - 1) * LINES_PER_PAGE)
            .take(LINES_PER_PAGE)
            .collect();
        let n_alerts = network_index::count_active_alerts(network);
        let timetable_end = network_page::render_timetable_validity_notice(network);
        let recording = states::render_recording_line(network);
        let id = network.id().to_string();
        let source = AlertFeedStatus::for_network(network);
        let has_alerts = matches!(source, AlertFeedStatus::Current | AlertFeedStatus::Outdated);
        Self {
            id,
            name,
            dataset,
            query,
            lines,
            n_lines,
            stops,
            n_alerts,
            has_alerts,
            recording,
            timetable_end,
        }
    }

    fn timetable(&self) -> &Timetable {
        &self.dataset.timetable
    }

    fn render_network_page(&self) -> Markup {
        let searches = !self.query.text.is_empty();
        html! {
            div.page.riders {
                (self.render_network_heading())
                (favourites::render_list(Some(&self.id)))
                form.search role="search" action=(format!("/networks/{}", self.id)) {
                    div.search-line {
                        label.visually-hidden for="q" { "Search lines and stops" }
                        input.input #q type="search" name="q" value=(self.query.text) placeholder="Lines and stops" maxlength=(SEARCH_CHARS_MAX) autocomplete="off";
                        button.button type="submit" { "Search" }
                    }
                    @if searches { p.small { a.target href=(format!("/networks/{}", self.id)) { "Show all lines and stops" } } }
                }
                @if let Some(corrected) = &self.stops.corrected {
                    p.note data-corrected=(corrected) { "Nothing is called “" (self.query.text) "”. Results for “" strong { (corrected) } "”:" }
                }
                @if searches && self.n_lines + self.stops.total == 0 { p.note { "No line or stop is called “" (self.query.text) "”." } }
                (self.render_lines())
                (self.render_stops())
            }
        }
    }

    fn render_network_heading(&self) -> Markup {
        html! {
            div.page-head.tight {
                p.crumbs { a href="/networks" { "Networks" } }
                h1 { (self.name) }
                nav.network-links aria-label="This network" {
                    a.target href=(format!("/map?network={}", self.id)) { "Map" }
                    a.target href=(format!("/delays/{}", self.id)) { "Delays" }
                    // Without a source of alerts, the page has none to show.
                    @if self.has_alerts { a.target href=(links::network_alerts_url(&self.id)) {
                        "Alerts" @if self.n_alerts > 0 { " " span.tag { (words::format_number(self.n_alerts as u64)) } }
                    } }
                    a.target href=(format!("/feeds/{}", self.id)) { "Data and sources" }
                }
                (self.recording)
                (self.timetable_end)
            }
        }
    }

    fn render_lines(&self) -> Markup {
        let mut modes: BTreeMap<RouteMode, Vec<Route<'_>>> = BTreeMap::new();
        for route in self.lines.iter().map(|line| self.timetable().route(*line)) {
            modes.entry(RouteMode::from_route_type(route.kind)).or_default().push(route);
        }
        let pages = self.n_lines.div_ceil(LINES_PER_PAGE);
        html! {
            @if self.n_lines > 0 {
                section.card aria-labelledby="lines-title" {
                    div.card-head { h2 #lines-title { "Lines" } span.soft.small { (words::format_count(self.n_lines as u64, "line", "lines")) } }
                    @for (mode, routes) in &modes {
                        div.mode data-mode=(mode_lines_heading(*mode)) {
                            h3 { (mode_lines_heading(*mode)) }
                            ul.line-list {
                                @for route in routes {
                                    li {
                                        a.line-entry href=(links::line_page_url(&self.id, route.id)) {
                                            (badge::render_route_badge(route.display_name(), route.color))
                                            @if !route.long_name.is_empty() && route.long_name != route.display_name() { span { (words::shorten_name(route.long_name)) } }
                                            @else if let Some(termini) = line_termini(self.timetable(), route.idx) { span data-termini { (termini) } }
                                        }
                                    }
                                }
                            }
                        }
                    }
                    @if pages > 1 { (self.render_pager(self.query.lines_page, pages, "lines", |page| self.query.network_page_url(&self.id, self.query.stops_page, page))) }
                }
            }
        }
    }

    fn render_stops(&self) -> Markup {
        let pages = self.stops.total.div_ceil(STOPS_PER_PAGE);
        html! {
            @if self.stops.total > 0 {
                section.card aria-labelledby="stops-title" {
                    div.card-head { h2 #stops-title { "Stops" } span.soft.small { (words::format_count(self.stops.total as u64, "stop", "stops")) } }
                    @if pages > 1 && self.query.text.is_empty() { (self.render_initials()) }
                    @let (served, unserved) = self.split_stops_without_lines();
                    @if !served.is_empty() { ul.stop-list { @for group in self.group_stops_by_name(served) { (self.render_same_name_stops(group)) } } }
                    @if !unserved.is_empty() {
                        h3.stops-unserved { "Stops without trips in the timetable" }
                        ul.stop-list data-unserved=(unserved.len()) { @for stop in unserved { (self.render_stop(*stop, false)) } }
                    }
                    @if pages > 1 { (self.render_pager(self.query.stops_page, pages, "stops", |page| self.query.network_page_url(&self.id, page, self.query.lines_page))) }
                }
            }
        }
    }

    /// Splits the stops of the page at the first one without lines; those are last.
    fn split_stops_without_lines(&self) -> (&[StopIdx], &[StopIdx]) {
        let stops = &self.stops.stops;
        let is_served = |stop: &StopIdx| !lines_at_stop(self.timetable(), *stop).is_empty();
        let n_served = stops.iter().position(|stop| !is_served(stop)).unwrap_or(stops.len());
        stops.split_at(n_served)
    }

    /// Renders links to the pages on which the names with an initial begin.
    fn render_initials(&self) -> Markup {
        html! {
            nav.stop-initials aria-label="Stops by first letter" {
                @for (initial, at) in self.dataset.stop_name_initials() {
                    @let page = at / STOPS_PER_PAGE + 1;
                    a.target href={ (self.query.network_page_url(&self.id, page, self.query.lines_page)) "#stops-title" } {
                        @if initial == '0' { "0–9" } @else { (initial.to_uppercase()) }
                    }
                }
            }
        }
    }

    /// Splits stops where their names change.
    fn group_stops_by_name<'a>(&self, stops: &'a [StopIdx]) -> impl Iterator<Item = &'a [StopIdx]> {
        let name = |stop: &StopIdx| self.timetable().stop(*stop).name;
        stops.chunk_by(move |a, b| !name(a).is_empty() && name(a) == name(b))
    }

    /// Renders the stops with one name: the name once, and under it a link to each.
    fn render_same_name_stops(&self, stops: &[StopIdx]) -> Markup {
        let name = stops.first().map_or("", |stop| self.timetable().stop(*stop).name);
        html! {
            @match stops {
                [stop] => (self.render_stop(*stop, false)),
                _ => li.stop-group {
                    span { (name) }
                    ul { @for stop in stops { (self.render_stop(*stop, true)) } }
                },
            }
        }
    }

    /// `is_grouped`: the name of the stop is above a group of stops.
    fn render_stop(&self, idx: StopIdx, is_grouped: bool) -> Markup {
        let stop = self.timetable().stop(idx);
        let lines = lines_at_stop(self.timetable(), idx);
        let n_more = lines.len().saturating_sub(STOP_LINES_MAX);
        let towards = main_destinations(self.timetable(), idx)
            .filter(|_| self.is_stop_name_repeated(stop.name));
        html! {
            li {
                a.target href=(links::departure_board_url(&self.id, stop.id)) {
                    @if let Some(towards) = &towards { span.visually-hidden { (stop.name) " " } span data-towards { "towards " (towards) } }
                    @else { (if stop.name.is_empty() { stop.id } else { stop.name }) }
                }
                @if is_grouped && towards.is_none() { span.small data-towards="none" { "trips end here" } }
                @match stop.platform_code {
                    Some(platform) => span.soft.small data-stop-number { "platform " (words::shorten_name(platform)) },
                    None => @if let Some(number) = self.stop_code_or_number(idx) { span.soft.small data-stop-number { "stop " (number) } },
                }
                span.lines {
                    @for (name, color) in lines.iter().take(STOP_LINES_MAX) { (badge::render_route_badge(name, *color)) }
                    @if n_more > 0 { span.soft.small { "+" (n_more) } }
                }
            }
        }
    }

    /// Returns the number of a stop: its code, or for one of several stops with one name the last part of its id.
    fn stop_code_or_number(&self, idx: StopIdx) -> Option<&str> {
        let stop = self.timetable().stop(idx);
        let from_id = || {
            let number = stop.id.rsplit(':').next().unwrap_or(stop.id);
            Some(number).filter(|_| self.is_stop_name_repeated(stop.name))
        };
        stop.code.filter(|code| *code != stop.id).or_else(from_id)
    }

    /// Returns true if several stops of the page have this name.
    fn is_stop_name_repeated(&self, name: &str) -> bool {
        let names = self.stops.stops.iter().map(|stop| self.timetable().stop(*stop).name);
        names.filter(|other| *other == name).count() > 1
    }

    fn render_pager(
        &self,
        number: usize,
        pages: usize,
        what: &str,
        address: impl Fn(usize) -> String,
    ) -> Markup {
        html! {
            nav.pager aria-label=(format!("Pages of {what}")) {
                @if number > 1 { a.button.plain rel="prev" href=(address(number - 1)) { "Previous" } }
                span.soft { "Page " (number) " of " (pages) }
                @if number < pages { a.button.plain rel="next" href=(address(number + 1)) { "Next" } }
            }
        }
    }
}

/// Returns the sorted lines, and a page of the stops. A search is corrected only if it finds neither.
fn find_lines_and_stops(
    dataset: &Dataset,
    query: &NetworkQuery,
) -> (Vec<RouteIdx>, StopSearchPage) {
    let timetable = &dataset.timetable;
    let skip = (query.stops_page - 1).saturating_mul(STOPS_PER_PAGE);
    let mut stops = dataset.search_stops_page(&query.text, skip, STOPS_PER_PAGE);
    if query.text.is_empty() {
        let mut routes: Vec<Route<'_>> = timetable.routes().collect();
        routes.sort_by_key(|route| {
            let mode = RouteMode::from_route_type(route.kind);
            (mode, route.sort_order, route.display_name().len(), route.display_name(), route.id)
        });
        return (routes.into_iter().map(|route| route.idx).collect(), stops);
    }
    let mut lines = dataset.search_routes(&query.text);
    if let Some(corrected) = stops.corrected.take() {
        if lines.is_empty() {
            lines = dataset.search_routes(&corrected);
            stops.corrected = Some(corrected);
        } else {
            stops = StopSearchPage::default();
        }
    }
    (lines, stops)
}
