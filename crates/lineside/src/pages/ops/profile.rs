//! A recording of what the server's threads are at, by a button.

use axum::extract::State;
use axum::response::Response;
use maud::{Markup, html};

use super::admins::{Admin, refused};
use crate::app::App;
use crate::http::{Parameters, admin};
use crate::pages::OPS;
use crate::profile;

/// Where a recording is asked for.
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
    match admin::recording(&app, &parameters).await {
        Ok(graph) => graph,
        Err(refusal) => refused(refusal, OPS),
    }
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
                span.small.soft { "One is under way, for " (left.as_secs() + 1) " s more." }
            }
        }
    }
}
