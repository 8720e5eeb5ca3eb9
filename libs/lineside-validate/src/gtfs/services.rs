//! The days of services: a bit for each day of each service, computed at first use.

use super::{GtfsFeed, GtfsFile};

/// A missing service.
const NONE: u32 = u32::MAX;
/// Days per word.
const WORD: i32 = 64;
/// The largest span of a service from its first day, in words: 359 years. Later days are ignored: they only mean that
/// the service has no end.
const SPAN_WORDS_MAX: u32 = 2_048;
/// The largest number of words of all services together: 128 MiB. Days beyond it are ignored.
const WORDS_MAX: usize = 1 << 24;

/// The services of a schedule with their days, from `calendar.txt` and `calendar_dates.txt`.
///
/// If a service has several rows in `calendar.txt`, the last one counts. A period that ends before it begins is its
/// first day. A day that is both added and removed is removed.
#[derive(Debug)]
pub struct ServiceCalendar {
    spans: Vec<ServiceDayBits>,
    words: Vec<u64>,
    of_calendar: Vec<u32>,
    of_trips: Vec<u32>,
    has_backward_period: bool,
}

#[derive(Debug)]
struct ServiceDayBits {
    calendar_row: Option<u32>,
    dates_row: Option<u32>,
    /// Days since 1970-01-01, divided by 64.
    first_word: i32,
    start: usize,
    end: usize,
}

/// The days of a service.
#[derive(Clone, Copy, Debug)]
pub struct ServiceDays<'a> {
    span: &'a ServiceDayBits,
    words: &'a [u64],
}

impl ServiceCalendar {
    /// Returns all services: those of `calendar.txt`, then those that only `calendar_dates.txt` has.
    pub fn iter(&self) -> impl Iterator<Item = ServiceDays<'_>> {
        self.spans.iter().map(|span| self.service_days_of_bits(span))
    }

    /// Returns the number of services.
    pub fn len(&self) -> usize {
        self.spans.len()
    }

    /// Returns true if there are no services.
    pub fn is_empty(&self) -> bool {
        self.spans.is_empty()
    }

    /// Returns true if a period of `calendar.txt` ends before it begins: other days were meant, so the first and last
    /// day of service are unknown.
    pub fn has_backward_period(&self) -> bool {
        self.has_backward_period
    }

    /// Returns a service by its number, from 0.
    pub fn get(&self, at: u32) -> Option<ServiceDays<'_>> {
        self.spans.get(at as usize).map(|span| self.service_days_of_bits(span))
    }

    /// Returns the number of the service of a `service_id` (by its code) in `trips.txt`.
    pub fn service_number_for_trips_code(&self, code: u32) -> Option<u32> {
        self.of_trips.get(code as usize).copied().filter(|&at| at != NONE)
    }

    /// Returns the service of a `service_id` (by its code) in `calendar.txt`.
    pub fn service_for_calendar_code(&self, code: u32) -> Option<ServiceDays<'_>> {
        self.get(*self.of_calendar.get(code as usize)?)
    }

    fn service_days_of_bits<'a>(&'a self, span: &'a ServiceDayBits) -> ServiceDays<'a> {
        ServiceDays { span, words: &self.words[span.start..span.end] }
    }
}

impl ServiceDays<'_> {
    /// Returns its (first) row in `calendar.txt`.
    pub fn calendar_row(&self) -> Option<u32> {
        self.span.calendar_row
    }

    /// Returns its first row in `calendar_dates.txt`.
    pub fn calendar_dates_row(&self) -> Option<u32> {
        self.span.dates_row
    }

    /// Returns the days of service, in order: days since 1970-01-01.
    pub fn active_days(&self) -> impl Iterator<Item = i32> {
        self.words
            .iter()
            .zip(self.span.first_word..)
            .flat_map(|(&word, at)| days_of_bit_word(word, at))
    }

    /// Returns the first day of service, if any.
    pub fn first_day(&self) -> Option<i32> {
        self.active_days().next()
    }

    /// Returns the last day of service, if any.
    pub fn last_day(&self) -> Option<i32> {
        let (back, word) = self.words.iter().rev().enumerate().find(|(_, word)| **word != 0)?;
        let at = self.span.first_word + (self.words.len() - 1 - back) as i32;
        Some(at * WORD + WORD - 1 - word.leading_zeros() as i32)
    }

    /// Returns the days of service as bits, 64 to a word, and the number of the first word: days since 1970-01-01,
    /// divided by 64.
    pub(crate) fn active_day_bits(&self) -> (i32, &[u64]) {
        (self.span.first_word, self.words)
    }

    /// Returns the number of words of 64 days that the service spans.
    pub fn day_bits_word_count(&self) -> usize {
        self.words.len()
    }

    /// Returns the first day on which both services run, if any. O(words of the common span).
    pub fn first_common_day(&self, other: &ServiceDays<'_>) -> Option<i32> {
        let begin = self.span.first_word.max(other.span.first_word);
        let mine = self.words.get((begin - self.span.first_word) as usize..)?;
        let others = other.words.get((begin - other.span.first_word) as usize..)?;
        let mut words = mine.iter().zip(others).zip(begin..);
        words.find_map(|((mine, others), at)| days_of_bit_word(mine & others, at).next())
    }
}

fn days_of_bit_word(mut word: u64, at: i32) -> impl Iterator<Item = i32> {
    std::iter::from_fn(move || {
        let bit = word.trailing_zeros() as i32;
        if bit == WORD {
            return None;
        }
        word &= word - 1;
        Some(at * WORD + bit)
    })
}

/// A row of `calendar.txt`: the first and last day, and a bit for each day of the week from Monday.
type CalendarPeriod = (i32, i32, u8);

/// The fields of the days of the week, from Monday.
pub(crate) const WEEK: [&str; 7] =
    ["monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"];

impl GtfsFeed {
    /// Returns the services with their days. O(rows of the calendars + days / 64) at the first call.
    pub fn service_calendar(&self) -> &ServiceCalendar {
        self.services.get_or_init(|| self.build_service_calendar())
    }

    fn build_service_calendar(&self) -> ServiceCalendar {
        let id = "service_id";
        let (calendar, dates) =
            (self.table(GtfsFile::Calendar), self.table(GtfsFile::CalendarDates));
        let (calendar_ids, dates_ids) = (calendar.text_column(id), dates.text_column(id));
        let exceptions = self.rows_grouped_by_field(GtfsFile::CalendarDates, id);
        let dates_of =
            self.rows_referenced_by_field(GtfsFile::Calendar, id, GtfsFile::CalendarDates, id);
        let calendar_of =
            self.rows_referenced_by_field(GtfsFile::CalendarDates, id, GtfsFile::Calendar, id);
        let mut services = ServiceCalendar {
            spans: Vec::new(),
            words: Vec::new(),
            of_calendar: vec![NONE; calendar_ids.text_code_count()],
            of_trips: Vec::new(),
            has_backward_period: self.has_backward_period(),
        };
        let mut of_dates = vec![NONE; dates_ids.text_code_count()];
        for (code, rows) in self.rows_grouped_by_field(GtfsFile::Calendar, id).iter() {
            services.of_calendar[code as usize] = services.spans.len() as u32;
            let dates_code = dates_of
                .row_referenced_by_code(code)
                .and_then(|row| dates_ids.text_code_of_row(row));
            let exceptions =
                dates_code.map_or(&[][..], |code| exceptions.rows_with_text_code(code));
            let period = rows.last().and_then(|&row| self.calendar_period(row));
            self.add_service_days(&mut services, rows.first().copied(), period, exceptions);
        }
        for (code, rows) in exceptions.iter() {
            if calendar_of.row_referenced_by_code(code).is_none() {
                of_dates[code as usize] = services.spans.len() as u32;
                self.add_service_days(&mut services, None, None, rows);
            }
        }
        services.words.shrink_to_fit();
        let to_calendar =
            self.rows_referenced_by_field(GtfsFile::Trips, id, GtfsFile::Calendar, id);
        let to_dates =
            self.rows_referenced_by_field(GtfsFile::Trips, id, GtfsFile::CalendarDates, id);
        let service_of = |code| {
            let calendar = to_calendar
                .row_referenced_by_code(code)
                .and_then(|row| calendar_ids.text_code_of_row(row));
            let dates = || {
                to_dates
                    .row_referenced_by_code(code)
                    .and_then(|row| dates_ids.text_code_of_row(row))
            };
            match calendar {
                Some(code) => services.of_calendar[code as usize],
                None => dates().map_or(NONE, |code| of_dates[code as usize]),
            }
        };
        let n_codes = self.table(GtfsFile::Trips).text_column(id).text_code_count() as u32;
        services.of_trips = (0..n_codes).map(service_of).collect();
        services
    }

    fn has_backward_period(&self) -> bool {
        let calendar = self.table(GtfsFile::Calendar);
        let (starts, ends) =
            (calendar.number_column("start_date"), calendar.number_column("end_date"));
        calendar.row_numbers().any(|row| ends.get(row) < starts.get(row))
    }

    fn calendar_period(&self, row: u32) -> Option<CalendarPeriod> {
        let calendar = self.table(GtfsFile::Calendar);
        let start = calendar.number_column("start_date").get(row)?;
        let end = calendar.number_column("end_date").get(row)?;
        let runs = |field| calendar.number_column(field).get(row) == Some(1);
        let days = WEEK.iter().enumerate();
        let week =
            days.map(|(at, field)| u8::from(runs(field)) << at).fold(0, |one, day| one | day);
        (week != 0).then_some((start, end.max(start), week))
    }

    fn add_service_days(
        &self,
        services: &mut ServiceCalendar,
        calendar_row: Option<u32>,
        period: Option<CalendarPeriod>,
        exceptions: &[u32],
    ) {
        let table = self.table(GtfsFile::CalendarDates);
        let (dates, types) = (table.number_column("date"), table.number_column("exception_type"));
        let is_added = |row: &u32| types.get(*row) == Some(1);
        let day = |row: &u32| dates.get(*row);
        let added = || exceptions.iter().filter(|row| is_added(row)).filter_map(day);
        let removed = exceptions.iter().filter(|row| !is_added(row)).filter_map(day);
        let ends = period.into_iter().flat_map(|(start, end, _)| [start, end]);
        let (first, last) = ends
            .chain(added())
            .fold((i32::MAX, i32::MIN), |(first, last), day| (first.min(day), last.max(day)));
        let mut first_word = 0;
        let start = services.words.len();
        if first <= last {
            first_word = first.div_euclid(WORD);
            let n_words = (last.div_euclid(WORD) - first_word + 1) as u32;
            let n_words = (n_words.min(SPAN_WORDS_MAX) as usize).min(WORDS_MAX - start);
            services.words.resize(start + n_words, 0);
        }
        let words = &mut services.words[start..];
        if let Some(period) = period {
            set_weekday_bits(words, first_word, period);
        }
        let mut set = |day: i32, runs: bool| {
            let at = usize::try_from(day.div_euclid(WORD) - first_word).ok();
            if let Some(word) = at.and_then(|at| words.get_mut(at)) {
                let bit = 1 << day.rem_euclid(WORD);
                *word = if runs { *word | bit } else { *word & !bit };
            }
        };
        added().for_each(|day| set(day, true));
        removed.for_each(|day| set(day, false));
        let dates_row = exceptions.first().copied();
        let end = services.words.len();
        services.spans.push(ServiceDayBits { calendar_row, dates_row, first_word, start, end });
    }
}

/// Sets the days of a period, a word at a time.
fn set_weekday_bits(words: &mut [u64], first_word: i32, (start, end, week): CalendarPeriod) {
    // Ten weeks contain the 64 days of a word that begins on any day of the week.
    let weeks = (0..10).fold(0_u128, |weeks, n| weeks | u128::from(week) << (7 * n));
    for (word, at) in words.iter_mut().zip(first_word..) {
        let first = at * WORD;
        // 1970-01-01 was a Thursday.
        let weekday = (first + 3).rem_euclid(7);
        let mut days = (weeks >> weekday) as u64;
        if first < start {
            let skipped = start - first;
            days = if skipped < WORD { days >> skipped << skipped } else { 0 };
        }
        if first + WORD - 1 > end {
            let n_days = end - first + 1;
            days = if n_days > 0 { days & ((1 << n_days) - 1) } else { 0 };
        }
        *word |= days;
    }
}

#[cfg(test)]
mod tests {
    use jiff::civil::date;

    use super::*;
    use crate::{
        Notices, ValidationContext,
        gtfs::{InMemoryFiles, date_from_day_number, day_number_from_date, load_schedule},
    };

    const CALENDAR: &str =
        "service_id,monday,tuesday,wednesday,thursday,friday,saturday,sunday,start_date,end_date\n";
    const DATES: &str = "service_id,date,exception_type\n";

    fn feed(calendar: &str, dates: &str) -> GtfsFeed {
        let source = InMemoryFiles::default()
            .with_file("calendar.txt", format!("{CALENDAR}{calendar}"))
            .with_file("calendar_dates.txt", format!("{DATES}{dates}"));
        let context = ValidationContext { today: date(2026, 1, 1), country: None, threads: 1 };
        load_schedule(&source, &context, &mut Notices::new(0)).unwrap()
    }

    fn days(service: &ServiceDays<'_>) -> Vec<String> {
        service.active_days().map(|day| date_from_day_number(day).to_string()).collect()
    }

    #[test]
    fn weekly_services_equal_a_day_by_day_expansion() {
        for length in [0, 1, 6, 62, 63, 64, 65, 400] {
            for shift in 0..70 {
                let start = day_number_from_date(date(2025, 11, 3)) + shift;
                let end = start + length;
                let text = |day: i32| date_from_day_number(day).strftime("%Y%m%d").to_string();
                let row = format!("W,1,0,0,1,0,0,1,{},{}\n", text(start), text(end));
                let feed = feed(&row, "");
                let service = feed.service_calendar().get(0).unwrap();
                let runs = |day: &i32| {
                    matches!(date_from_day_number(*day).weekday().to_monday_one_offset(), 1 | 4 | 7)
                };
                let expected: Vec<i32> = (start..=end).filter(runs).collect();
                assert_eq!(service.active_days().collect::<Vec<_>>(), expected, "{row}");
                assert_eq!(service.first_day(), expected.first().copied(), "{row}");
                assert_eq!(service.last_day(), expected.last().copied(), "{row}");
            }
        }
    }

    #[test]
    fn exceptions_may_lie_outside_the_period_and_removal_wins() {
        let feed = feed(
            "W,1,1,1,1,1,1,1,20260301,20260303\n",
            "W,20250101,1\nW,20260302,2\nW,20270101,1\nW,20260303,1\nW,20260303,2\nV,20270101,1\n",
        );
        let services = feed.service_calendar();
        let (one, other) = (services.get(0).unwrap(), services.get(1).unwrap());
        assert_eq!(days(&one), ["2025-01-01", "2026-03-01", "2027-01-01"]);
        assert_eq!(one.first_common_day(&other), Some(day_number_from_date(date(2027, 1, 1))));
        assert_eq!(other.first_common_day(&one), Some(day_number_from_date(date(2027, 1, 1))));
        assert_eq!((one.calendar_row(), one.calendar_dates_row()), (Some(0), Some(0)));
        assert_eq!((other.calendar_row(), other.calendar_dates_row()), (None, Some(5)));
    }

    #[test]
    fn open_ended_services_use_bounded_memory() {
        let feed =
            feed("W,1,1,1,1,1,1,1,20260301,99991231\nV,0,0,0,0,0,0,0,20260301,99991231\n", "");
        let services = feed.service_calendar();
        assert_eq!(services.words.len(), SPAN_WORDS_MAX as usize);
        assert!(services.get(0).unwrap().last_day() > Some(day_number_from_date(date(2300, 1, 1))));
        assert_eq!(services.get(1).unwrap().first_day(), None);
    }
}
