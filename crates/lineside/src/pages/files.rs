//! The files of a GBFS system: how each is, and where it is served.

use lineside_formats::Format;
use lineside_ingest::{Feed, FeedState, Part};
use lineside_sync::UnixMillis;
use maud::{Markup, html};

use super::{states, words};

/// The card with all files; nothing where a feed is no system.
pub(super) fn card(feed: &Feed, now: UnixMillis) -> Markup {
    let parts = feed.parts();
    html! {
        @if feed.format() == Some(Format::Gbfs) {
            section.card #files aria-labelledby="files-title" {
                div.card-head {
                    h2 #files-title { "Files" }
                    span.soft.small { (words::count(parts.len() as u64, "file", "files")) " of the discovery file" }
                }
                @if parts.is_empty() {
                    p.card-body.soft { "No discovery file has come yet that lists any." }
                } @else {
                    ul.links.card-body { @for part in parts.iter() { li { (file(feed, part, now)) } } }
                }
            }
        }
    }
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
