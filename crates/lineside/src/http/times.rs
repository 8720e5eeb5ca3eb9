//! Times as the API writes them: RFC 3339 with an offset.

use jiff::Timestamp;
use jiff::tz::TimeZone;
use lineside_sync::UnixMillis;

/// The moment in UTC, to the millisecond; none where a feed dates itself out of the calendar.
pub(crate) fn rfc3339(at: UnixMillis) -> Option<String> {
    Some(Timestamp::from_millisecond(at.0).ok()?.to_string())
}

/// The second as clocks in `zone` show it.
pub(crate) fn rfc3339_local(unix_seconds: i64, zone: &TimeZone) -> Option<String> {
    let at = Timestamp::from_second(unix_seconds).ok()?;
    Some(at.to_zoned(zone.clone()).strftime("%Y-%m-%dT%H:%M:%S%:z").to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_carry_their_offset() {
        assert_eq!(rfc3339(UnixMillis(0)).as_deref(), Some("1970-01-01T00:00:00Z"));
        let oslo = TimeZone::get("Europe/Oslo").unwrap();
        let local = rfc3339_local(1_720_000_000, &oslo);
        assert_eq!(local.as_deref(), Some("2024-07-03T11:46:40+02:00"));
        assert_eq!(rfc3339(UnixMillis(i64::MAX)), None);
    }
}
