//! How much a producer is asked by all feeds together: `rate` and `serial`.
//!
//! A feed books its next request when it knows when it wants it, so that it can say when its turn comes. All that
//! share a host and a credential share one book. Each holds one booking at a time and gets the first moment that is
//! free when it asks, so nobody waits for more than one request of each of the others. When its time has come, it takes
//! its turn; the order of coming decides, and what was really sent is counted, not what was booked.
//!
//! One turn is for one request, redirects included, and nobody who has a turn waits for another one.

mod credential;
mod rate;
mod window;

use std::{collections::HashMap, sync::Arc, time::Duration};

use lineside_sync::Clock;
use parking_lot::Mutex;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

pub use rate::{BadRate, Rate};

use self::window::Window;
use crate::config::{FeedConfig, FeedId};

/// The budgets of all hosts. Hosts of which no feed has a `rate` or is `serial` have none.
#[derive(Debug, Default)]
pub(crate) struct Budgets {
    hosts: HashMap<String, Host>,
}

#[derive(Debug)]
struct Host {
    /// There is one permit, where requests come one at a time.
    serial: Option<Arc<Semaphore>>,
    by_feed: HashMap<FeedId, Arc<Book>>,
    /// Of requests that show no credential.
    anonymous: Option<Arc<Book>>,
}

/// The requests that are counted together.
#[derive(Debug)]
struct Book {
    window: Mutex<Window>,
    /// Who is first to come is first to go. Bound: one waits per feed.
    door: Arc<Semaphore>,
}

impl Budgets {
    pub(crate) fn new<'a>(feeds: impl Iterator<Item = &'a FeedConfig>) -> Budgets {
        let mut by_host: HashMap<String, Vec<&FeedConfig>> = HashMap::new();
        for feed in feeds {
            if let Some(host) = feed.url.host() {
                by_host.entry(host).or_default().push(feed);
            }
        }
        by_host.retain(|_, feeds| feeds.iter().any(|feed| feed.serial || feed.rate.is_some()));
        let hosts = by_host.into_iter().map(|(host, feeds)| (host, Host::new(&feeds)));
        Budgets { hosts: hosts.collect() }
    }

    /// Where a feed's requests to `host` are counted. At a host that is not its own it shows no credential.
    pub(crate) fn place(&self, feed: &FeedConfig, host: Option<&str>) -> Place {
        let Some(found) = host.and_then(|host| self.hosts.get(host)) else {
            return Place::default();
        };
        let is_own = feed.url.host().as_deref() == host;
        let book = if is_own { found.by_feed.get(&feed.id) } else { found.anonymous.as_ref() };
        Place { book: book.cloned(), serial: found.serial.clone() }
    }
}

impl Host {
    fn new(feeds: &[&FeedConfig]) -> Host {
        let serial = feeds.iter().any(|feed| feed.serial).then(|| Arc::new(Semaphore::new(1)));
        let (mut by_feed, mut anonymous) = (HashMap::new(), None);
        for group in credential::groups(feeds) {
            let rates: Vec<Rate> = group.iter().filter_map(|feed| feed.rate).collect();
            if rates.is_empty() {
                continue;
            }
            let window = Mutex::new(Window::new(rates));
            let book = Arc::new(Book { window, door: Arc::new(Semaphore::new(1)) });
            if group.iter().any(|feed| credential::is_anonymous(feed)) {
                anonymous = Some(Arc::clone(&book));
            }
            by_feed.extend(group.iter().map(|feed| (feed.id.clone(), Arc::clone(&book))));
        }
        Host { serial, by_feed, anonymous }
    }
}

/// Where requests are counted. One without a book and not serial lets all pass.
#[derive(Clone, Debug, Default)]
pub(crate) struct Place {
    book: Option<Arc<Book>>,
    serial: Option<Arc<Semaphore>>,
}

impl Place {
    /// Books the first free moment from `from` on.
    pub(crate) fn book(&self, from: Duration, now: Duration) -> Booking {
        let booked = self.book.as_ref().map(|book| {
            let (ticket, at) = book.window.lock().book(from, now);
            (Ticket { book: Arc::clone(book), ticket }, at)
        });
        let (ticket, at) = match booked {
            Some((ticket, at)) => (Some(ticket), at),
            None => (None, from),
        };
        Booking { ticket, at, serial: self.serial.clone() }
    }
}

/// A moment that is kept for one request.
#[derive(Debug, Default)]
pub(crate) struct Booking {
    ticket: Option<Ticket>,
    at: Duration,
    serial: Option<Arc<Semaphore>>,
}

impl Booking {
    /// When it is, on the monotonic clock.
    pub(crate) fn at(&self) -> Duration {
        self.at
    }

    /// Waits until the request may be sent, which then is at once. To be asked for when its time has come.
    ///
    /// Cancel safe: a turn that is not waited for any more is given back.
    pub(crate) async fn turn(self, clock: Arc<dyn Clock>) -> Turn {
        let Booking { ticket, serial, .. } = self;
        let door = match &ticket {
            Some(ticket) => Arc::clone(&ticket.book.door).acquire_owned().await.ok(),
            None => None,
        };
        // First the rate, then the host: who waits for the rate does not keep others from the host.
        if let Some(ticket) = &ticket {
            while let Err(opens) = ticket.may_start(clock.monotonic()) {
                clock.sleep_until(opens).await;
            }
        }
        let only = match serial {
            Some(serial) => serial.acquire_owned().await.ok(),
            None => None,
        };
        if let Some(ticket) = ticket {
            ticket.start(clock.monotonic());
        }
        drop(door);
        Turn { _only: only }
    }
}

/// A place in a book, which is given back when it is dropped.
#[derive(Debug)]
struct Ticket {
    book: Arc<Book>,
    ticket: u64,
}

impl Ticket {
    fn may_start(&self, now: Duration) -> Result<(), Duration> {
        self.book.window.lock().may_start(now)
    }

    /// Counts the request. Between [`may_start`](Ticket::may_start) and this nobody else has come through the door.
    fn start(self, now: Duration) {
        self.book.window.lock().start(now);
    }
}

impl Drop for Ticket {
    fn drop(&mut self) {
        self.book.window.lock().cancel(self.ticket);
    }
}

/// The right to one request, until it is dropped.
#[derive(Debug, Default)]
pub(crate) struct Turn {
    _only: Option<OwnedSemaphorePermit>,
}

#[cfg(test)]
mod tests;
