//! The `Date` header.

use std::time::SystemTime;

use http::HeaderValue;

/// Returns the current time as an HTTP date.
#[expect(clippy::disallowed_methods, reason = "the Date header is in real time")]
pub(crate) fn current_http_date() -> HeaderValue {
    format_http_date(SystemTime::now())
}

fn format_http_date(time: SystemTime) -> HeaderValue {
    HeaderValue::try_from(httpdate::fmt_http_date(time)).expect("a date is a valid header value")
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, UNIX_EPOCH};

    use super::*;

    #[test]
    fn the_date_is_that_of_the_system_clock_even_before_an_earlier_one() {
        let at = |seconds| format_http_date(UNIX_EPOCH + Duration::from_secs(seconds));
        assert_eq!(at(1_772_607_600), "Wed, 04 Mar 2026 07:00:00 GMT");
        assert_eq!(at(1_614_841_200), "Thu, 04 Mar 2021 07:00:00 GMT");
    }
}
