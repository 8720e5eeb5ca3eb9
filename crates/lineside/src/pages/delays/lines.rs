//! The table of lines with their counts.

use lineside_ingest::DelayCounts;
use maud::{Markup, html};

use super::body::{format_number, line_address};
use crate::delays::{DelayReport, LineCount};
use crate::pages::{badge, words};

/// Lines that the table shows.
const LINES_SHOWN_MAX: usize = 200;

/// Renders each line with its counts.
pub(super) fn render_lines(answer: &DelayReport) -> Markup {
    html! {
        @if answer.lines.len() > 1 {
            section.card aria-labelledby="lines-title" {
                h2 #lines-title { "Lines" }
                div.scroll tabindex="0" role="region" aria-label="Lines with their counts" {
                    table.list-table.lines {
                        thead { tr {
                            th scope="col" { "Line" }
                            th.end scope="col" { "Late" }
                            th.end scope="col" { "Cancelled" }
                            th.end scope="col" { "On time" }
                            th.end scope="col" { "Trips" }
                            th scope="col" { "Worst" }
                        } }
                        tbody {
                            @for LineCount { route_id, name, color, counts } in answer.lines.iter().take(LINES_SHOWN_MAX) {
                                tr {
                                    th scope="row" { a.line-link.target href=(line_address(answer, route_id)) { (badge::render_badge(name, *color)) } }
                                    (render_count(counts, counts.late))
                                    (render_count(counts, counts.cancelled))
                                    (render_count(counts, counts.on_time + counts.early))
                                    td.end.numeric { (format_number(counts.trips)) }
                                    td { (render_worst(counts)) }
                                }
                            }
                        }
                    }
                }
            }
        }
    }
}

/// Renders a count of a line's trips; a dash if the delays of all of them are unknown, because 0 would be wrong.
fn render_count(counts: &DelayCounts, count: usize) -> Markup {
    html! {
        @if counts.trips > 0 && counts.unknown == counts.trips {
            td.end.soft data-count="unknown" { "–" span.visually-hidden { " not known" } }
        } @else {
            td.end.numeric data-count=[(count == 0).then_some("none")] { (format_number(count)) }
        }
    }
}

fn render_worst(counts: &DelayCounts) -> Markup {
    let said = words::format_delay("realtime", counts.worst.map(i64::from));
    html! {
        @if counts.worst.is_some() { span class=(format!("delay tone-{}", said.tone)) { (said.text) } }
        @else { span.soft { "–" } }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unknown_counts_are_not_shown_as_zero() {
        let unknown = DelayCounts { trips: 52, unknown: 52, ..DelayCounts::default() };
        let text = render_count(&unknown, 0).into_string();
        assert!(text.contains("data-count=\"unknown\"") && !text.contains('0'), "{text}");
        let known = DelayCounts { trips: 52, unknown: 51, on_time: 1, ..DelayCounts::default() };
        assert!(render_count(&known, 0).into_string().contains(">0<"));
        assert!(render_count(&DelayCounts::default(), 0).into_string().contains(">0<"));
    }
}
