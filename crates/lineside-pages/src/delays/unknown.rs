//! The reason why delays are not known, and a next step.

use lineside_http::delays::{DelayReport, DelayReportRequest, DelayVerdict};
use maud::{Markup, html};

use super::body::{describe_delay_counts, network_or_feed_name};
use crate::alert_source::outdated_live_data_time;
use crate::{network_page, words};

/// Explains why the delays are not known.
pub(super) fn explain_unknown(answer: &DelayReport) -> String {
    if answer.question.sources.is_empty() {
        return explain_missing_live_times(answer);
    }
    if answer.is_stale {
        return "Live data is out of date, so we can't say.".to_owned();
    }
    match answer.counts {
        Some(counts) if counts.trips > counts.unknown => {
            format!("{} That is too little to say.", describe_delay_counts(&counts))
        }
        Some(counts) if counts.scheduled_only > 0 && counts.scheduled_only == counts.trips => {
            explain_missing_live_times(answer)
        }
        Some(counts) if counts.trips > 0 && has_only_unmatched_trips(answer) => {
            format!(
                "The timetable has none of the {} that the {}, so their delays are not known.",
                words::format_count(counts.trips as u64, "trip", "trips"),
                if answer.is_replaying_recording() {
                    "recording contains"
                } else {
                    "live data report"
                }
            )
        }
        Some(counts) if counts.trips > 0 => {
            "No live time of these trips can be compared with the timetable.".to_owned()
        }
        _ => "No trips at the moment.".to_owned(),
    }
}

/// Explains that no live data has times, by the ends of the live data and of the timetable.
fn explain_missing_live_times(answer: &DelayReport) -> String {
    let DelayReportRequest { network, .. } = &answer.question;
    let ended = network_page::ended_timetable_last_day(network).map(words::format_day);
    let zone = answer.question.time_zone();
    let now = answer.now.unix_seconds();
    let stopped = outdated_live_data_time(network)
        .map(|at| words::format_clock_or_day(at.unix_seconds(), now, &zone));
    match (stopped, ended) {
        (Some(stopped), Some(ended)) => format!(
            "The live data ended on {stopped} and the timetable on {ended}, so no delays are known."
        ),
        (None, Some(ended)) => {
            format!("There is no live data, and the timetable ended on {ended}.")
        }
        (Some(stopped), None) => {
            format!("The live data ended on {stopped}. There are only the times of the timetable.")
        }
        (None, None) => "There is no live data for these trips, only the timetable.".to_owned(),
    }
}

/// Returns true if the network has live trips and its timetable has none of them.
fn has_only_unmatched_trips(answer: &DelayReport) -> bool {
    let DelayReportRequest { network, timetable, .. } = &answer.question;
    let Some(timetable) = timetable else { return false };
    let state = network.state();
    let mut trips =
        state.trip_updates().filter_map(|record| record.trip_descriptor()?.trip_id.as_deref());
    let is_unknown = |id: &str| timetable.find_trip(id).is_none();
    trips.next().is_some_and(is_unknown) && trips.all(is_unknown)
}

/// Renders a next step: the unmatched ids, if they are the reason for unknown delays, or the network's lines, if no
/// feed has times.
pub(super) fn render_next_step_link(answer: &DelayReport) -> Markup {
    let question = &answer.question;
    let is_unmatched = answer.verdict == DelayVerdict::Unknown && has_only_unmatched_trips(answer);
    html! {
        @if question.sources.is_empty() && question.timetable.is_some() {
            p.small { a.target data-next-step="network" href=(format!("/networks/{}", question.network.id())) { "Lines and stops of " (network_or_feed_name(answer)) } }
        }
        @if let Some(source) = question.sources.first().filter(|_| is_unmatched) {
            p.small { a.target href=(format!("/feeds/{}#matches", source.id)) { "Why the delays are not known" } }
        }
    }
}
