//! Decides what to announce: compares a feed with its last announcement.

use std::time::Duration;

use lineside_ingest::FeedState;
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
    pub(super) after: Duration,
    /// Time after the last notification in which further trouble waits.
    pub(super) quiet: Duration,
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
pub(super) fn is_state_due(
    said: Option<AnnouncedState>,
    state: FeedState,
    since: UnixMillis,
    now: UnixMillis,
    patience: AnnouncementDelays,
) -> bool {
    let before = said.map_or(FeedState::Ok, |said| said.state);
    if state == FeedState::Unknown || state == before || now.duration_since(since) < patience.after
    {
        return false;
    }
    !state.is_trouble() || said.is_none_or(|said| now.duration_since(said.at) >= patience.quiet)
}

/// The remaining service of a schedule, in stages. A nearer end is less.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum ExpiryStage {
    /// The last day of service has passed.
    Over,
    /// At most this many days are left: one of [`EXPIRY_DAYS`].
    Within(i64),
    /// More days are left.
    Far,
}

impl ExpiryStage {
    /// Returns the stage for a number of days left; a negative number if the end has passed.
    pub(super) fn from_days_left(days_left: i64) -> Self {
        match EXPIRY_DAYS.into_iter().find(|days| days_left <= *days) {
            _ if days_left < 0 => Self::Over,
            Some(days) => Self::Within(days),
            None => Self::Far,
        }
    }

    /// Returns the stored form.
    pub(super) fn stored_word(self) -> String {
        match self {
            Self::Over => "over".to_owned(),
            Self::Within(days) => days.to_string(),
            Self::Far => String::new(),
        }
    }

    /// Parses the stored form.
    pub(super) fn parse_stored(word: &str) -> Self {
        let all = EXPIRY_DAYS.map(Self::Within).into_iter().chain([Self::Over]);
        all.into_iter().find(|end| end.stored_word() == word).unwrap_or(Self::Far)
    }

    /// Returns true if the end is due for announcement after `said`: it came nearer, or the schedule was extended.
    ///
    /// A timetable that each version extends a little is neither.
    pub(super) fn is_announcement_due(said: Self, days_left: i64) -> bool {
        match said {
            said if Self::from_days_left(days_left) < said => true,
            Self::Over => days_left >= 0,
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
    const PATIENCE: AnnouncementDelays =
        AnnouncementDelays { after: S.saturating_mul(30), quiet: S.saturating_mul(900) };

    fn at(seconds: i64) -> UnixMillis {
        UnixMillis::from_seconds(seconds)
    }

    /// Returns the announcements for these changes, each with its second.
    fn told(changes: &[(i64, FeedState)], until: i64) -> Vec<(i64, FeedState)> {
        let mut said = None;
        let mut told = Vec::new();
        let (mut state, mut since) = (FeedState::Unknown, 0);
        for second in 0..until {
            for (_, next) in changes.iter().filter(|(when, _)| *when == second) {
                if next.is_trouble() != state.is_trouble() || state == FeedState::Unknown {
                    since = second;
                }
                state = *next;
            }
            if is_state_due(said, state, at(since), at(second), PATIENCE) {
                said = Some(AnnouncedState { state, at: at(second) });
                told.push((second, state));
            }
        }
        told
    }

    #[test]
    fn a_failure_and_its_end_are_announced_after_a_delay() {
        use FeedState::{Failing, Ok, Stale};
        let changes = [(0, Ok), (100, Stale), (110, Ok), (200, Stale), (400, Failing), (1_500, Ok)];
        let expected = [(230, Stale), (1_130, Failing), (1_530, Ok)];
        assert_eq!(
            told(&changes, 3_000),
            expected,
            "a short failure is not announced; a worse state waits for the quiet time"
        );
    }

    #[test]
    fn a_flapping_feed_is_announced_at_most_twice_per_quiet_time() {
        use FeedState::{Failing, Ok};
        let changes: Vec<_> =
            (0..60).map(|n| (n * 60, if n % 2 == 0 { Failing } else { Ok })).collect();
        let told = told(&changes, 3_600);
        assert!((2..=10).contains(&told.len()), "{told:?}");
        assert_eq!(told[0], (30, Failing));
    }

    /// Returns the announcements for the days left on each day, each with its day.
    fn ends_told(days_left: impl IntoIterator<Item = i64>) -> Vec<(usize, String)> {
        let mut said = ExpiryStage::Far;
        let mut told = Vec::new();
        for (day, left) in days_left.into_iter().enumerate() {
            if ExpiryStage::is_announcement_due(said, left) {
                said = ExpiryStage::from_days_left(left);
                told.push((day, said.stored_word()));
            }
        }
        told
    }

    #[test]
    fn an_expiry_is_announced_at_each_step_and_its_renewal_too() {
        let told = |days: &[i64]| -> Vec<String> {
            ends_told(days.iter().copied()).into_iter().map(|(_, word)| word).collect()
        };
        assert_eq!(told(&[31, 30, 8, 7, 2, 1, 0, -1, -2]), ["30", "7", "1", "over"]);
        assert_eq!(told(&[30, 200, 31]), ["30", ""], "a new version");
        assert_eq!(told(&[1, 20, 7, 1]), ["1", "30", "7", "1"]);
        assert_eq!(told(&[-1, 3]), ["over", "7"], "a new version after the expiry");
        assert_eq!(told(&[-1, 90]), ["over", ""]);
        assert_eq!(told(&[200, 300]), [""; 0]);
        for end in [
            ExpiryStage::Over,
            ExpiryStage::Within(1),
            ExpiryStage::Within(7),
            ExpiryStage::Within(30),
            ExpiryStage::Far,
        ] {
            assert_eq!(ExpiryStage::parse_stored(&end.stored_word()), end);
        }
    }

    proptest! {
        #[test]
        fn a_regularly_renewed_timetable_is_announced_once(period in 1_i64..=7, more in 0_i64..60) {
            // On the last day of each version the next one is published.
            let days_left = (0..200).map(|day| more + period - 1 - day % period);
            let told = ends_told(days_left);
            prop_assert!(told.len() <= EXPIRY_DAYS.len(), "{:?}", told);
            prop_assert!(told.iter().all(|(day, _)| *day < period as usize), "{:?}", told);
        }

        #[test]
        fn announcements_are_true_and_never_repeat_in_a_row(
            changes in proptest::collection::vec((0_i64..2_000, 0_usize..5), 0..40)
        ) {
            let changes: Vec<_> =
                changes.into_iter().map(|(when, state)| (when, FeedState::ALL[state])).collect();
            let told = told(&changes, 2_200);
            let mut before = FeedState::Ok;
            for (_, state) in &told {
                prop_assert_ne!(*state, before);
                before = *state;
            }
            let troubles: Vec<i64> =
                told.iter().filter(|(_, state)| state.is_trouble()).map(|(when, _)| *when).collect();
            prop_assert!(troubles.windows(2).all(|pair| pair[1] - pair[0] >= 900), "{:?}", told);
        }
    }
}
