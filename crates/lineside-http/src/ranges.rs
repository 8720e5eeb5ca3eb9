//! Byte ranges of a body, as requested by the `Range` header (RFC 9110 §14).

use http::HeaderValue;

/// The part of a body that a client requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RangeRequest {
    /// The whole body: no range, one of an unknown form, or several ranges, which are not supported. Clients must
    /// accept the whole body.
    Whole,
    /// The first and the last byte, both within the body.
    Part { first: usize, last: usize },
    /// A range that is outside the body.
    NotSatisfiable,
}

/// Parses `range` for a body of `length` bytes.
pub(crate) fn parse_range(range: &HeaderValue, length: usize) -> RangeRequest {
    let Some((first, last)) = range.to_str().ok().and_then(split_single_range) else {
        return RangeRequest::Whole;
    };
    let end = length.checked_sub(1);
    match (parse_byte_position(first), parse_byte_position(last), end) {
        // A suffix range: the last `wanted` bytes.
        (None, Some(0), _) if first.is_empty() => RangeRequest::NotSatisfiable,
        (None, Some(suffix_length), Some(end)) if first.is_empty() => {
            RangeRequest::Part { first: length.saturating_sub(suffix_length), last: end }
        }
        (Some(first), Some(last), _) if last < first => RangeRequest::Whole,
        (Some(first), Some(last), Some(end)) if first <= end => {
            RangeRequest::Part { first, last: last.min(end) }
        }
        (Some(first), None, Some(end)) if first <= end && last.is_empty() => {
            RangeRequest::Part { first, last: end }
        }
        (Some(_), Some(_), _) => RangeRequest::NotSatisfiable,
        (Some(_), None, _) if last.is_empty() => RangeRequest::NotSatisfiable,
        _ => RangeRequest::Whole,
    }
}

/// Splits a header with a single range into its first and last position.
fn split_single_range(range: &str) -> Option<(&str, &str)> {
    let (unit, part) = range.split_once('=')?;
    let (first, last) = part.trim().split_once('-')?;
    (unit.trim().eq_ignore_ascii_case("bytes") && !last.contains(',')).then_some((first, last))
}

/// Parses a number of any size; one that exceeds `usize` is beyond every body.
fn parse_byte_position(text: &str) -> Option<usize> {
    let is_number = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    is_number.then(|| text.parse().unwrap_or(usize::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(range: &str, length: usize, expect: RangeRequest) {
        assert_eq!(parse_range(&HeaderValue::from_str(range).unwrap(), length), expect, "{range}");
    }

    #[test]
    fn a_range_is_limited_to_the_body() {
        check("bytes=0-99", 1000, RangeRequest::Part { first: 0, last: 99 });
        check("Bytes=900-2000", 1000, RangeRequest::Part { first: 900, last: 999 });
        check("bytes=999-", 1000, RangeRequest::Part { first: 999, last: 999 });
        check("bytes=-10", 1000, RangeRequest::Part { first: 990, last: 999 });
        check("bytes=-5000", 1000, RangeRequest::Part { first: 0, last: 999 });
        let huge = "bytes=1-99999999999999999999999999";
        check(huge, 1000, RangeRequest::Part { first: 1, last: 999 });
    }

    #[test]
    fn a_range_after_the_end_cannot_be_satisfied() {
        let beyond = ["bytes=1000-", "bytes=1000-2000", "bytes=-0"];
        beyond.iter().for_each(|range| check(range, 1000, RangeRequest::NotSatisfiable));
        check("bytes=99999999999999999999999999-", 1000, RangeRequest::NotSatisfiable);
        check("bytes=0-0", 0, RangeRequest::NotSatisfiable);
    }

    #[test]
    fn an_unsupported_range_returns_the_whole_body() {
        for odd in [
            "bytes=0-1,3-4",
            "bytes=5-4",
            "bytes=a-b",
            "bytes=+1-4",
            "bytes=1-x",
            "bytes=-",
            "bytes",
            "0-5",
            "rows=0-5",
            "",
        ] {
            check(odd, 1000, RangeRequest::Whole);
        }
    }
}
