//! `/ops`: the state of every feed and of the server.
//!
//! The page is complete without scripts: search, filter, order, page, range and the open row are in the address. With
//! scripts, `web/plain/ops.js` updates it from the channels `ops/feeds` and `ops/node`. The details of a row and the
//! tiles over longer ranges are rendered by the server only.
//!
//! Admins change feeds here: `actions` has the buttons, `settings` the form of a feed, `history` the undo. Each is a
//! form that works without scripts.

mod actions;
mod admins;
mod columns;
mod detail;
mod completed_action;
mod history;
mod list;
mod node;
mod notices;
mod profile;
mod dashboard_query;
mod range;
mod settings;

use std::borrow::Cow;
use std::collections::BTreeMap;

use axum::Router;
use axum::extract::{Path, State};
use axum::http::{HeaderValue, StatusCode, Uri, header};
use axum::response::{Html, IntoResponse, Response};
use axum::routing::get;
use jiff::tz::TimeZone;
use lineside_http::admin_auth::AdminCredential;
use lineside_http::app::App;
use lineside_http::ops::DashboardSnapshot;
use lineside_http::page_paths::LOGIN;
use lineside_http::page_paths::OPS;
use lineside_http::{QueryParameters, Refusal};
use lineside_model::FeedState;
use lineside_quality::ops_channels::{FEEDS, NODE};
use lineside_sync::UnixMillis;
use maud::{Markup, html};
use serde_json::json;

use self::columns::DashboardColumn;
use self::dashboard_query::DashboardQuery;
use super::layout::{self, NavSection, PageLayout};
use super::{login, states, words};

/// The address of the tiles over a range, for the page's script.
const TILES: &str = "/ops/tiles";
/// The Atom feed of all incidents.
const INCIDENTS_ATOM: &str = "/incidents.atom";

async fn get_dashboard(
    State(app): State<App>,
    credential: Option<AdminCredential>,
    uri: Uri,
    parameters: QueryParameters,
) -> Response {
    if !may_view(&app, credential) {
        return login::redirect_to_login(&uri);
    }
    let query = DashboardQuery::from_parameters(&parameters);
    // An admin sees the effect of a change at once; other viewers do not cause extra samples.
    let board = match credential {
        Some(_) => app.ops_dashboard().refresh_snapshot().await,
        None => app.ops_dashboard().current_snapshot(),
    };
    let incidents = notices::read_recent_incidents(&app).await;
    let mut page = PageLayout::new("Operations", NavSection::Operation);
    page.class = "ops-page";
    page.styles = &["ops.css"];
    page.scripts = if credential.is_some() { &["ops.js", profile::SCRIPT] } else { &["ops.js"] };
    page.alternates.push(("application/atom+xml", INCIDENTS_ATOM.to_owned()));
    let main = html! {
        div.page.wide {
            (render_dashboard_heading(&board, &query, credential, app.is_demo()))
            @if credential.is_some() { (render_admin_links()) }
            (completed_action::render_action_notice(&parameters))
            (list::render_search_form(&query))
            (list::render_feed_table(&app, &board, &query, credential.is_some()))
            (render_server_tiles(&app, &board, &query))
            (notices::render_incidents(incidents.as_ref()))
            (notices::render_alert_rules(&app, credential.is_some()))
            (states::render_state_templates())
            template #ops-row { (list::render_row_template(credential.is_some())) }
            (layout::render_script_data("ops-data", &json!({
                "now": app.now().0,
                "channels": [FEEDS, NODE],
                "rows": list::ROWS_PER_PAGE,
                "range": query.range.query_value(),
                "tiles": TILES,
                "done": completed_action::CompletedAction::list_notice_texts(),
            })))
        }
    };
    mark_not_cacheable(layout::reply_with_page(StatusCode::OK, page.render_document(&main)))
}

/// Returns the words of the tiles' ranges in addresses.
pub(super) fn list_range_values() -> Vec<Cow<'static, str>> {
    range::TileRange::ALL.map(|range| Cow::Borrowed(range.query_value())).to_vec()
}

/// Returns the words of the list's orders in addresses: ascending, and descending with a minus.
pub(super) fn list_sort_values() -> Vec<Cow<'static, str>> {
    let words = DashboardColumn::ALL.map(DashboardColumn::query_value);
    let descending = words.map(|word| Cow::Owned(format!("-{word}")));
    words.map(Cow::Borrowed).into_iter().chain(descending).collect()
}

/// Returns the words of the notices in addresses.
pub(super) fn list_notice_values() -> Vec<Cow<'static, str>> {
    let all = completed_action::CompletedAction::ALL.into_iter();
    all.map(|done| Cow::Borrowed(done.query_value())).collect()
}

/// Renders the tiles of the server, with links to their ranges.
fn render_server_tiles(app: &App, board: &DashboardSnapshot, query: &DashboardQuery) -> Markup {
    html! {
        section.server aria-labelledby="server-title" {
            div.title-line {
                h2 #server-title { "Server" }
                (range::render_links(query))
            }
            div.gauges #gauges data-length=(query.range.length_ms()) { (node::render_tiles(app, board, query.range)) }
            @if let Some(words) = node::describe_records_start(app, board.at, query.range) { p.small.soft { (words) } }
        }
    }
}

/// Returns the tiles alone, for the page's script.
async fn get_tiles(
    State(app): State<App>,
    credential: Option<AdminCredential>,
    parameters: QueryParameters,
) -> Result<Response, Refusal> {
    if !may_view(&app, credential) {
        return Err(Refusal::NotAdmin);
    }
    let range = DashboardQuery::from_parameters(&parameters).range;
    let tiles = node::render_tiles(&app, &app.ops_dashboard().current_snapshot(), range);
    Ok(mark_not_cacheable(Html(tiles.into_string()).into_response()))
}

/// Returns the routes of the dashboard and its actions.
pub(super) fn router() -> Router<App> {
    Router::new()
        .route(OPS, get(get_dashboard))
        .route("/ops/rows/{feed}", get(get_row_details))
        .route(TILES, get(get_tiles))
        .route(settings::ADD, get(settings::get_empty_form).post(settings::post_new_form))
        .route(history::ADDRESS, get(history::get_history))
        .route(profile::ADDRESS, get(profile::record_and_show_profile))
        .route("/ops/feeds/{feed}", get(settings::get_form).post(settings::post_form))
        .route(
            "/ops/feeds/{feed}/{act}",
            get(actions::get_removal_confirmation).post(actions::post_action),
        )
        .route(
            "/ops/feeds/{feed}/history/{n}/undo",
            get(actions::get_settings_undo_confirmation).post(actions::post_undo),
        )
}

/// Returns the details of a feed's row, for the page's script.
async fn get_row_details(
    State(app): State<App>,
    credential: Option<AdminCredential>,
    Path(id): Path<String>,
) -> Result<Response, Refusal> {
    if !may_view(&app, credential) {
        return Err(Refusal::NotAdmin);
    }
    let board = app.ops_dashboard().current_snapshot();
    let row = board.feeds.iter().find(|row| row.overview.id.as_str() == id);
    let row = row.ok_or(Refusal::UnknownFeed(id))?;
    let sheet = detail::render_detail(&row.overview, app.now());
    Ok(mark_not_cacheable(Html(sheet.into_string()).into_response()))
}

fn may_view(app: &App, credential: Option<AdminCredential>) -> bool {
    credential.is_some() || app.config().admin.public_ops
}

/// Renders a time without its zone: the page says once that its times are in UTC.
fn render_utc(at: UnixMillis) -> Markup {
    let text = words::format_rfc3339(at.unix_seconds(), &TimeZone::UTC);
    html! { time datetime=(text) { (words::format_time_without_zone(at.unix_seconds(), &TimeZone::UTC)) } }
}

/// Marks a response that changes every second and depends on the user as not cacheable.
fn mark_not_cacheable(mut response: Response) -> Response {
    let no_store = HeaderValue::from_static("no-store");
    response.headers_mut().insert(header::CACHE_CONTROL, no_store);
    response
}

fn render_dashboard_heading(
    board: &DashboardSnapshot,
    query: &DashboardQuery,
    credential: Option<AdminCredential>,
    is_demo: bool,
) -> Markup {
    html! {
        div.page-head {
            div.title-line {
                h1 { "Operations" }
                span.live #live data-status="off" { "Loaded at " (words::format_clock(board.at.unix_seconds(), &TimeZone::UTC)) }
            }
            div.title-line {
                (render_state_counts(board, query))
                @match credential {
                    Some(AdminCredential::Session(_)) => form method="post" action=(login::LOGOUT) {
                        button.button.plain.compact type="submit" { "Log out" }
                    },
                    Some(AdminCredential::Token) => {},
                    None => a.small href={ (LOGIN) "?next=/ops" } { "Log in as an admin" },
                }
            }
            p.small.soft {
                a href="#server-title" { "Server" } " · " a href="#incidents" { "Recent incidents" } " · "
                a href="#alert-rules" { "Alert rules" } " · "
                @if is_demo { a href="/demo/faults" { "Faults of the simulated sources" } " · " }
                "Times in UTC."
            }
        }
    }
}

/// Renders the number of feeds in each state, the worst first, with links to these feeds.
fn render_state_counts(board: &DashboardSnapshot, query: &DashboardQuery) -> Markup {
    let mut counts: BTreeMap<FeedState, u64> = BTreeMap::new();
    for row in &board.feeds {
        *counts.entry(row.overview.state).or_default() += 1;
    }
    html! {
        ul.tally #tally {
            @for state in columns::states_worst_first() {
                @let n = counts.get(&state).copied().unwrap_or_default();
                li data-tally=(state) hidden[n == 0] {
                    a href=(query.with_state(state).dashboard_url()) { (states::render_static_state(state)) " " b.numeric { (words::format_number(n)) } }
                }
            }
            @if counts.is_empty() { li.soft { "No feeds are configured yet." } }
        }
    }
}

/// Renders the admin's actions that are not about one feed.
fn render_admin_links() -> Markup {
    html! {
        div.ops-bar {
            a.button.compact href=(settings::ADD) { "Add a feed" }
            a.button.plain.compact href=(history::ADDRESS) { "History of edits" }
            (profile::render_button())
        }
    }
}
