//! Checks of the share of a message's ids that the schedule has, and of other versions that match
//! better.

use crate::{
    Notices,
    notice::NoticeKind,
    rules::gtfs_rt::{
        AlternateSchedule, MatchRate, MessageSubject, RealtimeRule,
        fields::{error_kind, warning_kind},
    },
};

pub(super) static RULE: RealtimeRule = RealtimeRule {
    kinds: &[&LOW_RATE, &SKEW],
    on_update: None,
    on_message: Some(check_match_rates),
};

static LOW_RATE: NoticeKind = error_kind(
    "low_match_rate",
    &[
        ("fieldName", "The kind of ids: `trip_id`, `route_id` or `stop_id`."),
        ("named", "The number of ids in the message."),
        ("matched", "The number of these ids that are in the schedule."),
        ("rate", "The match rate, in percent."),
        ("example", "An id that is not in the schedule."),
    ],
    include_str!("low_match_rate.md"),
);

static SKEW: NoticeKind = warning_kind(
    "schedule_version_skew",
    &[
        ("version", "The version with the highest match rate."),
        ("rate", "The match rate of that version, in percent."),
        ("currentRate", "The match rate of the version in use, in percent."),
    ],
    include_str!("schedule_version_skew.md"),
);

/// The percentage below which the schedule is probably the wrong one.
const RATE_MIN: f64 = 80.0;
/// The percentage from which other versions are not compared.
const RATE_FINE: f64 = 98.0;
/// The percentage points by which another version must be better.
const RATE_GAIN_MIN: f64 = 5.0;
/// The fewest ids for a significant rate.
const NAMED_MIN: u64 = 5;

impl MatchRate {
    /// Returns true if enough ids are named for a significant rate.
    pub(super) fn is_significant(self) -> bool {
        self.named >= NAMED_MIN
    }

    /// Returns true if so few of a message's trips match that other versions of the schedule should
    /// be compared.
    pub fn needs_other_versions(self) -> bool {
        self.is_significant() && self.matched_percent() < RATE_FINE
    }
}

/// A match rate, and the first id without a match.
#[derive(Default)]
struct MatchTally<'a> {
    rate: MatchRate,
    example: Option<&'a str>,
}

impl<'a> MatchTally<'a> {
    fn add_id(&mut self, id: &'a str, is_there: bool) {
        self.rate.named += 1;
        self.rate.matched += u64::from(is_there);
        if !is_there {
            self.example.get_or_insert(id);
        }
    }
}

/// O(entities), and O(entities) for each other version if the rate is low.
fn check_match_rates(subject: &MessageSubject<'_>, out: &mut Notices) {
    let [mut trips, mut routes, mut stops] = [(); 3].map(|()| MatchTally::default());
    for run in subject.scheduled_trip_refs() {
        trips.add_id(run.descriptor.trip_id.as_deref().unwrap_or_default(), run.trip.is_some());
    }
    let timetable = subject.timetable;
    for run in subject.referenced_trips() {
        let route = run.descriptor.route_id.as_deref().unwrap_or_default();
        let is_own = run.trip.is_some_and(|trip| timetable.route_id_of_trip(trip) == route);
        if !route.is_empty() {
            routes.add_id(route, is_own || timetable.has_route(route));
        }
    }
    // The first stop of each trip represents its other stops.
    let firsts = subject.updates.iter().filter_map(|update| update.update.stop_time_update.first());
    let firsts = firsts.filter_map(|stop| stop.stop_id.as_deref());
    let at = subject.vehicles.iter().filter_map(|vehicle| vehicle.position.stop_id.as_deref());
    for stop in firsts.chain(at).filter(|stop| !stop.is_empty()) {
        stops.add_id(stop, timetable.find_stop(stop).is_some());
    }
    let rate = trips.rate;
    for (field, tally) in [("trip_id", trips), ("route_id", routes), ("stop_id", stops)] {
        if tally.rate.named >= NAMED_MIN && tally.rate.matched_percent() < RATE_MIN {
            out.add_notice(&LOW_RATE, |sample| {
                sample.set_field("fieldName", field).set_field("named", tally.rate.named);
                sample.set_field("matched", tally.rate.matched);
                sample
                    .set_field("rate", rounded_percent(tally.rate))
                    .set_field("example", tally.example);
            });
        }
    }
    if rate.needs_other_versions() {
        check_versions(subject, rate, out);
    }
}

fn check_versions(subject: &MessageSubject<'_>, current: MatchRate, out: &mut Notices) {
    let mut best: Option<(MatchRate, &AlternateSchedule<'_>)> = None;
    for version in subject.versions {
        let ids = subject.scheduled_trip_refs().filter_map(|run| run.descriptor.trip_id.as_deref());
        let matched = ids.filter(|id| version.trips.has_trip_id(id)).count() as u64;
        if best.is_none_or(|(best, _)| matched > best.matched) {
            best = Some((MatchRate { matched, ..current }, version));
        }
    }
    let better = best
        .filter(|(rate, _)| rate.matched_percent() >= current.matched_percent() + RATE_GAIN_MIN);
    if let Some((rate, version)) = better {
        out.add_notice(&SKEW, |sample| {
            sample.set_field("version", version.name).set_field("rate", rounded_percent(rate));
            sample.set_field("currentRate", rounded_percent(current));
        });
    }
}

/// Returns a percentage rounded to one decimal.
fn rounded_percent(rate: MatchRate) -> f64 {
    (rate.matched_percent() * 10.0).round() / 10.0
}
