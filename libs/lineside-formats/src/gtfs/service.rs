//! Service days: a time of the schedule counts from *noon minus 12 hours* of its service date in the agency's time
//! zone. That is midnight, except on the two days a year when clocks change, and it keeps times monotonic on these.

use jiff::{Timestamp, civil::Date};

use super::Timetable;

/// Seconds from the zero of a service day to noon.
const HALF_DAY: i64 = 12 * 3_600;
/// Seconds of a day without a clock change.
const DAY: i64 = 24 * 3_600;

impl Timetable {
    /// Returns the Unix time of `seconds` after noon minus 12 h of `date`.
    pub fn service_time_to_unix(&self, date: Date, seconds: i32) -> i64 {
        let noon = date.at(12, 0, 0, 0);
        // Noon exists once in almost every zone; if a zone skips it, the time zone rules give the nearest time. Dates
        // at the edge of the calendar have no timestamp and are counted as UTC.
        let noon = match self.timezone.to_timestamp(noon) {
            Ok(noon) => noon.as_second(),
            Err(_) => i64::from(days_since_epoch(date)) * DAY + HALF_DAY,
        };
        noon - HALF_DAY + i64::from(seconds)
    }

    /// Returns the service dates that may have calls within `from..=until` (Unix seconds), oldest first, each with the
    /// Unix time of its zero.
    pub(crate) fn service_dates_between(&self, from: i64, until: i64) -> Vec<(Date, i64)> {
        let Some((first, last)) = self.service_range else { return Vec::new() };
        let (earliest, latest) = (i64::from(self.day_span.0), i64::from(self.day_span.1));
        // The zero of a day is within a day of local midnight, so one more day on each side is enough.
        let from_date =
            self.local_date_at(from.saturating_sub(latest).saturating_sub(DAY)).max(first);
        let until_date =
            self.local_date_at(until.saturating_sub(earliest).saturating_add(DAY)).min(last);
        let mut dates = Vec::new();
        let mut date = from_date;
        while date <= until_date {
            let zero = self.service_time_to_unix(date, 0);
            if zero + earliest <= until && zero + latest >= from {
                dates.push((date, zero));
            }
            match date.tomorrow() {
                Ok(next) => date = next,
                Err(_) => break,
            }
        }
        dates
    }

    /// Returns the date in the agency's time zone at a Unix time. Times beyond the calendar give its first or last
    /// date.
    pub fn local_date_at(&self, unix: i64) -> Date {
        let clamped = unix.clamp(Timestamp::MIN.as_second(), Timestamp::MAX.as_second());
        let timestamp = Timestamp::from_second(clamped).unwrap_or(Timestamp::UNIX_EPOCH);
        self.timezone.to_datetime(timestamp).date()
    }
}

fn days_since_epoch(date: Date) -> i32 {
    date.duration_since(jiff::civil::date(1970, 1, 1)).as_hours() as i32 / 24
}
