//! The search among the names of stops and lines.

use std::collections::{BTreeMap, BTreeSet};

use lineside_http::app::App;
use lineside_http::{Refusal, run_blocking};
use lineside_ingest::limits::SEARCH_LIMIT_MAX;
use lineside_ingest::{CatalogHit, CatalogHitKind, Feed, Network};
use lineside_model::{fold_for_search, matches_query};
use maud::{Markup, html};

use super::{badge, network_page, words};
use crate::links;
use crate::network_names;
use crate::stop_lines::lines_at_stop;
use crate::stop_lines::main_destinations;

/// Stops that a page lists, and lines that it lists.
const LISTED_MAX: usize = 8;
/// Those that a page of all results lists.
const ALL_LISTED_MAX: usize = 200;

/// Lines shown with a stop.
const LINES_MAX: usize = 8;

#[derive(Debug)]
pub(super) struct FoundStop {
    pub(super) feed: String,
    /// The name of its network.
    pub(super) network: String,
    /// The year in which its timetable ended, if it has.
    pub(super) ended: Option<i16>,
    pub(super) id: String,
    pub(super) name: String,
    /// Some of the lines that call there, with their colors: they tell two stops with one name apart.
    pub(super) lines: Vec<(String, Option<[u8; 3]>)>,
    /// The number of further lines.
    pub(super) n_more_lines: usize,
    /// The destinations of its trips, if another stop found in the network has the same name.
    pub(super) towards: Option<String>,
    /// True if another stop found in the network has the same name and no trip tells them apart.
    pub(super) shows_id: bool,
}

/// A line that was found.
#[derive(Debug)]
pub(super) struct FoundRoute {
    pub(super) feed: String,
    /// The name of its network.
    pub(super) network: String,
    /// The year in which its timetable ended, if it has.
    pub(super) ended: Option<i16>,
    pub(super) id: String,
    pub(super) name: String,
    pub(super) long_name: String,
    pub(super) color: Option<[u8; 3]>,
}

#[derive(Debug)]
pub(super) struct FoundNetwork {
    pub(super) id: String,
    pub(super) name: String,
}

/// The results of a search, and the feeds that contain them or whose schedule does.
#[derive(Debug, Default)]
pub(super) struct NameSearchResults {
    /// The networks with a timetable whose name or id has the words.
    pub(super) networks: Vec<FoundNetwork>,
    pub(super) stops: Vec<FoundStop>,
    pub(super) routes: Vec<FoundRoute>,
    /// Numbers of further stops and lines that are not listed.
    pub(super) n_more_stops: usize,
    pub(super) n_more_routes: usize,
    pub(super) feeds: BTreeSet<String>,
    /// The corrected search text, if the original finds nothing.
    pub(super) corrected: Option<String>,
}

/// Searches for words; an empty search finds nothing. Of stops and of lines, at most `listed_max` are listed.
fn find_matching_names(app: &App, question: &str, listed_max: usize) -> NameSearchResults {
    let results = app.ingest().search_catalog(question);
    let mut found =
        NameSearchResults { corrected: results.corrected, ..NameSearchResults::default() };
    for CatalogHit { feed, kind } in results.hits {
        let id = feed.id().to_string();
        match kind {
            CatalogHitKind::Feed => {}
            CatalogHitKind::Stop { id: stop, name } if found.stops.len() < listed_max => {
                found.stops.push(build_found_stop(app, &feed, stop, name));
            }
            CatalogHitKind::Route { id: route, .. } if found.routes.len() < listed_max => {
                found.routes.extend(build_found_route(app, &feed, &route));
            }
            CatalogHitKind::Stop { .. } => found.n_more_stops += 1,
            CatalogHitKind::Route { .. } => found.n_more_routes += 1,
        }
        found.feeds.insert(id);
    }
    disambiguate_namesakes(app, &mut found.stops);
    found.networks = find_matching_networks(app, found.corrected.as_deref().unwrap_or(question));
    found
}

fn find_matching_networks(app: &App, question: &str) -> Vec<FoundNetwork> {
    let networks = app.ingest().networks().into_iter();
    let named = networks.filter(|network| network.timetable().is_some()).map(|network| {
        let name = network_names::network_name(app, &network);
        FoundNetwork { id: network.id().to_string(), name }
    });
    let found = named.filter(|it| matches_query(&format!("{} {}", it.name, it.id), question));
    found.take(LISTED_MAX).collect()
}

/// Searches for words on a blocking thread: the names of a country may take milliseconds.
///
/// # Errors
///
/// Returns an error if too many searches are running.
pub(super) async fn search_names(app: &App, question: &str) -> Result<NameSearchResults, Refusal> {
    search_names_up_to(app, question, LISTED_MAX).await
}

/// Searches like [`search_names`], and lists all results.
///
/// # Errors
///
/// Returns an error if too many searches are running.
pub(super) async fn search_names_listing_all(
    app: &App,
    question: &str,
) -> Result<NameSearchResults, Refusal> {
    search_names_up_to(app, question, ALL_LISTED_MAX).await
}

async fn search_names_up_to(
    app: &App,
    question: &str,
    listed_max: usize,
) -> Result<NameSearchResults, Refusal> {
    if question.trim().is_empty() {
        return Ok(NameSearchResults::default());
    }
    let permit = app.admission().page_render_slots().acquire_permit().await?;
    let (app, question) = (app.clone(), question.to_owned());
    run_blocking(move || {
        let _permit = permit;
        find_matching_names(&app, &question, listed_max)
    })
    .await
}

fn build_found_stop(app: &App, feed: &Feed, id: String, name: String) -> FoundStop {
    let network = feed.network();
    let timetable = network.timetable();
    let stop =
        timetable.as_ref().and_then(|timetable| Some((timetable, timetable.find_stop(&id)?)));
    let mut lines =
        stop.map(|(timetable, stop)| lines_at_stop(timetable, stop)).unwrap_or_default();
    let n_more_lines = lines.len().saturating_sub(LINES_MAX);
    lines.truncate(LINES_MAX);
    FoundStop {
        feed: feed.id().to_string(),
        network: network_names::network_name(app, &network),
        ended: timetable_end_year(&network),
        id,
        name,
        lines,
        n_more_lines,
        towards: None,
        shows_id: false,
    }
}

/// Sets the destinations of stops that share their name and their network.
fn disambiguate_namesakes(app: &App, stops: &mut [FoundStop]) {
    let mut named: BTreeMap<(String, String), usize> = BTreeMap::new();
    for stop in &*stops {
        *named.entry((stop.feed.clone(), stop.name.clone())).or_default() += 1;
    }
    for stop in stops {
        if named.get(&(stop.feed.clone(), stop.name.clone())).is_some_and(|count| *count > 1) {
            stop.towards = app.ingest().find_network_of_feed(&stop.feed).and_then(|network| {
                let timetable = network.timetable()?;
                main_destinations(&timetable, timetable.find_stop(&stop.id)?)
            });
            stop.shows_id = stop.towards.is_none();
        }
    }
}

/// Returns the year in which the timetable of a network ended, if it has.
fn timetable_end_year(network: &Network) -> Option<i16> {
    network_page::ended_timetable_last_day(network).map(|day| day.year())
}

fn build_found_route(app: &App, feed: &Feed, id: &str) -> Option<FoundRoute> {
    let network = feed.network();
    let timetable = network.timetable()?;
    let route = timetable.route(timetable.find_route(id)?);
    Some(FoundRoute {
        feed: feed.id().to_string(),
        network: network_names::network_name(app, &network),
        ended: timetable_end_year(&network),
        id: id.to_owned(),
        name: route.display_name().to_owned(),
        long_name: route.long_name.to_owned(),
        color: route.color,
    })
}

impl NameSearchResults {
    /// Returns true if no network, stop or line was found.
    pub(super) fn is_empty(&self) -> bool {
        self.networks.is_empty() && self.stops.is_empty() && self.routes.is_empty()
    }

    fn render_routes(&self, question: &str) -> Markup {
        html! {
            @if !self.routes.is_empty() {
                section.card data-found="lines" {
                    h2 { "Lines" }
                    ul { @for route in &self.routes { (route.render_found_route()) } }
                    (render_further_results_link(question, self.n_more_routes, self.routes.len()))
                }
            }
        }
    }

    /// Renders the networks, stops and lines as cards.
    pub(super) fn render_search_results(&self, question: &str) -> Markup {
        html! {
            @if let Some(corrected) = &self.corrected {
                p.note data-corrected=(corrected) { "Nothing is called “" (question) "”. Results for “" strong { (corrected) } "”:" }
            }
            @if !self.is_empty() {
                div.found {
                    @if !self.networks.is_empty() {
                        section.card data-found="networks" {
                            h2 { "Networks" }
                            ul {
                                @for network in &self.networks {
                                    li data-network=(network.id) { a.target href=(links::network_page_url(&network.id)) { (network.name) } }
                                }
                            }
                        }
                    }
                    // Who enters the name of a line looks for the line.
                    @let is_line = self.routes.iter().any(|route| fold_for_search(&route.name) == fold_for_search(question));
                    @if is_line { (self.render_routes(question)) }
                    @if !self.stops.is_empty() {
                        section.card data-found="stops" {
                            h2 { "Stops" }
                            ul { @for stop in &self.stops { (stop.render_found_stop()) } }
                            (render_further_results_link(question, self.n_more_stops, self.stops.len()))
                        }
                    }
                    @if !is_line { (self.render_routes(question)) }
                }
            }
        }
    }
}

/// Renders the number of further results after `n_listed`, as a link to all of them if the page has a longer list.
fn render_further_results_link(question: &str, count: usize, n_listed: usize) -> Markup {
    let is_all = count + n_listed < SEARCH_LIMIT_MAX;
    let number = html! { (words::format_number(count as u64)) @if !is_all { " or more" } " more" };
    html! {
        @if count > 0 && n_listed <= LISTED_MAX {
            p.more.small data-more=(count) { a.target href=(format!("/?q={}&all=1", links::encode_query_value(question))) { (number) } }
        } @else if count > 0 {
            p.more.soft.small data-more=(count) { "and " (number) ": add a word to narrow the search." }
        }
    }
}

/// Renders the name of a result's network, and the year in which its timetable ended.
fn render_result_network(feed: &str, name: &str, ended: Option<i16>) -> Markup {
    html! {
        " " a.soft.small.target href=(links::network_page_url(feed)) { (name) }
        @if let Some(year) = ended { " " span.soft.small.nowrap data-ended=(year) { "ended " (year) } }
    }
}

impl FoundStop {
    /// Returns the address of its departure board.
    pub(super) fn departure_board_url(&self) -> String {
        links::departure_board_url(&self.feed, &self.id)
    }

    fn render_found_stop(&self) -> Markup {
        html! {
            li {
                span {
                    a.target href=(self.departure_board_url()) { (self.name) }
                    @if let Some(towards) = &self.towards { " " span.small { "towards " (towards) } }
                    @if self.shows_id { " " span.small data-stop-id { "stop " (self.id) } }
                    (render_result_network(&self.feed, &self.network, self.ended))
                }
                span.lines {
                    @for (name, color) in &self.lines { (badge::render_route_badge(name, *color)) }
                    @if self.n_more_lines > 0 { span.soft.small { "+" (self.n_more_lines) } }
                }
            }
        }
    }
}

impl FoundRoute {
    /// Returns the address of the line's page.
    pub(super) fn line_page_url(&self) -> String {
        links::line_page_url(&self.feed, &self.id)
    }

    pub(super) fn title(&self) -> &str {
        if self.long_name.is_empty() { &self.name } else { &self.long_name }
    }

    fn render_found_route(&self) -> Markup {
        html! {
            li {
                (badge::render_route_badge(&self.name, self.color))
                span {
                    a.target href=(self.line_page_url()) { (self.title()) }
                    (render_result_network(&self.feed, &self.network, self.ended))
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stop(n_more_lines: usize) -> FoundStop {
        FoundStop {
            feed: "city".to_owned(),
            network: "City".to_owned(),
            ended: None,
            id: "s1".to_owned(),
            name: "Harbour 168".to_owned(),
            lines: vec![("1".to_owned(), None)],
            n_more_lines,
            towards: None,
            shows_id: false,
        }
    }

    #[test]
    fn a_line_of_the_searched_name_is_before_stops_and_all_results_have_a_link() {
        let route = FoundRoute {
            feed: "city".to_owned(),
            network: "City".to_owned(),
            ended: Some(2019),
            id: "r".to_owned(),
            name: "168".to_owned(),
            long_name: String::new(),
            color: None,
        };
        let found = NameSearchResults {
            stops: vec![stop(0)],
            routes: vec![route],
            n_more_stops: 64,
            ..NameSearchResults::default()
        };
        let order = |question: &str| {
            let page = found.render_search_results(question).into_string();
            let place = |kind: &str| page.find(&format!("data-found=\"{kind}\"")).unwrap();
            assert!(page.contains(&format!("href=\"/?q={question}&amp;all=1\"")), "{page}");
            assert!(page.contains("data-ended=\"2019\""), "{page}");
            place("lines").cmp(&place("stops"))
        };
        assert_eq!(order("168"), std::cmp::Ordering::Less);
        assert_eq!(order("harbour"), std::cmp::Ordering::Greater);
    }

    #[test]
    fn a_stop_shows_the_number_of_further_lines() {
        assert!(stop(3).render_found_stop().into_string().contains(">+3<"));
        assert!(!stop(0).render_found_stop().into_string().contains(">+"));
    }
}
