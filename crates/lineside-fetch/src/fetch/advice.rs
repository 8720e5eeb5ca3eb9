//! Polling advice in reply headers: freshness and `Retry-After` (RFC 9110 section 10.2.3, RFC 9111 section 4.2).

use std::time::Duration;

use http::{HeaderMap, HeaderName, StatusCode, header};
use lineside_sync::UnixMillis;

use super::http::{header_text, parse_http_date};
use crate::poll_schedule::PollAdvice;

/// Reads the advice of a reply that arrived at `now`.
pub(super) fn parse_poll_advice(
    status: StatusCode,
    headers: &HeaderMap,
    now: UnixMillis,
) -> PollAdvice {
    // The producer's own clock, so that a wrong clock does not shift the advice.
    let date =
        header_text(headers, header::DATE).as_deref().and_then(parse_http_date).unwrap_or(now);
    match status {
        StatusCode::OK | StatusCode::NOT_MODIFIED => {
            PollAdvice { fresh_for: parse_remaining_freshness(headers, date), retry_after: None }
        }
        _ => PollAdvice { fresh_for: None, retry_after: parse_retry_after(headers, date) },
    }
}

/// Returns the freshness as for any shared cache: `s-maxage` before `max-age` before `Expires`, less the reply's
/// current age.
fn parse_remaining_freshness(headers: &HeaderMap, date: UnixMillis) -> Option<Duration> {
    let directives = parse_cache_control(headers);
    let has = |name: &str| directives.iter().any(|(known, _)| known == name);
    if has("no-cache") || has("no-store") {
        return None;
    }
    let find_directive = |name: &str| {
        let value = directives.iter().find(|(known, _)| known == name)?.1.as_deref()?;
        parse_seconds(value.trim_matches('"'))
    };
    let lifetime =
        find_directive("s-maxage").or_else(|| find_directive("max-age")).or_else(|| {
            let expires = header_text(headers, header::EXPIRES)?;
            Some(parse_http_date(&expires)?.duration_since(date))
        })?;
    let age =
        header_text(headers, header::AGE).as_deref().and_then(parse_seconds).unwrap_or_default();
    Some(lifetime.saturating_sub(age)).filter(|left| !left.is_zero())
}

fn parse_retry_after(headers: &HeaderMap, date: UnixMillis) -> Option<Duration> {
    let header = header_text(headers, header::RETRY_AFTER)?;
    parse_seconds(&header).or_else(|| Some(parse_http_date(&header)?.duration_since(date)))
}

/// Parses all `Cache-Control` lines into lower-case names with their values.
fn parse_cache_control(headers: &HeaderMap) -> Vec<(String, Option<String>)> {
    let name: HeaderName = header::CACHE_CONTROL;
    let lines = headers.get_all(name).iter().filter_map(|line| line.to_str().ok());
    let directives = lines.flat_map(|line| line.split(',')).map(|directive| {
        let (name, value) = match directive.split_once('=') {
            Some((name, value)) => (name, Some(value.trim().to_owned())),
            None => (directive, None),
        };
        (name.trim().to_ascii_lowercase(), value)
    });
    directives.collect()
}

/// Parses whole seconds, saturating.
fn parse_seconds(text: &str) -> Option<Duration> {
    let text = text.trim();
    if text.is_empty() || !text.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    Some(Duration::from_secs(text.parse().unwrap_or(u64::MAX)))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Wednesday 4 March 2026, 07:00:00 GMT.
    const NOW: i64 = 1_772_607_600;

    fn advice_for(status: u16, headers: &[(&str, &str)]) -> PollAdvice {
        let mut map = HeaderMap::new();
        for (name, value) in headers {
            let name = HeaderName::from_bytes(name.as_bytes()).unwrap();
            map.append(name, value.parse().unwrap());
        }
        parse_poll_advice(
            StatusCode::from_u16(status).unwrap(),
            &map,
            UnixMillis::from_seconds(NOW),
        )
    }

    #[track_caller]
    fn check_fresh(headers: &[(&str, &str)], expect: Option<u64>) {
        for status in [200, 304] {
            let expect =
                PollAdvice { fresh_for: expect.map(Duration::from_secs), retry_after: None };
            assert_eq!(advice_for(status, headers), expect, "{headers:?}");
        }
        assert_eq!(advice_for(500, headers).fresh_for, None, "an error reply has no max-age");
    }

    #[track_caller]
    fn check_retry(headers: &[(&str, &str)], expect: Option<u64>) {
        for status in [429, 503, 403, 500] {
            let expect = expect.map(Duration::from_secs);
            assert_eq!(advice_for(status, headers).retry_after, expect, "{headers:?}");
        }
        assert_eq!(
            advice_for(200, headers),
            PollAdvice::default(),
            "only an error reply has a Retry-After"
        );
    }

    #[test]
    fn freshness_is_read_as_by_http_caches() {
        check_fresh(&[], None);
        check_fresh(&[("cache-control", "public, max-age=60")], Some(60));
        check_fresh(
            &[("cache-control", "public"), ("cache-control", "Max-Age = \"60\"")],
            Some(60),
        );
        check_fresh(&[("cache-control", "max-age=60, s-maxage=20")], Some(20));
        check_fresh(&[("cache-control", "max-age=60"), ("age", "45")], Some(15));
        check_fresh(&[("cache-control", "max-age=60"), ("age", "90")], None);
        check_fresh(&[("cache-control", "max-age=60, no-cache")], None);
        check_fresh(&[("cache-control", "no-store, max-age=60")], None);
        check_fresh(&[("cache-control", "max-age=-5")], None);
        check_fresh(&[("cache-control", "max-age=soon")], None);
        check_fresh(&[("cache-control", "max-age=99999999999999999999")], Some(u64::MAX));
        check_fresh(&[("expires", "Wed, 04 Mar 2026 07:01:30 GMT")], Some(90));
        check_fresh(&[("expires", "0")], None);
        check_fresh(&[("expires", "Wed, 04 Mar 2020 07:01:30 GMT")], None);
        let both = [("expires", "Wed, 04 Mar 2026 08:00:00 GMT"), ("cache-control", "max-age=9")];
        check_fresh(&both, Some(9));
    }

    #[test]
    fn advice_is_relative_to_the_date_of_the_reply() {
        let date = ("date", "Thu, 01 Jan 2026 00:00:00 GMT");
        check_fresh(&[date, ("expires", "Thu, 01 Jan 2026 00:00:30 GMT")], Some(30));
        check_retry(&[date, ("retry-after", "Thu, 01 Jan 2026 00:02:00 GMT")], Some(120));
    }

    #[test]
    fn retry_after_is_seconds_or_a_date() {
        check_retry(&[], None);
        check_retry(&[("retry-after", "120")], Some(120));
        check_retry(&[("retry-after", "Wed, 04 Mar 2026 07:02:00 GMT")], Some(120));
        check_retry(&[("retry-after", "Wed, 04 Mar 2020 07:02:00 GMT")], Some(0));
        check_retry(&[("retry-after", "tomorrow")], None);
        check_retry(&[("retry-after", "-1")], None);
    }
}
