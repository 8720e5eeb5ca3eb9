//! Counting what is matched and what is not, with the first ids of each reason.

use std::collections::{BTreeMap, BTreeSet};

use lineside_formats::{gtfs::Timetable, gtfs_rt::proto::TripDescriptor};
use smol_str::SmolStr;

use crate::{
    limits::{MATCH_ID_CHARS_MAX, MATCH_KNOWN_IDS, MATCH_SAMPLES_MAX},
    normalize::nonempty_text,
};

/// Why something is not matched.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum MatchReason {
    /// It names a trip that the timetable does not have.
    UnknownTrip,
    /// Its trip is in the timetable and does not run on the service date that it names.
    NotRunning,
    /// A trip update that names no trip.
    NoTrip,
    /// It names a line that the timetable does not have.
    UnknownRoute,
    /// It names a stop that the timetable does not have.
    UnknownStop,
    /// It names an agency that the timetable does not have.
    UnknownAgency,
    /// Its trip is an added one, not in the timetable by design.
    Added,
    /// It names nothing of a timetable: a vehicle out of service, an alert about everything.
    NoReference,
    /// It is matched, though it names the day after the service day of its trip, as the calendar has it after midnight.
    DayBefore,
}

impl MatchReason {
    /// All reasons.
    pub const ALL: [MatchReason; 9] = [
        MatchReason::UnknownTrip,
        MatchReason::NotRunning,
        MatchReason::NoTrip,
        MatchReason::UnknownRoute,
        MatchReason::UnknownStop,
        MatchReason::UnknownAgency,
        MatchReason::Added,
        MatchReason::NoReference,
        MatchReason::DayBefore,
    ];

    /// The word for it in reports.
    pub fn as_str(self) -> &'static str {
        match self {
            MatchReason::UnknownTrip => "unknown_trip",
            MatchReason::NotRunning => "not_running",
            MatchReason::NoTrip => "no_trip",
            MatchReason::UnknownRoute => "unknown_route",
            MatchReason::UnknownStop => "unknown_stop",
            MatchReason::UnknownAgency => "unknown_agency",
            MatchReason::Added => "added",
            MatchReason::NoReference => "no_reference",
            MatchReason::DayBefore => "day_before",
        }
    }

    /// Whether what has this reason counts as unmatched. What is new on purpose, or names nothing, is neither matched nor
    /// unmatched; what was found on the day before is matched.
    pub fn is_unmatched(self) -> bool {
        !matches!(self, MatchReason::Added | MatchReason::NoReference | MatchReason::DayBefore)
    }

    /// A few ids of what the timetable would have to have, to compare with.
    fn sample_known_ids(self, timetable: &Timetable) -> Vec<SmolStr> {
        fn first_ids<'a>(ids: impl Iterator<Item = &'a str>) -> Vec<SmolStr> {
            ids.filter(|id| !id.is_empty()).take(MATCH_KNOWN_IDS).map(shorten_id).collect()
        }
        match self {
            MatchReason::UnknownTrip => first_ids(timetable.trips().map(|trip| trip.id)),
            MatchReason::UnknownRoute => first_ids(timetable.routes().map(|route| route.id)),
            MatchReason::UnknownStop => first_ids(timetable.stops().map(|stop| stop.id)),
            MatchReason::UnknownAgency => first_ids(timetable.agencies().map(|agency| agency.id)),
            _ => Vec::new(),
        }
    }
}

/// What is not matched, for the id that says most of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct UnmatchedId<'a> {
    pub(super) reason: MatchReason,
    pub(super) id: &'a str,
    /// The service date, where that is what is wrong.
    pub(super) start_date: Option<&'a str>,
}

impl<'a> UnmatchedId<'a> {
    pub(super) fn new(reason: MatchReason, id: &'a str) -> UnmatchedId<'a> {
        UnmatchedId { reason, id, start_date: None }
    }
}

/// What came of looking something up.
pub(super) type Verdict<'a> = Result<(), UnmatchedId<'a>>;

/// How much of one kind is matched, how much is not, and why.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MatchCount {
    /// The timetable has what they name.
    pub matched: u64,
    reasons: BTreeMap<MatchReason, ReasonCount>,
}

/// What is not matched for one reason.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ReasonCount {
    /// How many.
    pub count: u64,
    samples: BTreeSet<SmolStr>,
    known_ids: Vec<SmolStr>,
}

impl ReasonCount {
    /// The first ids, in their order, at most 10 different ones: of what is not known; with `:<start_date>` after a trip
    /// that does not run then; of the record, where it names nothing. One of more than 200 characters is cut.
    pub fn sample_ids(&self) -> impl ExactSizeIterator<Item = &str> {
        self.samples.iter().map(SmolStr::as_str)
    }

    /// A few ids of the same kind of thing that the timetable has.
    pub fn known_ids(&self) -> impl ExactSizeIterator<Item = &str> {
        self.known_ids.iter().map(SmolStr::as_str)
    }

    fn add_unmatched(&mut self, found: UnmatchedId<'_>) {
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
    /// How many count as unmatched.
    pub fn unmatched_count(&self) -> u64 {
        let unmatched = self.reasons.iter().filter(|(reason, _)| reason.is_unmatched());
        unmatched.map(|(_, found)| found.count).sum()
    }

    /// How many there are that could be matched.
    pub fn total_count(&self) -> u64 {
        self.matched + self.unmatched_count()
    }

    /// Whether nothing at all was looked up.
    pub fn is_empty(&self) -> bool {
        self.matched == 0 && self.reasons.is_empty()
    }

    /// The share that is matched, 0 to 1; none if there is nothing to match.
    pub fn matched_share(&self) -> Option<f64> {
        match_rate(self.matched, self.unmatched_count())
    }

    /// Why what is not matched is not; at the end what is new on purpose, what names nothing, and what is matched on another
    /// day than it names.
    pub fn reasons(&self) -> impl Iterator<Item = (MatchReason, &ReasonCount)> {
        self.reasons.iter().map(|(reason, found)| (*reason, found))
    }

    pub(super) fn add_verdict(&mut self, verdict: Verdict<'_>) {
        match verdict {
            Ok(()) => self.matched += 1,
            Err(found) => self.reasons.entry(found.reason).or_default().add_unmatched(found),
        }
    }

    /// The same of what names a trip, with a word of it where that was found on another day than it names.
    pub(super) fn add_trip_verdict(&mut self, verdict: Verdict<'_>, trip: Option<&TripDescriptor>) {
        let moved = trip.filter(|_| verdict.is_ok());
        let moved = moved.and_then(|trip| {
            nonempty_text(&trip.trip_id).zip(nonempty_text(&trip.named_start_date))
        });
        self.add_verdict(verdict);
        if let Some((id, named)) = moved {
            let found = UnmatchedId::new(MatchReason::DayBefore, id);
            self.add_verdict(Err(UnmatchedId { start_date: Some(named), ..found }));
        }
    }

    pub(super) fn put_known_ids(&mut self, timetable: &Timetable) {
        for (reason, found) in &mut self.reasons {
            found.known_ids = reason.sample_known_ids(timetable);
        }
    }
}

/// The share that is matched, 0 to 1; none if there is nothing to match.
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

    fn unknown(id: &str) -> Verdict<'_> {
        Err(UnmatchedId::new(MatchReason::UnknownTrip, id))
    }

    #[test]
    fn a_rate_is_of_what_can_be_matched() {
        let mut counts = MatchCount::default();
        assert_eq!((counts.matched_share(), counts.is_empty()), (None, true));
        counts.add_verdict(Err(UnmatchedId::new(MatchReason::Added, "n")));
        counts.add_verdict(Err(UnmatchedId::new(MatchReason::NoReference, "v")));
        assert_eq!(
            (counts.matched_share(), counts.total_count(), counts.is_empty()),
            (None, 0, false)
        );
        counts.add_verdict(unknown("a"));
        assert_eq!(counts.matched_share(), Some(0.0));
        counts.add_verdict(Ok(()));
        counts.add_verdict(Ok(()));
        counts.add_verdict(Ok(()));
        assert_eq!(
            (counts.matched, counts.unmatched_count(), counts.matched_share()),
            (3, 1, Some(0.75))
        );
    }

    #[test]
    fn samples_are_the_first_ids_whatever_order_they_come_in() {
        let ids: Vec<String> = (0..50).map(|number| format!("{number:02}")).collect();
        for step in [1, 7, 13, 49] {
            let mut counts = MatchCount::default();
            for at in 0..ids.len() {
                counts.add_verdict(unknown(&ids[at * step % ids.len()]));
                counts.add_verdict(unknown(&ids[at * step % ids.len()]));
            }
            let (_, found) = counts.reasons().next().unwrap();
            assert_eq!(found.count, 100);
            assert!(found.sample_ids().eq(ids[..10].iter().map(String::as_str)), "{found:?}");
        }
    }

    #[test]
    fn a_long_id_is_cut() {
        let mut counts = MatchCount::default();
        let long = "ø".repeat(100_000);
        counts.add_verdict(unknown(&long));
        let sample = counts.reasons().next().unwrap().1.sample_ids().next().unwrap();
        assert_eq!(sample.chars().count(), MATCH_ID_CHARS_MAX + 1);
    }

    #[test]
    fn each_reason_has_a_word_of_its_own() {
        let words: BTreeSet<&str> = MatchReason::ALL.into_iter().map(MatchReason::as_str).collect();
        assert_eq!(words.len(), MatchReason::ALL.len());
    }
}
