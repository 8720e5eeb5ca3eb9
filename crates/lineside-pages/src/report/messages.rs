//! The findings in real-time messages since the first check, with the time of each.

use jiff::tz::TimeZone;
use lineside_quality::reports::{CodeHistoryEntry, FeedValidationReport, RealtimeReportDetails};
use lineside_sync::UnixMillis;
use maud::{Markup, html};

use super::super::words;
use super::changes;

/// Describes how many of the last message's references to trips the timetable has.
fn describe_trip_matches(n_named: u64, n_matched: u64) -> String {
    let named = words::format_number(n_named);
    match n_matched {
        0 => format!(
            "None of the {named} references to trips in the last message is in the timetable."
        ),
        _ if n_matched == n_named => {
            format!("All {named} references to trips in the last message are in the timetable.")
        }
        _ => format!(
            "{} of the {named} references to trips in the last message are in the timetable.",
            words::format_number(n_matched)
        ),
    }
}

/// Renders the conformance of the last message with its schedule, and the first time of each code.
pub(super) fn render_schedule_conformance(
    report: &FeedValidationReport,
    zone: &TimeZone,
) -> Markup {
    let about: RealtimeReportDetails =
        serde_json::from_value(report.about.clone()).unwrap_or_default();
    let presence = &about.presence;
    // Active codes come first, then the most recent ones.
    let mut codes: Vec<(&String, &CodeHistoryEntry)> = presence.codes.iter().collect();
    codes.sort_by_key(|(_, seen)| (seen.standing.is_none(), std::cmp::Reverse(seen.last)));
    html! {
        div.card-body.report-since data-without-schedule[about.without_schedule] {
            p.soft.small {
                @if about.is_system {
                    "The files of the system were checked " (words::format_count(presence.messages, "time", "times"))
                } @else {
                    (words::format_count(presence.messages, "message", "messages")) " checked"
                }
                @if presence.cut_short > 0 {
                    ", " (words::format_number(presence.cut_short)) " of them incompletely because the time limit was reached"
                }
                "."
                @if presence.again > 0 {
                    " Unchanged messages were re-checked for age " (words::format_count(presence.again, "time", "times")) "."
                }
                @if about.named_trips > 0 {
                    " " (describe_trip_matches(about.named_trips, about.matched_trips))
                }
                @if about.without_schedule {
                    " This feed has no schedule, so the rules that need one did not run."
                }
            }
            @if !codes.is_empty() {
              details {
                summary { "First and last time of each code" }
                div.scroll tabindex="0" {
                    table.samples {
                        thead { tr {
                            th scope="col" { "code" } th scope="col" { "first" } th scope="col" { "last" }
                            th scope="col" { (if about.is_system { "times" } else { "messages" }) }
                        } }
                        tbody {
                            @for (code, seen) in codes {
                                tr data-stands=[seen.standing.is_some().then_some("yes")] {
                                    td { (changes::render_severity_label(seen.severity)) span.mono { (words::render_breakable_code(code)) } }
                                    td { (words::render_time_with_zone(UnixMillis(seen.first), zone)) }
                                    td { (words::render_time_with_zone(UnixMillis(seen.last), zone)) }
                                    td { (words::format_number(seen.messages)) }
                                }
                            }
                        }
                    }
                }
              }
            }
        }
    }
}
