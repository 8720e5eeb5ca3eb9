//! Schedules whose bulk of trips does not run this week, whatever single trips do.

use super::GtfsRule;
use crate::{
    Context, Notices,
    gtfs::{Feed, File, Services, date_text, day_of},
    notice::{Kind, Severity},
};

pub(super) static RULE: GtfsRule = GtfsRule {
    kinds: &[&KIND],
    files: &[File::Calendar, File::CalendarDates, File::Trips, File::Frequencies],
    check,
};

static KIND: Kind = Kind {
    code: "trip_coverage_not_active_for_next7_days",
    severity: Severity::Warning,
    fields: &[
        ("currentDate", "Today."),
        ("serviceWindowStartDate", "The first day on which most trips run."),
        ("serviceWindowEndDate", "The last day on which most trips run."),
    ],
    page: include_str!("trip_coverage_not_active_for_next7_days.md"),
};

/// How many days from today on the bulk of the trips should run.
const DAYS: i32 = 7;
/// The days with the most trips are passed over, as they may be out of the ordinary: those beyond
/// this part of all days...
const USUAL_PART: f64 = 0.9;
/// ... but no more days than this, or a few trips of many years would hide the others.
const BUSIEST_DAYS_MAX: usize = 30;
/// The part of a usual busy day's trips that makes a day one on which most trips run.
const MAJORITY: f64 = 0.75;

/// O(trips + days of the services).
fn check(feed: &Feed, context: &Context, out: &mut Notices) {
    let services = feed.services();
    let counts = trips_of_days(services, &trips_of_services(feed, services));
    let Some((start, end)) = majority(&counts) else { return };
    let today = day_of(context.today);
    if start > today || end < today + DAYS {
        out.add(&KIND, |sample| {
            sample.put("currentDate", date_text(today));
            sample.put("serviceWindowStartDate", date_text(start));
            sample.put("serviceWindowEndDate", date_text(end));
        });
    }
}

/// The trips of each service on a day on which it runs; `None` where no trip has it.
fn trips_of_services(feed: &Feed, services: &Services) -> Vec<Option<i64>> {
    let trips = feed.table(File::Trips);
    let (ids, service_ids) = (trips.texts("trip_id"), trips.texts("service_id"));
    let frequencies = feed.table(File::Frequencies);
    let repeated = feed.groups(File::Frequencies, "trip_id");
    let to_repeated = feed.link(File::Trips, "trip_id", File::Frequencies, "trip_id");
    let repeated_ids = frequencies.texts("trip_id");
    let (starts, ends) = (frequencies.numbers("start_time"), frequencies.numbers("end_time"));
    let headways = frequencies.numbers("headway_secs");
    let runs = |row: u32| {
        let span = i64::from(ends.get_or(row, 0)) - i64::from(starts.get_or(row, 0));
        match i64::from(headways.get_or(row, 0)) {
            headway @ 1.. => 1 + (span - 1) / headway,
            _ => 1,
        }
    };
    let mut counts = vec![None; services.len()];
    for row in trips.rows() {
        let service = service_ids.code(row).and_then(|code| services.of_trips(code));
        let Some(service) = service else { continue };
        let first = ids.code(row).and_then(|code| to_repeated.row(code));
        let rows = first.and_then(|row| repeated_ids.code(row)).map(|code| repeated.rows(code));
        let n_runs = rows.map_or(1, |rows| rows.iter().map(|&row| runs(row)).sum());
        *counts[service as usize].get_or_insert(0) += n_runs;
    }
    counts
}

/// The days on which any trip runs, in their order, each with its trips.
fn trips_of_days(services: &Services, trips: &[Option<i64>]) -> Vec<(i32, i64)> {
    let with_trips =
        || services.iter().zip(trips).filter_map(|(service, trips)| Some((service, (*trips)?)));
    let first = with_trips().filter_map(|(service, _)| service.first_day()).min();
    let last = with_trips().filter_map(|(service, _)| service.last_day()).max();
    let (Some(first), Some(last)) = (first, last) else { return Vec::new() };
    let mut counts = vec![None; (last - first + 1) as usize];
    for (service, trips) in with_trips() {
        for day in service.days() {
            *counts[(day - first) as usize].get_or_insert(0) += trips;
        }
    }
    (first..).zip(counts).filter_map(|(day, trips)| Some((day, trips?))).collect()
}

/// The first and the last day on which most trips run.
fn majority(counts: &[(i32, i64)]) -> Option<(i32, i32)> {
    let mut sorted: Vec<i64> = counts.iter().map(|(_, trips)| *trips).collect();
    sorted.sort_unstable();
    let part = (sorted.len() as f64 * USUAL_PART) as usize;
    let usual = *sorted.get(part.max(sorted.len().saturating_sub(BUSIEST_DAYS_MAX)))?;
    let enough = (MAJORITY * usual as f64) as i64;
    let mut busy = counts.iter().filter(|(_, trips)| *trips >= enough).map(|(day, _)| *day);
    match busy.next() {
        Some(first) => Some((first, busy.next_back().unwrap_or(first))),
        None => Some((counts.first()?.0, counts.last()?.0)),
    }
}
