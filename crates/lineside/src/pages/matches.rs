//! How many of a real-time feed's ids its timetable has, which ones it does not have, and why that may be.

use lineside_formats::Format;
use lineside_ingest::{Feed, FeedMatches, MatchCount, MatchReason, ReasonCount};
use maud::{Markup, html};

use super::feed::fold;
use super::words;
use crate::matches::{IdKind, MismatchCause, Report, likely_causes};

/// The section; nothing while there is no report.
pub(super) fn card(feed: &Feed, report: Option<&Report>) -> Markup {
    let Some(report) = report else { return html! {} };
    let json = format!("/api/v1/feeds/{}/matches", feed.id());
    let content = html! {
        @match (&report.schedule, &report.matches) {
            (None, _) => p.card-body.soft { "This feed names no schedule, so nothing can be matched. Set the key " code { "static" } " to the id of its schedule." },
            (Some(schedule), None) => p.card-body.soft { "Nothing can be matched yet: the timetable of " (link(schedule)) " has not been loaded." },
            (Some(schedule), Some(matches)) => (body(feed, schedule, matches)),
        }
        p.card-body.small { a href=(json) { "JSON" } }
    };
    let note = in_brief(report).unwrap_or_default();
    let is_open = report.matches.as_ref().is_some_and(|it| it.entities().1 > 0);
    fold("matches", "Matching with the timetable", &html! { (note) }, is_open, &content)
}

/// Matched of all: trips, else vehicles, else what alerts name; none where there is nothing to match.
pub(super) fn in_brief(report: &Report) -> Option<String> {
    let matches = report.matches.as_ref()?;
    let kinds = kinds(matches);
    let kind = kinds.iter().find(|kind| kind.counts.total() > 0)?;
    let all = kind.counts.total();
    Some(format!(
        "{} of {} {}",
        words::number(kind.counts.matched),
        words::number(all),
        kind.things[usize::from(all != 1)]
    ))
}

fn link(schedule: &Feed) -> Markup {
    html! { a href=(format!("/feeds/{}", schedule.id())) { (schedule.config().display_name()) } }
}

/// How the ids of a SIRI feed are mapped.
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
    /// The same without a verb.
    things: [&'static str; 2],
    /// … in the timetable, or on something of it.
    place: &'static str,
}

/// The kinds in the order in which they are shown.
fn kinds(matches: &FeedMatches) -> [Kind<'_>; 5] {
    let kind = |name, counts, nouns, things| Kind { name, counts, nouns, things, place: "in" };
    let things = ["reference of an alert is", "references of alerts are"];
    let trips = ["trip", "trips"];
    [
        kind("Trips", &matches.trip_updates, ["trip is", "trips are"], trips),
        Kind {
            place: "on a trip or a line of",
            ..kind(
                "Vehicles",
                &matches.vehicles,
                ["vehicle is", "vehicles are"],
                ["vehicle", "vehicles"],
            )
        },
        kind("Alerts", &matches.alerts, things, ["alert reference", "alert references"]),
        kind("Lines", &matches.routes, ["line is", "lines are"], ["line", "lines"]),
        kind("Stops", &matches.stops, ["stop is", "stops are"], ["stop", "stops"]),
    ]
}

fn body(feed: &Feed, schedule: &Feed, matches: &FeedMatches) -> Markup {
    let kinds = kinds(matches);
    let told: Vec<&Kind<'_>> = kinds.iter().filter(|kind| kind.counts.total() > 0).collect();
    let is_unmatched = told.iter().any(|kind| kind.counts.unmatched() > 0);
    let siri_ids = siri_ids(feed);
    let reasons = kinds.iter().flat_map(|kind| {
        kind.counts.reasons().map(|(reason, found)| reason_row(kind.name, reason, found))
    });
    let reasons: Vec<Markup> = reasons.collect();
    html! {
        div.card-body {
            @if told.is_empty() {
                p.soft { "No trip, line or stop of " (link(schedule)) " is named in this feed at the moment." }
            }
            @for (at, kind) in told.iter().enumerate() {
                p {
                    strong.numeric { (words::number(kind.counts.matched)) " of " (words::number(kind.counts.total())) }
                    " " (kind.nouns[usize::from(kind.counts.total() != 1)]) " " (kind.place)
                    @if at == 0 { " the timetable of " (link(schedule)) } @else { " it" }
                    "." span.soft { " " (words::share(kind.counts.rate().unwrap_or_default())) }
                }
            }
            (causes(feed, schedule, matches))
            @if let Some(ids) = siri_ids.filter(|_| is_unmatched) {
                p.soft.small { "Ids are shown after " code { "siri.ids" } " mapped them: " code { (ids) } "." }
            }
        }
        @if !reasons.is_empty() {
            ul.problem-list { @for reason in reasons { (reason) } }
        }
    }
}

/// The likely causes, each with its remedy.
fn causes(feed: &Feed, schedule: &Feed, matches: &FeedMatches) -> Markup {
    let network = feed.network();
    let Some(timetable) = network.timetable() else { return html! {} };
    let today = timetable.local_date(network.now().seconds());
    let causes = likely_causes(matches, &timetable, today);
    let is_siri = feed.config().siri.is_some() || feed.format() == Some(Format::Siri);
    html! {
        @if !causes.is_empty() {
            div.match-causes {
                h3 { (if causes.len() == 1 { "Likely cause" } else { "Likely causes" }) }
                ul {
                    @for cause in &causes {
                        li data-cause=(cause.as_str()) {
                            p { strong { (cause_words(cause)) } }
                            p { (remedy(cause, schedule, is_siri)) }
                        }
                    }
                }
                p.small { a href="/docs/operate/siri#which-of-them-is-right" { "How ids are matched" } }
            }
        }
    }
}

fn ids_name(kind: IdKind) -> &'static str {
    match kind {
        IdKind::Trip => "trip ids",
        IdKind::Route => "line ids",
        IdKind::Stop => "stop ids",
    }
}

fn cause_words(cause: &MismatchCause) -> Markup {
    html! {
        @match cause {
            MismatchCause::ExtraPrefix { kind, prefix } => {
                "The " (ids_name(*kind)) " of this feed have a prefix: without " code { (prefix) } " they are in the timetable."
            }
            MismatchCause::MissingPrefix { kind, prefix } => {
                "The " (ids_name(*kind)) " of the timetable have a prefix: with " code { (prefix) } " this feed's ids are in it."
            }
            MismatchCause::NetexIds { kind } => {
                "The " (ids_name(*kind)) " are NeTEx ids, of which the timetable has only the last part."
            }
            MismatchCause::TimetableEnded { last } => { "The timetable ended on " (last) "." }
            MismatchCause::DatesOutsideService { first, last } => {
                "This feed has trips on days outside the timetable's service, which is " (first) " to " (last) "."
            }
            MismatchCause::OtherDay => "The trips are in the timetable and do not run on the day that this feed names.",
            MismatchCause::OtherVersion => "Lines or stops match and trips do not, though their ids look alike: this feed was made for another version of the timetable.",
            MismatchCause::OwnTripIds => "Lines or stops match and trips do not: the producer uses its own trip ids in this feed.",
            MismatchCause::NoTripIds => "Trip updates name no trip.",
            MismatchCause::OtherNetwork => "Neither trips nor lines nor stops match: this feed and the timetable are of different networks, or all ids differ.",
        }
    }
}

/// What to do about a cause.
fn remedy(cause: &MismatchCause, schedule: &Feed, is_siri: bool) -> Markup {
    let newer = html! { "Publish the current timetable together with this feed; see the " a href=(format!("/feeds/{}/versions", schedule.id())) { "published versions" } "." };
    html! {
        @match cause {
            MismatchCause::ExtraPrefix { prefix, .. } | MismatchCause::MissingPrefix { prefix, .. } if is_siri => {
                "Set " code { "siri.ids = \"prefix:" (prefix) "\"" } " for this feed."
            }
            MismatchCause::ExtraPrefix { .. } | MismatchCause::MissingPrefix { .. } => {
                "Ask the producer to use the same ids in both feeds, or change them with a " code { "[[converter]]" } "."
            }
            MismatchCause::NetexIds { .. } if is_siri => { "Set " code { "siri.ids = \"netex\"" } " for this feed." }
            MismatchCause::NetexIds { .. } => "Ask the producer to use the same ids in both feeds.",
            MismatchCause::TimetableEnded { .. } | MismatchCause::DatesOutsideService { .. } | MismatchCause::OtherVersion => (newer),
            MismatchCause::OtherDay => "Check start_date: GTFS counts trips after midnight to the day before. If that is right, the timetable is of another season.",
            MismatchCause::OwnTripIds if is_siri => {
                "Map the ids with a table: " code { "siri.ids = { file = \"ids.csv\" }" } " with rows of the kind " code { "journey" } ", or ask the producer to use the timetable's trip ids."
            }
            MismatchCause::OwnTripIds => "Ask the producer to use the trip_id of the timetable in both feeds.",
            MismatchCause::NoTripIds => "Ask the producer to fill in trip.trip_id.",
            MismatchCause::OtherNetwork => { "Check that the key " code { "static" } " names the right schedule" @if is_siri { ", then map the ids with " code { "siri.ids" } } "." }
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
        MatchReason::UnknownTrip => "the timetable has no trip with this id",
        MatchReason::NotRunning => "the trip does not run on this day",
        MatchReason::NoTrip => "no trip id",
        MatchReason::UnknownRoute => "the timetable has no line with this id",
        MatchReason::UnknownStop => "the timetable has no stop with this id",
        MatchReason::UnknownAgency => "the timetable has no operator with this id",
        MatchReason::Added => "added, not in the timetable by design, not counted",
        MatchReason::NoReference => "no trip, line or stop reference, not counted",
        MatchReason::DayBefore => "the trip runs on the day before this one, matched",
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
