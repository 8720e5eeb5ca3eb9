//! Check of vehicles that would have to run two trips at once.

use std::sync::Arc;

use super::GtfsRule;
use crate::{
    Notices, ValidationContext,
    gtfs::{
        GtfsFeed, GtfsFile, NumberColumn, ReferencedRows, RowsByTextCode, ServiceCalendar,
        ServiceDays, TextColumn, format_gtfs_date,
    },
    notice::{NoticeKind, Severity},
};

pub(super) static RULE: GtfsRule = GtfsRule {
    kinds: &[&KIND],
    files: &[GtfsFile::Trips, GtfsFile::StopTimes, GtfsFile::Calendar, GtfsFile::CalendarDates],
    check: check_block_overlaps,
};

static KIND: NoticeKind = NoticeKind {
    code: "block_trips_with_overlapping_stop_times",
    severity: Severity::Error,
    fields: &[
        ("csvRowNumberA", "The line of the trip that begins first."),
        ("tripIdA", "That trip."),
        ("serviceIdA", "Its service."),
        ("csvRowNumberB", "The line of the trip that begins before the first one ends."),
        ("tripIdB", "That trip."),
        ("serviceIdB", "Its service."),
        ("blockId", "The block of both."),
        ("intersection", "The first day on which both run."),
    ],
    page: include_str!("block_trips_with_overlapping_stop_times.md"),
};

/// The largest number of words of 64 days that are compared in a schedule: about a second.
const WORK_MAX: usize = 1 << 30;
/// The divisor for the share of the remaining work that one block may use. A block in which everything overlaps has
/// nothing new to report, and later blocks get their turn.
const BLOCK_SHARE: usize = 4;

#[derive(Clone, Copy)]
struct BlockTripTimes<'a> {
    /// Arrival and departure at the first and at the last stop, in seconds.
    first: (i32, i32),
    last: (i32, i32),
    row: u32,
    service: ServiceDays<'a>,
}

/// O(trips log trips + pairs of trips of one block and time).
fn check_block_overlaps(feed: &GtfsFeed, _: &ValidationContext, out: &mut Notices) {
    let blocks = feed.rows_grouped_by_field(GtfsFile::Trips, "block_id");
    let mut runs = Vec::new();
    let mut left = WORK_MAX;
    let finder = BlockTripTimesReader::trip_times_reader_of_feed(feed);
    for (_, trips) in blocks.iter().filter(|(_, trips)| trips.len() > 1) {
        runs.clear();
        runs.extend(trips.iter().filter_map(|&row| finder.block_trip_times(row)));
        runs.sort_by_key(|run| (run.first.0, run.last.1));
        let mut budget = left / BLOCK_SHARE;
        left -= budget;
        'block: for (at, one) in runs.iter().enumerate() {
            for other in runs[at + 1..].iter().take_while(|other| other.first.0 < one.last.1) {
                let work =
                    1 + one.service.day_bits_word_count().min(other.service.day_bits_word_count());
                let Some(rest) = budget.checked_sub(work) else {
                    out.mark_total_as_lower_bound(&KIND);
                    break 'block;
                };
                budget = rest;
                // A vehicle that continues as another trip may have the same call in both.
                if one.last == other.first {
                    continue;
                }
                if let Some(day) = one.service.first_common_day(&other.service) {
                    report_overlapping_block_trips(feed, one, other, day, out);
                }
            }
        }
        left += budget;
    }
}

fn report_overlapping_block_trips(
    feed: &GtfsFeed,
    one: &BlockTripTimes<'_>,
    other: &BlockTripTimes<'_>,
    day: i32,
    out: &mut Notices,
) {
    out.count_notice_with_sample(&KIND, |sample| {
        let trips = feed.table(GtfsFile::Trips);
        let (ids, services) = (trips.text_column("trip_id"), trips.text_column("service_id"));
        sample.set_field("csvRowNumberA", trips.line_number(one.row));
        sample
            .set_field("tripIdA", ids.get(one.row))
            .set_field("serviceIdA", services.get(one.row));
        sample.set_field("csvRowNumberB", trips.line_number(other.row));
        sample
            .set_field("tripIdB", ids.get(other.row))
            .set_field("serviceIdB", services.get(other.row));
        sample.set_field("blockId", trips.text_column("block_id").get(one.row));
        sample.set_field("intersection", format_gtfs_date(day));
    });
}

/// The columns from which the times of trips are read.
struct BlockTripTimesReader<'a> {
    services: &'a ServiceCalendar,
    trip_ids: TextColumn<'a>,
    service_ids: TextColumn<'a>,
    stop_time_ids: TextColumn<'a>,
    stop_times: Arc<RowsByTextCode>,
    to_stop_times: Arc<ReferencedRows>,
    arrivals: NumberColumn<'a>,
    departures: NumberColumn<'a>,
}

impl<'a> BlockTripTimesReader<'a> {
    fn trip_times_reader_of_feed(feed: &'a GtfsFeed) -> BlockTripTimesReader<'a> {
        let (trips, stop_times) = (feed.table(GtfsFile::Trips), feed.table(GtfsFile::StopTimes));
        BlockTripTimesReader {
            services: feed.service_calendar(),
            trip_ids: trips.text_column("trip_id"),
            service_ids: trips.text_column("service_id"),
            stop_time_ids: stop_times.text_column("trip_id"),
            stop_times: feed.rows_grouped_by_field(GtfsFile::StopTimes, "trip_id"),
            to_stop_times: feed.rows_referenced_by_field(
                GtfsFile::Trips,
                "trip_id",
                GtfsFile::StopTimes,
                "trip_id",
            ),
            arrivals: stop_times.number_column("arrival_time"),
            departures: stop_times.number_column("departure_time"),
        }
    }

    /// Returns the times of a trip; `None` if the times at its ends are unknown or it has no service.
    fn block_trip_times(&self, row: u32) -> Option<BlockTripTimes<'a>> {
        let service =
            self.services.service_number_for_trips_code(self.service_ids.text_code_of_row(row)?)?;
        let stop_time =
            self.to_stop_times.row_referenced_by_code(self.trip_ids.text_code_of_row(row)?)?;
        let calls =
            self.stop_times.rows_with_text_code(self.stop_time_ids.text_code_of_row(stop_time)?);
        let times = |row: u32| Some((self.arrivals.get(row)?, self.departures.get(row)?));
        Some(BlockTripTimes {
            first: times(*calls.first()?)?,
            last: times(*calls.last()?)?,
            row,
            service: self.services.get(service)?,
        })
    }
}
