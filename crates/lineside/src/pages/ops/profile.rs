//! A CPU profile of the server, recorded at the push of a button and shown as a page of the site.

use axum::extract::State;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::Response;
use maud::{Markup, html};

use super::admins::{Admin, refused};
use super::of_the_moment;
use crate::app::App;
use crate::http::{Parameters, admin};
use crate::pages::OPS;
use crate::pages::layout::{self, Page, Section};
use crate::profile;

/// The address that records.
pub(super) const ADDRESS: &str = "/ops/profile";
/// How long it may take, in seconds.
const LENGTHS: [u64; 2] = [10, 30];

/// Records, and answers with the flame graph, or in words why there is none.
pub(super) async fn record(
    State(app): State<App>,
    _: Admin,
    _: admin::Meant,
    parameters: Parameters,
) -> Response {
    let recorded = match admin::recorded(&app, &parameters).await {
        Ok(recorded) => recorded,
        Err(refusal) => return refused(refusal, OPS),
    };
    let mut page = Page::new("Profile", Section::Operation);
    page.class = "ops-page";
    page.styles = &["ops.css"];
    let main = html! {
        div.page.wide { p.crumbs { a href=(OPS) { "Operations" } " / Profile" } }
        (profile::section(&recorded))
    };
    let mut response = of_the_moment(layout::reply(StatusCode::OK, page.render(&main)));
    let policy = HeaderValue::try_from(profile::section_policy()).expect("hashes are base 64");
    response.headers_mut().insert(header::CONTENT_SECURITY_POLICY, policy);
    response
}

/// The button, and whether somebody has pressed it already.
pub(super) fn button() -> Markup {
    html! {
        form.act-line #profile action=(ADDRESS) {
            label.visually-hidden for="seconds" { "Length of the profile" }
            select.select #seconds name="seconds" {
                @for seconds in LENGTHS { option value=(seconds) { (seconds) " s" } }
            }
            button.button.plain.compact type="submit" { "Record a profile" }
            @if let Some(left) = profile::under_way() {
                span.small.soft { "A recording is running for " (left.as_secs() + 1) " s more." }
            }
        }
    }
}
