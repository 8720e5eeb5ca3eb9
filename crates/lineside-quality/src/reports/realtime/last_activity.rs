//! Whether a feed had trips or vehicles before this process started.

use lineside_model::FeedId;
use lineside_store::Store;
use lineside_validate::rules::gtfs_rt::TRIPS_EXPECTED_FOR_S;

use super::RealtimeReportDetails;
use crate::reports::{FeedValidationReport, REALTIME, load_stored_reports};

/// Parses the details of a report on real-time data; `None` if an older program wrote others.
pub fn parse_realtime_details(report: &FeedValidationReport) -> Option<RealtimeReportDetails> {
    serde_json::from_value(report.about.clone()).ok()
}

/// Returns true if the report of an earlier process shows that the feed had trips or vehicles within some days before
/// `now`, in seconds since 1970 on the clock of its data. The rules stop missing them after equally many days.
pub fn had_trips_or_vehicles_recently(store: &Store, feed: &FeedId, now: i64) -> bool {
    let found = load_stored_reports(store, feed, REALTIME, 1);
    let about = found.first().and_then(parse_realtime_details);
    about.is_some_and(|it| {
        is_recent_activity(it.told_at, now) || is_recent_activity(it.trips_named_at, now)
    })
}

/// Returns true if `told_at` is not 0 and lies shortly before `now`. A later time is from before the clock was set
/// back, so its age is unknown.
fn is_recent_activity(last_activity_at: i64, now: i64) -> bool {
    last_activity_at > 0
        && (0..=TRIPS_EXPECTED_FOR_S).contains(&now.saturating_sub(last_activity_at))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_in_the_future_are_not_recent() {
        let now = 1_767_250_000;
        for (last_activity_at, is_recent_enough) in [
            (now, true),
            (now - TRIPS_EXPECTED_FOR_S, true),
            (now - TRIPS_EXPECTED_FOR_S - 1, false),
            (now + 1, false),
            (0, false),
        ] {
            assert_eq!(
                is_recent_activity(last_activity_at, now),
                is_recent_enough,
                "{last_activity_at}"
            );
        }
        assert!(!is_recent_activity(0, 5), "it never had trips");
    }
}
