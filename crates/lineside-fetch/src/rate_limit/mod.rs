//! Rate limits of requests to producers over all feeds: `rate` and `max_concurrent_requests`.
//!
//! A feed reserves its next request as soon as it knows the time, so that it can report when it will be sent. Feeds
//! with the same host and credential share a group. Each feed holds one reservation at a time, for the first free
//! moment at the time of reserving, so no feed waits for more than one request of each of the others. At that time it
//! takes its permit: the order of arrival decides, and sent requests count, not reserved ones.
//!
//! A permit is for one request, redirects included, and a holder of a permit never waits for another one.

mod credential;
mod window;

use std::{collections::HashMap, sync::Arc, time::Duration};

use arc_swap::ArcSwap;
use lineside_sync::Clock;
use parking_lot::Mutex;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use self::window::RateWindow;
use crate::feed_config::{FeedConfig, RequestRate};
use crate::feed_id::FeedId;

/// The rate limits of all hosts. A host has none unless one of its feeds has a `rate` or
/// `max_concurrent_requests`.
#[derive(Debug, Default)]
pub struct RateLimiter {
    hosts: ArcSwap<HashMap<String, HostRateLimit>>,
}

#[derive(Debug)]
struct HostRateLimit {
    /// Bounds concurrent requests to the host.
    slots: Option<HostConcurrencyLimit>,
    by_feed: HashMap<FeedId, Arc<RateLimitGroup>>,
    /// The group of requests without credentials.
    anonymous: Option<Arc<RateLimitGroup>>,
}

/// Requests that are counted together.
#[derive(Debug)]
struct RateLimitGroup {
    window: Mutex<RateWindow>,
    /// Serves feeds in the order of arrival. Bounded: one waits per feed.
    queue: Arc<Semaphore>,
}

impl RateLimiter {
    pub fn new<'a>(feeds: impl Iterator<Item = &'a FeedConfig>) -> RateLimiter {
        let budgets = RateLimiter::default();
        budgets.update_limits_for_feeds(feeds);
        budgets
    }

    /// Applies another list of feeds. Sent requests stay counted: feeds in a new group have sent all requests of their
    /// former groups.
    pub fn update_limits_for_feeds<'a>(&self, feeds: impl Iterator<Item = &'a FeedConfig>) {
        let mut by_host: HashMap<String, Vec<&FeedConfig>> = HashMap::new();
        for feed in feeds {
            if let Some(host) = feed.url.host_with_port() {
                by_host.entry(host).or_default().push(feed);
            }
        }
        by_host.retain(|_, feeds| {
            feeds.iter().any(|feed| feed.max_concurrent_requests.is_some() || feed.rate.is_some())
        });
        let before = self.hosts.load();
        let hosts = by_host.into_iter().map(|(host, feeds)| {
            let known = before.get(&host);
            (host, HostRateLimit::new(&feeds, known))
        });
        self.hosts.store(Arc::new(hosts.collect()));
    }

    /// Returns the bucket that counts a feed's requests to `host`. A feed sends no credentials to hosts other than its
    /// own.
    pub fn bucket_for_feed(&self, feed: &FeedConfig, host: Option<&str>) -> RateLimitBucket {
        let hosts = self.hosts.load();
        let Some(found) = host.and_then(|host| hosts.get(host)) else {
            return RateLimitBucket::default();
        };
        let is_own = feed.url.host_with_port().as_deref() == host;
        let limit_group =
            if is_own { found.by_feed.get(&feed.id) } else { found.anonymous.as_ref() };
        RateLimitBucket {
            group: limit_group.cloned(),
            slots: found.slots.as_ref().map(|it| Arc::clone(&it.permits)),
        }
    }
}

/// Slots for concurrent requests to one host.
#[derive(Clone, Debug)]
struct HostConcurrencyLimit {
    max: usize,
    permits: Arc<Semaphore>,
}

impl HostConcurrencyLimit {
    fn new(max: usize) -> HostConcurrencyLimit {
        HostConcurrencyLimit { max, permits: Arc::new(Semaphore::new(max)) }
    }
}

impl HostRateLimit {
    fn new(feeds: &[&FeedConfig], known: Option<&HostRateLimit>) -> HostRateLimit {
        let max = feeds.iter().filter_map(|feed| feed.max_concurrent_requests).min();
        let slots = max.map(|max| {
            let known = known.and_then(|known| known.slots.clone());
            known.filter(|known| known.max == max).unwrap_or_else(|| HostConcurrencyLimit::new(max))
        });
        let (mut by_feed, mut anonymous) = (HashMap::<FeedId, Arc<RateLimitGroup>>::new(), None);
        for group in credential::group_by_credential(feeds) {
            let rates: Vec<RequestRate> = group.iter().filter_map(|feed| feed.rate).collect();
            if rates.is_empty() {
                continue;
            }
            let window = RateWindow::new(rates);
            let books = known.map(|known| known.groups_of_feeds(&group)).unwrap_or_default();
            // Feeds with different credentials now are no longer counted together.
            let is_free =
                |limit_group| !by_feed.values().any(|other| Arc::ptr_eq(other, limit_group));
            let limit_group = match &books[..] {
                [only] if is_free(only) && only.window.lock().has_same_rates(&window) => {
                    Arc::clone(only)
                }
                _ => Arc::new(RateLimitGroup::from_previous_groups(window, &books)),
            };
            if group.iter().any(|feed| credential::has_no_credential(feed)) {
                anonymous = Some(Arc::clone(&limit_group));
            }
            by_feed.extend(group.iter().map(|feed| (feed.id.clone(), Arc::clone(&limit_group))));
        }
        HostRateLimit { slots, by_feed, anonymous }
    }

    /// Returns the groups in which any of these feeds is counted, each once.
    fn groups_of_feeds(&self, feeds: &[&FeedConfig]) -> Vec<Arc<RateLimitGroup>> {
        let mut books: Vec<Arc<RateLimitGroup>> = Vec::new();
        let own = feeds.iter().filter_map(|feed| self.by_feed.get(&feed.id));
        let is_anonymous = feeds.iter().any(|feed| credential::has_no_credential(feed));
        for limit_group in own.chain(self.anonymous.iter().filter(|_| is_anonymous)) {
            if !books.iter().any(|known| Arc::ptr_eq(known, limit_group)) {
                books.push(Arc::clone(limit_group));
            }
        }
        books
    }
}

impl RateLimitGroup {
    /// Creates a group that includes the sent requests of former groups.
    fn from_previous_groups(
        mut window: RateWindow,
        books: &[Arc<RateLimitGroup>],
    ) -> RateLimitGroup {
        books.iter().for_each(|limit_group| window.merge_sent_requests(&limit_group.window.lock()));
        RateLimitGroup { window: Mutex::new(window), queue: Arc::new(Semaphore::new(1)) }
    }
}

/// A bucket in which requests are counted. One without group and semaphore is unlimited.
#[derive(Clone, Debug, Default)]
pub struct RateLimitBucket {
    group: Option<Arc<RateLimitGroup>>,
    slots: Option<Arc<Semaphore>>,
}

impl RateLimitBucket {
    /// Returns true if both buckets count the same requests.
    pub fn is_same_bucket(&self, other: &RateLimitBucket) -> bool {
        fn is_same_arc<T>(one: &Option<Arc<T>>, other: &Option<Arc<T>>) -> bool {
            match (one, other) {
                (Some(one), Some(other)) => Arc::ptr_eq(one, other),
                (one, other) => one.is_none() && other.is_none(),
            }
        }
        is_same_arc(&self.group, &other.group) && is_same_arc(&self.slots, &other.slots)
    }

    /// Reserves the first free moment from `from` on.
    pub fn reserve_request_time(&self, from: Duration, now: Duration) -> RateLimitReservation {
        let reserved = self.group.as_ref().map(|limit_group| {
            let (ticket, at) = limit_group.window.lock().reserve_request_time(from, now);
            (WindowReservation { group: Arc::clone(limit_group), ticket }, at)
        });
        let (ticket, at) = match reserved {
            Some((ticket, at)) => (Some(ticket), at),
            None => (None, from),
        };
        RateLimitReservation { ticket, at, slots: self.slots.clone() }
    }
}

/// A moment reserved for one request.
#[derive(Debug, Default)]
pub struct RateLimitReservation {
    ticket: Option<WindowReservation>,
    at: Duration,
    slots: Option<Arc<Semaphore>>,
}

impl RateLimitReservation {
    /// Returns the reserved time, on the monotonic clock.
    pub fn reserved_time(&self) -> Duration {
        self.at
    }

    /// Waits until the request may be sent; it must then be sent at once. Call it when the reserved time has come.
    ///
    /// Cancel safe: the permit is returned if the future is dropped.
    pub async fn wait_for_permit(self, clock: Arc<dyn Clock>) -> RateLimitPermit {
        let RateLimitReservation { ticket, slots, .. } = self;
        let queue = match &ticket {
            Some(ticket) => Arc::clone(&ticket.group.queue).acquire_owned().await.ok(),
            None => None,
        };
        // First the rate, then the host: a feed that waits for its rate must not block others from the host.
        if let Some(ticket) = &ticket {
            while let Err(opens) = ticket.check_room_for_request(clock.monotonic()) {
                clock.sleep_until(opens).await;
            }
        }
        let slot = match slots {
            Some(slots) => slots.acquire_owned().await.ok(),
            None => None,
        };
        let counted = ticket.map(|ticket| {
            let (limit_group, at) = (Arc::clone(&ticket.group), clock.monotonic());
            ticket.record_sent_request(at);
            (limit_group, at)
        });
        drop(queue);
        RateLimitPermit { _slot: slot, counted }
    }
}

/// A reservation in a group, cancelled when dropped.
#[derive(Debug)]
struct WindowReservation {
    group: Arc<RateLimitGroup>,
    ticket: u64,
}

impl WindowReservation {
    fn check_room_for_request(&self, now: Duration) -> Result<(), Duration> {
        self.group.window.lock().check_room_for_request(now)
    }

    /// Counts the request. No other feed can pass the door between
    /// [`check_room_for_request`](WindowReservation::check_start) and this call.
    fn record_sent_request(self, now: Duration) {
        self.group.window.lock().record_sent_request(now);
    }
}

impl Drop for WindowReservation {
    fn drop(&mut self) {
        self.group.window.lock().cancel_reservation(self.ticket);
    }
}

/// The permission for one request, until it is dropped.
#[derive(Debug, Default)]
pub struct RateLimitPermit {
    _slot: Option<OwnedSemaphorePermit>,
    /// The group and time under which the request was counted.
    counted: Option<(Arc<RateLimitGroup>, Duration)>,
}

impl RateLimitPermit {
    /// Returns a permit whose request was not sent; it no longer counts.
    pub fn return_unused(self) {
        if let Some((limit_group, at)) = self.counted {
            limit_group.window.lock().remove_unsent_request(at);
        }
    }
}

#[cfg(test)]
mod tests;
