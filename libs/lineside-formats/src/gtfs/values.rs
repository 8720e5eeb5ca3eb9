//! Cells to values: what each kind of field takes, and what is said about the rest.

use jiff::civil::Date;

use super::fields::{Kind, Sign};

/// What is wrong about a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fault {
    /// In snake_case; MobilityData's notice code where one exists.
    pub code: &'static str,
    /// In words: lower case, no full stop.
    pub detail: &'static str,
}

const fn fault(code: &'static str, detail: &'static str) -> Fault {
    Fault { code, detail }
}

/// The latest time that is taken, in seconds: 999 hours after the zero of the service day.
pub const TIME_MAX: i32 = 999 * 3_600;
/// The latest time that is believed without a word: seven days, as the longest train rides on earth
/// take.
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
///
/// # Errors
///
/// The fault, if it is none.
#[inline]
pub fn time(text: &[u8]) -> Result<i32, Fault> {
    let (hours, minutes, seconds) = match *text {
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
#[cold]
fn odd_time(text: &[u8]) -> Fault {
    let parts: Vec<&[u8]> = text.split(|&byte| byte == b':').take(4).collect();
    let is_number = |part: &&[u8]| !part.is_empty() && part.iter().all(u8::is_ascii_digit);
    let is_long = parts.len() == 3 && parts[0].len() > 3 && parts.iter().all(is_number);
    if is_long { TOO_LATE } else { NOT_A_TIME }
}

#[inline]
fn two(tens: u8, ones: u8) -> Option<i32> {
    let (tens, ones) = (tens.wrapping_sub(b'0'), ones.wrapping_sub(b'0'));
    (tens < 10 && ones < 10).then_some(i32::from(tens) * 10 + i32::from(ones))
}

/// What is remarkable about a time that was taken.
#[inline]
pub fn doubt_time(time: i32) -> Option<Fault> {
    (time > TIME_PLAUSIBLE).then_some(fault(
        "implausible_time",
        "more than seven days after the start of its service day",
    ))
}

/// A date.
///
/// # Errors
///
/// The fault, if it is none.
pub fn date(text: &[u8]) -> Result<Date, Fault> {
    let [y1, y2, y3, y4, m1, m2, d1, d2] = *text else { return Err(NOT_A_DATE) };
    let parts = (two(y1, y2), two(y3, y4), two(m1, m2), two(d1, d2));
    let (Some(century), Some(year), Some(month), Some(day)) = parts else { return Err(NOT_A_DATE) };
    Date::new((century * 100 + year) as i16, month as i8, day as i8).map_err(|_| NOT_A_DATE)
}

/// What is remarkable about a date that was taken.
pub fn doubt_date(date: Date) -> Option<Fault> {
    (!YEARS_PLAUSIBLE.contains(&date.year()))
        .then_some(fault("implausible_date", "of another century"))
}

/// A finite decimal number.
///
/// # Errors
///
/// The fault, if it is none.
pub fn float(text: &[u8]) -> Result<f64, Fault> {
    if let Some(number) = short_float(text) {
        return Ok(number);
    }
    // `parse` also takes `inf` and `nan`.
    let number: f64 = str_of(text).parse().map_err(|_| NOT_A_NUMBER)?;
    if number.is_finite() { Ok(number) } else { Err(NOT_A_NUMBER) }
}

/// A number of at most 15 digits with at most one point, which is what nearly all cells hold. Both
/// the digits and the power of ten are exact as floats, so their quotient is the nearest float, as
/// `parse` gives.
fn short_float(bytes: &[u8]) -> Option<f64> {
    const POWERS: [f64; 16] =
        [1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15];
    let (is_negative, digits) = match bytes {
        [b'-', digits @ ..] => (true, digits),
        digits => (false, digits),
    };
    let (mut number, mut n_digits, mut point) = (0_u64, 0, None);
    for &byte in digits {
        match byte {
            b'0'..=b'9' => {
                number = number * 10 + u64::from(byte - b'0');
                n_digits += 1;
            }
            b'.' if point.is_none() => point = Some(n_digits),
            _ => return None,
        }
        if n_digits > 15 {
            return None;
        }
    }
    if n_digits == 0 {
        return None;
    }
    let number = number as f64 / POWERS[n_digits - point.unwrap_or(n_digits)];
    Some(if is_negative { -number } else { number })
}

/// A number of degrees within `±limit`.
///
/// # Errors
///
/// The fault, if it is none.
pub fn degrees(text: &[u8], limit: f64) -> Result<f64, Fault> {
    let number = float(text)?;
    if number.abs() <= limit { Ok(number) } else { Err(OUT_OF_RANGE) }
}

/// A whole number from 0.
///
/// # Errors
///
/// The fault, if it is none.
#[inline]
pub fn unsigned(text: &[u8]) -> Result<u32, Fault> {
    // Nine digits always fit; what is longer takes the slow way.
    if (1..=9).contains(&text.len()) && text.iter().all(u8::is_ascii_digit) {
        return Ok(text.iter().fold(0, |number, byte| number * 10 + u32::from(byte - b'0')));
    }
    match integer(text)? {
        number if number < 0 => Err(OUT_OF_RANGE),
        number => u32::try_from(number).map_err(|_| OUT_OF_RANGE),
    }
}

/// A whole number.
///
/// # Errors
///
/// If it is none, or beyond 64 bits.
pub fn integer(text: &[u8]) -> Result<i64, Fault> {
    match str_of(text).parse::<i64>() {
        Ok(number) => Ok(number),
        Err(error) => match error.kind() {
            std::num::IntErrorKind::PosOverflow | std::num::IntErrorKind::NegOverflow => {
                Err(OUT_OF_RANGE)
            }
            _ => Err(NOT_AN_INTEGER),
        },
    }
}

/// The bytes as text. Cells are UTF-8 when they come here; anything else would parse as nothing.
fn str_of(text: &[u8]) -> &str {
    std::str::from_utf8(text).unwrap_or_default()
}

/// One of `values`.
///
/// # Errors
///
/// The fault, if it is none.
#[inline]
pub fn choice(text: &[u8], values: &[u16]) -> Result<u16, Fault> {
    let number = match *text {
        [digit @ b'0'..=b'9'] => u16::from(digit - b'0'),
        _ => u16::try_from(integer(text)?).map_err(|_| NOT_IN_LIST)?,
    };
    if values.contains(&number) { Ok(number) } else { Err(NOT_IN_LIST) }
}

/// A route type: 0 to 7, 11, 12, or one of the extended list's hundreds.
///
/// # Errors
///
/// The fault, if it is none.
pub fn route_type(text: &[u8]) -> Result<u16, Fault> {
    match u16::try_from(integer(text)?) {
        Ok(number @ (0..=7 | 11 | 12 | 100..=1702)) => Ok(number),
        _ => Err(NOT_IN_LIST),
    }
}

/// A color of six hexadecimal digits: red, green, blue.
///
/// # Errors
///
/// The fault, if it is none.
pub fn color(text: &[u8]) -> Result<[u8; 3], Fault> {
    let [r1, r2, g1, g2, b1, b2] = *text else { return Err(NOT_A_COLOR) };
    let digit = |byte: u8| char::from(byte).to_digit(16);
    let part = |high, low| Some((digit(high)? * 16 + digit(low)?) as u8);
    match (part(r1, r2), part(g1, g2), part(b1, b2)) {
        (Some(red), Some(green), Some(blue)) => Ok([red, green, blue]),
        _ => Err(NOT_A_COLOR),
    }
}

/// Checks a cell that is not empty against its kind.
///
/// # Errors
///
/// The fault, if it is none.
pub fn check(kind: Kind, text: &[u8]) -> Result<(), Fault> {
    match kind {
        Kind::Id | Kind::Ref(_) | Kind::Text => Ok(()),
        Kind::Url => holds(
            is_url(str_of(text)),
            fault("invalid_url", "not an absolute http or https address"),
        ),
        Kind::Email => holds(is_email(str_of(text)), fault("invalid_email", "not a mail address")),
        Kind::Phone => {
            holds(is_phone(str_of(text)), fault("invalid_phone_number", "not a telephone number"))
        }
        Kind::Color => color(text).map(drop),
        Kind::Date => date(text).and_then(|date| doubt_date(date).map_or(Ok(()), Err)),
        Kind::Time => time(text).and_then(|time| doubt_time(time).map_or(Ok(()), Err)),
        Kind::LocalTime => time(text).and_then(|time| holds(time <= 24 * 3_600, NOT_A_TIME)),
        Kind::Latitude => degrees(text, 90.0).map(drop),
        Kind::Longitude => degrees(text, 180.0).map(drop),
        Kind::Float(sign) => {
            float(text).and_then(|number| holds(sign_allows(sign, number), OUT_OF_RANGE))
        }
        Kind::Integer(sign) => {
            integer(text).and_then(|number| holds(sign_allows(sign, number as f64), OUT_OF_RANGE))
        }
        Kind::Enum(values) => choice(text, values).map(drop),
        Kind::RouteType => route_type(text).map(drop),
        Kind::Currency => {
            let capitals = text.len() == 3 && text.iter().all(u8::is_ascii_uppercase);
            holds(capitals, fault("invalid_currency", "not a currency of three capital letters"))
        }
        Kind::Amount => float(text).map(drop),
        Kind::Language => {
            holds(is_language(str_of(text)), fault("invalid_language_code", "not a language tag"))
        }
        Kind::Timezone => {
            let known = jiff::tz::TimeZone::get(str_of(text)).is_ok();
            holds(known, fault("invalid_timezone", "not a name of the time zone database"))
        }
    }
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
            assert_eq!(time(text.as_bytes()), expected, "{text}");
        }
        assert_eq!(doubt_time(time(b"168:00:00").unwrap()), None);
        assert_eq!(
            doubt_time(time(b"200:00:00").unwrap()).map(|fault| fault.code),
            Some("implausible_time")
        );
    }

    #[test]
    fn dates_are_read() {
        assert_eq!(date(b"20240229"), Ok(jiff::civil::date(2024, 2, 29)));
        for text in ["20230229", "2024-02-29", "240229", "", "2024022９"] {
            assert_eq!(date(text.as_bytes()), Err(NOT_A_DATE), "{text}");
        }
        assert_eq!(doubt_date(date(b"20991231").unwrap()), None);
        assert_eq!(
            doubt_date(date(b"19000101").unwrap()).map(|fault| fault.code),
            Some("implausible_date")
        );
    }

    fn check_kind(kind: Kind, good: &[&str], bad: &[&str]) {
        for text in good {
            assert_eq!(check(kind, text.as_bytes()), Ok(()), "{kind:?}: {text}");
        }
        for text in bad {
            assert!(check(kind, text.as_bytes()).is_err(), "{kind:?}: {text}");
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
        assert_eq!(unsigned(b"0"), Ok(0));
        assert_eq!(unsigned(b"4294967295"), Ok(u32::MAX));
        assert_eq!(unsigned(b"4294967296"), Err(OUT_OF_RANGE));
        assert_eq!(unsigned(b"-1"), Err(OUT_OF_RANGE));
        assert_eq!(unsigned(b"1.0"), Err(NOT_AN_INTEGER));
        assert_eq!(unsigned(b""), Err(NOT_AN_INTEGER));
    }

    proptest! {
        #[test]
        fn any_text_is_checked_against_any_kind(text in "\\PC{0,12}") {
            for file in super::super::fields::FILES {
                for field in file.fields {
                    let _ = check(field.kind, text.as_bytes());
                }
            }
        }

        #[test]
        fn floats_are_those_that_parse_gives(text in "-?[0-9]{0,9}\\.?[0-9]{0,9}") {
            prop_assert_eq!(float(text.as_bytes()).ok().map(f64::to_bits), text.parse::<f64>().ok().map(f64::to_bits));
        }

        #[test]
        fn written_times_are_read_back(seconds in 0..=TIME_MAX) {
            let text = format!("{:02}:{:02}:{:02}", seconds / 3_600, seconds / 60 % 60, seconds % 60);
            prop_assert_eq!(time(text.as_bytes()), Ok(seconds));
        }
    }
}
