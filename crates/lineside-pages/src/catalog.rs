//! `/`: the list of all feeds, searchable by their own texts and by the names of their stops and routes.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::{Redirect, Response};
use jiff::tz::TimeZone;
use lineside_formats::{Format, FormatKind};
use lineside_http::app::App;
use lineside_http::{QueryParameters, Refusal};
use lineside_ingest::Feed;
use lineside_model::{EXPIRES_SOON_DAYS, FeedState, FeedStatus};
use lineside_quality::reports::{ReportFindingCounts, ReportVerdict};
use lineside_sync::UnixMillis;
use maud::{Markup, html};
use serde_json::json;

use super::catalog_query::CatalogQuery;
use super::layout::{self, NavSection, PageLayout};
use super::name_search::{NameSearchResults, search_names, search_names_listing_all};
use super::problems::ProblemTotals;
use super::{favourites, network_index, states, words};
use crate::not_found;
use crate::report_brief;
use crate::states::render_data_age;
use crate::states::state_channel;

/// Feeds on one page of the catalog.
const FEEDS_PER_PAGE: usize = 25;
/// Channels that the page follows for the displayed states: the limit of one stream.
const CHANNELS_MAX: usize = 64;

/// A feed with its state, read once so that a page does not contradict itself.
struct CatalogEntry {
    feed: Arc<Feed>,
    status: Arc<FeedStatus>,
    /// The summary of its latest report, and the report's anchor on the feed's page.
    report: Option<(ReportFindingCounts, &'static str)>,
}

impl CatalogEntry {
    fn for_feed(app: &App, feed: Arc<Feed>) -> Self {
        let reports = app.latest_reports().latest_reports_of_feed(feed.id().as_str());
        let report = reports.as_ref().and_then(|reports| reports.dataset_or_realtime_report());
        Self {
            status: feed.status_including_files(),
            report: report.map(|report| {
                (ReportFindingCounts::from_report(report), report.subject.subject_kind_name())
            }),
            feed,
        }
    }

    fn report_verdict(&self) -> ReportVerdict {
        ReportVerdict::from_summary(self.report.as_ref().map(|(brief, _)| brief))
    }

    /// Returns true for a timetable that ends within days.
    fn timetable_expires_soon(&self) -> bool {
        let days_left = states::TimetableCountdown::for_feed(&self.feed).days_left;
        days_left.is_some_and(|days| (0..=EXPIRES_SOON_DAYS).contains(&days))
    }

    fn format(&self) -> Option<Format> {
        self.status.format.or(self.feed.config().format)
    }
}

pub(super) async fn get_catalog(State(app): State<App>, parameters: QueryParameters) -> Response {
    let query = CatalogQuery::from_parameters(&parameters);
    let names = match search_catalog_names(&app, &query).await {
        Ok(names) => names,
        Err(refusal) => return not_found::reply_with_refusal_page(&refusal, false),
    };
    let entries: Vec<CatalogEntry> =
        app.ingest().feeds().into_iter().map(|feed| CatalogEntry::for_feed(&app, feed)).collect();
    let filters = CatalogFilterChoices::from_entries(&entries);
    let found: Vec<&CatalogEntry> =
        entries.iter().filter(|entry| matches_query(entry, &query, &names)).collect();
    let pages = found.len().div_ceil(FEEDS_PER_PAGE).max(1);
    let number = query.page.min(pages);
    let shown: Vec<&CatalogEntry> =
        found.iter().skip((number - 1) * FEEDS_PER_PAGE).take(FEEDS_PER_PAGE).copied().collect();

    let title = match query.text.trim() {
        "" => "Feeds".to_owned(),
        query_text => format!("Search “{query_text}”"),
    };
    let is_search = !query.text.trim().is_empty();
    // Most people who search look for a stop or a line, not for a feed.
    let section = if is_search { NavSection::Other } else { NavSection::Catalog };
    let mut page = PageLayout::new(&title, section);
    page.canonical = Some(query.catalog_page_url(number));
    page.description = Some(
        "All public-transport feeds of this server: format, state, validation report and age of the data."
            .to_owned(),
    );
    page.scripts = &["catalog.js", favourites::SCRIPT];
    page.styles = &["catalog.css", favourites::STYLE];
    page.alternates.push(("application/json", "/api/v1/feeds".to_owned()));
    page.alternates.push(("application/atom+xml", "/incidents.atom".to_owned()));
    let main = html! {
        div.page {
            @if is_search {
                (render_search_form_and_name_results(&title, &query, &names, found.is_empty()))
            } @else {
                (render_catalog_heading(&title, &entries, app.now()))
                (favourites::render_list(None))
                (network_index::render_rider_links(&app))
                (render_search_form(&query, &filters))
            }
            @let table = html! {
                (render_feed_table(&app, &shown, &query, found.len()))
                @if pages > 1 { (render_pager(&query, number, pages)) }
            };
            @if entries.is_empty() {
                (render_no_feeds())
            } @else if is_search && (!found.is_empty() || query.has_filter()) {
                (render_feed_results(&query, &filters, found.len(), !names.is_empty(), &table))
            } @else if !is_search {
                (table)
            }
            (states::render_state_templates())
            (layout::render_script_data("catalog-data", &page_script_data(&app, &shown)))
        }
    };
    layout::reply_with_page(StatusCode::OK, page.render_document(&main))
}

async fn search_catalog_names(
    app: &App,
    query: &CatalogQuery,
) -> Result<NameSearchResults, Refusal> {
    match query.lists_all_names {
        true => search_names_listing_all(app, &query.text).await,
        false => search_names(app, &query.text).await,
    }
}

/// Renders the feeds of a search. They are folded if it finds a stop or a line: people who look for those do not look
/// for the feed that contains them.
fn render_feed_results(
    query: &CatalogQuery,
    filters: &CatalogFilterChoices,
    n_found: usize,
    has_names: bool,
    table: &Markup,
) -> Markup {
    html! {
        details.feed-results open[!has_names || query.has_filter() || query.page > 1] {
            summary { (words::format_count(n_found as u64, "feed with these results", "feeds with these results")) }
            (render_filters(query, filters))
            (table)
        }
    }
}

/// Redirects `/search` to the search on the front page.
pub(super) async fn redirect_search(parameters: QueryParameters) -> Redirect {
    Redirect::permanent(&CatalogQuery::from_parameters(&parameters).catalog_page_url(1))
}

fn matches_query(entry: &CatalogEntry, query: &CatalogQuery, names: &NameSearchResults) -> bool {
    let config = entry.feed.config();
    (query.text.is_empty() || names.feeds.contains(config.id.as_str()))
        && query.format.is_none_or(|format| entry.format() == Some(format))
        && query.state.is_none_or(|state| entry.status.state == state)
        && (!query.expires_soon || entry.timetable_expires_soon())
        && query.report.is_none_or(|verdict| entry.report_verdict() == verdict)
        && query.theme.as_ref().is_none_or(|theme| config.theme.as_ref() == Some(theme))
        && query
            .publisher
            .as_ref()
            .is_none_or(|publisher| config.publisher.as_ref() == Some(publisher))
}

fn render_catalog_heading(title: &str, entries: &[CatalogEntry], now: UnixMillis) -> Markup {
    let mut tally: BTreeMap<FeedState, u64> = BTreeMap::new();
    for entry in entries {
        *tally.entry(entry.status.state).or_default() += 1;
    }
    let n_wrong =
        entries.iter().filter(|it| it.report_verdict() == ReportVerdict::Errors).count() as u64;
    let n_ending = entries.iter().filter(|entry| entry.timetable_expires_soon()).count() as u64;
    let all_well = tally.keys().all(|state| *state == FeedState::Ok);
    html! {
        div.page-head {
            div.title-line {
                h1 { (title) }
                span.live #live data-status="off" { "Loaded at " (words::format_clock(now.unix_seconds(), &TimeZone::UTC)) " UTC" }
            }
            p.soft { "A feed is a source of public-transport data, which this server fetches, checks and serves." }
            p.soft #feeds-headline {
                @if entries.is_empty() { "No feed is configured yet." }
                @else if all_well { (words::format_count(entries.len() as u64, "feed", "feeds")) ", all of them served with fresh data." }
                @else {
                    (words::format_count(entries.len() as u64, "feed", "feeds")) ": "
                    @for (at, (state, count)) in tally.iter().enumerate() {
                        @if at > 0 { ", " }
                        a href=(CatalogQuery { state: Some(*state), ..CatalogQuery::default() }.catalog_page_url(1)) { (words::format_number(*count)) " " (state) }
                    }
                    "."
                }
                @if n_ending > 0 {
                    " "
                    a href=(CatalogQuery { expires_soon: true, ..CatalogQuery::default() }.catalog_page_url(1)) { (words::format_number(n_ending)) }
                    (if n_ending == 1 { " timetable expires" } else { " timetables expire" })
                    " within " (EXPIRES_SOON_DAYS) " days."
                }
                @if n_wrong > 0 {
                    " "
                    a href=(CatalogQuery { report: Some(ReportVerdict::Errors), ..CatalogQuery::default() }.catalog_page_url(1)) { (words::format_number(n_wrong)) }
                    (if n_wrong == 1 { " has errors in its report." } else { " have errors in their reports." })
                }
            }
        }
    }
}

/// The filter values that occur in the catalog.
struct CatalogFilterChoices {
    formats: BTreeSet<Format>,
    themes: BTreeSet<String>,
    publishers: BTreeSet<String>,
    states: BTreeSet<FeedState>,
    reports: BTreeSet<ReportVerdict>,
    /// True if a timetable expires soon.
    has_ending: bool,
}

impl CatalogFilterChoices {
    fn from_entries(entries: &[CatalogEntry]) -> Self {
        let configs = || entries.iter().map(|entry| entry.feed.config());
        Self {
            formats: entries.iter().filter_map(CatalogEntry::format).collect(),
            themes: configs().filter_map(|config| config.theme.clone()).collect(),
            publishers: configs().filter_map(|config| config.publisher.clone()).collect(),
            states: entries.iter().map(|entry| entry.status.state).collect(),
            reports: entries.iter().map(CatalogEntry::report_verdict).collect(),
            has_ending: entries.iter().any(CatalogEntry::timetable_expires_soon),
        }
    }
}

/// Renders the head of a search, with its results for riders.
fn render_search_form_and_name_results(
    title: &str,
    query: &CatalogQuery,
    names: &NameSearchResults,
    has_no_feed: bool,
) -> Markup {
    let is_empty = names.is_empty() && has_no_feed && !query.has_filter();
    html! {
        div.page-head { h1 { (title) } }
        form.search #catalog-search role="search" action="/" autocomplete="off" { (render_search_line(query)) }
        (names.render_search_results(&query.text))
        @if is_empty {
            p.note data-nothing-found { "No network, stop, line or feed is called “" (query.text) "”. " a.target href="/networks" { "All networks" } }
        }
    }
}

fn render_search_form(query: &CatalogQuery, filters: &CatalogFilterChoices) -> Markup {
    html! {
        form.search #catalog-search role="search" action="/" {
            (render_search_line(query))
            (render_filters(query, filters))
            @if query.has_search_or_filter() { p.small { a href="/" { "Show all feeds again" } } }
        }
    }
}

fn render_search_line(query: &CatalogQuery) -> Markup {
    html! {
        div.search-line {
            label.visually-hidden for="q" { "Search networks, stops, lines and feeds" }
            input.input #q type="search" name="q" value=(query.text) placeholder="Stops, lines, networks" maxlength="100" autocomplete="off";
            button.button type="submit" { "Search" }
        }
    }
}

/// Renders the filters of feeds, which belong to the search form.
fn render_filters(query: &CatalogQuery, filters: &CatalogFilterChoices) -> Markup {
    let format_option = |format: &Format| {
        (format.as_str().to_owned(), states::format_display_name(Some(*format)).to_owned())
    };
    let same = |text: &String| (text.clone(), text.clone());
    let report_option =
        |verdict: &ReportVerdict| (verdict.as_str().to_owned(), verdict_name(*verdict).to_owned());
    let state_option = |state: &FeedState| (state.as_str().to_owned(), state.as_str().to_owned());
    html! {
        div.filters {
            (render_select("format", "Format", query.format.map(Format::as_str), filters.formats.iter().map(format_option)))
            @if !filters.themes.is_empty() { (render_select("theme", "Mode", query.theme.as_deref(), filters.themes.iter().map(same))) }
            @if !filters.publishers.is_empty() { (render_select("publisher", "Publisher", query.publisher.as_deref(), filters.publishers.iter().map(same))) }
            (render_select("state", "State", query.state.map(FeedState::as_str), filters.states.iter().map(state_option)))
            @if filters.has_ending || query.expires_soon {
                (render_select("expires", "Timetable", query.expires_soon.then_some("soon"), [("soon".to_owned(), "expires soon".to_owned())].into_iter()))
            }
            (render_select("report", "Report", query.report.map(ReportVerdict::as_str), filters.reports.iter().map(report_option)))
        }
    }
}

fn verdict_name(verdict: ReportVerdict) -> &'static str {
    match verdict {
        ReportVerdict::Errors => "errors",
        ReportVerdict::Warnings => "warnings, no errors",
        ReportVerdict::None => "clean",
        ReportVerdict::Unknown => "unknown",
    }
}

fn render_select(
    name: &str,
    label: &str,
    chosen: Option<&str>,
    options: impl Iterator<Item = (String, String)>,
) -> Markup {
    html! {
        div.field {
            label for=(name) { (label) }
            select.select id=(name) name=(name) form="catalog-search" {
                option value="" { "All" }
                @for (value, text) in options {
                    option value=(value) selected[chosen == Some(value.as_str())] { (text) }
                }
            }
        }
    }
}

fn render_no_feeds() -> Markup {
    html! {
        div.note {
            p { "Add feeds to the configuration, or try one at once:" }
            p { code { "lineside serve --feed https://example.org/gtfs.zip" } }
        }
    }
}

fn render_feed_table(
    app: &App,
    shown: &[&CatalogEntry],
    query: &CatalogQuery,
    found: usize,
) -> Markup {
    let now = app.now();
    html! {
        section.card #feeds aria-labelledby="feeds-title" {
            div.card-head {
                h2 #feeds-title { @if query.has_search_or_filter() { "Matching feeds" } @else { "All feeds" } }
                span.soft.small {
                    (words::format_count(found as u64, "feed", "feeds")) " · "
                    a.target href="/incidents.atom" { "Incidents as Atom" }
                }
            }
            @if shown.is_empty() {
                p.board-empty {
                    @match query.text.trim() {
                        "" => "No feed matches these filters.",
                        text => { "No feed matches “" (text) "”." }
                    }
                }
            } @else {
                table.list-table.feeds role="table" {
                    thead role="rowgroup" {
                        tr role="row" {
                            th role="columnheader" scope="col" { "Feed" }
                            th role="columnheader" scope="col" { "State" }
                            th role="columnheader" scope="col" { "Format" }
                            th.end role="columnheader" scope="col" { "Contents" }
                            th.end role="columnheader" scope="col" title="Rows and values that Lineside could not read" { "Unreadable data" }
                            th role="columnheader" scope="col" title="The result of its validation" { "Report" }
                            th.end role="columnheader" scope="col" title="By the data's own time, or when they were fetched" { "Updated" }
                        }
                    }
                    tbody role="rowgroup" {
                        @for entry in shown { (render_feed_row(app, entry, now)) }
                    }
                }
            }
        }
    }
}

fn render_feed_row(app: &App, entry: &CatalogEntry, now: UnixMillis) -> Markup {
    let CatalogEntry { feed, status, .. } = entry;
    let config = feed.config();
    let id = config.id.as_str();
    let entry_format = status.format.or(config.format);
    html! {
        tr role="row" {
            td.cell-name role="cell" {
                a.feed-name href=(format!("/feeds/{id}")) { (config.display_name()) }
                @if let Some(publisher) = &config.publisher { div.soft.small { (publisher) } }
                @if entry_format.is_some_and(Format::is_schedule) { div { a.small.target href=(format!("/networks/{id}")) { "Lines and stops" } } }
            }
            td.cell-state role="cell" {
                (states::render_live_state(id, status.state))
                " " (states::render_validity_tag_of_feed(feed, status.state))
                " " (states::render_recording_tag(&feed.network()))
                div.soft.small data-reason-of=(id) data-unless="ok" hidden[status.state == FeedState::Ok] { (status.reason) }
            }
            td.cell-format role="cell" {
                span.tag { (states::format_display_name(entry_format)) }
                @if let Some(theme) = &config.theme { " " span.soft.small { (theme) } }
            }
            td.cell-count.end.numeric role="cell" { (describe_entity_count(entry_format, status.entities)) }
            td.cell-problems.end.numeric role="cell" {
                @let problems = ProblemTotals::from_problems(&feed.problems_including_files());
                @match problems.n_unreadable {
                    0 => span.soft { "none" },
                    n => a href=(format!("/feeds/{id}#problems")) { (words::format_number(n)) },
                }
                (problems.render_unknowns_and_duplicates())
            }
            td.cell-report role="cell" data-report-of=(id) { (render_report_cell(app, entry)) }
            td.cell-age.end.numeric role="cell" { (render_data_age(feed, status, now)) }
        }
    }
}

/// Renders the summary of the latest report, or a note that the feed is not checked yet.
fn render_report_cell(app: &App, CatalogEntry { feed, report, .. }: &CatalogEntry) -> Markup {
    html! {
        @match report {
            Some((brief, subject)) => a data-verdict=(ReportVerdict::from_summary(Some(brief)).as_str()) href=(format!("/feeds/{}#report-{subject}", feed.id())) { (report_brief::describe_report_summary(brief)) },
            None if app.latest_reports().awaited_report_prerequisite(feed).is_some() => a.soft href=(format!("/feeds/{}#report-ahead", feed.id())) { "not checked yet" },
            None => span.soft { "–" },
        }
    }
}

/// Describes the number of entities of a feed, in the words of its format.
fn describe_entity_count(format: Option<Format>, entities: u64) -> String {
    match format.map(Format::kind) {
        Some(FormatKind::Schedule) => words::format_count(entities, "trip", "trips"),
        Some(FormatKind::Realtime) => words::format_count(entities, "record", "records"),
        Some(FormatKind::System) => words::format_count(entities, "file", "files"),
        Some(FormatKind::Raw) | None => "–".to_owned(),
    }
}

fn render_pager(query: &CatalogQuery, number: usize, pages: usize) -> Markup {
    html! {
        nav.pager aria-label="Pages of feeds" {
            @if number > 1 { a.button.plain rel="prev" href=(query.catalog_page_url(number - 1)) { "Previous" } }
            span.soft.numeric { "Page " (number) " of " (pages) }
            @if number < pages { a.button.plain rel="next" href=(query.catalog_page_url(number + 1)) { "Next" } }
        }
    }
}

/// Returns the data with which the page's script updates the states.
fn page_script_data(app: &App, shown: &[&CatalogEntry]) -> serde_json::Value {
    let channels: BTreeSet<String> =
        shown.iter().map(|entry| state_channel(&entry.feed, entry.format())).collect();
    let feeds: Vec<&str> = shown.iter().map(|entry| entry.feed.config().id.as_str()).collect();
    json!({
        "now": app.now().0,
        "channels": channels.into_iter().take(CHANNELS_MAX).collect::<Vec<_>>(),
        "feeds": feeds,
    })
}
