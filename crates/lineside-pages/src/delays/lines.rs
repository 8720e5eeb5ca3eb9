//! The table of lines with their counts.

use lineside_http::delays::{DelayReport, LineDelayCounts};
use lineside_model::DelayCounts;
use maud::{Markup, html};

use super::body::{delays_url_for_line, format_number};
use crate::{badge, words};

/// Lines that the table shows.
const LINES_SHOWN_MAX: usize = 200;

/// Renders each line with its counts. If the delays of all trips are unknown, only the numbers of trips.
pub(super) fn render_lines(answer: &DelayReport) -> Markup {
    let has_delays = answer.lines.iter().any(|line| line.counts.trips > line.counts.unknown);
    html! {
        @if answer.lines.len() > 1 {
            section.card aria-labelledby="lines-title" {
                h2 #lines-title { "Lines" }
                div.scroll tabindex="0" role="region" aria-label="Lines with their counts" {
                    table.list-table.lines.has-delays[has_delays] {
                        thead { tr {
                            th scope="col" { "Line" }
                            @if has_delays {
                                th.end scope="col" { "Late" }
                                th.end scope="col" { "Cancelled" }
                                th.end.on-time scope="col" { "On time" }
                            }
                            th.end scope="col" { "Trips" }
                            @if has_delays { th scope="col" { "Worst" } }
                        } }
                        tbody { @for line in answer.lines.iter().take(LINES_SHOWN_MAX) { (render_line(answer, line, has_delays)) } }
                    }
                }
            }
        }
    }
}

fn render_line(answer: &DelayReport, line: &LineDelayCounts, has_delays: bool) -> Markup {
    let LineDelayCounts { route_id, name, color, counts } = line;
    let timetable = answer.question.timetable.as_deref();
    let route = timetable.and_then(|it| Some(it.route(it.find_route(route_id)?)));
    let long_name = route.map(|route| route.long_name).filter(|it| !it.is_empty() && it != name);
    html! {
        tr data-line=(route_id) {
            th scope="row" {
                a.line-link.target href=(delays_url_for_line(answer, route_id)) { (badge::render_route_badge(name, *color)) }
                @if let Some(long_name) = long_name { " " span.line-name.soft { (words::shorten_name(long_name)) } }
            }
            @if has_delays {
                (render_count_cell(counts, counts.late, None))
                (render_count_cell(counts, counts.cancelled, None))
                (render_count_cell(counts, counts.on_time + counts.early, Some("on-time")))
            }
            td.end.numeric { (format_number(counts.trips)) }
            @if has_delays { td { (render_longest_delay(counts, answer.question.late_after.as_secs())) } }
        }
    }
}

/// Renders a count of a line's trips; a dash if the delays of all of them are unknown, because 0 would be wrong.
fn render_count_cell(counts: &DelayCounts, count: usize, class: Option<&str>) -> Markup {
    html! {
        @if counts.trips > 0 && counts.unknown == counts.trips {
            td.end.soft.(class.unwrap_or_default()) data-count="unknown" { "–" span.visually-hidden { " not known" } }
        } @else {
            td.end.numeric.(class.unwrap_or_default()) data-count=[(count == 0).then_some("none")] { (format_number(count)) }
        }
    }
}

/// Renders the longest delay. Below `late_after`, in seconds, no trip is late, so that the trip is only behind.
fn render_longest_delay(counts: &DelayCounts, late_after: u64) -> Markup {
    let said = words::format_delay("realtime", counts.worst.map(i64::from));
    let behind = counts.worst.and_then(|worst| u64::try_from(worst).ok()).unwrap_or(0);
    html! {
        @if (60..late_after).contains(&behind) { span.delay data-worst="behind" { (behind / 60) " min behind" } }
        @else if counts.worst.is_some() { span class=(format!("delay tone-{}", said.tone)) { (said.text) } }
        @else { span.soft { "–" } }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_delay_below_the_limit_is_not_called_late() {
        let worst = |seconds| {
            let counts = DelayCounts { worst: Some(seconds), ..DelayCounts::default() };
            render_longest_delay(&counts, 300).into_string().contains("data-worst=\"behind\"")
        };
        assert_eq!([59, 60, 299, 300, -60].map(worst), [false, true, true, false, false]);
    }

    #[test]
    fn unknown_counts_are_not_shown_as_zero() {
        let unknown = DelayCounts { trips: 52, unknown: 52, ..DelayCounts::default() };
        let text = render_count_cell(&unknown, 0, None).into_string();
        assert!(text.contains("data-count=\"unknown\"") && !text.contains('0'), "{text}");
        let known = DelayCounts { trips: 52, unknown: 51, on_time: 1, ..DelayCounts::default() };
        assert!(render_count_cell(&known, 0, None).into_string().contains(">0<"));
        assert!(render_count_cell(&DelayCounts::default(), 0, None).into_string().contains(">0<"));
    }
}
