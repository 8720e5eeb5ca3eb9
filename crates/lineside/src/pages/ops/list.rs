//! The list of feeds: one compact row each, in pages, those in trouble first.

use lineside_ingest::FeedState;
use lineside_sync::UnixMillis;
use maud::{Markup, html};

use super::columns::Column;
use super::query::Query;
use super::range::Range;
use super::{acts, detail};
use crate::app::App;
use crate::ops::{Board, FeedFigures};
use crate::pages::states::ServiceCountdown;
use crate::pages::{states, words};
use crate::reports::Verdict;

/// Rows of one page.
pub(super) const ROWS_PER_PAGE: usize = 100;

fn service_countdown(figures: &FeedFigures) -> ServiceCountdown {
    let FeedFigures { service_days_left, service_days_until_start, .. } = *figures;
    ServiceCountdown { days_left: service_days_left, days_until_start: service_days_until_start }
}

pub(super) fn search_form(query: &Query) -> Markup {
    html! {
        form.search.ops-search role="search" action="/ops" {
            div.search-line {
                label.visually-hidden for="q" { "Search feeds" }
                input.input #q type="search" name="q" value=(query.words) placeholder="Search feeds" maxlength="100" autocomplete="off";
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
            @if query.range != Range::default() { input type="hidden" name="range" value=(query.range.word()); }
            @if let Some(sort) = query.sort_word() { input type="hidden" name="sort" value=(sort); }
        }
    }
}

pub(super) fn table(app: &App, board: &Board, query: &Query, is_admin: bool) -> Markup {
    let now = app.now();
    let found = query.pick(board, now);
    let pages = found.len().div_ceil(ROWS_PER_PAGE).max(1);
    let page = query.page.min(pages);
    let first = (page - 1) * ROWS_PER_PAGE;
    let columns = Column::ALL.len() + usize::from(is_admin);
    html! {
        section.card {
            div.card-head {
                h2 #ops-title { "Feeds" }
                span.soft.small #found { (found_words(found.len(), board.feeds.len(), first)) }
            }
            div.scroll tabindex="0" role="region" aria-labelledby="ops-title" {
                table.list-table.ops #ops role="table" {
                    thead role="rowgroup" {
                        tr role="row" {
                            @for column in Column::ALL { (heading(column, query)) }
                            @if is_admin { th role="columnheader" scope="col" { span.visually-hidden { "Actions" } } }
                        }
                    }
                    tbody #ops-rows role="rowgroup" {
                        @for figures in found.iter().skip(first).take(ROWS_PER_PAGE) {
                            (row(figures, query, now, is_admin))
                            @if query.open.as_deref() == Some(figures.id.as_str()) {
                                tr.ops-open role="row" {
                                    td role="cell" colspan=(columns) { (detail::of(figures, now)) }
                                }
                            }
                        }
                    }
                }
            }
            p.board-empty #none hidden[!found.is_empty()] { "No feeds match." }
            (pager(query, page, pages))
        }
    }
}

/// Links to the pages around this one; the page's script keeps them.
fn pager(query: &Query, page: usize, pages: usize) -> Markup {
    let (previous, next) = (page.saturating_sub(1).max(1), (page + 1).min(pages));
    html! {
        nav.pager #pager aria-label="Pages of feeds" hidden[pages < 2] {
            a data-page="previous" href=(query.with_page(previous).address()) hidden[page == 1] { "Previous" }
            span.small.soft #page-words { "Page " (page) " of " (pages) }
            a data-page="next" href=(query.with_page(next).address()) hidden[page == pages] { "Next" }
        }
    }
}

/// Which feeds are shown, of how many.
fn found_words(found: usize, all: usize, first: usize) -> String {
    let all_words = words::count(all as u64, "feed", "feeds");
    let number = |n: usize| words::number(n as u64);
    match found {
        found if found > ROWS_PER_PAGE => {
            let last = (first + ROWS_PER_PAGE).min(found);
            let of = if found == all { all_words } else { format!("{} matching", number(found)) };
            format!("{} to {} of {of}", number(first + 1), number(last))
        }
        found if found == all => all_words,
        found => format!("{} of {all_words}", number(found)),
    }
}

/// A column's head: a link to the same list in its order.
fn heading(column: Column, query: &Query) -> Markup {
    let order = match query.is_sorted_by(column) {
        Some(true) => "descending",
        Some(false) => "ascending",
        None => "none",
    };
    html! {
        th.end[column.is_figure()] role="columnheader" scope="col" aria-sort=(order) data-sort=(column.word()) {
            a href=(query.sorted_by(column)) title=(column.meaning()) { (column.title()) }
        }
    }
}

fn row(figures: &FeedFigures, query: &Query, now: UnixMillis, is_admin: bool) -> Markup {
    let id = figures.id.as_str();
    let is_open = query.open.as_deref() == Some(id);
    let more = if is_open { "Less" } else { "More" };
    let verdict = figures.report.as_ref().map(|report| Verdict::of(Some(report)).as_str());
    html! {
        tr #(format!("feed-{id}")) role="row" data-feed=(id) {
            td.cell-name role="cell" data-col="name" {
                div.one-line {
                    a.feed-name href=(format!("/feeds/{id}")) title=(id) { (figures.name.as_deref().unwrap_or(id)) }
                    a.small.ops-more href=(query.opened(id, is_open)) aria-expanded=(is_open) aria-label={ (more) " about " (id) } { (more) }
                }
            }
            td.cell-state role="cell" data-col="state" {
                div.one-line {
                    (states::sign(id, figures.state))
                    span.soft.small.reason data-reason-of=(id) title=(figures.reason) hidden[figures.state == FeedState::Ok] { (figures.reason) }
                    (states::service_tag(id, service_countdown(figures), figures.state))
                }
            }
            @for column in Column::FIGURES {
                td.end.numeric role="cell" data-col=(column.word()) data-label=(column.title())
                    data-verdict=[verdict.filter(|_| column == Column::Report)] { (column.words(figures, now)) }
            }
            @if is_admin { td.cell-acts role="cell" { (change(id, figures.paused, Some(&query.address()))) } }
        }
    }
}

/// What an admin can do with a feed from its row.
fn change(id: &str, is_paused: bool, next: Option<&str>) -> Markup {
    html! {
        div.ops-acts {
            (acts::button(id, "poll", "Poll now", next))
            @if is_paused { (acts::button(id, "resume", "Resume", next)) }
            @else { (acts::button(id, "pause", "Pause", next)) }
            a.small.ops-edit href=(format!("/ops/feeds/{id}")) aria-label={ "Edit: " (id) } { "Edit" }
        }
    }
}

/// A row for the page's script to fill.
pub(super) fn empty_row(is_admin: bool) -> Markup {
    html! {
        tr role="row" {
            td.cell-name role="cell" data-col="name" {
                div.one-line { a.feed-name {} a.small.ops-more aria-expanded="false" { "More" } }
            }
            td.cell-state role="cell" data-col="state" { div.one-line { span.state {} span.soft.small.reason {} (states::service_tag("", ServiceCountdown::default(), FeedState::Unknown)) } }
            @for column in Column::FIGURES {
                td.end.numeric role="cell" data-col=(column.word()) data-label=(column.title()) {}
            }
            @if is_admin { td.cell-acts role="cell" { (change("", false, None)) } }
        }
    }
}
