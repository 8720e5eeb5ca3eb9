//! The findings in real-time messages since the server has checked them, and since when each is there.

use jiff::tz::TimeZone;
use lineside_sync::UnixMillis;
use maud::{Markup, html};

use super::super::words;
use super::changes;
use crate::reports::{About, Report, Seen};

/// How well the last message fits its schedule, and since when each code is there.
pub(super) fn since(report: &Report, zone: &TimeZone) -> Markup {
    let about: About = serde_json::from_value(report.about.clone()).unwrap_or_default();
    let presence = &about.presence;
    // What stands comes first, then what was there last.
    let mut codes: Vec<(&String, &Seen)> = presence.codes.iter().collect();
    codes.sort_by_key(|(_, seen)| (seen.standing.is_none(), std::cmp::Reverse(seen.last)));
    html! {
        div.card-body.report-since data-without-schedule[about.without_schedule] {
            p.soft.small {
                @if about.is_system {
                    "The files of the system were checked " (words::count(presence.messages, "time", "times"))
                } @else {
                    (words::count(presence.messages, "message", "messages")) " checked"
                }
                @if presence.cut_short > 0 {
                    ", " (words::number(presence.cut_short)) " of them incompletely because the time limit was reached"
                }
                "."
                @if presence.again > 0 {
                    " Unchanged messages were re-checked for age " (words::count(presence.again, "time", "times")) "."
                }
                @if about.named_trips > 0 {
                    " The schedule has " (words::number(about.matched_trips)) " of the "
                    (words::number(about.named_trips)) " trips in the last message."
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
                                    td { (changes::sign(seen.severity)) span.mono { (words::code(code)) } }
                                    td { (words::time_at(UnixMillis(seen.first), zone)) }
                                    td { (words::time_at(UnixMillis(seen.last), zone)) }
                                    td { (words::number(seen.messages)) }
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
