//! Check of trips that run now and are missing from the feed.

use std::collections::BTreeMap;

use lineside_formats::gtfs_rt::proto::{FeedMessage, feed_header::Incrementality};

use crate::{
    Notices,
    notice::NoticeKind,
    rules::gtfs_rt::{
        MatchRate, MessageSubject, RealtimeRule,
        fields::{AGENCY, Field, ROUTE, TRIP, warning_kind},
        schedule_index::{ScheduleIndex, TripEntry},
    },
};

pub(super) static RULE: RealtimeRule = RealtimeRule {
    kinds: &[&MISSING, &NO_AGENCY],
    on_update: None,
    on_message: Some(check_completeness),
};

const EXPECTED: Field = ("expectedTrips", "The number of scheduled trips at the moment.");

static MISSING: NoticeKind = warning_kind(
    "missing_trips",
    &[
        ROUTE,
        AGENCY,
        EXPECTED,
        ("missingTrips", "The number of these trips that are not in the message."),
        ("missing", "The missing share, in percent."),
        TRIP,
    ],
    include_str!("missing_trips.md"),
);

static NO_AGENCY: NoticeKind = warning_kind(
    "agency_without_trips",
    &[AGENCY, EXPECTED, TRIP],
    include_str!("agency_without_trips.md"),
);

/// The seconds after the start and before the end of a trip in which it may be missing.
const GRACE_S: i64 = 120;
/// The percentage of a route's trips that may be missing.
const MISSING_MAX: f64 = 10.0;

/// The tally of a route's or an agency's trips.
#[derive(Default)]
struct CoverageTally {
    expected: u64,
    missing: u64,
    /// The first missing trip.
    trip: Option<u32>,
}

impl CoverageTally {
    fn add_trip(&mut self, trip: &TripEntry, is_named: bool) {
        self.expected += 1;
        if !is_named {
            self.missing += 1;
            self.trip.get_or_insert(trip.at);
        }
    }

    fn covered_percent(&self) -> f64 {
        100.0 * self.missing as f64 / self.expected.max(1) as f64
    }
}

/// O(entities of all feeds + trips that run + trips / 64).
fn check_completeness(subject: &MessageSubject<'_>, out: &mut Notices) {
    let is_whole = subject.message.header.incrementality() == Incrementality::FullDataset;
    // A feed that only ever has alerts is not expected to name trips.
    if !is_whole || !subject.is_from_trip_feed() || has_no_matches(subject.trip_match_rate()) {
        return;
    }
    let timetable = subject.timetable;
    let mut named = TripBitSet::new(timetable);
    for run in subject.referenced_trips() {
        named.insert_trip(run.trip);
    }
    for message in subject.others {
        named.insert_message_trips(message, timetable);
    }
    let (mut routes, mut agencies) = (BTreeMap::new(), BTreeMap::new());
    for trip in expected_trips(subject) {
        let is_named = named.contains_trip(trip);
        let agency = timetable.agency_of_route(trip.route).map(|(code, _)| code);
        agencies.entry(agency).or_insert_with(CoverageTally::default).add_trip(trip, is_named);
        routes.entry(trip.route).or_insert_with(CoverageTally::default).add_trip(trip, is_named);
    }
    let is_absent = |tally: &CoverageTally| tally.missing == tally.expected;
    for (agency, tally) in agencies.iter().filter(|(_, tally)| is_absent(tally)) {
        out.add_notice(&NO_AGENCY, |sample| {
            let trip = tally.trip.and_then(|at| timetable.trip_at(at));
            let agency = agency.and(trip).and_then(|trip| timetable.agency_of_route(trip.route));
            sample
                .set_field("agencyId", agency.map(|(_, id)| id))
                .set_field("expectedTrips", tally.expected);
            sample.set_field("tripId", trip.map(|trip| timetable.trip_id(trip)));
        });
    }
    for (&route, tally) in routes.iter().filter(|(_, tally)| tally.covered_percent() > MISSING_MAX)
    {
        let agency = timetable.agency_of_route(route);
        if agencies.get(&agency.map(|(code, _)| code)).is_some_and(is_absent) {
            continue;
        }
        out.add_notice(&MISSING, |sample| {
            sample.set_field("routeId", timetable.route_id(route));
            sample.set_field("agencyId", agency.map(|(_, id)| id));
            sample
                .set_field("expectedTrips", tally.expected)
                .set_field("missingTrips", tally.missing);
            sample.set_field("missing", (tally.covered_percent() * 10.0).round() / 10.0);
            let trip = tally.trip.and_then(|at| timetable.trip_at(at));
            sample.set_field("tripId", trip.map(|trip| timetable.trip_id(trip)));
        });
    }
}

/// Returns true if the schedule matches none of the referenced trips. That is reported elsewhere: trips that run under
/// other ids are not missing.
fn has_no_matches(rate: MatchRate) -> bool {
    rate.matched == 0 && rate.is_significant()
}

/// Returns the trips that started a while ago and will run for a while.
fn expected_trips<'a>(subject: &'a MessageSubject<'_>) -> impl Iterator<Item = &'a TripEntry> {
    let (timetable, now) = (subject.timetable, subject.now);
    subject.service_days().iter().flat_map(move |&day| {
        let trips = timetable.active_trips().trips_running_at(day, now);
        let time = now - day.start;
        trips.filter_map(|at| timetable.trip_at(at)).filter(move |trip| {
            let span = trip.start.zip(trip.end);
            span.is_some_and(|(start, end)| {
                i64::from(start) + GRACE_S <= time && time <= i64::from(end) - GRACE_S
            })
        })
    })
}

/// A bit for each trip of the schedule.
struct TripBitSet {
    words: Vec<u64>,
}

impl TripBitSet {
    fn new(timetable: &ScheduleIndex) -> TripBitSet {
        TripBitSet { words: vec![0; timetable.count_trips().div_ceil(64)] }
    }

    fn insert_trip(&mut self, trip: Option<&TripEntry>) {
        let Some(trip) = trip else { return };
        if let Some(word) = self.words.get_mut(trip.at as usize / 64) {
            *word |= 1 << (trip.at % 64);
        }
    }

    fn insert_message_trips(&mut self, message: &FeedMessage, timetable: &ScheduleIndex) {
        for entity in &message.entity {
            let update = entity.trip_update.as_ref().map(|update| &update.trip);
            let vehicle = entity.vehicle.as_ref().and_then(|vehicle| vehicle.trip.as_ref());
            for descriptor in update.into_iter().chain(vehicle) {
                self.insert_trip(timetable.trip_of_descriptor(descriptor));
            }
        }
    }

    fn contains_trip(&self, trip: &TripEntry) -> bool {
        self.words.get(trip.at as usize / 64).is_some_and(|word| word >> (trip.at % 64) & 1 == 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn missing_matches_are_significant_only_with_enough_trip_ids() {
        let check = |named, matched, is_expected| {
            let rate = MatchRate { named, matched };
            assert_eq!(has_no_matches(rate), is_expected, "{rate:?}");
        };
        check(0, 0, false);
        // Too few ids for a significant rate.
        check(4, 0, false);
        check(5, 0, true);
        check(14, 1, false);
    }
}
