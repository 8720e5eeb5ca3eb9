//! `/ops`: the state of every feed and of the server.
//!
//! The page is complete without scripts: search, filter, order, page, range and the open row are in the address. With
//! scripts `web/plain/ops.js` keeps it up to date from the channels `ops/feeds` and `ops/node`. The details of a row and the
//! tiles over longer ranges are rendered here only.
//!
//! Admins change feeds from here: `acts` has the buttons, `settings` the form of a feed, `history` the undo. Each is a form
//! that works without scripts.

mod acts;
mod admins;
mod columns;
mod detail;
mod done;
mod history;
mod list;
mod node;
mod notices;
mod profile;
mod query;
mod range;
mod settings;

use std::collections::BTreeMap;

use axum::Router;
use axum::extract::{Path, State};
use axum::http::{HeaderValue, StatusCode, Uri, header};
use axum::response::{Html, IntoResponse, Response};
use axum::routing::get;
use jiff::tz::TimeZone;
use lineside_ingest::FeedState;
use lineside_sync::UnixMillis;
use maud::{Markup, html};
use serde_json::json;

use self::query::Query;
use super::layout::{self, Page, Section};
use super::{OPS, login, states, words};
use crate::admin::By;
use crate::app::App;
use crate::http::{Parameters, Refusal};
use crate::ops::{Board, FEEDS, NODE};

/// The tiles of the server over a range, for the page's script.
const TILES: &str = "/ops/tiles";
/// Atom of all incidents.
const INCIDENTS_ATOM: &str = "/incidents.atom";

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
    // An admin sees the effect of a change at once; other viewers do not cause extra samples.
    let board = match by {
        Some(_) => app.ops().look().await,
        None => app.ops().board(),
    };
    let incidents = notices::recent_incidents(&app).await;
    let mut page = Page::new("Operations", Section::Operation);
    page.class = "ops-page";
    page.styles = &["ops.css"];
    page.scripts = &["ops.js"];
    page.alternates.push(("application/atom+xml", INCIDENTS_ATOM.to_owned()));
    let main = html! {
        div.page.wide {
            (head(&board, &query, by))
            @if by.is_some() { (bar()) }
            (done::said(&parameters))
            (list::search_form(&query))
            (list::table(&app, &board, &query, by.is_some()))
            (server(&app, &board, &query))
            (notices::incidents(&incidents))
            (notices::alert_rules(&app, by.is_some()))
            (states::templates())
            template #ops-row { (list::empty_row(by.is_some())) }
            (layout::data_island("ops-data", &json!({
                "now": app.now().0,
                "channels": [FEEDS, NODE],
                "rows": list::ROWS_PER_PAGE,
                "range": query.range.word(),
                "tiles": TILES,
                "done": done::Done::in_the_list(),
            })))
        }
    };
    of_the_moment(layout::reply(StatusCode::OK, page.render(&main)))
}

/// The tiles of the server, with a choice of how far back they go.
fn server(app: &App, board: &Board, query: &Query) -> Markup {
    html! {
        section.server aria-labelledby="server-title" {
            div.title-line {
                h2 #server-title { "Server" }
                (range::links(query))
            }
            div.gauges #gauges data-length=(query.range.length_ms()) { (node::tiles(app, board, query.range)) }
            @if let Some(words) = node::recorded_since(app, board.at, query.range) { p.small.soft { (words) } }
        }
    }
}

/// The tiles alone, for the page's script.
async fn tiles(
    State(app): State<App>,
    by: Option<By>,
    parameters: Parameters,
) -> Result<Response, Refusal> {
    if !may_look(&app, by) {
        return Err(Refusal::NotAdmin);
    }
    let range = Query::read(&parameters).range;
    let tiles = node::tiles(&app, &app.ops().board(), range);
    Ok(of_the_moment(Html(tiles.into_string()).into_response()))
}

/// The dashboard and what is done from it.
pub(super) fn router() -> Router<App> {
    Router::new()
        .route(OPS, get(page))
        .route("/ops/rows/{feed}", get(row_opened))
        .route(TILES, get(tiles))
        .route(settings::ADD, get(settings::show_empty).post(settings::take_new))
        .route(history::ADDRESS, get(history::page))
        .route(profile::ADDRESS, get(profile::record))
        .route("/ops/feeds/{feed}", get(settings::show).post(settings::take))
        .route("/ops/feeds/{feed}/{act}", get(acts::confirm).post(acts::act))
        .route("/ops/feeds/{feed}/history/{n}/undo", get(acts::confirm_restore).post(acts::undo))
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

/// A moment without its zone: the page says once that its times are in UTC.
fn utc(at: UnixMillis) -> Markup {
    let text = words::rfc3339(at.seconds(), &TimeZone::UTC);
    html! { time datetime=(text) { (words::moment_without_zone(at.seconds(), &TimeZone::UTC)) } }
}

/// A reply that is another one in a second, and for another reader.
fn of_the_moment(mut response: Response) -> Response {
    let no_store = HeaderValue::from_static("no-store");
    response.headers_mut().insert(header::CACHE_CONTROL, no_store);
    response
}

fn head(board: &Board, query: &Query, by: Option<By>) -> Markup {
    html! {
        div.page-head {
            div.title-line {
                h1 { "Operations" }
                span.live #live data-status="off" { "Loaded at " (words::clock(board.at.seconds(), &TimeZone::UTC)) }
            }
            div.title-line {
                (tally(board, query))
                @match by {
                    Some(By::Session(_)) => form method="post" action=(login::LOGOUT) {
                        button.button.plain.compact type="submit" { "Log out" }
                    },
                    Some(By::Token) => {},
                    None => a.small href={ (login::LOGIN) "?next=/ops" } { "Log in as an admin" },
                }
            }
            p.small.soft { "Times in UTC." }
        }
    }
}

/// How many feeds are in each state, the worst first; each leads to those feeds.
fn tally(board: &Board, query: &Query) -> Markup {
    let mut counts: BTreeMap<FeedState, u64> = BTreeMap::new();
    for row in &board.feeds {
        *counts.entry(row.figures.state).or_default() += 1;
    }
    html! {
        ul.tally #tally {
            @for state in columns::worst_first() {
                @let n = counts.get(&state).copied().unwrap_or_default();
                li data-tally=(state) hidden[n == 0] {
                    a href=(query.with_state(state).address()) { (states::mark(state)) " " b.numeric { (words::number(n)) } }
                }
            }
            @if counts.is_empty() { li.soft { "No feeds are configured yet." } }
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
