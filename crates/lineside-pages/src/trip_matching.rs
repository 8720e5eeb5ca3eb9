//! The match report of a real-time feed: the share of its ids that the timetable has, unmatched ids, and likely causes.

use lineside_formats::Format;
use lineside_ingest::Feed;
use lineside_model::{FeedMatchCounts, MatchCount, MatchReasonCount, UnmatchedReason};
use lineside_quality::trip_matching::{
    MismatchCause, MismatchIdKind, TripMatchingReport, find_likely_causes,
};
use maud::{Markup, html};

use super::words;
use crate::layout::render_foldable_section;

/// Renders the section; nothing without a report.
pub(super) fn render_card(feed: &Feed, report: Option<&TripMatchingReport>) -> Markup {
    let Some(report) = report else { return html! {} };
    let json = format!("/api/v1/feeds/{}/matches", feed.id());
    let content = html! {
        @match (&report.schedule, &report.matches) {
            (None, _) => p.card-body.soft { "This feed names no schedule, so nothing can be matched. Set the key " code { "static" } " to the id of its schedule." },
            (Some(schedule), None) => p.card-body.soft { "Nothing can be matched yet: the timetable of " (render_link(schedule)) " has not been loaded." },
            (Some(schedule), Some(matches)) => (render_body(feed, schedule, matches)),
        }
        p.card-body.small { a href=(json) { "JSON" } }
    };
    let note = summarize_matches(report).unwrap_or_default();
    render_foldable_section(
        "matches",
        "Matching with the timetable",
        &html! { (note) },
        false,
        &content,
    )
}

/// Describes the matched share of trips, or of vehicles, or of alert references; `None` if there is nothing to match.
pub(super) fn summarize_matches(report: &TripMatchingReport) -> Option<String> {
    let matches = report.matches.as_ref()?;
    let kinds = list_reference_kinds(matches);
    let kind = kinds.iter().find(|kind| kind.counts.total_count() > 0)?;
    let all = kind.counts.total_count();
    let counted = format!(
        "{} of {} {}",
        words::format_number(kind.counts.matched),
        words::format_number(all),
        kind.things[usize::from(all != 1)]
    );
    Some(match count_without_reference(kind.counts) {
        0 => counted,
        n => format!("{counted}; {} without a trip or line", words::format_number(n)),
    })
}

/// Returns the number of records without any reference, which are not counted as unmatched.
fn count_without_reference(counts: &MatchCount) -> u64 {
    let without = counts.reasons().filter(|(reason, _)| *reason == UnmatchedReason::NoReference);
    without.map(|(_, found)| found.count).sum()
}

fn render_link(schedule: &Feed) -> Markup {
    html! { a href=(format!("/feeds/{}", schedule.id())) { (schedule.config().display_name()) } }
}

/// Describes the mapping of a SIRI feed's ids.
fn describe_siri_id_mapping(feed: &Feed) -> Option<String> {
    let siri = feed.config().siri.as_ref()?;
    Some(siri.ids.config_name().map_or_else(|| "a table".to_owned(), |word| format!("\"{word}\"")))
}

/// One kind of a feed's references to the timetable.
struct MatchedReferenceKind<'a> {
    name: &'static str,
    counts: &'a MatchCount,
    /// The singular and plural with a verb: "trip is", "trips are".
    nouns: [&'static str; 2],
    /// The singular and plural without a verb.
    things: [&'static str; 2],
    /// The words before "the timetable", such as "in".
    singular_place: &'static str,
}

/// Returns the kinds in display order.
fn list_reference_kinds(matches: &FeedMatchCounts) -> [MatchedReferenceKind<'_>; 5] {
    let kind = |name, counts, nouns, matched_nouns| MatchedReferenceKind {
        name,
        counts,
        nouns,
        things: matched_nouns,
        singular_place: "in",
    };
    let matched_nouns = ["reference of an alert is", "references of alerts are"];
    let trips = ["trip", "trips"];
    [
        kind("Trips", &matches.trip_updates, ["trip is", "trips are"], trips),
        MatchedReferenceKind {
            singular_place: "a trip (or, without a trip id, a line) in",
            ..kind(
                "Vehicles",
                &matches.vehicles,
                ["vehicle has", "vehicles have"],
                ["vehicle", "vehicles"],
            )
        },
        kind("Alerts", &matches.alerts, matched_nouns, ["alert reference", "alert references"]),
        kind("Lines", &matches.routes, ["line is", "lines are"], ["line", "lines"]),
        kind("Stops", &matches.stops, ["stop is", "stops are"], ["stop", "stops"]),
    ]
}

fn render_body(feed: &Feed, schedule: &Feed, matches: &FeedMatchCounts) -> Markup {
    let kinds = list_reference_kinds(matches);
    let nonempty_kinds: Vec<&MatchedReferenceKind<'_>> =
        kinds.iter().filter(|kind| kind.counts.total_count() > 0).collect();
    let is_unmatched = nonempty_kinds.iter().any(|kind| kind.counts.unmatched_count() > 0);
    let siri_ids = describe_siri_id_mapping(feed);
    let reasons = kinds.iter().flat_map(|kind| {
        kind.counts.reasons().map(|(reason, found)| render_reason_row(kind.name, reason, found))
    });
    let reasons: Vec<Markup> = reasons.collect();
    html! {
        div.card-body {
            @if nonempty_kinds.is_empty() {
                p.soft { "No trip, line or stop of " (render_link(schedule)) " is named in this feed at the moment." }
            }
            @for (at, kind) in nonempty_kinds.iter().enumerate() {
                p {
                    strong.numeric { (words::format_number(kind.counts.matched)) " of " (words::format_number(kind.counts.total_count())) }
                    " " (kind.nouns[usize::from(kind.counts.total_count() != 1)]) " " (kind.singular_place)
                    @if at == 0 { " the timetable of " (render_link(schedule)) } @else { " it" }
                    "." span.soft { " " (format_share(kind.counts.matched_share().unwrap_or_default())) }
                    @let unreferenced = count_without_reference(kind.counts);
                    @if unreferenced > 0 {
                        span.soft data-unreferenced=(unreferenced) { " · " (words::format_number(unreferenced)) " more without a trip, line or stop id are not counted" }
                    }
                }
            }
            (render_causes(feed, schedule, matches))
            @if let Some(ids) = siri_ids.filter(|_| is_unmatched) {
                p.soft.small { "Ids are shown after " code { "siri.ids" } " mapped them: " code { (ids) } "." }
            }
        }
        @if !reasons.is_empty() {
            ul.problem-list { @for reason in reasons { (reason) } }
        }
    }
}

/// Formats a share with one decimal, rounded down: 100 % means all.
fn format_share(share: f64) -> String {
    let tenths = (share * 1_000.0).floor() as u64;
    match tenths % 10 {
        0 => format!("{} %", tenths / 10),
        tenth => format!("{}.{tenth} %", tenths / 10),
    }
}

/// Renders the likely causes, each with its fix.
fn render_causes(feed: &Feed, schedule: &Feed, matches: &FeedMatchCounts) -> Markup {
    let network = feed.network();
    let Some(timetable) = network.timetable() else { return html! {} };
    let today = timetable.local_date_at(network.data_time_now().unix_seconds());
    let causes = find_likely_causes(matches, &timetable, today);
    let is_siri = feed.config().siri.is_some() || feed.format().is_some_and(Format::has_mapped_ids);
    html! {
        @if !causes.is_empty() {
            div.match-causes {
                h3 { (if causes.len() == 1 { "Likely cause" } else { "Likely causes" }) }
                ul {
                    @for cause in &causes {
                        li data-cause=(cause.as_str()) data-possible[is_explained_by_other_cause(cause, &causes)] {
                            p { strong { @if is_explained_by_other_cause(cause, &causes) { "Or the producer uses its own trip ids in this feed." } @else { (describe_cause(cause)) } } }
                            p { (describe_mismatch_fix(cause, schedule, is_siri)) }
                        }
                    }
                }
                p.small { a href="/docs/operate/siri#which-of-them-is-right" { "How ids are matched" } }
            }
        }
    }
}

/// Returns true if another cause explains the same ids: an ended timetable explains unknown trip ids.
fn is_explained_by_other_cause(cause: &MismatchCause, causes: &[MismatchCause]) -> bool {
    let has_ended = causes.iter().any(|it| matches!(it, MismatchCause::TimetableEnded { .. }));
    has_ended && *cause == MismatchCause::OwnTripIds
}

fn id_kind_name(kind: MismatchIdKind) -> &'static str {
    match kind {
        MismatchIdKind::Trip => "trip ids",
        MismatchIdKind::Route => "line ids",
        MismatchIdKind::Stop => "stop ids",
    }
}

fn describe_cause(cause: &MismatchCause) -> Markup {
    html! {
        @match cause {
            MismatchCause::ExtraPrefix { kind, prefix } => {
                "The " (id_kind_name(*kind)) " of this feed have a prefix: without " code { (prefix) } " they are in the timetable."
            }
            MismatchCause::MissingPrefix { kind, prefix } => {
                "The " (id_kind_name(*kind)) " of the timetable have a prefix: with " code { (prefix) } " this feed's ids are in it."
            }
            MismatchCause::NetexIds { kind } => {
                "The " (id_kind_name(*kind)) " are NeTEx ids, of which the timetable has only the last part."
            }
            MismatchCause::TimetableEnded { last } => { "The timetable ended on " (words::format_day(*last)) "." }
            MismatchCause::DatesOutsideService { first, last } => {
                "This feed has trips on days outside the timetable's service, which is " (words::format_day(*first)) " to " (words::format_day(*last)) "."
            }
            MismatchCause::OtherDay => "The trips are in the timetable and do not run on the day that this feed names.",
            MismatchCause::OtherVersion => "Lines or stops match and trips do not, though their ids look alike: this feed was made for another version of the timetable.",
            MismatchCause::OwnTripIds => "Lines or stops match and trips do not: the producer uses its own trip ids in this feed.",
            MismatchCause::NoTripIds => "Trip updates name no trip.",
            MismatchCause::OtherNetwork => "Neither trips nor lines nor stops match: this feed and the timetable are of different networks, or all ids differ.",
        }
    }
}

/// Describes the fix of a cause.
fn describe_mismatch_fix(cause: &MismatchCause, schedule: &Feed, is_siri: bool) -> Markup {
    let is_recording = schedule.network().replayed_time_now().is_some();
    let newer = html! { @if is_recording { "Use a timetable that was in force on the day of the recording." } @else { "Publish the current timetable together with this feed; see the " a href=(format!("/feeds/{}/versions", schedule.id())) { "published versions" } "." } };
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

fn render_reason_row(kind: &str, reason: UnmatchedReason, found: &MatchReasonCount) -> Markup {
    html! {
        li {
            details {
                summary { strong { (kind) ":" } " " (describe_reason(reason)) span.tag { (words::format_number(found.count)) } }
                ul {
                    li { @for (at, id) in found.sample_ids().enumerate() { @if at > 0 { ", " } span.mono { (id) } } }
                    @if usize::try_from(found.count).is_ok_and(|count| count > found.sample_ids().len()) {
                        li.soft { "The first ids of " (words::format_number(found.count)) "." }
                    }
                    @if found.timetable_sample_ids().len() > 0 {
                        li.soft {
                            "The timetable has "
                            @for (at, id) in found.timetable_sample_ids().enumerate() { @if at > 0 { ", " } span.mono { (id) } }
                            ", for example."
                        }
                    }
                }
            }
        }
    }
}

fn describe_reason(reason: UnmatchedReason) -> &'static str {
    match reason {
        UnmatchedReason::UnknownTrip => "the timetable has no trip with this id",
        UnmatchedReason::NotRunning => "the trip does not run on this day",
        UnmatchedReason::NoTrip => "no trip id",
        UnmatchedReason::UnknownRoute => "the timetable has no line with this id",
        UnmatchedReason::UnknownStop => "the timetable has no stop with this id",
        UnmatchedReason::UnknownAgency => "the timetable has no operator with this id",
        UnmatchedReason::Added => "added, not in the timetable by design, not counted",
        UnmatchedReason::NoReference => "no trip, line or stop reference, not counted",
        UnmatchedReason::DayBefore => "the trip runs on the day before this one, matched",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn own_trip_ids_are_only_possible_after_the_end_of_the_timetable() {
        let ended = MismatchCause::TimetableEnded { last: jiff::civil::date(2023, 11, 19) };
        let own = MismatchCause::OwnTripIds;
        let both = [ended.clone(), own.clone()];
        assert!(
            is_explained_by_other_cause(&own, &both) && !is_explained_by_other_cause(&ended, &both)
        );
        assert!(!is_explained_by_other_cause(&own, std::slice::from_ref(&own)));
    }

    #[test]
    fn a_share_below_one_is_never_100_percent() {
        let shares = [1.0, 165.0 / 172.0, 0.9999, 0.5, 0.0];
        assert_eq!(shares.map(format_share), ["100 %", "95.9 %", "99.9 %", "50 %", "0 %"]);
    }

    #[test]
    fn every_reason_has_its_own_description_and_says_whether_it_counts() {
        let reason_names: std::collections::BTreeSet<&str> =
            UnmatchedReason::ALL.into_iter().map(describe_reason).collect();
        assert_eq!(reason_names.len(), UnmatchedReason::ALL.len());
        for reason in UnmatchedReason::ALL {
            let reason_words = describe_reason(reason);
            let is_stated =
                reason_words.ends_with("not counted") || reason_words.ends_with(", matched");
            assert_eq!(is_stated, !reason.is_counted_as_unmatched(), "{reason:?}");
        }
    }
}
