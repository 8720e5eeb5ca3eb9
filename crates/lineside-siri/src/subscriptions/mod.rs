//! SIRI subscriptions of other systems: a consumer first receives the current state, and then the changes.
//!
//! A subscription is a task with its consumer's position: a number per network, or the visits last sent for its stop,
//! or the journeys last sent if small changes are suppressed. There is no queue: a delivery that the consumer did not
//! accept is built again at the next retry, from the state at that time. A subscription ends when it expires, when it
//! is terminated, or when its consumer fails for a while. It belongs to the client that requested it, and names are per
//! client: only that client or an admin can replace or terminate it.

mod requests;
mod reported_journeys;
mod consumer;
mod update_policy;
mod updates;
mod owner;
mod consumer_failures;
mod subscription_task;

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering::Relaxed};

use lineside_http::limits::{
    SIRI_SUBSCRIPTIONS_MAX, SIRI_SUBSCRIPTIONS_PER_CLIENT_MAX, SIRI_SUBSCRIPTIONS_PER_HOST_MAX,
};
use parking_lot::Mutex;
use tokio_util::sync::CancellationToken;

use self::consumer::ConsumerHttpClients;
use self::owner::{RequestSender, SubscriptionOwner};
pub(super) use self::requests::routes;

/// The name of a subscription. Names of different clients are independent.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct SubscriptionName {
    client: IpAddr,
    subscriber: String,
    subscription: String,
}

/// An active subscription.
#[derive(Debug)]
struct SubscriptionEntry {
    number: u64,
    owner: SubscriptionOwner,
    stop: CancellationToken,
}

/// The reason why a subscription is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum SubscriptionRejection {
    /// The client has a subscription of that name for another consumer.
    NameInUse,
    /// A limit on subscriptions is reached.
    Full,
}

/// All subscriptions. Bound: limits in total, per host and per client.
#[derive(Debug, Default)]
pub(crate) struct SubscriptionRegistry {
    entries: Mutex<HashMap<SubscriptionName, SubscriptionEntry>>,
    last: AtomicU64,
    clients: ConsumerHttpClients,
    /// The number of active subscriptions, for the metrics.
    active_count: Arc<AtomicUsize>,
}

/// The entry of an active subscription; removed when dropped.
#[derive(Debug)]
struct SubscriptionPermit {
    siri: crate::SiriService,
    name: SubscriptionName,
    number: u64,
    stop: CancellationToken,
}

impl SubscriptionRegistry {
    /// Creates an empty registry, which keeps `active_count` up to date.
    pub(crate) fn new(active_count: Arc<AtomicUsize>) -> Self {
        Self { active_count, ..Self::default() }
    }

    /// Adds a subscription, which replaces the sender's own of that name. Returns its number and the token that stops
    /// its task.
    ///
    /// # Errors
    /// Returns an error if the sender has one of that name for another consumer, or if a limit is reached.
    fn add_subscription(
        &self,
        name: &SubscriptionName,
        owner: &SubscriptionOwner,
        sender: RequestSender,
    ) -> Result<(u64, CancellationToken), SubscriptionRejection> {
        let mut entries = self.entries.lock();
        let is_other = |known: &SubscriptionOwner| !sender.is_admin && known.origin != owner.origin;
        if entries.get(name).is_some_and(|entry| is_other(&entry.owner)) {
            return Err(SubscriptionRejection::NameInUse);
        }
        let others = entries.iter().filter(|(known, _)| *known != name);
        let owners = others.map(|(_, entry)| &entry.owner);
        let n_of_host = owners.clone().filter(|other| other.host == owner.host).count();
        let n_of_client = owners.clone().filter(|other| other.client == owner.client).count();
        if owners.count() >= SIRI_SUBSCRIPTIONS_MAX
            || n_of_host >= SIRI_SUBSCRIPTIONS_PER_HOST_MAX
            || (!sender.is_admin && n_of_client >= SIRI_SUBSCRIPTIONS_PER_CLIENT_MAX)
        {
            return Err(SubscriptionRejection::Full);
        }
        let number = self.last.fetch_add(1, Relaxed) + 1;
        let stop = CancellationToken::new();
        let entry = SubscriptionEntry { number, owner: owner.clone(), stop: stop.clone() };
        if let Some(before) = entries.insert(name.clone(), entry) {
            before.stop.cancel();
        }
        self.active_count.store(entries.len(), Relaxed);
        Ok((number, stop))
    }

    /// Removes a subscription, unless a newer one has replaced it.
    fn remove_subscription(&self, name: &SubscriptionName, number: u64) {
        let mut entries = self.entries.lock();
        if entries.get(name).is_some_and(|entry| entry.number == number) {
            entries.remove(name);
            self.active_count.store(entries.len(), Relaxed);
        }
    }

    /// Ends a subscription; an admin ends those of all clients with that name. Returns true if there was any.
    fn end_subscription(&self, name: &SubscriptionName, sender: RequestSender) -> bool {
        let mut entries = self.entries.lock();
        let is_match = |known: &SubscriptionName, owner: &SubscriptionOwner| {
            sender.may_end_subscription(owner)
                && known.subscriber == name.subscriber
                && known.subscription == name.subscription
        };
        let before = entries.len();
        entries.retain(|known, entry| {
            let ends = is_match(known, &entry.owner);
            if ends {
                entry.stop.cancel();
            }
            !ends
        });
        self.active_count.store(entries.len(), Relaxed);
        entries.len() < before
    }

    /// Returns the sender's subscriptions under a subscriber's name, sorted.
    fn list_subscription_names(&self, subscriber: &str, sender: RequestSender) -> Vec<String> {
        let entries = self.entries.lock();
        let own = entries.iter().filter(|(name, entry)| {
            name.subscriber == subscriber && sender.may_end_subscription(&entry.owner)
        });
        let mut own: Vec<String> = own.map(|(name, _)| name.subscription.clone()).collect();
        own.sort_unstable();
        own.dedup();
        own
    }
}

impl Drop for SubscriptionPermit {
    fn drop(&mut self) {
        self.siri.subscriptions().remove_subscription(&self.name, self.number);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn name(subscriber: &str, subscription: &str) -> SubscriptionName {
        subscription_name(sample_sender(1), subscriber, subscription)
    }

    fn subscription_name(
        sender: RequestSender,
        subscriber: &str,
        subscription: &str,
    ) -> SubscriptionName {
        SubscriptionName {
            client: sender.client,
            subscriber: subscriber.to_owned(),
            subscription: subscription.to_owned(),
        }
    }

    fn sample_sender(last: u8) -> RequestSender {
        RequestSender::new(IpAddr::from([192, 0, 2, last]), false)
    }

    fn admin() -> RequestSender {
        RequestSender { is_admin: true, ..sample_sender(99) }
    }

    fn owner(host: &str, sender: RequestSender) -> SubscriptionOwner {
        SubscriptionOwner::for_consumer(&format!("https://{host}/siri").parse().unwrap(), sender)
    }

    fn enter(
        all: &SubscriptionRegistry,
        name: &SubscriptionName,
        host: &str,
        sender: RequestSender,
    ) -> Result<(u64, CancellationToken), SubscriptionRejection> {
        all.add_subscription(name, &owner(host, sender), sender)
    }

    #[test]
    fn a_new_subscription_replaces_the_one_of_the_same_name() {
        let all = SubscriptionRegistry::default();
        let (first, stop) = enter(&all, &name("me", "a"), "a.example", sample_sender(1)).unwrap();
        let (second, _) = enter(&all, &name("me", "a"), "a.example", sample_sender(1)).unwrap();
        assert!(stop.is_cancelled());
        all.remove_subscription(&name("me", "a"), first);
        assert_eq!(all.active_count.load(Relaxed), 1);
        all.remove_subscription(&name("me", "a"), second);
        assert_eq!(all.active_count.load(Relaxed), 0);
    }

    #[test]
    fn ending_a_subscription_ends_no_other() {
        let all = SubscriptionRegistry::default();
        let (_, one) = enter(&all, &name("me", "a"), "a.example", sample_sender(1)).unwrap();
        let (_, other) = enter(&all, &name("me", "b"), "a.example", sample_sender(1)).unwrap();
        assert_eq!(all.list_subscription_names("me", sample_sender(1)), ["a", "b"]);
        assert!(
            all.end_subscription(&name("me", "a"), sample_sender(1))
                && !all.end_subscription(&name("me", "a"), sample_sender(1))
        );
        assert!(!all.end_subscription(&name("you", "b"), sample_sender(1)));
        assert_eq!((one.is_cancelled(), other.is_cancelled()), (true, false));
        assert_eq!(all.list_subscription_names("me", sample_sender(1)), ["b"]);
    }

    #[test]
    fn only_its_client_or_an_admin_ends_a_subscription() {
        let all = SubscriptionRegistry::default();
        let own_name = |sender| subscription_name(sender, "lineside", "a");
        let (_, stop) =
            enter(&all, &own_name(sample_sender(1)), "a.example", sample_sender(1)).unwrap();
        assert!(
            all.list_subscription_names("lineside", sample_sender(2)).is_empty()
                && !all.end_subscription(&own_name(sample_sender(2)), sample_sender(2))
        );
        // Otherwise the other consumer would receive what this one waits for.
        let entered =
            enter(&all, &own_name(sample_sender(1)), "evil.example", sample_sender(1)).err();
        assert_eq!(entered, Some(SubscriptionRejection::NameInUse));
        let (_, other) =
            enter(&all, &own_name(sample_sender(2)), "a.example", sample_sender(2)).unwrap();
        assert!(!stop.is_cancelled() && all.active_count.load(Relaxed) == 2);
        assert!(
            all.end_subscription(&own_name(sample_sender(2)), sample_sender(2))
                && other.is_cancelled()
        );
        assert!(!stop.is_cancelled());
        let (_, other) =
            enter(&all, &own_name(sample_sender(2)), "b.example", sample_sender(2)).unwrap();
        assert_eq!(all.list_subscription_names("lineside", admin()), ["a"]);
        assert!(all.end_subscription(&own_name(admin()), admin()));
        assert!(stop.is_cancelled() && other.is_cancelled() && all.active_count.load(Relaxed) == 0);
    }

    #[test]
    fn subscriptions_are_limited_per_host_and_in_total() {
        let all = SubscriptionRegistry::default();
        let enter = |n: usize, host: &str| {
            let sender = sample_sender(u8::try_from(n % 100).unwrap());
            self::enter(&all, &subscription_name(sender, "me", &n.to_string()), host, sender)
                .is_ok()
        };
        let n_accepted = (0..).take_while(|n| enter(*n, "one.example")).count();
        assert_eq!(n_accepted, SIRI_SUBSCRIPTIONS_PER_HOST_MAX);
        // A renewal of an existing name does not need a free place.
        assert!(enter(0, "one.example"));
        let others = (1_000..).take_while(|n| enter(*n, &format!("{n}.example"))).count();
        assert_eq!(n_accepted + others, SIRI_SUBSCRIPTIONS_MAX);
    }

    #[test]
    fn subscriptions_are_limited_per_client() {
        let all = SubscriptionRegistry::default();
        let enter_from = |n: usize, sender: RequestSender| {
            let host = format!("{n}.example");
            enter(&all, &subscription_name(sender, "me", &n.to_string()), &host, sender).is_ok()
        };
        let n_accepted = (0..).take_while(|n| enter_from(*n, sample_sender(1))).count();
        assert_eq!(n_accepted, SIRI_SUBSCRIPTIONS_PER_CLIENT_MAX);
        assert!(
            enter_from(1_000, sample_sender(2))
                && enter_from(0, sample_sender(1))
                && !enter_from(1_001, sample_sender(1))
        );
    }
}
