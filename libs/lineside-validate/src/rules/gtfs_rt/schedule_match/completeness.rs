//! Check of trips that run now and are missing from the feed.

use std::collections::BTreeMap;

use lineside_formats::gtfs_rt::proto::{FeedMessage, feed_header::Incrementality};

use crate::{
    Notices,
    notice::NoticeKind,
    rules::gtfs_rt::{
        MessageWithContext, RealtimeRule, ScheduleMatchRate,
        fields::{AGENCY, NoticeFieldMeaning, ROUTE, TRIP, new_warning_kind},
        schedule_index::{IndexedTrip, ScheduleIndex},
    },
};

pub(super) static RULE: RealtimeRule = RealtimeRule {
    kinds: &[&MISSING, &NO_AGENCY],
    on_update: None,
    on_message: Some(check_running_trips_in_feed),
};

const EXPECTED: NoticeFieldMeaning =
    ("expectedTrips", "The number of scheduled trips at the moment.");

static MISSING: NoticeKind = new_warning_kind(
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

static NO_AGENCY: NoticeKind = new_warning_kind(
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
struct MissingTripTally {
    expected: u64,
    missing: u64,
    /// The first missing trip.
    trip: Option<u32>,
}

impl MissingTripTally {
    fn count_expected_trip(&mut self, trip: &IndexedTrip, is_named: bool) {
        self.expected += 1;
        if !is_named {
            self.missing += 1;
            self.trip.get_or_insert(trip.at);
        }
    }

    fn missing_percent(&self) -> f64 {
        100.0 * self.missing as f64 / self.expected.max(1) as f64
    }
}

/// O(entities of all feeds + trips that run + trips / 64).
fn check_running_trips_in_feed(subject: &MessageWithContext<'_>, out: &mut Notices) {
    let is_whole = subject.message.header.incrementality() == Incrementality::FullDataset;
    // A feed that only ever has alerts is not expected to name trips.
    if !is_whole
        || !subject.does_feed_reference_trips()
        || matches_no_trips(subject.trip_match_rate())
    {
        return;
    }
    let timetable = subject.timetable;
    let mut named = TripBitSet::new(timetable);
    for run in subject.all_trip_references() {
        named.insert_trip(run.trip);
    }
    for message in subject.others {
        named.insert_message_trips(message, timetable);
    }
    let (mut routes, mut agencies) = (BTreeMap::new(), BTreeMap::new());
    for trip in trips_expected_now(subject) {
        let is_named = named.contains_trip(trip);
        let agency = timetable.agency_of_route(trip.route).map(|(code, _)| code);
        agencies
            .entry(agency)
            .or_insert_with(MissingTripTally::default)
            .count_expected_trip(trip, is_named);
        routes
            .entry(trip.route)
            .or_insert_with(MissingTripTally::default)
            .count_expected_trip(trip, is_named);
    }
    let is_absent = |tally: &MissingTripTally| tally.missing == tally.expected;
    for (agency, tally) in agencies.iter().filter(|(_, tally)| is_absent(tally)) {
        out.count_notice_with_sample(&NO_AGENCY, |sample| {
            let trip = tally.trip.and_then(|at| timetable.trip_by_code(at));
            let agency = agency.and(trip).and_then(|trip| timetable.agency_of_route(trip.route));
            sample
                .set_field("agencyId", agency.map(|(_, id)| id))
                .set_field("expectedTrips", tally.expected);
            sample.set_field("tripId", trip.map(|trip| timetable.id_of_trip(trip)));
        });
    }
    for (&route, tally) in routes.iter().filter(|(_, tally)| tally.missing_percent() > MISSING_MAX)
    {
        let agency = timetable.agency_of_route(route);
        if agencies.get(&agency.map(|(code, _)| code)).is_some_and(is_absent) {
            continue;
        }
        out.count_notice_with_sample(&MISSING, |sample| {
            sample.set_field("routeId", timetable.route_id_by_code(route));
            sample.set_field("agencyId", agency.map(|(_, id)| id));
            sample
                .set_field("expectedTrips", tally.expected)
                .set_field("missingTrips", tally.missing);
            sample.set_field("missing", (tally.missing_percent() * 10.0).round() / 10.0);
            let trip = tally.trip.and_then(|at| timetable.trip_by_code(at));
            sample.set_field("tripId", trip.map(|trip| timetable.id_of_trip(trip)));
        });
    }
}

/// Returns true if the schedule matches none of the referenced trips. That is reported elsewhere: trips that run under
/// other ids are not missing.
fn matches_no_trips(rate: ScheduleMatchRate) -> bool {
    rate.matched == 0 && rate.has_enough_ids()
}

/// Returns the trips that started a while ago and will run for a while.
fn trips_expected_now<'a>(
    subject: &'a MessageWithContext<'_>,
) -> impl Iterator<Item = &'a IndexedTrip> {
    let (timetable, now) = (subject.timetable, subject.now);
    subject.service_days_around_now().iter().flat_map(move |&day| {
        let trips = timetable.active_trip_index().trips_running_at(day, now);
        let time = now - day.start;
        trips.filter_map(|at| timetable.trip_by_code(at)).filter(move |trip| {
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
        TripBitSet { words: vec![0; timetable.trip_count().div_ceil(64)] }
    }

    fn insert_trip(&mut self, trip: Option<&IndexedTrip>) {
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

    fn contains_trip(&self, trip: &IndexedTrip) -> bool {
        self.words.get(trip.at as usize / 64).is_some_and(|word| word >> (trip.at % 64) & 1 == 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn missing_matches_are_significant_only_with_enough_trip_ids() {
        let check = |named, matched, is_expected| {
            let rate = ScheduleMatchRate { named, matched };
            assert_eq!(matches_no_trips(rate), is_expected, "{rate:?}");
        };
        check(0, 0, false);
        // Too few ids for a significant rate.
        check(4, 0, false);
        check(5, 0, true);
        check(14, 1, false);
    }
}
