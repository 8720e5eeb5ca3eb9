//! The update policy of a subscription: changes or the whole state, the threshold of time changes, and the interval.

use std::time::Duration;

use lineside_formats::siri::DurationSeconds;
use lineside_http::limits::SIRI_CYCLE;

/// Shortest interval between deliveries of the whole state.
const FULL_DELIVERY_INTERVAL_MIN: Duration = Duration::from_secs(15);
/// Upper bound of `UpdateInterval` and `ChangeBeforeUpdates`; larger values are clamped.
const INTERVAL_MAX: Duration = Duration::from_secs(60 * 60);

/// The update policy of a subscription.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct UpdatePolicy {
    /// True if a delivery has only changes; false if it always has everything.
    pub(super) is_incremental: bool,
    /// Seconds that an expected time must move to count as a change; 0 counts every change.
    pub(super) change_min: u32,
    /// Shortest interval between two deliveries.
    pub(super) interval: Duration,
}

impl Default for UpdatePolicy {
    fn default() -> Self {
        Self { is_incremental: true, change_min: 0, interval: SIRI_CYCLE }
    }
}

impl UpdatePolicy {
    /// Builds the policy from `IncrementalUpdates`, `ChangeBeforeUpdates` and `UpdateInterval`, within bounds. Negative
    /// values count as absent.
    pub(super) fn from_request(
        incremental: Option<bool>,
        least_change: Option<DurationSeconds>,
        interval: Option<DurationSeconds>,
    ) -> Self {
        let is_incremental = incremental.unwrap_or(true);
        let least_change = clamp_interval(least_change).as_secs();
        let shortest = if is_incremental { SIRI_CYCLE } else { FULL_DELIVERY_INTERVAL_MIN };
        Self {
            is_incremental,
            change_min: u32::try_from(least_change).unwrap_or(u32::MAX),
            interval: clamp_interval(interval).max(shortest),
        }
    }

    pub(super) fn pause_after_delivery(&self) -> Duration {
        // Without a longer interval, the cycle of checks is the pause.
        if self.interval > SIRI_CYCLE { self.interval } else { Duration::ZERO }
    }
}

fn clamp_interval(requested: Option<DurationSeconds>) -> Duration {
    let seconds = requested.and_then(|requested| u64::try_from(requested.0).ok()).unwrap_or(0);
    Duration::from_secs(seconds).min(INTERVAL_MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requested_update_values_are_clamped() {
        let policy_for = |whole: bool, change: i32, interval: i32| {
            let update_policy = UpdatePolicy::from_request(
                Some(!whole),
                Some(DurationSeconds(change)),
                Some(DurationSeconds(interval)),
            );
            (
                update_policy.is_incremental,
                update_policy.change_min,
                update_policy.interval.as_secs(),
            )
        };
        assert_eq!(policy_for(false, 0, 0), (true, 0, 5));
        assert_eq!(policy_for(false, 120, 60), (true, 120, 60));
        assert_eq!(policy_for(false, 99_999, 99_999), (true, 3_600, 3_600));
        assert_eq!(policy_for(false, -5, -5), (true, 0, 5));
        assert_eq!(policy_for(true, 0, 1), (false, 0, 15));
        assert_eq!(policy_for(true, 0, 30), (false, 0, 30));
        assert_eq!(UpdatePolicy::from_request(None, None, None), UpdatePolicy::default());
        assert_eq!(UpdatePolicy::default().pause_after_delivery(), Duration::ZERO);
        assert_eq!(
            UpdatePolicy::from_request(Some(false), None, None).pause_after_delivery().as_secs(),
            15
        );
    }
}
