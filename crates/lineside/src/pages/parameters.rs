//! The query parameters of addresses that openapi.json does not describe: pages, images, and requests of the pages'
//! scripts; and the error page for other parameters.
//!
//! A new parameter of a page must be added here, or the request is rejected.

use axum::http::{StatusCode, Uri, header};
use axum::response::{IntoResponse as _, Response};
use maud::html;

use super::layout::{self, NavSection, PageLayout};
use crate::delays;
use crate::http::{EmbeddableReply, QueryParameters, Refusal};

/// Addresses of pages, with their parameters.
pub(crate) const PAGES: &[(&str, &[&str])] = &[
    ("/", &["q", "format", "theme", "publisher", "state", "report", "expires", "page"]),
    ("/alerts/{feed}", &["page", "lang"]),
    ("/api", &[]),
    ("/api/v1", &[]),
    ("/delays/{feed}", &["route", "stop", "embed"]),
    ("/demo/faults", &[]),
    ("/docs", &["q"]),
    ("/docs/{*path}", &[]),
    ("/feeds/{feed}", &["lang"]),
    ("/feeds/{feed}/availability", &[]),
    ("/feeds/{feed}/badge", &[]),
    ("/feeds/{feed}/matches", &[]),
    ("/feeds/{feed}/versions", &["offset"]),
    ("/feeds/{feed}/versions/{file}/report", &[]),
    ("/login", &["next", "token"]),
    ("/logout", &[]),
    ("/map", &["at", "mode", "network", "q", "route", "show", "station", "stop", "vehicle"]),
    ("/networks", &[]),
    ("/networks/{feed}", &["q", "page", "lines"]),
    ("/ops", &["q", "state", "sort", "page", "range", "open", "done", "feed"]),
    ("/ops/add", &["done", "feed"]),
    ("/ops/feeds/{feed}", &["done", "feed"]),
    ("/ops/feeds/{feed}/{act}", &[]),
    ("/ops/feeds/{feed}/history/{n}/undo", &[]),
    ("/ops/history", &["before", "done", "feed"]),
    ("/ops/profile", &["seconds", "format"]),
    ("/routes/{feed}/{route_id}", &["date", "lang"]),
    ("/rules", &[]),
    ("/rules/{code}", &[]),
    ("/search", &["q"]),
    ("/stops/{feed}/{stop_id}", &["lines", "limit", "after", "lang", "embed"]),
    ("/trips/{feed}/{trip_id}", &["date", "start", "lang"]),
    ("/validate", &[]),
    ("/validate/sample", &[]),
    ("/validate/{link}", &[]),
];

/// Addresses of images and of scripts' requests, with their parameters.
pub(crate) const FILES: &[(&str, &[&str])] = &[
    ("/delays/{feed}/badge.svg", &["route", "stop", CACHE_BUSTER]),
    ("/feeds/{feed}/report.svg", &[CACHE_BUSTER]),
    ("/map/base-map.geojson", &[CACHE_BUSTER]),
    ("/map/counts", &[]),
    ("/map/stop", &["feed", "stop_id"]),
    ("/map/trip", &["feed", "trip_id", "start_date", "start_time"]),
    ("/map/unplaced", &["network"]),
    ("/ops/rows/{feed}", &[]),
    ("/ops/tiles", &["range"]),
    ("/validate/{link}/report.json", &[]),
];

/// Parameters of these addresses that may be repeated.
pub(crate) const LISTS: [(&str, &str); 2] =
    [("/map", "route"), ("/stops/{feed}/{stop_id}", "lines")];

/// A parameter with a changing value that bypasses caches.
const CACHE_BUSTER: &str = "_";

/// Prefixes of the parameters that campaigns and analytics append to any link.
const TRACKING_PREFIXES: [&str; 6] = ["utm_", "mtm_", "pk_", "hsa_", "_hs", "mc_"];
/// Further parameters of campaigns and analytics.
const TRACKING_NAMES: [&str; 15] = [
    "_ga",
    "_gl",
    "dclid",
    "fbclid",
    "gad_source",
    "gbraid",
    "gclid",
    "igshid",
    "li_fat_id",
    "msclkid",
    "ref",
    "ttclid",
    "twclid",
    "wbraid",
    "yclid",
];

/// Returns true if a parameter only tracks the origin of a visitor.
pub(crate) fn is_tracking_parameter(name: &str) -> bool {
    TRACKING_NAMES.contains(&name) || TRACKING_PREFIXES.iter().any(|it| name.starts_with(it))
}

/// Responds to rejected parameters: with a page that suggests a link, or with the plain error if the client does not
/// accept HTML.
pub(crate) fn refuse_parameters(
    uri: &Uri,
    accepted: &axum::http::HeaderMap,
    refusal: Refusal,
) -> Response {
    let accepted = accepted.get(header::ACCEPT).and_then(|kinds| kinds.to_str().ok());
    if !accepted.is_some_and(|kinds| kinds.contains("text/html")) {
        return refusal.into_response();
    }
    let query = uri.query().unwrap_or_default();
    let is_embedded = delays::is_embedded(&QueryParameters::parse_query(query));
    let mut page = PageLayout::new("Check the link", NavSection::Other);
    page.is_embedded = is_embedded;
    page.is_indexed = false;
    let (without, corrected) = correct_address(uri.path(), query, &refusal);
    let main = html! {
        div.page {
            div.page-head {
                h1 { "Check the link" }
                p role="alert" { (refusal.message()) }
            }
            ul.links-in-line {
                @if let Some(corrected) = corrected { li { a.corrected href=(corrected) { (corrected) } } }
                li { a.without href=(without) { "Open the page without it" } }
            }
        }
    };
    let mut response =
        layout::reply_with_page(StatusCode::BAD_REQUEST, page.render_document(&main));
    if is_embedded {
        response.extensions_mut().insert(EmbeddableReply);
    }
    response
}

/// Returns the address without the rejected parameter, and one with the most similar name if there is one.
fn correct_address(path: &str, query: &str, refusal: &Refusal) -> (String, Option<String>) {
    let (refused, nearest) = match refusal {
        Refusal::UnknownParameter { name, nearest, .. } => (name.as_str(), nearest.as_deref()),
        Refusal::RepeatedParameter(name) => (name.as_str(), None),
        _ => ("", None),
    };
    let pairs: Vec<_> = url::form_urlencoded::parse(query.as_bytes()).collect();
    let address = |replacement: Option<&str>| {
        let mut query = url::form_urlencoded::Serializer::new(String::new());
        for (name, value) in &pairs {
            match replacement.filter(|_| name == refused) {
                Some(replacement) => drop(query.append_pair(replacement, value)),
                None if name == refused => {}
                None => drop(query.append_pair(name, value)),
            }
        }
        match query.finish() {
            empty if empty.is_empty() => path.to_owned(),
            query => format!("{path}?{query}"),
        }
    };
    (address(None), nearest.map(|nearest| address(Some(nearest))))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn corrected_links_preserve_the_other_parameters() {
        let refusal = Refusal::UnknownParameter {
            name: "rute".to_owned(),
            nearest: Some("route".to_owned()),
            known: Vec::new(),
        };
        let links = correct_address("/delays/city", "stop=a%26b&rute=1", &refusal);
        let corrected = Some("/delays/city?stop=a%26b&route=1".to_owned());
        assert_eq!(links, ("/delays/city?stop=a%26b".to_owned(), corrected));
        assert_eq!(correct_address("/map", "rute=1", &refusal).0, "/map");
    }

    #[test]
    fn tracking_parameters_are_recognized() {
        for name in ["utm_source", "fbclid", "gclid", "mc_eid"] {
            assert!(is_tracking_parameter(name), "{name}");
        }
        for name in ["rute", "utm", "q"] {
            assert!(!is_tracking_parameter(name), "{name}");
        }
    }
}
