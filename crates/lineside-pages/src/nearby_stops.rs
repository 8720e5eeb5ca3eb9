//! The other stops with the name of a stop: the platforms of one station that a timetable has as separate stops.

use lineside_formats::gtfs::{Stop, StopIdx};
use lineside_model::Dataset;
use maud::{Markup, html};

use super::badge;
use crate::links;
use crate::stop_lines::{lines_at_stop, main_destinations};

/// The most stops that the list shows, and that are compared.
const LISTED_MAX: usize = 6;
const COMPARED_MAX: usize = 50;
/// Lines shown with a stop.
const LINES_MAX: usize = 6;
/// The longest distance of a stop in metres.
const DISTANCE_MAX: f64 = 600.0;
/// Metres of a degree of latitude.
const DEGREE_METRES: f64 = 111_200.0;

/// Renders links to the boards of the stops nearby that have the same name; nothing if there are none.
pub(super) fn render_same_name_stops(network: &str, dataset: &Dataset, stop: StopIdx) -> Markup {
    let timetable = &dataset.timetable;
    let own = timetable.stop(stop);
    if own.name.is_empty() {
        return html! {};
    }
    let shown = own.parent.unwrap_or(stop);
    let mut others = dataset.search_stops_page(own.name, 0, COMPARED_MAX).stops;
    others.retain(|&other| {
        let it = timetable.stop(other);
        other != stop && other != shown && it.name == own.name && is_near(&own, &it)
    });
    others.retain(|&other| !lines_at_stop(timetable, other).is_empty());
    others.truncate(LISTED_MAX);
    html! {
        @if !others.is_empty() {
            nav.nearby-stops aria-label="Other stops with this name" {
                span.soft.small { "Also here:" }
                @for &other in &others {
                    a.target href=(links::departure_board_url(network, timetable.stop(other).id)) {
                        @for (name, color) in lines_at_stop(timetable, other).iter().take(LINES_MAX) { (badge::render_route_badge(name, *color)) " " }
                        @if let Some(towards) = main_destinations(timetable, other) { span.small { "towards " (towards) } }
                    }
                }
            }
        }
    }
}

/// Returns true if two stops are near each other as far as their positions are known.
fn is_near(a: &Stop<'_>, b: &Stop<'_>) -> bool {
    let (Some(a_lat), Some(a_lon), Some(b_lat), Some(b_lon)) = (a.lat, a.lon, b.lat, b.lon) else {
        return false;
    };
    let north = (b_lat - a_lat) * DEGREE_METRES;
    let east = (b_lon - a_lon) * DEGREE_METRES * a_lat.to_radians().cos();
    north.hypot(east) <= DISTANCE_MAX
}
