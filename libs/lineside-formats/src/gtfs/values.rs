//! Parses cells to values and finds their faults, by the kind of the field.

use jiff::civil::Date;

use super::fields::{AllowedNumberSign, FieldKind};

/// A fault of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CellFault {
    /// The code in snake_case: MobilityData's notice code if there is one.
    pub code: &'static str,
    /// A description, in lower case and without a full stop.
    pub detail: &'static str,
}

const fn new_cell_fault(code: &'static str, detail: &'static str) -> CellFault {
    CellFault { code, detail }
}

/// The latest accepted time, in seconds: 999 hours after the zero of the service day.
pub const TIME_MAX: i32 = 999 * 3_600;
/// The latest time without a warning, in seconds: seven days, the duration of the longest train rides.
const TIME_PLAUSIBLE: i32 = 7 * 24 * 3_600;
/// The years without a warning.
const YEARS_PLAUSIBLE: std::ops::RangeInclusive<i16> = 2000..=2099;

const NOT_A_TIME: CellFault = new_cell_fault("invalid_time", "not a time of the form HH:MM:SS");
const TOO_LATE: CellFault = new_cell_fault("invalid_time", "later than 999:00:00; it is ignored");
const NOT_A_DATE: CellFault = new_cell_fault("invalid_date", "not a date of the form YYYYMMDD");
const NOT_A_NUMBER: CellFault = new_cell_fault("invalid_float", "not a number");
const NOT_AN_INTEGER: CellFault = new_cell_fault("invalid_integer", "not a whole number");
const OUT_OF_RANGE: CellFault = new_cell_fault("number_out_of_range", "out of range");
const NOT_IN_LIST: CellFault =
    new_cell_fault("unexpected_enum_value", "not a value of the GTFS reference");
const NOT_A_COLOR: CellFault =
    new_cell_fault("invalid_color", "not a color of six hexadecimal digits");

/// Parses a time to seconds. Hours have one to three digits and may exceed 24.
///
/// # Errors
///
/// Returns the fault if the text is not a time.
#[inline]
pub fn parse_gtfs_time(text: &[u8]) -> Result<i32, CellFault> {
    let (hours, minutes, seconds) = match *text {
        [h1, h2, b':', m1, m2, b':', s1, s2] => {
            (parse_two_digits(h1, h2), parse_two_digits(m1, m2), parse_two_digits(s1, s2))
        }
        [h, b':', m1, m2, b':', s1, s2] => {
            (parse_two_digits(b'0', h), parse_two_digits(m1, m2), parse_two_digits(s1, s2))
        }
        [h1, h2, h3, b':', m1, m2, b':', s1, s2] => {
            let hundreds = parse_two_digits(b'0', h1).map(|n| n * 100);
            (
                hundreds.zip(parse_two_digits(h2, h3)).map(|(a, b)| a + b),
                parse_two_digits(m1, m2),
                parse_two_digits(s1, s2),
            )
        }
        _ => return Err(explain_invalid_time(text)),
    };
    match (hours, minutes, seconds) {
        (Some(hours), Some(minutes @ 0..60), Some(seconds @ 0..60)) => {
            let time = hours * 3_600 + minutes * 60 + seconds;
            if time <= TIME_MAX { Ok(time) } else { Err(TOO_LATE) }
        }
        _ => Err(NOT_A_TIME),
    }
}

/// Returns the fault of a text that matches no form with one to three hour digits.
#[cold]
fn explain_invalid_time(text: &[u8]) -> CellFault {
    let parts: Vec<&[u8]> = text.split(|&byte| byte == b':').take(4).collect();
    let is_number = |part: &&[u8]| !part.is_empty() && part.iter().all(u8::is_ascii_digit);
    let is_long = parts.len() == 3 && parts[0].len() > 3 && parts.iter().all(is_number);
    if is_long { TOO_LATE } else { NOT_A_TIME }
}

#[inline]
fn parse_two_digits(tens: u8, ones: u8) -> Option<i32> {
    let (tens, ones) = (tens.wrapping_sub(b'0'), ones.wrapping_sub(b'0'));
    (tens < 10 && ones < 10).then_some(i32::from(tens) * 10 + i32::from(ones))
}

/// Returns a warning about a valid but implausible time.
#[inline]
pub fn implausible_time_warning(time: i32) -> Option<CellFault> {
    (time > TIME_PLAUSIBLE).then_some(new_cell_fault(
        "implausible_time",
        "more than seven days after the start of the service day",
    ))
}

/// Parses a date.
///
/// # Errors
///
/// Returns the fault if the text is not a date.
pub fn parse_gtfs_date(text: &[u8]) -> Result<Date, CellFault> {
    let [y1, y2, y3, y4, m1, m2, d1, d2] = *text else { return Err(NOT_A_DATE) };
    let parts = (
        parse_two_digits(y1, y2),
        parse_two_digits(y3, y4),
        parse_two_digits(m1, m2),
        parse_two_digits(d1, d2),
    );
    let (Some(century), Some(year), Some(month), Some(day)) = parts else { return Err(NOT_A_DATE) };
    Date::new((century * 100 + year) as i16, month as i8, day as i8).map_err(|_| NOT_A_DATE)
}

/// Returns a warning about a valid but implausible date.
pub fn implausible_date_warning(date: Date) -> Option<CellFault> {
    (!YEARS_PLAUSIBLE.contains(&date.year()))
        .then_some(new_cell_fault("implausible_date", "of another century"))
}

/// Parses a finite decimal number.
///
/// # Errors
///
/// Returns the fault if the text is not such a number.
pub fn parse_float(text: &[u8]) -> Result<f64, CellFault> {
    if let Some(number) = parse_short_float(text) {
        return Ok(number);
    }
    // `parse` also accepts `inf` and `nan`.
    let number: f64 = utf8_or_empty(text).parse().map_err(|_| NOT_A_NUMBER)?;
    if number.is_finite() { Ok(number) } else { Err(NOT_A_NUMBER) }
}

/// Parses a number of at most 15 digits with at most one point, which covers nearly all cells. The digits and the power
/// of ten are both exact as floats, so their quotient is the nearest float, equal to the result of `parse`.
fn parse_short_float(bytes: &[u8]) -> Option<f64> {
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

/// Parses a number of degrees within `±limit`.
///
/// # Errors
///
/// Returns the fault if the text is not a number or out of range.
pub fn parse_degrees(text: &[u8], limit: f64) -> Result<f64, CellFault> {
    let number = parse_float(text)?;
    if number.abs() <= limit { Ok(number) } else { Err(OUT_OF_RANGE) }
}

/// Parses a non-negative whole number.
///
/// # Errors
///
/// Returns the fault if the text is not a whole number, or if it is negative or too large.
#[inline]
pub fn parse_unsigned(text: &[u8]) -> Result<u32, CellFault> {
    // Nine digits always fit; longer texts take the slow path.
    if (1..=9).contains(&text.len()) && text.iter().all(u8::is_ascii_digit) {
        return Ok(text.iter().fold(0, |number, byte| number * 10 + u32::from(byte - b'0')));
    }
    match parse_integer(text)? {
        number if number < 0 => Err(OUT_OF_RANGE),
        number => u32::try_from(number).map_err(|_| OUT_OF_RANGE),
    }
}

/// Parses a whole number.
///
/// # Errors
///
/// Returns the fault if the text is not a whole number, or if it exceeds 64 bits.
pub fn parse_integer(text: &[u8]) -> Result<i64, CellFault> {
    match utf8_or_empty(text).parse::<i64>() {
        Ok(number) => Ok(number),
        Err(error) => match error.kind() {
            std::num::IntErrorKind::PosOverflow | std::num::IntErrorKind::NegOverflow => {
                Err(OUT_OF_RANGE)
            }
            _ => Err(NOT_AN_INTEGER),
        },
    }
}

/// Returns the bytes as text. Callers pass valid UTF-8; other bytes give an empty text, which does not parse.
fn utf8_or_empty(text: &[u8]) -> &str {
    std::str::from_utf8(text).unwrap_or_default()
}

/// Parses a number that must be one of `values`.
///
/// # Errors
///
/// Returns the fault if the text is not one of them.
#[inline]
pub fn parse_enum_value(text: &[u8], values: &[u16]) -> Result<u16, CellFault> {
    let number = match *text {
        [digit @ b'0'..=b'9'] => u16::from(digit - b'0'),
        _ => u16::try_from(parse_integer(text)?).map_err(|_| NOT_IN_LIST)?,
    };
    if values.contains(&number) { Ok(number) } else { Err(NOT_IN_LIST) }
}

/// Parses a route type: 0 to 7, 11, 12, or 100 to 1702 of the extended list.
///
/// # Errors
///
/// Returns the fault if the text is not a route type.
pub fn parse_route_type(text: &[u8]) -> Result<u16, CellFault> {
    match u16::try_from(parse_integer(text)?) {
        Ok(number @ (0..=7 | 11 | 12 | 100..=1702)) => Ok(number),
        _ => Err(NOT_IN_LIST),
    }
}

/// Parses a color of six hexadecimal digits: red, green, blue.
///
/// # Errors
///
/// Returns the fault if the text is not a color.
pub fn parse_color(text: &[u8]) -> Result<[u8; 3], CellFault> {
    let [r1, r2, g1, g2, b1, b2] = *text else { return Err(NOT_A_COLOR) };
    let digit = |byte: u8| char::from(byte).to_digit(16);
    let part = |high, low| Some((digit(high)? * 16 + digit(low)?) as u8);
    match (part(r1, r2), part(g1, g2), part(b1, b2)) {
        (Some(red), Some(green), Some(blue)) => Ok([red, green, blue]),
        _ => Err(NOT_A_COLOR),
    }
}

/// Checks a non-empty cell against the kind of its field.
///
/// # Errors
///
/// Returns the fault if the cell is not valid.
pub fn check_cell_by_kind(kind: FieldKind, text: &[u8]) -> Result<(), CellFault> {
    match kind {
        FieldKind::Id | FieldKind::Ref(_) | FieldKind::Text => Ok(()),
        FieldKind::Url => ensure_or_fault(
            looks_like_url(utf8_or_empty(text)),
            new_cell_fault("invalid_url", "not an absolute http or https URL"),
        ),
        FieldKind::Email => ensure_or_fault(
            looks_like_email(utf8_or_empty(text)),
            new_cell_fault("invalid_email", "not an email address"),
        ),
        FieldKind::Phone => ensure_or_fault(
            looks_like_phone_number(utf8_or_empty(text)),
            new_cell_fault("invalid_phone_number", "not a telephone number"),
        ),
        FieldKind::Color => parse_color(text).map(drop),
        FieldKind::Date => parse_gtfs_date(text)
            .and_then(|date| implausible_date_warning(date).map_or(Ok(()), Err)),
        FieldKind::Time => parse_gtfs_time(text)
            .and_then(|time| implausible_time_warning(time).map_or(Ok(()), Err)),
        FieldKind::LocalTime => {
            parse_gtfs_time(text).and_then(|time| ensure_or_fault(time <= 24 * 3_600, NOT_A_TIME))
        }
        FieldKind::Latitude => parse_degrees(text, 90.0).map(drop),
        FieldKind::Longitude => parse_degrees(text, 180.0).map(drop),
        FieldKind::Float(sign) => parse_float(text)
            .and_then(|number| ensure_or_fault(is_allowed_by_sign(sign, number), OUT_OF_RANGE)),
        FieldKind::Integer(sign) => parse_integer(text).and_then(|number| {
            ensure_or_fault(is_allowed_by_sign(sign, number as f64), OUT_OF_RANGE)
        }),
        FieldKind::Enum(values) => parse_enum_value(text, values).map(drop),
        FieldKind::RouteType => parse_route_type(text).map(drop),
        FieldKind::Currency => {
            let capitals = text.len() == 3 && text.iter().all(u8::is_ascii_uppercase);
            ensure_or_fault(
                capitals,
                new_cell_fault("invalid_currency", "not a currency code of three capital letters"),
            )
        }
        FieldKind::Amount => parse_float(text).map(drop),
        FieldKind::Language => ensure_or_fault(
            looks_like_language_code(utf8_or_empty(text)),
            new_cell_fault("invalid_language_code", "not a BCP 47 language tag"),
        ),
        FieldKind::Timezone => {
            let known = jiff::tz::TimeZone::get(utf8_or_empty(text)).is_ok();
            ensure_or_fault(
                known,
                new_cell_fault("invalid_timezone", "not a time zone of the tz database"),
            )
        }
    }
}

fn is_allowed_by_sign(sign: AllowedNumberSign, number: f64) -> bool {
    match sign {
        AllowedNumberSign::Any => true,
        AllowedNumberSign::NonNegative => number >= 0.0,
        AllowedNumberSign::Positive => number > 0.0,
        AllowedNumberSign::NonZero => number != 0.0,
    }
}

fn ensure_or_fault(is_valid: bool, fault: CellFault) -> Result<(), CellFault> {
    if is_valid { Ok(()) } else { Err(fault) }
}

fn looks_like_url(text: &str) -> bool {
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

fn looks_like_email(text: &str) -> bool {
    let Some((name, host)) = text.rsplit_once('@') else { return false };
    let plain = !text.contains(|c: char| c.is_whitespace() || c.is_control());
    plain
        && !name.is_empty()
        && host.contains('.')
        && !host.starts_with('.')
        && !host.ends_with('.')
}

fn looks_like_phone_number(text: &str) -> bool {
    text.bytes().filter(u8::is_ascii_alphanumeric).count() >= 3
        && text.bytes().any(|b| b.is_ascii_digit())
}

fn looks_like_language_code(text: &str) -> bool {
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
    fn times_are_parsed() {
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
            assert_eq!(parse_gtfs_time(text.as_bytes()), expected, "{text}");
        }
        assert_eq!(implausible_time_warning(parse_gtfs_time(b"168:00:00").unwrap()), None);
        assert_eq!(
            implausible_time_warning(parse_gtfs_time(b"200:00:00").unwrap())
                .map(|fault| fault.code),
            Some("implausible_time")
        );
    }

    #[test]
    fn dates_are_parsed() {
        assert_eq!(parse_gtfs_date(b"20240229"), Ok(jiff::civil::date(2024, 2, 29)));
        for text in ["20230229", "2024-02-29", "240229", "", "2024022９"] {
            assert_eq!(parse_gtfs_date(text.as_bytes()), Err(NOT_A_DATE), "{text}");
        }
        assert_eq!(implausible_date_warning(parse_gtfs_date(b"20991231").unwrap()), None);
        assert_eq!(
            implausible_date_warning(parse_gtfs_date(b"19000101").unwrap()).map(|fault| fault.code),
            Some("implausible_date")
        );
    }

    fn check_kind(kind: FieldKind, good: &[&str], bad: &[&str]) {
        for text in good {
            assert_eq!(check_cell_by_kind(kind, text.as_bytes()), Ok(()), "{kind:?}: {text}");
        }
        for text in bad {
            assert!(check_cell_by_kind(kind, text.as_bytes()).is_err(), "{kind:?}: {text}");
        }
    }

    #[test]
    fn each_field_kind_accepts_only_valid_values() {
        check_kind(
            FieldKind::Latitude,
            &["59.9", "-90", "+1", "1e1"],
            &["90.1", "north", "inf", "nan", "1,5", "."],
        );
        check_kind(FieldKind::Longitude, &["180", "-0.5"], &["181", "1.2.3"]);
        check_kind(
            FieldKind::Float(AllowedNumberSign::NonNegative),
            &["0", "12.5", ".5", "5."],
            &["-1", ".", "1e999", "x"],
        );
        check_kind(FieldKind::Float(AllowedNumberSign::Positive), &["0.1"], &["0", "0.0", "-1"]);
        check_kind(
            FieldKind::Integer(AllowedNumberSign::NonNegative),
            &["0", "42"],
            &["-1", "1.5", "99999999999999999999"],
        );
        check_kind(FieldKind::Integer(AllowedNumberSign::NonZero), &["-1", "7"], &["0"]);
        check_kind(FieldKind::Enum(&[0, 1, 2]), &["0", "2", "01"], &["3", "-1", "a", "70000"]);
        check_kind(
            FieldKind::RouteType,
            &["0", "3", "11", "700", "1702"],
            &["8", "13", "99", "1703", "bus"],
        );
        check_kind(FieldKind::Color, &["FFFFFF", "00ff7A"], &["#FFFFFF", "FFF", "GGGGGG", "ÿÿÿ"]);
        check_kind(
            FieldKind::Url,
            &["https://a.example/x?y=ü", "HTTP://a"],
            &["a.example", "ftp://a", "https://", "http://a b"],
        );
        check_kind(FieldKind::Email, &["a@b.example"], &["a", "@b.example", "a@b", "a b@c.d"]);
        check_kind(FieldKind::Phone, &["+47 22 33 44", "(503) 238-RIDE"], &["phone", "1"]);
        check_kind(
            FieldKind::Language,
            &["en", "nb-NO", "mul", "zh-Hant-TW"],
            &["e", "english!", "en-"],
        );
        check_kind(FieldKind::Currency, &["NOK"], &["nok", "€", "EURO"]);
        check_kind(FieldKind::Timezone, &["Europe/Oslo", "UTC"], &["Europe/Olso", "../etc/passwd"]);
        check_kind(FieldKind::LocalTime, &["24:00:00"], &["24:00:01"]);
        check_kind(FieldKind::Amount, &["3.50", "-1"], &["3,50"]);
    }

    #[test]
    fn whole_numbers_are_parsed() {
        assert_eq!(parse_unsigned(b"0"), Ok(0));
        assert_eq!(parse_unsigned(b"4294967295"), Ok(u32::MAX));
        assert_eq!(parse_unsigned(b"4294967296"), Err(OUT_OF_RANGE));
        assert_eq!(parse_unsigned(b"-1"), Err(OUT_OF_RANGE));
        assert_eq!(parse_unsigned(b"1.0"), Err(NOT_AN_INTEGER));
        assert_eq!(parse_unsigned(b""), Err(NOT_AN_INTEGER));
    }

    proptest! {
        #[test]
        fn checking_any_text_against_any_kind_does_not_panic(text in "\\PC{0,12}") {
            for file in super::super::fields::FILES {
                for field in file.fields {
                    let _ = check_cell_by_kind(field.kind, text.as_bytes());
                }
            }
        }

        #[test]
        fn floats_are_parsed_like_the_standard_library(text in "-?[0-9]{0,9}\\.?[0-9]{0,9}") {
            prop_assert_eq!(parse_float(text.as_bytes()).ok().map(f64::to_bits), text.parse::<f64>().ok().map(f64::to_bits));
        }

        #[test]
        fn formatted_times_parse_to_the_same_seconds(seconds in 0..=TIME_MAX) {
            let text = format!("{:02}:{:02}:{:02}", seconds / 3_600, seconds / 60 % 60, seconds % 60);
            prop_assert_eq!(parse_gtfs_time(text.as_bytes()), Ok(seconds));
        }
    }
}
