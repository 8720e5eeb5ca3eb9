//! Counts of matched and unmatched references, with sample ids for each reason.

use std::collections::{BTreeMap, BTreeSet};

use lineside_formats::{gtfs::Timetable, gtfs_rt::proto::TripDescriptor};
use smol_str::SmolStr;

use crate::{
    limits::{MATCH_ID_CHARS_MAX, MATCH_SAMPLES_MAX, MATCH_TIMETABLE_IDS_MAX},
    trip_identity::text_if_nonempty,
};

/// The reason why a reference is not matched.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum UnmatchedReason {
    /// The trip is not in the timetable.
    UnknownTrip,
    /// The trip is in the timetable but does not run on the service date.
    NotRunning,
    /// The trip update has no trip id.
    NoTrip,
    /// The route is not in the timetable.
    UnknownRoute,
    /// The stop is not in the timetable.
    UnknownStop,
    /// The agency is not in the timetable.
    UnknownAgency,
    /// The trip is an added one, not in the timetable by design.
    Added,
    /// The entity has no reference: a vehicle out of service, an alert about everything.
    NoReference,
    /// The trip is matched, but the feed names the calendar day after its service day, as after midnight.
    DayBefore,
}

impl UnmatchedReason {
    pub const ALL: [UnmatchedReason; 9] = [
        UnmatchedReason::UnknownTrip,
        UnmatchedReason::NotRunning,
        UnmatchedReason::NoTrip,
        UnmatchedReason::UnknownRoute,
        UnmatchedReason::UnknownStop,
        UnmatchedReason::UnknownAgency,
        UnmatchedReason::Added,
        UnmatchedReason::NoReference,
        UnmatchedReason::DayBefore,
    ];

    /// Returns the name in reports.
    pub fn as_str(self) -> &'static str {
        match self {
            UnmatchedReason::UnknownTrip => "unknown_trip",
            UnmatchedReason::NotRunning => "not_running",
            UnmatchedReason::NoTrip => "no_trip",
            UnmatchedReason::UnknownRoute => "unknown_route",
            UnmatchedReason::UnknownStop => "unknown_stop",
            UnmatchedReason::UnknownAgency => "unknown_agency",
            UnmatchedReason::Added => "added",
            UnmatchedReason::NoReference => "no_reference",
            UnmatchedReason::DayBefore => "day_before",
        }
    }

    /// Returns true if the reason counts as unmatched. Added trips and entities without references are neither matched
    /// nor unmatched; trips matched on the day before are matched.
    pub fn is_counted_as_unmatched(self) -> bool {
        !matches!(
            self,
            UnmatchedReason::Added | UnmatchedReason::NoReference | UnmatchedReason::DayBefore
        )
    }

    /// Returns a few ids from the timetable to compare with unknown ones.
    fn sample_known_ids(self, timetable: &Timetable) -> Vec<SmolStr> {
        fn first_ids<'a>(ids: impl Iterator<Item = &'a str>) -> Vec<SmolStr> {
            ids.filter(|id| !id.is_empty()).take(MATCH_TIMETABLE_IDS_MAX).map(shorten_id).collect()
        }
        match self {
            UnmatchedReason::UnknownTrip => first_ids(timetable.trips().map(|trip| trip.id)),
            UnmatchedReason::UnknownRoute => first_ids(timetable.routes().map(|route| route.id)),
            UnmatchedReason::UnknownStop => first_ids(timetable.stops().map(|stop| stop.id)),
            UnmatchedReason::UnknownAgency => {
                first_ids(timetable.agencies().map(|agency| agency.id))
            }
            _ => Vec::new(),
        }
    }
}

/// An unmatched reference with its most specific id.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct UnmatchedReference<'a> {
    pub(super) reason: UnmatchedReason,
    pub(super) id: &'a str,
    /// The service date, if it is the problem.
    pub(super) start_date: Option<&'a str>,
}

impl<'a> UnmatchedReference<'a> {
    pub(super) fn new(reason: UnmatchedReason, id: &'a str) -> UnmatchedReference<'a> {
        UnmatchedReference { reason, id, start_date: None }
    }
}

/// The outcome of a lookup.
pub(super) type MatchResult<'a> = Result<(), UnmatchedReference<'a>>;

/// The number of matched and unmatched references of one kind, with reasons.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MatchCount {
    /// References that are in the timetable.
    pub matched: u64,
    reasons: BTreeMap<UnmatchedReason, MatchReasonCount>,
}

/// Unmatched references for one reason.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MatchReasonCount {
    /// The number of references.
    pub count: u64,
    samples: BTreeSet<SmolStr>,
    timetable_ids: Vec<SmolStr>,
}

impl MatchReasonCount {
    /// Returns the alphabetically first ids, at most 10 distinct ones: of the unknown items; with `:<start_date>` after
    /// a trip that does not run then; of the record, if it has no reference. An id of more than 200 characters is
    /// truncated.
    pub fn sample_ids(&self) -> impl ExactSizeIterator<Item = &str> {
        self.samples.iter().map(SmolStr::as_str)
    }

    /// Returns a few ids of the same kind from the timetable.
    pub fn timetable_sample_ids(&self) -> impl ExactSizeIterator<Item = &str> {
        self.timetable_ids.iter().map(SmolStr::as_str)
    }

    fn add_unmatched(&mut self, found: UnmatchedReference<'_>) {
        self.count += 1;
        let is_full = self.samples.len() >= MATCH_SAMPLES_MAX;
        if is_full && self.samples.last().is_some_and(|last| found.id >= last.as_str()) {
            return;
        }
        self.samples.insert(match found.start_date {
            Some(date) => SmolStr::from(format!("{}:{date}", shorten_id(found.id))),
            None => shorten_id(found.id),
        });
        if self.samples.len() > MATCH_SAMPLES_MAX {
            self.samples.pop_last();
        }
    }
}

impl MatchCount {
    /// Returns the number of unmatched references.
    pub fn unmatched_count(&self) -> u64 {
        let unmatched = self.reasons.iter().filter(|(reason, _)| reason.is_counted_as_unmatched());
        unmatched.map(|(_, found)| found.count).sum()
    }

    /// Returns the number of references that could be matched.
    pub fn total_count(&self) -> u64 {
        self.matched + self.unmatched_count()
    }

    /// Returns true if there were no lookups.
    pub fn is_empty(&self) -> bool {
        self.matched == 0 && self.reasons.is_empty()
    }

    /// Returns the match rate from 0 to 1; `None` if there is nothing to match.
    pub fn matched_share(&self) -> Option<f64> {
        match_rate(self.matched, self.unmatched_count())
    }

    /// Returns the reasons with their counts; at the end added trips, missing references, and trips matched on another
    /// day.
    pub fn reasons(&self) -> impl Iterator<Item = (UnmatchedReason, &MatchReasonCount)> {
        self.reasons.iter().map(|(reason, found)| (*reason, found))
    }

    pub(super) fn count_result(&mut self, verdict: MatchResult<'_>) {
        match verdict {
            Ok(()) => self.matched += 1,
            Err(found) => self.reasons.entry(found.reason).or_default().add_unmatched(found),
        }
    }

    /// Adds the outcome of a trip lookup, and counts a trip that was matched on another day than the named one.
    pub(super) fn count_trip_result(
        &mut self,
        verdict: MatchResult<'_>,
        trip: Option<&TripDescriptor>,
    ) {
        let moved = trip.filter(|_| verdict.is_ok());
        let moved = moved.and_then(|trip| {
            text_if_nonempty(&trip.trip_id).zip(text_if_nonempty(&trip.named_start_date))
        });
        self.count_result(verdict);
        if let Some((id, named)) = moved {
            let found = UnmatchedReference::new(UnmatchedReason::DayBefore, id);
            self.count_result(Err(UnmatchedReference { start_date: Some(named), ..found }));
        }
    }

    pub(super) fn set_timetable_sample_ids(&mut self, timetable: &Timetable) {
        for (reason, found) in &mut self.reasons {
            found.timetable_ids = reason.sample_known_ids(timetable);
        }
    }
}

/// Returns the match rate from 0 to 1; `None` if there is nothing to match.
pub fn match_rate(matched: u64, unmatched: u64) -> Option<f64> {
    let total = matched + unmatched;
    (total > 0).then(|| matched as f64 / total as f64)
}

fn shorten_id(id: &str) -> SmolStr {
    match id.char_indices().nth(MATCH_ID_CHARS_MAX) {
        Some((end, _)) => SmolStr::from(format!("{}…", &id[..end])),
        None => SmolStr::new(id),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn unknown(id: &str) -> MatchResult<'_> {
        Err(UnmatchedReference::new(UnmatchedReason::UnknownTrip, id))
    }

    #[test]
    fn the_match_rate_counts_matchable_entities_only() {
        let mut counts = MatchCount::default();
        assert_eq!((counts.matched_share(), counts.is_empty()), (None, true));
        counts.count_result(Err(UnmatchedReference::new(UnmatchedReason::Added, "n")));
        counts.count_result(Err(UnmatchedReference::new(UnmatchedReason::NoReference, "v")));
        assert_eq!(
            (counts.matched_share(), counts.total_count(), counts.is_empty()),
            (None, 0, false)
        );
        counts.count_result(unknown("a"));
        assert_eq!(counts.matched_share(), Some(0.0));
        counts.count_result(Ok(()));
        counts.count_result(Ok(()));
        counts.count_result(Ok(()));
        assert_eq!(
            (counts.matched, counts.unmatched_count(), counts.matched_share()),
            (3, 1, Some(0.75))
        );
    }

    #[test]
    fn samples_are_the_first_ids_in_any_order() {
        let ids: Vec<String> = (0..50).map(|number| format!("{number:02}")).collect();
        for step in [1, 7, 13, 49] {
            let mut counts = MatchCount::default();
            for at in 0..ids.len() {
                counts.count_result(unknown(&ids[at * step % ids.len()]));
                counts.count_result(unknown(&ids[at * step % ids.len()]));
            }
            let (_, found) = counts.reasons().next().unwrap();
            assert_eq!(found.count, 100);
            assert!(found.sample_ids().eq(ids[..10].iter().map(String::as_str)), "{found:?}");
        }
    }

    #[test]
    fn a_long_id_is_truncated() {
        let mut counts = MatchCount::default();
        let long = "ø".repeat(100_000);
        counts.count_result(unknown(&long));
        let sample = counts.reasons().next().unwrap().1.sample_ids().next().unwrap();
        assert_eq!(sample.chars().count(), MATCH_ID_CHARS_MAX + 1);
    }

    #[test]
    fn each_reason_has_its_own_name() {
        let words: BTreeSet<&str> =
            UnmatchedReason::ALL.into_iter().map(UnmatchedReason::as_str).collect();
        assert_eq!(words.len(), UnmatchedReason::ALL.len());
    }
}
