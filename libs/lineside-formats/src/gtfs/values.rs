//! Cells to values: what each kind of field takes, and what is said about the rest.

use jiff::civil::Date;

use super::fields::{Kind, Sign};

/// What is wrong about a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Fault {
    pub(crate) code: &'static str,
    pub(crate) detail: &'static str,
}

const fn fault(code: &'static str, detail: &'static str) -> Fault {
    Fault { code, detail }
}

/// The latest time that is taken, in seconds: 999 hours after the zero of the service day.
pub(crate) const TIME_MAX: i32 = 999 * 3_600;
/// The latest time that is believed without a word: seven days, as the longest train rides on earth take.
const TIME_PLAUSIBLE: i32 = 7 * 24 * 3_600;
/// The years that a schedule of our time speaks about.
const YEARS_PLAUSIBLE: std::ops::RangeInclusive<i16> = 2000..=2099;

const NOT_A_TIME: Fault = fault("invalid_time", "not a time of the form HH:MM:SS");
const TOO_LATE: Fault = fault("invalid_time", "later than 999:00:00, which is left out");
const NOT_A_DATE: Fault = fault("invalid_date", "not a date of the form YYYYMMDD");
const NOT_A_NUMBER: Fault = fault("invalid_float", "not a number");
const NOT_AN_INTEGER: Fault = fault("invalid_integer", "not a whole number");
const OUT_OF_RANGE: Fault = fault("number_out_of_range", "outside the range of its kind");
const NOT_IN_LIST: Fault =
    fault("unexpected_enum_value", "none of the values that the reference lists");
const NOT_A_COLOR: Fault = fault("invalid_color", "not a color of six hexadecimal digits");

/// A time in seconds: hours of one to three digits, so also beyond midnight.
pub(crate) fn time(text: &str) -> Result<i32, Fault> {
    let (hours, minutes, seconds) = match *text.as_bytes() {
        [h1, h2, b':', m1, m2, b':', s1, s2] => (two(h1, h2), two(m1, m2), two(s1, s2)),
        [h, b':', m1, m2, b':', s1, s2] => (two(b'0', h), two(m1, m2), two(s1, s2)),
        [h1, h2, h3, b':', m1, m2, b':', s1, s2] => {
            let hundreds = two(b'0', h1).map(|n| n * 100);
            (hundreds.zip(two(h2, h3)).map(|(a, b)| a + b), two(m1, m2), two(s1, s2))
        }
        _ => return Err(odd_time(text)),
    };
    match (hours, minutes, seconds) {
        (Some(hours), Some(minutes @ 0..60), Some(seconds @ 0..60)) => {
            let time = hours * 3_600 + minutes * 60 + seconds;
            if time <= TIME_MAX { Ok(time) } else { Err(TOO_LATE) }
        }
        _ => Err(NOT_A_TIME),
    }
}

/// What is wrong about a time that no form of one to three hour digits fits.
fn odd_time(text: &str) -> Fault {
    let mut parts = text.split(':');
    let numbers = parts
        .by_ref()
        .take(3)
        .filter(|part| !part.is_empty() && part.bytes().all(|b| b.is_ascii_digit()));
    let hours_digits = text.find(':').unwrap_or(0);
    if numbers.count() == 3 && parts.next().is_none() && hours_digits > 3 {
        TOO_LATE
    } else {
        NOT_A_TIME
    }
}

fn two(tens: u8, ones: u8) -> Option<i32> {
    let (tens, ones) = (tens.wrapping_sub(b'0'), ones.wrapping_sub(b'0'));
    (tens < 10 && ones < 10).then_some(i32::from(tens) * 10 + i32::from(ones))
}

/// What is remarkable about a time that was taken.
pub(crate) fn doubt_time(time: i32) -> Option<Fault> {
    (time > TIME_PLAUSIBLE).then_some(fault(
        "implausible_time",
        "more than seven days after the start of its service day",
    ))
}

/// A date.
pub(crate) fn date(text: &str) -> Result<Date, Fault> {
    let bytes = text.as_bytes();
    if bytes.len() != 8 || !bytes.iter().all(u8::is_ascii_digit) {
        return Err(NOT_A_DATE);
    }
    let number = |range: std::ops::Range<usize>| text[range].parse::<i16>().map_err(|_| NOT_A_DATE);
    let (year, month, day) = (number(0..4)?, number(4..6)?, number(6..8)?);
    Date::new(year, month as i8, day as i8).map_err(|_| NOT_A_DATE)
}

/// What is remarkable about a date that was taken.
pub(crate) fn doubt_date(date: Date) -> Option<Fault> {
    (!YEARS_PLAUSIBLE.contains(&date.year()))
        .then_some(fault("implausible_date", "of another century"))
}

/// A finite decimal number.
pub(crate) fn float(text: &str) -> Result<f64, Fault> {
    // `parse` also takes `inf` and `nan`.
    let number: f64 = text.parse().map_err(|_| NOT_A_NUMBER)?;
    if number.is_finite() { Ok(number) } else { Err(NOT_A_NUMBER) }
}

/// A number of degrees within `±limit`.
pub(crate) fn degrees(text: &str, limit: f64) -> Result<f64, Fault> {
    let number = float(text)?;
    if number.abs() <= limit { Ok(number) } else { Err(OUT_OF_RANGE) }
}

/// A whole number from 0.
pub(crate) fn unsigned(text: &str) -> Result<u32, Fault> {
    let bytes = text.as_bytes();
    // Nine digits always fit; what is longer takes the slow way.
    if (1..=9).contains(&bytes.len()) && bytes.iter().all(u8::is_ascii_digit) {
        return Ok(bytes.iter().fold(0, |number, byte| number * 10 + u32::from(byte - b'0')));
    }
    match integer(text)? {
        number if number < 0 => Err(OUT_OF_RANGE),
        number => u32::try_from(number).map_err(|_| OUT_OF_RANGE),
    }
}

fn integer(text: &str) -> Result<i64, Fault> {
    match text.parse::<i64>() {
        Ok(number) => Ok(number),
        Err(error) => match error.kind() {
            std::num::IntErrorKind::PosOverflow | std::num::IntErrorKind::NegOverflow => {
                Err(OUT_OF_RANGE)
            }
            _ => Err(NOT_AN_INTEGER),
        },
    }
}

/// One of `values`.
pub(crate) fn choice(text: &str, values: &[u16]) -> Result<u16, Fault> {
    let number = match *text.as_bytes() {
        [digit @ b'0'..=b'9'] => u16::from(digit - b'0'),
        _ => u16::try_from(integer(text)?).map_err(|_| NOT_IN_LIST)?,
    };
    if values.contains(&number) { Ok(number) } else { Err(NOT_IN_LIST) }
}

/// A route type: 0 to 7, 11, 12, or one of the extended list's hundreds.
pub(crate) fn route_type(text: &str) -> Result<u16, Fault> {
    match u16::try_from(integer(text)?) {
        Ok(number @ (0..=7 | 11 | 12 | 100..=1702)) => Ok(number),
        _ => Err(NOT_IN_LIST),
    }
}

/// A color of six hexadecimal digits: red, green, blue.
pub(crate) fn color(text: &str) -> Result<[u8; 3], Fault> {
    if text.len() != 6 || !text.bytes().all(|b| b.is_ascii_hexdigit()) {
        return Err(NOT_A_COLOR);
    }
    let part = |at: usize| u8::from_str_radix(&text[at..at + 2], 16).map_err(|_| NOT_A_COLOR);
    Ok([part(0)?, part(2)?, part(4)?])
}

/// Checks a cell that is not empty against its kind.
pub(crate) fn check(kind: Kind, text: &str) -> Result<(), Fault> {
    match kind {
        Kind::Id | Kind::Ref(_) | Kind::Text => Ok(()),
        Kind::Url => {
            holds(is_url(text), fault("invalid_url", "not an absolute http or https address"))
        }
        Kind::Email => holds(is_email(text), fault("invalid_email", "not a mail address")),
        Kind::Phone => {
            holds(is_phone(text), fault("invalid_phone_number", "not a telephone number"))
        }
        Kind::Color => color(text).map(drop),
        Kind::Date => date(text).and_then(|date| doubt_date(date).map_or(Ok(()), Err)),
        Kind::Time => time(text).and_then(|time| doubt_time(time).map_or(Ok(()), Err)),
        Kind::LocalTime => time(text).and_then(|time| holds(time <= 24 * 3_600, NOT_A_TIME)),
        Kind::Latitude => degrees(text, 90.0).map(drop),
        Kind::Longitude => degrees(text, 180.0).map(drop),
        Kind::Float(sign) => check_float(sign, text),
        Kind::Integer(sign) => {
            integer(text).and_then(|number| holds(sign_allows(sign, number as f64), OUT_OF_RANGE))
        }
        Kind::Enum(values) => choice(text, values).map(drop),
        Kind::RouteType => route_type(text).map(drop),
        Kind::Currency => {
            let capitals = text.len() == 3 && text.bytes().all(|b| b.is_ascii_uppercase());
            holds(capitals, fault("invalid_currency", "not a currency of three capital letters"))
        }
        Kind::Amount => float(text).map(drop),
        Kind::Language => {
            holds(is_language(text), fault("invalid_language_code", "not a language tag"))
        }
        Kind::Timezone => {
            let known = jiff::tz::TimeZone::get(text).is_ok();
            holds(known, fault("invalid_timezone", "not a name of the time zone database"))
        }
    }
}

fn check_float(sign: Sign, text: &str) -> Result<(), Fault> {
    // Most cells are digits with at most one point: right for every sign that takes zero, without being parsed.
    let takes_zero = matches!(sign, Sign::Any | Sign::NonNegative);
    let points = text.bytes().filter(|&b| b == b'.').count();
    let digits = text.bytes().filter(u8::is_ascii_digit).count();
    if takes_zero && digits > 0 && points <= 1 && digits + points == text.len() {
        return Ok(());
    }
    float(text).and_then(|number| holds(sign_allows(sign, number), OUT_OF_RANGE))
}

fn sign_allows(sign: Sign, number: f64) -> bool {
    match sign {
        Sign::Any => true,
        Sign::NonNegative => number >= 0.0,
        Sign::Positive => number > 0.0,
        Sign::NonZero => number != 0.0,
    }
}

fn holds(holds: bool, fault: Fault) -> Result<(), Fault> {
    if holds { Ok(()) } else { Err(fault) }
}

fn is_url(text: &str) -> bool {
    let starts =
        |mark: &str| text.get(..mark.len()).is_some_and(|start| start.eq_ignore_ascii_case(mark));
    let host = if starts("http://") {
        &text[7..]
    } else if starts("https://") {
        &text[8..]
    } else {
        return false;
    };
    !host.is_empty()
        && !host.starts_with('/')
        && !text.bytes().any(|b| b.is_ascii_whitespace() || b.is_ascii_control())
}

fn is_email(text: &str) -> bool {
    let Some((name, host)) = text.rsplit_once('@') else { return false };
    let plain = !text.contains(|c: char| c.is_whitespace() || c.is_control());
    plain
        && !name.is_empty()
        && host.contains('.')
        && !host.starts_with('.')
        && !host.ends_with('.')
}

fn is_phone(text: &str) -> bool {
    text.bytes().filter(u8::is_ascii_alphanumeric).count() >= 3
        && text.bytes().any(|b| b.is_ascii_digit())
}

fn is_language(text: &str) -> bool {
    let mut parts = text.split(['-', '_']);
    let first = parts.next().unwrap_or_default();
    (2..=8).contains(&first.len())
        && first.bytes().all(|b| b.is_ascii_alphabetic())
        && parts.all(|part| {
            (1..=8).contains(&part.len()) && part.bytes().all(|b| b.is_ascii_alphanumeric())
        })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn times_are_read() {
        let h = 3_600;
        for (text, expected) in [
            ("00:00:00", Ok(0)),
            ("7:05:09", Ok(7 * h + 309)),
            ("25:10:00", Ok(25 * h + 600)),
            ("200:00:00", Ok(200 * h)),
            ("999:00:00", Ok(TIME_MAX)),
            ("999:00:01", Err(TOO_LATE)),
            ("1000:00:00", Err(TOO_LATE)),
            ("12:60:00", Err(NOT_A_TIME)),
            ("12:00", Err(NOT_A_TIME)),
            ("12:00:00 ", Err(NOT_A_TIME)),
            ("-1:00:00", Err(NOT_A_TIME)),
            ("1/:00:00", Err(NOT_A_TIME)),
            ("::", Err(NOT_A_TIME)),
        ] {
            assert_eq!(time(text), expected, "{text}");
        }
        assert_eq!(doubt_time(time("168:00:00").unwrap()), None);
        assert_eq!(
            doubt_time(time("200:00:00").unwrap()).map(|fault| fault.code),
            Some("implausible_time")
        );
    }

    #[test]
    fn dates_are_read() {
        assert_eq!(date("20240229"), Ok(jiff::civil::date(2024, 2, 29)));
        for text in ["20230229", "2024-02-29", "240229", "", "2024022９"] {
            assert_eq!(date(text), Err(NOT_A_DATE), "{text}");
        }
        assert_eq!(doubt_date(date("20991231").unwrap()), None);
        assert_eq!(
            doubt_date(date("19000101").unwrap()).map(|fault| fault.code),
            Some("implausible_date")
        );
    }

    fn check_kind(kind: Kind, good: &[&str], bad: &[&str]) {
        for text in good {
            assert_eq!(check(kind, text), Ok(()), "{kind:?}: {text}");
        }
        for text in bad {
            assert!(check(kind, text).is_err(), "{kind:?}: {text}");
        }
    }

    #[test]
    fn kinds_take_their_values_only() {
        check_kind(
            Kind::Latitude,
            &["59.9", "-90", "+1", "1e1"],
            &["90.1", "north", "inf", "nan", "1,5", "."],
        );
        check_kind(Kind::Longitude, &["180", "-0.5"], &["181", "1.2.3"]);
        check_kind(
            Kind::Float(Sign::NonNegative),
            &["0", "12.5", ".5", "5."],
            &["-1", ".", "1e999", "x"],
        );
        check_kind(Kind::Float(Sign::Positive), &["0.1"], &["0", "0.0", "-1"]);
        check_kind(
            Kind::Integer(Sign::NonNegative),
            &["0", "42"],
            &["-1", "1.5", "99999999999999999999"],
        );
        check_kind(Kind::Integer(Sign::NonZero), &["-1", "7"], &["0"]);
        check_kind(Kind::Enum(&[0, 1, 2]), &["0", "2", "01"], &["3", "-1", "a", "70000"]);
        check_kind(
            Kind::RouteType,
            &["0", "3", "11", "700", "1702"],
            &["8", "13", "99", "1703", "bus"],
        );
        check_kind(Kind::Color, &["FFFFFF", "00ff7A"], &["#FFFFFF", "FFF", "GGGGGG", "ÿÿÿ"]);
        check_kind(
            Kind::Url,
            &["https://a.example/x?y=ü", "HTTP://a"],
            &["a.example", "ftp://a", "https://", "http://a b"],
        );
        check_kind(Kind::Email, &["a@b.example"], &["a", "@b.example", "a@b", "a b@c.d"]);
        check_kind(Kind::Phone, &["+47 22 33 44", "(503) 238-RIDE"], &["phone", "1"]);
        check_kind(
            Kind::Language,
            &["en", "nb-NO", "mul", "zh-Hant-TW"],
            &["e", "english!", "en-"],
        );
        check_kind(Kind::Currency, &["NOK"], &["nok", "€", "EURO"]);
        check_kind(Kind::Timezone, &["Europe/Oslo", "UTC"], &["Europe/Olso", "../etc/passwd"]);
        check_kind(Kind::LocalTime, &["24:00:00"], &["24:00:01"]);
        check_kind(Kind::Amount, &["3.50", "-1"], &["3,50"]);
    }

    #[test]
    fn whole_numbers_are_read() {
        assert_eq!(unsigned("0"), Ok(0));
        assert_eq!(unsigned("4294967295"), Ok(u32::MAX));
        assert_eq!(unsigned("4294967296"), Err(OUT_OF_RANGE));
        assert_eq!(unsigned("-1"), Err(OUT_OF_RANGE));
        assert_eq!(unsigned("1.0"), Err(NOT_AN_INTEGER));
        assert_eq!(unsigned(""), Err(NOT_AN_INTEGER));
    }

    proptest! {
        #[test]
        fn any_text_is_checked_against_any_kind(text in "\\PC{0,12}") {
            for file in super::super::fields::FILES {
                for field in file.fields {
                    let _ = check(field.kind, &text);
                }
            }
        }

        #[test]
        fn written_times_are_read_back(seconds in 0..=TIME_MAX) {
            let text = format!("{:02}:{:02}:{:02}", seconds / 3_600, seconds / 60 % 60, seconds % 60);
            prop_assert_eq!(time(&text), Ok(seconds));
        }
    }
}
