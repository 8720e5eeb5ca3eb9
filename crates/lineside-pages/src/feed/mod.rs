//! `/feeds/<feed>`: one feed, in the order of readers' questions: its health, contents, validity, area, publisher and
//! use; then its current records, and in folded sections everything else.

mod sections;
mod current_records;
mod polling;
mod publisher;
mod usage;

use std::sync::Arc;

use axum::Router;
use axum::extract::{Path, State};
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse as _, Redirect, Response};
use axum::routing::get;
use jiff::tz::TimeZone;
use lineside_formats::gtfs::Timetable;
use lineside_formats::{ConversionReport, Format};
use lineside_http::app::App;
use lineside_http::delay_replies::has_only_alerts;
use lineside_http::{QueryParameters, read_poll_archive};
use lineside_ingest::{Feed, Network};
use lineside_model::{Dataset, FeedBodySnapshot, FeedId, FeedStatus};
use lineside_quality::external_validators::ExternalComparison;
use lineside_quality::job_queue::JobStatus;
use lineside_quality::reports::{AwaitedReportPrerequisite, LatestFeedReports};
use lineside_quality::trip_matching::TripMatchingReport;
use lineside_quality::validation_tasks::collect_external_comparisons;
use lineside_sync::UnixMillis;
use maud::{Markup, html};
use serde_json::json;

use super::availability::{self, AvailabilityHistory};
use super::languages::PreferredLanguages;
use super::layout::{self, NavSection, PageLayout};
use super::{
    addresses, assets, channels, conversion_report, files, map, networks, problems, report, states,
    trip_matching, words,
};
use crate::not_found;
use crate::report_style;

/// The source of the bundle in the bundler's manifest.
const BUNDLE: &str = "map/feed.js";

pub(super) async fn get_feed(
    State(app): State<App>,
    Path(id): Path<String>,
    parameters: QueryParameters,
    headers: HeaderMap,
) -> Response {
    let (Some(feed), Some(network)) =
        (app.ingest().find_feed(&id), app.ingest().find_network_of_feed(&id))
    else {
        return not_found::reply_with_not_found_page("No feed has this id.");
    };
    let past = read_history(&app, &feed).await;
    let matched = match_report(&feed, &network).await;
    let mut shown =
        FeedView { polling_history: past, matched, ..FeedView::new(&app, feed, network, &headers) };
    shown.languages = PreferredLanguages::from_request(&parameters, &headers);
    if let Some(report) = &shown.reports.dataset {
        shown.external_reports =
            collect_external_comparisons(app.server_context(), &shown.feed, report, true).await;
    }
    let map_data = map::feed_map_data(&app, &shown.feed, &shown.network);
    let name = shown.feed.config().display_name().to_owned();
    let mut page = PageLayout::new(&name, NavSection::Catalog);
    page.description = Some(format!(
        "State, report, availability and downloads of the public-transport feed {name}."
    ));
    page.scripts = &["feed.js"];
    page.styles = &[report_style::STYLE, "feed.css"];
    page.bundle = map_data.as_ref().and_then(|_| assets::find_bundle(BUNDLE));
    page.alternates.push(("application/json", format!("/api/v1/feeds/{id}")));
    page.alternates.push(("application/atom+xml", format!("/feeds/{id}/incidents.atom")));
    let is_system = shown.feed.format().is_some_and(Format::is_shared_mobility);
    page.gbfs = is_system.then(|| format!("/gbfs/{id}/3/gbfs.json"));
    layout::reply_with_page(
        StatusCode::OK,
        page.render_document(&shown.render_feed_page(map_data.as_ref(), page.bundle.is_some())),
    )
}

/// Sections of the page that have an address of their own, which redirects to the page.
const SECTIONS: [&str; 3] = ["availability", "badge", "matches"];

pub(super) fn section_redirect_routes() -> Router<App> {
    SECTIONS.into_iter().fold(Router::new(), |router, section| {
        let redirect = async move |State(app): State<App>, Path(id): Path<String>| match app
            .ingest()
            .find_feed(&id)
        {
            Some(feed) => Redirect::to(&format!("/feeds/{}#{section}", feed.id())).into_response(),
            None => not_found::reply_with_not_found_page("No feed has this id."),
        };
        router.route(&format!("/feeds/{{feed}}/{section}"), get(redirect))
    })
}

/// Returns the subscribers and requests of a feed as the dashboard last counted them; `None` for a feed that it has not
/// counted yet.
fn subscriber_and_request_counts(app: &App, id: &FeedId) -> Option<(u64, u64)> {
    let board = app.ops_dashboard().current_snapshot();
    let row = board.feeds.iter().find(|row| row.overview.id == *id)?;
    Some((row.overview.subscribers, row.overview.served.total))
}

/// Reads the recorded history of polling; `None` if it cannot be read.
async fn read_history(app: &App, feed: &Arc<Feed>) -> Option<AvailabilityHistory> {
    let (feed, now) = (Arc::clone(feed), app.now());
    let status = feed.status();
    let past = read_poll_archive(app, move |archive| {
        AvailabilityHistory::from_archive(archive, feed.id(), now)
    })
    .await;
    let mut past = past.ok()?;
    past.align_with_status(&status);
    Some(past)
}

/// Returns the match report of a real-time feed with its timetable; `None` for other feeds.
async fn match_report(feed: &Feed, network: &Network) -> Option<TripMatchingReport> {
    if !feed.format().is_some_and(Format::is_realtime) {
        return None;
    }
    TripMatchingReport::for_feed(feed, network).await.ok()
}

/// A feed with the data of its page, read once so that the page does not contradict itself.
struct FeedView {
    feed: Arc<Feed>,
    network: Arc<Network>,
    status: Arc<FeedStatus>,
    /// The last good bytes as the producer sent them.
    snapshot: Option<Arc<FeedBodySnapshot>>,
    /// The last good bytes in the feed's own format, after a converter.
    served: Option<Arc<FeedBodySnapshot>>,
    /// The timetable of a schedule.
    timetable: Option<Arc<Timetable>>,
    dataset: Option<Arc<Dataset>>,
    polling_history: Option<AvailabilityHistory>,
    matched: Option<TripMatchingReport>,
    reports: Arc<LatestFeedReports>,
    /// Reports of the operator's own validators on its schedule.
    external_reports: Vec<ExternalComparison>,
    /// The state of its newest version in the queue for validation.
    newer_version_job: Option<JobStatus>,
    report_prerequisite: Option<AwaitedReportPrerequisite>,
    /// True if the feed has alerts and no trips.
    has_only_alerts: bool,
    languages: PreferredLanguages,
    /// Open subscriptions to its channels, and requests for its data since the start.
    n_readers: Option<(u64, u64)>,
    now: UnixMillis,
    base: String,
}

impl FeedView {
    fn new(app: &App, feed: Arc<Feed>, network: Arc<Network>, headers: &HeaderMap) -> Self {
        let status = feed.status();
        let is_schedule = status.format.is_some_and(Format::is_schedule);
        Self {
            timetable: network.timetable().filter(|_| is_schedule),
            dataset: network.dataset().filter(|_| is_schedule),
            snapshot: feed.producer_snapshot().map(|served| Arc::clone(served.snapshot())),
            served: feed.snapshot(),
            polling_history: None,
            matched: None,
            reports: app
                .latest_reports()
                .latest_reports_of_feed(feed.id().as_str())
                .unwrap_or_default(),
            external_reports: Vec::new(),
            newer_version_job: app.latest_reports().validation_job_status(feed.id().as_str()),
            report_prerequisite: app.latest_reports().awaited_report_prerequisite(&feed),
            has_only_alerts: has_only_alerts(app, &feed),
            languages: PreferredLanguages::from_request(&QueryParameters::default(), headers),
            n_readers: subscriber_and_request_counts(app, feed.id()),
            status,
            now: app.now(),
            base: app.base_url(headers),
            feed,
            network,
        }
    }

    fn feed_id(&self) -> &str {
        self.feed.config().id.as_str()
    }

    fn format(&self) -> Option<Format> {
        self.status.format.or(self.feed.config().format)
    }

    fn render_feed_page(&self, map_data: Option<&serde_json::Value>, has_bundle: bool) -> Markup {
        let current = self.render_current();
        // A schedule has more to say in the first column.
        let is_schedule = self.timetable.is_some();
        html! {
            div.page.feed-page {
                (self.render_feed_heading())
                (self.render_table_of_contents(current.is_some()))
                div.feed-answers {
                    div.stack { (self.render_health()) (self.render_contents()) (self.render_validity()) @if !is_schedule { (self.render_publisher()) } }
                    div.stack { (self.render_area(map_data, has_bundle)) @if is_schedule { (self.render_publisher()) } (self.render_usage()) }
                }
                div.stack {
                    @if let Some(current) = &current { (current) }
                    (self.render_reports())
                    (availability::render_availability_card(self.feed_id(), self.polling_history.as_ref(), &self.time_zone()))
                    (trip_matching::render_card(&self.feed, self.matched.as_ref()))
                    (files::render_gbfs_files_card(&self.feed, self.now))
                    (problems::render_card(&self.feed.problems_including_files(), self.snapshot.is_some(), self.is_converted_from_netex()))
                    @if let Some(losses) = self.conversion_report() { (conversion_report::render_card(losses)) }
                    (self.render_polling())
                    (addresses::render_feed_urls_card(self.feed_id(), self.format(), self.has_only_alerts))
                    (channels::render_card(self.feed_id(), self.format(), self.timetable.as_deref()))
                }
                (states::render_state_templates())
                (layout::render_script_data("feed-data", &json!({
                    "now": self.now.0,
                    "channels": [states::state_channel(&self.feed, self.format())],
                    "feeds": [self.feed_id()],
                })))
            }
        }
    }

    /// Returns true if the timetable was converted from another format, so that its tables are not the producer's
    /// files.
    fn is_converted_from_netex(&self) -> bool {
        self.format().is_some_and(Format::is_converted_to_gtfs)
    }

    /// Returns the elements of a NeTEx publication that its timetable lacks.
    fn conversion_report(&self) -> Option<&ConversionReport> {
        self.dataset.as_ref()?.conversion_report.as_ref()
    }

    fn render_feed_heading(&self) -> Markup {
        let config = self.feed.config();
        let id = self.feed_id();
        html! {
            div.page-head {
                p.crumbs { a href="/" { "Feeds" } (networks::render_network_breadcrumb(&self.feed)) }
                h1 { (config.display_name()) }
                @if let Some(description) = &config.description { p #description { (description) } }
                @else if config.name.is_none() && self.timetable.is_none() {
                    // An id alone does not say what the feed is about.
                    @if let Some(name) = self.network.first_feed().and_then(|feed| feed.config().name.clone()) { p #description { (states::format_display_name(self.format())) " of " (name) } }
                }
                div.feed-state {
                    (states::render_live_state_label(id, self.status.state))
                    span data-reason-of=(id) { (self.status.reason) }
                    (states::render_since(id, &self.status, &self.time_zone()))
                    (states::render_validity_tag_of_feed(&self.feed, self.status.state))
                    (states::render_recording_tag(&self.network))
                    a.small href=(format!("/feeds/{id}/incidents.atom")) type="application/atom+xml" { "Incidents as Atom" }
                    span.live #live data-status="off" { "Loaded at " (words::format_clock(self.now.unix_seconds(), &self.time_zone())) }
                }
            }
        }
    }

    /// Renders the table of contents, without the cards that are in view anyway.
    fn render_table_of_contents(&self, has_current: bool) -> Markup {
        let report = self
            .reports
            .dataset_or_realtime_report()
            .map(|found| format!("report-{}", found.subject.subject_kind_name()));
        let report = report.or_else(|| self.report_prerequisite.map(|_| "report-ahead".to_owned()));
        let mut entries: Vec<(String, &str)> = vec![
            ("health".to_owned(), "Health"),
            ("validity".to_owned(), self.validity_title()),
            ("use".to_owned(), "Use"),
        ];
        if has_current {
            entries.push(("current".to_owned(), self.current_title()));
        }
        entries.extend(report.map(|id| (id, "Report")));
        let has_losses = self.conversion_report().is_some_and(|losses| !losses.is_empty());
        let folds = [
            (true, "availability", "Availability"),
            (self.matched.is_some(), "matches", "Matching"),
            (self.feed.format().is_some_and(Format::is_shared_mobility), "files", "Files"),
            (true, "problems", "Unreadable data"),
            (has_losses, "losses", "Conversion"),
            (true, "polling", "Polling"),
            (true, "addresses", "Addresses"),
            (true, "channels", "Channels"),
        ];
        let present = folds.into_iter().filter(|(is_present, _, _)| *is_present);
        entries.extend(present.map(|(_, id, title)| (id.to_owned(), title)));
        html! {
            nav.page-contents aria-label="On this page" {
                ul { @for (id, title) in &entries { li { a href={ "#" (id) } { (title) } } } }
            }
        }
    }

    /// Returns true if the network plays a recording.
    fn is_replaying_recording(&self) -> bool {
        self.network.replayed_time_now().is_some()
    }

    /// Returns the time zone of the network.
    fn time_zone(&self) -> TimeZone {
        words::network_zone(&self.network)
    }

    fn render_time_in_network_zone(&self, at: UnixMillis) -> Markup {
        words::render_time_with_zone(at, &self.time_zone())
    }

    fn render_reports(&self) -> Markup {
        html! {
            @if let Some(found) = &self.reports.dataset { (report::render_card(found, &self.external_reports, self.newer_version_job, &[], &self.time_zone())) }
            @if let Some(found) = &self.reports.realtime { (report::render_card(found, &[], self.newer_version_job, &report::list_background_points(&self.feed, &self.network), &self.time_zone())) }
            @if let Some(ahead) = self.report_prerequisite.filter(|_| self.reports.dataset_or_realtime_report().is_none()) { (report::card_ahead(ahead)) }
        }
    }
}
