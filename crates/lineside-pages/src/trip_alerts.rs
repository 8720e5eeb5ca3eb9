//! The alerts on the page of a trip: those whose active period and the trip's time overlap.

use lineside_formats::gtfs::{RouteIdx, Timetable};
use lineside_formats::gtfs_rt::proto;
use lineside_model::NetworkState;

use super::alerts::{self, AlertSummary};
use super::languages::PreferredLanguages;

/// Seconds between now and a trip within which live data and an alert without an end count for it.
const TRIP_NEAR_S: i64 = 3 * 3600;

/// Returns the alerts about a trip's line that are active while the trip runs; for a running trip, from now on. An
/// alert without an end counts only for trips of the next hours: nobody knows if it still holds on another day. `span`
/// is the time of the first and the last call, Unix seconds.
pub(super) fn find_for_trip(
    state: &NetworkState,
    timetable: &Timetable,
    route: RouteIdx,
    span: (i64, i64),
    now: i64,
    languages: &PreferredLanguages,
) -> Vec<AlertSummary> {
    let applies = |alert: &proto::Alert| applies_to_trip(alert, span, now);
    alerts::filter_alerts_for_route(state, timetable, route, now, languages, applies)
}

/// Returns true if a trip runs now, or ends or begins within [`TRIP_NEAR_S`].
pub(super) fn is_trip_near_now((first, last): (i64, i64), now: i64) -> bool {
    (now.clamp(first, last.max(first)) - now).abs() <= TRIP_NEAR_S
}

/// Returns true if an alert is active in the remaining time of a trip, or in the time of a trip that has ended. Far
/// from now it must also say when it ends.
fn applies_to_trip(alert: &proto::Alert, (first, last): (i64, i64), now: i64) -> bool {
    let last = last.max(first);
    let from = if last < now { first } else { first.max(now) };
    let is_near = is_trip_near_now((first, last), now);
    let seconds = |at: u64| i64::try_from(at).unwrap_or(i64::MAX);
    let overlaps = |period: &proto::TimeRange| {
        period.start.is_none_or(|start| seconds(start) <= last)
            && period.end.is_none_or(|end| from < seconds(end))
    };
    let mut periods = alert.active_period.iter();
    match alert.active_period.as_slice() {
        [] => is_near,
        _ => periods.any(|period| overlaps(period) && (is_near || period.end.is_some())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOUR: i64 = 3600;
    const DAY: i64 = 24 * HOUR;
    const NOW: i64 = 10 * DAY;

    fn applies(periods: &[(Option<i64>, Option<i64>)], span: (i64, i64)) -> bool {
        let seconds = |at: Option<i64>| at.map(|at| u64::try_from(at).unwrap());
        let period = |&(start, end): &(Option<i64>, Option<i64>)| proto::TimeRange {
            start: seconds(start),
            end: seconds(end),
        };
        let active_period = periods.iter().map(period).collect();
        applies_to_trip(&proto::Alert { active_period, ..proto::Alert::default() }, span, NOW)
    }

    #[test]
    fn an_alert_applies_to_trips_of_its_period_only() {
        let (running, tomorrow) = ((NOW - 60, NOW + 60), (NOW + DAY, NOW + DAY + HOUR));
        let of_today = [(None, Some(NOW + 600))];
        assert!(applies(&of_today, running));
        assert!(!applies(&of_today, tomorrow), "it has ended by then");
        for endless in [&[(Some(0), None)][..], &[]] {
            assert!(applies(endless, running));
            assert!(!applies(endless, tomorrow), "nobody knows if it still holds");
        }
        let planned = [(Some(NOW + DAY), Some(NOW + 2 * DAY))];
        assert!(applies(&planned, tomorrow) && !applies(&planned, running));
        let ended = (NOW - 600, NOW - 300);
        assert!(!applies(&[(Some(NOW - 100), Some(NOW + HOUR))], ended), "it began after the trip");
    }

    #[test]
    fn an_alert_applies_if_any_part_of_the_trip_is_in_its_period() {
        let coming = (NOW + HOUR, NOW + 2 * HOUR);
        assert!(applies(&[(Some(NOW + 90 * 60), Some(NOW + DAY))], coming), "it begins on the way");
        assert!(applies(&[(None, Some(NOW + 90 * 60))], coming), "it ends on the way");
        assert!(!applies(&[(None, Some(NOW + HOUR))], coming), "it ends at the start");
        assert!(!applies(&[(Some(NOW + 2 * HOUR + 1), None)], coming), "it begins after the end");
        let running = (NOW - HOUR, NOW + HOUR);
        assert!(applies(&[(Some(NOW + 60), Some(NOW + DAY))], running));
        assert!(!applies(&[(Some(NOW - HOUR), Some(NOW - 60))], running), "it is over");
        let ended = (NOW - 2 * HOUR, NOW - HOUR);
        assert!(applies(&[(Some(NOW - DAY), Some(NOW - 90 * 60))], ended), "it held on the way");
    }
}
