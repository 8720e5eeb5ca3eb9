//! The page for an unknown address: the address, suggestions, and a search.

use std::collections::BTreeSet;

use lineside_config::spelling::find_nearest;
use maud::{Markup, html};
use percent_encoding::percent_decode_str;

use super::layout::{NavSection, PageLayout};
use crate::app::App;
use crate::http::page_context::{self, PageContext};

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
/// Segments without a page of their own: they need further segments.
const PREFIXES: [&str; 5] = ["alerts", "delays", "routes", "stops", "trips"];

/// Renders the page. `what` is missing, as a sentence.
pub(super) fn render_page(what: &str, is_embedded: bool) -> Markup {
    let mut page = PageLayout::new("Page not found", NavSection::Other);
    page.is_embedded = is_embedded;
    page.is_indexed = false;
    let suggestions = page_context::current_context()
        .map(|context| suggest_addresses(&context))
        .unwrap_or_default();
    let main = html! {
        div.page {
            div.page-head {
                h1 { "Page not found" }
                p { (what) }
                @if let Some(context) = page_context::current_context() {
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
fn suggest_addresses(context: &PageContext) -> Vec<(String, String)> {
    let path = percent_decode_str(context.request_path()).decode_utf8_lossy();
    let segments: Vec<&str> =
        path.split('/').filter(|segment| !segment.is_empty()).take(SEGMENTS_MAX).collect();
    let mut suggestions = suggest_feeds(context.app(), &segments);
    if let [first, rest @ ..] = segments.as_slice()
        && !PAGES.contains(first)
        && let Some(page) = find_nearest(first, PAGES)
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
        found.extend(find_nearest(id, feeds.iter().map(|feed| feed.id().as_str())));
    }
    let feeds = feeds.iter().filter(|feed| found.contains(feed.id().as_str()));
    let suggestion = |feed: &std::sync::Arc<lineside_ingest::Feed>| {
        let address = format!("/feeds/{}", feed.id());
        (address, feed.config().display_name().to_owned())
    };
    feeds.map(suggestion).collect()
}
