//! The `Date` header.

use std::time::SystemTime;

use http::HeaderValue;

/// Returns the current time as an HTTP date.
#[expect(clippy::disallowed_methods, reason = "the Date header is in real time")]
pub(crate) fn current_http_date() -> HeaderValue {
    let now = httpdate::fmt_http_date(SystemTime::now());
    HeaderValue::try_from(now).expect("a date is a valid header value")
}
