//! Decides what to announce: compares a feed with its last announcement.

use std::time::Duration;

use lineside_model::FeedState;
use lineside_sync::UnixMillis;

/// Days before the last day of service at which the expiry of a schedule is announced.
const EXPIRY_DAYS: [i64; 3] = [1, 7, 30];
/// Days by which an end must exceed the announced one to be announced as an extension. Rolling timetables, which are
/// mostly republished once a day or a week, extend theirs by less.
const ROLLING_DAYS: i64 = 7;

/// The delays of a target's announcements.
#[derive(Clone, Copy, Debug)]
pub(super) struct AnnouncementDelays {
    /// Time that a state must last.
    pub(super) state_min: Duration,
    /// Time after the last notification in which further trouble waits.
    pub(super) quiet_period: Duration,
}

/// The last announced state of a feed, and its time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct AnnouncedState {
    pub(super) state: FeedState,
    pub(super) at: UnixMillis,
}

/// Returns true if a state is due for announcement. `since` is the start of the current trouble, even if its states
/// changed, or the end of the last one.
///
/// A recovery is announced as soon as it has lasted, but only if trouble was announced. Trouble within the quiet time
/// after the last notification waits for its end, and is then announced if it still lasts.
pub(super) fn is_state_announcement_due(
    announced_state: Option<AnnouncedState>,
    state: FeedState,
    since: UnixMillis,
    now: UnixMillis,
    delays: AnnouncementDelays,
) -> bool {
    let before = announced_state.map_or(FeedState::Ok, |announced_state| announced_state.state);
    if state == FeedState::Unknown
        || state == before
        || now.duration_since(since) < delays.state_min
    {
        return false;
    }
    !state.is_problem_state()
        || announced_state.is_none_or(|announced_state| {
            now.duration_since(announced_state.at) >= delays.quiet_period
        })
}

/// The remaining service of a schedule, in stages. A nearer end is less.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum ExpiryStage {
    /// The last day of service has passed.
    Expired,
    /// At most this many days are left: one of [`EXPIRY_DAYS`].
    Within(i64),
    /// More days are left.
    Far,
}

impl ExpiryStage {
    /// Returns the stage for a number of days left; a negative number if the end has passed.
    pub(super) fn from_days_left(days_left: i64) -> Self {
        match EXPIRY_DAYS.into_iter().find(|days| days_left <= *days) {
            _ if days_left < 0 => Self::Expired,
            Some(days) => Self::Within(days),
            None => Self::Far,
        }
    }

    /// Returns the stored form.
    pub(super) fn to_stored_text(self) -> String {
        match self {
            Self::Expired => "over".to_owned(),
            Self::Within(days) => days.to_string(),
            Self::Far => String::new(),
        }
    }

    /// Parses the stored form.
    pub(super) fn parse_stored_text(stored: &str) -> Self {
        let all = EXPIRY_DAYS.map(Self::Within).into_iter().chain([Self::Expired]);
        all.into_iter().find(|end| end.to_stored_text() == stored).unwrap_or(Self::Far)
    }

    /// Returns true if the end is due for announcement after `announced_stage`: it came nearer, or the schedule was
    /// extended.
    ///
    /// A timetable that each version extends a little is neither.
    pub(super) fn is_expiry_announcement_due(announced_stage: Self, days_left: i64) -> bool {
        match announced_stage {
            announced_stage if Self::from_days_left(days_left) < announced_stage => true,
            Self::Expired => days_left >= 0,
            Self::Within(days) => days_left > days + ROLLING_DAYS,
            Self::Far => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const S: Duration = Duration::from_secs(1);
    const DELAYS: AnnouncementDelays =
        AnnouncementDelays { state_min: S.saturating_mul(30), quiet_period: S.saturating_mul(900) };

    fn at(seconds: i64) -> UnixMillis {
        UnixMillis::from_seconds(seconds)
    }

    /// Returns the announcements for these changes, each with its second.
    fn announced_states(changes: &[(i64, FeedState)], until: i64) -> Vec<(i64, FeedState)> {
        let mut announced_state = None;
        let mut announced = Vec::new();
        let (mut state, mut since) = (FeedState::Unknown, 0);
        for second in 0..until {
            for (_, next) in changes.iter().filter(|(when, _)| *when == second) {
                if next.is_problem_state() != state.is_problem_state()
                    || state == FeedState::Unknown
                {
                    since = second;
                }
                state = *next;
            }
            if is_state_announcement_due(announced_state, state, at(since), at(second), DELAYS) {
                announced_state = Some(AnnouncedState { state, at: at(second) });
                announced.push((second, state));
            }
        }
        announced
    }

    #[test]
    fn a_failure_and_its_end_are_announced_after_a_delay() {
        use FeedState::{Failing, Ok, Stale};
        let changes = [(0, Ok), (100, Stale), (110, Ok), (200, Stale), (400, Failing), (1_500, Ok)];
        let expected = [(230, Stale), (1_130, Failing), (1_530, Ok)];
        assert_eq!(
            announced_states(&changes, 3_000),
            expected,
            "a short failure is not announced; a worse state waits for the quiet time"
        );
    }

    #[test]
    fn a_flapping_feed_is_announced_at_most_twice_per_quiet_time() {
        use FeedState::{Failing, Ok};
        let changes: Vec<_> =
            (0..60).map(|n| (n * 60, if n % 2 == 0 { Failing } else { Ok })).collect();
        let announced = announced_states(&changes, 3_600);
        assert!((2..=10).contains(&announced.len()), "{announced:?}");
        assert_eq!(announced[0], (30, Failing));
    }

    /// Returns the announcements for the days left on each day, each with its day.
    fn announce_ends(days_left: impl IntoIterator<Item = i64>) -> Vec<(usize, String)> {
        let mut announced_stage = ExpiryStage::Far;
        let mut announced = Vec::new();
        for (day, left) in days_left.into_iter().enumerate() {
            if ExpiryStage::is_expiry_announcement_due(announced_stage, left) {
                announced_stage = ExpiryStage::from_days_left(left);
                announced.push((day, announced_stage.to_stored_text()));
            }
        }
        announced
    }

    #[test]
    fn an_expiry_is_announced_at_each_step_and_its_renewal_too() {
        let list_stages = |days: &[i64]| -> Vec<String> {
            announce_ends(days.iter().copied()).into_iter().map(|(_, word)| word).collect()
        };
        assert_eq!(list_stages(&[31, 30, 8, 7, 2, 1, 0, -1, -2]), ["30", "7", "1", "over"]);
        assert_eq!(list_stages(&[30, 200, 31]), ["30", ""], "a new version");
        assert_eq!(list_stages(&[1, 20, 7, 1]), ["1", "30", "7", "1"]);
        assert_eq!(list_stages(&[-1, 3]), ["over", "7"], "a new version after the expiry");
        assert_eq!(list_stages(&[-1, 90]), ["over", ""]);
        assert_eq!(list_stages(&[200, 300]), [""; 0]);
        for end in [
            ExpiryStage::Expired,
            ExpiryStage::Within(1),
            ExpiryStage::Within(7),
            ExpiryStage::Within(30),
            ExpiryStage::Far,
        ] {
            assert_eq!(ExpiryStage::parse_stored_text(&end.to_stored_text()), end);
        }
    }

    proptest! {
        #[test]
        fn a_regularly_renewed_timetable_is_announced_once(period in 1_i64..=7, more in 0_i64..60) {
            // On the last day of each version the next one is published.
            let days_left = (0..200).map(|day| more + period - 1 - day % period);
            let announced = announce_ends(days_left);
            prop_assert!(announced.len() <= EXPIRY_DAYS.len(), "{:?}", announced);
            prop_assert!(announced.iter().all(|(day, _)| *day < period as usize), "{:?}", announced);
        }

        #[test]
        fn announcements_are_true_and_never_repeat_in_a_row(
            changes in proptest::collection::vec((0_i64..2_000, 0_usize..5), 0..40)
        ) {
            let changes: Vec<_> =
                changes.into_iter().map(|(when, state)| (when, FeedState::ALL[state])).collect();
            let announced = announced_states(&changes, 2_200);
            let mut before = FeedState::Ok;
            for (_, state) in &announced {
                prop_assert_ne!(*state, before);
                before = *state;
            }
            let troubles: Vec<i64> =
                announced.iter().filter(|(_, state)| state.is_problem_state()).map(|(when, _)| *when).collect();
            prop_assert!(troubles.windows(2).all(|pair| pair[1] - pair[0] >= 900), "{:?}", announced);
        }
    }
}
