//! Vehicles that would have to be on two trips at once.

use std::sync::Arc;

use super::GtfsRule;
use crate::{
    Context, Notices,
    gtfs::{Feed, File, Groups, Link, Numbers, Service, Services, Texts, date_text},
    notice::{Kind, Severity},
};

pub(super) static RULE: GtfsRule = GtfsRule {
    kinds: &[&KIND],
    files: &[File::Trips, File::StopTimes, File::Calendar, File::CalendarDates],
    check,
};

static KIND: Kind = Kind {
    code: "block_trips_with_overlapping_stop_times",
    severity: Severity::Error,
    fields: &[
        ("csvRowNumberA", "The line of the trip that begins first."),
        ("tripIdA", "That trip."),
        ("serviceIdA", "Its service."),
        ("csvRowNumberB", "The line of the trip that begins before that one ends."),
        ("tripIdB", "That trip."),
        ("serviceIdB", "Its service."),
        ("blockId", "The block of both."),
        ("intersection", "The first day on which both run."),
    ],
    page: include_str!("block_trips_with_overlapping_stop_times.md"),
};

/// How much is compared in a schedule, in words of 64 days: about a second.
const WORK_MAX: usize = 1 << 30;
/// The part of what is left of that which one block may use: one that is used for everything has nothing new to say, and the
/// blocks after it have their turn.
const BLOCK_SHARE: usize = 4;

/// A trip in its block.
#[derive(Clone, Copy)]
struct Run<'a> {
    /// Arrival and departure at the first and at the last stop, in seconds.
    first: (i32, i32),
    last: (i32, i32),
    row: u32,
    service: Service<'a>,
}

/// O(trips log trips + pairs of trips of one block and time).
fn check(feed: &Feed, _: &Context, out: &mut Notices) {
    let blocks = feed.groups(File::Trips, "block_id");
    let mut runs = Vec::new();
    let mut left = WORK_MAX;
    let finder = RunFinder::of(feed);
    for (_, trips) in blocks.iter().filter(|(_, trips)| trips.len() > 1) {
        runs.clear();
        runs.extend(trips.iter().filter_map(|&row| finder.run(row)));
        runs.sort_by_key(|run| (run.first.0, run.last.1));
        let mut budget = left / BLOCK_SHARE;
        left -= budget;
        'block: for (at, one) in runs.iter().enumerate() {
            for other in runs[at + 1..].iter().take_while(|other| other.first.0 < one.last.1) {
                let work = 1 + one.service.n_words().min(other.service.n_words());
                let Some(rest) = budget.checked_sub(work) else {
                    out.leave_off(&KIND);
                    break 'block;
                };
                budget = rest;
                // Where a vehicle goes on as another trip, both may have the same call.
                if one.last == other.first {
                    continue;
                }
                if let Some(day) = one.service.first_common_day(&other.service) {
                    say(feed, one, other, day, out);
                }
            }
        }
        left += budget;
    }
}

fn say(feed: &Feed, one: &Run<'_>, other: &Run<'_>, day: i32, out: &mut Notices) {
    out.add(&KIND, |sample| {
        let trips = feed.table(File::Trips);
        let (ids, services) = (trips.texts("trip_id"), trips.texts("service_id"));
        sample.put("csvRowNumberA", trips.line(one.row));
        sample.put("tripIdA", ids.get(one.row)).put("serviceIdA", services.get(one.row));
        sample.put("csvRowNumberB", trips.line(other.row));
        sample.put("tripIdB", ids.get(other.row)).put("serviceIdB", services.get(other.row));
        sample.put("blockId", trips.texts("block_id").get(one.row));
        sample.put("intersection", date_text(day));
    });
}

/// What tells when trips run.
struct RunFinder<'a> {
    services: &'a Services,
    trip_ids: Texts<'a>,
    service_ids: Texts<'a>,
    stop_time_ids: Texts<'a>,
    stop_times: Arc<Groups>,
    to_stop_times: Arc<Link>,
    arrivals: Numbers<'a>,
    departures: Numbers<'a>,
}

impl<'a> RunFinder<'a> {
    fn of(feed: &'a Feed) -> RunFinder<'a> {
        let (trips, stop_times) = (feed.table(File::Trips), feed.table(File::StopTimes));
        RunFinder {
            services: feed.services(),
            trip_ids: trips.texts("trip_id"),
            service_ids: trips.texts("service_id"),
            stop_time_ids: stop_times.texts("trip_id"),
            stop_times: feed.groups(File::StopTimes, "trip_id"),
            to_stop_times: feed.link(File::Trips, "trip_id", File::StopTimes, "trip_id"),
            arrivals: stop_times.numbers("arrival_time"),
            departures: stop_times.numbers("departure_time"),
        }
    }

    /// When a trip runs; `None` if the times at its ends are not known or it has no service.
    fn run(&self, row: u32) -> Option<Run<'a>> {
        let service = self.services.of_trips(self.service_ids.code(row)?)?;
        let stop_time = self.to_stop_times.row(self.trip_ids.code(row)?)?;
        let calls = self.stop_times.rows(self.stop_time_ids.code(stop_time)?);
        let times = |row: u32| Some((self.arrivals.get(row)?, self.departures.get(row)?));
        Some(Run {
            first: times(*calls.first()?)?,
            last: times(*calls.last()?)?,
            row,
            service: self.services.get(service)?,
        })
    }
}
