//! How much of what a real-time feed names is in its timetable, and what is not.

use lineside_ingest::{Feed, FeedMatches, MatchCount, MatchReason, ReasonCount};
use maud::{Markup, html};

use super::words;
use crate::matches::Report;

/// The card; nothing where it cannot be told now.
pub(super) fn card(feed: &Feed, report: Option<&Report>) -> Markup {
    html! {
        @if let Some(report) = report {
            section.card #matches aria-labelledby="matches-title" {
                div.card-head {
                    h2 #matches-title { "In the timetable" }
                    span.small { a href=(format!("/api/v1/feeds/{}/matches", feed.id())) { "JSON" } }
                }
                @match (&report.schedule, &report.matches) {
                    (None, _) => p.card-body.soft { "This feed names no schedule, so nothing can be matched. The key " code { "static" } " says to which it belongs." },
                    (Some(schedule), None) => p.card-body.soft { "Nothing can be matched yet: the timetable of " (link(schedule)) " could not be read so far." },
                    (Some(schedule), Some(matches)) => (body(schedule, matches, siri_ids(feed))),
                }
            }
        }
    }
}

fn link(schedule: &Feed) -> Markup {
    html! { a href=(format!("/feeds/{}", schedule.id())) { (schedule.config().display_name()) } }
}

/// How a feed of SIRI takes its ids.
fn siri_ids(feed: &Feed) -> Option<String> {
    let siri = feed.config().siri.as_ref()?;
    Some(siri.ids.word().map_or_else(|| "a table".to_owned(), |word| format!("\"{word}\"")))
}

/// One kind of what a feed names.
struct Kind<'a> {
    name: &'static str,
    counts: &'a MatchCount,
    /// One of them, and several: they are …
    nouns: [&'static str; 2],
    /// … in the timetable, or on something of it.
    place: &'static str,
}

/// The kinds in the order in which they are told.
fn kinds(matches: &FeedMatches) -> [Kind<'_>; 5] {
    let kind = |name, counts, nouns| Kind { name, counts, nouns, place: "in" };
    let things = ["thing that alerts name is", "things that alerts name are"];
    [
        kind("Trips", &matches.trip_updates, ["trip is", "trips are"]),
        Kind {
            place: "on a trip or a line of",
            ..kind("Vehicles", &matches.vehicles, ["vehicle is", "vehicles are"])
        },
        kind("Alerts", &matches.alerts, things),
        kind("Lines", &matches.routes, ["line is", "lines are"]),
        kind("Stops", &matches.stops, ["stop is", "stops are"]),
    ]
}

fn body(schedule: &Feed, matches: &FeedMatches, siri_ids: Option<String>) -> Markup {
    let kinds = kinds(matches);
    let told: Vec<&Kind<'_>> = kinds.iter().filter(|kind| kind.counts.total() > 0).collect();
    let is_unmatched = told.iter().any(|kind| kind.counts.unmatched() > 0);
    let reasons = kinds.iter().flat_map(|kind| {
        kind.counts.reasons().map(|(reason, found)| reason_row(kind.name, reason, found))
    });
    let reasons: Vec<Markup> = reasons.collect();
    html! {
        div.card-body {
            @if told.is_empty() {
                p.soft { "Nothing that this feed tells now names a trip, a line or a stop of " (link(schedule)) "." }
            }
            @for (at, kind) in told.iter().enumerate() {
                p {
                    strong.numeric { (words::number(kind.counts.matched)) " of " (words::number(kind.counts.total())) }
                    " " (kind.nouns[usize::from(kind.counts.total() != 1)]) " " (kind.place)
                    @if at == 0 { " the timetable of " (link(schedule)) } @else { " it" }
                    "." span.soft { " " (words::share(kind.counts.rate().unwrap_or_default())) }
                }
            }
            @if let Some(ids) = siri_ids.filter(|_| is_unmatched) {
                p.soft.small { "Ids are compared as " code { "ids" } " makes them: " code { (ids) } "." }
            }
        }
        @if !reasons.is_empty() {
            ul.problem-list { @for reason in reasons { (reason) } }
        }
    }
}

fn reason_row(kind: &str, reason: MatchReason, found: &ReasonCount) -> Markup {
    html! {
        li {
            details {
                summary { strong { (kind) ":" } " " (in_words(reason)) span.tag { (words::number(found.count)) } }
                ul {
                    @for id in found.samples() { li.mono { (id) } }
                    @if usize::try_from(found.count).is_ok_and(|count| count > found.samples().len()) {
                        li.soft { "The first ids of " (words::number(found.count)) "." }
                    }
                    @if found.known_ids().len() > 0 {
                        li.soft {
                            "The timetable has "
                            @for (at, id) in found.known_ids().enumerate() { @if at > 0 { ", " } span.mono { (id) } }
                            ", for example."
                        }
                    }
                }
            }
        }
    }
}

fn in_words(reason: MatchReason) -> &'static str {
    match reason {
        MatchReason::UnknownTrip => "the trip is not known",
        MatchReason::NotRunning => "the trip does not run on that day",
        MatchReason::NoTrip => "no trip is named",
        MatchReason::UnknownRoute => "the line is not known",
        MatchReason::UnknownStop => "the stop is not known",
        MatchReason::UnknownAgency => "the operator is not known",
        MatchReason::Added => "new on purpose, not counted",
        MatchReason::NoReference => "nothing of a timetable is named, not counted",
        MatchReason::DayBefore => "the trip runs on the day before the one named, matched",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_reason_is_told_in_words_of_its_own_and_whether_it_counts() {
        let words: std::collections::BTreeSet<&str> =
            MatchReason::ALL.into_iter().map(in_words).collect();
        assert_eq!(words.len(), MatchReason::ALL.len());
        for reason in MatchReason::ALL {
            let said = in_words(reason);
            let says_so = said.ends_with("not counted") || said.ends_with(", matched");
            assert_eq!(says_so, !reason.is_unmatched(), "{reason:?}");
        }
    }
}
