//! `/ops`: how every feed and the node are doing, as the board of the moment has it.
//!
//! The tables are complete without scripts: search, filter, order and the row that is opened stand in the address. With
//! them `web/plain/ops.js` keeps all of it as it is now, from the channels `ops/feeds` and `ops/node`; what a row opens
//! to is drawn here alone.
//!
//! Admins change feeds from here: `acts` is what one button does, `settings` the form of a feed, `history` the way back. Each
//! is a form that works without scripts.

mod acts;
mod admins;
mod columns;
mod detail;
mod done;
mod history;
mod node;
mod profile;
mod query;
mod settings;

use std::sync::Arc;

use axum::Router;
use axum::extract::{Path, State};
use axum::http::{HeaderValue, StatusCode, Uri, header};
use axum::response::{Html, IntoResponse, Response};
use axum::routing::{get, post};
use lineside_ingest::FeedState;
use lineside_sync::UnixMillis;
use maud::{Markup, html};
use serde_json::json;

use self::columns::Column;
use self::query::Query;
use super::layout::{self, Page, Section};
use super::{OPS, login, states, words};
use crate::admin::By;
use crate::app::App;
use crate::http::{Parameters, Refusal};
use crate::ops::{Board, FEEDS, FeedFigures, NODE};

/// Rows of one page; a longer list is to be narrowed.
const ROWS_MAX: usize = 500;

async fn page(
    State(app): State<App>,
    by: Option<By>,
    uri: Uri,
    parameters: Parameters,
) -> Response {
    if !may_look(&app, by) {
        return login::to_login(&uri);
    }
    let query = Query::read(&parameters);
    // Who changes something sees it at once; who only looks does not have it looked more often.
    let board = match by {
        Some(_) => app.ops().look().await,
        None => app.ops().board(),
    };
    let mut page = Page::new("Operation", Section::Operation);
    page.class = "ops-page";
    page.styles = &["ops.css"];
    page.scripts = &["ops.js"];
    let main = html! {
        div.page.wide {
            (head(&board, by))
            (node::gauges(&board))
            @if by.is_some() { (bar()) }
            (done::said(&parameters))
            (search_form(&query))
            (table(&app, &board, &query, by.is_some()))
            (states::templates())
            template #ops-row { (empty_row(by.is_some())) }
            (layout::data_island("ops-data", &json!({
                "now": app.now().0,
                "channels": [FEEDS, NODE],
                "rows": ROWS_MAX,
                "done": done::Done::in_the_list(),
            })))
        }
    };
    of_the_moment(layout::reply(StatusCode::OK, page.render(&main)))
}

/// The dashboard and what is done from it.
pub(super) fn router() -> Router<App> {
    Router::new()
        .route(OPS, get(page))
        .route("/ops/rows/{feed}", get(row_opened))
        .route(settings::ADD, get(settings::show_empty).post(settings::take_new))
        .route(history::ADDRESS, get(history::page))
        .route(profile::ADDRESS, get(profile::record))
        .route("/ops/feeds/{feed}", get(settings::show).post(settings::take))
        .route("/ops/feeds/{feed}/{act}", get(acts::confirm).post(acts::act))
        .route("/ops/feeds/{feed}/history/{n}/undo", post(acts::undo))
}

/// What a feed's row opens to, for the page's script.
async fn row_opened(
    State(app): State<App>,
    by: Option<By>,
    Path(id): Path<String>,
) -> Result<Response, Refusal> {
    if !may_look(&app, by) {
        return Err(Refusal::NotAdmin);
    }
    let board = app.ops().board();
    let row = board.feeds.iter().find(|row| row.figures.id.as_str() == id);
    let row = row.ok_or(Refusal::UnknownFeed(id))?;
    let sheet = detail::of(&row.figures, app.now());
    Ok(of_the_moment(Html(sheet.into_string()).into_response()))
}

fn may_look(app: &App, by: Option<By>) -> bool {
    by.is_some() || app.config().admin.public_ops
}

/// A reply that is another one in a second, and for another reader.
fn of_the_moment(mut response: Response) -> Response {
    let no_store = HeaderValue::from_static("no-store");
    response.headers_mut().insert(header::CACHE_CONTROL, no_store);
    response
}

fn head(board: &Board, by: Option<By>) -> Markup {
    html! {
        div.page-head {
            div.title-line {
                h1 { "Operation" }
                span.live #live data-status="off" { "As of this page" }
            }
            div.title-line {
                p.soft #tally { (node::tally(board)) }
                @match by {
                    Some(By::Session(_)) => form method="post" action=(login::LOGOUT) {
                        button.button.plain.compact type="submit" { "Log out" }
                    },
                    Some(By::Token) => {},
                    None => a.small href={ (login::LOGIN) "?next=/ops" } { "Log in as an admin" },
                }
            }
        }
    }
}

/// What an admin does that is not about one feed.
fn bar() -> Markup {
    html! {
        div.ops-bar {
            a.button.compact href=(settings::ADD) { "Add a feed" }
            a.button.plain.compact href=(history::ADDRESS) { "History" }
            (profile::button())
        }
    }
}

fn search_form(query: &Query) -> Markup {
    html! {
        form.search.ops-search role="search" action="/ops" {
            div.search-line {
                label.visually-hidden for="q" { "Search feeds" }
                input.input #q type="search" name="q" value=(query.words) placeholder="Feeds" maxlength="100" autocomplete="off";
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
            @if let Some(sort) = query.sort_word() { input type="hidden" name="sort" value=(sort); }
        }
    }
}

fn table(app: &App, board: &Arc<Board>, query: &Query, is_admin: bool) -> Markup {
    let now = app.now();
    let found = query.pick(board, now);
    html! {
        section.card {
            div.card-head {
                h2 #ops-title { "Feeds" }
                span.soft.small #found { (found_words(found.len(), board.feeds.len())) }
            }
            div.scroll tabindex="0" role="region" aria-labelledby="ops-title" {
                table.list-table.ops #ops role="table" {
                    thead role="rowgroup" {
                        tr role="row" { @for column in Column::ALL { (heading(column, query)) } }
                    }
                    tbody #ops-rows role="rowgroup" {
                        @for figures in found.iter().take(ROWS_MAX) {
                            (row(figures, query, now, is_admin))
                            @if query.open.as_deref() == Some(figures.id.as_str()) {
                                tr.ops-open role="row" {
                                    td role="cell" colspan=(Column::ALL.len()) { (detail::of(figures, now)) }
                                }
                            }
                        }
                    }
                }
            }
            p.board-empty #none hidden[!found.is_empty()] { "No feed is like that." }
        }
    }
}

/// How many there are to see.
fn found_words(found: usize, all: usize) -> String {
    let all_words = words::count(all as u64, "feed", "feeds");
    match found {
        found if found == all && all <= ROWS_MAX => all_words,
        found if found > ROWS_MAX => {
            format!("the first {ROWS_MAX} of {all_words}: search for the rest")
        }
        found => format!("{} of {all_words}", words::number(found as u64)),
    }
}

/// A column's head: a link to the same list in its order.
fn heading(column: Column, query: &Query) -> Markup {
    let sorted = query.is_sorted_by(column);
    let order = match sorted {
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
    html! {
        tr #(format!("feed-{id}")) role="row" data-feed=(id) {
            td.cell-name role="cell" data-col="name" {
                a.feed-name href=(format!("/feeds/{id}")) { (figures.name.as_deref().unwrap_or(id)) }
                " "
                a.small.ops-more href=(query.opened(id, is_open)) aria-expanded=(is_open) aria-label={ (more) " of " (id) } { (more) }
                @if is_admin { (change(id, figures.paused, Some(&query.address()))) }
            }
            td.cell-state role="cell" data-col="state" {
                (states::sign(id, figures.state))
                div.soft.small data-reason-of=(id) hidden[figures.state == FeedState::Ok && !figures.paused] { (figures.reason) }
            }
            @for column in Column::FIGURES {
                td.end.numeric role="cell" data-col=(column.word()) data-label=(column.title()) { (column.words(figures, now)) }
            }
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
fn empty_row(is_admin: bool) -> Markup {
    html! {
        tr role="row" {
            td.cell-name role="cell" data-col="name" {
                a.feed-name {} " " a.small.ops-more aria-expanded="false" { "More" }
                @if is_admin { (change("", false, None)) }
            }
            td.cell-state role="cell" data-col="state" { span.state {} div.soft.small {} }
            @for column in Column::FIGURES {
                td.end.numeric role="cell" data-col=(column.word()) data-label=(column.title()) {}
            }
        }
    }
}
