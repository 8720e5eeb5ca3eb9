//! An index of the trips of a schedule that run at a moment, and of their service days.

use jiff::{ToSpan as _, tz::TimeZone};

use super::schedule_index::{IndexedTrip, NONE, random_hash_seed};
use crate::gtfs::{DistinctTexts, GtfsFeed, GtfsFile, WEEK, date_from_day_number};

/// Days in one word of a service's bit set.
const WORD: i32 = 64;
/// The largest number of words of all services together: 32 MiB. Trips of services beyond it are not checked by their
/// days.
const WORDS_MAX: usize = 1 << 22;
/// Trips per block; a block records the latest end of its trips. With 64, a million trips are skipped with sixteen
/// thousand comparisons.
const TRIPS_PER_BLOCK: usize = 64;
/// Seconds of a day.
const DAY_S: i64 = 86_400;

/// The trips of a schedule by the time at which they run, and the days of their services.
///
/// Trips with frequencies are left out, because a moment does not identify one of their runs.
#[derive(Debug, Default)]
pub(super) struct ActiveTripIndex {
    /// The zone of the first agency that has one, as all agencies share one zone. Without a zone, no service days are
    /// known.
    zone: Option<TimeZone>,
    services: Vec<ServiceDayRange>,
    words: Vec<u64>,
    /// The trips, ordered by their start.
    spans: Vec<TripTimeSpan>,
    /// The latest end of each block of trips.
    ends: Vec<i32>,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct ServiceDay {
    /// Days since 1970-01-01.
    pub(super) number: i32,
    /// The start of the service day, in seconds since 1970: twelve hours before noon.
    pub(super) start: i64,
}

/// The days of a service: the number of its first word, and the range of its words.
#[derive(Clone, Copy, Debug)]
struct ServiceDayRange {
    first: i32,
    start: usize,
    end: usize,
    is_whole: bool,
}

#[derive(Clone, Copy, Debug)]
struct TripTimeSpan {
    start: i32,
    end: i32,
    trip: u32,
    service: u32,
}

/// Returns the number of the service of each code of `service_id` in `trips.txt`. A service that has a row with
/// unreadable days has no number.
pub(super) fn service_numbers_by_code(feed: &GtfsFeed) -> Vec<u32> {
    let (ids, services) =
        (feed.table(GtfsFile::Trips).text_column("service_id"), feed.service_calendar());
    let unread = services_with_unreadable_days(feed);
    let service_of = |code| {
        let service = services.service_number_for_trips_code(code).unwrap_or(NONE);
        if unread.find_text_code(ids.text_of_code(code)).is_some() { NONE } else { service }
    };
    (0..ids.text_code_count() as u32).map(service_of).collect()
}

/// Returns the services that have a row with unreadable days.
fn services_with_unreadable_days(feed: &GtfsFeed) -> DistinctTexts {
    let mut unread = DistinctTexts::new(random_hash_seed());
    let (dates, calendar) = (["date", "exception_type"], ["start_date", "end_date"]);
    let calendar: Vec<&str> = calendar.into_iter().chain(WEEK).collect();
    for (file, fields) in
        [(GtfsFile::Calendar, &calendar[..]), (GtfsFile::CalendarDates, &dates[..])]
    {
        let table = feed.table(file);
        let ids = table.text_column("service_id");
        let fields: Vec<_> = fields.iter().map(|field| table.number_column(field)).collect();
        for row in table.row_numbers() {
            if fields.iter().any(|field| field.get(row).is_none())
                && let Some(id) = ids.get(row)
            {
                unread.intern_text(id);
            }
        }
    }
    unread
}

impl ActiveTripIndex {
    /// Builds the index. O(n log n) in the trips.
    pub(super) fn new(feed: &GtfsFeed, trips: &[IndexedTrip]) -> ActiveTripIndex {
        let agencies = feed.table(GtfsFile::Agency);
        let zones = agencies.text_column("agency_timezone");
        let mut running = ActiveTripIndex {
            zone: agencies.row_numbers().find_map(|row| TimeZone::get(zones.get(row)?).ok()),
            ..ActiveTripIndex::default()
        };
        for service in feed.service_calendar().iter() {
            let (first, words) = service.active_day_bits();
            let start = running.words.len();
            let is_whole = words.len() <= WORDS_MAX - start;
            running.words.extend_from_slice(if is_whole { words } else { &[] });
            let end = running.words.len();
            running.services.push(ServiceDayRange { first, start, end, is_whole });
        }
        running.words.shrink_to_fit();
        let spans = trips.iter().filter(|trip| !trip.is_frequent && trip.service != NONE);
        let spans = spans.filter_map(|trip| {
            let (start, end) = (trip.start?, trip.end?);
            Some(TripTimeSpan { start, end, trip: trip.at, service: trip.service })
        });
        running.spans = spans.collect();
        running.spans.sort_unstable_by_key(|span| (span.start, span.trip));
        let blocks = running.spans.chunks(TRIPS_PER_BLOCK);
        let latest =
            |block: &[TripTimeSpan]| block.iter().map(|span| span.end).max().unwrap_or(i32::MIN);
        running.ends = blocks.map(latest).collect();
        running
    }

    /// Returns the service days around a moment: the day before, the current day, and the day after. Empty if the zone
    /// is unknown.
    pub(super) fn service_days_around(&self, now: i64) -> Vec<ServiceDay> {
        let today = self.zone.as_ref().and_then(|zone| {
            let zoned = jiff::Timestamp::from_second(now).ok()?.to_zoned(zone.clone());
            Some(crate::gtfs::day_number_from_date(zoned.date()))
        });
        let days = today.into_iter().flat_map(|today| today - 1..=today + 1);
        days.filter_map(|number| self.service_day(number)).collect()
    }

    pub(super) fn service_day(&self, number: i32) -> Option<ServiceDay> {
        let noon =
            date_from_day_number(number).at(12, 0, 0, 0).to_zoned(self.zone.clone()?).ok()?;
        let start = noon.checked_sub(12.hours()).ok()?.timestamp().as_second();
        Some(ServiceDay { number, start })
    }

    /// Returns true if a service (by its number) runs on a day. `None` if unknown.
    pub(super) fn does_service_run_on(&self, service: u32, day: i32) -> Option<bool> {
        let days = self.services.get(service as usize).filter(|days| days.is_whole)?;
        let words = self.words.get(days.start..days.end)?;
        let at = usize::try_from(day.div_euclid(WORD) - days.first).ok();
        let word = at.and_then(|at| words.get(at)).copied().unwrap_or_default();
        Some(word >> day.rem_euclid(WORD) & 1 == 1)
    }

    /// Returns the codes of the trips that run at a moment of a service day. O(trips / 64), and O(64) for each block
    /// that may have one.
    pub(super) fn trips_running_at(&self, day: ServiceDay, now: i64) -> impl Iterator<Item = u32> {
        // No trip runs for longer than a hundred days.
        let time = i32::try_from((now - day.start).clamp(-100 * DAY_S, 100 * DAY_S)).unwrap_or(0);
        let begun = self.spans.partition_point(|span| span.start <= time);
        let blocks = self.spans[..begun].chunks(TRIPS_PER_BLOCK).zip(&self.ends);
        let blocks = blocks.filter(move |(_, end)| **end >= time);
        let spans = blocks.flat_map(|(spans, _)| spans).filter(move |span| span.end >= time);
        spans
            .filter(move |span| self.does_service_run_on(span.service, day.number) == Some(true))
            .map(|span| span.trip)
    }
}
