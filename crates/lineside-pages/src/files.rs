//! The files of a GBFS system: their states, and their addresses.

use lineside_formats::Format;
use lineside_ingest::{Feed, GbfsFeedFile};
use lineside_model::FeedState;
use lineside_sync::UnixMillis;
use maud::{Markup, html};

use super::{states, words};
use crate::layout::render_foldable_section;

/// Renders the section with all files; nothing if the feed is not a GBFS system.
pub(super) fn render_gbfs_files_card(feed: &Feed, now: UnixMillis) -> Markup {
    if !feed.format().is_some_and(Format::is_shared_mobility) {
        return html! {};
    }
    let parts = feed.gbfs_files();
    let note = words::format_count(parts.len() as u64, "file", "files");
    let body = html! {
        @if parts.is_empty() {
            p.card-body.soft { "No discovery file that lists any has arrived yet." }
        } @else {
            ul.links.card-body { @for part in parts.iter() { li { (render_file(feed, part, now)) } } }
        }
    };
    render_foldable_section("files", "Files", &html! { (note) }, false, &body)
}

fn render_file(system: &Feed, part: &GbfsFeedFile, now: UnixMillis) -> Markup {
    let (status, snapshot) = (part.feed.status(), part.feed.snapshot());
    let path = format!("/proxy/{}/{}.json", system.id(), part.path_with_language());
    html! {
        span { (states::render_static_state(status.state)) " " a.mono href=(path) { (path) } }
        span.soft.small {
            @if let Some(snapshot) = snapshot { (words::format_bytes(snapshot.bytes.len() as u64)) }
            @if let Some(at) = status.last_success { ", confirmed " (words::format_age((now.0 - at.0) / 1_000)) }
            @if !matches!(status.state, FeedState::Ok) { " " (status.reason) }
        }
    }
}
