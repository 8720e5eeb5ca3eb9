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
use lineside_http::{Refusal, admin, bad_parameter_refusal};
use lineside_sim::{CityFeed, FeedFault};
use maud::{Markup, html};
use serde::{Deserialize, Serialize};

use super::DemoCity;

const PATH: &str = "/demo/faults";
/// Value for a healthy source; an empty value means the same.
const NONE: &str = "none";
/// Value that returns a feed to its script.
const SCRIPT: &str = "script";

/// Builds the routes of the page; empty without a demo city.
pub(crate) fn faults_router(app: &App, demo: Option<&Arc<DemoCity>>) -> Router {
    match demo {
        Some(demo) => {
            let state = (app.clone(), Arc::clone(demo));
            Router::new().route(PATH, get(get_faults).post(post_fault_switch)).with_state(state)
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
struct SwitchFaultRequest {
    feed: String,
    fault: Option<String>,
}

async fn get_faults(
    State((app, demo)): State<(App, Arc<DemoCity>)>,
    headers: HeaderMap,
) -> Response {
    let accepted = headers.get(header::ACCEPT).and_then(|kinds| kinds.to_str().ok());
    if accepted.is_some_and(|kinds| kinds.contains("application/json")) {
        return faults_json_response(&demo);
    }
    let page = lineside_pages::render_in_page_layout(
        "Faults",
        &render_page(&app, &demo, &app.base_url(&headers)),
    );
    let no_store = [(header::CACHE_CONTROL, "no-store")];
    (no_store, Html(page.into_string())).into_response()
}

async fn post_fault_switch(
    State((app, demo)): State<(App, Arc<DemoCity>)>,
    headers: HeaderMap,
    body: Result<Bytes, BytesRejection>,
) -> Result<Response, Refusal> {
    if admin::is_request_from_own_page(&app, &headers) == Some(false) {
        return Err(Refusal::OtherOrigin);
    }
    let body = body.map_err(|rejection| bad_parameter_refusal("body", rejection.body_text()))?;
    let kind = headers.get(header::CONTENT_TYPE).and_then(|kind| kind.to_str().ok());
    if kind.is_some_and(|kind| kind.starts_with("application/json")) {
        let expected = r#"expected {"feed": "city-trips", "fault": "hang"}"#;
        let switch =
            serde_json::from_slice(&body).map_err(|_| bad_parameter_refusal("body", expected))?;
        demo.set_producer_fault(&switch)?;
        return Ok(faults_json_response(&demo));
    }
    let pairs = url::form_urlencoded::parse(&body);
    let mut switch = SwitchFaultRequest { feed: String::new(), fault: None };
    for (name, value) in pairs {
        match &*name {
            "feed" => switch.feed = value.into_owned(),
            "fault" => switch.fault = Some(value.into_owned()),
            _ => {}
        }
    }
    demo.set_producer_fault(&switch)?;
    Ok(Redirect::to(PATH).into_response())
}

fn faults_json_response(demo: &DemoCity) -> Response {
    let items = demo.current_faults();
    let list = serde_json::json!({ "items": items, "next": null });
    ([(header::CACHE_CONTROL, "no-store")], Json(list)).into_response()
}

impl DemoCity {
    fn current_faults(&self) -> Vec<ProducerFault> {
        let now = self.clock.wall_time();
        let faults = self.origin.fault_control();
        let item = |feed: CityFeed| ProducerFault {
            feed: feed.as_str(),
            fault: faults.active_fault(feed, now).map(FeedFault::as_str),
            switched: faults.is_manually_switched(feed),
        };
        self.list_city_feeds().into_iter().map(item).collect()
    }

    fn set_producer_fault(&self, switch: &SwitchFaultRequest) -> Result<(), Refusal> {
        let known = CityFeed::feed_from_id(&switch.feed)
            .filter(|feed| self.list_city_feeds().contains(feed));
        let feed = known.ok_or_else(|| Refusal::UnknownFeed(switch.feed.clone()))?;
        match switch.fault.as_deref().unwrap_or_default() {
            "" | NONE => self.origin.fault_control().switch_fault(feed, None),
            SCRIPT => self.origin.fault_control().follow_script(feed),
            fault_name => {
                let fault = fault_name.parse().map_err(|_| {
                    let fault_names = FeedFault::ALL.map(FeedFault::as_str).join(", ");
                    bad_parameter_refusal(
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

fn render_page(app: &App, demo: &DemoCity, base: &str) -> Markup {
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
fn time_until_next_poll(app: &App, feed: &str) -> Option<Duration> {
    let next = app.ingest().find_feed(feed)?.status().next_poll?;
    Some(next.duration_since(app.now())).filter(|wait| !wait.is_zero())
}

fn render_row(app: &App, item: &ProducerFault) -> Markup {
    let next_poll = time_until_next_poll(app, item.feed);
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
                                (describe_fault_effect(fault))
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
fn describe_fault_effect(fault: FeedFault) -> &'static str {
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
