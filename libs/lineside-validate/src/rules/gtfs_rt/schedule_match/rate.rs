//! Checks of the share of a message's ids that the schedule has, and of other versions that match
//! better.

use crate::{
    Notices,
    notice::NoticeKind,
    rules::gtfs_rt::{
        MessageWithContext, OtherScheduleVersion, RealtimeRule, ScheduleMatchRate,
        fields::{new_error_kind, new_warning_kind},
    },
};

pub(super) static RULE: RealtimeRule = RealtimeRule {
    kinds: &[&LOW_RATE, &SKEW],
    on_update: None,
    on_message: Some(check_id_match_rates),
};

static LOW_RATE: NoticeKind = new_error_kind(
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

static SKEW: NoticeKind = new_warning_kind(
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

impl ScheduleMatchRate {
    /// Returns true if enough ids are named for a significant rate.
    pub(super) fn has_enough_ids(self) -> bool {
        self.named >= NAMED_MIN
    }

    /// Returns true if so few of a message's trips match that other versions of the schedule should
    /// be compared.
    pub fn should_try_other_schedules(self) -> bool {
        self.has_enough_ids() && self.matched_percent() < RATE_FINE
    }
}

/// A match rate, and the first id without a match.
#[derive(Default)]
struct IdMatchTally<'a> {
    rate: ScheduleMatchRate,
    example: Option<&'a str>,
}

impl<'a> IdMatchTally<'a> {
    fn count_id_match(&mut self, id: &'a str, is_there: bool) {
        self.rate.named += 1;
        self.rate.matched += u64::from(is_there);
        if !is_there {
            self.example.get_or_insert(id);
        }
    }
}

/// O(entities), and O(entities) for each other version if the rate is low.
fn check_id_match_rates(subject: &MessageWithContext<'_>, out: &mut Notices) {
    let [mut trips, mut routes, mut stops] = [(); 3].map(|()| IdMatchTally::default());
    for run in subject.non_added_trip_references() {
        trips.count_id_match(
            run.descriptor.trip_id.as_deref().unwrap_or_default(),
            run.trip.is_some(),
        );
    }
    let timetable = subject.timetable;
    for run in subject.all_trip_references() {
        let route = run.descriptor.route_id.as_deref().unwrap_or_default();
        let is_own = run.trip.is_some_and(|trip| timetable.route_id_of_trip(trip) == route);
        if !route.is_empty() {
            routes.count_id_match(route, is_own || timetable.has_route(route));
        }
    }
    // The first stop of each trip represents its other stops.
    let firsts = subject.updates.iter().filter_map(|update| update.update.stop_time_update.first());
    let firsts = firsts.filter_map(|stop| stop.stop_id.as_deref());
    let at = subject.vehicles.iter().filter_map(|vehicle| vehicle.position.stop_id.as_deref());
    for stop in firsts.chain(at).filter(|stop| !stop.is_empty()) {
        stops.count_id_match(stop, timetable.stop_code_by_id(stop).is_some());
    }
    let rate = trips.rate;
    for (field, tally) in [("trip_id", trips), ("route_id", routes), ("stop_id", stops)] {
        if tally.rate.named >= NAMED_MIN && tally.rate.matched_percent() < RATE_MIN {
            out.count_notice_with_sample(&LOW_RATE, |sample| {
                sample.set_field("fieldName", field).set_field("named", tally.rate.named);
                sample.set_field("matched", tally.rate.matched);
                sample
                    .set_field("rate", rounded_matched_percent(tally.rate))
                    .set_field("example", tally.example);
            });
        }
    }
    if rate.should_try_other_schedules() {
        check_other_schedule_versions(subject, rate, out);
    }
}

fn check_other_schedule_versions(
    subject: &MessageWithContext<'_>,
    current: ScheduleMatchRate,
    out: &mut Notices,
) {
    let mut best: Option<(ScheduleMatchRate, &OtherScheduleVersion<'_>)> = None;
    for version in subject.versions {
        let ids =
            subject.non_added_trip_references().filter_map(|run| run.descriptor.trip_id.as_deref());
        let matched = ids.filter(|id| version.trips.has_trip_id(id)).count() as u64;
        if best.is_none_or(|(best, _)| matched > best.matched) {
            best = Some((ScheduleMatchRate { matched, ..current }, version));
        }
    }
    let better = best
        .filter(|(rate, _)| rate.matched_percent() >= current.matched_percent() + RATE_GAIN_MIN);
    if let Some((rate, version)) = better {
        out.count_notice_with_sample(&SKEW, |sample| {
            sample
                .set_field("version", version.name)
                .set_field("rate", rounded_matched_percent(rate));
            sample.set_field("currentRate", rounded_matched_percent(current));
        });
    }
}

/// Returns a percentage rounded to one decimal.
fn rounded_matched_percent(rate: ScheduleMatchRate) -> f64 {
    (rate.matched_percent() * 10.0).round() / 10.0
}
