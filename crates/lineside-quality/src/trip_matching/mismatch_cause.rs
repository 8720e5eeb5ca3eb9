//! Likely causes for ids of a real-time feed that do not match its timetable, from the counts and the example ids.

use jiff::civil::Date;
use lineside_formats::gtfs::Timetable;
use lineside_model::{FeedMatchCounts, MatchCount, MatchReasonCount, UnmatchedReason};

/// Share of ids from which a kind counts as matched.
const MATCHES_FROM: f64 = 0.5;
/// Share of unmatched trips from which there is a cause to find.
const TRIPS_MISSING_FROM: f64 = 0.05;
/// Characters that end a prefix of an id.
const SEPARATORS: [char; 6] = [':', '_', '-', '.', '/', '|'];

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MismatchIdKind {
    Trip,
    Route,
    Stop,
}

impl MismatchIdKind {
    /// Returns the name in the API.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Trip => "trip",
            Self::Route => "route",
            Self::Stop => "stop",
        }
    }
}

/// One likely cause of ids that do not match.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MismatchCause {
    /// The feed's ids have this prefix, the timetable's do not: without it the example ids match.
    ExtraPrefix { kind: MismatchIdKind, prefix: String },
    /// The timetable's ids have this prefix, the feed's do not: with it the example ids match.
    MissingPrefix { kind: MismatchIdKind, prefix: String },
    /// The timetable's id is the last part or the last but one of the feed's NeTEx id, split at colons.
    NetexIds { kind: MismatchIdKind },
    /// The last day of service has passed.
    TimetableEnded { last: Date },
    /// The feed names days outside the timetable's service.
    DatesOutsideService { first: Date, last: Date },
    /// The feed's trips are in the timetable, but do not run on the feed's day.
    OtherDay,
    /// The trip ids have the form of the timetable's, but are not in it.
    OtherVersion,
    /// Lines or stops match, but trips have ids of another form.
    OwnTripIds,
    /// Trip updates name no trip.
    NoTripIds,
    /// Neither trips nor lines nor stops match.
    OtherNetwork,
}

impl MismatchCause {
    /// Returns the code in the API.
    pub fn as_str(&self) -> &'static str {
        match self {
            Self::ExtraPrefix { .. } => "extra_prefix",
            Self::MissingPrefix { .. } => "missing_prefix",
            Self::NetexIds { .. } => "netex_ids",
            Self::TimetableEnded { .. } => "timetable_ended",
            Self::DatesOutsideService { .. } => "dates_outside_service",
            Self::OtherDay => "other_day",
            Self::OtherVersion => "other_version",
            Self::OwnTripIds => "own_trip_ids",
            Self::NoTripIds => "no_trip_ids",
            Self::OtherNetwork => "other_network",
        }
    }
}

/// Returns the likely causes, the most certain first; empty if nearly everything matches. `today` is the network's
/// current day.
pub fn find_likely_causes(
    matches: &FeedMatchCounts,
    timetable: &Timetable,
    today: Date,
) -> Vec<MismatchCause> {
    let trips = TripMatchCounts::from_matches(matches);
    let mut causes = find_prefix_causes(matches, timetable);
    let has_id_cause = !causes.is_empty();
    causes.extend(find_trip_causes(
        matches,
        &trips,
        timetable.service_date_range(),
        today,
        has_id_cause,
    ));
    causes
}

/// Finds the causes of unmatched trips: their days, and their ids unless a prefix explains those (`has_id_cause`).
/// `service` is the first and the last day of the timetable.
fn find_trip_causes(
    matches: &FeedMatchCounts,
    trips: &TripMatchCounts<'_>,
    service: Option<(Date, Date)>,
    today: Date,
    has_id_cause: bool,
) -> Vec<MismatchCause> {
    let mut causes = Vec::new();
    if let Some((_, last)) = service.filter(|(_, last)| *last < today)
        && trips.unmatched > 0
    {
        causes.push(MismatchCause::TimetableEnded { last });
    }
    if trips.is_significant_share(trips.not_running) {
        let outside = service
            .filter(|range| trips.dates.iter().any(|day| is_date_outside_range(*day, *range)));
        causes.push(match outside {
            Some((first, last)) => MismatchCause::DatesOutsideService { first, last },
            None => MismatchCause::OtherDay,
        });
    }
    if trips.is_significant_share(trips.no_trip) {
        causes.push(MismatchCause::NoTripIds);
    }
    if trips.is_significant_share(trips.unknown) && !has_id_cause {
        causes.extend(find_unknown_trips_cause(matches, trips));
    }
    causes
}

/// Finds the cause of unknown trips that no prefix explains.
fn find_unknown_trips_cause(
    matches: &FeedMatchCounts,
    trips: &TripMatchCounts<'_>,
) -> Option<MismatchCause> {
    let matches_well =
        |counts: &MatchCount| counts.matched_share().is_some_and(|rate| rate >= MATCHES_FROM);
    let others = [&matches.routes, &matches.stops];
    if others.into_iter().any(matches_well) || trips.matched > 0 {
        let is_alike = has_form_of_known_ids(&trips.samples, &trips.timetable_ids);
        return Some(if is_alike {
            MismatchCause::OtherVersion
        } else {
            MismatchCause::OwnTripIds
        });
    }
    let is_nothing_known = others.iter().all(|counts| counts.matched == 0);
    let has_others = others.iter().any(|counts| counts.total_count() > 0);
    (is_nothing_known && has_others).then_some(MismatchCause::OtherNetwork)
}

/// The matches of the trips in trip updates and vehicles.
#[derive(Debug, Default)]
struct TripMatchCounts<'a> {
    matched: u64,
    unmatched: u64,
    unknown: u64,
    not_running: u64,
    no_trip: u64,
    /// Example ids of unknown trips, and ids of the timetable.
    samples: Vec<&'a str>,
    timetable_ids: Vec<&'a str>,
    /// Days on which trips of the feed do not run.
    dates: Vec<Date>,
}

impl<'a> TripMatchCounts<'a> {
    fn from_matches(matches: &'a FeedMatchCounts) -> Self {
        let mut total = Self::default();
        for counts in [&matches.trip_updates, &matches.vehicles] {
            total.matched += counts.matched;
            total.unmatched += counts.unmatched_count();
            for (reason, found) in counts.reasons() {
                match reason {
                    UnmatchedReason::UnknownTrip => {
                        total.unknown += found.count;
                        total.samples.extend(found.sample_ids());
                        total.timetable_ids.extend(found.timetable_sample_ids());
                    }
                    UnmatchedReason::NotRunning => {
                        total.not_running += found.count;
                        total.dates.extend(found.sample_ids().filter_map(parse_sample_date));
                    }
                    UnmatchedReason::NoTrip => total.no_trip += found.count,
                    _ => {}
                }
            }
        }
        total
    }

    /// Returns true if a count is a large enough share of all trips to need an explanation.
    fn is_significant_share(&self, count: u64) -> bool {
        let all = self.matched + self.unmatched;
        count > 0 && count as f64 >= all as f64 * TRIPS_MISSING_FROM
    }
}

/// Parses the day of `<trip id>:<YYYYMMDD>`.
fn parse_sample_date(sample: &str) -> Option<Date> {
    Date::strptime("%Y%m%d", sample.rsplit(':').next()?).ok()
}

fn is_date_outside_range(day: Date, (first, last): (Date, Date)) -> bool {
    day < first || day > last
}

/// Finds prefixes that make example ids match, for each kind of id.
fn find_prefix_causes(matches: &FeedMatchCounts, timetable: &Timetable) -> Vec<MismatchCause> {
    let kinds: [(MismatchIdKind, UnmatchedReason, Vec<&MatchCount>); 3] = [
        (
            MismatchIdKind::Trip,
            UnmatchedReason::UnknownTrip,
            vec![&matches.trip_updates, &matches.vehicles],
        ),
        (
            MismatchIdKind::Route,
            UnmatchedReason::UnknownRoute,
            vec![&matches.routes, &matches.vehicles],
        ),
        (MismatchIdKind::Stop, UnmatchedReason::UnknownStop, vec![&matches.stops]),
    ];
    kinds
        .into_iter()
        .filter_map(|(kind, reason, counts)| {
            let found = counts.iter().flat_map(|counts| counts.reasons());
            let found = found.filter(|(it, _)| *it == reason).map(|(_, found)| found).next()?;
            find_prefix_cause(kind, found, timetable)
        })
        .collect()
}

fn find_prefix_cause(
    kind: MismatchIdKind,
    found: &MatchReasonCount,
    timetable: &Timetable,
) -> Option<MismatchCause> {
    let samples: Vec<&str> = found.sample_ids().collect();
    let known: Vec<&str> = found.timetable_sample_ids().collect();
    let is_known = |id: &str| match kind {
        MismatchIdKind::Trip => timetable.find_trip(id).is_some(),
        MismatchIdKind::Route => timetable.find_route(id).is_some(),
        MismatchIdKind::Stop => timetable.find_stop(id).is_some(),
    };
    // More than half: some example ids may be unknown for other reasons.
    let find_most_common = |is_met: &dyn Fn(&str) -> bool| {
        2 * samples.iter().filter(|sample| is_met(sample)).count() > samples.len()
    };
    let prefix = common_prefix(&samples);
    if !prefix.is_empty() && find_most_common(&|id| id.strip_prefix(prefix).is_some_and(is_known)) {
        return Some(MismatchCause::ExtraPrefix { kind, prefix: prefix.to_owned() });
    }
    let prefix = common_prefix(&known);
    if !prefix.is_empty() && find_most_common(&|id| is_known(&format!("{prefix}{id}"))) {
        return Some(MismatchCause::MissingPrefix { kind, prefix: prefix.to_owned() });
    }
    let is_netex_id = |id: &str| id.rsplit(':').take(2).any(is_known) && id.contains(':');
    find_most_common(&is_netex_id).then_some(MismatchCause::NetexIds { kind })
}

/// Returns the common prefix of all ids, up to and including a separator; may be empty.
fn common_prefix<'a>(ids: &[&'a str]) -> &'a str {
    let Some(first) = ids.first() else { return "" };
    let shared = ids.iter().skip(1).fold(*first, |shared, id| {
        let end = shared.char_indices().zip(id.chars()).find(|((_, a), b)| a != b);
        let end = end.map_or(shared.len().min(id.len()), |((at, _), _)| at);
        shared.get(..end).unwrap_or_default()
    });
    let end = shared.rfind(SEPARATORS).map_or(0, |at| at + 1);
    shared.get(..end).unwrap_or_default()
}

/// Returns true if most ids have the form of a known one: the same runs of digits, letters and other characters, of the
/// same lengths.
fn has_form_of_known_ids(ids: &[&str], known: &[&str]) -> bool {
    let known: Vec<Vec<(char, usize)>> =
        known.iter().map(|id| split_into_character_runs(id)).collect();
    let matched = ids.iter().filter(|id| known.contains(&split_into_character_runs(id))).count();
    !ids.is_empty() && 2 * matched > ids.len()
}

/// Splits an id into runs: `0` for digits, `a` for letters, any other character for itself, each with its length.
fn split_into_character_runs(id: &str) -> Vec<(char, usize)> {
    let mut runs: Vec<(char, usize)> = Vec::new();
    for c in id.chars() {
        let class = match c {
            _ if c.is_numeric() => '0',
            _ if c.is_alphabetic() => 'a',
            _ => c,
        };
        match runs.last_mut() {
            Some((last, length)) if *last == class => *length += 1,
            _ => runs.push((class, 1)),
        }
    }
    runs
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_common_prefix_ends_at_a_separator() {
        assert_eq!(common_prefix(&["net:a0", "net:a1"]), "net:");
        assert_eq!(common_prefix(&["RUT:Line:1", "RUT:Line:2"]), "RUT:Line:");
        assert_eq!(common_prefix(&["abc1", "abc2"]), "");
        assert_eq!(common_prefix(&["é:1", "è:1"]), "");
        assert_eq!(common_prefix(&[]), "");
    }

    #[test]
    fn ids_of_another_version_have_the_same_form() {
        assert!(has_form_of_known_ids(&["101777", "101778"], &["101691"]));
        assert!(!has_form_of_known_ids(&["038100_H..N", "038200_H..N"], &["101691"]));
        assert!(!has_form_of_known_ids(&[], &["1"]));
    }

    const TODAY: Date = Date::constant(2026, 6, 15);

    /// Returns the causes of four unknown trips with these ids, if the timetable has the `known` ids and `n_lines`
    /// lines match.
    fn causes_of_unknown(
        ids: &[&'static str],
        known: &[&'static str],
        n_lines: u64,
    ) -> Vec<String> {
        let mut matches = FeedMatchCounts::default();
        matches.routes.matched = n_lines;
        let trips = TripMatchCounts {
            unmatched: 4,
            unknown: 4,
            samples: ids.to_vec(),
            timetable_ids: known.to_vec(),
            ..TripMatchCounts::default()
        };
        let service = Some((Date::constant(2026, 1, 1), Date::constant(2026, 12, 31)));
        let causes = find_trip_causes(&matches, &trips, service, TODAY, false);
        causes.iter().map(|cause| cause.as_str().to_owned()).collect()
    }

    #[test]
    fn own_trip_ids_are_distinguished_from_another_version() {
        // New York's subway names trips by origin time, line and direction, its schedule by depot and service day.
        let own = ["038100_H..N", "039150_H..S", "A20260615WKD_012"];
        let scheduled = ["AFA25GEN-H093-Weekday-00_038100_H..N55R"];
        assert_eq!(causes_of_unknown(&own, &scheduled, 2), ["own_trip_ids"]);
        assert_eq!(causes_of_unknown(&["101777", "101778"], &["101691"], 2), ["other_version"]);
        assert!(causes_of_unknown(&own, &scheduled, 0).is_empty(), "no other ids were compared");
    }

    #[test]
    fn the_dates_explain_trips_that_do_not_run() {
        let last = Date::constant(2026, 6, 14);
        let service = Some((Date::constant(2026, 1, 1), last));
        let not_running = |day| TripMatchCounts {
            matched: 10,
            unmatched: 5,
            not_running: 5,
            dates: vec![day],
            ..TripMatchCounts::default()
        };
        let causes = |day, today| {
            find_trip_causes(&FeedMatchCounts::default(), &not_running(day), service, today, false)
        };
        let ended = causes(TODAY, TODAY);
        assert_eq!(ended[0], MismatchCause::TimetableEnded { last });
        assert_eq!(causes(last, last), [MismatchCause::OtherDay]);
        let all_known = TripMatchCounts { matched: 10, ..TripMatchCounts::default() };
        assert_eq!(
            find_trip_causes(&FeedMatchCounts::default(), &all_known, service, TODAY, false),
            [],
            "an expired timetable that still matches is not the cause"
        );
    }

    #[test]
    fn a_sample_date_follows_the_last_colon() {
        assert_eq!(parse_sample_date("a:b:20260307"), Date::new(2026, 3, 7).ok());
        assert_eq!(parse_sample_date("a"), None);
    }
}
