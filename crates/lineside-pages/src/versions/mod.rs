//! `/feeds/<feed>/versions`: the validity of the served schedule, the trips of each of its days, and every published
//! version with its changes and a download.

mod calendar;
mod current;
mod timeline;

use std::sync::Arc;

use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::response::{IntoResponse as _, Response};
use jiff::civil::Date;
use jiff::tz::TimeZone;
use lineside_http::app::App;
use lineside_http::{
    QueryParameters, Refusal, find_schedule_with_calendar, limits, read_report_summaries,
    read_stored_versions,
};
use lineside_ingest::Feed;
use lineside_model::{Dataset, FeedId, ScheduleCountDifferences, ScheduleVersionFacts};
use lineside_quality::reports::ReportSummariesByVersion;
use lineside_store::ScheduleVersion;
use maud::{Markup, html};

use self::timeline::Timeline;
use super::layout::{self, NavSection, PageLayout};
use super::words;
use crate::not_found;
use crate::report_brief::describe_report_summary;

/// Versions on one page.
const SHOWN: usize = 50;
/// Versions among which the one of a report is searched.
const VERSIONS_SEARCHED_MAX: usize = 1_000;
/// Displayed digits of a hash: enough to distinguish versions.
const DIGITS: usize = 12;

pub(super) async fn get_versions(
    State(app): State<App>,
    Path(id): Path<String>,
    parameters: QueryParameters,
) -> Response {
    let Some(feed) = app.ingest().find_feed(&id) else {
        return not_found::reply_with_not_found_page("No feed has this id.");
    };
    let offset = match parameters.parse_number("offset", limits::OFFSET_MAX) {
        Ok(offset) => offset.unwrap_or(0),
        Err(refusal) => return refusal.into_response(),
    };
    let versions = match read_stored_versions(&app, feed.id(), offset, SHOWN + 1).await {
        Ok(versions) => Some(versions),
        Err(Refusal::StorageUnavailable) => None,
        Err(refusal) => return refusal.into_response(),
    };
    let reports = read_report_summaries(&app, feed.id()).await;
    let name = feed.config().display_name();
    let title = format!("Versions of {name}");
    let mut page = PageLayout::new(&title, NavSection::Catalog);
    page.description = Some(format!(
        "Published versions of the schedule {name}: validity, service days, changes, report and download of each."
    ));
    page.styles = &["versions.css"];
    page.alternates.push(("application/json", format!("/api/v1/feeds/{id}/versions")));
    let network = feed.network();
    let shown = VersionsView {
        dataset: find_schedule_with_calendar(&feed).await,
        zone: words::network_zone(&network),
        today: network.data_date_today(),
        is_stored: app.store().is_some(),
        feed: &feed,
        versions,
        reports,
        offset,
    };
    layout::reply_with_page(StatusCode::OK, page.render_document(&shown.render_versions_page()))
}

/// Renders the validity of a version for the head of its report; nothing if the version is no longer stored.
pub(super) async fn render_version_validity(app: &App, feed: &Feed, version: &str) -> Markup {
    let versions = read_stored_versions(app, feed.id(), 0, VERSIONS_SEARCHED_MAX).await;
    let versions = versions.unwrap_or_default();
    let found = versions.iter().find(|it| it.hash.to_string() == version);
    let Some(ScheduleVersion { facts, .. }) = found else { return html! {} };
    html! {
        p.version-validity data-ended[facts.has_ended(feed.network().data_date_today())] {
            "Valid " (render_iso_day(facts.valid_from.as_deref())) " to " (render_iso_day(facts.valid_until.as_deref()))
            (render_ended(facts, feed.network().data_date_today()))
        }
    }
}

/// Renders a note on a version that has ended or does not begin yet.
fn render_ended(facts: &ScheduleVersionFacts, today: Date) -> Markup {
    html! {
        @if facts.has_ended(today) { " " strong.soft data-ended { "(ended)" } }
        @else if facts.is_not_yet_valid(today) { " " strong.soft data-not-yet-valid { "(not yet valid)" } }
    }
}

struct VersionsView<'a> {
    feed: &'a Feed,
    /// The loaded schedule, if the feed is one.
    dataset: Option<Arc<Dataset>>,
    /// `None` if the versions cannot be read. Contains one more than the page shows, if there is one.
    versions: Option<Vec<ScheduleVersion>>,
    reports: ReportSummariesByVersion,
    offset: usize,
    zone: TimeZone,
    today: Date,
    /// True if the server stores versions.
    is_stored: bool,
}

impl VersionsView<'_> {
    fn feed_id(&self) -> &FeedId {
        self.feed.id()
    }

    /// Returns the name of the mark for the current day: a recording's day is not today.
    fn current_day_label(&self) -> &'static str {
        if self.feed.network().replayed_time_now().is_some() { "recording" } else { "today" }
    }

    fn render_versions_page(&self) -> Markup {
        let config = self.feed.config();
        html! {
            div.page.versions-page {
                div.page-head {
                    p.crumbs {
                        a href="/" { "Feeds" } " / "
                        a href=(format!("/feeds/{}", config.id)) { (config.display_name()) }
                    }
                    h1 { "Versions of " (config.display_name()) }
                    @if let Some(description) = &config.description { p { (description) } }
                    (self.render_feed_state())
                }
                @if self.offset == 0 { (self.render_current_version()) }
                section.card #versions aria-labelledby="versions-title" {
                    div.card-head {
                        h2 #versions-title { "Published versions" }
                        span.soft.small {
                            "Times in " (self.zone.iana_name().unwrap_or("UTC")) " · "
                            a.target href=(format!("/api/v1/feeds/{}/versions", config.id)) { "JSON" }
                        }
                    }
                    (self.render_version_table())
                }
            }
        }
    }

    fn render_version_table(&self) -> Markup {
        let Some(versions) = &self.versions else {
            return html! { p.card-body.soft { "The history cannot be read at the moment. The feed is polled and served all the same." } };
        };
        if versions.is_empty() {
            return html! { p.card-body.soft { (self.explain_empty()) } };
        }
        let shown = &versions[..versions.len().min(SHOWN)];
        let timeline = Timeline::from_versions(shown, self.today);
        html! {
            div.scroll {
                table.list-table.stacked.version-table role="table" {
                    thead role="rowgroup" { tr role="row" {
                        th scope="col" role="columnheader" { "Seen" }
                        th scope="col" role="columnheader" { "Valid" span.today-key data-present=(self.current_day_label()) { (self.current_day_label()) } }
                        th scope="col" role="columnheader" { "Publisher's version" }
                        th.end scope="col" role="columnheader" { "Lines" }
                        th.end scope="col" role="columnheader" { "Stops" }
                        th.end scope="col" role="columnheader" { "Trips" }
                        th scope="col" role="columnheader" { "Report" }
                        th scope="col" role="columnheader" { "Download" }
                    } }
                    tbody role="rowgroup" {
                        @for (at, version) in shown.iter().enumerate() { (self.render_row(version, versions.get(at + 1), timeline.as_ref())) }
                    }
                }
            }
            (self.render_pager(versions.len() > SHOWN))
        }
    }

    fn explain_empty(&self) -> &'static str {
        match self.feed.format() {
            _ if self.offset > 0 => "There are no more versions.",
            Some(format) if !format.is_schedule() => {
                "Only schedules keep versions; this feed keeps its latest data."
            }
            _ if !self.is_stored => "Versions are kept only if the server has a data_dir.",
            _ => "No valid data has arrived yet.",
        }
    }

    /// Renders one version; `previous` is the version before it, if it is still stored.
    fn render_row(
        &self,
        version: &ScheduleVersion,
        previous: Option<&ScheduleVersion>,
        timeline: Option<&Timeline>,
    ) -> Markup {
        let facts = &version.facts;
        let hash = version.hash.to_string();
        let changes = previous.map(|previous| facts.compare_counts(&previous.facts));
        let change = |pick: fn(ScheduleCountDifferences) -> i64| changes.map_or(0, pick);
        html! {
            tr role="row" data-version=(hash) {
                td.nowrap role="cell" data-label="Seen" {
                    @if version.is_current {
                        span { "since " (words::render_time_to_minute(version.first_seen, &self.zone)) }
                        br;
                        strong { "served now" }
                    } @else {
                        span { "from " (words::render_time_to_minute(version.first_seen, &self.zone)) }
                        br;
                        span { "to " (words::render_time_to_minute(version.last_seen, &self.zone)) }
                    }
                }
                td.valid-cell.numeric role="cell" data-label="Valid" {
                    span { (render_iso_day(facts.valid_from.as_deref())) " to " (render_iso_day(facts.valid_until.as_deref())) }
                    @if current::differing_publisher_validity(facts).is_some() {
                        " " span.soft.small data-service { "(publisher; service is " (render_iso_day(facts.service_start.as_deref())) " to " (render_iso_day(facts.service_end.as_deref())) ")" }
                    }
                    (render_ended(facts, self.today))
                    @if let Some(timeline) = timeline { (timeline.render_validity_bar(version)) }
                }
                td role="cell" data-label="Version" { (facts.publisher_version.as_deref().unwrap_or("unknown")) }
                (count_cell("Lines", facts.routes, change(|it| it.routes)))
                (count_cell("Stops", facts.stops, change(|it| it.stops)))
                (count_cell("Trips", facts.trips, change(|it| it.trips)))
                td.report-cell role="cell" data-label="Report" {
                    @match self.reports.get(&hash) {
                        Some(brief) => a.target href=(format!("/feeds/{}/versions/{hash}/report", self.feed_id())) { (brief.as_ref().map_or_else(|| "Report".to_owned(), describe_report_summary)) },
                        None => span.soft { "none" },
                    }
                }
                td.nowrap role="cell" data-label="Download" {
                    a.target href=(self.version_download_url(&hash)) download { (words::format_bytes(version.size)) }
                    br;
                    span.mono.soft.small title=(format!("SHA-256 {hash}")) { (&hash[..DIGITS]) }
                }
            }
        }
    }

    fn version_download_url(&self, hash: &str) -> String {
        format!("/feeds/{}/versions/{hash}.zip", self.feed_id())
    }

    fn render_pager(&self, has_more: bool) -> Markup {
        let at = |offset: usize| format!("/feeds/{}/versions?offset={offset}", self.feed_id());
        html! {
            @if self.offset > 0 || has_more {
                nav.pager aria-label="Pages of versions" {
                    @if self.offset > 0 { a href=(at(self.offset.saturating_sub(SHOWN))) { "Newer" } }
                    @if has_more { a href=(at(self.offset + SHOWN)) { "Older" } }
                }
            }
        }
    }
}

fn render_iso_day(text: Option<&str>) -> Markup {
    let date = text.and_then(|text| text.parse::<Date>().ok());
    match date {
        Some(date) => html! { time.nowrap datetime=(date) { (date.strftime("%-d %b %Y")) } },
        None => html! { span.soft { "unknown" } },
    }
}

fn count_cell(label: &str, count: u64, change: i64) -> Markup {
    html! {
        td.end.numeric role="cell" data-label=(label) {
            span { (words::format_number(count)) @if change != 0 { " " (change_mark(change)) } }
        }
    }
}

/// Renders the difference from the previous version.
fn change_mark(change: i64) -> Markup {
    html! { span.change.small data-change=(change) title="Difference from the previous version" { (format_signed_number(change)) } }
}

fn format_signed_number(change: i64) -> String {
    let sign = if change < 0 { "−" } else { "+" };
    format!("{sign}{}", words::format_number(change.unsigned_abs()))
}
