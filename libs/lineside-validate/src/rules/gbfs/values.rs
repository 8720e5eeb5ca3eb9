//! Checks of values against the types of their fields.

use jiff::{Timestamp, civil::Date};
use serde_json::Value;

use super::{field::GbfsFieldType, kinds, version::GbfsVersion};
use crate::{
    gtfs::{currency_decimals, normalize_language_tag, normalize_timezone_id},
    notice::NoticeKind,
};

/// The reason why a value is invalid.
pub(super) struct InvalidValueReason {
    pub(super) kind: &'static NoticeKind,
    /// A description of the expected value.
    pub(super) expected: String,
}

/// Times before 15 December 2015 are older than GBFS (the schemas' bound).
const OLDEST_S: f64 = 1_450_155_600.0;

fn invalid_value_reason(
    kind: &'static NoticeKind,
    expected: impl Into<String>,
) -> Option<InvalidValueReason> {
    Some(InvalidValueReason { kind, expected: expected.into() })
}

/// Returns the fault of a value's JSON type, if any.
fn find_json_type_fault(
    field_type: GbfsFieldType,
    value: &Value,
    version: GbfsVersion,
) -> Option<InvalidValueReason> {
    let (fits, expected) = match field_type {
        GbfsFieldType::Object | GbfsFieldType::NumbersBy(_) | GbfsFieldType::Area => {
            (value.is_object(), "an object")
        }
        GbfsFieldType::List(_) | GbfsFieldType::Texts | GbfsFieldType::Urls => {
            (value.is_array(), "a list")
        }
        GbfsFieldType::Whole(..) => (is_whole_number(value), "an integer"),
        GbfsFieldType::Number(..) => (value.is_number(), "a number"),
        GbfsFieldType::Flag if version < GbfsVersion::V2_0 => {
            (is_zero_or_one(value, version), "0 or 1")
        }
        GbfsFieldType::Flag => (value.is_boolean(), "true or false"),
        GbfsFieldType::Instant if version < GbfsVersion::V3_0 => {
            (value.is_number(), "seconds since 1970")
        }
        _ => (value.is_string(), "a string"),
    };
    if fits { None } else { invalid_value_reason(&kinds::UNEXPECTED_TYPE, expected) }
}

/// Returns true if a value is 0, 1 or, in version 1.0, a boolean: that version does not say which.
fn is_zero_or_one(value: &Value, version: GbfsVersion) -> bool {
    let is_bit = value.as_f64().is_some_and(|number| (0.0..=1.0).contains(&number));
    is_bit || (version == GbfsVersion::V1_0 && value.is_boolean())
}

fn is_whole_number(value: &Value) -> bool {
    value.as_f64().is_some_and(|number| number.fract() == 0.0)
}

pub(super) fn find_value_fault(
    field_type: GbfsFieldType,
    value: &Value,
    version: GbfsVersion,
) -> Option<InvalidValueReason> {
    let of_type = find_json_type_fault(field_type, value, version);
    if of_type.is_some() {
        return of_type;
    }
    match field_type {
        GbfsFieldType::List(least) if value.as_array().is_some_and(|list| list.len() < least) => {
            invalid_value_reason(&kinds::SHORT_LIST, "")
        }
        GbfsFieldType::Whole(from, to) => find_range_fault(value, from as f64, to as f64),
        GbfsFieldType::Number(from, to) => find_range_fault(value, from, to),
        GbfsFieldType::Instant if version < GbfsVersion::V3_0 => {
            find_unix_seconds_fault(value, version)
        }
        GbfsFieldType::Instant | GbfsFieldType::DateTime => {
            let is_right = value.as_str().is_some_and(|text| parse_rfc3339(text).is_some());
            if is_right {
                None
            } else {
                invalid_value_reason(&kinds::INVALID_TIMESTAMP, "2026-01-31T08:00:00Z")
            }
        }
        GbfsFieldType::NumbersBy(_) => {
            let mut numbers = value.as_object().into_iter().flat_map(|object| object.values());
            let is_right = numbers.all(|number| number.as_f64().is_some_and(|n| n >= 0.0));
            if is_right {
                None
            } else {
                invalid_value_reason(&kinds::UNEXPECTED_TYPE, "numbers by id")
            }
        }
        _ => value.as_str().and_then(|text| find_text_format_fault(field_type, text)),
    }
}

fn find_range_fault(value: &Value, from: f64, to: f64) -> Option<InvalidValueReason> {
    let is_in = value.as_f64().is_some_and(|number| (from..=to).contains(&number));
    if is_in {
        return None;
    }
    let to_is_open = to >= i64::MAX as f64;
    let expected = if to_is_open { format!("{from} or more") } else { format!("{from} to {to}") };
    invalid_value_reason(&kinds::OUT_OF_RANGE, expected)
}

/// Checks a timestamp in seconds. Before 2.3 the schemas allow fractions of a second in most
/// places.
fn find_unix_seconds_fault(value: &Value, version: GbfsVersion) -> Option<InvalidValueReason> {
    let least = if version == GbfsVersion::V1_0 { 0.0 } else { OLDEST_S };
    let is_right = value.as_f64().is_some_and(|seconds| seconds >= least)
        && (version < GbfsVersion::V2_3 || is_whole_number(value));
    if is_right {
        None
    } else {
        invalid_value_reason(&kinds::INVALID_TIMESTAMP, "seconds since 1970")
    }
}

fn find_text_format_fault(field_type: GbfsFieldType, text: &str) -> Option<InvalidValueReason> {
    let (is_right, kind) = match field_type {
        GbfsFieldType::Url => (is_url_of_any_scheme(text), &kinds::INVALID_URL),
        GbfsFieldType::Mail => (is_email_address(text), &kinds::INVALID_MAIL),
        GbfsFieldType::Phone => (is_e164_phone_number(text), &kinds::INVALID_PHONE),
        GbfsFieldType::Language => {
            (normalize_language_tag(text).is_some(), &kinds::INVALID_LANGUAGE)
        }
        GbfsFieldType::Zone => (normalize_timezone_id(text).is_some(), &kinds::INVALID_ZONE),
        GbfsFieldType::Date => (is_date(text), &kinds::INVALID_DATE),
        GbfsFieldType::Time => (is_time_of_day(text), &kinds::INVALID_TIME),
        GbfsFieldType::Country => (is_country_code(text), &kinds::INVALID_COUNTRY),
        GbfsFieldType::Currency => (currency_decimals(text).is_some(), &kinds::INVALID_CURRENCY),
        GbfsFieldType::Color => (is_hex_color(text), &kinds::INVALID_COLOR),
        GbfsFieldType::VersionNumber => {
            (GbfsVersion::parse_gbfs_version(text).is_some(), &kinds::UNKNOWN_VERSION)
        }
        GbfsFieldType::Word(words) => {
            let is_right = words.contains(&text);
            let words = || invalid_value_reason(&kinds::UNEXPECTED_WORD, words.join(", "));
            return if is_right { None } else { words() };
        }
        _ => return None,
    };
    if is_right { None } else { invalid_value_reason(kind, "") }
}

/// Parses an RFC 3339 time as seconds since 1970.
pub(super) fn parse_rfc3339(text: &str) -> Option<i64> {
    let is_full = text.len() >= "2026-01-31T08:00:00Z".len();
    let at: Timestamp = text.parse().ok().filter(|_| is_full)?;
    Some(at.as_second())
}

/// Returns true if a text is a URL with any scheme: apps have their own schemes.
fn is_url_of_any_scheme(text: &str) -> bool {
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
fn is_e164_phone_number(text: &str) -> bool {
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
            assert!(is_url_of_any_scheme(text), "{text}");
        }
        for text in ["", "www.a.example", "https://", "https:///a", "http:a", "https://a b", "//a"]
        {
            assert!(!is_url_of_any_scheme(text), "{text}");
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
