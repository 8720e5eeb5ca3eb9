//! `/demo/faults`: shows and switches the faults of the city's producers, for people and programs.

use std::sync::Arc;
use std::time::Duration;

use axum::body::Bytes;
use axum::extract::State;
use axum::extract::rejection::BytesRejection;
use axum::response::{Html, IntoResponse, Redirect, Response};
use axum::routing::get;
use axum::{Json, Router};
use http::{HeaderMap, header};
use lineside_http::app::App;
use lineside_http::{Refusal, admin, bad_parameter};
use lineside_sim::{CityFeed, FeedFault};
use maud::{Markup, html};
use serde::{Deserialize, Serialize};

use super::Demo;

const PATH: &str = "/demo/faults";
/// Value for a healthy source; an empty value means the same.
const NONE: &str = "none";
/// Value that returns a feed to its script.
const SCRIPT: &str = "script";

/// Builds the routes of the page; empty without a demo city.
pub(crate) fn faults_router(app: &App, demo: Option<&Arc<Demo>>) -> Router {
    match demo {
        Some(demo) => {
            let state = (app.clone(), Arc::clone(demo));
            Router::new().route(PATH, get(show_faults).post(switch_fault)).with_state(state)
        }
        None => Router::new(),
    }
}

/// The active fault of a producer.
#[derive(Debug, Serialize)]
struct ProducerFault {
    feed: &'static str,
    /// Null if the source is healthy.
    fault: Option<&'static str>,
    /// True if the fault was set by hand; otherwise the script decides.
    switched: bool,
}

/// A request to switch a fault: its name, `none` or an empty value for a healthy source, or `script`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct FaultRequest {
    feed: String,
    fault: Option<String>,
}

async fn show_faults(State((app, demo)): State<(App, Arc<Demo>)>, headers: HeaderMap) -> Response {
    let accepted = headers.get(header::ACCEPT).and_then(|kinds| kinds.to_str().ok());
    if accepted.is_some_and(|kinds| kinds.contains("application/json")) {
        return list_faults(&demo);
    }
    let page =
        lineside_pages::render_frame("Faults", &render_page(&app, &demo, &app.base_url(&headers)));
    let no_store = [(header::CACHE_CONTROL, "no-store")];
    (no_store, Html(page.into_string())).into_response()
}

async fn switch_fault(
    State((app, demo)): State<(App, Arc<Demo>)>,
    headers: HeaderMap,
    body: Result<Bytes, BytesRejection>,
) -> Result<Response, Refusal> {
    if admin::is_own_page(&app, &headers) == Some(false) {
        return Err(Refusal::OtherOrigin);
    }
    let body = body.map_err(|rejection| bad_parameter("body", rejection.body_text()))?;
    let kind = headers.get(header::CONTENT_TYPE).and_then(|kind| kind.to_str().ok());
    if kind.is_some_and(|kind| kind.starts_with("application/json")) {
        let expected = r#"expected {"feed": "city-trips", "fault": "hang"}"#;
        let switch = serde_json::from_slice(&body).map_err(|_| bad_parameter("body", expected))?;
        demo.apply_switch(&switch)?;
        return Ok(list_faults(&demo));
    }
    let pairs = url::form_urlencoded::parse(&body);
    let mut switch = FaultRequest { feed: String::new(), fault: None };
    for (name, value) in pairs {
        match &*name {
            "feed" => switch.feed = value.into_owned(),
            "fault" => switch.fault = Some(value.into_owned()),
            _ => {}
        }
    }
    demo.apply_switch(&switch)?;
    Ok(Redirect::to(PATH).into_response())
}

fn list_faults(demo: &Demo) -> Response {
    let items = demo.current_faults();
    let list = serde_json::json!({ "items": items, "next": null });
    ([(header::CACHE_CONTROL, "no-store")], Json(list)).into_response()
}

impl Demo {
    fn current_faults(&self) -> Vec<ProducerFault> {
        let now = self.clock.wall_time();
        let faults = self.origin.fault_control();
        let item = |feed: CityFeed| ProducerFault {
            feed: feed.as_str(),
            fault: faults.active_fault(feed, now).map(FeedFault::as_str),
            switched: faults.is_manually_switched(feed),
        };
        self.feed_ids().into_iter().map(item).collect()
    }

    fn apply_switch(&self, switch: &FaultRequest) -> Result<(), Refusal> {
        let known =
            CityFeed::feed_from_id(&switch.feed).filter(|feed| self.feed_ids().contains(feed));
        let feed = known.ok_or_else(|| Refusal::UnknownFeed(switch.feed.clone()))?;
        match switch.fault.as_deref().unwrap_or_default() {
            "" | NONE => self.origin.fault_control().switch_fault(feed, None),
            SCRIPT => self.origin.fault_control().follow_script(feed),
            fault_name => {
                let fault = fault_name.parse().map_err(|_| {
                    let fault_names = FeedFault::ALL.map(FeedFault::as_str).join(", ");
                    bad_parameter(
                        "fault",
                        format!("expected one of {NONE}, {SCRIPT}, {fault_names}"),
                    )
                })?;
                self.origin.fault_control().switch_fault(feed, Some(fault));
            }
        }
        Ok(())
    }
}

fn render_page(app: &App, demo: &Demo, base: &str) -> Markup {
    let items = demo.current_faults();
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
                tbody { @for item in &items { (render_row(app, item)) } }
            }
        }
        p { "In a shell: " code { "curl -d 'feed=city-trips&fault=hang' " (base) (PATH) } }
    }
}

/// Columns of the page's table.
const COLUMNS: [&str; 4] = ["Feed", "Fault", "Next poll", "Change to"];

/// Returns the time until a feed's next poll, on the city's clock; `None` while it is being polled.
fn next_poll_in(app: &App, feed: &str) -> Option<Duration> {
    let next = app.ingest().find_feed(feed)?.status().next_poll?;
    Some(next.duration_since(app.now())).filter(|wait| !wait.is_zero())
}

fn render_row(app: &App, item: &ProducerFault) -> Markup {
    let next_poll = next_poll_in(app, item.feed);
    let feed = app.ingest().find_feed(item.feed);
    let name = feed.as_ref().map_or(item.feed, |feed| feed.config().display_name());
    let origin_note = if item.switched { " (set by hand)" } else { " (as --fault says)" };
    html! {
        tr {
            th scope="row" { a href={ "/feeds/" (item.feed) } { (name) } " " code { (item.feed) } }
            td data-label=(COLUMNS[1]) { strong { (item.fault.unwrap_or(NONE)) } (origin_note) }
            td data-label=(COLUMNS[2]) { @match next_poll { Some(wait) => { "in " (wait.as_secs() + 1) " s" } None => "now" } }
            td {
                form method="post" action=(PATH) {
                    input type="hidden" name="feed" value=(item.feed);
                    select name="fault" aria-label={ "Fault of " (item.feed) } {
                        option value=(NONE) selected[item.fault.is_none()] { "none: healthy" }
                        @for fault in FeedFault::ALL {
                            option value=(fault) selected[item.fault == Some(fault.as_str())] {
                                (fault_meaning(fault))
                            }
                        }
                        option value=(SCRIPT) { "script: as --fault says" }
                    }
                    " "
                    button.button type="submit" { "Apply" }
                }
            }
        }
    }
}

/// Describes the effect of a fault on a client.
fn fault_meaning(fault: FeedFault) -> &'static str {
    match fault {
        FeedFault::Hang => "hang: accepts the connection and never responds",
        FeedFault::Http500 => "500: responds with 500 Internal Server Error",
        FeedFault::Html => "html: sends a web page instead of data",
        FeedFault::Truncate => "truncate: sends only part of the body",
        FeedFault::Empty => "empty: sends an empty body",
        FeedFault::Skew => "skew: sends old data",
        FeedFault::Ids => "ids: sends ids that are not in the schedule",
    }
}
