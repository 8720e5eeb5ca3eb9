//! Times and durations of XML Schema.

use std::{fmt, num::NonZeroI64};

use jiff::{SignedDuration, Timestamp, civil::date, tz::TimeZone};

use crate::xsd_duration;

/// A time with milliseconds, in 8 bytes even if optional. The offset in which it was written is not stored.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SiriTime(NonZeroI64);

/// The offset of the stored value from the milliseconds since 1970, which makes it nonzero from the year 1 on.
const BIAS: i64 = 70_000_000_000_000;

/// A text parsed as a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ParsedTime {
    /// A time with an offset from UTC.
    Exact(SiriTime),
    /// A time without an offset, which depends on the zone.
    Local(SiriTime),
    /// Not a time.
    Invalid,
}

impl SiriTime {
    /// Converts milliseconds since 1970 in UTC; `None` outside the years 1 to 9999.
    pub fn from_millis(millis: i64) -> Option<SiriTime> {
        let in_range = (-62_135_596_800_000..=253_402_300_799_999).contains(&millis);
        if in_range { NonZeroI64::new(millis + BIAS).map(SiriTime) } else { None }
    }

    /// Returns milliseconds since 1970 in UTC.
    pub fn as_millis(self) -> i64 {
        self.0.get() - BIAS
    }

    /// Returns whole seconds since 1970 in UTC.
    pub fn as_seconds(self) -> i64 {
        self.as_millis().div_euclid(1_000)
    }

    /// Parses `2026-11-21T20:25:00.5+01:00` and its variants: any number of fractional digits, `Z`, an offset without
    /// colon, a space for the `T`.
    #[inline]
    pub(crate) fn parse_lenient(text: &str) -> ParsedTime {
        parse_time_bytes(text.as_bytes()).unwrap_or(ParsedTime::Invalid)
    }

    /// Parses a time that has an offset.
    pub fn parse_with_offset(text: &str) -> Option<SiriTime> {
        match SiriTime::parse_lenient(text) {
            ParsedTime::Exact(time) => Some(time),
            ParsedTime::Local(_) | ParsedTime::Invalid => None,
        }
    }

    /// Returns the time at which a clock in `zone` shows the time of this one in UTC; the earlier one if there are two.
    pub(crate) fn reinterpret_as_local_time(self, zone: &TimeZone) -> Option<SiriTime> {
        let shown = self.to_timestamp()?.to_zoned(TimeZone::UTC).datetime();
        let moment = zone.to_ambiguous_timestamp(shown).compatible().ok()?;
        SiriTime::from_millis(moment.as_millisecond())
    }

    fn to_timestamp(self) -> Option<Timestamp> {
        Timestamp::from_millisecond(self.as_millis()).ok()
    }
}

impl fmt::Display for SiriTime {
    /// Formats the time in UTC, such as `2026-11-21T19:25:00.5Z`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.to_timestamp() {
            Some(timestamp) => timestamp.fmt(f),
            // jiff does not cover the last hours of the year 9999, and producers write 9999-12-31 for "forever".
            None => {
                let since = SignedDuration::from_millis(self.as_millis());
                let moment = date(1970, 1, 1).at(0, 0, 0, 0).saturating_add(since);
                write!(f, "{moment}Z")
            }
        }
    }
}

impl fmt::Debug for SiriTime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

fn parse_time_bytes(text: &[u8]) -> Option<ParsedTime> {
    let (date_time, rest) = text.split_first_chunk::<19>()?;
    let &[
        y1,
        y2,
        y3,
        y4,
        b'-',
        m1,
        m2,
        b'-',
        d1,
        d2,
        b'T' | b't' | b' ',
        h1,
        h2,
        b':',
        n1,
        n2,
        b':',
        s1,
        s2,
    ] = date_time
    else {
        return None;
    };
    let year = i64::from(parse_two_digits(y1, y2)?) * 100 + i64::from(parse_two_digits(y3, y4)?);
    let (month, day) = (parse_two_digits(m1, m2)?, parse_two_digits(d1, d2)?);
    let (hour, minute, second) =
        (parse_two_digits(h1, h2)?, parse_two_digits(n1, n2)?, parse_two_digits(s1, s2)?);
    let is_time = hour < 24 || (hour == 24 && minute == 0 && second == 0);
    // 60 is a leap second.
    if !is_time || minute > 59 || second > 60 || day == 0 || day > days_in_month(year, month)? {
        return None;
    }
    let (millis, rest) = parse_fraction(rest)?;
    let seconds = i64::from(hour) * 3_600 + i64::from(minute) * 60 + i64::from(second);
    let shown = (days_since_1970(year, month, day) * 86_400 + seconds) * 1_000 + millis;
    match parse_utc_offset(rest)? {
        Some(offset) => {
            SiriTime::from_millis(shown - i64::from(offset) * 60_000).map(ParsedTime::Exact)
        }
        None => SiriTime::from_millis(shown).map(ParsedTime::Local),
    }
}

/// Parses the milliseconds, and returns them with the rest.
fn parse_fraction(rest: &[u8]) -> Option<(i64, &[u8])> {
    let Some((b'.' | b',', after)) = rest.split_first() else { return Some((0, rest)) };
    let n = after.iter().take_while(|byte| byte.is_ascii_digit()).count();
    if n == 0 {
        return None;
    }
    let (digits, rest) = after.split_at(n);
    let digit = |i: usize| digits.get(i).map_or(0, |byte| i64::from(byte - b'0'));
    Some((digit(0) * 100 + digit(1) * 10 + digit(2), rest))
}

/// Parses the offset in minutes east of UTC; `Some(None)` if there is none.
fn parse_utc_offset(rest: &[u8]) -> Option<Option<i32>> {
    let (sign, hours, minutes) = match *rest {
        [] => return Some(None),
        [b'Z' | b'z'] => return Some(Some(0)),
        [sign, h1, h2, b':', m1, m2] | [sign, h1, h2, m1, m2] => {
            (sign, parse_two_digits(h1, h2)?, parse_two_digits(m1, m2)?)
        }
        [sign, h1, h2] => (sign, parse_two_digits(h1, h2)?, 0),
        _ => return None,
    };
    let minutes = i32::from(hours) * 60 + i32::from(minutes);
    match sign {
        b'+' if minutes <= OFFSET_MINUTES_MAX => Some(Some(minutes)),
        b'-' if minutes <= OFFSET_MINUTES_MAX => Some(Some(-minutes)),
        _ => None,
    }
}

/// Largest offset in XML Schema.
const OFFSET_MINUTES_MAX: i32 = 14 * 60;

#[inline]
fn parse_two_digits(tens: u8, ones: u8) -> Option<u8> {
    let (tens, ones) = (tens.wrapping_sub(b'0'), ones.wrapping_sub(b'0'));
    if tens < 10 && ones < 10 { Some(tens * 10 + ones) } else { None }
}

fn days_in_month(year: i64, month: u8) -> Option<u8> {
    let is_leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    match month {
        4 | 6 | 9 | 11 => Some(30),
        2 => Some(if is_leap { 29 } else { 28 }),
        1..=12 => Some(31),
        _ => None,
    }
}

/// Years count from March, so the leap day is the last of its year; every five months have 153 days.
fn days_since_1970(year: i64, month: u8, day: u8) -> i64 {
    let month = i64::from(month);
    let (year, month) = if month > 2 { (year, month - 3) } else { (year - 1, month + 9) };
    let days_before = year * 365 + year.div_euclid(4) - year.div_euclid(100) + year.div_euclid(400);
    days_before + (month * 153 + 2) / 5 + i64::from(day) - 719_469
}

/// A duration in whole seconds; negative means early.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct DurationSeconds(pub i32);

impl DurationSeconds {
    /// Parses `PT1M30S` or `-PT30S`. A month counts as 30 days and a year as 365: only heartbeats have such durations.
    pub fn parse(text: &str) -> Option<DurationSeconds> {
        xsd_duration::parse_duration_seconds(text).map(DurationSeconds)
    }
}

impl fmt::Display for DurationSeconds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sign = if self.0 < 0 { "-" } else { "" };
        write!(f, "{sign}PT{}S", self.0.unsigned_abs())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn check(text: &str, expected: &str) {
        let found = match SiriTime::parse_lenient(text) {
            ParsedTime::Exact(time) => time.to_string(),
            ParsedTime::Local(time) => format!("local {time}"),
            ParsedTime::Invalid => "invalid".to_owned(),
        };
        assert_eq!(found, expected, "{text}");
    }

    #[test]
    fn times_are_read_in_the_notations_that_producers_use() {
        check("2026-11-21T20:25:00+01:00", "2026-11-21T19:25:00Z");
        check("2018-08-28T09:08:35.867+02:00", "2018-08-28T07:08:35.867Z");
        check("2022-08-22T08:07:35.864742884+02:00", "2022-08-22T06:07:35.864Z");
        check("2004-12-17T09:30:47-05:00", "2004-12-17T14:30:47Z");
        check("2023-06-02T11:16:11.127Z", "2023-06-02T11:16:11.127Z");
        check("2023-06-02t11:16:11,5z", "2023-06-02T11:16:11.5Z");
        check("2023-06-02 11:16:11+0200", "2023-06-02T09:16:11Z");
        check("2023-06-02T11:16:11+02", "2023-06-02T09:16:11Z");
        check("2024-02-29T24:00:00Z", "2024-03-01T00:00:00Z");
        check("2016-12-31T23:59:60Z", "2017-01-01T00:00:00Z");
        check("2023-06-02T11:16:11", "local 2023-06-02T11:16:11Z");
        assert_eq!(SiriTime::parse_with_offset("2023-06-02T11:16:11"), None);
        assert!(SiriTime::parse_with_offset("2023-06-02T11:16:11Z").is_some());
        check("2023-06-02T11:16:11.25", "local 2023-06-02T11:16:11.25Z");
    }

    #[test]
    fn invalid_times_are_refused() {
        for text in [
            "",
            "soon",
            "2023-06-02",
            "22022-10-07T08:00:00+02:00",
            "2023-02-29T00:00:00Z",
            "2023-13-01T00:00:00Z",
            "2023-00-01T00:00:00Z",
            "2023-01-00T00:00:00Z",
            "2023-01-01T24:00:01Z",
            "2023-01-01T00:60:00Z",
            "2023-01-01T00:00:61Z",
            "2023-01-01T00:00:00.Z",
            "2023-01-01T00:00:00+15:00",
            "2023-01-01T00:00:00+1:00",
            "2023-01-01T00:00:00Zulu",
            "0000-01-01T00:00:00Z",
            "zzzz-01-01T00:00:00Z",
            "2023-01-01T~~:00:00Z",
            "2023-01-01T00:00:00+zz:00",
            "2023-01-01T00:00:0üZ",
        ] {
            check(text, "invalid");
        }
    }

    #[test]
    fn a_time_without_zone_is_local_time() {
        let oslo = TimeZone::get("Europe/Oslo").unwrap();
        let local = |text: &str| match SiriTime::parse_lenient(text) {
            ParsedTime::Local(time) => time.reinterpret_as_local_time(&oslo).unwrap().to_string(),
            other => panic!("{other:?}"),
        };
        assert_eq!(local("2026-07-01T12:00:00"), "2026-07-01T10:00:00Z");
        assert_eq!(local("2026-12-01T12:00:00"), "2026-12-01T11:00:00Z");
        // The repeated hour, and the skipped hour.
        assert_eq!(local("2026-10-25T02:30:00"), "2026-10-25T00:30:00Z");
        assert_eq!(local("2026-03-29T02:30:00"), "2026-03-29T01:30:00Z");
    }

    #[test]
    fn durations_are_parsed_to_whole_seconds() {
        let check = |text: &str, expected: Option<i32>| {
            assert_eq!(DurationSeconds::parse(text), expected.map(DurationSeconds), "{text}");
        };
        check("PT0S", Some(0));
        check("PT1M30S", Some(90));
        check("-PT2M", Some(-120));
        check("P1DT1H", Some(90_000));
        check("PT30.9S", Some(30));
        check("P1Y2M3DT10H30M", Some(365 * 86_400 + 63 * 86_400 + 37_800));
        check("P2W", Some(1_209_600));
        for text in [
            "",
            "P",
            "PT",
            "90",
            "1M",
            "PT1X",
            "PTS",
            "PT-3S",
            "P99999Y",
            "PT1M2",
            "P1H",
            "P9999999999999999D",
            "P100000000000000DT9000000000000000000S",
        ] {
            check(text, None);
        }
    }

    #[test]
    fn the_first_and_last_representable_times_round_trip() {
        for (text, written) in [
            ("9999-12-31T23:59:59.9999999+01:00", "9999-12-31T22:59:59.999Z"),
            ("9999-12-31T23:59:59Z", "9999-12-31T23:59:59Z"),
            ("0001-01-01T00:00:00Z", "0001-01-01T00:00:00Z"),
        ] {
            let time = SiriTime::parse_with_offset(text).unwrap();
            assert_eq!(time.to_string(), written);
            assert_eq!(SiriTime::parse_with_offset(written), Some(time));
        }
    }

    #[test]
    fn an_optional_time_has_eight_bytes() {
        assert_eq!(size_of::<Option<SiriTime>>(), 8);
    }

    proptest! {
        #[test]
        fn every_time_round_trips(millis in -62_135_596_800_000_i64..=253_402_300_799_999) {
            let time = SiriTime::from_millis(millis).unwrap();
            prop_assert_eq!(time.as_millis(), millis);
            prop_assert_eq!(SiriTime::parse_lenient(&time.to_string()), ParsedTime::Exact(time));
        }

        #[test]
        fn times_are_parsed_like_the_time_library(millis in 0_i64..4_102_444_800_000, offset in -14 * 60..=14 * 60) {
            let (sign, minutes) = (if offset < 0 { '-' } else { '+' }, i32::abs(offset));
            let shown = Timestamp::from_millisecond(millis).unwrap().to_zoned(TimeZone::UTC).datetime();
            let text = format!("{shown}{sign}{:02}:{:02}", minutes / 60, minutes % 60);
            let expected: Timestamp = text.parse().unwrap();
            prop_assert_eq!(SiriTime::parse_lenient(&text), ParsedTime::Exact(SiriTime::from_millis(expected.as_millisecond()).unwrap()));
        }

        #[test]
        fn parsing_any_text_as_a_time_does_not_panic(
            text: String,
            near in "[0-9z]{4}-[0-9~]{2}-[0-9 ]{2}[T ][0-9:]{8}[.,+Z0-9z:]{0,9}",
            span in "-?P[0-9]{0,20}[YMWD]?T?[0-9.]{0,20}[HMS]?",
        ) {
            for text in [text, near, span] {
                SiriTime::parse_lenient(&text);
                DurationSeconds::parse(&text);
            }
        }

        #[test]
        fn every_duration_round_trips(seconds: i32) {
            prop_assert_eq!(DurationSeconds::parse(&DurationSeconds(seconds).to_string()), Some(DurationSeconds(seconds)));
        }
    }
}
