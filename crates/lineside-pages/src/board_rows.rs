//! The rows of a departure board, as `web/plain/board.js` renders them. A column that is empty in all rows is hidden.

use std::collections::BTreeSet;

use jiff::tz::TimeZone;
use lineside_model::{Departure, DepartureStatus};
use maud::{Markup, html};

use super::{badge, words};
use crate::links;

/// The data that all rows of a board share.
pub(super) struct BoardRowRenderer<'a> {
    pub(super) network: &'a str,
    pub(super) zone: &'a TimeZone,
    pub(super) is_embedded: bool,
    /// The real-time feeds with unreliable times.
    pub(super) stale: &'a BTreeSet<String>,
    /// Unix seconds.
    pub(super) now: i64,
}

impl BoardRowRenderer<'_> {
    pub(super) fn render_table(&self, departures: &[Departure]) -> Markup {
        let has_scheduled = departures.iter().any(|it| it.scheduled.is_some());
        let has_platform =
            departures.iter().any(|it| it.platform.is_some() || it.scheduled_platform.is_some());
        // Rows that only say "Predicted" say nothing about a single departure.
        let has_status = departures
            .iter()
            .any(|it| it.status != DepartureStatus::Realtime || it.delay.is_some());
        html! {
            table.board.without-scheduled[!has_scheduled].without-platform[!has_platform].without-status[!has_status] role="table" hidden[departures.is_empty()] {
                (render_column_heads())
                tbody role="rowgroup" {
                    @for departure in departures { (self.render_row(departure)) }
                }
            }
        }
    }

    fn render_row(&self, departure: &Departure) -> Markup {
        let delay = words::delay_in_shown_minutes(
            departure.delay.map(i64::from),
            departure.scheduled,
            departure.expected,
        );
        let delay = words::format_delay(departure.status.as_str(), delay);
        let is_cancelled =
            matches!(departure.status, DepartureStatus::Cancelled | DepartureStatus::Skipped);
        let expected = departure.expected.filter(|_| departure.status == DepartureStatus::Realtime);
        html! {
            tr.is-cancelled[is_cancelled].is-plain[departure.expected.is_none()].is-stale[self.stale.contains(departure.source.as_str())]
                role="row" data-id=(departure.id) data-trip=(departure.trip_id) data-leaves=(departure.expected_or_scheduled_time()) data-source=(departure.source) {
                td.scheduled role="cell" { (self.render_time_or_dash(departure.scheduled)) }
                td.expected role="cell" { (self.render_time_or_dash(expected)) }
                td.line role="cell" { (badge::render_route_badge(&departure.route_short_name, departure.route_color)) }
                td.to role="cell" { (self.render_destination(departure)) }
                td.platform role="cell" {
                    @if let Some(platform) = &departure.scheduled_platform { s.platform-was { (platform) } " " }
                    @if let Some(platform) = &departure.platform {
                        span.platform-sign.is-changed[departure.scheduled_platform.is_some()] { (platform) }
                    }
                }
                td.status role="cell" {
                    span class=(format!("delay tone-{}", delay.tone)) { (delay.text) }
                    @if departure.status == DepartureStatus::Scheduled { span.source { "timetable" } }
                }
                td.due role="cell" { @if !is_cancelled { (words::format_time_until_departure(departure.expected_or_scheduled_time() - self.now)) } }
            }
        }
    }

    fn render_time(&self, at: i64) -> Markup {
        html! { time datetime=(words::format_rfc3339(at, self.zone)) { (words::format_clock(at, self.zone)) } }
    }

    fn render_time_or_dash(&self, at: Option<i64>) -> Markup {
        html! {
            @match at {
                Some(at) => (self.render_time(at)),
                None => span.soft { "–" },
            }
        }
    }

    /// Renders the destination of a departure, as a link to its trip.
    fn render_destination(&self, departure: &Departure) -> Markup {
        let to = departure.headsign.as_deref().unwrap_or("Destination not known");
        let (date, start) = links::split_departure_id(&departure.id);
        html! {
            @if departure.trip_id.is_empty() || self.is_embedded { (to) }
            @else { a.trip-link href=(links::trip_page_url(self.network, &departure.trip_id, date, start)) { (to) } }
        }
    }
}

fn render_column_heads() -> Markup {
    html! {
        thead role="rowgroup" {
            tr role="row" {
                th role="columnheader" scope="col" { "Scheduled" }
                th role="columnheader" scope="col" { "Expected" }
                th role="columnheader" scope="col" { "Line" }
                th role="columnheader" scope="col" { "To" }
                th role="columnheader" scope="col" { "Platform" }
                th role="columnheader" scope="col" { "Status" }
                th.end role="columnheader" scope="col" { "Due" }
            }
        }
    }
}
