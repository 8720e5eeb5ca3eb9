//! What is worth saying: compares how a feed is with what was said of it last.

use std::time::Duration;

use jiff::civil::Date;
use lineside_ingest::FeedState;
use lineside_sync::UnixMillis;

/// Days before the last day of service at which it is said that a schedule runs out.
const EXPIRY_DAYS: [i64; 3] = [1, 7, 30];

/// How patient a target is.
#[derive(Clone, Copy, Debug)]
pub(super) struct Patience {
    /// How long a state has to hold.
    pub(super) after: Duration,
    /// How long after the last notice further trouble waits.
    pub(super) quiet: Duration,
}

/// What was said last of a feed's state, and when.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Said {
    pub(super) state: FeedState,
    pub(super) at: UnixMillis,
}

/// Whether this state is to be said now. `since` is when the trouble began, whatever its states were, or ended.
///
/// That a feed is well again is said as soon as that holds, but only where trouble was said. Trouble within the quiet
/// time after the last notice waits for its end, and is then said if it is still there.
pub(super) fn is_due(
    said: Option<Said>,
    state: FeedState,
    since: UnixMillis,
    now: UnixMillis,
    patience: Patience,
) -> bool {
    let before = said.map_or(FeedState::Ok, |said| said.state);
    if state == FeedState::Unknown || state == before || now.since(since) < patience.after {
        return false;
    }
    !state.is_trouble() || said.is_none_or(|said| now.since(said.at) >= patience.quiet)
}

/// The word by which it is remembered how far a schedule's end was when it was said, or none while it is far.
pub(super) fn expiry_word(last: Date, days_left: i64) -> Option<String> {
    if days_left < 0 {
        return Some(format!("{last} over"));
    }
    let step = EXPIRY_DAYS.into_iter().find(|days| days_left <= *days)?;
    Some(format!("{last} {step}"))
}

#[cfg(test)]
mod tests {
    use jiff::civil::date;
    use proptest::prelude::*;

    use super::*;

    const S: Duration = Duration::from_secs(1);
    const PATIENCE: Patience =
        Patience { after: S.saturating_mul(30), quiet: S.saturating_mul(900) };

    fn at(seconds: i64) -> UnixMillis {
        UnixMillis::from_seconds(seconds)
    }

    /// What is said of a feed that changes so, at which second.
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
            if is_due(said, state, at(since), at(second), PATIENCE) {
                said = Some(Said { state, at: at(second) });
                told.push((second, state));
            }
        }
        told
    }

    #[test]
    fn trouble_and_its_end_are_said_once_they_hold() {
        use FeedState::{Failing, Ok, Stale};
        let changes = [(0, Ok), (100, Stale), (110, Ok), (200, Stale), (400, Failing), (1_500, Ok)];
        let expected = [(230, Stale), (1_130, Failing), (1_530, Ok)];
        assert_eq!(
            told(&changes, 3_000),
            expected,
            "a hiccup is not said; the worse waits for the quiet time"
        );
    }

    #[test]
    fn a_feed_that_comes_and_goes_is_told_of_at_most_twice_per_quiet_time() {
        use FeedState::{Failing, Ok};
        let changes: Vec<_> =
            (0..60).map(|n| (n * 60, if n % 2 == 0 { Failing } else { Ok })).collect();
        let told = told(&changes, 3_600);
        assert!((2..=10).contains(&told.len()), "{told:?}");
        assert_eq!(told[0], (30, Failing));
    }

    #[test]
    fn an_end_is_said_at_each_step_and_anew_for_a_new_version() {
        let word = |days| expiry_word(date(2026, 12, 1), days);
        assert_eq!(word(31), None);
        assert_eq!(word(30).as_deref(), Some("2026-12-01 30"));
        assert_eq!(word(8), word(30));
        assert_eq!(word(7).as_deref(), Some("2026-12-01 7"));
        assert_eq!(word(0), word(1));
        assert_eq!(word(-1).as_deref(), Some("2026-12-01 over"));
    }

    proptest! {
        #[test]
        fn what_is_said_is_true_and_never_said_twice_in_a_row(
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
