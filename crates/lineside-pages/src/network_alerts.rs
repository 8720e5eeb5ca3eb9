//! `/alerts/<feed>`: the alerts of a network: affected lines and stops, active periods and languages. Active alerts
//! come first, the most severe before the others. `?page=` selects a page. Complete without scripts; with scripts,
//! `web/plain/live_page.js` reloads the page when an alert changes.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use axum::extract::{Path, State};
use axum::http::HeaderMap;
use axum::response::Response;
use jiff::civil::Date;
use jiff::tz::TimeZone;
use lineside_formats::gtfs::Timetable;
use lineside_formats::gtfs_rt::proto;
use lineside_http::app::App;
use lineside_http::delays::VehicleNoun;
use lineside_http::{QueryParameters, Refusal, lookup};
use lineside_ingest::Network;
use lineside_model::{Record, RouteMode};
use lineside_sync::UnixMillis;
use maud::{Markup, html};
use serde_json::json;

use super::alert_source::{AlertFeedStatus, outdated_live_data_time};
use super::alert_text::{language_name, list_unshown_languages, localized_alert_text};
use super::languages::PreferredLanguages;
use super::layout::{self, NavSection, PageLayout};
use super::{alert_periods, alerts, badge, icons, network_page, states, words};
use crate::links;
use crate::network_names;
use crate::not_found;

const ALERTS_PER_PAGE: usize = 30;
/// The most affected things shown of one alert.
const AFFECTED_MAX: usize = 40;
/// Feeds whose alerts the page follows.
const CHANNELS_MAX: usize = 16;
/// Seconds between reloads of the page without scripts.
const REFRESH_S: u32 = 60;

pub(super) async fn get_alerts(
    State(app): State<App>,
    Path(feed): Path<String>,
    parameters: QueryParameters,
    headers: HeaderMap,
) -> Response {
    let network = match find_transit_network(&app, &feed) {
        Ok(network) => network,
        Err(refusal) => return not_found::reply_with_refusal_page(&refusal, false),
    };
    let languages = PreferredLanguages::from_request(&parameters, &headers);
    let number = parameters.find_value("page").and_then(|page| page.parse().ok()).unwrap_or(1);
    let view = AlertsView {
        chosen_language: parameters.find_value("lang").map(str::to_owned),
        ..AlertsView::new(&app, &network, languages, number)
    };
    let title = format!("Alerts · {}", view.name);
    let mut page = PageLayout::new(&title, NavSection::Networks);
    page.styles = &["riders.css"];
    page.scripts = &["live_page.js"];
    page.refresh = Some(REFRESH_S);
    page.description = Some(format!(
        "Service alerts of {}: closures, detours and delays now in force.",
        view.name
    ));
    let id = network.id();
    page.alternates.push(("application/json", format!("/api/v1/state?channel=feed/{id}")));
    network_page::reply_with_localized_page(&page, &view.render_alerts_page())
}

/// Returns the network of a public-transport feed.
fn find_transit_network(app: &App, feed: &str) -> Result<Arc<Network>, Refusal> {
    lookup::find_decoded_feed(app, feed, "alerts")?;
    lookup::find_network(app, feed)
}

/// The phase of an alert, in display order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum AlertPhase {
    InForce,
    Upcoming,
    Past,
}

impl AlertPhase {
    fn for_alert(alert: &proto::Alert, now: i64) -> Self {
        if alerts::is_in_force(alert, now) {
            return Self::InForce;
        }
        let now = u64::try_from(now).unwrap_or(0);
        let is_ahead = |period: &proto::TimeRange| period.start.is_some_and(|start| start > now);
        if alert.active_period.iter().any(is_ahead) { Self::Upcoming } else { Self::Past }
    }

    fn phase_heading(self) -> &'static str {
        match self {
            Self::InForce => "Now",
            Self::Upcoming => "Upcoming",
            Self::Past => "Over",
        }
    }

    fn as_str(self) -> &'static str {
        match self {
            Self::InForce => "now",
            Self::Upcoming => "upcoming",
            Self::Past => "over",
        }
    }
}

/// The data of an alerts page.
struct AlertsView {
    id: String,
    name: String,
    timetable: Option<Arc<Timetable>>,
    zone: TimeZone,
    languages: PreferredLanguages,
    /// The alerts of the page, and the total number.
    alerts: Vec<(AlertPhase, Arc<Record>)>,
    total: usize,
    n_in_force: usize,
    number: usize,
    now: i64,
    /// The notice that a recording is played.
    recording: Markup,
    is_recording: bool,
    source: AlertFeedStatus,
    /// The time of the newest live data if they are out of date.
    live_end: Option<UnixMillis>,
    /// The feed of all alerts, if they have one feed.
    common_source: Option<String>,
    /// The language that the address names.
    chosen_language: Option<String>,
    /// Further languages of the alerts.
    other_languages: BTreeSet<String>,
    /// The names of the network's feeds, by id.
    feed_names: BTreeMap<String, String>,
}

impl AlertsView {
    fn new(app: &App, network: &Network, languages: PreferredLanguages, number: usize) -> Self {
        let now = network.data_time_now().unix_seconds();
        let state = network.state();
        let mut all: Vec<(AlertPhase, Arc<Record>)> = state
            .alerts()
            .filter_map(|record| {
                Some((AlertPhase::for_alert(record.alert()?, now), Arc::clone(record)))
            })
            .collect();
        let timetable = network.timetable();
        all.sort_by_cached_key(|(phase, record)| {
            let alert = record.alert();
            let start =
                alert.and_then(|it| it.active_period.iter().filter_map(|it| it.start).max());
            let line = alert.map(|alert| alert_line_sort_key(alert, timetable.as_deref()));
            (*phase, Reverse(alert.map_or(0, alerts::severity_rank)), line, Reverse(start))
        });
        let total = all.len();
        let n_now = all.iter().filter(|(phase, _)| *phase == AlertPhase::InForce).count();
        let number = number.clamp(1, total.div_ceil(ALERTS_PER_PAGE).max(1));
        let feeds = network.feeds();
        let names = feeds
            .iter()
            .map(|feed| (feed.id().to_string(), feed.config().display_name().to_owned()));
        let skipped = (number - 1) * ALERTS_PER_PAGE;
        let all_alerts = all.iter().filter_map(|(_, record)| record.alert());
        let other_languages = list_unshown_languages(all_alerts, &languages);
        let common_source = find_common_feed(all.iter().map(|(_, record)| &**record));
        Self {
            id: network.id().to_string(),
            name: network_names::network_name(app, network),
            timetable,
            zone: words::network_zone(network),
            languages,
            alerts: all.into_iter().skip(skipped).take(ALERTS_PER_PAGE).collect(),
            total,
            n_in_force: n_now,
            number,
            now,
            recording: states::render_recording_tag(network),
            is_recording: network.replayed_time_now().is_some(),
            source: AlertFeedStatus::for_network(network),
            live_end: outdated_live_data_time(network),
            common_source,
            chosen_language: None,
            other_languages,
            feed_names: names.collect(),
        }
    }

    /// Renders the first sentence of the page.
    fn render_active_count(&self) -> Markup {
        let count = words::format_count(self.n_in_force as u64, "alert", "alerts");
        let end = self.live_end.map(|at| {
            let (at, zone) = (at.unix_seconds(), &self.zone);
            html! { time data-live-end datetime=(words::format_rfc3339(at, zone)) { (words::format_clock_or_day(at, self.now, zone)) } }
        });
        html! {
            p.soft data-source=[self.source.missing_alerts_reason()] data-recorded[self.is_recording] {
                @match (self.source, end) {
                    (AlertFeedStatus::None, _) => "This network has a timetable and no real-time feed, so no alerts are known.",
                    (AlertFeedStatus::WithoutAlerts, _) if self.is_recording => "The recording contains no alerts.",
                    (AlertFeedStatus::WithoutAlerts, Some(end)) => { "The last live data of this network are from " (end) " and contain no alerts, so none are known now." },
                    (AlertFeedStatus::WithoutAlerts, None) => "The live data of this network contain no alerts, so none are known.",
                    (AlertFeedStatus::Outdated, Some(end)) if self.n_in_force == 0 => { "The last live data of this network are from " (end) ", so no alerts are known now." },
                    (AlertFeedStatus::Outdated, Some(end)) => { (count) " by the last live data, from " (end) ". They may be over." },
                    (AlertFeedStatus::Outdated, None) if self.n_in_force == 0 => "The live data of this network are out of date, so no alerts are known.",
                    _ if self.n_in_force == 0 => "No alerts now.",
                    _ => { (count) " now." },
                }
            }
        }
    }

    /// Renders links to the network's other pages in place of a list.
    fn render_network_links(&self) -> Markup {
        html! {
            @if self.total == 0 && self.timetable.is_some() {
                nav.network-links aria-label="Other pages of this network" {
                    a.target href=(format!("/networks/{}", self.id)) { "Lines and stops" }
                    a.target href=(format!("/delays/{}", self.id)) { "Delays" }
                }
            }
        }
    }

    fn render_alerts_page(&self) -> Markup {
        let pages = self.total.div_ceil(ALERTS_PER_PAGE);
        let address = |page: usize| self.alerts_page_url(page, self.chosen_language.as_deref());
        html! {
            div.page.riders #live-page {
                div.page-head.tight {
                    p.crumbs {
                        @match &self.timetable {
                            Some(_) => a href=(format!("/networks/{}", self.id)) { (self.name) },
                            None => a href=(format!("/feeds/{}", self.id)) { (self.name) },
                        }
                    }
                    h1 { "Alerts" }
                    (self.render_active_count())
                    p.answer-at {
                        (self.recording)
                        // Without a current source of alerts nothing on the page is live.
                        @if self.source == AlertFeedStatus::Current { span.live #live data-status="off" { "As of " time datetime=(words::format_rfc3339(self.now, &self.zone)) { (words::format_clock(self.now, &self.zone)) } } }
                    }
                    (self.render_languages())
                }
                (self.render_network_links())
                @for phase in [AlertPhase::InForce, AlertPhase::Upcoming, AlertPhase::Past] {
                    @let own: Vec<&Record> = self.alerts.iter().filter(|(of, _)| *of == phase).map(|(_, record)| &**record).collect();
                    @if !own.is_empty() {
                        section.alert-list data-phase=(phase.as_str()) aria-label=(phase.phase_heading()) {
                            h2 { (phase.phase_heading()) }
                            @for record in own { (self.render_alert(record)) }
                        }
                    }
                }
                @if pages > 1 {
                    nav.pager aria-label="Pages of alerts" {
                        @if self.number > 1 { a.button.plain rel="prev" href=(address(self.number - 1)) { "Previous" } }
                        span.soft { "Page " (self.number) " of " (pages) }
                        @if self.number < pages { a.button.plain rel="next" href=(address(self.number + 1)) { "Next" } }
                    }
                }
                @if let Some(feed) = &self.common_source { p.small.soft data-common-source=(feed) { (self.render_source(feed)) } }
                (states::render_state_templates())
                (layout::render_script_data("live-page-data", &self.page_script_data()))
            }
        }
    }

    fn render_alert(&self, record: &Record) -> Markup {
        let Some(alert) = record.alert() else { return html! {} };
        let header = localized_alert_text(&alert.header_text, &self.languages);
        let description = localized_alert_text(&alert.description_text, &self.languages);
        html! {
            article.alert.alert-entry data-alert=(record.id) data-severity=(alerts::severity_rank(alert)) data-phase=(AlertPhase::for_alert(alert, self.now).as_str()) {
                (icons::warning())
                @match &header {
                    Some(header) => h3 lang=[header.language()] { (header.as_str()) },
                    None => h3 { "Alert without a heading" },
                }
                @if let Some(description) = &description { p.alert-text lang=[description.language()] { (description.as_str()) } }
                (self.render_affected(alert))
                (alert_periods::render_periods_and_link(alert, &self.languages, self.now, &self.zone))
                @if self.common_source.is_none() {
                    details.small.soft { summary { "Source" } p { (self.render_source(record.feed.as_str())) } }
                }
            }
        }
    }

    /// Renders the feed of alerts.
    fn render_source(&self, feed: &str) -> Markup {
        let name = self.feed_names.get(feed).map_or(feed, String::as_str);
        html! { "From " a href=(format!("/feeds/{feed}")) { (name) } "." }
    }

    /// Renders links to this page in the other languages of the alerts.
    fn render_languages(&self) -> Markup {
        let n = self.other_languages.len();
        html! {
            @if n > 0 {
                p.small data-other-languages=(n) {
                    "Also in "
                    @for (at, language) in self.other_languages.iter().enumerate() {
                        @if at > 0 { @if at + 1 == n { " and " } @else { ", " } }
                        a.target href=(self.alerts_page_url(self.number, Some(language))) hreflang=(language) { (language_name(language)) }
                    }
                    "."
                }
            }
        }
    }

    fn alerts_page_url(&self, page: usize, language: Option<&str>) -> String {
        let mut query = url::form_urlencoded::Serializer::new(String::new());
        if page > 1 {
            query.append_pair("page", &page.to_string());
        }
        if let Some(language) = language {
            query.append_pair("lang", language);
        }
        let query = query.finish();
        let separator = if query.is_empty() { "" } else { "?" };
        format!("{}{separator}{query}", links::network_alerts_url(&self.id))
    }

    /// Returns the channels that the page's script follows.
    fn page_script_data(&self) -> serde_json::Value {
        let channels: Vec<String> =
            self.feed_names.keys().take(CHANNELS_MAX).map(|id| format!("alerts/{id}")).collect();
        json!({ "channels": channels })
    }

    /// Renders the lines, stops, trips, modes and agencies that an alert names.
    fn render_affected(&self, alert: &proto::Alert) -> Markup {
        let mut affected: Vec<Markup> = Vec::new();
        let mut known = std::collections::BTreeSet::new();
        for entity in &alert.informed_entity {
            for (key, markup) in self.describe_affected_entity(entity) {
                if known.insert(key) {
                    affected.push(markup);
                }
            }
        }
        let n_more = affected.len().saturating_sub(AFFECTED_MAX);
        html! {
            @if !affected.is_empty() {
                p.affected {
                    span.soft.small { "Affects " }
                    @for markup in affected.iter().take(AFFECTED_MAX) { (markup) " " }
                    @if n_more > 0 { span.soft.small { "and " (n_more) " more" } }
                }
            }
        }
    }

    fn describe_affected_entity(&self, entity: &proto::EntitySelector) -> Vec<(String, Markup)> {
        let given = |id: &Option<String>| id.clone().filter(|id| !id.is_empty());
        let timetable = self.timetable.as_deref();
        let mut all = Vec::new();
        if let Some(id) = given(&entity.route_id) {
            let route = timetable.and_then(|it| Some(it.route(it.find_route(&id)?)));
            let markup = match route {
                Some(it) => {
                    html! { a.line-link.target href=(links::line_page_url(&self.id, &id)) { (badge::render_route_badge(it.display_name(), it.color)) } }
                }
                None => html! { "line " (id) },
            };
            all.push((format!("route {id}"), markup));
        }
        if let Some(id) = given(&entity.stop_id) {
            let stop = timetable.and_then(|it| Some(it.stop(it.find_stop(&id)?)));
            let markup = match stop {
                Some(stop) => html! {
                    a.target href=(links::departure_board_url(&self.id, &id)) {
                        (if stop.name.is_empty() { stop.id } else { stop.name })
                        @if let Some(platform) = stop.platform_code { ", platform " (platform) }
                    }
                },
                None => html! { "a stop that the timetable does not have" },
            };
            let key = if stop.is_some() { format!("stop {id}") } else { "unknown stop".to_owned() };
            all.push((key, markup));
        }
        if let Some(trip) = &entity.trip
            && let Some(id) = given(&trip.trip_id)
        {
            let date = trip.start_date.as_deref().unwrap_or_default();
            let start = trip.start_time.as_deref().unwrap_or_default();
            let markup = html! { a.target href=(links::trip_page_url(&self.id, &id, date, start)) { (self.describe_trip(&id, date, start)) } };
            all.push((format!("trip {id} {date} {start}"), markup));
        }
        if all.is_empty() {
            if let Some(kind) = entity.route_type {
                let kind = u16::try_from(kind).unwrap_or(u16::MAX);
                let noun = VehicleNoun::for_route_types([kind].into_iter()).many;
                all.push((
                    format!("mode {:?}", RouteMode::from_route_type(kind)),
                    html! { "all " (noun) },
                ));
            }
            if let Some(id) = given(&entity.agency_id) {
                let name = timetable.and_then(|it| {
                    it.agencies()
                        .find(|agency| agency.id == id)
                        .map(|agency| agency.name.to_owned())
                });
                all.push((format!("agency {id}"), html! { (name.unwrap_or(id.clone())) }));
            }
        }
        all
    }

    /// Describes a trip by its start and its destination, because its id means nothing to riders.
    fn describe_trip(&self, id: &str, date: &str, start: &str) -> String {
        let scheduled = self.timetable.as_deref().and_then(|it| Some((it, it.find_trip(id)?)));
        let Some((timetable, trip)) = scheduled else {
            return links::parse_gtfs_time(start)
                .map_or_else(|| "a trip".to_owned(), |_| format!("the trip at {start}"));
        };
        let date = Date::strptime("%Y%m%d", date).unwrap_or(timetable.local_date_at(self.now));
        let seconds = links::parse_gtfs_time(start).or_else(|| timetable.trip_start_time(trip));
        let clock = seconds.map(|seconds| {
            words::format_clock(timetable.service_time_to_unix(date, seconds), &self.zone)
        });
        let last =
            timetable.trip_stop_times(trip).last().map(|call| timetable.stop(call.stop).name);
        let to = timetable.trip(trip).headsign.or(last).map(words::shorten_name);
        match (clock, to) {
            (Some(clock), Some(to)) => format!("{clock} to {to}"),
            (Some(clock), None) => format!("the trip at {clock}"),
            (None, Some(to)) => format!("to {to}"),
            (None, None) => "a trip".to_owned(),
        }
    }
}

/// Returns the feed of several alerts, if they have one feed.
fn find_common_feed<'a>(mut records: impl Iterator<Item = &'a Record>) -> Option<String> {
    let feed = records.next()?.feed.to_string();
    records.all(|record| record.feed.as_str() == feed).then_some(feed)
}

/// Returns the key that orders alerts by their first line; those without a line are last.
fn alert_line_sort_key(alert: &proto::Alert, timetable: Option<&Timetable>) -> impl Ord + use<> {
    let ids = alert.informed_entity.iter().filter_map(|it| it.route_id.as_deref());
    let routes = ids.filter_map(|id| timetable.and_then(|it| Some(it.route(it.find_route(id)?))));
    let names = routes.map(|route| {
        let name = route.display_name();
        (route.sort_order, name.len(), name.to_owned())
    });
    let first = names.min();
    (first.is_none(), first)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_alert_is_in_force_upcoming_or_past() {
        let period = |start, end| proto::TimeRange { start, end };
        let phase = |periods: Vec<proto::TimeRange>| {
            let alert = proto::Alert { active_period: periods, ..proto::Alert::default() };
            AlertPhase::for_alert(&alert, 1_000)
        };
        assert_eq!(phase(vec![]), AlertPhase::InForce);
        assert_eq!(phase(vec![period(Some(900), None)]), AlertPhase::InForce);
        assert_eq!(phase(vec![period(Some(1_100), None)]), AlertPhase::Upcoming);
        assert_eq!(phase(vec![period(None, Some(900))]), AlertPhase::Past);
        assert_eq!(
            phase(vec![period(None, Some(900)), period(Some(2_000), None)]),
            AlertPhase::Upcoming
        );
    }
}
