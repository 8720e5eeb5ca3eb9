//! Check of schedules in which most trips do not run in the next days.

use super::GtfsRule;
use crate::{
    Notices, ValidationContext,
    gtfs::{GtfsFeed, GtfsFile, ServiceCalendar, day_number_from_date, format_gtfs_date},
    notice::{NoticeKind, Severity},
};

pub(super) static RULE: GtfsRule = GtfsRule {
    kinds: &[&KIND],
    files: &[GtfsFile::Calendar, GtfsFile::CalendarDates, GtfsFile::Trips, GtfsFile::Frequencies],
    check: check_trip_coverage_next_days,
};

static KIND: NoticeKind = NoticeKind {
    code: "trip_coverage_not_active_for_next7_days",
    severity: Severity::Warning,
    fields: &[
        ("currentDate", "Today."),
        ("serviceWindowStartDate", "The first day on which most trips run."),
        ("serviceWindowEndDate", "The last day on which most trips run."),
    ],
    page: include_str!("trip_coverage_not_active_for_next7_days.md"),
};

/// The days from today on which most trips should run.
const DAYS: i32 = 7;
/// The fraction of days that are not exceptionally busy. The days with the most trips are ignored
/// ...
const USUAL_PART: f64 = 0.9;
/// ... but no more days than this, or a few trips over many years would hide the others.
const BUSIEST_DAYS_MAX: usize = 30;
/// The fraction of a usual busy day's trips from which most trips run on a day.
const MAJORITY: f64 = 0.75;

/// O(trips + days of the services).
fn check_trip_coverage_next_days(feed: &GtfsFeed, context: &ValidationContext, out: &mut Notices) {
    let services = feed.service_calendar();
    let counts = count_trips_per_day(services, &count_trips_per_service(feed, services));
    let Some((start, end)) = period_with_most_trips(&counts) else { return };
    let today = day_number_from_date(context.today);
    if start > today || end < today + DAYS {
        out.count_notice_with_sample(&KIND, |sample| {
            sample.set_field("currentDate", format_gtfs_date(today));
            sample.set_field("serviceWindowStartDate", format_gtfs_date(start));
            sample.set_field("serviceWindowEndDate", format_gtfs_date(end));
        });
    }
}

/// Returns the number of trips of each service per day; `None` if no trip has it.
fn count_trips_per_service(feed: &GtfsFeed, services: &ServiceCalendar) -> Vec<Option<i64>> {
    let trips = feed.table(GtfsFile::Trips);
    let (ids, service_ids) = (trips.text_column("trip_id"), trips.text_column("service_id"));
    let frequencies = feed.table(GtfsFile::Frequencies);
    let repeated = feed.rows_grouped_by_field(GtfsFile::Frequencies, "trip_id");
    let to_repeated =
        feed.rows_referenced_by_field(GtfsFile::Trips, "trip_id", GtfsFile::Frequencies, "trip_id");
    let repeated_ids = frequencies.text_column("trip_id");
    let (starts, ends) =
        (frequencies.number_column("start_time"), frequencies.number_column("end_time"));
    let headways = frequencies.number_column("headway_secs");
    let runs = |row: u32| {
        let span = i64::from(ends.cell_value_or(row, 0)) - i64::from(starts.cell_value_or(row, 0));
        match i64::from(headways.cell_value_or(row, 0)) {
            headway @ 1.. => 1 + (span - 1) / headway,
            _ => 1,
        }
    };
    let mut counts = vec![None; services.len()];
    for row in trips.row_numbers() {
        let service = service_ids
            .text_code_of_row(row)
            .and_then(|code| services.service_number_for_trips_code(code));
        let Some(service) = service else { continue };
        let first =
            ids.text_code_of_row(row).and_then(|code| to_repeated.row_referenced_by_code(code));
        let rows = first
            .and_then(|row| repeated_ids.text_code_of_row(row))
            .map(|code| repeated.rows_with_text_code(code));
        let n_runs = rows.map_or(1, |rows| rows.iter().map(|&row| runs(row)).sum());
        *counts[service as usize].get_or_insert(0) += n_runs;
    }
    counts
}

/// Returns the days with trips, in order, each with its number of trips.
fn count_trips_per_day(services: &ServiceCalendar, trips: &[Option<i64>]) -> Vec<(i32, i64)> {
    let with_trips =
        || services.iter().zip(trips).filter_map(|(service, trips)| Some((service, (*trips)?)));
    let first = with_trips().filter_map(|(service, _)| service.first_day()).min();
    let last = with_trips().filter_map(|(service, _)| service.last_day()).max();
    let (Some(first), Some(last)) = (first, last) else { return Vec::new() };
    let mut counts = vec![None; (last - first + 1) as usize];
    for (service, trips) in with_trips() {
        for day in service.active_days() {
            *counts[(day - first) as usize].get_or_insert(0) += trips;
        }
    }
    (first..).zip(counts).filter_map(|(day, trips)| Some((day, trips?))).collect()
}

/// Returns the first and the last day on which most trips run.
fn period_with_most_trips(counts: &[(i32, i64)]) -> Option<(i32, i32)> {
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
