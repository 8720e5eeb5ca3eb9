//! Which departures a board shows, and where the links to earlier and later ones lead.

use jiff::Timestamp;
use jiff::civil::DateTime;
use jiff::tz::TimeZone;
use lineside_ingest::Departure;

/// How far a board looks ahead, in seconds; as far as its channel does.
pub(super) const HORIZON_S: i64 = 2 * 60 * 60;
/// How far ahead a board may be moved, in seconds.
const AHEAD_MAX_S: i64 = 366 * 24 * 60 * 60;

/// The part of a stop's departures that a board shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct BoardWindow {
    /// Where it begins, Unix seconds; `None` for now.
    pub(super) from: Option<i64>,
    /// Where the window before it begins, if there is one; now or earlier for the board of now.
    pub(super) earlier: Option<i64>,
    /// Where the window after it begins.
    pub(super) later: i64,
}

impl BoardWindow {
    /// The window of a board. `departures` are those from `from` on, of which `limit` are shown; `all_from` looks for those
    /// from a moment on.
    pub(super) fn new(
        from: Option<i64>,
        now: i64,
        departures: &[Departure],
        limit: usize,
        all_from: impl Fn(i64) -> Vec<Departure>,
    ) -> Self {
        let begin = from.unwrap_or(now);
        // At least a minute on, or many departures of one minute would hold the board where it is.
        let next = departures.get(limit).map(|next| next.departure_time().max(begin + 60));
        let later = next.unwrap_or(begin + HORIZON_S);
        let earlier = from.map(|from| {
            let before = all_from((from - HORIZON_S).max(now)).into_iter();
            let before: Vec<i64> = before
                .map(|it| it.departure_time())
                .filter(|at| (now..from).contains(at))
                .collect();
            // Where no more than one page of departures is before it, the board of now has them all.
            let first = before.len().checked_sub(limit).filter(|first| *first > 0);
            let first = first.and_then(|first| before.get(first));
            first.copied().unwrap_or((from - HORIZON_S).max(now))
        });
        Self { from, earlier, later }
    }
}

/// Where a board begins that an address asks for: a time with an offset, a local one, or Unix seconds. `None` for now, also if
/// it is past or cannot be read.
pub(super) fn parse_start(after: Option<&str>, now: i64, zone: &TimeZone) -> Option<i64> {
    let text = after?;
    let local = || {
        let time: DateTime = text.parse().ok()?;
        Some(zone.to_timestamp(time).ok()?.as_second())
    };
    let with_offset = || text.parse::<Timestamp>().ok().map(Timestamp::as_second);
    let at = text.parse::<i64>().ok().or_else(with_offset).or_else(local)?;
    (now + 60..=now.saturating_add(AHEAD_MAX_S)).contains(&at).then_some(at)
}

/// A moment as an address has it: local time, which people can read and change.
pub(super) fn format_local_time(at: i64, zone: &TimeZone) -> String {
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
        for said in
            ["1795442400", "2026-11-23T14:00:00Z", "2026-11-23T15:00:00", "2026-11-23T15:00"]
        {
            assert_eq!(parse_start(Some(said), now, &zone), Some(1_795_442_400), "{said}");
        }
        assert_eq!(
            parse_start(Some(&format_local_time(1_795_442_400, &zone)), now, &zone),
            Some(1_795_442_400)
        );
        for wrong in ["", "soon", "0", "2026-11-23T11:00:00Z", "99999999999999", "2126-01-01T00:00"]
        {
            assert_eq!(parse_start(Some(wrong), now, &zone), None, "{wrong}");
        }
    }
}
