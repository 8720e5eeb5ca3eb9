//! The time window of a board, and the links to earlier and later departures.

use jiff::Timestamp;
use jiff::civil::DateTime;
use jiff::tz::TimeZone;
use lineside_model::Departure;

/// The time span that a board covers, in seconds; the same as its channel's.
pub(super) const HORIZON_S: i64 = 2 * 60 * 60;
/// The furthest start of a board in the future, in seconds.
const AHEAD_MAX_S: i64 = 366 * 24 * 60 * 60;

/// The part of a stop's departures that a board shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct BoardWindow {
    /// The beginning of the window, Unix seconds; `None` for now.
    pub(super) from: Option<i64>,
    /// The beginning of the previous window, if there is one; now or earlier for the board of now.
    pub(super) earlier: Option<i64>,
    /// The beginning of the next window.
    pub(super) later: i64,
}

impl BoardWindow {
    /// Computes the window of a board. `departures` are those from `from` on, of which `limit` are shown; `all_from`
    /// returns those from a given time on.
    pub(super) fn new(
        from: Option<i64>,
        now: i64,
        departures: &[Departure],
        limit: usize,
        all_from: impl Fn(i64) -> Vec<Departure>,
    ) -> Self {
        let window_start = from.unwrap_or(now);
        // The next window begins at least a minute later: otherwise many departures in one minute would stop the board
        // there.
        let next = departures
            .get(limit)
            .map(|next| next.expected_or_scheduled_time().max(window_start + 60));
        let later = next.unwrap_or(window_start + HORIZON_S);
        let earlier = from.map(|from| {
            let before = all_from((from - HORIZON_S).max(now)).into_iter();
            let before: Vec<i64> = before
                .map(|it| it.expected_or_scheduled_time())
                .filter(|at| (now..from).contains(at))
                .collect();
            // If at most one page of departures precedes the window, the board of now shows them all.
            let first = before.len().checked_sub(limit).filter(|first| *first > 0);
            let first = first.and_then(|first| before.get(first));
            first.copied().unwrap_or((from - HORIZON_S).max(now))
        });
        Self { from, earlier, later }
    }
}

/// Parses the start of a board: a time with an offset, a local time, or Unix seconds. Returns `None` for now, and if
/// the time is past or unreadable.
pub(super) fn parse_start(after: Option<&str>, now: i64, zone: &TimeZone) -> Option<i64> {
    let at = parse_instant(after?, zone)?;
    (now + 60..=now.saturating_add(AHEAD_MAX_S)).contains(&at).then_some(at)
}

/// Returns true if a text is a start of a board, past or future.
pub(super) fn is_valid_window_start(text: &str) -> bool {
    parse_instant(text, &TimeZone::UTC).is_some()
}

fn parse_instant(text: &str, zone: &TimeZone) -> Option<i64> {
    let local = || {
        let time: DateTime = text.parse().ok()?;
        Some(zone.to_timestamp(time).ok()?.as_second())
    };
    let with_offset = || text.parse::<Timestamp>().ok().map(Timestamp::as_second);
    text.parse::<i64>().ok().or_else(with_offset).or_else(local)
}

/// Formats a time for an address: local time, which people can read and change.
pub(super) fn format_local_time_for_url(at: i64, zone: &TimeZone) -> String {
    let at = Timestamp::from_second(at).unwrap_or(Timestamp::UNIX_EPOCH);
    at.to_zoned(zone.clone()).strftime("%Y-%m-%dT%H:%M:%S%:z").to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_start_is_parsed_with_offset_as_local_time_or_as_seconds() {
        let zone = TimeZone::get("Europe/Oslo").unwrap();
        let now = 1_795_435_200;
        for start_text in
            ["1795442400", "2026-11-23T14:00:00Z", "2026-11-23T15:00:00", "2026-11-23T15:00"]
        {
            assert_eq!(
                parse_start(Some(start_text), now, &zone),
                Some(1_795_442_400),
                "{start_text}"
            );
        }
        assert_eq!(
            parse_start(Some(&format_local_time_for_url(1_795_442_400, &zone)), now, &zone),
            Some(1_795_442_400)
        );
        for wrong in ["", "soon", "0", "2026-11-23T11:00:00Z", "99999999999999", "2126-01-01T00:00"]
        {
            assert_eq!(parse_start(Some(wrong), now, &zone), None, "{wrong}");
        }
    }
}
