//! Checks of values against the types of their fields.

use jiff::{Timestamp, civil::Date};
use serde_json::Value;

use super::{field::FieldType, kinds, version::SpecVersion};
use crate::{
    gtfs::{currency_decimals, normalize_language_tag, normalize_zone_id},
    notice::NoticeKind,
};

/// The reason why a value is invalid.
pub(super) struct FieldFault {
    pub(super) kind: &'static NoticeKind,
    /// A description of the expected value.
    pub(super) expected: String,
}

/// Times before 15 December 2015 are older than GBFS (the schemas' bound).
const OLDEST_S: f64 = 1_450_155_600.0;

fn some_fault(kind: &'static NoticeKind, expected: impl Into<String>) -> Option<FieldFault> {
    Some(FieldFault { kind, expected: expected.into() })
}

/// Returns the fault of a value's JSON type, if any.
fn find_type_fault(
    field_type: FieldType,
    value: &Value,
    version: SpecVersion,
) -> Option<FieldFault> {
    let (fits, expected) = match field_type {
        FieldType::Object | FieldType::NumbersBy(_) | FieldType::Area => {
            (value.is_object(), "an object")
        }
        FieldType::List(_) | FieldType::Texts | FieldType::Urls => (value.is_array(), "a list"),
        FieldType::Whole(..) => (is_whole_number(value), "an integer"),
        FieldType::Number(..) => (value.is_number(), "a number"),
        FieldType::Flag if version < SpecVersion::V2_0 => {
            (is_number_flag(value, version), "0 or 1")
        }
        FieldType::Flag => (value.is_boolean(), "true or false"),
        FieldType::Instant if version < SpecVersion::V3_0 => {
            (value.is_number(), "seconds since 1970")
        }
        _ => (value.is_string(), "a string"),
    };
    if fits { None } else { some_fault(&kinds::UNEXPECTED_TYPE, expected) }
}

/// Returns true if a value is 0, 1 or, in version 1.0, a boolean: that version does not say which.
fn is_number_flag(value: &Value, version: SpecVersion) -> bool {
    let is_bit = value.as_f64().is_some_and(|number| (0.0..=1.0).contains(&number));
    is_bit || (version == SpecVersion::V1_0 && value.is_boolean())
}

fn is_whole_number(value: &Value) -> bool {
    value.as_f64().is_some_and(|number| number.fract() == 0.0)
}

pub(super) fn find_value_fault(
    field_type: FieldType,
    value: &Value,
    version: SpecVersion,
) -> Option<FieldFault> {
    let of_type = find_type_fault(field_type, value, version);
    if of_type.is_some() {
        return of_type;
    }
    match field_type {
        FieldType::List(least) if value.as_array().is_some_and(|list| list.len() < least) => {
            some_fault(&kinds::SHORT_LIST, "")
        }
        FieldType::Whole(from, to) => find_range_fault(value, from as f64, to as f64),
        FieldType::Number(from, to) => find_range_fault(value, from, to),
        FieldType::Instant if version < SpecVersion::V3_0 => find_seconds_fault(value, version),
        FieldType::Instant | FieldType::DateTime => {
            let is_right = value.as_str().is_some_and(|text| parse_rfc3339(text).is_some());
            if is_right {
                None
            } else {
                some_fault(&kinds::INVALID_TIMESTAMP, "2026-01-31T08:00:00Z")
            }
        }
        FieldType::NumbersBy(_) => {
            let mut numbers = value.as_object().into_iter().flat_map(|object| object.values());
            let is_right = numbers.all(|number| number.as_f64().is_some_and(|n| n >= 0.0));
            if is_right { None } else { some_fault(&kinds::UNEXPECTED_TYPE, "numbers by id") }
        }
        _ => value.as_str().and_then(|text| find_text_fault(field_type, text)),
    }
}

fn find_range_fault(value: &Value, from: f64, to: f64) -> Option<FieldFault> {
    let is_in = value.as_f64().is_some_and(|number| (from..=to).contains(&number));
    if is_in {
        return None;
    }
    let to_is_open = to >= i64::MAX as f64;
    let expected = if to_is_open { format!("{from} or more") } else { format!("{from} to {to}") };
    some_fault(&kinds::OUT_OF_RANGE, expected)
}

/// Checks a timestamp in seconds. Before 2.3 the schemas allow fractions of a second in most
/// places.
fn find_seconds_fault(value: &Value, version: SpecVersion) -> Option<FieldFault> {
    let least = if version == SpecVersion::V1_0 { 0.0 } else { OLDEST_S };
    let is_right = value.as_f64().is_some_and(|seconds| seconds >= least)
        && (version < SpecVersion::V2_3 || is_whole_number(value));
    if is_right { None } else { some_fault(&kinds::INVALID_TIMESTAMP, "seconds since 1970") }
}

fn find_text_fault(field_type: FieldType, text: &str) -> Option<FieldFault> {
    let (is_right, kind) = match field_type {
        FieldType::Url => (is_url(text), &kinds::INVALID_URL),
        FieldType::Mail => (is_email_address(text), &kinds::INVALID_MAIL),
        FieldType::Phone => (is_phone_number(text), &kinds::INVALID_PHONE),
        FieldType::Language => (normalize_language_tag(text).is_some(), &kinds::INVALID_LANGUAGE),
        FieldType::Zone => (normalize_zone_id(text).is_some(), &kinds::INVALID_ZONE),
        FieldType::Date => (is_date(text), &kinds::INVALID_DATE),
        FieldType::Time => (is_time_of_day(text), &kinds::INVALID_TIME),
        FieldType::Country => (is_country_code(text), &kinds::INVALID_COUNTRY),
        FieldType::Currency => (currency_decimals(text).is_some(), &kinds::INVALID_CURRENCY),
        FieldType::Color => (is_hex_color(text), &kinds::INVALID_COLOR),
        FieldType::VersionNumber => {
            (SpecVersion::parse_version(text).is_some(), &kinds::UNKNOWN_VERSION)
        }
        FieldType::Word(words) => {
            let is_right = words.contains(&text);
            let words = || some_fault(&kinds::UNEXPECTED_WORD, words.join(", "));
            return if is_right { None } else { words() };
        }
        _ => return None,
    };
    if is_right { None } else { some_fault(kind, "") }
}

/// Parses an RFC 3339 time as seconds since 1970.
pub(super) fn parse_rfc3339(text: &str) -> Option<i64> {
    let is_full = text.len() >= "2026-01-31T08:00:00Z".len();
    let at: Timestamp = text.parse().ok().filter(|_| is_full)?;
    Some(at.as_second())
}

/// Returns true if a text is a URL with any scheme: apps have their own schemes.
fn is_url(text: &str) -> bool {
    let Some((scheme, rest)) = text.split_once(':') else { return false };
    let mut letters = scheme.bytes();
    let is_scheme = letters.next().is_some_and(|byte| byte.is_ascii_alphabetic())
        && letters.all(|byte| byte.is_ascii_alphanumeric() || b"+-.".contains(&byte));
    let is_blank = |c: char| c.is_whitespace() || c.is_control();
    let is_page = ["http", "https"].iter().any(|page| scheme.eq_ignore_ascii_case(page));
    let host = rest.strip_prefix("//").map(|rest| rest.split(['/', '?', '#']).next());
    let has_host = host.flatten().is_some_and(|host| !host.is_empty());
    is_scheme && !rest.is_empty() && !rest.contains(is_blank) && (!is_page || has_host)
}

fn is_email_address(text: &str) -> bool {
    let Some((name, host)) = text.rsplit_once('@') else { return false };
    let is_host = host.split('.').all(|label| {
        let fits = |c: char| c.is_alphanumeric() || c == '-';
        !label.is_empty() && label.chars().all(fits)
    });
    let is_odd = |c: char| c.is_whitespace() || c.is_control() || c == '@';
    !name.is_empty() && !name.contains(is_odd) && is_host
}

/// Returns true if a text is an E.164 number: `+` and 2 to 15 digits, the first not 0.
fn is_phone_number(text: &str) -> bool {
    let digits = text.strip_prefix('+').unwrap_or_default();
    (2..=15).contains(&digits.len())
        && digits.bytes().all(|byte| byte.is_ascii_digit())
        && !digits.starts_with('0')
}

fn is_date(text: &str) -> bool {
    text.len() == "2026-01-31".len() && text.parse::<Date>().is_ok()
}

fn is_time_of_day(text: &str) -> bool {
    let mut parts = text.split(':').map(|part| match *part.as_bytes() {
        [a @ b'0'..=b'9', b @ b'0'..=b'9'] => Some((a - b'0') * 10 + (b - b'0')),
        _ => None,
    });
    let mut next = |max: u8| parts.next().flatten().is_some_and(|number| number <= max);
    // 24:00:00 and later mean times after midnight.
    next(47) && next(59) && next(59) && parts.next().is_none()
}

fn is_country_code(text: &str) -> bool {
    text.len() == 2 && text.bytes().all(|byte| byte.is_ascii_uppercase())
}

fn is_hex_color(text: &str) -> bool {
    let digits = text.strip_prefix('#').unwrap_or_default();
    digits.len() == 6 && digits.bytes().all(|byte| byte.is_ascii_hexdigit())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn urls_require_a_scheme() {
        for text in ["https://a.example/b?c=d", "com.example.app://", "mailto:a@b.example"] {
            assert!(is_url(text), "{text}");
        }
        for text in ["", "www.a.example", "https://", "https:///a", "http:a", "https://a b", "//a"]
        {
            assert!(!is_url(text), "{text}");
        }
    }

    #[test]
    fn mail_addresses_require_a_name_and_a_host() {
        assert!(is_email_address("a.b+c@data.example"));
        for text in ["", "a", "@a.example", "a@", "a b@c.example", "a@b..example", "a@@b.example"] {
            assert!(!is_email_address(text), "{text}");
        }
    }

    #[test]
    fn times_of_a_day_may_be_after_midnight() {
        assert!(
            is_time_of_day("00:00:00") && is_time_of_day("23:59:59") && is_time_of_day("26:00:00")
        );
        for text in ["8:00:00", "08:00", "08:60:00", "48:00:00", "08:00:00:00", "", "aa:00:00"] {
            assert!(!is_time_of_day(text), "{text}");
        }
    }
}
