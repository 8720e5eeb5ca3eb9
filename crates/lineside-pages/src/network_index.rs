//! `/networks`: the networks whose lines and stops riders can look up, with their modes, vehicles and alerts.

use std::collections::BTreeSet;

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;
use jiff::civil::Date;
use lineside_http::app::App;
use lineside_ingest::Network;
use lineside_model::{FeedState, RouteMode, fold_for_search};
use maud::{Markup, html};

use super::alert_source::outdated_live_data_time;
use super::layout::{self, NavSection, PageLayout};
use super::states::TimetableCountdown;
use super::{favourites, network_page, states, words};
use crate::alerts;
use crate::links;
use crate::links::network_page_url;
use crate::network_names;
use crate::vehicle_selection::count_reliable_vehicles;

/// Networks that the catalog names; the index lists all.
const NAMED_MAX: usize = 5;

/// One network of the list.
struct NetworkEntry {
    id: String,
    name: String,
    modes: BTreeSet<RouteMode>,
    n_lines: usize,
    /// The last service day, if that is past.
    ended: Option<Date>,
    n_vehicles: usize,
    /// Those of the vehicles that report no position.
    n_unplaced: usize,
    /// True if the network plays a recording.
    is_recording: bool,
    /// True if that recording has ended.
    is_recording_over: bool,
    n_alerts: usize,
    /// The local day of its newest live data if they are out of date.
    live_end: Option<String>,
    /// The state of its schedule, and the days until the timetable begins and ends.
    service: Option<(FeedState, TimetableCountdown)>,
    recording: Markup,
}

impl NetworkEntry {
    /// Builds the entry of a network whose timetable has been read; `None` before that.
    fn new(app: &App, network: &Network) -> Option<Self> {
        let timetable = network.timetable()?;
        let schedule = network.first_feed();
        let kinds = timetable.routes().map(|route| RouteMode::from_route_type(route.kind));
        Some(Self {
            id: network.id().to_string(),
            name: network_names::network_name(app, network),
            modes: kinds.collect(),
            n_lines: timetable.routes().len(),
            ended: network_page::ended_timetable_last_day(network),
            n_vehicles: count_reliable_vehicles(network, |_| true),
            n_unplaced: count_reliable_vehicles(network, |record| record.position().is_none()),
            is_recording: network.replayed_time_now().is_some(),
            is_recording_over: network.replay_ended_at().is_some(),
            n_alerts: count_active_alerts(network),
            live_end: outdated_live_data_time(network)
                .map(|at| words::format_day_of_time(at, &words::network_zone(network))),
            service: schedule
                .map(|feed| (feed.status().state, TimetableCountdown::for_feed(&feed))),
            recording: states::render_recording_tag(network),
        })
    }

    fn render_network_entry(&self) -> Markup {
        let modes: Vec<String> = self
            .modes
            .iter()
            .enumerate()
            .map(|(at, mode)| match words::mode_lines_heading(*mode) {
                first if at == 0 => first.to_owned(),
                other => other.to_lowercase(),
            })
            .collect();
        html! {
            li data-network=(self.id) data-ended=[self.ended] {
                a.target href=(network_page_url(&self.id)) { (self.name) }
                @if let Some((state, service)) = self.service.filter(|_| self.ended.is_none()) { " " (states::render_timetable_validity_tag(&self.id, service, state)) }
                " " (self.recording)
                div.soft.small {
                    @if !modes.is_empty() { (modes.join(", ")) " · " }
                    (words::format_count(self.n_lines as u64, "line", "lines"))
                    @if let Some(day) = self.ended { " · timetable ended " time datetime=(day) { (day.strftime("%B %Y")) } }
                    @if let Some(day) = &self.live_end { " · last live data from " span.nowrap data-live-end { (day) } }
                    @if self.n_vehicles > 0 { " · " (words::format_count(self.n_vehicles as u64, "vehicle", "vehicles")) }
                    @if self.n_unplaced > 0 && self.n_unplaced == self.n_vehicles { ", none with a position" }
                    @else if self.n_unplaced > 0 { ", " (words::format_number(self.n_unplaced as u64)) " of them without a position" }
                    @if self.n_alerts > 0 { " · " a.target href=(links::network_alerts_url(&self.id)) { (words::format_count(self.n_alerts as u64, "alert", "alerts")) } }
                }
            }
        }
    }
}

impl NetworkEntry {
    /// Returns the key of the display order. Names are ordered regardless of case and accents.
    fn sort_key(&self) -> (bool, bool, String, String, String) {
        let folded = fold_for_search(&self.name);
        (
            !self.has_live_or_replayed_data(),
            self.ended.is_some(),
            folded,
            self.name.clone(),
            self.id.clone(),
        )
    }

    /// Returns true if something on the network's pages is live or replayed.
    fn has_live_or_replayed_data(&self) -> bool {
        self.is_recording || self.n_vehicles > 0 || self.n_alerts > 0
    }
}

pub(super) async fn get_networks(State(app): State<App>) -> Response {
    let all = app.ingest().networks();
    let mut entries: Vec<NetworkEntry> =
        all.iter().filter_map(|network| NetworkEntry::new(&app, network)).collect();
    // Networks that have something to show come first.
    entries.sort_by_cached_key(NetworkEntry::sort_key);
    let mut page = PageLayout::new("Networks", NavSection::Networks);
    page.description = Some("Lines, stops, departures and alerts of each network.".to_owned());
    page.styles = &["riders.css", favourites::STYLE];
    page.scripts = &[favourites::SCRIPT];
    let main = html! {
        div.page.riders {
            div.page-head.tight {
                h1 { "Networks" }
                p.soft { (describe_networks(&entries)) }
            }
            form.search role="search" action="/" {
                div.search-line {
                    label.visually-hidden for="q" { "Search networks, stops and lines" }
                    input.input #q type="search" name="q" placeholder="Networks, stops, lines" maxlength="100" autocomplete="off";
                    button.button type="submit" { "Search" }
                }
            }
            (favourites::render_list(None))
            section.card aria-label="Networks" {
                @if entries.is_empty() { p.board-empty { "No timetable has been loaded yet." } }
                ul.network-list { @for entry in &entries { (entry.render_network_entry()) } }
            }
        }
    };
    layout::reply_with_page(StatusCode::OK, page.render_document(&main))
}

/// Counts the networks, those with live or replayed data, and those with an ended timetable.
fn describe_networks(entries: &[NetworkEntry]) -> String {
    let count = |filter: fn(&NetworkEntry) -> bool| {
        let n = entries.iter().filter(|entry| filter(entry)).count();
        words::format_number(n as u64)
    };
    let total = words::format_count(entries.len() as u64, "network", "networks");
    let mut text = format!(
        "{total}, {} with live data",
        count(|entry| entry.has_live_or_replayed_data() && !entry.is_recording)
    );
    let is_playing = |entry: &NetworkEntry| entry.is_recording && !entry.is_recording_over;
    if entries.iter().any(is_playing) {
        text += &format!(", {} replayed from a recording", count(is_playing));
    }
    if entries.iter().any(|entry| entry.is_recording_over) {
        text += &format!(", {} with a recording that has ended", count(|it| it.is_recording_over));
    }
    if entries.iter().any(|entry| entry.ended.is_some()) {
        text += &format!(", {} with an ended timetable", count(|entry| entry.ended.is_some()));
    }
    text + "."
}

/// Renders links for riders on the catalog of feeds; nothing if no timetable has been loaded.
pub(super) fn render_rider_links(app: &App) -> Markup {
    let mut all = app.ingest().networks();
    all.retain(|network| network.timetable().is_some());
    html! {
        @if !all.is_empty() {
            nav.rider-links aria-label="Lines, stops and departures" {
                span.soft { "Lines, stops and departures:" }
                @for network in all.iter().take(NAMED_MAX) {
                    a.target href=(network_page_url(network.id().as_str())) { (network_names::network_name(app, network)) }
                }
                a.target href="/networks" { "All networks" }
            }
        }
    }
}

/// Returns the number of active alerts of a network.
pub(super) fn count_active_alerts(network: &Network) -> usize {
    let now = network.data_time_now().unix_seconds();
    let state = network.state();
    let alerts = state.alerts().filter_map(|record| record.alert());
    alerts.filter(|alert| alerts::is_in_force(alert, now)).count()
}
