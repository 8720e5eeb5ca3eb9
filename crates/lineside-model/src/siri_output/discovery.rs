//! Discovery: the lines and stops of a network that can be requested.

use lineside_formats::{
    gtfs::{Stop, Timetable},
    siri::{
        AnnotatedDestination, AnnotatedLineRef, AnnotatedStopPointRef, LanguageText, Location,
        RouteDirection,
    },
};
use smol_str::{SmolStr, format_smolstr};

use super::{RecordFilter, journeys::route_agency_id, text_without_language};
use crate::network_state::NetworkState;

/// Returns the lines of a network's schedule; none without a schedule.
pub fn list_annotated_lines<'a>(
    state: &'a NetworkState,
    filter: &'a RecordFilter,
) -> impl Iterator<Item = AnnotatedLineRef> + 'a {
    let timetable = state.dataset.as_ref().map(|dataset| &*dataset.timetable);
    timetable.filter(|_| filter.matches_network(state)).into_iter().flat_map(move |timetable| {
        let routes = timetable.routes().filter(move |route| {
            filter.matches_line(state, [route.id])
                && filter.matches_operator(state, route_agency_id(timetable, *route))
        });
        let is_monitored = has_realtime_feed(state);
        routes.map(move |route| {
            let (destinations, directions) =
                list_destinations(timetable, timetable.route_trips(route.idx));
            AnnotatedLineRef {
                line_ref: Some(SmolStr::new(route.id)),
                line_names: name_or_id(route.display_name(), route.id),
                monitored: Some(is_monitored),
                destinations,
                directions,
            }
        })
    })
}

/// Returns the name, which the schema requires, or the id without one.
fn name_or_id(name: &str, id: &str) -> Vec<LanguageText> {
    text_without_language(Some(if name.is_empty() { id } else { name }))
}

/// Returns the destinations and directions of trips, each once.
fn list_destinations(
    timetable: &Timetable,
    trips: &[lineside_formats::gtfs::TripIdx],
) -> (Vec<AnnotatedDestination>, Vec<RouteDirection>) {
    let mut seen = Vec::new();
    for &trip in trips {
        let pattern = timetable.trip_pattern(trip);
        let direction = timetable.trip(trip).direction;
        if !seen.contains(&(pattern, direction)) {
            seen.push((pattern, direction));
        }
    }
    let name = |direction: u8| format_smolstr!("{direction}");
    let mut ends: Vec<(&str, &str, Option<u8>)> = seen
        .iter()
        .filter_map(|(pattern, direction)| {
            let last = timetable.stop(timetable.pattern_stops((*pattern)?).last()?);
            Some((last.id, last.name, *direction))
        })
        .collect();
    ends.sort_unstable();
    ends.dedup();
    let destinations = ends.iter().map(|(id, destination, direction)| AnnotatedDestination {
        destination_ref: Some(SmolStr::new(id)),
        place_names: name_or_id(destination, id),
        direction_ref: direction.map(name),
    });
    let mut directions: Vec<u8> = seen.iter().filter_map(|(_, direction)| *direction).collect();
    directions.sort_unstable();
    directions.dedup();
    let directions = directions.into_iter().map(|direction| RouteDirection {
        direction_ref: Some(name(direction)),
        direction_names: Vec::new(),
    });
    (destinations.collect(), directions.collect())
}

/// GTFS `location_type`s with departures: stops and stations.
const LOCATION_TYPES: std::ops::RangeInclusive<u8> = 0..=1;

/// Returns the stops and stations with calls of a network's schedule; none without a schedule.
pub fn list_annotated_stop_points<'a>(
    state: &'a NetworkState,
    filter: &'a RecordFilter,
) -> impl Iterator<Item = AnnotatedStopPointRef> + 'a {
    let timetable = state.dataset.as_ref().map(|dataset| &*dataset.timetable);
    timetable.filter(|_| filter.matches_network(state)).into_iter().flat_map(move |timetable| {
        let stops = timetable.stops().filter(|stop| LOCATION_TYPES.contains(&stop.location_type));
        let is_monitored = has_realtime_feed(state);
        stops.filter_map(move |stop| {
            let lines = list_line_ids_at_stop(timetable, &stop);
            let operators = || {
                let routes = lines.iter().filter_map(|line| timetable.find_route(line));
                routes.map(|route| route_agency_id(timetable, timetable.route(route)))
            };
            let is_matching_line = filter.matches_line(state, lines.iter().copied())
                && (filter.operators.is_empty()
                    || operators().any(|operator| filter.matches_operator(state, operator)));
            is_matching_line.then(|| AnnotatedStopPointRef {
                stop_point_ref: Some(SmolStr::new(stop.id)),
                monitored: Some(is_monitored),
                stop_names: text_without_language(Some(stop.name)),
                stop_area_ref: stop.parent.map(|parent| SmolStr::new(timetable.stop(parent).id)),
                lines: lines.iter().map(SmolStr::new).collect(),
                location: stop.lat.zip(stop.lon).map(|(latitude, longitude)| Location {
                    longitude: Some(longitude),
                    latitude: Some(latitude),
                    ..Location::default()
                }),
                ..AnnotatedStopPointRef::default()
            })
        })
    })
}

/// Returns the lines that call at a stop or at any stop of a station.
fn list_line_ids_at_stop<'t>(timetable: &'t Timetable, stop: &Stop<'_>) -> Vec<&'t str> {
    let stops = timetable.stop_and_descendants(stop.idx);
    let routes = stops.into_iter().flat_map(|stop| timetable.routes_at_stop(stop));
    let mut lines: Vec<&str> = routes.map(|route| timetable.route(route).id).collect();
    lines.sort_unstable();
    lines.dedup();
    lines
}

/// Returns true if any feed of the network has realtime data.
fn has_realtime_feed(state: &NetworkState) -> bool {
    state.feeds.iter().any(|feed| feed.header.is_some())
}
