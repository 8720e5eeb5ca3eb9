//! Subscriptions of others: who posts a wish is sent what it is told of, and then what changed.
//!
//! A subscription is a task with a number per network, which says what its consumer knows, or what was told of each visit of its
//! stop, or of each journey whose small changes are not told; there is no queue. What
//! a consumer did not take is made anew at the next try, from what is known then. It ends when its time is over, when it is
//! taken back, or when its consumer takes nothing for a while. It belongs to the client that asked for it, who alone has its
//! name: nobody else replaces it, nor takes it back, save an admin.

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
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use parking_lot::Mutex;
use tokio_util::sync::CancellationToken;

use self::consumer::ConsumerClients;
use self::owner::{RequestSender, SubscriptionOwner};
pub(super) use self::requests::routes;
use crate::http::limits::{
    SIRI_SUBSCRIPTIONS_MAX, SIRI_SUBSCRIPTIONS_PER_CLIENT_MAX, SIRI_SUBSCRIPTIONS_PER_HOST_MAX,
};

/// What a client calls a subscription. Others may call theirs the same.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct SubscriptionName {
    client: IpAddr,
    subscriber: String,
    subscription: String,
}

/// A subscription that runs.
#[derive(Debug)]
struct SubscriptionEntry {
    number: u64,
    owner: SubscriptionOwner,
    stop: CancellationToken,
}

/// Why a subscription is not entered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum EntryRejection {
    /// The asker has one of that name, for another consumer.
    Taken,
    /// There are as many as there may be.
    Full,
}

/// All subscriptions. Bound: so many in all, so many to one host, and so many by one client.
#[derive(Debug, Default)]
pub(crate) struct SubscriptionRegistry {
    entries: Mutex<HashMap<SubscriptionName, SubscriptionEntry>>,
    last: AtomicU64,
    clients: ConsumerClients,
}

/// A subscription's place; given back when dropped.
#[derive(Debug)]
struct SubscriptionPermit {
    app: crate::app::App,
    name: SubscriptionName,
    number: u64,
    stop: CancellationToken,
}

impl SubscriptionRegistry {
    /// How many there are.
    pub(crate) fn count_active(&self) -> usize {
        self.entries.lock().len()
    }

    /// Enters a subscription in place of the asker's own of that name; what tells its task to stop.
    ///
    /// # Errors
    /// If the asker has one of that name for another consumer, or there is no room.
    fn add_subscription(
        &self,
        name: &SubscriptionName,
        owner: &SubscriptionOwner,
        asker: RequestSender,
    ) -> Result<(u64, CancellationToken), EntryRejection> {
        let mut entries = self.entries.lock();
        let is_other = |known: &SubscriptionOwner| !asker.is_admin && known.origin != owner.origin;
        if entries.get(name).is_some_and(|entry| is_other(&entry.owner)) {
            return Err(EntryRejection::Taken);
        }
        let others = entries.iter().filter(|(known, _)| *known != name);
        let owners = others.map(|(_, entry)| &entry.owner);
        let of_host = owners.clone().filter(|other| other.host == owner.host).count();
        let of_client = owners.clone().filter(|other| other.client == owner.client).count();
        if owners.count() >= SIRI_SUBSCRIPTIONS_MAX
            || of_host >= SIRI_SUBSCRIPTIONS_PER_HOST_MAX
            || (!asker.is_admin && of_client >= SIRI_SUBSCRIPTIONS_PER_CLIENT_MAX)
        {
            return Err(EntryRejection::Full);
        }
        let number = self.last.fetch_add(1, Relaxed) + 1;
        let stop = CancellationToken::new();
        let entry = SubscriptionEntry { number, owner: owner.clone(), stop: stop.clone() };
        if let Some(before) = entries.insert(name.clone(), entry) {
            before.stop.cancel();
        }
        Ok((number, stop))
    }

    /// Takes a subscription away, unless another one has its name by now.
    fn remove_subscription(&self, name: &SubscriptionName, number: u64) {
        let mut entries = self.entries.lock();
        if entries.get(name).is_some_and(|entry| entry.number == number) {
            entries.remove(name);
        }
    }

    /// Ends a subscription, an admin's those of all clients that call one so; whether there was any.
    fn end_subscription(&self, name: &SubscriptionName, asker: RequestSender) -> bool {
        let mut entries = self.entries.lock();
        let is_it = |known: &SubscriptionName, owner: &SubscriptionOwner| {
            asker.may_end(owner)
                && known.subscriber == name.subscriber
                && known.subscription == name.subscription
        };
        let before = entries.len();
        entries.retain(|known, entry| {
            let ends = is_it(known, &entry.owner);
            if ends {
                entry.stop.cancel();
            }
            !ends
        });
        entries.len() < before
    }

    /// The asker's subscriptions under the name of a subscriber, in order.
    fn list_names(&self, subscriber: &str, asker: RequestSender) -> Vec<String> {
        let entries = self.entries.lock();
        let own = entries
            .iter()
            .filter(|(name, entry)| name.subscriber == subscriber && asker.may_end(&entry.owner));
        let mut own: Vec<String> = own.map(|(name, _)| name.subscription.clone()).collect();
        own.sort_unstable();
        own.dedup();
        own
    }
}

impl Drop for SubscriptionPermit {
    fn drop(&mut self) {
        self.app.siri_subscriptions().remove_subscription(&self.name, self.number);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn name(subscriber: &str, subscription: &str) -> SubscriptionName {
        name_of(asker(1), subscriber, subscription)
    }

    fn name_of(asker: RequestSender, subscriber: &str, subscription: &str) -> SubscriptionName {
        SubscriptionName {
            client: asker.client,
            subscriber: subscriber.to_owned(),
            subscription: subscription.to_owned(),
        }
    }

    fn asker(last: u8) -> RequestSender {
        RequestSender::new(IpAddr::from([192, 0, 2, last]), false)
    }

    fn admin() -> RequestSender {
        RequestSender { is_admin: true, ..asker(99) }
    }

    fn owner(host: &str, asker: RequestSender) -> SubscriptionOwner {
        SubscriptionOwner::for_consumer(&format!("https://{host}/siri").parse().unwrap(), asker)
    }

    fn enter(
        all: &SubscriptionRegistry,
        name: &SubscriptionName,
        host: &str,
        asker: RequestSender,
    ) -> Result<(u64, CancellationToken), EntryRejection> {
        all.add_subscription(name, &owner(host, asker), asker)
    }

    #[test]
    fn a_name_has_one_subscription_and_the_last_one_counts() {
        let all = SubscriptionRegistry::default();
        let (first, stop) = enter(&all, &name("me", "a"), "a.example", asker(1)).unwrap();
        let (second, _) = enter(&all, &name("me", "a"), "a.example", asker(1)).unwrap();
        assert!(stop.is_cancelled());
        all.remove_subscription(&name("me", "a"), first);
        assert_eq!(all.count_active(), 1);
        all.remove_subscription(&name("me", "a"), second);
        assert_eq!(all.count_active(), 0);
    }

    #[test]
    fn who_ends_a_subscription_ends_only_that() {
        let all = SubscriptionRegistry::default();
        let (_, one) = enter(&all, &name("me", "a"), "a.example", asker(1)).unwrap();
        let (_, other) = enter(&all, &name("me", "b"), "a.example", asker(1)).unwrap();
        assert_eq!(all.list_names("me", asker(1)), ["a", "b"]);
        assert!(
            all.end_subscription(&name("me", "a"), asker(1))
                && !all.end_subscription(&name("me", "a"), asker(1))
        );
        assert!(!all.end_subscription(&name("you", "b"), asker(1)));
        assert_eq!((one.is_cancelled(), other.is_cancelled()), (true, false));
        assert_eq!(all.list_names("me", asker(1)), ["b"]);
    }

    #[test]
    fn a_name_is_its_clients_own_and_nobody_but_an_admin_ends_what_is_anothers() {
        let all = SubscriptionRegistry::default();
        let of = |asker| name_of(asker, "lineside", "a");
        let (_, stop) = enter(&all, &of(asker(1)), "a.example", asker(1)).unwrap();
        assert!(
            all.list_names("lineside", asker(2)).is_empty()
                && !all.end_subscription(&of(asker(2)), asker(2))
        );
        // For another consumer it would be sent what this one waits for.
        let taken = enter(&all, &of(asker(1)), "evil.example", asker(1)).err();
        assert_eq!(taken, Some(EntryRejection::Taken));
        let (_, other) = enter(&all, &of(asker(2)), "a.example", asker(2)).unwrap();
        assert!(!stop.is_cancelled() && all.count_active() == 2);
        assert!(all.end_subscription(&of(asker(2)), asker(2)) && other.is_cancelled());
        assert!(!stop.is_cancelled());
        let (_, other) = enter(&all, &of(asker(2)), "b.example", asker(2)).unwrap();
        assert_eq!(all.list_names("lineside", admin()), ["a"]);
        assert!(all.end_subscription(&of(admin()), admin()));
        assert!(stop.is_cancelled() && other.is_cancelled() && all.count_active() == 0);
    }

    #[test]
    fn one_host_does_not_take_all_places_and_there_are_so_many() {
        let all = SubscriptionRegistry::default();
        let enter = |n: usize, host: &str| {
            let asker = asker(u8::try_from(n % 100).unwrap());
            self::enter(&all, &name_of(asker, "me", &n.to_string()), host, asker).is_ok()
        };
        let of_one = (0..).take_while(|n| enter(*n, "one.example")).count();
        assert_eq!(of_one, SIRI_SUBSCRIPTIONS_PER_HOST_MAX);
        // The name that it has already is renewed all the same.
        assert!(enter(0, "one.example"));
        let others = (1_000..).take_while(|n| enter(*n, &format!("{n}.example"))).count();
        assert_eq!(of_one + others, SIRI_SUBSCRIPTIONS_MAX);
    }

    #[test]
    fn one_client_does_not_take_all_places() {
        let all = SubscriptionRegistry::default();
        let by = |n: usize, asker: RequestSender| {
            let host = format!("{n}.example");
            enter(&all, &name_of(asker, "me", &n.to_string()), &host, asker).is_ok()
        };
        let of_one = (0..).take_while(|n| by(*n, asker(1))).count();
        assert_eq!(of_one, SIRI_SUBSCRIPTIONS_PER_CLIENT_MAX);
        assert!(by(1_000, asker(2)) && by(0, asker(1)) && !by(1_001, asker(1)));
    }
}
