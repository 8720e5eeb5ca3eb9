//! The trips without vehicle positions on a line's page: their estimated places, and trips that start later.

use std::collections::BTreeMap;
use std::sync::Arc;

use jiff::tz::TimeZone;
use lineside_formats::gtfs::Timetable;
use lineside_model::{ActiveTripWithoutVehicle, Record, TripRunId, UpcomingExtraTrip};
use maud::{Markup, html};

use super::words;
use crate::links;

/// Trips to one destination with their own rows; more of them share one row.
const TRIPS_SHOWN_MAX: usize = 2;
/// Rows of a list, and of the trips that start later.
const ROWS_MAX: usize = 20;
/// Start times of one row.
const STARTS_MAX: usize = 6;

/// The vehicles and trips without positions that come to a stop next.
#[derive(Debug, Default)]
pub(super) struct EstimatedLineTrips {
    /// Vehicles that report their next stop.
    pub(super) vehicles: Vec<Arc<Record>>,
    /// Trips placed by their times, the soonest first.
    pub(super) trips: Vec<ActiveTripWithoutVehicle>,
}

impl EstimatedLineTrips {
    pub(super) fn is_empty(&self) -> bool {
        self.vehicles.is_empty() && self.trips.is_empty()
    }
}

/// Renders trips at their estimated places; many to one destination share a row. Without a place on the line each names
/// its next stop.
pub(super) fn render_trips(
    feed: &str,
    timetable: &Timetable,
    trips: &[ActiveTripWithoutVehicle],
    has_place: bool,
) -> Markup {
    let mut groups: BTreeMap<Option<&str>, Vec<&ActiveTripWithoutVehicle>> = BTreeMap::new();
    for trip in trips {
        groups.entry(trip.headsign.as_deref()).or_default().push(trip);
    }
    let rows = groups.into_values().flat_map(|group| {
        if group.len() > TRIPS_SHOWN_MAX {
            return vec![group];
        }
        group.into_iter().map(|trip| vec![trip]).collect()
    });
    let mut rows: Vec<Vec<&ActiveTripWithoutVehicle>> = rows.collect();
    rows.sort_by_key(|group| group.first().map(|trip| trip.next_at));
    html! {
        @for group in rows.iter().take(ROWS_MAX) {
            @if let Some(trip) = group.first() { (render_trip_row(feed, timetable, trip, group.len(), has_place)) }
        }
        @if rows.len() > ROWS_MAX { li.soft.small { "and " (rows.len() - ROWS_MAX) " more" } }
    }
}

/// Renders one trip, or the soonest of `n_trips` to one destination.
fn render_trip_row(
    feed: &str,
    timetable: &Timetable,
    trip: &ActiveTripWithoutVehicle,
    n_trips: usize,
    has_place: bool,
) -> Markup {
    let to = words::shorten_name(trip.headsign.as_deref().unwrap_or("its last stop"));
    let said = words::format_delay("realtime", trip.delay.map(i64::from));
    html! {
        li.vehicle.reckoned data-id=(trip.id) data-trips=(n_trips) {
            span.vehicle-sign aria-hidden="true" { "▽" }
            span.vehicle-name {
                @if n_trips > 1 { (n_trips) " trips to " (to) }
                @else { (render_trip_link(feed, &trip.run, &format!("to {to}"))) }
            }
            span.soft.small {
                @if n_trips > 1 { "the next: " }
                @if has_place { "next stop " } @else { (stop_name(timetable, &trip.next_stop_id).unwrap_or("a stop that the timetable does not have")) " " }
                (render_time(trip.next_at, timetable.timezone()))
            }
            @if n_trips == 1 && trip.delay.is_some() { span class=(format!("delay tone-{}", said.tone)) { (said.text) } }
        }
    }
}

/// Renders the trips that start later, by first stop and destination. `web/plain/route.js` replaces the list with that
/// of a newer page.
pub(super) fn render_announced(
    feed: &str,
    timetable: &Timetable,
    trips: &[UpcomingExtraTrip],
) -> Markup {
    let mut groups: BTreeMap<(&str, Option<&str>), Vec<&UpcomingExtraTrip>> = BTreeMap::new();
    for trip in trips {
        let key = (trip.first_stop_id.as_str(), trip.headsign.as_deref());
        groups.entry(key).or_default().push(trip);
    }
    let mut rows: Vec<_> = groups.into_iter().collect();
    rows.sort_by_key(|(_, starts)| starts.first().map(|trip| trip.starts_at));
    let zone = timetable.timezone();
    html! {
        section.card data-reckoned="announced" aria-label="Starting later" hidden[rows.is_empty()] {
            h2 { "Starting later" }
            ul.card-body.coming {
                @for ((from, to), starts) in rows.iter().take(ROWS_MAX) {
                    li data-from=(from) data-starts=(starts.len()) {
                        @match stop_name(timetable, from) { Some(from) => { "From " (from) }, None => "From a stop that the timetable does not have" }
                        @if let Some(to) = to { " to " (words::shorten_name(to)) } " at "
                        @for (number, trip) in starts.iter().take(STARTS_MAX).enumerate() {
                            @if number > 0 { ", " }
                            (render_trip_link(feed, &trip.run, &words::format_clock(trip.starts_at, zone)))
                        }
                        @if starts.len() > STARTS_MAX { span.soft { " and " (starts.len() - STARTS_MAX) " more" } }
                    }
                }
                @if rows.len() > ROWS_MAX { li.soft { "and " (rows.len() - ROWS_MAX) " more" } }
            }
        }
    }
}

fn render_time(at: i64, zone: &TimeZone) -> Markup {
    html! { time datetime=(words::format_rfc3339(at, zone)) { (words::format_clock(at, zone)) } }
}

/// Renders a text as a link to the page of its trip, if the feed states the trip's id.
fn render_trip_link(feed: &str, run: &TripRunId, text: &str) -> Markup {
    html! {
        @if run.trip_id.is_empty() { (text) }
        @else { a.target href=(links::trip_page_url(feed, &run.trip_id, &run.start_date, &run.start_time)) { (text) } }
    }
}

/// Returns the name of a stop; `None` if the timetable does not have it.
fn stop_name<'a>(timetable: &'a Timetable, stop_id: &'a str) -> Option<&'a str> {
    let stop = timetable.find_stop(stop_id).map(|stop| timetable.stop(stop))?;
    Some(words::shorten_name(if stop.name.is_empty() { stop.id } else { stop.name }))
}
