//! Times as the API writes them: RFC 3339 with an offset.

use jiff::Timestamp;
use lineside_sync::UnixMillis;

/// The moment in UTC, to the millisecond; none where a feed dates itself out of the calendar.
pub(crate) fn format_rfc3339(at: UnixMillis) -> Option<String> {
    Some(Timestamp::from_millisecond(at.0).ok()?.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_carry_their_offset() {
        assert_eq!(format_rfc3339(UnixMillis(0)).as_deref(), Some("1970-01-01T00:00:00Z"));
        assert_eq!(format_rfc3339(UnixMillis(i64::MAX)), None);
    }
}
