//! Parsing of the times in messages.

/// The earliest time that counts as seconds since 1970: 2005-01-01, before GTFS-Realtime existed.
/// The reference validator has both bounds.
const POSIX_MIN: i64 = 1_104_537_600;
/// The latest time that counts as seconds since 1970: 2033-02-10. Milliseconds are far beyond.
const POSIX_MAX: i64 = 1_991_620_134;

/// Returns true if a time can be in seconds since 1970.
pub(super) fn is_plausible_posix_time(time: i64) -> bool {
    (POSIX_MIN..=POSIX_MAX).contains(&time)
}

/// Returns a timestamp of a message; 0 counts as missing.
pub(super) fn timestamp_unless_zero(time: Option<u64>) -> Option<i64> {
    // Numbers beyond 63 bits turn negative, and no unit makes them valid times.
    time.map(u64::cast_signed).filter(|&time| time != 0)
}

/// Parses a clock time as seconds, if it is written as the schedule's times are compared:
/// `HH:MM:SS`, with two digits for hours below 100.
pub(super) fn parse_clock_time(text: &str) -> Option<i32> {
    let (hours, rest) = text.split_once(':')?;
    let (minutes, seconds) = rest.split_once(':')?;
    let number = |digits: &str| {
        digits.bytes().all(|byte| byte.is_ascii_digit()).then(|| digits.parse::<i32>().ok())?
    };
    let is_plain = hours.len() == 2 || (hours.len() == 3 && !hours.starts_with('0'));
    if !is_plain || minutes.len() != 2 || seconds.len() != 2 {
        return None;
    }
    let (hours, minutes, seconds) = (number(hours)?, number(minutes)?, number(seconds)?);
    (minutes < 60 && seconds < 60).then_some(hours * 3_600 + minutes * 60 + seconds)
}

/// Returns true if a start time has the form `H:MM:SS` or `HH:MM:SS`, with hours below 30.
pub(super) fn is_start_time(text: &str) -> bool {
    let bytes = match text.as_bytes() {
        [b'0'..=b'2', rest @ ..] if rest.len() == 7 => rest,
        bytes => bytes,
    };
    let is_sixty = |tens: u8, ones: u8| (b'0'..=b'5').contains(&tens) && ones.is_ascii_digit();
    match *bytes {
        [hour, b':', m1, m2, b':', s1, s2] => {
            hour.is_ascii_digit() && is_sixty(m1, m2) && is_sixty(s1, s2)
        }
        _ => false,
    }
}

/// Returns true if a start date has the form `YYYYMMDD`, with a month from 1 to 12 and a day from 1
/// to 31.
pub(super) fn is_start_date(text: &str) -> bool {
    if text.len() != 8 || !text.bytes().all(|byte| byte.is_ascii_digit()) {
        return false;
    }
    let number = |digits: Option<&str>| digits.and_then(|digits| digits.parse::<u32>().ok());
    number(text.get(..4)).is_some_and(|year| year > 0)
        && number(text.get(4..6)).is_some_and(|month| (1..=12).contains(&month))
        && number(text.get(6..)).is_some_and(|day| (1..=31).contains(&day))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn start_times_have_five_or_six_digits() {
        for good in ["8:00:00", "08:00:00", "29:59:59", "00:00:00"] {
            assert!(is_start_time(good), "{good}");
        }
        for bad in ["", "30:00:00", "8:60:00", "8:00:60", "08:00", "8:0:00", "08-00-00", "١:00:00"]
        {
            assert!(!is_start_time(bad), "{bad}");
        }
    }

    #[test]
    fn clock_times_are_parsed_strictly() {
        assert_eq!(parse_clock_time("08:00:05"), Some(28_805));
        assert_eq!(parse_clock_time("25:10:00"), Some(90_600));
        for bad in ["8:00:00", "008:00:00", "08:00", "08:60:00", "+8:00:00", ""] {
            assert_eq!(parse_clock_time(bad), None, "{bad}");
        }
    }

    #[test]
    fn start_dates_have_eight_digits() {
        assert!(is_start_date("20260131"));
        for bad in ["2026013", "20261301", "20260132", "2026-1-1", "00000101", "2026010١"] {
            assert!(!is_start_date(bad), "{bad}");
        }
    }
}
