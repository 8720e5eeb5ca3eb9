//! Decimal numbers in the forms that the reference validator accepts, some of them unusual.

use lineside_formats::gtfs::values;

/// Parses a decimal number, which may be infinite or NaN. Most numbers take the fast path.
#[inline]
pub(super) fn parse_float_like_reference(text: &str) -> Option<f64> {
    values::parse_float(text.as_bytes()).ok().or_else(|| parse_unusual_float(text))
}

/// Parses `NaN` and `Infinity`, numbers with a type suffix, and numbers out of a float's range.
#[cold]
fn parse_unusual_float(text: &str) -> Option<f64> {
    let (sign, body) = match text.strip_prefix('-') {
        Some(body) => (-1.0, body),
        None => (1.0, text.strip_prefix('+').unwrap_or(text)),
    };
    match body {
        "NaN" => return Some(f64::NAN),
        "Infinity" => return Some(sign * f64::INFINITY),
        _ => {}
    }
    let number = body.strip_suffix(['f', 'F', 'd', 'D']).unwrap_or(body);
    let is_plain =
        |byte: u8| byte.is_ascii_digit() || matches!(byte, b'.' | b'e' | b'E' | b'+' | b'-');
    let starts_well = number.starts_with(|c: char| c.is_ascii_digit() || c == '.');
    if !starts_well || !number.bytes().all(is_plain) {
        return None;
    }
    number.parse().ok().map(|number: f64| sign * number)
}

/// Returns the number of decimals of an exact decimal number; negative if an exponent adds zeros. `None` if the text is
/// not a number.
pub fn decimal_place_count(text: &str) -> Option<i64> {
    let body = text.strip_prefix(['+', '-']).unwrap_or(text);
    let (digits, exponent) = match body.split_once(['e', 'E']) {
        Some((digits, exponent)) => (digits, i64::from(exponent.parse::<i32>().ok()?)),
        None => (body, 0),
    };
    let (whole, decimals) = digits.split_once('.').unwrap_or((digits, ""));
    let are_digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    let is_number = whole.len() + decimals.len() > 0 && are_digits(whole) && are_digits(decimals);
    is_number.then_some(decimals.len() as i64 - exponent)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unusual_number_notations_are_parsed() {
        for (text, number) in [
            ("1.5", 1.5),
            ("1f", 1.0),
            ("-1.5D", -1.5),
            ("+1e5", 1e5),
            ("1e999", f64::INFINITY),
            ("-Infinity", f64::NEG_INFINITY),
        ] {
            assert_eq!(parse_float_like_reference(text), Some(number), "{text}");
        }
        assert!(parse_float_like_reference("NaN").is_some_and(f64::is_nan));
        for text in
            ["nan", "inf", "infinity", "1_0", "1L", "e5", "--1", "+-1", "f", ".", "", "1,5", "1ff"]
        {
            assert_eq!(parse_float_like_reference(text), None, "{text}");
        }
    }

    #[test]
    fn decimal_places_are_counted() {
        for (text, decimals) in [
            ("39", 0),
            ("39.00", 2),
            ("5.", 0),
            (".5", 1),
            ("+1.50", 2),
            ("1e2", -2),
            ("1E-2", 2),
            ("1.2e3", -2),
        ] {
            assert_eq!(decimal_place_count(text), Some(decimals), "{text}");
        }
        for text in ["", ".", "1e", "e1", "NaN", "+", "1,5", "1e12345678901", "kr 5", "--5"] {
            assert_eq!(decimal_place_count(text), None, "{text}");
        }
    }
}
