//! What has been wrong with messages of real time, and since when.

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
        div.card-body.report-since {
            h3 { "Since when" }
            p.soft {
                @if about.is_system {
                    "Its files were looked at together " (words::count(presence.messages, "time", "times"))
                } @else {
                    (words::count(presence.messages, "message was", "messages were")) " looked at"
                }
                @if presence.cut_short > 0 {
                    ", " (words::number(presence.cut_short)) " of them not to the end, as the time did not suffice"
                }
                "."
                @if presence.again > 0 {
                    " What stayed the same was asked again how old it is, " (words::count(presence.again, "time", "times")) "."
                }
                @if about.named_trips > 0 {
                    " Of the " (words::number(about.named_trips)) " trips that the last one names, the schedule has "
                    (words::number(about.matched_trips)) "."
                }
                @if about.without_schedule {
                    " No schedule belongs to this feed, so the rules that need one were not run."
                }
            }
            @if !codes.is_empty() {
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
