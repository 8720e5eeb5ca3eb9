//! The page for an unknown address: the address, suggestions, and a search.

use std::collections::BTreeSet;

use axum::body::Body;
use axum::http::HeaderValue;
use axum::http::StatusCode;
use axum::http::header;
use axum::response::{IntoResponse as _, Response};
use lineside_config::spelling::find_nearest_word;
use lineside_http::EmbeddableReplyMarker;
use lineside_http::Refusal;
use lineside_http::app::App;
use lineside_http::page_context::{self, PageContext};
use maud::{Markup, html};
use percent_encoding::percent_decode_str;

use super::layout::{self, NavSection, PageLayout};
use super::links;
use super::network_names::network_name;

/// Path segments that are searched for the id of a feed.
const SEGMENTS_MAX: usize = 4;
/// Suggestions on one page.
const SUGGESTIONS_MAX: usize = 3;

/// First segments of the addresses of pages.
const PAGES: [&str; 13] = [
    "alerts", "api", "delays", "docs", "feeds", "map", "networks", "ops", "routes", "rules",
    "stops", "trips", "validate",
];
/// Segments with a page for each feed.
const FEED_PAGES: [&str; 3] = ["alerts", "feeds", "networks"];
/// Segments of the pages for riders: they suggest the page of a network instead of a feed.
const RIDER_PAGES: [&str; 5] = ["alerts", "networks", "routes", "stops", "trips"];
/// Segments without a page of their own: they need further segments.
const PREFIXES: [&str; 5] = ["alerts", "delays", "routes", "stops", "trips"];

/// Renders the page. `what` is missing, as a sentence; `offer` replaces the suggestions.
fn render_page(what: &str, offer: Option<&Markup>, is_embedded: bool) -> Markup {
    let mut page = PageLayout::new("Page not found", NavSection::Other);
    page.is_embedded = is_embedded;
    page.is_indexed = false;
    let suggestions = page_context::current_page_context()
        .filter(|_| offer.is_none())
        .map(|context| suggest_similar_urls(&context))
        .unwrap_or_default();
    let main = html! {
        div.page {
            div.page-head {
                h1 { "Page not found" }
                p { (what) }
                @if let Some(offer) = offer { (offer) }
                @if let Some(context) = page_context::current_page_context() {
                    p.small { code.missing-path { (percent_decode_str(context.request_path()).decode_utf8_lossy()) } }
                }
            }
            @if !is_embedded {
                @if !suggestions.is_empty() {
                    p.suggestions {
                        "Did you mean "
                        @for (at, (address, name)) in suggestions.iter().enumerate() {
                            @if at > 0 { " or " }
                            a href=(address) { (name) }
                        }
                        "?"
                    }
                }
                (render_search())
                ul.links-in-line {
                    li { a href="/" { "All feeds" } }
                    li { a href="/networks" { "Networks" } }
                    li { a href="/map" { "Map" } }
                    li { a href="/validate" { "Validate a feed" } }
                    li { a href="/docs" { "Documentation" } }
                    li { a href="/docs/api" { "API reference" } }
                }
            }
        }
    };
    page.render_document(&main)
}

fn render_search() -> Markup {
    html! {
        form.search role="search" action="/" {
            div.search-line {
                label.visually-hidden for="q" { "Search feeds, stops and lines" }
                input.input #q name="q" type="search" placeholder="Feeds, stops and lines" maxlength="100";
                button.button type="submit" { "Search" }
            }
        }
    }
}

/// Returns addresses similar to the requested one, with their names.
fn suggest_similar_urls(context: &PageContext) -> Vec<(String, String)> {
    let path = percent_decode_str(context.request_path()).decode_utf8_lossy();
    let segments: Vec<&str> =
        path.split('/').filter(|segment| !segment.is_empty()).take(SEGMENTS_MAX).collect();
    let mut suggestions = suggest_feeds(context.app(), &segments);
    if let [first, rest @ ..] = segments.as_slice()
        && !PAGES.contains(first)
        && let Some(page) = find_nearest_word(first, PAGES)
        // A short word is near every other short word.
        && first.chars().next() == page.chars().next()
    {
        match rest.first().filter(|id| context.app().ingest().find_feed(id).is_some()) {
            Some(id) if FEED_PAGES.contains(&page) => {
                let address = format!("/{page}/{id}");
                if suggestions.iter().all(|(known, _)| *known != address) {
                    suggestions.push((address.clone(), address));
                }
            }
            None if page == "feeds" => suggestions.push(("/".to_owned(), "/".to_owned())),
            _ if PREFIXES.contains(&page) => {}
            _ => suggestions.push((format!("/{page}"), format!("/{page}"))),
        }
    }
    suggestions.truncate(SUGGESTIONS_MAX);
    suggestions
}

/// Returns the feeds that a path names, or nearly names.
fn suggest_feeds(app: &App, segments: &[&str]) -> Vec<(String, String)> {
    let feeds = app.ingest().feeds();
    let mut found = BTreeSet::new();
    for segment in segments.iter().filter(|segment| !PAGES.contains(segment)) {
        let id = segment.split('.').next().unwrap_or_default();
        let nearest = find_nearest_word(id, feeds.iter().map(|feed| feed.id().as_str()));
        found.extend(nearest.filter(|nearest| shares_most_letters(id, nearest)));
    }
    let feeds = feeds.iter().filter(|feed| found.contains(feed.id().as_str()));
    let is_for_riders = segments.first().is_some_and(|first| RIDER_PAGES.contains(first));
    let suggestion = |feed: &std::sync::Arc<lineside_ingest::Feed>| {
        let network = feed.network();
        if is_for_riders && network.timetable().is_some() {
            return (links::network_page_url(network.id().as_str()), network_name(app, &network));
        }
        (format!("/feeds/{}", feed.id()), feed.config().display_name().to_owned())
    };
    let mut suggestions: Vec<_> = feeds.map(suggestion).collect();
    suggestions.dedup();
    suggestions
}

/// Returns true if a word and a known id begin with the same three letters, or if they share three quarters of their
/// letters: any short word is only a few edits away from any other.
fn shares_most_letters(word: &str, known: &str) -> bool {
    let (word, known) = (word.to_ascii_lowercase(), known.to_ascii_lowercase());
    let mut left: Vec<char> = known.chars().collect();
    let mut n_shared = 0;
    for letter in word.chars() {
        if let Some(at) = left.iter().position(|c| *c == letter) {
            left.swap_remove(at);
            n_shared += 1;
        }
    }
    let longer = word.chars().count().max(known.chars().count());
    let n_equal_at_start = word.chars().zip(known.chars()).take_while(|(a, b)| a == b).count();
    n_equal_at_start >= 3 || n_shared * 4 >= longer * 3
}

/// The seconds after which a temporarily unavailable page is reloaded.
pub(super) const LATER_S: u32 = 15;
/// The seconds after which a missing embedded page is reloaded.
pub(super) const MISSING_S: u32 = 300;

/// Returns the page for an unknown address; `what` is missing, as a sentence.
pub fn reply_with_not_found_page(what: &str) -> Response {
    reply_not_found(what, false)
}

/// Returns an error page with the reason, also for an embedded page. A page that may become available reloads itself;
/// an embedded page also does so if the current schedule lacks its subject, because a board on a wall has no user to
/// reload it.
pub(super) fn reply_with_refusal_page(refusal: &Refusal, is_embedded: bool) -> Response {
    match refusal.status() {
        StatusCode::NOT_FOUND => reply_not_found(&refusal.message(), is_embedded),
        StatusCode::SERVICE_UNAVAILABLE => reply_unavailable(refusal, is_embedded),
        _ => refusal.clone().into_response(),
    }
}

pub(super) fn render_unavailable(what: &str, is_embedded: bool) -> Markup {
    let mut page = PageLayout::new("Temporarily unavailable", NavSection::Other);
    page.is_embedded = is_embedded;
    page.is_indexed = false;
    let main = html! {
        div.page {
            div.page-head {
                h1 { "Temporarily unavailable" }
                p { (what) }
            }
            @if !is_embedded { p { a href="/" { "All feeds" } } }
        }
    };
    page.render_document(&main)
}

pub(super) fn reply_not_found(what: &str, is_embedded: bool) -> Response {
    let mut response =
        layout::reply_with_page(StatusCode::NOT_FOUND, render_page(what, None, is_embedded));
    if is_embedded {
        response.headers_mut().insert(header::REFRESH, HeaderValue::from(MISSING_S));
        response.extensions_mut().insert(EmbeddableReplyMarker);
    }
    response
}

/// Returns the page for an address of which another one exists: `offer` has its link.
pub(super) fn reply_not_found_with_link(what: &str, offer: &Markup) -> Response {
    layout::reply_with_page(StatusCode::NOT_FOUND, render_page(what, Some(offer), false))
}

pub(super) fn reply_unavailable(refusal: &Refusal, is_embedded: bool) -> Response {
    let page = render_unavailable(&refusal.message(), is_embedded);
    let (mut parts, _) = refusal.clone().into_response().into_parts();
    let kind = HeaderValue::from_static("text/html; charset=utf-8");
    parts.headers.insert(header::CONTENT_TYPE, kind);
    parts.headers.insert(header::REFRESH, HeaderValue::from(LATER_S));
    if is_embedded {
        parts.extensions.insert(EmbeddableReplyMarker);
    }
    Response::from_parts(parts, Body::from(page.into_string()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_near_misses_of_an_id_are_suggested() {
        for (word, known) in [
            ("ctiy", "city"),
            ("cites", "city"),
            ("city-trip", "city-trips"),
            ("bay", "bay-wheels"),
        ] {
            assert!(shares_most_letters(word, known), "{word}");
        }
        for (word, known) in [("here", "hart"), ("nothing", "raba")] {
            assert!(!shares_most_letters(word, known), "{word}");
        }
    }
}
