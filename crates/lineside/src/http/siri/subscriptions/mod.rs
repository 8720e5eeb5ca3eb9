//! Subscriptions of others: who posts a wish is sent what it is told of, and then what changed.
//!
//! A subscription is a task with a number per network, which says what its consumer knows; there is no queue. What
//! a consumer did not take is made anew at the next try, from what is known then. It ends when its time is over, when it is
//! taken back, or when its consumer takes nothing for a while.

mod asking;
mod consumer;
mod patience;
mod running;

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use parking_lot::Mutex;
use tokio_util::sync::CancellationToken;

pub(super) use self::asking::routes;
use self::consumer::Clients;
use crate::http::limits::{SIRI_SUBSCRIPTIONS_MAX, SIRI_SUBSCRIPTIONS_PER_HOST_MAX};

/// What a consumer calls a subscription.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Name {
    subscriber: String,
    subscription: String,
}

/// A subscription that runs.
#[derive(Debug)]
struct Entry {
    number: u64,
    host: String,
    stop: CancellationToken,
}

/// All subscriptions. Bound: so many in all, and so many of one host.
#[derive(Debug, Default)]
pub(crate) struct Subscriptions {
    entries: Mutex<HashMap<Name, Entry>>,
    last: AtomicU64,
    clients: Clients,
}

/// A subscription's place; given back when dropped.
#[derive(Debug)]
struct Place {
    app: crate::app::App,
    name: Name,
    number: u64,
    stop: CancellationToken,
}

impl Subscriptions {
    /// How many there are.
    pub(crate) fn count(&self) -> usize {
        self.entries.lock().len()
    }

    /// Enters a subscription in place of one of that name; what tells its task to stop, if there is room.
    fn enter(&self, name: &Name, host: &str) -> Option<(u64, CancellationToken)> {
        let mut entries = self.entries.lock();
        let others = entries.iter().filter(|(known, _)| *known != name);
        let of_host = others.clone().filter(|(_, entry)| entry.host == host).count();
        if others.count() >= SIRI_SUBSCRIPTIONS_MAX || of_host >= SIRI_SUBSCRIPTIONS_PER_HOST_MAX {
            return None;
        }
        let number = self.last.fetch_add(1, Relaxed) + 1;
        let stop = CancellationToken::new();
        let entry = Entry { number, host: host.to_owned(), stop: stop.clone() };
        if let Some(before) = entries.insert(name.clone(), entry) {
            before.stop.cancel();
        }
        Some((number, stop))
    }

    /// Takes a subscription away, unless another one has its name by now.
    fn leave(&self, name: &Name, number: u64) {
        let mut entries = self.entries.lock();
        if entries.get(name).is_some_and(|entry| entry.number == number) {
            entries.remove(name);
        }
    }

    /// Ends a subscription; whether there was one.
    fn end(&self, name: &Name) -> bool {
        let entry = self.entries.lock().remove(name);
        entry.is_some_and(|entry| {
            entry.stop.cancel();
            true
        })
    }

    /// The subscriptions of a subscriber, in order.
    fn of(&self, subscriber: &str) -> Vec<String> {
        let entries = self.entries.lock();
        let own = entries.keys().filter(|name| name.subscriber == subscriber);
        let mut own: Vec<String> = own.map(|name| name.subscription.clone()).collect();
        own.sort_unstable();
        own
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.app.subscriptions().leave(&self.name, self.number);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn name(subscriber: &str, subscription: &str) -> Name {
        Name { subscriber: subscriber.to_owned(), subscription: subscription.to_owned() }
    }

    #[test]
    fn a_name_has_one_subscription_and_the_last_one_counts() {
        let all = Subscriptions::default();
        let (first, stop) = all.enter(&name("me", "a"), "a.example").unwrap();
        let (second, _) = all.enter(&name("me", "a"), "a.example").unwrap();
        assert!(stop.is_cancelled());
        all.leave(&name("me", "a"), first);
        assert_eq!(all.count(), 1);
        all.leave(&name("me", "a"), second);
        assert_eq!(all.count(), 0);
    }

    #[test]
    fn who_ends_a_subscription_ends_only_that() {
        let all = Subscriptions::default();
        let (_, one) = all.enter(&name("me", "a"), "a.example").unwrap();
        let (_, other) = all.enter(&name("me", "b"), "a.example").unwrap();
        assert_eq!(all.of("me"), ["a", "b"]);
        assert!(all.end(&name("me", "a")) && !all.end(&name("me", "a")));
        assert!(!all.end(&name("you", "b")));
        assert_eq!((one.is_cancelled(), other.is_cancelled()), (true, false));
        assert_eq!(all.of("me"), ["b"]);
    }

    #[test]
    fn one_host_does_not_take_all_places_and_there_are_so_many() {
        let all = Subscriptions::default();
        let enter = |n: usize, host: &str| all.enter(&name("me", &n.to_string()), host).is_some();
        let of_one = (0..).take_while(|n| enter(*n, "one.example")).count();
        assert_eq!(of_one, SIRI_SUBSCRIPTIONS_PER_HOST_MAX);
        // The name that it has already is renewed all the same.
        assert!(enter(0, "one.example"));
        let others = (1_000..).take_while(|n| enter(*n, &format!("{n}.example"))).count();
        assert_eq!(of_one + others, SIRI_SUBSCRIPTIONS_MAX);
    }
}
