//! Whether a value is what its field may hold.

use jiff::{Timestamp, civil::Date};
use serde_json::Value;

use super::{field::Is, kinds, version::Version};
use crate::{
    gtfs::{currency_decimals, language_tag, zone_id},
    notice::Kind,
};

/// Why a value cannot stand where it stands.
pub(super) struct Fault {
    pub(super) kind: &'static Kind,
    /// What may stand there, in words.
    pub(super) expected: String,
}

/// Times before 15 December 2015 are older than GBFS (the schemas' bound).
const OLDEST_S: f64 = 1_450_155_600.0;

fn found(kind: &'static Kind, expected: impl Into<String>) -> Option<Fault> {
    Some(Fault { kind, expected: expected.into() })
}

/// What is wrong with the type of a value, if something is.
fn fault_of_type(is: Is, value: &Value, version: Version) -> Option<Fault> {
    let (fits, expected) = match is {
        Is::Object | Is::NumbersBy(_) | Is::Area => (value.is_object(), "an object"),
        Is::List(_) | Is::Texts | Is::Urls => (value.is_array(), "a list"),
        Is::Whole(..) => (is_whole(value), "a whole number"),
        Is::Number(..) => (value.is_number(), "a number"),
        Is::Flag if version < Version::V2_0 => (is_number_flag(value, version), "0 or 1"),
        Is::Flag => (value.is_boolean(), "true or false"),
        Is::Instant if version < Version::V3_0 => (value.is_number(), "seconds since 1970"),
        _ => (value.is_string(), "a text"),
    };
    if fits { None } else { found(&kinds::UNEXPECTED_TYPE, expected) }
}

/// Version 1.0 does not say whether it is a number or true and false.
fn is_number_flag(value: &Value, version: Version) -> bool {
    let is_bit = value.as_f64().is_some_and(|number| (0.0..=1.0).contains(&number));
    is_bit || (version == Version::V1_0 && value.is_boolean())
}

fn is_whole(value: &Value) -> bool {
    value.as_f64().is_some_and(|number| number.fract() == 0.0)
}

/// What is wrong with a value, if something is.
pub(super) fn fault(is: Is, value: &Value, version: Version) -> Option<Fault> {
    let of_type = fault_of_type(is, value, version);
    if of_type.is_some() {
        return of_type;
    }
    match is {
        Is::List(least) if value.as_array().is_some_and(|list| list.len() < least) => {
            found(&kinds::SHORT_LIST, "")
        }
        Is::Whole(from, to) => out_of_range(value, from as f64, to as f64),
        Is::Number(from, to) => out_of_range(value, from, to),
        Is::Instant if version < Version::V3_0 => seconds(value, version),
        Is::Instant | Is::DateTime => {
            let is_right = value.as_str().is_some_and(|text| instant(text).is_some());
            if is_right { None } else { found(&kinds::INVALID_TIMESTAMP, "2026-01-31T08:00:00Z") }
        }
        Is::NumbersBy(_) => {
            let mut numbers = value.as_object().into_iter().flat_map(|object| object.values());
            let is_right = numbers.all(|number| number.as_f64().is_some_and(|n| n >= 0.0));
            if is_right { None } else { found(&kinds::UNEXPECTED_TYPE, "numbers by id") }
        }
        _ => value.as_str().and_then(|text| fault_of_text(is, text)),
    }
}

fn out_of_range(value: &Value, from: f64, to: f64) -> Option<Fault> {
    let is_in = value.as_f64().is_some_and(|number| (from..=to).contains(&number));
    if is_in {
        return None;
    }
    let to_is_open = to >= i64::MAX as f64;
    let expected = if to_is_open { format!("{from} or more") } else { format!("{from} to {to}") };
    found(&kinds::OUT_OF_RANGE, expected)
}

/// Before 2.3 the schemas let fractions of a second pass in most places.
fn seconds(value: &Value, version: Version) -> Option<Fault> {
    let least = if version == Version::V1_0 { 0.0 } else { OLDEST_S };
    let is_right = value.as_f64().is_some_and(|seconds| seconds >= least)
        && (version < Version::V2_3 || is_whole(value));
    if is_right { None } else { found(&kinds::INVALID_TIMESTAMP, "seconds since 1970") }
}

fn fault_of_text(is: Is, text: &str) -> Option<Fault> {
    let (is_right, kind) = match is {
        Is::Url => (is_url(text), &kinds::INVALID_URL),
        Is::Mail => (is_mail(text), &kinds::INVALID_MAIL),
        Is::Phone => (is_phone(text), &kinds::INVALID_PHONE),
        Is::Language => (language_tag(text).is_some(), &kinds::INVALID_LANGUAGE),
        Is::Zone => (zone_id(text).is_some(), &kinds::INVALID_ZONE),
        Is::Date => (is_date(text), &kinds::INVALID_DATE),
        Is::Time => (is_time(text), &kinds::INVALID_TIME),
        Is::Country => (is_country(text), &kinds::INVALID_COUNTRY),
        Is::Currency => (currency_decimals(text).is_some(), &kinds::INVALID_CURRENCY),
        Is::Color => (is_color(text), &kinds::INVALID_COLOR),
        Is::VersionNumber => (Version::of(text).is_some(), &kinds::UNKNOWN_VERSION),
        Is::Word(words) => {
            let is_right = words.contains(&text);
            let words = || found(&kinds::UNEXPECTED_WORD, words.join(", "));
            return if is_right { None } else { words() };
        }
        _ => return None,
    };
    if is_right { None } else { found(kind, "") }
}

/// A point in time as RFC 3339 has it.
pub(super) fn instant(text: &str) -> Option<i64> {
    let is_full = text.len() >= "2026-01-31T08:00:00Z".len();
    let at: Timestamp = text.parse().ok().filter(|_| is_full)?;
    Some(at.as_second())
}

/// An address that says by which scheme it is reached, whatever that is: programs have their own.
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

fn is_mail(text: &str) -> bool {
    let Some((name, host)) = text.rsplit_once('@') else { return false };
    let is_host = host.split('.').all(|label| {
        let fits = |c: char| c.is_alphanumeric() || c == '-';
        !label.is_empty() && label.chars().all(fits)
    });
    let is_odd = |c: char| c.is_whitespace() || c.is_control() || c == '@';
    !name.is_empty() && !name.contains(is_odd) && is_host
}

/// After E.164: `+`, and 2 to 15 digits of which the first is not 0.
fn is_phone(text: &str) -> bool {
    let digits = text.strip_prefix('+').unwrap_or_default();
    (2..=15).contains(&digits.len())
        && digits.bytes().all(|byte| byte.is_ascii_digit())
        && !digits.starts_with('0')
}

fn is_date(text: &str) -> bool {
    text.len() == "2026-01-31".len() && text.parse::<Date>().is_ok()
}

fn is_time(text: &str) -> bool {
    let mut parts = text.split(':').map(|part| match *part.as_bytes() {
        [a @ b'0'..=b'9', b @ b'0'..=b'9'] => Some((a - b'0') * 10 + (b - b'0')),
        _ => None,
    });
    let mut next = |most: u8| parts.next().flatten().is_some_and(|number| number <= most);
    // 24:00:00 and later stand for times after midnight.
    next(47) && next(59) && next(59) && parts.next().is_none()
}

fn is_country(text: &str) -> bool {
    text.len() == 2 && text.bytes().all(|byte| byte.is_ascii_uppercase())
}

fn is_color(text: &str) -> bool {
    let digits = text.strip_prefix('#').unwrap_or_default();
    digits.len() == 6 && digits.bytes().all(|byte| byte.is_ascii_hexdigit())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_say_their_scheme() {
        for text in ["https://a.example/b?c=d", "com.example.app://", "mailto:a@b.example"] {
            assert!(is_url(text), "{text}");
        }
        for text in ["", "www.a.example", "https://", "https:///a", "http:a", "https://a b", "//a"]
        {
            assert!(!is_url(text), "{text}");
        }
    }

    #[test]
    fn mail_has_a_name_and_a_host() {
        assert!(is_mail("a.b+c@data.example"));
        for text in ["", "a", "@a.example", "a@", "a b@c.example", "a@b..example", "a@@b.example"] {
            assert!(!is_mail(text), "{text}");
        }
    }

    #[test]
    fn times_of_a_day_may_be_after_midnight() {
        assert!(is_time("00:00:00") && is_time("23:59:59") && is_time("26:00:00"));
        for text in ["8:00:00", "08:00", "08:60:00", "48:00:00", "08:00:00:00", "", "aa:00:00"] {
            assert!(!is_time(text), "{text}");
        }
    }
}
