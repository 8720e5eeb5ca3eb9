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
use crate::http::{Refusal, bad};
use crate::pages;

const PATH: &str = "/demo/faults";
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

/// A switch: a fault's word, nothing for health, or `script`.
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
    State((_, demo)): State<(App, Arc<Demo>)>,
    headers: HeaderMap,
    body: Result<Bytes, BytesRejection>,
) -> Result<Response, Refusal> {
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
            "" => self.origin.faults().set(feed, None),
            SCRIPT => self.origin.faults().follow_script(feed),
            word => {
                let fault = word.parse().map_err(|_| {
                    let words = Fault::ALL.map(Fault::as_str).join(", ");
                    bad("fault", format!("expected nothing, {SCRIPT}, or one of {words}"))
                })?;
                self.origin.faults().set(feed, Some(fault));
            }
        }
        Ok(())
    }
}

fn page(app: &App, demo: &Demo, base: &str) -> Markup {
    html! {
        h1 { "Faults" }
        p {
            "The city's producers are well, unless you switch them to something else. What their "
            "readers notice is on the page of each feed, once the feed was asked for again: a feed in "
            "trouble is asked for less and less often."
        }
        div.panel {
            table.table {
                thead { tr { @for name in COLUMNS { th scope="col" { (name) } } } }
                tbody { @for item in demo.items() { (row(&item, asked_in(app, item.feed))) } }
            }
        }
        p { "By program: " code { "curl -d 'feed=city-trips&fault=hang' " (base) (PATH) } }
    }
}

/// What the page's table shows of each feed.
const COLUMNS: [&str; 4] = ["Feed", "Now", "Asked again", "Switch to"];

/// How long until a feed's producer is asked again, on the city's clock; `None` while it is asked.
fn asked_in(app: &App, feed: &str) -> Option<Duration> {
    let next = app.ingest().feed(feed)?.status().next_poll?;
    Some(next.since(app.now())).filter(|wait| !wait.is_zero())
}

fn row(item: &Item, asked_in: Option<Duration>) -> Markup {
    let now = item.fault.unwrap_or("well");
    let by = if item.switched { "switched by hand" } else { "by its script" };
    html! {
        tr {
            th scope="row" { a href={ "/feeds/" (item.feed) } { (item.feed) } }
            td { strong { (now) } " (" (by) ")" }
            td { @match asked_in { Some(wait) => { "in " (wait.as_secs() + 1) " s" } None => "now" } }
            td {
                form method="post" action=(PATH) {
                    input type="hidden" name="feed" value=(item.feed);
                    select name="fault" aria-label={ "Fault of " (item.feed) } {
                        option value="" selected[item.fault.is_none()] { "nothing: well" }
                        @for fault in Fault::ALL {
                            option value=(fault) selected[item.fault == Some(fault.as_str())] {
                                (meaning(fault))
                            }
                        }
                        option value=(SCRIPT) { "as its script says" }
                    }
                    " "
                    button.button type="submit" { "Switch" }
                }
            }
        }
    }
}

/// What a fault looks like to a client.
fn meaning(fault: Fault) -> &'static str {
    match fault {
        Fault::Hang => "hang: takes the connection and never answers",
        Fault::Http500 => "500: answers with an error",
        Fault::Html => "html: sends a web page instead of its feed",
        Fault::Truncate => "truncate: sends a part of its feed",
        Fault::Empty => "empty: sends nothing",
        Fault::Skew => "skew: sends old data",
        Fault::Ids => "ids: sends ids that the schedule does not have",
    }
}
