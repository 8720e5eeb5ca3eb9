//! Times in the format of the API: RFC 3339 with an offset.

use jiff::Timestamp;
use lineside_sync::UnixMillis;

/// Formats a time in UTC, to the millisecond; `None` outside the calendar, as some feeds' times are.
pub fn format_rfc3339(at: UnixMillis) -> Option<String> {
    Some(Timestamp::from_millisecond(at.0).ok()?.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_have_an_offset() {
        assert_eq!(format_rfc3339(UnixMillis(0)).as_deref(), Some("1970-01-01T00:00:00Z"));
        assert_eq!(format_rfc3339(UnixMillis(i64::MAX)), None);
    }
}
