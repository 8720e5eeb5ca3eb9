//! `/feeds/<feed>`: everything about one feed.

use std::sync::Arc;

use axum::extract::{Path, State};
use axum::http::{HeaderMap, StatusCode};
use axum::response::Response;
use jiff::tz::TimeZone;
use lineside_formats::Format;
use lineside_formats::gtfs::Timetable;
use lineside_ingest::{Dataset, FailureCode, Feed, FeedStatus, FetchFailure, Network, Snapshot};
use lineside_sync::UnixMillis;
use maud::{Markup, html};
use serde_json::json;

use super::availability::{self, Past};
use super::layout::{self, Page, Section};
use super::{
    addresses, assets, catalog, channels, files, losses, map, matches, problems, recipes, report,
    states, system, words,
};
use crate::app::App;
use crate::delays::is_of_alerts;
use crate::http::remembered;
use crate::matches::Report;
use crate::queue::Standing;
use crate::reports::{Ahead, Brief, FeedReports};
use crate::validators::{self, Beside};

/// The source of the bundle, as the bundler's manifest calls it.
const BUNDLE: &str = "map/feed.js";

pub(super) async fn page(
    State(app): State<App>,
    Path(id): Path<String>,
    headers: HeaderMap,
) -> Response {
    let (Some(feed), Some(network)) = (app.ingest().feed(&id), app.ingest().network_of(&id)) else {
        return layout::not_found("No feed has this name.");
    };
    let past = past(&app, &feed).await;
    let matched = matched(&feed, &network).await;
    let mut shown = Shown { past, matched, ..Shown::of(&app, feed, network, &headers) };
    if let Some(report) = &shown.found.dataset {
        shown.others = validators::beside(&app, &shown.feed, report, true).await;
    }
    let map_data = map::feed_map_data(&app, &shown.feed, &shown.network);
    let name = shown.feed.config().display_name().to_owned();
    let mut page = Page::new(&name, Section::Catalog);
    page.scripts = &["feed.js"];
    page.styles = &[report::STYLE];
    page.bundle = map_data.as_ref().and_then(|_| assets::bundle(BUNDLE));
    page.alternates.push(("application/json", format!("/api/v1/feeds/{id}")));
    let is_system = shown.feed.format() == Some(Format::Gbfs);
    page.gbfs = is_system.then(|| format!("/gbfs/{id}/3/gbfs.json"));
    layout::reply(
        StatusCode::OK,
        page.render(&shown.markup(map_data.as_ref(), page.bundle.is_some())),
    )
}

/// What is remembered of it, unless that cannot be read now.
async fn past(app: &App, feed: &Arc<Feed>) -> Option<Past> {
    let (feed, now) = (Arc::clone(feed), app.now());
    remembered(app, move |archive| Past::read(archive, feed.id(), now)).await.ok()
}

/// How much of what it names is in its timetable, if it names anything of one.
async fn matched(feed: &Feed, network: &Network) -> Option<Report> {
    if !feed.format().is_some_and(Format::is_real_time) {
        return None;
    }
    Report::of(feed, network).await.ok()
}

/// A feed with everything that its page says, taken once.
struct Shown {
    feed: Arc<Feed>,
    network: Arc<Network>,
    status: Arc<FeedStatus>,
    snapshot: Option<Arc<Snapshot>>,
    timetable: Option<Arc<Timetable>>,
    dataset: Option<Arc<Dataset>>,
    past: Option<Past>,
    matched: Option<Report>,
    found: Arc<FeedReports>,
    /// What other validators say of its schedule.
    others: Vec<Beside>,
    /// How far it is with the look at its newest version, if that is to come.
    newer: Option<Standing>,
    /// What its first report waits for.
    ahead: Option<Ahead>,
    /// It does not say what trips do.
    is_of_alerts: bool,
    now: UnixMillis,
    base: String,
}

impl Shown {
    fn of(app: &App, feed: Arc<Feed>, network: Arc<Network>, headers: &HeaderMap) -> Self {
        let status = feed.status();
        let is_schedule = status.format.is_some_and(Format::is_schedule);
        Self {
            timetable: network.timetable().filter(|_| is_schedule),
            dataset: network.dataset().filter(|_| is_schedule),
            snapshot: feed.as_sent().map(|held| Arc::clone(held.snapshot())),
            past: None,
            matched: None,
            found: app.reports().of(feed.id().as_str()).unwrap_or_default(),
            others: Vec::new(),
            newer: app.reports().standing(feed.id().as_str()),
            ahead: app.reports().ahead(&feed),
            is_of_alerts: is_of_alerts(app, &feed),
            status,
            now: app.now(),
            base: app.base_url(headers),
            feed,
            network,
        }
    }

    fn id(&self) -> &str {
        self.feed.config().id.as_str()
    }

    fn format(&self) -> Option<Format> {
        self.status.format.or(self.feed.config().format)
    }

    fn markup(&self, map_data: Option<&serde_json::Value>, has_bundle: bool) -> Markup {
        html! {
            div.page {
                (self.head())
                div.feed-grid {
                    div.stack {
                        (system::card(&self.feed, &self.network))
                        (self.take())
                        (availability::card(self.id(), self.past.as_ref(), &self.zone()))
                        (matches::card(&self.feed, self.matched.as_ref()))
                        (files::card(&self.feed, self.now))
                        (self.reports())
                        (problems::card(&self.feed.problems_with_parts(), self.snapshot.is_some()))
                        @if let Some(losses) = self.dataset.as_ref().and_then(|it| it.losses.as_ref()) { (losses::card(losses)) }
                        (addresses::card(self.id(), self.format(), self.is_of_alerts))
                        (channels::card(self.id(), self.format(), self.timetable.as_deref()))
                    }
                    div.stack {
                        @if let Some(data) = map_data { (small_map(data, has_bundle)) }
                        (self.counts())
                        (self.about())
                        (self.polling())
                    }
                }
                (states::templates())
                (layout::data_island("feed-data", &json!({
                    "now": self.now.0,
                    "channels": [catalog::state_channel(&self.feed, self.format())],
                    "feeds": [self.id()],
                })))
            }
        }
    }

    fn head(&self) -> Markup {
        let config = self.feed.config();
        let id = self.id();
        html! {
            div.page-head {
                p.crumbs { a href="/" { "Feeds" } }
                h1 { (config.display_name()) }
                div.feed-state {
                    (states::label(id, self.status.state))
                    span data-reason-of=(id) { (self.status.reason) }
                    span.soft.small { "since " (self.moment(self.status.since)) }
                    span.live #live data-status="off" { "As of this page" }
                }
                (self.in_brief())
            }
        }
    }

    /// The way to the report, which stands further down.
    fn in_brief(&self) -> Markup {
        html! {
            @if let Some(found) = self.found.main() {
                p { "Report: " a href={ "#report-" (found.subject.word()) } { (report::in_brief(&Brief::of(found))) } }
            } @else if self.ahead.is_some() {
                p { "Report: " a href="#report-ahead" { "not looked at yet" } }
            }
        }
    }

    /// The zone of the network's times.
    fn zone(&self) -> TimeZone {
        words::zone_of(&self.network)
    }

    fn moment(&self, at: UnixMillis) -> Markup {
        words::time_at(at, &self.zone())
    }

    fn optional_moment(&self, at: Option<UnixMillis>) -> Markup {
        html! {
            @match at {
                Some(at) => (self.moment(at)),
                None => span.soft { "not yet" },
            }
        }
    }

    /// Lines to copy.
    fn take(&self) -> Markup {
        html! {
            section.card aria-labelledby="take-title" {
                h2 #take-title { "Take this feed" }
                div.card-body {
                    @for recipe in recipes::recipes(&self.base, self.id(), self.format()) {
                        div.recipe {
                            h3 { (recipe.title) }
                            p { (recipe.what) }
                            div.copy {
                                code tabindex="0" data-recipe=(recipe.name) { (recipe.line) }
                                button.button.plain.compact type="button" data-copy hidden { "Copy" }
                            }
                        }
                    }
                }
            }
        }
    }

    fn counts(&self) -> Markup {
        let counts = self.row_counts();
        html! {
            @if !counts.is_empty() {
                section.card aria-labelledby="counts-title" {
                    h2 #counts-title { "Holds" }
                    dl.counts {
                        @for (what, count) in counts { div { dt { (what) } dd { (words::number(count)) } } }
                    }
                }
            }
        }
    }

    fn row_counts(&self) -> Vec<(String, u64)> {
        if let Some(timetable) = &self.timetable {
            return timetable
                .row_counts()
                .iter()
                .map(|(file, rows)| (file.to_string(), *rows))
                .collect();
        }
        if !self.format().is_some_and(Format::is_real_time) {
            return Vec::new();
        }
        let state = self.network.state();
        let of = |records: usize| u64::try_from(records).unwrap_or(u64::MAX);
        let id = self.id();
        let counts = [
            ("vehicles", of(state.vehicles().filter(|record| record.feed.as_str() == id).count())),
            (
                "trip updates",
                of(state.trip_updates().filter(|record| record.feed.as_str() == id).count()),
            ),
            ("alerts", of(state.alerts().filter(|record| record.feed.as_str() == id).count())),
        ];
        counts
            .into_iter()
            .filter(|(_, count)| *count > 0)
            .map(|(what, count)| (what.to_owned(), count))
            .collect()
    }

    fn about(&self) -> Markup {
        let config = self.feed.config();
        let info = self.timetable.as_ref().and_then(|timetable| timetable.feed_info());
        html! {
            section.card aria-labelledby="about-title" {
                h2 #about-title { "About" }
                dl.facts.card-body {
                    dt { "Id" } dd.mono { (config.id) }
                    dt { "Format" } dd {
                        (states::format_name(self.format()))
                        @if let Some(converter) = &config.converter {
                            span.soft { ", converted from " (converter.from) " by " }
                            span.mono { (converter.program.name()) }
                        }
                    }
                    dt { "Publisher" } dd { (config.publisher.as_deref().or(info.map(|info| &*info.publisher_name)).unwrap_or("not said")) }
                    dt { "Licence" } dd { (config.licence.as_deref().unwrap_or("not said")) }
                    @if let Some(theme) = &config.theme { dt { "Theme" } dd { (theme) } }
                    dt { "Source" } dd.mono { (config.url) }
                    (self.secrets())
                    (self.network_row())
                    @if let Some(timetable) = &self.timetable { (schedule_rows(timetable)) }
                }
            }
        }
    }

    fn every(&self) -> String {
        let config = self.feed.config();
        match (self.format(), config.poll) {
            (Some(Format::Gbfs), None) => "as often as each file's ttl says".to_owned(),
            _ => words::span(config.poll_interval(self.format()).as_secs()),
        }
    }

    /// What its producer is asked at most.
    fn budget(&self) -> Markup {
        let config = self.feed.config();
        html! {
            @if let Some(rate) = config.rate { dt { "At most" } dd.numeric { (rate) span.soft { " over all feeds of its host and credential" } } }
            @if config.serial { dt { "Its host" } dd { "is never asked twice at a time" } }
        }
    }

    /// That there are secrets, and their names; never their values.
    fn secrets(&self) -> Markup {
        let config = self.feed.config();
        let pairs = config.headers.iter().chain(&config.query).map(|(name, _)| name.as_str());
        let basic = config.basic.as_ref().map(|_| "user and password");
        let oauth2 = config.oauth2.as_ref().map(|_| "OAuth2 token");
        let names: Vec<&str> = pairs.chain(basic).chain(oauth2).collect();
        html! { @if !names.is_empty() { dt { "Sent along" } dd { (names.join(", ")) span.soft { " (values hidden)" } } } }
    }

    fn network_row(&self) -> Markup {
        let others: Vec<Arc<Feed>> = self
            .network
            .feeds()
            .into_iter()
            .filter(|feed| feed.config().id != self.feed.config().id)
            .collect();
        html! {
            @if !others.is_empty() {
                dt { "Together with" }
                dd {
                    ul {
                        @for feed in &others {
                            li { a href=(format!("/feeds/{}", feed.config().id)) { (feed.config().display_name()) } }
                        }
                    }
                }
            }
        }
    }

    /// What is wrong with it.
    fn reports(&self) -> Markup {
        html! {
            @if let Some(found) = &self.found.dataset { (report::card(found, &self.others, self.newer, &[], &self.zone())) }
            @if let Some(found) = &self.found.realtime { (report::card(found, &[], self.newer, &report::around(&self.feed, &self.network), &self.zone())) }
            @if let Some(ahead) = self.ahead.filter(|_| self.found.main().is_none()) { (report::card_ahead(ahead)) }
        }
    }

    fn polling(&self) -> Markup {
        let (status, counted) = (&self.status, self.feed.status_with_parts());
        html! {
            section.card aria-labelledby="polling-title" {
                h2 #polling-title { "Polling" }
                dl.facts.card-body {
                    dt { "Data" } dd { (catalog::data_age(&self.feed, &counted, self.now)) }
                    dt { "Last success" } dd { (self.optional_moment(status.last_success)) }
                    dt { "Last attempt" } dd { (self.optional_moment(status.last_attempt)) }
                    dt { "Next" } dd { (self.optional_moment(status.next_poll)) }
                    (self.budget())
                    dt { "Every" } dd { (self.every()) }
                    dt { "Asked" } dd.numeric { (words::count(counted.fetches, "time", "times")) ", " (words::number(counted.failures)) " without success" }
                    @if let Some(failure) = &status.last_error {
                        dt { "Last failure" } dd { strong { (failure.code) } ": " (failure.detail) }
                        (how_far(failure))
                    }
                    @if let Some(snapshot) = &self.snapshot {
                        dt { "Last good bytes" } dd { a href=(format!("/proxy/{}", self.id())) { (words::bytes(u64::try_from(snapshot.bytes.len()).unwrap_or(u64::MAX))) } ", " (snapshot.content_type) }
                    }
                }
            }
        }
    }
}

fn schedule_rows(timetable: &Timetable) -> Markup {
    html! {
        @if let Some((first, last)) = timetable.service_range() {
            dt { "Service" } dd.numeric { (first) " to " (last) }
        }
        dt { "Time zone" } dd { (timetable.timezone_name()) }
        @if let Some(version) = timetable.feed_info().and_then(|info| info.version.as_deref()) { dt { "Version" } dd { (version) } }
    }
}

fn small_map(data: &serde_json::Value, has_bundle: bool) -> Markup {
    html! {
        section.card aria-label="On the map" {
            @if has_bundle {
                div.mini-map.map #map {}
                (layout::data_island("map-data", data))
                noscript { p.card-body.soft { "The map needs scripts." } }
            } @else {
                p.card-body.soft { "This server was built without the map; " code { "cargo xtask build" } " makes one that has it." }
            }
        }
    }
}

/// How far the poll came, and what came instead of data.
fn how_far(failure: &FetchFailure) -> Markup {
    html! {
        @if let Some(phase) = failure.phase {
            dt { "It came as far as" }
            dd {
                (phase)
                @if let Some(status) = failure.status { ", status " (status) }
                @if failure.bytes > 0 { ", " (words::bytes(failure.bytes)) }
            }
        }
        @if let Some(head) = &failure.head {
            dt { (words::of_head(failure.code == FailureCode::Convert)) } dd { pre.mono.small { (head) } }
        }
    }
}
