//! `/demo/faults`: see and switch what the city's producers do wrong, by hand or by program.

use std::sync::Arc;
use std::time::Duration;

use axum::body::Bytes;
use axum::extract::State;
use axum::extract::rejection::BytesRejection;
use axum::response::{Html, IntoResponse, Redirect, Response};
use axum::routing::get;
use axum::{Json, Router};
use http::{HeaderMap, header};
use lineside_sim::{Fault, FeedId};
use maud::{Markup, html};
use serde::{Deserialize, Serialize};

use super::Demo;
use crate::app::App;
use crate::http::{Refusal, admin, bad};
use crate::pages;

const PATH: &str = "/demo/faults";
/// The word for a healthy source; an empty value means the same.
const NONE: &str = "none";
/// The word that gives a feed back to its script.
const SCRIPT: &str = "script";

/// The page, where there is a city to break.
pub(crate) fn router(app: &App) -> Router {
    match app.demo() {
        Some(demo) => {
            let state = (app.clone(), Arc::clone(demo));
            Router::new().route(PATH, get(show).post(switch)).with_state(state)
        }
        None => Router::new(),
    }
}

/// What a producer does wrong.
#[derive(Debug, Serialize)]
struct Item {
    feed: &'static str,
    /// Null: nothing.
    fault: Option<&'static str>,
    /// Whether it was switched by hand; otherwise the script decides.
    switched: bool,
}

/// A switch: a fault's word, `none` or an empty value for a healthy source, or `script`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Switch {
    feed: String,
    fault: Option<String>,
}

async fn show(State((app, demo)): State<(App, Arc<Demo>)>, headers: HeaderMap) -> Response {
    let accepted = headers.get(header::ACCEPT).and_then(|kinds| kinds.to_str().ok());
    if accepted.is_some_and(|kinds| kinds.contains("application/json")) {
        return list(&demo);
    }
    let page = pages::frame("Faults", &page(&app, &demo, &app.base_url(&headers)));
    let no_store = [(header::CACHE_CONTROL, "no-store")];
    (no_store, Html(page.into_string())).into_response()
}

async fn switch(
    State((app, demo)): State<(App, Arc<Demo>)>,
    headers: HeaderMap,
    body: Result<Bytes, BytesRejection>,
) -> Result<Response, Refusal> {
    if admin::is_own_page(&app, &headers) == Some(false) {
        return Err(Refusal::OtherOrigin);
    }
    let body = body.map_err(|rejection| bad("body", rejection.body_text()))?;
    let kind = headers.get(header::CONTENT_TYPE).and_then(|kind| kind.to_str().ok());
    if kind.is_some_and(|kind| kind.starts_with("application/json")) {
        let expected = r#"expected {"feed": "city-trips", "fault": "hang"}"#;
        let switch = serde_json::from_slice(&body).map_err(|_| bad("body", expected))?;
        demo.switch(&switch)?;
        return Ok(list(&demo));
    }
    let pairs = url::form_urlencoded::parse(&body);
    let mut switch = Switch { feed: String::new(), fault: None };
    for (name, value) in pairs {
        match &*name {
            "feed" => switch.feed = value.into_owned(),
            "fault" => switch.fault = Some(value.into_owned()),
            _ => {}
        }
    }
    demo.switch(&switch)?;
    Ok(Redirect::to(PATH).into_response())
}

fn list(demo: &Demo) -> Response {
    let items = demo.items();
    let list = serde_json::json!({ "items": items, "next": null });
    ([(header::CACHE_CONTROL, "no-store")], Json(list)).into_response()
}

impl Demo {
    fn items(&self) -> Vec<Item> {
        let now = self.clock.wall();
        let faults = self.origin.faults();
        let item = |feed: FeedId| Item {
            feed: feed.as_str(),
            fault: faults.active(feed, now).map(Fault::as_str),
            switched: faults.is_switched(feed),
        };
        self.served().into_iter().map(item).collect()
    }

    fn switch(&self, switch: &Switch) -> Result<(), Refusal> {
        let known = FeedId::parse(&switch.feed).filter(|feed| self.served().contains(feed));
        let feed = known.ok_or_else(|| Refusal::UnknownFeed(switch.feed.clone()))?;
        match switch.fault.as_deref().unwrap_or_default() {
            "" | NONE => self.origin.faults().set(feed, None),
            SCRIPT => self.origin.faults().follow_script(feed),
            word => {
                let fault = word.parse().map_err(|_| {
                    let words = Fault::ALL.map(Fault::as_str).join(", ");
                    bad("fault", format!("expected one of {NONE}, {SCRIPT}, {words}"))
                })?;
                self.origin.faults().set(feed, Some(fault));
            }
        }
        Ok(())
    }
}

fn page(app: &App, demo: &Demo, base: &str) -> Markup {
    let items = demo.items();
    let broken = items.iter().filter(|item| item.fault.is_some()).count();
    html! {
        h1 { "Faults" }
        p {
            @match broken {
                0 => "All sources are healthy. ",
                1 => "1 source has a fault. ",
                n => { (n) " sources have a fault. " }
            }
            "Pick a fault to inject; its feed page shows the effect at the next poll. Failing feeds are polled less often."
        }
        div.panel.faults {
            table.table {
                thead { tr { @for name in COLUMNS { th scope="col" { (name) } } } }
                tbody { @for item in &items { (row(item, next_poll_in(app, item.feed))) } }
            }
        }
        p { "From a program: " code { "curl -d 'feed=city-trips&fault=hang' " (base) (PATH) } }
    }
}

/// What the page's table shows of each feed.
const COLUMNS: [&str; 4] = ["Feed", "Fault", "Next poll", "Change to"];

/// How long until a feed is polled again, on the city's clock; `None` while it is being polled.
fn next_poll_in(app: &App, feed: &str) -> Option<Duration> {
    let next = app.ingest().feed(feed)?.status().next_poll?;
    Some(next.since(app.now())).filter(|wait| !wait.is_zero())
}

fn row(item: &Item, next_poll: Option<Duration>) -> Markup {
    let by = if item.switched { " (set by hand)" } else { " (script)" };
    html! {
        tr {
            th scope="row" { a href={ "/feeds/" (item.feed) } { (item.feed) } }
            td data-label=(COLUMNS[1]) { strong { (item.fault.unwrap_or(NONE)) } (by) }
            td data-label=(COLUMNS[2]) { @match next_poll { Some(wait) => { "in " (wait.as_secs() + 1) " s" } None => "now" } }
            td {
                form method="post" action=(PATH) {
                    input type="hidden" name="feed" value=(item.feed);
                    select name="fault" aria-label={ "Fault of " (item.feed) } {
                        option value=(NONE) selected[item.fault.is_none()] { "none: healthy" }
                        @for fault in Fault::ALL {
                            option value=(fault) selected[item.fault == Some(fault.as_str())] {
                                (meaning(fault))
                            }
                        }
                        option value=(SCRIPT) { "script: as given with --fault" }
                    }
                    " "
                    button.button type="submit" { "Apply" }
                }
            }
        }
    }
}

/// What a fault looks like to a client.
fn meaning(fault: Fault) -> &'static str {
    match fault {
        Fault::Hang => "hang: accepts the connection and never answers",
        Fault::Http500 => "500: answers 500 Internal Server Error",
        Fault::Html => "html: sends a web page instead of data",
        Fault::Truncate => "truncate: sends only a part of the body",
        Fault::Empty => "empty: sends an empty body",
        Fault::Skew => "skew: sends old data",
        Fault::Ids => "ids: sends ids that are not in the schedule",
    }
}
