//! The number of trips on each service day of a timetable, for calendars.

use jiff::{ToSpan as _, civil::Date};
use lineside_formats::gtfs::Timetable;

/// Years before and after a day that are counted: some calendars cover centuries.
const YEARS: i16 = 20;

/// The number of trips on each day from the first to the last service day of a timetable.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DailyTripCounts {
    first: Date,
    trips: Vec<u64>,
}

/// Consecutive days of a [`DailyTripCounts`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DailyTripCountsRange<'a> {
    pub first: Date,
    /// The number of trips on each day, for at least one day.
    pub trips: &'a [u64],
}

impl DailyTripCounts {
    /// Computes the calendar of a timetable, at most 40 years of it; `None` if no service ever runs. The calendar
    /// includes `around`, or the service day nearest to it.
    pub fn from_timetable(timetable: &Timetable, around: Date) -> Option<DailyTripCounts> {
        let (first, last) = timetable.service_date_range()?;
        let around = around.clamp(first, last);
        let first = first.max(around.saturating_sub(YEARS.years()));
        let last = last.min(around.saturating_add(YEARS.years()));
        Some(DailyTripCounts { first, trips: timetable.count_trips_by_day(first, last) })
    }

    /// Returns the last day.
    pub fn last_day(&self) -> Date {
        day_after(self.first, self.trips.len().saturating_sub(1))
    }

    /// Returns at most twelve whole months: beginning with the month of `today`, or with the first month of a later
    /// timetable, or ending with the last month of an expired one.
    pub fn twelve_months_around(&self, today: Date) -> Option<DailyTripCountsRange<'_>> {
        let last = self.last_day();
        let start = if last < today {
            last.first_of_month().saturating_sub(11.months())
        } else {
            today.first_of_month()
        };
        let start = start.max(self.first);
        let end = start.first_of_month().saturating_add(11.months()).last_of_month().min(last);
        let (from, until) = (days_between(self.first, start), days_between(self.first, end));
        let trips = self.trips.get(from..=until)?;
        Some(DailyTripCountsRange { first: start, trips })
    }
}

impl<'a> DailyTripCountsRange<'a> {
    /// Iterates over the days with their numbers of trips.
    pub fn iter(self) -> impl Iterator<Item = (Date, u64)> + 'a {
        self.first.series(1.day()).zip(self.trips.iter().copied())
    }
}

fn days_between(first: Date, day: Date) -> usize {
    usize::try_from((day - first).get_days()).unwrap_or(0)
}

fn day_after(first: Date, days: usize) -> Date {
    first.saturating_add(i64::try_from(days).unwrap_or(0).days())
}

#[cfg(test)]
mod tests {
    use jiff::civil::date;

    use super::*;

    /// Returns a calendar with one trip on the first of each month.
    fn calendar(first: Date, last: Date) -> DailyTripCounts {
        let days = first.series(1.day()).take_while(|day| *day <= last);
        let trips = days.map(|day| u64::from(day.day() == 1)).collect();
        DailyTripCounts { first, trips }
    }

    fn bounds(calendar: &DailyTripCounts, today: Date) -> (Date, Date) {
        let year = calendar.twelve_months_around(today).unwrap();
        assert!(year.iter().all(|(day, trips)| trips == u64::from(day.day() == 1)));
        (year.first, year.iter().last().unwrap().0)
    }

    #[test]
    fn the_year_begins_with_the_current_month() {
        let years = calendar(date(2024, 5, 10), date(2028, 2, 3));
        assert_eq!(bounds(&years, date(2026, 11, 27)), (date(2026, 11, 1), date(2027, 10, 31)));
        assert_eq!(bounds(&years, date(2024, 5, 31)), (date(2024, 5, 10), date(2025, 4, 30)));
        assert_eq!(bounds(&years, date(2028, 2, 3)), (date(2028, 2, 1), date(2028, 2, 3)));
    }

    #[test]
    fn a_past_or_future_timetable_shows_its_last_or_first_year() {
        let years = calendar(date(2007, 5, 10), date(2010, 12, 31));
        assert_eq!(bounds(&years, date(2026, 11, 27)), (date(2010, 1, 1), date(2010, 12, 31)));
        assert_eq!(bounds(&years, date(2001, 1, 1)), (date(2007, 5, 10), date(2008, 4, 30)));
    }

    #[test]
    fn a_calendar_of_centuries_is_limited_around_today() {
        let timetable = lineside_testkit::TestSchedule::new("UTC")
            .stop("A", "A", 48.8, 2.3)
            .service("s", "1111100", ["19000101", "29991231"])
            .trip("T", "A 08:00")
            .timetable();
        let today = date(2026, 11, 27);
        let found = DailyTripCounts::from_timetable(&timetable, today).unwrap();
        assert_eq!((found.first, found.last_day()), (date(2006, 11, 27), date(2046, 11, 27)));
        let week: Vec<u64> = found.twelve_months_around(today).unwrap().trips[..7].to_vec();
        assert_eq!(week, [0, 1, 1, 1, 1, 1, 0], "1 November 2026 is a Sunday");
    }
}
