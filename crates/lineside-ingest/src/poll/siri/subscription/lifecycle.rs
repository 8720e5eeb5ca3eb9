//! The course of a subscription: when its producer is asked what, as a function of what was heard and of the present.

use std::time::Duration;

use lineside_formats::{Problem, Problems, siri::SiriTime};
use lineside_sync::UnixMillis;

use super::agreement::SubscriptionAgreement;
use crate::limits::BACKOFF_MAX;

/// For how long a producer is asked to go on; half of it later it is asked again.
pub(super) const LIFETIME: Duration = Duration::from_secs(24 * 60 * 60);
/// After how long without a word a producer is asked whether it is there: two heartbeats, and a little.
const CHECK_AFTER: Duration = Duration::from_secs(130);
/// How long nothing may be known of a producer,
const SILENCE_MAX: Duration = Duration::from_secs(190);
/// and how long nothing may be heard of a subscription whose producer is there.
const UNHEARD_MAX: Duration = Duration::from_secs(10 * 60);
/// How long after its first delivery a subscription has told all that there is: producers cut it into parts, and each
/// service comes by itself.
pub(super) const TELLING_MAX: Duration = Duration::from_secs(60);
/// A subscription is not renewed more often than this.
const RENEWAL_MIN: Duration = Duration::from_secs(60);
/// How long after its last agreement a producer that has ended it is asked again at the soonest. Doubles with each agreement
/// that it ends before it has delivered anything, up to [`BACKOFF_MAX`].
const AGAIN_MIN: Duration = Duration::from_secs(15);

/// What is known of a feed's subscription.
#[derive(Debug, Default)]
pub(in crate::poll::siri) struct SiriSubscription {
    /// When the producer is to be asked again, on the monotonic clock; none without a subscription.
    pub(super) renew_at: Option<Duration>,
    pub(super) heard_at: Duration,
    /// When the producer last said, because it was asked, that it is there.
    pub(super) vouched_at: Option<Duration>,
    /// Whether the producer does not know how to say so.
    pub(super) has_no_checks: bool,
    /// What it is asked, or was asked last.
    pub(super) asking: SubscriptionAction,
    /// Since when the producer is up, by its own clock.
    started: Option<SiriTime>,
    /// What the producer refuses of it, in its words, as they may be shown.
    refused: Vec<String>,
    /// Whether there was a delivery.
    pub(super) has_told: bool,
    /// Whether the producer was silent before, and nothing has come since.
    pub(super) is_doubted: bool,
    telling: CatchUpState,
    pub(super) supply: PendingSupply,
    /// Whether what was told before it, as by a subscription that goes on at the producer, need not be told again.
    is_renewal: bool,
    /// When the producer last agreed, to this subscription or to one before it, on the monotonic clock.
    agreed_at: Option<Duration>,
    /// How many agreements in a row it has ended without a delivery.
    n_ended: u32,
    /// When a producer that has ended it is asked again, on the monotonic clock.
    again_at: Option<Duration>,
}

/// What a producer has announced instead of bringing it.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct PendingSupply {
    /// Whether there is something to be fetched. However often that is said, it is fetched once.
    pub(super) is_due: bool,
    /// How many answers in a row said that there is more.
    pub(super) pages: u32,
}

/// What a producer is asked.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum SubscriptionAction {
    /// To begin a subscription, or to go on with it.
    #[default]
    Subscription,
    /// For what it has announced.
    Supply,
    /// Whether it is there.
    Check,
}

/// How far a producer is in telling all that there is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum CatchUpState {
    /// It has told it.
    #[default]
    Done,
    /// It is about to, or will do so again because its subscription was renewed.
    Awaited { again: bool },
    /// It has begun, and will be through at this moment on the monotonic clock.
    Begun { again: bool, through_at: Duration },
}

impl SiriSubscription {
    /// One that was agreed on at `now`, on both clocks.
    pub(super) fn with_agreement(
        self,
        agreement: SubscriptionAgreement,
        now: Duration,
        wall: UnixMillis,
    ) -> SiriSubscription {
        let again = self.renew_at.is_some() || self.is_renewal;
        let valid = agreement.valid_until.and_then(|until| {
            let millis = until.as_millis().saturating_sub(wall.0);
            // By a clock that is far behind ours it would be over already.
            u64::try_from(millis).ok().filter(|&millis| millis > 0).map(Duration::from_millis)
        });
        let lifetime = valid.unwrap_or(LIFETIME).min(LIFETIME);
        SiriSubscription {
            renew_at: Some(now + (lifetime / 2).max(RENEWAL_MIN)),
            heard_at: now,
            vouched_at: None,
            again_at: None,
            started: agreement.started.or(self.started),
            refused: agreement.refused,
            telling: CatchUpState::Awaited { again },
            agreed_at: Some(now),
            is_renewal: false,
            ..self
        }
    }

    /// The producer has ended it: what it agrees to next is another one.
    pub(super) fn to_ended(&self, now: Duration) -> SiriSubscription {
        let given_up = self.to_abandoned();
        let ended = SiriSubscription { n_ended: self.n_ended.saturating_add(1), ..given_up };
        SiriSubscription { again_at: Some(now + ended.wait_after_end(now)), ..ended }
    }

    /// Something of it was not understood: it is asked for again, and goes on at the producer meanwhile.
    pub(super) fn to_unconfirmed(&self) -> SiriSubscription {
        let is_renewal = self.renew_at.is_some() || self.is_renewal;
        SiriSubscription { is_renewal, ..self.to_abandoned() }
    }

    /// It is not relied on any more.
    pub(super) fn to_abandoned(&self) -> SiriSubscription {
        let SiriSubscription { agreed_at, n_ended, has_no_checks, .. } = *self;
        SiriSubscription { agreed_at, n_ended, has_no_checks, ..SiriSubscription::default() }
    }

    /// How long a producer that has ended what it agreed to is left alone.
    fn wait_after_end(&self, now: Duration) -> Duration {
        let doublings = self.n_ended.saturating_sub(1).min(u32::BITS - 1);
        let gap = AGAIN_MIN.saturating_mul(1 << doublings).min(BACKOFF_MAX);
        self.agreed_at.map_or(Duration::ZERO, |at| (at + gap).saturating_sub(now))
    }

    /// How long until the producer has to be asked; none where there is no subscription, and none was ended.
    pub(super) fn next_request_wait(&self, now: Duration) -> Option<Duration> {
        let Some(renew_at) = self.renew_at else {
            return self.again_at.map(|at| at.saturating_sub(now));
        };
        if self.supply.is_due {
            return Some(Duration::ZERO);
        }
        let silent_at = match self.has_no_checks {
            true => self.heard_at + SILENCE_MAX,
            false => (self.last_alive_at() + CHECK_AFTER).min(self.heard_at + UNHEARD_MAX),
        };
        Some(renew_at.min(silent_at).saturating_sub(now))
    }

    /// Decides what is asked now.
    pub(super) fn next_action(&mut self, now: Duration) -> SubscriptionAction {
        let is_due = std::mem::take(&mut self.supply.is_due);
        let is_sound = self.renew_at.is_some() && !self.is_silent(now);
        self.asking = if is_sound && is_due {
            SubscriptionAction::Supply
        } else if is_sound && self.needs_check(now) {
            SubscriptionAction::Check
        } else {
            SubscriptionAction::Subscription
        };
        self.asking
    }

    /// When something was known of the producer last.
    fn last_alive_at(&self) -> Duration {
        self.vouched_at.map_or(self.heard_at, |at| at.max(self.heard_at))
    }

    fn needs_check(&self, now: Duration) -> bool {
        !self.has_no_checks
            && self.renew_at.is_some_and(|at| now < at)
            && now.saturating_sub(self.last_alive_at()) >= CHECK_AFTER
    }

    /// Whether nothing is known of it any more, or has come for so long that it is not believed to go on.
    pub(super) fn is_silent(&self, now: Duration) -> bool {
        self.renew_at.is_some()
            && (now.saturating_sub(self.last_alive_at()) >= SILENCE_MAX
                || now.saturating_sub(self.heard_at) >= UNHEARD_MAX)
    }

    /// Whether a producer that is up since then is not the one that agreed. Both times are by its own clock.
    pub(super) fn has_restarted(&mut self, started: Option<SiriTime>) -> bool {
        let Some(started) = started else { return false };
        started > *self.started.get_or_insert(started)
    }

    /// There was a delivery.
    pub(in crate::poll::siri) fn record_delivery(&mut self, now: Duration) {
        self.has_told = true;
        self.n_ended = 0;
        if let CatchUpState::Awaited { again } = self.telling {
            self.telling = CatchUpState::Begun { again, through_at: now + TELLING_MAX };
        }
    }

    /// Whether the producer has told all that there is by now, and if so, whether it had done so before.
    pub(super) fn check_caught_up(&mut self, now: Duration) -> Option<bool> {
        let CatchUpState::Begun { again, through_at } = self.telling else { return None };
        (now >= through_at).then(|| {
            self.telling = CatchUpState::Done;
            again
        })
    }

    /// What of it is not as it was asked for.
    pub(in crate::poll::siri) fn problems(&self) -> Problems {
        let mut problems = Problems::new();
        for said in &self.refused {
            let detail = "the producer refuses a part of the subscription";
            let problem = Problem::new("subscription", "subscription_refused", detail);
            problems.push(problem.with_value(said));
        }
        problems
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);
    const NOON: UnixMillis = UnixMillis(1_795_262_400_000);

    fn at(hours: i64) -> Option<SiriTime> {
        SiriTime::from_millis(NOON.0 + hours * 3_600_000)
    }

    fn agreed(agreement: SubscriptionAgreement) -> SiriSubscription {
        SiriSubscription::default().with_agreement(agreement, SECOND, NOON)
    }

    #[test]
    fn a_producer_has_restarted_when_it_says_another_start_than_before() {
        // Its clock may be hours ahead of ours.
        let mut told =
            agreed(SubscriptionAgreement { started: at(5), ..SubscriptionAgreement::default() });
        assert!(!told.has_restarted(at(5)) && !told.has_restarted(None));
        assert!(!told.has_restarted(at(4)) && told.has_restarted(at(6)));
        let mut untold = agreed(SubscriptionAgreement::default());
        assert!(!untold.has_restarted(at(5)) && !untold.has_restarted(at(5)));
        assert!(untold.has_restarted(at(6)));
    }

    #[test]
    fn a_subscription_is_renewed_after_half_of_its_time() {
        for (valid_until, expected) in [
            (None, 12 * 3_600),
            (at(2), 3_600),
            (at(100), 12 * 3_600),
            (SiriTime::from_millis(NOON.0 + 30_000), 60),
            // By a clock that is behind ours.
            (at(-3), 12 * 3_600),
        ] {
            let subscription =
                agreed(SubscriptionAgreement { valid_until, ..SubscriptionAgreement::default() });
            let renewal = subscription.renew_at.unwrap() - SECOND;
            assert_eq!(renewal, expected * SECOND, "{valid_until:?}");
        }
    }

    #[test]
    fn who_ends_what_it_agrees_to_is_asked_ever_more_rarely() {
        let mut subscription = SiriSubscription::default();
        let mut waits = Vec::new();
        for _ in 0..9 {
            subscription = subscription
                .with_agreement(SubscriptionAgreement::default(), 9 * SECOND, NOON)
                .to_ended(10 * SECOND);
            waits.push(subscription.next_request_wait(10 * SECOND).unwrap().as_secs() + 1);
        }
        assert_eq!(waits, [15, 30, 60, 120, 240, 300, 300, 300, 300]);
        subscription =
            subscription.with_agreement(SubscriptionAgreement::default(), 9 * SECOND, NOON);
        subscription.record_delivery(10 * SECOND);
        assert_eq!(
            subscription.to_ended(10 * SECOND).next_request_wait(10 * SECOND),
            Some(14 * SECOND)
        );
        assert_eq!(
            subscription.to_ended(24 * SECOND).next_request_wait(24 * SECOND),
            Some(Duration::ZERO)
        );
    }

    #[test]
    fn all_is_told_a_while_after_the_first_delivery() {
        let mut first = agreed(SubscriptionAgreement::default());
        assert_eq!(first.check_caught_up(99 * SECOND), None);
        first.record_delivery(100 * SECOND);
        first.record_delivery(130 * SECOND);
        assert_eq!(first.check_caught_up(159 * SECOND), None);
        assert_eq!(first.check_caught_up(160 * SECOND), Some(false));
        assert_eq!(first.check_caught_up(999 * SECOND), None);
        let mut renewed =
            first.with_agreement(SubscriptionAgreement::default(), 999 * SECOND, NOON);
        renewed.record_delivery(1_000 * SECOND);
        assert_eq!(renewed.check_caught_up(1_060 * SECOND), Some(true));
        // One of which something was not understood goes on, and one that was ended does not.
        for (before, expected) in [
            (renewed.to_unconfirmed().to_unconfirmed(), true),
            (renewed.to_ended(1_070 * SECOND), false),
        ] {
            let mut next =
                before.with_agreement(SubscriptionAgreement::default(), 1_100 * SECOND, NOON);
            next.record_delivery(1_100 * SECOND);
            assert_eq!(next.check_caught_up(1_160 * SECOND), Some(expected));
        }
    }

    #[test]
    fn who_says_nothing_is_asked_whether_it_is_there_and_believed_for_a_while() {
        let mut quiet = agreed(SubscriptionAgreement::default());
        let at = |seconds: u32| SECOND * (1 + seconds);
        assert_eq!(quiet.next_request_wait(at(0)), Some(CHECK_AFTER));
        assert_eq!(
            quiet.next_action(at(10)),
            SubscriptionAction::Subscription,
            "somebody wants it asked anew"
        );
        for asked in [130, 260, 390, 520] {
            assert_eq!(quiet.next_request_wait(at(asked)), Some(Duration::ZERO));
            assert_eq!(quiet.next_action(at(asked)), SubscriptionAction::Check, "{asked}");
            quiet.vouched_at = Some(at(asked));
        }
        // That somebody is there is not that anything comes.
        assert_eq!(quiet.next_request_wait(at(520)), Some(80 * SECOND));
        assert!(!quiet.is_silent(at(599)) && quiet.is_silent(at(600)));
        assert_eq!(quiet.next_action(at(600)), SubscriptionAction::Subscription);
    }

    #[test]
    fn who_does_not_answer_whether_it_is_there_is_silent_when_it_was_before() {
        let at = |seconds: u32| SECOND * (1 + seconds);
        let mut gone = agreed(SubscriptionAgreement::default());
        assert_eq!(
            (gone.next_action(at(130)), gone.next_action(at(189))),
            (SubscriptionAction::Check, SubscriptionAction::Check)
        );
        assert_eq!(gone.next_action(at(190)), SubscriptionAction::Subscription);
        // Who does not know the question is not asked it again.
        let mut unasked =
            SiriSubscription { has_no_checks: true, ..agreed(SubscriptionAgreement::default()) };
        assert_eq!(unasked.next_request_wait(at(0)), Some(SILENCE_MAX));
        assert_eq!(unasked.next_action(at(189)), SubscriptionAction::Subscription);
        assert!(unasked.is_silent(at(190)) && unasked.to_ended(at(190)).has_no_checks);
    }

    #[test]
    fn what_is_announced_is_fetched_before_anything_else_unless_nobody_is_there() {
        let mut told = agreed(SubscriptionAgreement::default());
        told.supply.is_due = true;
        assert_eq!(told.next_request_wait(2 * SECOND), Some(Duration::ZERO));
        assert_eq!(told.next_action(150 * SECOND), SubscriptionAction::Supply);
        told.supply.is_due = true;
        assert_eq!(told.next_action(300 * SECOND), SubscriptionAction::Subscription);
        assert!(!told.supply.is_due, "all there is comes anyway");
    }
}
