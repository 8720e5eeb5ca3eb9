//! `/feeds/<feed>`: one feed, in the order in which people ask. Is it good, what is it, how long is it valid, where is it,
//! whose is it, and how is it used; then what it says right now, and behind headings that open, everything else.

mod answers;
mod current;
mod polling;
mod publisher;
mod usage;

use std::sync::Arc;

use axum::extract::{Path, State};
use axum::http::{HeaderMap, StatusCode};
use axum::response::Response;
use jiff::tz::TimeZone;
use lineside_formats::gtfs::Timetable;
use lineside_formats::{Format, Losses};
use lineside_ingest::{Dataset, Feed, FeedId, FeedStatus, Network, Snapshot};
use lineside_sync::UnixMillis;
use maud::{Markup, html};
use serde_json::json;

use super::availability::{self, Past};
use super::languages::Languages;
use super::layout::{self, Page, Section};
use super::{
    addresses, assets, catalog, channels, files, losses, map, matches, networks, problems, report,
    states, words,
};
use crate::app::App;
use crate::delays::is_of_alerts;
use crate::http::{Parameters, remembered};
use crate::matches::Report;
use crate::queue::Standing;
use crate::reports::{Ahead, FeedReports};
use crate::validators::{self, Beside};

/// The source of the bundle, as the bundler's manifest calls it.
const BUNDLE: &str = "map/feed.js";

pub(super) async fn page(
    State(app): State<App>,
    Path(id): Path<String>,
    parameters: Parameters,
    headers: HeaderMap,
) -> Response {
    let (Some(feed), Some(network)) = (app.ingest().feed(&id), app.ingest().network_of(&id)) else {
        return layout::not_found("No feed has this name.");
    };
    let past = past(&app, &feed).await;
    let matched = matched(&feed, &network).await;
    let mut shown = Shown { past, matched, ..Shown::of(&app, feed, network, &headers) };
    shown.languages = Languages::of(&parameters, &headers);
    if let Some(report) = &shown.found.dataset {
        shown.others = validators::beside(&app, &shown.feed, report, true).await;
    }
    let map_data = map::feed_map_data(&app, &shown.feed, &shown.network);
    let name = shown.feed.config().display_name().to_owned();
    let mut page = Page::new(&name, Section::Catalog);
    page.description = Some(format!(
        "State, report, availability and downloads of the public-transport feed {name}."
    ));
    page.scripts = &["feed.js"];
    page.styles = &[report::STYLE, "feed.css"];
    page.bundle = map_data.as_ref().and_then(|_| assets::bundle(BUNDLE));
    page.alternates.push(("application/json", format!("/api/v1/feeds/{id}")));
    page.alternates.push(("application/atom+xml", format!("/feeds/{id}/incidents.atom")));
    let is_system = shown.feed.format() == Some(Format::Gbfs);
    page.gbfs = is_system.then(|| format!("/gbfs/{id}/3/gbfs.json"));
    layout::reply(
        StatusCode::OK,
        page.render(&shown.markup(map_data.as_ref(), page.bundle.is_some())),
    )
}

/// How many read a feed, as the dashboard last counted it; `None` for a feed that it has not counted yet.
fn readers(app: &App, id: &FeedId) -> Option<(u64, u64)> {
    let board = app.ops().board();
    let row = board.feeds.iter().find(|row| row.figures.id == *id)?;
    Some((row.figures.subscribers, row.figures.served.total))
}

/// The recorded history of polling; `None` while it cannot be read.
async fn past(app: &App, feed: &Arc<Feed>) -> Option<Past> {
    let (feed, now) = (Arc::clone(feed), app.now());
    let status = feed.status();
    let past = remembered(app, move |archive| Past::read(archive, feed.id(), now)).await;
    let mut past = past.ok()?;
    past.date_current(&status);
    Some(past)
}

/// How many of its ids the timetable has; only of real-time feeds.
async fn matched(feed: &Feed, network: &Network) -> Option<Report> {
    if !feed.format().is_some_and(Format::is_real_time) {
        return None;
    }
    Report::of(feed, network).await.ok()
}

/// A section of the page that opens: its heading is always shown, with a note beside it. `id` is inside the part that opens, so
/// that a browser opens it for a link to `#id`.
pub(super) fn fold(id: &str, title: &str, note: &Markup, is_open: bool, body: &Markup) -> Markup {
    let heading = format!("{id}-title");
    html! {
        section.card.fold aria-labelledby=(heading) {
            details open[is_open] {
                summary.card-head {
                    h2 id=(heading) { (title) }
                    span.soft.small { (note) }
                }
                div.fold-body id=(id) { (body) }
            }
        }
    }
}

/// A feed with everything that its page shows, taken once so that the page does not contradict itself.
struct Shown {
    feed: Arc<Feed>,
    network: Arc<Network>,
    status: Arc<FeedStatus>,
    /// The last good bytes as the producer sent them.
    snapshot: Option<Arc<Snapshot>>,
    /// The last good bytes in the feed's own format, after a converter.
    served: Option<Arc<Snapshot>>,
    /// The timetable, only of a schedule.
    timetable: Option<Arc<Timetable>>,
    dataset: Option<Arc<Dataset>>,
    past: Option<Past>,
    matched: Option<Report>,
    found: Arc<FeedReports>,
    /// Reports of the operator's own validators on its schedule.
    others: Vec<Beside>,
    /// Where its newest version is in the queue for validation.
    newer: Option<Standing>,
    /// What its first report waits for.
    ahead: Option<Ahead>,
    /// It has alerts and no trips.
    is_of_alerts: bool,
    languages: Languages,
    /// Open subscriptions to its channels, and requests for its data since the start.
    readers: Option<(u64, u64)>,
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
            served: feed.snapshot(),
            past: None,
            matched: None,
            found: app.reports().of(feed.id().as_str()).unwrap_or_default(),
            others: Vec::new(),
            newer: app.reports().standing(feed.id().as_str()),
            ahead: app.reports().ahead(&feed),
            is_of_alerts: is_of_alerts(app, &feed),
            languages: Languages::of(&Parameters::default(), headers),
            readers: readers(app, feed.id()),
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
        let current = self.current();
        html! {
            div.page.feed-page {
                (self.head())
                (self.contents_list(current.is_some()))
                div.feed-answers {
                    div.stack { (self.health()) (self.contents()) (self.validity()) }
                    div.stack { (self.area(map_data, has_bundle)) (self.publisher()) (self.usage()) }
                }
                div.stack {
                    @if let Some(current) = &current { (current) }
                    (self.reports())
                    (availability::card(self.id(), self.past.as_ref(), &self.zone()))
                    (matches::card(&self.feed, self.matched.as_ref()))
                    (files::card(&self.feed, self.now))
                    (problems::card(&self.feed.problems_with_parts(), self.snapshot.is_some(), self.is_converted()))
                    @if let Some(losses) = self.losses() { (losses::card(losses)) }
                    (self.polling())
                    (addresses::card(self.id(), self.format(), self.is_of_alerts))
                    (channels::card(self.id(), self.format(), self.timetable.as_deref()))
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

    /// Whether its timetable was made from another format, so that its tables are not the producer's files.
    fn is_converted(&self) -> bool {
        self.format() == Some(Format::Netex)
    }

    /// The elements of a NeTEx publication that its timetable lacks.
    fn losses(&self) -> Option<&Losses> {
        self.dataset.as_ref()?.losses.as_ref()
    }

    fn head(&self) -> Markup {
        let config = self.feed.config();
        let id = self.id();
        html! {
            div.page-head {
                p.crumbs { a href="/" { "Feeds" } (networks::crumb(&self.feed)) }
                h1 { (config.display_name()) }
                @if let Some(description) = &config.description { p #description { (description) } }
                div.feed-state {
                    (states::label(id, self.status.state))
                    span data-reason-of=(id) { (self.status.reason) }
                    (states::since(id, &self.status, &self.zone()))
                    (states::service_tag_of(&self.feed, self.status.state))
                    (states::recording_tag(&self.network))
                    a.small href=(format!("/feeds/{id}/incidents.atom")) type="application/atom+xml" { "Incidents as Atom" }
                    span.live #live data-status="off" { "Loaded at " (words::clock(self.now.seconds(), &self.zone())) }
                }
            }
        }
    }

    /// The table of contents.
    fn contents_list(&self, has_current: bool) -> Markup {
        let report = self.found.main().map(|found| format!("report-{}", found.subject.word()));
        let report = report.or_else(|| self.ahead.map(|_| "report-ahead".to_owned()));
        let mut entries: Vec<(String, &str)> = vec![
            ("health".to_owned(), "Health"),
            ("contents".to_owned(), "Contents"),
            ("validity".to_owned(), self.validity_title()),
            ("area".to_owned(), "Area"),
            ("publisher".to_owned(), "Publisher"),
            ("use".to_owned(), "Use"),
        ];
        if has_current {
            entries.push(("current".to_owned(), self.current_title()));
        }
        entries.extend(report.map(|id| (id, "Report")));
        let has_losses = self.losses().is_some_and(|losses| !losses.is_empty());
        let folds = [
            (true, "availability", "Availability"),
            (self.matched.is_some(), "matches", "Matching"),
            (self.feed.format() == Some(Format::Gbfs), "files", "Files"),
            (true, "problems", "Unreadable data"),
            (has_losses, "losses", "Conversion"),
            (true, "polling", "Polling"),
            (true, "addresses", "Addresses"),
            (true, "channels", "Channels"),
        ];
        let present = folds.into_iter().filter(|(is_there, _, _)| *is_there);
        entries.extend(present.map(|(_, id, title)| (id.to_owned(), title)));
        html! {
            nav.page-contents aria-label="On this page" {
                ul { @for (id, title) in &entries { li { a href={ "#" (id) } { (title) } } } }
            }
        }
    }

    /// The time zone of the network.
    fn zone(&self) -> TimeZone {
        words::zone_of(&self.network)
    }

    fn moment(&self, at: UnixMillis) -> Markup {
        words::time_at(at, &self.zone())
    }

    fn reports(&self) -> Markup {
        html! {
            @if let Some(found) = &self.found.dataset { (report::card(found, &self.others, self.newer, &[], &self.zone())) }
            @if let Some(found) = &self.found.realtime { (report::card(found, &[], self.newer, &report::around(&self.feed, &self.network), &self.zone())) }
            @if let Some(ahead) = self.ahead.filter(|_| self.found.main().is_none()) { (report::card_ahead(ahead)) }
        }
    }
}
