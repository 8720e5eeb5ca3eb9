//! How much a producer is asked by all feeds together: `rate` and `serial`.
//!
//! A feed books its next request when it knows when it wants it, so that it can say when its turn comes. All that
//! share a host and a credential share one book. Each holds one booking at a time and gets the first moment that is
//! free when it asks, so nobody waits for more than one request of each of the others. When its time has come, it takes
//! its turn; the order of coming decides, and what was really sent is counted, not what was booked.
//!
//! One turn is for one request, redirects included, and nobody who has a turn waits for another one.

mod credential;
mod window;

use std::{collections::HashMap, sync::Arc, time::Duration};

use arc_swap::ArcSwap;
use lineside_sync::Clock;
use parking_lot::Mutex;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use self::window::RateWindow;
use crate::config::{FeedConfig, FeedId, RequestRate};

/// The budgets of all hosts. Hosts of which no feed has a `rate` or is `serial` have none.
#[derive(Debug, Default)]
pub(crate) struct RateLimiter {
    hosts: ArcSwap<HashMap<String, HostRateLimit>>,
}

#[derive(Debug)]
struct HostRateLimit {
    /// There is one permit, where requests come one at a time.
    serial: Option<Arc<Semaphore>>,
    by_feed: HashMap<FeedId, Arc<RateLimitGroup>>,
    /// Of requests that show no credential.
    anonymous: Option<Arc<RateLimitGroup>>,
}

/// The requests that are counted together.
#[derive(Debug)]
struct RateLimitGroup {
    window: Mutex<RateWindow>,
    /// Who is first to come is first to go. Bound: one waits per feed.
    door: Arc<Semaphore>,
}

impl RateLimiter {
    pub(crate) fn new<'a>(feeds: impl Iterator<Item = &'a FeedConfig>) -> RateLimiter {
        let budgets = RateLimiter::default();
        budgets.update_feeds(feeds);
        budgets
    }

    /// The same for other feeds. What was sent stays counted: feeds that are counted together now have sent all that any of
    /// them was counted with before.
    pub(crate) fn update_feeds<'a>(&self, feeds: impl Iterator<Item = &'a FeedConfig>) {
        let mut by_host: HashMap<String, Vec<&FeedConfig>> = HashMap::new();
        for feed in feeds {
            if let Some(host) = feed.url.host_with_port() {
                by_host.entry(host).or_default().push(feed);
            }
        }
        by_host.retain(|_, feeds| feeds.iter().any(|feed| feed.serial || feed.rate.is_some()));
        let before = self.hosts.load();
        let hosts = by_host.into_iter().map(|(host, feeds)| {
            let known = before.get(&host);
            (host, HostRateLimit::new(&feeds, known))
        });
        self.hosts.store(Arc::new(hosts.collect()));
    }

    /// Where a feed's requests to `host` are counted. At a host that is not its own it shows no credential.
    pub(crate) fn bucket_for_feed(&self, feed: &FeedConfig, host: Option<&str>) -> RateLimitBucket {
        let hosts = self.hosts.load();
        let Some(found) = host.and_then(|host| hosts.get(host)) else {
            return RateLimitBucket::default();
        };
        let is_own = feed.url.host_with_port().as_deref() == host;
        let book = if is_own { found.by_feed.get(&feed.id) } else { found.anonymous.as_ref() };
        RateLimitBucket { book: book.cloned(), serial: found.serial.clone() }
    }
}

impl HostRateLimit {
    fn new(feeds: &[&FeedConfig], known: Option<&HostRateLimit>) -> HostRateLimit {
        let serial = feeds.iter().any(|feed| feed.serial).then(|| {
            let known = known.and_then(|known| known.serial.clone());
            known.unwrap_or_else(|| Arc::new(Semaphore::new(1)))
        });
        let (mut by_feed, mut anonymous) = (HashMap::<FeedId, Arc<RateLimitGroup>>::new(), None);
        for group in credential::group_by_credential(feeds) {
            let rates: Vec<RequestRate> = group.iter().filter_map(|feed| feed.rate).collect();
            if rates.is_empty() {
                continue;
            }
            let window = RateWindow::new(rates);
            let books = known.map(|known| known.groups_of_feeds(&group)).unwrap_or_default();
            // Feeds that parted are not counted together any more.
            let is_free = |book| !by_feed.values().any(|taken| Arc::ptr_eq(taken, book));
            let book = match &books[..] {
                [only] if is_free(only) && only.window.lock().has_same_rates(&window) => {
                    Arc::clone(only)
                }
                _ => Arc::new(RateLimitGroup::from_previous(window, &books)),
            };
            if group.iter().any(|feed| credential::is_anonymous(feed)) {
                anonymous = Some(Arc::clone(&book));
            }
            by_feed.extend(group.iter().map(|feed| (feed.id.clone(), Arc::clone(&book))));
        }
        HostRateLimit { serial, by_feed, anonymous }
    }

    /// The books that any of these feeds is counted in, each once.
    fn groups_of_feeds(&self, feeds: &[&FeedConfig]) -> Vec<Arc<RateLimitGroup>> {
        let mut books: Vec<Arc<RateLimitGroup>> = Vec::new();
        let own = feeds.iter().filter_map(|feed| self.by_feed.get(&feed.id));
        let is_anonymous = feeds.iter().any(|feed| credential::is_anonymous(feed));
        for book in own.chain(self.anonymous.iter().filter(|_| is_anonymous)) {
            if !books.iter().any(|known| Arc::ptr_eq(known, book)) {
                books.push(Arc::clone(book));
            }
        }
        books
    }
}

impl RateLimitGroup {
    /// One that counts what was sent by these.
    fn from_previous(mut window: RateWindow, books: &[Arc<RateLimitGroup>]) -> RateLimitGroup {
        books.iter().for_each(|book| window.merge_sent_requests(&book.window.lock()));
        RateLimitGroup { window: Mutex::new(window), door: Arc::new(Semaphore::new(1)) }
    }
}

/// Where requests are counted. One without a book and not serial lets all pass.
#[derive(Clone, Debug, Default)]
pub(crate) struct RateLimitBucket {
    book: Option<Arc<RateLimitGroup>>,
    serial: Option<Arc<Semaphore>>,
}

impl RateLimitBucket {
    /// Whether requests are counted there, too, and nowhere else.
    pub(crate) fn is_same_bucket(&self, other: &RateLimitBucket) -> bool {
        fn is_same_arc<T>(one: &Option<Arc<T>>, other: &Option<Arc<T>>) -> bool {
            match (one, other) {
                (Some(one), Some(other)) => Arc::ptr_eq(one, other),
                (one, other) => one.is_none() && other.is_none(),
            }
        }
        is_same_arc(&self.book, &other.book) && is_same_arc(&self.serial, &other.serial)
    }

    /// Books the first free moment from `from` on.
    pub(crate) fn reserve_from(&self, from: Duration, now: Duration) -> RateLimitReservation {
        let booked = self.book.as_ref().map(|book| {
            let (ticket, at) = book.window.lock().reserve_moment(from, now);
            (WindowReservation { book: Arc::clone(book), ticket }, at)
        });
        let (ticket, at) = match booked {
            Some((ticket, at)) => (Some(ticket), at),
            None => (None, from),
        };
        RateLimitReservation { ticket, at, serial: self.serial.clone() }
    }
}

/// A moment that is kept for one request.
#[derive(Debug, Default)]
pub(crate) struct RateLimitReservation {
    ticket: Option<WindowReservation>,
    at: Duration,
    serial: Option<Arc<Semaphore>>,
}

impl RateLimitReservation {
    /// When it is, on the monotonic clock.
    pub(crate) fn reserved_at(&self) -> Duration {
        self.at
    }

    /// Waits until the request may be sent, which then is at once. To be asked for when its time has come.
    ///
    /// Cancel safe: a turn that is not waited for any more is given back.
    pub(crate) async fn wait_for_permit(self, clock: Arc<dyn Clock>) -> RateLimitPermit {
        let RateLimitReservation { ticket, serial, .. } = self;
        let door = match &ticket {
            Some(ticket) => Arc::clone(&ticket.book.door).acquire_owned().await.ok(),
            None => None,
        };
        // First the rate, then the host: who waits for the rate does not keep others from the host.
        if let Some(ticket) = &ticket {
            while let Err(opens) = ticket.check_start(clock.monotonic()) {
                clock.sleep_until(opens).await;
            }
        }
        let only = match serial {
            Some(serial) => serial.acquire_owned().await.ok(),
            None => None,
        };
        let counted = ticket.map(|ticket| {
            let (book, at) = (Arc::clone(&ticket.book), clock.monotonic());
            ticket.record_start(at);
            (book, at)
        });
        drop(door);
        RateLimitPermit { _only: only, counted }
    }
}

/// A place in a book, which is given back when it is dropped.
#[derive(Debug)]
struct WindowReservation {
    book: Arc<RateLimitGroup>,
    ticket: u64,
}

impl WindowReservation {
    fn check_start(&self, now: Duration) -> Result<(), Duration> {
        self.book.window.lock().check_start(now)
    }

    /// Counts the request. Between [`may_start`](WindowReservation::check_start) and this nobody else has come through the door.
    fn record_start(self, now: Duration) {
        self.book.window.lock().record_start(now);
    }
}

impl Drop for WindowReservation {
    fn drop(&mut self) {
        self.book.window.lock().cancel_reservation(self.ticket);
    }
}

/// The right to one request, until it is dropped.
#[derive(Debug, Default)]
pub(crate) struct RateLimitPermit {
    _only: Option<OwnedSemaphorePermit>,
    /// Where it was counted, and when.
    counted: Option<(Arc<RateLimitGroup>, Duration)>,
}

impl RateLimitPermit {
    /// Ends it without a request: it is as if it had not been.
    pub(crate) fn return_unused(self) {
        if let Some((book, at)) = self.counted {
            book.window.lock().undo_start(at);
        }
    }
}

#[cfg(test)]
mod tests;
