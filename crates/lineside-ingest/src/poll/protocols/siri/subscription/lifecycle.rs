//! The lifecycle of a subscription: a function of the received messages and the time that determines the next request.

use std::time::Duration;

use lineside_formats::{Problem, Problems, siri::SiriTime};
use lineside_sync::UnixMillis;

use super::agreement::SubscriptionAgreement;
use crate::{
    fetch_failure::{FailureCode, FetchError},
    limits::BACKOFF_MAX,
};

/// The requested duration of a subscription; it is renewed after half of it.
pub(super) const LIFETIME: Duration = Duration::from_secs(24 * 60 * 60);
/// Time without a message after which the producer's status is checked: two heartbeats, and a little.
const CHECK_AFTER: Duration = Duration::from_secs(130);
/// Time without any sign of life from the producer after which the subscription counts as silent.
const SILENCE_MAX: Duration = Duration::from_secs(190);
/// Time without a delivery or notification after which the subscription counts as silent, although the producer is
/// running.
const NO_DELIVERY_MAX: Duration = Duration::from_secs(10 * 60);
/// Time after its first delivery at which a subscription has sent all data: producers split the data, and each service
/// sends its own.
pub(super) const CATCH_UP_MAX: Duration = Duration::from_secs(60);
/// Minimum time between renewals.
const RENEWAL_MIN: Duration = Duration::from_secs(60);
/// Initial time between an agreement and a new request after the producer has ended the subscription. Doubles with each
/// agreement that is ended without a delivery, up to [`BACKOFF_MAX`].
const RESUBSCRIBE_MIN: Duration = Duration::from_secs(15);

/// The state of a feed's subscription.
#[derive(Debug, Default)]
pub(in crate::poll::protocols::siri) struct SiriSubscription {
    /// The time of the next renewal, on the monotonic clock; `None` without a subscription.
    pub(super) renew_at: Option<Duration>,
    pub(super) last_delivery_at: Duration,
    /// The time of the producer's last positive answer to CheckStatus.
    pub(super) checked_at: Option<Duration>,
    /// True if the producer does not support CheckStatus.
    pub(super) has_no_checks: bool,
    /// The current or last request.
    pub(super) action: SubscriptionRequestKind,
    /// The start time of the producer's service, by its own clock.
    started: Option<SiriTime>,
    /// The producer's redacted reasons for refused parts.
    refused: Vec<String>,
    /// True after the first delivery.
    pub(super) has_delivered: bool,
    /// True if the producer fell silent before and has not sent anything since.
    pub(super) has_been_silent: bool,
    catch_up: FullRefreshState,
    pub(super) supply: PendingDataSupply,
    /// True if data from before, for example from a subscription that continues at the producer, need not be repeated.
    is_renewal: bool,
    /// The time of the producer's last agreement to this or an earlier subscription, on the monotonic clock.
    agreed_at: Option<Duration>,
    /// The number of consecutive agreements that the producer has ended without a delivery.
    n_ended: u32,
    /// The time of the next request after the producer has ended the subscription, on the monotonic clock.
    resubscribe_at: Option<Duration>,
}

/// Data that the producer has announced instead of delivering them.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct PendingDataSupply {
    /// True if there are announced data. Several announcements lead to one fetch.
    pub(super) is_due: bool,
    /// The number of consecutive answers with more data.
    pub(super) pages: u32,
}

/// The kind of a request.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum SubscriptionRequestKind {
    /// Begins or renews the subscription.
    #[default]
    Subscription,
    /// Fetches announced data.
    Supply,
    /// Checks the producer's status.
    Check,
}

/// The progress of a full refresh.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum FullRefreshState {
    /// All data have been sent.
    #[default]
    Done,
    /// A refresh is expected, possibly after a renewal.
    Awaited { is_renewal: bool },
    /// A refresh has begun and is complete at `through_at`, on the monotonic clock.
    InProgress { is_renewal: bool, complete_at: Duration },
}

impl SiriSubscription {
    /// Returns the subscription after an agreement at `now`, given on both clocks.
    pub(super) fn after_agreement(
        self,
        agreement: SubscriptionAgreement,
        now: Duration,
        wall: UnixMillis,
    ) -> SiriSubscription {
        let is_renewal = self.renew_at.is_some() || self.is_renewal;
        let valid = agreement.valid_until.and_then(|until| {
            let millis = until.as_millis().saturating_sub(wall.0);
            // If the producer's clock is far behind ours, the subscription would have ended already.
            u64::try_from(millis).ok().filter(|&millis| millis > 0).map(Duration::from_millis)
        });
        let lifetime = valid.unwrap_or(LIFETIME).min(LIFETIME);
        SiriSubscription {
            renew_at: Some(now + (lifetime / 2).max(RENEWAL_MIN)),
            last_delivery_at: now,
            checked_at: None,
            resubscribe_at: None,
            started: agreement.started.or(self.started),
            refused: agreement.refused,
            catch_up: FullRefreshState::Awaited { is_renewal },
            agreed_at: Some(now),
            is_renewal: false,
            ..self
        }
    }

    /// Returns the state after the producer has ended the subscription: the next agreement is another subscription.
    pub(super) fn after_producer_ended(&self, now: Duration) -> SiriSubscription {
        let given_up = self.without_subscription();
        let ended = SiriSubscription { n_ended: self.n_ended.saturating_add(1), ..given_up };
        SiriSubscription { resubscribe_at: Some(now + ended.resubscribe_wait(now)), ..ended }
    }

    /// Returns the state after an unreadable message: the subscription is requested again, and continues at the
    /// producer meanwhile.
    pub(super) fn after_unreadable_message(&self) -> SiriSubscription {
        let is_renewal = self.renew_at.is_some() || self.is_renewal;
        SiriSubscription { is_renewal, ..self.without_subscription() }
    }

    /// Returns the state without a subscription.
    pub(super) fn without_subscription(&self) -> SiriSubscription {
        let SiriSubscription { agreed_at, n_ended, has_no_checks, .. } = *self;
        SiriSubscription { agreed_at, n_ended, has_no_checks, ..SiriSubscription::default() }
    }

    /// Returns the time to wait before a new request after the producer has ended the subscription.
    fn resubscribe_wait(&self, now: Duration) -> Duration {
        let doublings = self.n_ended.saturating_sub(1).min(u32::BITS - 1);
        let gap = RESUBSCRIBE_MIN.saturating_mul(1 << doublings).min(BACKOFF_MAX);
        self.agreed_at.map_or(Duration::ZERO, |at| (at + gap).saturating_sub(now))
    }

    /// Returns the time until the next request; `None` if there neither is nor was a subscription.
    pub(super) fn time_until_next_request(&self, now: Duration) -> Option<Duration> {
        let Some(renew_at) = self.renew_at else {
            return self.resubscribe_at.map(|at| at.saturating_sub(now));
        };
        if self.supply.is_due {
            return Some(Duration::ZERO);
        }
        let silent_at = match self.has_no_checks {
            true => self.last_delivery_at + SILENCE_MAX,
            false => {
                (self.last_alive_at() + CHECK_AFTER).min(self.last_delivery_at + NO_DELIVERY_MAX)
            }
        };
        Some(renew_at.min(silent_at).saturating_sub(now))
    }

    /// Determines the next request.
    pub(super) fn choose_next_request(&mut self, now: Duration) -> SubscriptionRequestKind {
        let is_due = std::mem::take(&mut self.supply.is_due);
        let is_sound = self.renew_at.is_some() && !self.is_producer_silent(now);
        self.action = if is_sound && is_due {
            SubscriptionRequestKind::Supply
        } else if is_sound && self.is_status_check_due(now) {
            SubscriptionRequestKind::Check
        } else {
            SubscriptionRequestKind::Subscription
        };
        self.action
    }

    /// Records a failed request. After one for announced data, their content is unknown, so all data are requested.
    pub(in crate::poll::protocols::siri) fn record_request_failure(&mut self) {
        if self.action == SubscriptionRequestKind::Supply {
            *self = self.without_subscription();
        }
    }

    /// Returns true if a failure shows that the producer does not support CheckStatus; it is then not used again.
    pub(in crate::poll::protocols::siri) fn stop_checks_if_unsupported(
        &mut self,
        failure: &FetchError,
    ) -> bool {
        use FailureCode::{Decode, Empty, Html, Http, Truncated};
        let is_unknown = self.action == SubscriptionRequestKind::Check
            && matches!(
                failure.code,
                Http(400 | 404 | 405 | 500 | 501) | Decode | Empty | Html | Truncated
            );
        self.has_no_checks |= is_unknown;
        is_unknown
    }

    /// Returns the time of the producer's last sign of life.
    fn last_alive_at(&self) -> Duration {
        self.checked_at.map_or(self.last_delivery_at, |at| at.max(self.last_delivery_at))
    }

    fn is_status_check_due(&self, now: Duration) -> bool {
        !self.has_no_checks
            && self.renew_at.is_some_and(|at| now < at)
            && now.saturating_sub(self.last_alive_at()) >= CHECK_AFTER
    }

    /// Returns true if the subscription is silent: without a sign of life or without messages for too long.
    pub(super) fn is_producer_silent(&self, now: Duration) -> bool {
        self.renew_at.is_some()
            && (now.saturating_sub(self.last_alive_at()) >= SILENCE_MAX
                || now.saturating_sub(self.last_delivery_at) >= NO_DELIVERY_MAX)
    }

    /// Returns true if the producer has restarted since the agreement. Both times are by its own clock.
    pub(super) fn has_producer_restarted(&mut self, started: Option<SiriTime>) -> bool {
        let Some(started) = started else { return false };
        started > *self.started.get_or_insert(started)
    }

    /// Records a delivery.
    pub(in crate::poll::protocols::siri) fn record_received_delivery(&mut self, now: Duration) {
        self.has_delivered = true;
        self.n_ended = 0;
        if let FullRefreshState::Awaited { is_renewal } = self.catch_up {
            self.catch_up =
                FullRefreshState::InProgress { is_renewal, complete_at: now + CATCH_UP_MAX };
        }
    }

    /// Returns `Some` once when a full refresh is complete, with true if it followed a renewal.
    pub(super) fn take_completed_refresh(&mut self, now: Duration) -> Option<bool> {
        let FullRefreshState::InProgress { is_renewal, complete_at } = self.catch_up else {
            return None;
        };
        (now >= complete_at).then(|| {
            self.catch_up = FullRefreshState::Done;
            is_renewal
        })
    }

    /// Returns the refused parts as problems.
    pub(in crate::poll::protocols::siri) fn refused_parts_as_problems(&self) -> Problems {
        let mut problems = Problems::new();
        for reason_text in &self.refused {
            let detail = "the producer refused a part of the subscription";
            let problem = Problem::new("subscription", "subscription_refused", detail);
            problems.push(problem.with_value(reason_text));
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
        SiriSubscription::default().after_agreement(agreement, SECOND, NOON)
    }

    #[test]
    fn a_changed_start_time_means_that_the_producer_restarted() {
        // The producer's clock may be hours ahead of ours.
        let mut subscription =
            agreed(SubscriptionAgreement { started: at(5), ..SubscriptionAgreement::default() });
        assert!(
            !subscription.has_producer_restarted(at(5))
                && !subscription.has_producer_restarted(None)
        );
        assert!(
            !subscription.has_producer_restarted(at(4))
                && subscription.has_producer_restarted(at(6))
        );
        let mut not_started = agreed(SubscriptionAgreement::default());
        assert!(
            !not_started.has_producer_restarted(at(5))
                && !not_started.has_producer_restarted(at(5))
        );
        assert!(not_started.has_producer_restarted(at(6)));
    }

    #[test]
    fn a_subscription_is_renewed_after_half_of_its_validity() {
        for (valid_until, expected) in [
            (None, 12 * 3_600),
            (at(2), 3_600),
            (at(100), 12 * 3_600),
            (SiriTime::from_millis(NOON.0 + 30_000), 60),
            // The producer's clock is behind ours.
            (at(-3), 12 * 3_600),
        ] {
            let subscription =
                agreed(SubscriptionAgreement { valid_until, ..SubscriptionAgreement::default() });
            let renewal = subscription.renew_at.unwrap() - SECOND;
            assert_eq!(renewal, expected * SECOND, "{valid_until:?}");
        }
    }

    #[test]
    fn a_producer_that_ends_subscriptions_is_retried_with_backoff() {
        let mut subscription = SiriSubscription::default();
        let mut waits = Vec::new();
        for _ in 0..9 {
            subscription = subscription
                .after_agreement(SubscriptionAgreement::default(), 9 * SECOND, NOON)
                .after_producer_ended(10 * SECOND);
            waits.push(subscription.time_until_next_request(10 * SECOND).unwrap().as_secs() + 1);
        }
        assert_eq!(waits, [15, 30, 60, 120, 240, 300, 300, 300, 300]);
        subscription =
            subscription.after_agreement(SubscriptionAgreement::default(), 9 * SECOND, NOON);
        subscription.record_received_delivery(10 * SECOND);
        assert_eq!(
            subscription.after_producer_ended(10 * SECOND).time_until_next_request(10 * SECOND),
            Some(14 * SECOND)
        );
        assert_eq!(
            subscription.after_producer_ended(24 * SECOND).time_until_next_request(24 * SECOND),
            Some(Duration::ZERO)
        );
    }

    #[test]
    fn a_full_refresh_is_complete_some_time_after_the_first_delivery() {
        let mut first = agreed(SubscriptionAgreement::default());
        assert_eq!(first.take_completed_refresh(99 * SECOND), None);
        first.record_received_delivery(100 * SECOND);
        first.record_received_delivery(130 * SECOND);
        assert_eq!(first.take_completed_refresh(159 * SECOND), None);
        assert_eq!(first.take_completed_refresh(160 * SECOND), Some(false));
        assert_eq!(first.take_completed_refresh(999 * SECOND), None);
        let mut renewed =
            first.after_agreement(SubscriptionAgreement::default(), 999 * SECOND, NOON);
        renewed.record_received_delivery(1_000 * SECOND);
        assert_eq!(renewed.take_completed_refresh(1_060 * SECOND), Some(true));
        // An unreadable message keeps the subscription, an end does not.
        for (before, expected) in [
            (renewed.after_unreadable_message().after_unreadable_message(), true),
            (renewed.after_producer_ended(1_070 * SECOND), false),
        ] {
            let mut next =
                before.after_agreement(SubscriptionAgreement::default(), 1_100 * SECOND, NOON);
            next.record_received_delivery(1_100 * SECOND);
            assert_eq!(next.take_completed_refresh(1_160 * SECOND), Some(expected));
        }
    }

    #[test]
    fn a_silent_producer_is_checked_and_trusted_for_a_limited_time() {
        let mut quiet = agreed(SubscriptionAgreement::default());
        let at = |seconds: u32| SECOND * (1 + seconds);
        assert_eq!(quiet.time_until_next_request(at(0)), Some(CHECK_AFTER));
        assert_eq!(
            quiet.choose_next_request(at(10)),
            SubscriptionRequestKind::Subscription,
            "a poll on request renews the subscription"
        );
        for elapsed_seconds in [130, 260, 390, 520] {
            assert_eq!(quiet.time_until_next_request(at(elapsed_seconds)), Some(Duration::ZERO));
            assert_eq!(
                quiet.choose_next_request(at(elapsed_seconds)),
                SubscriptionRequestKind::Check,
                "{elapsed_seconds}"
            );
            quiet.checked_at = Some(at(elapsed_seconds));
        }
        // A running producer does not mean that data arrive.
        assert_eq!(quiet.time_until_next_request(at(520)), Some(80 * SECOND));
        assert!(!quiet.is_producer_silent(at(599)) && quiet.is_producer_silent(at(600)));
        assert_eq!(quiet.choose_next_request(at(600)), SubscriptionRequestKind::Subscription);
    }

    #[test]
    fn an_unanswered_check_makes_the_producer_silent_sooner() {
        let at = |seconds: u32| SECOND * (1 + seconds);
        let mut silent = agreed(SubscriptionAgreement::default());
        assert_eq!(
            (silent.choose_next_request(at(130)), silent.choose_next_request(at(189))),
            (SubscriptionRequestKind::Check, SubscriptionRequestKind::Check)
        );
        assert_eq!(silent.choose_next_request(at(190)), SubscriptionRequestKind::Subscription);
        // A producer without CheckStatus is never asked again.
        let mut unanswered =
            SiriSubscription { has_no_checks: true, ..agreed(SubscriptionAgreement::default()) };
        assert_eq!(unanswered.time_until_next_request(at(0)), Some(SILENCE_MAX));
        assert_eq!(unanswered.choose_next_request(at(189)), SubscriptionRequestKind::Subscription);
        assert!(
            unanswered.is_producer_silent(at(190))
                && unanswered.after_producer_ended(at(190)).has_no_checks
        );
    }

    #[test]
    fn announced_data_are_fetched_first_unless_the_producer_is_silent() {
        let mut subscription = agreed(SubscriptionAgreement::default());
        subscription.supply.is_due = true;
        assert_eq!(subscription.time_until_next_request(2 * SECOND), Some(Duration::ZERO));
        assert_eq!(subscription.choose_next_request(150 * SECOND), SubscriptionRequestKind::Supply);
        subscription.supply.is_due = true;
        assert_eq!(
            subscription.choose_next_request(300 * SECOND),
            SubscriptionRequestKind::Subscription
        );
        assert!(!subscription.supply.is_due, "a new subscription delivers all data");
    }
}
