//! A CPU profile of the server, recorded with a button and shown as a page of the site.

use axum::extract::State;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::Response;
use lineside_http::app::App;
use lineside_http::page_paths::OPS;
use lineside_http::{QueryParameters, admin};
use maud::{Markup, html};

use super::admins::{RequireAdmin, reply_with_refusal_page};
use super::mark_not_cacheable;
use crate::layout::{self, NavSection, PageLayout};

/// The address that records a profile.
pub(super) const ADDRESS: &str = "/ops/profile";
/// The script of the button.
pub(super) const SCRIPT: &str = "profile.js";
/// The offered durations, in seconds.
const LENGTHS: [u64; 2] = [10, 30];

/// Records a profile, and returns the flame graph or an error page.
pub(super) async fn record_and_show_profile(
    State(app): State<App>,
    _: RequireAdmin,
    _: admin::ProfileRequestGuard,
    parameters: QueryParameters,
) -> Response {
    // Opening the page records nothing: the button names the length.
    if parameters.find_value("seconds").is_none() {
        return reply_with_profile_button();
    }
    let recorded = match admin::record_profile(&app, &parameters).await {
        Ok(recorded) => recorded,
        Err(refusal) => return reply_with_refusal_page(refusal, OPS),
    };
    let mut page = PageLayout::new("Profile", NavSection::Operation);
    page.class = "ops-page";
    page.styles = &["ops.css"];
    page.scripts = &[SCRIPT];
    let main = html! {
        div.page.wide {
            p.crumbs { a href=(OPS) { "Operations" } " / Profile" }
            div.ops-bar { (render_button()) }
        }
        (lineside_profile::render_page_section(&recorded))
    };
    let mut response =
        mark_not_cacheable(layout::reply_with_page(StatusCode::OK, page.render_document(&main)));
    let policy =
        HeaderValue::try_from(lineside_profile::server_page_csp()).expect("hashes are base 64");
    response.headers_mut().insert(header::CONTENT_SECURITY_POLICY, policy);
    response
}

fn reply_with_profile_button() -> Response {
    let mut page = PageLayout::new("Profile", NavSection::Operation);
    page.class = "ops-page";
    page.styles = &["ops.css"];
    page.scripts = &[SCRIPT];
    let main = html! {
        div.page {
            div.page-head {
                p.crumbs { a href=(OPS) { "Operations" } " / Profile" }
                h1 { "Profile" }
                p { "A profile shows in which functions the server spends its time, as a flame graph. The page stays empty until the recording ends." }
            }
            div.ops-bar { (render_button()) }
        }
    };
    mark_not_cacheable(layout::reply_with_page(StatusCode::OK, page.render_document(&main)))
}

/// Renders the button, or a note that a profile is being recorded.
pub(super) fn render_button() -> Markup {
    html! {
        form.act-line #profile action=(ADDRESS) {
            label.soft.small for="seconds" { "Length of the profile" }
            select.select #seconds name="seconds" {
                @for seconds in LENGTHS { option value=(seconds) { (seconds) " s" } }
            }
            button.button.plain.compact type="submit" { "Record a profile" }
            @if let Some(left) = lineside_profile::recording_time_left() {
                span.small.soft { "A recording is running for " (left.as_secs() + 1) " s more." }
            }
        }
    }
}
