//! The city's clock and calendar, mapped to real time.
//!
//! The simulation starts at about 07:30, with the timetable of a working day. Feeds contain real instants and the
//! schedule must agree with them in any GTFS reader, so the difference between the wall clock and 07:30 is split: the
//! agency's time zone absorbs whole hours (a named zone without daylight saving time, so that noon minus 12 hours is
//! always midnight), and all times of the timetable are shifted by whole minutes for the rest, at most half an hour.
//! Local times shown at the start are therefore between 07:00 and 08:00. If the start is on a Saturday or Sunday, the
//! city's week is rotated so that the day is a Monday: the calendar then lists the working-day service on those days.
//! Nothing here changes after the start, so it is valid across midnight in any zone and for the whole calendar.

use jiff::civil::{Date, Weekday};
use jiff::{Timestamp, ToSpan as _};
use lineside_sync::UnixMillis;

/// The start of the simulated day, in seconds after the city's midnight.
pub(crate) const START_OF_DAY: i32 = 7 * HOUR + HOUR / 2;
pub(crate) const HOUR: i32 = 3_600;
const DAY: i64 = 86_400;
/// The days of the calendar before and after the first day.
const DAYS_BEFORE: i64 = 7;
const DAYS_AFTER: i64 = 150;

/// A zone without daylight saving time for each whole hour from 11 behind UTC to 12 ahead.
const ZONES: [&str; 24] = [
    "Pacific/Pago_Pago",
    "Pacific/Honolulu",
    "Pacific/Gambier",
    "Pacific/Pitcairn",
    "America/Phoenix",
    "America/Costa_Rica",
    "America/Panama",
    "America/Puerto_Rico",
    "America/Sao_Paulo",
    "America/Noronha",
    "Atlantic/Cape_Verde",
    "Etc/UTC",
    "Africa/Lagos",
    "Africa/Johannesburg",
    "Africa/Nairobi",
    "Asia/Dubai",
    "Asia/Karachi",
    "Asia/Dhaka",
    "Asia/Bangkok",
    "Asia/Singapore",
    "Asia/Tokyo",
    "Australia/Brisbane",
    "Pacific/Guadalcanal",
    "Pacific/Tarawa",
];
/// The number of zones behind UTC.
const ZONES_WEST: i64 = 11;

/// A service date, counted from the day of the start.
pub(crate) type ServiceDayNumber = i32;

#[derive(Clone, Debug)]
pub(crate) struct CityTime {
    start: UnixMillis,
    /// The hours by which local time is ahead of UTC.
    offset_hours: i64,
    /// The seconds from a time of the city's timetable to the time in the feed; whole minutes.
    shift: i32,
    first_date: Date,
    /// Local midnight of the first date, in Unix seconds.
    first_midnight: i64,
    /// The days by which the city's week is ahead of the real one.
    week_turn: i8,
}

impl CityTime {
    /// Creates the time of a city in which `start` is 07:30.
    pub(crate) fn with_start(start: UnixMillis) -> Self {
        let start_seconds = start.unix_seconds();
        let wanted = i64::from(START_OF_DAY);
        let hour = i64::from(HOUR);
        let ahead = (wanted - start_seconds).rem_euclid(DAY);
        // -11..=12, the offsets of ZONES.
        let offset_hours = ((ahead + hour / 2) / hour + 11) % 24 - ZONES_WEST;
        let local = start_seconds + offset_hours * hour;
        let midnight_days = (local - wanted + hour).div_euclid(DAY);
        let late = local - midnight_days * DAY - wanted;
        let shift = late.div_euclid(60) * 60;
        let first_date = date_from_epoch_days(midnight_days);
        let week_turn = match first_date.weekday() {
            Weekday::Saturday => 2,
            Weekday::Sunday => 1,
            _ => 0,
        };
        Self {
            start,
            offset_hours,
            shift: shift as i32,
            first_date,
            first_midnight: midnight_days * DAY - offset_hours * hour,
            week_turn,
        }
    }

    pub(crate) fn start_instant(&self) -> UnixMillis {
        self.start
    }

    /// Returns the IANA name of the agency's time zone.
    pub(crate) fn time_zone(&self) -> &'static str {
        let at = usize::try_from(self.offset_hours + ZONES_WEST).unwrap_or_default();
        ZONES.get(at).copied().unwrap_or("Etc/UTC")
    }

    /// Returns the instant of a timetable time on a day, in Unix seconds.
    pub(crate) fn instant_on_day(&self, day: ServiceDayNumber, seconds: f64) -> f64 {
        (self.first_midnight + i64::from(day) * DAY + i64::from(self.shift)) as f64 + seconds
    }

    /// Returns the timetable time of an instant (Unix seconds) relative to a day; beyond 24 hours on later days.
    pub(crate) fn seconds_of_day(&self, day: ServiceDayNumber, instant: f64) -> f64 {
        instant - self.instant_on_day(day, 0.0)
    }

    /// Returns the day whose timetable midnight is the last one before an instant.
    pub(crate) fn service_day_at(&self, instant: i64) -> ServiceDayNumber {
        (instant - self.first_midnight - i64::from(self.shift)).div_euclid(DAY) as ServiceDayNumber
    }

    /// Returns a time of the city's timetable as written in the feed, in seconds after noon minus 12 hours.
    pub(crate) fn to_feed_time(&self, seconds: i32) -> i32 {
        seconds + self.shift
    }

    pub(crate) fn calendar_date(&self, day: ServiceDayNumber) -> Date {
        self.first_date.saturating_add(i64::from(day).days())
    }

    /// Returns the city's weekday, which is the real one unless the start was on a weekend.
    pub(crate) fn city_weekday(&self, day: ServiceDayNumber) -> Weekday {
        self.calendar_date(day).weekday().wrapping_add(self.week_turn)
    }

    /// Returns the city's weekday on dates that are a real `weekday`.
    pub(crate) fn city_weekday_for_real(&self, weekday: Weekday) -> Weekday {
        weekday.wrapping_add(self.week_turn)
    }

    /// Returns the first and last day of the calendar.
    pub(crate) fn calendar_day_range(&self) -> (ServiceDayNumber, ServiceDayNumber) {
        (-DAYS_BEFORE as ServiceDayNumber, DAYS_AFTER as ServiceDayNumber)
    }
}

fn date_from_epoch_days(days: i64) -> Date {
    let noon = Timestamp::from_second(days.saturating_mul(DAY).saturating_add(DAY / 2))
        .unwrap_or_default();
    jiff::tz::TimeZone::UTC.to_datetime(noon).date()
}

/// Formats a date as `20261121`.
pub(crate) fn format_compact_date(date: Date) -> String {
    format!("{:04}{:02}{:02}", date.year(), date.month(), date.day())
}

/// Formats a time as `25:07:30`.
pub(crate) fn format_clock_time(seconds: i32) -> String {
    format!("{:02}:{:02}:{:02}", seconds / HOUR, seconds / 60 % 60, seconds % 60)
}

#[cfg(test)]
mod tests {
    use jiff::tz::TimeZone;

    use super::*;

    fn check(start: &str) -> CityTime {
        let start: Timestamp = start.parse().unwrap();
        let time = CityTime::with_start(UnixMillis(start.as_millisecond()));
        let zone = TimeZone::get(time.time_zone()).unwrap();
        let local = zone.to_datetime(start);
        assert_eq!(local.date(), time.calendar_date(0), "{start}: {local}");
        let minutes = local.hour() as i32 * 60 + i32::from(local.minute());
        assert!((7 * 60..=8 * 60).contains(&minutes), "{start}: {local}");
        // The arithmetic of a GTFS reader: noon of the date in the zone, minus 12 hours, plus the feed's time.
        let noon =
            time.calendar_date(0).at(12, 0, 0, 0).to_zoned(zone).unwrap().timestamp().as_second();
        let read = noon - 12 * 3_600 + i64::from(time.to_feed_time(START_OF_DAY));
        assert!((0..60).contains(&(start.as_second() - read)), "{start}");
        assert_eq!(time.instant_on_day(0, f64::from(START_OF_DAY)) as i64, read);
        assert_eq!(time.service_day_at(start.as_second()), 0);
        assert!(
            (time.seconds_of_day(0, start.as_second() as f64) - f64::from(START_OF_DAY)).abs()
                < 60.0
        );
        let weekday = time.city_weekday(0);
        assert!(!matches!(weekday, Weekday::Saturday | Weekday::Sunday), "{start}: {weekday:?}");
        time
    }

    #[test]
    fn any_start_is_half_past_seven_on_a_working_day() {
        let mut start: Timestamp = "2026-11-20T00:00:00Z".parse().unwrap();
        for _ in 0..500 {
            check(&start.to_string());
            start += 97.minutes().seconds(13);
        }
    }

    #[test]
    fn a_start_at_half_past_seven_utc_needs_no_shift() {
        let time = check("2026-11-18T07:30:00Z");
        assert_eq!((time.time_zone(), time.shift), ("Etc/UTC", 0));
        assert_eq!(time.city_weekday(0), Weekday::Wednesday);
    }

    #[test]
    fn a_weekend_start_rotates_the_week() {
        let time = check("2026-11-21T14:00:00Z");
        assert_eq!(time.calendar_date(0).weekday(), Weekday::Saturday);
        assert_eq!(time.city_weekday(0), Weekday::Monday);
        assert_eq!(time.city_weekday_for_real(Weekday::Saturday), Weekday::Monday);
        assert_eq!(time.city_weekday(5), Weekday::Saturday);
    }

    #[test]
    fn the_service_day_advances_with_the_hours() {
        let time = check("2026-11-18T23:55:00Z");
        let later = time.instant_on_day(0, 0.0) + 25.5 * 3_600.0;
        assert_eq!(time.service_day_at(later as i64), 1);
        assert_eq!(time.seconds_of_day(0, later), 25.5 * 3_600.0);
        assert_eq!(time.seconds_of_day(1, later), 1.5 * 3_600.0);
    }
}
