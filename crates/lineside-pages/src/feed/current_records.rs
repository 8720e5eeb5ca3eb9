//! The current records of a real-time feed: its alerts, its trips, its vehicles.

use std::cmp::Reverse;
use std::sync::Arc;

use lineside_formats::gtfs_rt::proto::TripDescriptor;
use lineside_model::Record;
use lineside_sync::UnixMillis;
use maud::{Markup, html};

use super::super::{alerts, badge, layout, words};
use super::FeedView;
use crate::line_vehicles::GENERATED_ID_PREFIXES;
use crate::links;

/// Trips and vehicles that the page lists; the API returns all of them.
const ROWS_MAX: usize = 4;

impl FeedView {
    /// Returns the section's title; "Last known" once the feed is in trouble. The present of a recording is not now.
    pub(super) fn current_title(&self) -> &'static str {
        let is_last_known =
            self.status.unreliable_since.is_some() || self.status.state.is_problem_state();
        match is_last_known {
            true => "Last known",
            false if self.is_replaying_recording() => "In the recording",
            false => "Right now",
        }
    }

    /// Renders the card; `None` if the feed has no alert, trip or vehicle.
    pub(super) fn render_current(&self) -> Option<Markup> {
        let state = self.network.state();
        let id = self.feed_id();
        let is_own = |record: &&Arc<Record>| record.feed.as_str() == id;
        let mut trips: Vec<&Arc<Record>> = state.trip_updates().filter(is_own).collect();
        let mut vehicles: Vec<&Arc<Record>> = state.vehicles().filter(is_own).collect();
        let summaries = alerts::find_for_feed(
            &state,
            id,
            self.network.data_time_now().unix_seconds(),
            &self.languages,
        );
        let n_alerts = state.alerts().filter(is_own).count();
        if trips.is_empty() && vehicles.is_empty() && n_alerts == 0 {
            return None;
        }
        let n_trips = trips.len();
        // Trips without a delay are last, and those without a next stop after them.
        let weigh_trip =
            |it: &Record| (Reverse(it.join.delay), it.join.next_stop_name.is_none(), it.id.clone());
        trips.sort_by_key(|record| weigh_trip(record));
        self.sort_vehicles_by_report_time(&mut vehicles);
        let has_delays = trips.first().is_some_and(|record| record.join.delay.is_some());
        let trip_order = if has_delays { ", the most delayed first" } else { "" };
        let has_times =
            vehicles.first().is_some_and(|record| vehicle_report_time(record).is_some());
        let vehicle_order = if has_times { ", the newest reports first" } else { "" };
        let alert_counts = match summaries.len() {
            0 => (n_alerts, "alert, none in force", "alerts, none in force"),
            n => (n, "alert in force", "alerts in force"),
        };
        let counts =
            [alert_counts, (n_trips, "trip", "trips"), (vehicles.len(), "vehicle", "vehicles")];
        let present = counts.into_iter().filter(|(n, _, _)| *n > 0);
        let counts: Vec<String> =
            present.map(|(n, one, many)| words::format_count(count_to_u64(n), one, many)).collect();
        let note = html! {
            @if let Some(since) = self.status.unreliable_since.filter(|_| !self.is_replaying_recording()) { "no reliable data since " (self.render_time_in_network_zone(since)) ", " }
            (counts.join(", "))
        };
        let alerts_address = links::network_alerts_url(self.network.id().as_str());
        let body = html! {
            (alerts::render_expandable_alerts(&summaries, &alerts_address))
            @if summaries.is_empty() && n_alerts > 0 {
                p.card-body data-past-alerts=(n_alerts) { a href=(alerts_address) { "All alerts of this network" } }
            }
            @if n_trips > 0 {
                div.scroll tabindex="0" role="region" aria-label="Trips" {
                    table.list-table.now-table role="table" {
                        (render_table_header(["Line", "Trip", "Next stop", "Delay"]))
                        tbody role="rowgroup" { @for record in trips.iter().take(ROWS_MAX) { (self.render_trip_row(record)) } }
                    }
                }
                (self.render_all_records_link(n_trips, "trips", trip_order))
            }
            @if !vehicles.is_empty() {
                div.scroll tabindex="0" role="region" aria-label="Vehicles" {
                    table.list-table.now-table role="table" {
                        (render_table_header(["Line", "Vehicle", "Next stop", "Reported"]))
                        tbody role="rowgroup" { @for record in vehicles.iter().take(ROWS_MAX) { (self.render_vehicle_row(record)) } }
                    }
                }
                (self.render_all_records_link(vehicles.len(), "vehicles", vehicle_order))
            }
        };
        Some(layout::render_foldable_section("current", self.current_title(), &note, false, &body))
    }

    /// Sorts vehicles by their reports, the newest first. Some feeds announce vehicles with a time ahead: those are
    /// last.
    fn sort_vehicles_by_report_time(&self, vehicles: &mut [&Arc<Record>]) {
        vehicles.sort_by_key(|record| {
            let at = vehicle_report_time(record);
            (Reverse(at.filter(|at| !self.is_report_time_in_future(*at))), at, record.id.clone())
        });
    }

    /// Returns true if a report's time is after the message that contains it, or after now.
    fn is_report_time_in_future(&self, at: i64) -> bool {
        let now = self.network.data_time_now().unix_seconds();
        let message = self.status.data_time.map_or(now, UnixMillis::unix_seconds);
        at > now.min(message)
    }

    /// Renders the number of rows shown, with a link to all of them.
    fn render_all_records_link(&self, all: usize, what: &str, order: &str) -> Markup {
        html! {
            @if all > ROWS_MAX {
                p.card-body.soft.small {
                    (words::format_number(count_to_u64(ROWS_MAX))) " of " (words::format_number(count_to_u64(all))) " " (what) (order) ". "
                    a href=(format!("/api/v1/state?channel=feed/{}", self.feed_id())) { "All as JSON" }
                }
            }
        }
    }

    fn render_line_badge(&self, record: &Record) -> Markup {
        let join = &record.join;
        let name = join.route_short_name.as_deref().or(join.route_id.as_deref());
        let timetable = self.network.timetable();
        let known = join.route_id.as_deref().filter(|id| {
            timetable.as_ref().is_some_and(|timetable| timetable.find_route(id).is_some())
        });
        html! {
            @match (name, known) {
                (Some(name), Some(id)) => a.line-link href=(links::line_page_url(self.network.id().as_str(), id)) { (badge::render_route_badge(name, join.route_color)) },
                (Some(name), None) => (badge::render_route_badge(name, join.route_color)),
                (None, _) => span.soft { "–" },
            }
        }
    }

    fn render_trip_row(&self, record: &Record) -> Markup {
        let trip = record.trip_descriptor();
        let trip_id = trip.and_then(|trip| trip.trip_id.as_deref()).unwrap_or(&record.id);
        let is_cancelled = trip.is_some_and(is_cancelled);
        let status = if is_cancelled { "cancelled" } else { "realtime" };
        let delay_text = words::format_delay(status, record.join.delay.map(i64::from));
        let unknown = !is_cancelled && record.join.delay.is_none();
        let address = trip.and_then(|trip| self.trip_url(trip));
        html! {
            tr role="row" {
                td role="cell" { (self.render_line_badge(record)) }
                td.feed-trip role="cell" {
                    (record.join.headsign.as_deref().unwrap_or_default()) " "
                    @match address {
                        Some(address) => a.small.mono.target href=(address) { (trip_id) },
                        None => span.soft.small.mono { (trip_id) },
                    }
                }
                td role="cell" data-label="Next stop" { (record.join.next_stop_name.as_deref().unwrap_or("–")) }
                td role="cell" data-label="Delay" { @if unknown { span.soft { "unknown" } } @else { span class=(format!("delay tone-{}", delay_text.tone)) { (delay_text.text) } } }
            }
        }
    }

    /// Returns the address of a trip's page, if the timetable has the trip.
    fn trip_url(&self, trip: &TripDescriptor) -> Option<String> {
        let id = trip.trip_id.as_deref()?;
        self.network.timetable()?.find_trip(id)?;
        let [date, start] =
            [&trip.start_date, &trip.start_time].map(|it| it.as_deref().unwrap_or_default());
        Some(links::trip_page_url(self.network.id().as_str(), id, date, start))
    }

    fn render_vehicle_row(&self, record: &Record) -> Markup {
        let vehicle = record.vehicle();
        let label = vehicle.and_then(|it| it.vehicle.as_ref()?.label.as_deref());
        let label = label.filter(|label| !label.is_empty()).map(str::to_owned);
        // An id that Lineside derived means nothing to readers.
        let is_generated = GENERATED_ID_PREFIXES.iter().any(|prefix| record.id.starts_with(prefix));
        let headsign = record.join.headsign.as_deref().filter(|_| is_generated);
        let label = label.or_else(|| headsign.map(|to| format!("to {}", words::shorten_name(to))));
        let label = label.unwrap_or_else(|| record.id.to_string());
        let at = vehicle_report_time(record);
        html! {
            tr role="row" {
                td role="cell" { (self.render_line_badge(record)) }
                td role="cell" { a href=(links::vehicle_map_url(self.feed_id(), &record.id)) { (label) } }
                td role="cell" data-label="Next stop" { (record.join.next_stop_name.as_deref().unwrap_or("–")) }
                td.numeric role="cell" data-label="Reported" {
                    @match at {
                        Some(at) if self.is_replaying_recording() => (self.render_recording_time(at)),
                        Some(at) if self.is_report_time_in_future(at) => (words::format_clock_seconds(at, &self.time_zone())),
                        Some(at) => (words::format_age(self.network.data_time_now().unix_seconds() - at)),
                        None => span.soft { "unknown" },
                    }
                    @if at.is_some_and(|at| self.is_report_time_in_future(at)) { " " span.soft.small data-ahead { "in the future" } }
                }
            }
        }
    }

    /// Renders a time by the clock of the recording.
    fn render_recording_time(&self, at: i64) -> Markup {
        let zone = self.time_zone();
        html! { time data-recorded-clock datetime=(words::format_rfc3339(at, &zone)) { (words::format_clock_seconds(at, &zone)) } }
    }
}

/// Returns the time of a vehicle's report, in Unix seconds.
fn vehicle_report_time(record: &Record) -> Option<i64> {
    record.vehicle().and_then(|it| i64::try_from(it.timestamp?).ok())
}

/// Renders the names of a table's columns.
fn render_table_header(columns: [&str; 4]) -> Markup {
    html! {
        thead role="rowgroup" { tr role="row" {
            @for column in columns { th scope="col" role="columnheader" { (column) } }
        } }
    }
}

fn is_cancelled(trip: &TripDescriptor) -> bool {
    use lineside_formats::gtfs_rt::proto::trip_descriptor::ScheduleRelationship::{
        Canceled, Deleted,
    };
    matches!(trip.schedule_relationship(), Canceled | Deleted)
}

fn count_to_u64(n: usize) -> u64 {
    u64::try_from(n).unwrap_or(u64::MAX)
}
