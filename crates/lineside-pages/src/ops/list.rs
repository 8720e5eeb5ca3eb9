//! The list of feeds: one compact row each, in pages, feeds in trouble first.

use lineside_http::app::App;
use lineside_http::ops::{DashboardSnapshot, FeedOverview};
use lineside_model::FeedState;
use lineside_quality::reports::ReportVerdict;
use lineside_sync::UnixMillis;
use maud::{Markup, html};

use super::columns::DashboardColumn;
use super::dashboard_query::DashboardQuery;
use super::range::TileRange;
use super::{actions, detail};
use crate::states::TimetableCountdown;
use crate::{states, words};

pub(super) const ROWS_PER_PAGE: usize = 100;

fn service_countdown(overview: &FeedOverview) -> TimetableCountdown {
    let FeedOverview { service_days_left, service_days_until_start, .. } = *overview;
    TimetableCountdown { days_left: service_days_left, days_until_start: service_days_until_start }
}

pub(super) fn render_search_form(query: &DashboardQuery) -> Markup {
    html! {
        form.search.ops-search role="search" action="/ops" {
            div.search-line {
                label.visually-hidden for="q" { "Search feeds" }
                input.input #q type="search" name="q" value=(query.text) placeholder="Search feeds" maxlength="100" autocomplete="off";
                button.button type="submit" { "Search" }
            }
            div.field {
                label for="state" { "State" }
                select.select #state name="state" {
                    option value="" { "All" }
                    @for state in FeedState::ALL {
                        option value=(state) selected[query.state == Some(state)] { (state) }
                    }
                }
            }
            @if query.range != TileRange::default() { input type="hidden" name="range" value=(query.range.query_value()); }
            @if let Some(sort) = query.sort_parameter() { input type="hidden" name="sort" value=(sort); }
        }
    }
}

pub(super) fn render_feed_table(
    app: &App,
    board: &DashboardSnapshot,
    query: &DashboardQuery,
    is_admin: bool,
) -> Markup {
    let now = app.now();
    let found = query.select_matching_feeds(board, now);
    let pages = found.len().div_ceil(ROWS_PER_PAGE).max(1);
    let page = query.page.min(pages);
    let first = (page - 1) * ROWS_PER_PAGE;
    let columns = DashboardColumn::ALL.len() + usize::from(is_admin);
    html! {
        section.card {
            div.card-head {
                h2 #ops-title { "Feeds" }
                span.soft.small #found { (describe_shown_feeds(found.len(), board.feeds.len(), first)) }
            }
            div.scroll tabindex="0" role="region" aria-labelledby="ops-title" {
                table.list-table.ops #ops role="table" {
                    thead role="rowgroup" {
                        tr role="row" {
                            @for column in DashboardColumn::ALL { (render_heading(column, query)) }
                            @if is_admin { th role="columnheader" scope="col" { span.visually-hidden { "Actions" } } }
                        }
                    }
                    tbody #ops-rows role="rowgroup" {
                        @for figures in found.iter().skip(first).take(ROWS_PER_PAGE) {
                            (render_feed_row(figures, query, now, is_admin))
                            @if query.open.as_deref() == Some(figures.id.as_str()) {
                                tr.ops-open role="row" {
                                    td role="cell" colspan=(columns) { (detail::render_detail(figures, now)) }
                                }
                            }
                        }
                    }
                }
            }
            p.board-empty #none hidden[!found.is_empty()] { "No feeds match." }
            (render_pager(query, page, pages))
        }
    }
}

/// Renders links to the previous and next page; the page's script updates them.
fn render_pager(query: &DashboardQuery, page: usize, pages: usize) -> Markup {
    let (previous, next) = (page.saturating_sub(1).max(1), (page + 1).min(pages));
    html! {
        nav.pager #pager aria-label="Pages of feeds" hidden[pages < 2] {
            a data-page="previous" href=(query.with_page(previous).dashboard_url()) hidden[page == 1] { "Previous" }
            span.small.soft #page-words { "Page " (page) " of " (pages) }
            a data-page="next" href=(query.with_page(next).dashboard_url()) hidden[page == pages] { "Next" }
        }
    }
}

/// Describes which of the found feeds are shown.
fn describe_shown_feeds(found: usize, all: usize, first: usize) -> String {
    let all_words = words::format_count(all as u64, "feed", "feeds");
    let number = |n: usize| words::format_number(n as u64);
    match found {
        found if found > ROWS_PER_PAGE => {
            let last = (first + ROWS_PER_PAGE).min(found);
            let filter_note =
                if found == all { all_words } else { format!("{} matching", number(found)) };
            format!("{} to {} of {filter_note}", number(first + 1), number(last))
        }
        found if found == all => all_words,
        found => format!("{} of {all_words}", number(found)),
    }
}

/// Renders a column's heading: a link that sorts the list by it.
fn render_heading(column: DashboardColumn, query: &DashboardQuery) -> Markup {
    let order = match query.sort_direction_for(column) {
        Some(true) => "descending",
        Some(false) => "ascending",
        None => "none",
    };
    html! {
        th.end[column.is_numeric()] role="columnheader" scope="col" aria-sort=(order) data-sort=(column.query_value()) {
            a href=(query.sorted_list_url(column)) title=(column.column_description()) { (column.column_title()) }
        }
    }
}

fn render_feed_row(
    overview: &FeedOverview,
    query: &DashboardQuery,
    now: UnixMillis,
    is_admin: bool,
) -> Markup {
    let id = overview.id.as_str();
    let is_open = query.open.as_deref() == Some(id);
    let more = if is_open { "Less" } else { "More" };
    let verdict =
        overview.report.as_ref().map(|report| ReportVerdict::from_summary(Some(report)).as_str());
    html! {
        tr #(format!("feed-{id}")) role="row" data-feed=(id) {
            td.cell-name role="cell" data-col="name" {
                div.one-line {
                    a.feed-name href=(format!("/feeds/{id}")) title=(id) { (overview.name.as_deref().unwrap_or(id)) }
                    a.small.ops-more href=(query.row_toggle_url(id, is_open)) aria-expanded=(is_open) aria-label={ (more) " about " (id) } { (more) }
                }
            }
            td.cell-state role="cell" data-col="state" {
                div.one-line {
                    (states::render_live_state(id, overview.state))
                    span.soft.small.reason data-reason-of=(id) title=(overview.reason) hidden[overview.state == FeedState::Ok] { (overview.reason) }
                    (states::render_timetable_validity_tag(id, service_countdown(overview), overview.state))
                    (render_recording_tag(overview.recorded_day.as_deref()))
                }
            }
            @for column in DashboardColumn::NUMERIC {
                td.end.numeric role="cell" data-col=(column.query_value()) data-label=(column.column_title())
                    data-verdict=[verdict.filter(|_| column == DashboardColumn::Report)] { (column.cell_text(overview, now)) }
            }
            @if is_admin { td.cell-acts role="cell" { (render_actions(id, overview.paused, Some(&query.dashboard_url()))) } }
        }
    }
}

/// Renders a tag with the recorded day of a feed whose network plays a recording.
fn render_recording_tag(day: Option<&str>) -> Markup {
    html! {
        span.tag.recording-tag hidden[day.is_none()] {
            "Recording of "
            time datetime=[day] { (day.and_then(|day| day.parse().ok()).map(words::format_day).unwrap_or_default()) }
        }
    }
}

/// Renders an admin's buttons in a feed's row.
fn render_actions(id: &str, is_paused: bool, next: Option<&str>) -> Markup {
    html! {
        div.ops-acts {
            (actions::render_button(id, "poll", "Poll now", next))
            @if is_paused { (actions::render_button(id, "resume", "Resume", next)) }
            @else { (actions::render_button(id, "pause", "Pause", next)) }
            a.small.ops-edit href=(format!("/ops/feeds/{id}")) aria-label={ "Edit: " (id) } { "Edit" }
        }
    }
}

/// Renders an empty row as a template for the page's script.
pub(super) fn render_row_template(is_admin: bool) -> Markup {
    html! {
        tr role="row" {
            td.cell-name role="cell" data-col="name" {
                div.one-line { a.feed-name {} a.small.ops-more aria-expanded="false" { "More" } }
            }
            td.cell-state role="cell" data-col="state" { div.one-line { span.state {} span.soft.small.reason {} (states::render_timetable_validity_tag("", TimetableCountdown::default(), FeedState::Unknown)) (render_recording_tag(None)) } }
            @for column in DashboardColumn::NUMERIC {
                td.end.numeric role="cell" data-col=(column.query_value()) data-label=(column.column_title()) {}
            }
            @if is_admin { td.cell-acts role="cell" { (render_actions("", false, None)) } }
        }
    }
}
