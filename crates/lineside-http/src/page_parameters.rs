//! The query parameters of addresses that openapi.json does not describe: pages, images, and requests of the pages'
//! scripts.
//!
//! A new parameter of a page must be added here, or the request is rejected.

/// Addresses of pages, with their parameters.
pub(crate) const PAGES: &[(&str, &[&str])] = &[
    ("/", &["q", "format", "theme", "publisher", "state", "report", "expires", "all", "page"]),
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

#[cfg(test)]
mod tests {
    use super::*;

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
