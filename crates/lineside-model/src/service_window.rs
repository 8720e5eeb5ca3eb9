//! The first and last service day of a timetable, relative to the present.

use jiff::{Timestamp, civil::Date, tz::TimeZone};
use lineside_formats::gtfs::Timetable;
use lineside_sync::UnixMillis;

/// Number of days before its end from which a timetable expires soon.
pub const EXPIRES_SOON_DAYS: i64 = 7;

/// The first and last service day of a timetable, in the agency's time zone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServiceDateRange {
    /// The first day on which any service runs.
    pub start: Date,
    /// The last day on which any service runs.
    pub end: Date,
    /// The agency's time zone, in which days begin and end.
    pub zone: TimeZone,
}

/// The end of a timetable's service.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EndOfService {
    pub last_day: Date,
    /// The end of that day in the agency's time zone.
    pub at: UnixMillis,
}

impl ServiceDateRange {
    /// Returns the window of a timetable; `None` if no service ever runs.
    pub fn from_timetable(timetable: &Timetable) -> Option<ServiceDateRange> {
        let (start, end) = timetable.service_date_range()?;
        Some(ServiceDateRange { start, end, zone: timetable.timezone().clone() })
    }

    /// Returns the days from today to the last service day: 0 on that day, negative afterwards. `None` if `now` is out
    /// of the calendar's range.
    pub fn days_until_end(&self, now: UnixMillis) -> Option<i64> {
        Some(i64::from((self.end - self.today(now)?).get_days()))
    }

    /// Returns the days from today to the first service day: 0 on that day and afterwards.
    pub fn days_until_start(&self, now: UnixMillis) -> Option<i64> {
        Some(i64::from((self.start - self.today(now)?).get_days()).max(0))
    }

    /// Returns true if the first service day is in the future.
    pub fn is_not_yet_valid(&self, now: UnixMillis) -> bool {
        self.days_until_start(now).is_some_and(|days| days > 0)
    }

    fn today(&self, now: UnixMillis) -> Option<Date> {
        let at = Timestamp::from_millisecond(now.0).ok()?;
        Some(at.to_zoned(self.zone.clone()).date())
    }

    /// Returns the end of the last service day, which is the start of the next day.
    pub fn end_time(&self) -> Option<UnixMillis> {
        let end = self.end.tomorrow().ok()?.to_zoned(self.zone.clone()).ok()?;
        Some(UnixMillis(end.timestamp().as_millisecond()))
    }

    /// Returns the end of service, if it has passed.
    pub fn end_if_passed(&self, now: UnixMillis) -> Option<EndOfService> {
        let at = self.end_time()?;
        (at <= now).then_some(EndOfService { last_day: self.end, at })
    }

    /// Returns the days left, if the window ends within [`EXPIRES_SOON_DAYS`] and has not ended yet.
    pub fn days_left_if_soon(&self, now: UnixMillis) -> Option<i64> {
        self.days_until_end(now).filter(|days| (0..=EXPIRES_SOON_DAYS).contains(days))
    }
}

#[cfg(test)]
mod tests {
    use jiff::civil::date;

    use super::*;

    #[test]
    fn service_days_begin_and_end_in_the_agency_time_zone() {
        let zone = TimeZone::get("Pacific/Auckland").unwrap();
        let end = date(2024, 6, 1);
        let window = ServiceDateRange { start: date(2024, 1, 1), end, zone };
        let at = |text: &str| UnixMillis(text.parse::<Timestamp>().unwrap().as_millisecond());
        // Auckland is twelve hours ahead in June: its 2 June begins at noon.
        let last_moment = at("2024-06-01T11:59:59Z");
        assert_eq!(window.days_until_end(last_moment), Some(0));
        assert_eq!(
            (window.end_if_passed(last_moment), window.days_left_if_soon(last_moment)),
            (None, Some(0))
        );
        let next_day = at("2024-06-01T12:00:00Z");
        let ended = EndOfService { last_day: end, at: next_day };
        assert_eq!(
            (window.end_if_passed(next_day), window.days_left_if_soon(next_day)),
            (Some(ended), None)
        );
        assert_eq!(window.end_time(), Some(next_day));
        assert_eq!(window.days_left_if_soon(at("2024-05-25T10:00:00Z")), Some(7));
        assert_eq!(window.days_left_if_soon(at("2024-05-24T10:00:00Z")), None);
        assert_eq!(window.days_until_end(UnixMillis(i64::MAX)), None);
        // In its summer, 1 January begins an hour earlier: at 11:00.
        let day_before = at("2023-12-31T10:59:59Z");
        assert_eq!(window.days_until_start(day_before), Some(1));
        assert!(window.is_not_yet_valid(day_before));
        let first_moment = at("2023-12-31T11:00:00Z");
        assert_eq!(window.days_until_start(first_moment), Some(0));
        assert!(!window.is_not_yet_valid(first_moment) && !window.is_not_yet_valid(next_day));
    }
}
