//! The history of changes to feeds: author, change and time of each, with an undo.

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;
use lineside_config::overrides::{FeedOverride, KeyDifference, diff_keys};
use lineside_http::app::App;
use lineside_http::page_paths::OPS;
use lineside_http::settings::{
    edit_log::parse_before_and_after,
    edit_undo::{UndoConflict, override_restored_before_edit, override_without_edit},
};
use lineside_http::{QueryParameters, admin};
use lineside_store::{FeedOverrideEdit, NumberedOverrideEdit};
use maud::{Markup, html};
use serde_json::Value;

use super::admins::{RequireAdmin, reply_with_refusal_page};
use super::{completed_action, mark_not_cacheable};
use crate::layout::{self, NavSection, PageLayout};

/// The address of the history of all feeds.
pub(super) const ADDRESS: &str = "/ops/history";

pub(super) async fn get_history(
    State(app): State<App>,
    _: RequireAdmin,
    parameters: QueryParameters,
) -> Response {
    let edits = match admin::parse_before_parameter(&parameters) {
        Ok(before) => app.live_settings().list_edits_before(before).await.map_err(Into::into),
        Err(refusal) => Err(refusal),
    };
    let edits = match edits {
        Ok(edits) => edits,
        Err(refusal) => return reply_with_refusal_page(refusal, OPS),
    };
    let earlier = admin::next_page_before(&edits);
    let mut page = PageLayout::new("History of edits", NavSection::Operation);
    page.class = "ops-page";
    page.styles = &["ops.css"];
    page.alternates.push(("application/json", "/api/v1/admin/history".to_owned()));
    let main = html! {
        div.page {
            div.page-head {
                p.crumbs { a href=(OPS) { "Operations" } " / " "History of edits" }
                h1 { "History of edits" }
                p { "Changes of the configuration of feeds, made by admins, newest first. Times in UTC." }
            }
            (completed_action::render_action_notice(&parameters))
            section.card aria-label="Edits" {
                (render_list(&app, &edits, true, ADDRESS))
                @if let Some(n) = earlier {
                    nav.pager aria-label="Pages" { a href=(format!("{ADDRESS}?before={n}")) { "Earlier" } }
                }
            }
        }
    };
    mark_not_cacheable(layout::reply_with_page(StatusCode::OK, page.render_document(&main)))
}

/// Renders edits, newest first; `next` is the page after an undo.
pub(super) fn render_list(
    app: &App,
    edits: &[NumberedOverrideEdit],
    shows_feed: bool,
    next: &str,
) -> Markup {
    if edits.is_empty() {
        return html! { p.card-body.soft { "No changes yet. When an admin adds, edits or removes a feed here or by the API, the change is listed with an undo." } };
    }
    html! {
        div.scroll {
            table.list-table.edits {
                thead { tr {
                    th scope="col" { "When" }
                    @if shows_feed { th scope="col" { "Feed" } }
                    th scope="col" { "Action" }
                    th scope="col" { "Changes" }
                    th scope="col" { "By" }
                    th scope="col" { span.visually-hidden { "Undo" } }
                } }
                tbody { @for edit in edits { (render_row(app, edit, edits, shows_feed, next)) } }
            }
        }
    }
}

fn render_row(
    app: &App,
    numbered: &NumberedOverrideEdit,
    edits: &[NumberedOverrideEdit],
    shows_feed: bool,
    next: &str,
) -> Markup {
    let (n, edit) = numbered;
    let (before, after) = parse_before_and_after(edit);
    let keys = |feed_override: &Option<FeedOverride>| {
        feed_override.as_ref().map(|feed_override| feed_override.keys.clone()).unwrap_or_default()
    };
    let changed = diff_keys(&keys(&before), &keys(&after));
    let (now, in_file) = app.live_settings().find_feed_override(&edit.feed);
    let is_added = [&before, &after]
        .iter()
        .any(|feed_override| feed_override.as_ref().is_some_and(|it| it.added));
    let nothing = if in_file && !is_added { "as in the file" } else { "not set" };
    let own = super::settings::feed_settings_url(&edit.feed);
    let is_restored =
        edit.undoes.is_some() && restores_removed_feed(before.as_ref(), after.as_ref());
    let action = match edit.undoes {
        Some(_) if is_restored => "restore",
        Some(_) => "undo",
        None => &edit.what,
    };
    html! {
        tr id=(format!("edit-{n}")) data-action=(action) {
            td.nowrap { (super::render_utc(edit.at)) }
            @if shows_feed { td { (render_feed_cell(app, edit, &own)) } }
            td { (render_action(edit, is_restored, edits)) }
            td {
                @if edit.what == "remove" { (render_values(&changed, false)) }
                @else if is_restored || edit.what == "add" { (render_values(&changed, true)) }
                @else { (render_changes(&changed, nothing)) }
            }
            td { (edit.who) }
            td.end {
                @match override_without_edit(numbered, now.as_ref(), edits) {
                    Ok(next_override) if next_override == now => {},
                    Ok(_) => form method="post" action=(format!("{own}/history/{n}/undo")) {
                        input type="hidden" name="next" value=(next);
                        button.button.plain.compact type="submit" aria-label=(format!("Undo change {n}: {}", edit.feed)) { "Undo" }
                    },
                    Err(conflict) => {
                        span.soft.small { (explain_conflict(*n, &conflict, edits)) }
                        @if override_restored_before_edit(numbered, now.as_ref()) != now {
                            br;
                            a.small.target href=(format!("{own}/history/{n}/undo")) aria-label=(format!("Restore the values before this: change {n}, {}", edit.feed)) { "Restore the values before this" }
                        }
                    },
                }
            }
        }
    }
}

/// Returns true if a feed is absent before an edit and present after it.
fn restores_removed_feed(before: Option<&FeedOverride>, after: Option<&FeedOverride>) -> bool {
    let was_removed = before.is_some_and(|it| it.removed);
    let is_removed = after.is_some_and(|it| it.removed);
    (was_removed && !is_removed) || (before.is_none() && after.is_some_and(|it| it.added))
}

/// Renders what an edit did.
fn render_action(
    edit: &FeedOverrideEdit,
    is_restored: bool,
    edits: &[NumberedOverrideEdit],
) -> Markup {
    html! {
        @match edit.undoes {
            Some(undone) => {
                (if is_restored { "Restored" } else { "Undone" })
                div.soft.small { "Reverts " (render_edit_reference(undone, edits)) }
            },
            None => (edit_action_label(&edit.what)),
        }
    }
}

/// Renders a feed's id, with its name if it has one.
fn render_feed_cell(app: &App, edit: &FeedOverrideEdit, address: &str) -> Markup {
    let feed = app.ingest().find_feed(edit.feed.as_str());
    let name = feed.and_then(|feed| feed.config().name.clone());
    html! {
        a.nowrap href=(address) { (edit.feed) }
        @if let Some(name) = name { div.soft.small { (name) } }
    }
}

/// Explains why an edit cannot be undone alone.
fn explain_conflict(n: i64, conflict: &UndoConflict, edits: &[NumberedOverrideEdit]) -> Markup {
    let undone_by =
        edits.iter().find(|(_, edit)| edit.undoes == Some(n)).map(|(edit_number, _)| *edit_number);
    html! {
        @match (undone_by, conflict.edit_number) {
            (Some(by), _) => { "Undone by " (render_edit_reference(by, edits)) },
            (None, by) => { (explain_changed_part(&conflict.part, by, edits)) },
        }
    }
}

/// Explains that a part of the feed's settings was changed by a later edit.
fn explain_changed_part(part: &str, by: Option<i64>, edits: &[NumberedOverrideEdit]) -> Markup {
    let later = by.and_then(|by| edits.iter().find(|(number, _)| *number == by));
    let removal = later.filter(|(_, edit)| edit.what == "remove");
    html! {
        @match part {
            _ if let Some((number, edit)) = removal => {
                "Undo the later removal first: " (render_edit_link(*number, edit))
            },
            "added" | "removed" => "The feed was removed or added later",
            "paused" => "The feed was paused or resumed later",
            key => { code { (key) } " was changed later" },
        }
        @if let Some((number, edit)) = later.filter(|_| removal.is_none()) { ", " (render_edit_link(*number, edit)) }
    }
}

/// Names an edit by its time, or by its number if it is not listed.
fn render_edit_reference(number: i64, edits: &[NumberedOverrideEdit]) -> Markup {
    html! {
        @match edits.iter().find(|(n, _)| *n == number) {
            Some((_, edit)) => { "the change of " (render_edit_link(number, edit)) },
            // The page that begins with this edit.
            None => a.target href=(format!("{ADDRESS}?before={}#edit-{number}", number + 1)) { "change " (number) },
        }
    }
}

/// Renders the time of a listed edit as a link to its row.
fn render_edit_link(number: i64, edit: &FeedOverrideEdit) -> Markup {
    html! { a.target.nowrap href=(format!("#edit-{number}")) { (super::render_utc(edit.at)) } }
}

fn edit_action_label(word: &str) -> &str {
    match word {
        "add" => "Added",
        "change" => "Changed",
        "remove" => "Removed",
        "revert" => "Reset to the file",
        "pause" => "Paused",
        "resume" => "Resumed",
        other => other,
    }
}

/// Renders the values that a removed feed had, or that an added or restored one has.
fn render_values(changed: &[KeyDifference], is_present: bool) -> Markup {
    html! {
        @if changed.is_empty() { span.soft.no-change { "–" } } @else {
            dl.changes {
                @for KeyDifference { key, old, new } in changed {
                    div {
                        dt { code { (key) } }
                        dd { @if is_present { ins { (format_value(new, "not set")) } } @else { del { (format_value(old, "not set")) } } }
                    }
                }
            }
        }
    }
}

/// Renders keys with their old and new values; `nothing` is the text for no value.
pub(super) fn render_changes(changed: &[KeyDifference], nothing: &str) -> Markup {
    html! {
        @if changed.is_empty() { span.soft.no-change { "–" } } @else {
            dl.changes {
                @for KeyDifference { key, old, new } in changed {
                    div {
                        dt { code { (key) } }
                        dd {
                            @if old.is_null() { span.soft { (nothing) } } @else { del { (format_value(old, nothing)) } }
                            span aria-hidden="true" { " → " }
                            ins {
                                @if old == new { "changed, not shown" } @else { (format_value(new, nothing)) }
                            }
                        }
                    }
                }
            }
        }
    }
}

fn format_value(value: &Value, nothing: &str) -> String {
    match value {
        Value::Null => nothing.to_owned(),
        Value::String(text) => text.clone(),
        Value::Bool(true) => "yes".to_owned(),
        Value::Bool(false) => "no".to_owned(),
        other => other.to_string(),
    }
}
