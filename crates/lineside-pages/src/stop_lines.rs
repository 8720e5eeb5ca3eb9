//! The lines and destinations of a stop.

use std::sync::Arc;

use lineside_formats::gtfs::Timetable;
use lineside_formats::gtfs::{RouteIdx, StopIdx};
use lineside_http::app::App;
use lineside_ingest::Network;
use lineside_quality::last_stops::list_last_stops;

use super::words::shorten_name;

/// Last stops shown with a stop that has a namesake.
pub(super) const TOWARDS_MAX: usize = 2;

/// Returns the timetable and the stop of an address.
pub(super) fn find_stop(
    app: &App,
    feed: &str,
    stop_id: &str,
) -> Option<(Arc<Network>, Arc<Timetable>, StopIdx)> {
    let network = app.ingest().find_network_of_feed(feed)?;
    let timetable = network.timetable()?;
    let stop = timetable.find_stop(stop_id)?;
    Some((network, timetable, stop))
}

/// Returns the lines that call at a stop or a station, with their colors, short names first.
pub(super) fn lines_at_stop(
    timetable: &Timetable,
    stop: StopIdx,
) -> Vec<(String, Option<[u8; 3]>)> {
    let mut lines: Vec<_> = timetable
        .stop_and_descendants(stop)
        .into_iter()
        .flat_map(|stop| timetable.routes_at_stop(stop))
        .map(|route| timetable.route(route))
        .map(|route| (route.display_name().len(), route.display_name().to_owned(), route.color))
        .collect();
    lines.sort();
    lines.dedup();
    lines.into_iter().map(|(_, name, color)| (name, color)).collect()
}

/// Trips of a line among which the longest one is searched.
const TRIPS_COMPARED_MAX: usize = 50;

/// Returns the first and the last stop of a line's longest trip, which name a line without a name: "Oslo S – Drammen".
pub(super) fn line_termini(timetable: &Timetable, route: RouteIdx) -> Option<String> {
    let trips = timetable.route_trips(route).iter().take(TRIPS_COMPARED_MAX);
    let longest = trips.max_by_key(|trip| {
        let calls = timetable.trip_stop_times(**trip);
        // Of both directions, always the same one is taken.
        (calls.len(), std::cmp::Reverse(calls.last().map(|call| call.stop)))
    })?;
    let mut calls = timetable.trip_stop_times(*longest).map(|call| timetable.stop(call.stop).name);
    let (first, last) = (calls.next()?, calls.last()?);
    let has_names = !first.is_empty() && !last.is_empty() && first != last;
    has_names.then(|| format!("{} – {}", shorten_name(first), shorten_name(last)))
}

/// Returns the destinations of most trips from a stop, in one or two names.
pub(super) fn main_destinations(timetable: &Timetable, stop: StopIdx) -> Option<String> {
    let mut names = list_last_stops(timetable, stop);
    names.retain(|name| !name.is_empty());
    names.truncate(TOWARDS_MAX);
    (!names.is_empty()).then(|| names.join(", "))
}
