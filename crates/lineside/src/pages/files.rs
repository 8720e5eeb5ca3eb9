//! The files of a GBFS system: how each is, and where it is served.

use lineside_formats::Format;
use lineside_ingest::{Feed, FeedState, Part};
use lineside_sync::UnixMillis;
use maud::{Markup, html};

use super::feed::fold;
use super::{states, words};

/// The section with all files; nothing for other feeds than GBFS systems.
pub(super) fn card(feed: &Feed, now: UnixMillis) -> Markup {
    if feed.format() != Some(Format::Gbfs) {
        return html! {};
    }
    let parts = feed.parts();
    let note = words::count(parts.len() as u64, "file", "files");
    let body = html! {
        @if parts.is_empty() {
            p.card-body.soft { "No discovery file that lists any has arrived yet." }
        } @else {
            ul.links.card-body { @for part in parts.iter() { li { (file(feed, part, now)) } } }
        }
    };
    fold("files", "Files", &html! { (note) }, false, &body)
}

fn file(system: &Feed, part: &Part, now: UnixMillis) -> Markup {
    let (status, snapshot) = (part.feed.status(), part.feed.snapshot());
    let path = format!("/proxy/{}/{}.json", system.id(), part.path());
    html! {
        span { (states::mark(status.state)) " " a.mono href=(path) { (path) } }
        span.soft.small {
            @if let Some(snapshot) = snapshot { (words::bytes(snapshot.bytes.len() as u64)) }
            @if let Some(at) = status.last_success { ", confirmed " (words::age((now.0 - at.0) / 1_000)) }
            @if !matches!(status.state, FeedState::Ok) { " " (status.reason) }
        }
    }
}
