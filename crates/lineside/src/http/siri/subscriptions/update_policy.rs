//! In what manner a subscriber wants to be told: only what changed or all of it, from which change of a time on, how often.

use std::time::Duration;

use lineside_formats::siri::DurationSeconds;

use crate::http::limits::SIRI_CYCLE;

/// All that there is comes again this often at most.
const WHOLE_CYCLE: Duration = Duration::from_secs(15);
/// The longest `UpdateInterval`, and the largest `ChangeBeforeUpdates`; what is more counts as this.
const LONGEST: Duration = Duration::from_secs(60 * 60);

/// How a subscriber is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct UpdatePolicy {
    /// Whether only what changed is told, and not each time all that is asked for.
    pub(super) is_incremental: bool,
    /// Seconds that an expected time has to move before that is a change; 0 counts each.
    pub(super) least_change: u32,
    /// From one delivery to the next at least.
    pub(super) interval: Duration,
}

impl Default for UpdatePolicy {
    fn default() -> Self {
        Self { is_incremental: true, least_change: 0, interval: SIRI_CYCLE }
    }
}

impl UpdatePolicy {
    /// What a subscription asks for with `IncrementalUpdates`, `ChangeBeforeUpdates` and `UpdateInterval`, within bounds. What
    /// is negative is as if it were not said.
    pub(super) fn from_request(
        incremental: Option<bool>,
        least_change: Option<DurationSeconds>,
        interval: Option<DurationSeconds>,
    ) -> Self {
        let is_incremental = incremental.unwrap_or(true);
        let least_change = clamp_interval(least_change).as_secs();
        let shortest = if is_incremental { SIRI_CYCLE } else { WHOLE_CYCLE };
        Self {
            is_incremental,
            least_change: u32::try_from(least_change).unwrap_or(u32::MAX),
            interval: clamp_interval(interval).max(shortest),
        }
    }

    /// How long after a delivery nothing is told.
    pub(super) fn min_interval(&self) -> Duration {
        // Without one, the looks themselves are that far apart.
        if self.interval > SIRI_CYCLE { self.interval } else { Duration::ZERO }
    }
}

fn clamp_interval(asked: Option<DurationSeconds>) -> Duration {
    let seconds = asked.and_then(|asked| u64::try_from(asked.0).ok()).unwrap_or(0);
    Duration::from_secs(seconds).min(LONGEST)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_asked_for_counts_within_bounds() {
        let of = |whole: bool, change: i32, interval: i32| {
            let manner = UpdatePolicy::from_request(
                Some(!whole),
                Some(DurationSeconds(change)),
                Some(DurationSeconds(interval)),
            );
            (manner.is_incremental, manner.least_change, manner.interval.as_secs())
        };
        assert_eq!(of(false, 0, 0), (true, 0, 5));
        assert_eq!(of(false, 120, 60), (true, 120, 60));
        assert_eq!(of(false, 99_999, 99_999), (true, 3_600, 3_600));
        assert_eq!(of(false, -5, -5), (true, 0, 5));
        assert_eq!(of(true, 0, 1), (false, 0, 15));
        assert_eq!(of(true, 0, 30), (false, 0, 30));
        assert_eq!(UpdatePolicy::from_request(None, None, None), UpdatePolicy::default());
        assert_eq!(UpdatePolicy::default().min_interval(), Duration::ZERO);
        assert_eq!(
            UpdatePolicy::from_request(Some(false), None, None).min_interval().as_secs(),
            15
        );
    }
}
