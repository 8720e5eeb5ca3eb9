//! The addresses of a feed, on its page.

use lineside_formats::{Format, FormatKind};
use maud::{Markup, html};

use super::{report, words};
use crate::layout::render_foldable_section;

/// Renders the section with all addresses of the feed. A feed of alerts has no delays.
pub(super) fn render_feed_urls_card(
    id: &str,
    format: Option<Format>,
    has_only_alerts: bool,
) -> Markup {
    let is_linked = |path: &str| !(has_only_alerts && path.starts_with("/delays/"));
    let paths: Vec<_> =
        list_feed_urls(id, format).into_iter().filter(|(_, path)| is_linked(path)).collect();
    let note = words::format_count(paths.len() as u64, "address", "addresses");
    let body = html! {
        ul.links.card-body {
            @for (what, path) in paths {
                li { span.soft.small { (what) } a.mono href=(path) { (path) } }
            }
        }
    };
    render_foldable_section("addresses", "Addresses", &html! { (note) }, false, &body)
}

fn list_feed_urls(id: &str, format: Option<Format>) -> Vec<(&'static str, String)> {
    let bytes = match format.map(Format::kind) {
        Some(FormatKind::System) => {
            ("The discovery file, with links to this server", format!("/proxy/{id}/gbfs.json"))
        }
        _ => ("The last good reply, unchanged", format!("/proxy/{id}")),
    };
    let mut paths = vec![
        bytes,
        ("This feed as JSON", format!("/api/v1/feeds/{id}")),
        ("Its availability as JSON", format!("/api/v1/feeds/{id}/availability")),
        ("Its state as JSON", format!("/api/v1/state?channel=feed/{id}")),
    ];
    if format.is_some_and(|it| !it.is_raw()) {
        paths.extend([
            ("Its report as JSON", format!("/api/v1/feeds/{id}/report")),
            ("A badge of its report", report::report_badge_url(id)),
        ]);
    }
    match format.map(Format::kind) {
        Some(FormatKind::Schedule) => paths.extend([
            ("The schedule", format!("/gtfs/{id}.zip")),
            ("Its versions", format!("/feeds/{id}/versions")),
            ("Delays", format!("/delays/{id}")),
            ("Stops as GeoJSON", format!("/geojson/{id}/stops.geojson")),
            ("Lines as GeoJSON", format!("/geojson/{id}/routes.geojson")),
        ]),
        Some(FormatKind::Realtime) => paths.extend([
            ("All as GTFS-Realtime", format!("/gtfs-rt/{id}.pb")),
            ("All as JSON", format!("/gtfs-rt/{id}.json")),
            ("Vehicle positions", format!("/gtfs-rt/{id}/vehicle-positions.pb")),
            ("Trip updates", format!("/gtfs-rt/{id}/trip-updates.pb")),
            ("Alerts", format!("/gtfs-rt/{id}/alerts.pb")),
            ("Vehicles as GeoJSON", format!("/geojson/{id}/vehicles.geojson")),
            ("Delays", format!("/delays/{id}")),
            ("Journeys as SIRI", format!("/siri/rest/et?datasetId={id}")),
            ("Vehicles as SIRI", format!("/siri/rest/vm?datasetId={id}")),
            ("Situations as SIRI", format!("/siri/rest/sx?datasetId={id}")),
        ]),
        Some(FormatKind::System) => paths.extend([
            ("As GBFS 2.3", format!("/gbfs/{id}/2/gbfs.json")),
            ("As GBFS 3.0", format!("/gbfs/{id}/3/gbfs.json")),
            ("Stations as GeoJSON", format!("/geojson/{id}/stations.geojson")),
            ("Vehicles as GeoJSON", format!("/geojson/{id}/vehicles.geojson")),
        ]),
        Some(FormatKind::Raw) | None => {}
    }
    paths
}
