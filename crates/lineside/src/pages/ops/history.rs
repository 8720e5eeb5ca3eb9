//! What was changed of feeds: who, when, from what to what, and the way back.

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;
use jiff::tz::TimeZone;
use lineside_store::NumberedEdit;
use maud::{Markup, html};
use serde_json::Value;

use super::admins::{Admin, refused};
use super::{done, of_the_moment};
use crate::app::App;
use crate::http::{Parameters, admin};
use crate::overrides::{Difference, before_and_after, differences};
use crate::pages::layout::{self, Page, Section};
use crate::pages::{OPS, words};
use crate::settings::Settings;

/// The history of all feeds.
pub(super) const ADDRESS: &str = "/ops/history";

pub(super) async fn page(State(app): State<App>, _: Admin, parameters: Parameters) -> Response {
    let edits = match admin::before(&parameters) {
        Ok(before) => Settings::history_of_all(&app, before).await.map_err(Into::into),
        Err(refusal) => Err(refusal),
    };
    let edits = match edits {
        Ok(edits) => edits,
        Err(refusal) => return refused(refusal, OPS),
    };
    let earlier = admin::edits_before(&edits);
    let mut page = Page::new("History", Section::Operation);
    page.class = "ops-page";
    page.styles = &["ops.css"];
    page.alternates.push(("application/json", "/api/v1/admin/history".to_owned()));
    let main = html! {
        div.page {
            div.page-head {
                p.crumbs { a href=(OPS) { "Operation" } " / " "History" }
                h1 { "History" }
                p { "What admins have changed of feeds while the server ran, newest first." }
            }
            (done::said(&parameters))
            section.card aria-label="Edits" {
                (list(&app, &edits, true, ADDRESS))
                @if let Some(n) = earlier {
                    nav.pager aria-label="Pages" { a href=(format!("{ADDRESS}?before={n}")) { "Earlier" } }
                }
            }
        }
    };
    of_the_moment(layout::reply(StatusCode::OK, page.render(&main)))
}

/// Edits, newest first; `next` is where one goes on after one was taken back.
pub(super) fn list(app: &App, edits: &[NumberedEdit], of_all: bool, next: &str) -> Markup {
    if edits.is_empty() {
        return html! { p.card-body.soft { "Nothing was changed yet." } };
    }
    html! {
        div.scroll {
            table.list-table.edits {
                thead { tr {
                    th scope="col" { "When" }
                    @if of_all { th scope="col" { "Feed" } }
                    th scope="col" { "What" }
                    th scope="col" { "From what to what" }
                    th scope="col" { "Who" }
                    th scope="col" { span.visually-hidden { "Take back" } }
                } }
                tbody { @for edit in edits { (row(app, edit, of_all, next)) } }
            }
        }
    }
}

fn row(app: &App, (n, edit): &NumberedEdit, of_all: bool, next: &str) -> Markup {
    let (before, after) = before_and_after(edit);
    let keys = |over: &Option<crate::overrides::Override>| {
        over.as_ref().map(|over| over.keys.clone()).unwrap_or_default()
    };
    let changed = differences(&keys(&before), &keys(&after));
    // One that others came after is not taken back before them.
    let (now, _) = app.settings().find_override(&edit.feed);
    let own = super::settings::address(&edit.feed);
    let seconds = edit.at.seconds();
    html! {
        tr {
            td.nowrap {
                time datetime=(words::rfc3339(seconds, &TimeZone::UTC)) { (words::moment(seconds, &TimeZone::UTC)) }
            }
            @if of_all { td { a href=(own) { (edit.feed) } } }
            td { (what(&edit.what)) @if let Some(undone) = edit.undoes { " " span.soft.small { "(number " (undone) ")" } } }
            td { (changes(&changed, "as in the file")) }
            td { (edit.who) }
            td.end {
                @if now == after {
                    form method="post" action=(format!("{own}/history/{n}/undo")) {
                        input type="hidden" name="next" value=(next);
                        button.button.plain.compact type="submit" aria-label=(format!("Undo number {n}: {}", edit.feed)) { "Undo" }
                    }
                } @else {
                    span.soft.small { "Number " (n) }
                }
            }
        }
    }
}

fn what(word: &str) -> &str {
    match word {
        "add" => "Added",
        "change" => "Changed",
        "remove" => "Removed",
        "revert" => "Given back to the file",
        "pause" => "Paused",
        "resume" => "Resumed",
        "undo" => "Taken back",
        other => other,
    }
}

/// Keys with what they were and what they are then; `nothing` is said where there is no value.
pub(super) fn changes(changed: &[Difference], nothing: &str) -> Markup {
    html! {
        @if changed.is_empty() { span.soft.no-change { "–" } } @else {
            dl.changes {
                @for Difference { key, old, new } in changed {
                    div {
                        dt { code { (key) } }
                        dd {
                            @if old.is_null() { span.soft { (nothing) } } @else { del { (value(old, nothing)) } }
                            span aria-hidden="true" { " → " }
                            ins {
                                @if old == new { "another one, not shown" } @else { (value(new, nothing)) }
                            }
                        }
                    }
                }
            }
        }
    }
}

fn value(value: &Value, nothing: &str) -> String {
    match value {
        Value::Null => nothing.to_owned(),
        Value::String(text) => text.clone(),
        Value::Bool(true) => "yes".to_owned(),
        Value::Bool(false) => "no".to_owned(),
        other => other.to_string(),
    }
}
