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

use arc_swap::ArcSwap;
use lineside_sync::Clock;
use parking_lot::Mutex;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

pub use rate::{BadRate, Rate};

use self::window::Window;
use crate::config::{FeedConfig, FeedId};

/// The budgets of all hosts. Hosts of which no feed has a `rate` or is `serial` have none.
#[derive(Debug, Default)]
pub(crate) struct Budgets {
    hosts: ArcSwap<HashMap<String, Host>>,
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
        let budgets = Budgets::default();
        budgets.change(feeds);
        budgets
    }

    /// The same for other feeds. What was sent stays counted: feeds that are counted together now have sent all that any of
    /// them was counted with before.
    pub(crate) fn change<'a>(&self, feeds: impl Iterator<Item = &'a FeedConfig>) {
        let mut by_host: HashMap<String, Vec<&FeedConfig>> = HashMap::new();
        for feed in feeds {
            if let Some(host) = feed.url.host() {
                by_host.entry(host).or_default().push(feed);
            }
        }
        by_host.retain(|_, feeds| feeds.iter().any(|feed| feed.serial || feed.rate.is_some()));
        let before = self.hosts.load();
        let hosts = by_host.into_iter().map(|(host, feeds)| {
            let known = before.get(&host);
            (host, Host::new(&feeds, known))
        });
        self.hosts.store(Arc::new(hosts.collect()));
    }

    /// Where a feed's requests to `host` are counted. At a host that is not its own it shows no credential.
    pub(crate) fn place(&self, feed: &FeedConfig, host: Option<&str>) -> Place {
        let hosts = self.hosts.load();
        let Some(found) = host.and_then(|host| hosts.get(host)) else {
            return Place::default();
        };
        let is_own = feed.url.host().as_deref() == host;
        let book = if is_own { found.by_feed.get(&feed.id) } else { found.anonymous.as_ref() };
        Place { book: book.cloned(), serial: found.serial.clone() }
    }
}

impl Host {
    fn new(feeds: &[&FeedConfig], known: Option<&Host>) -> Host {
        let serial = feeds.iter().any(|feed| feed.serial).then(|| {
            let known = known.and_then(|known| known.serial.clone());
            known.unwrap_or_else(|| Arc::new(Semaphore::new(1)))
        });
        let (mut by_feed, mut anonymous) = (HashMap::<FeedId, Arc<Book>>::new(), None);
        for group in credential::groups(feeds) {
            let rates: Vec<Rate> = group.iter().filter_map(|feed| feed.rate).collect();
            if rates.is_empty() {
                continue;
            }
            let window = Window::new(rates);
            let books = known.map(|known| known.books_of(&group)).unwrap_or_default();
            // Feeds that parted are not counted together any more.
            let is_free = |book| !by_feed.values().any(|taken| Arc::ptr_eq(taken, book));
            let book = match &books[..] {
                [only] if is_free(only) && only.window.lock().has_rates_of(&window) => {
                    Arc::clone(only)
                }
                _ => Arc::new(Book::after(window, &books)),
            };
            if group.iter().any(|feed| credential::is_anonymous(feed)) {
                anonymous = Some(Arc::clone(&book));
            }
            by_feed.extend(group.iter().map(|feed| (feed.id.clone(), Arc::clone(&book))));
        }
        Host { serial, by_feed, anonymous }
    }

    /// The books that any of these feeds is counted in, each once.
    fn books_of(&self, feeds: &[&FeedConfig]) -> Vec<Arc<Book>> {
        let mut books: Vec<Arc<Book>> = Vec::new();
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

impl Book {
    /// One that counts what was sent by these.
    fn after(mut window: Window, books: &[Arc<Book>]) -> Book {
        books.iter().for_each(|book| window.count_sent(&book.window.lock()));
        Book { window: Mutex::new(window), door: Arc::new(Semaphore::new(1)) }
    }
}

/// Where requests are counted. One without a book and not serial lets all pass.
#[derive(Clone, Debug, Default)]
pub(crate) struct Place {
    book: Option<Arc<Book>>,
    serial: Option<Arc<Semaphore>>,
}

impl Place {
    /// Whether requests are counted there, too, and nowhere else.
    pub(crate) fn is(&self, other: &Place) -> bool {
        fn same<T>(one: &Option<Arc<T>>, other: &Option<Arc<T>>) -> bool {
            match (one, other) {
                (Some(one), Some(other)) => Arc::ptr_eq(one, other),
                (one, other) => one.is_none() && other.is_none(),
            }
        }
        same(&self.book, &other.book) && same(&self.serial, &other.serial)
    }

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
        let counted = ticket.map(|ticket| {
            let (book, at) = (Arc::clone(&ticket.book), clock.monotonic());
            ticket.start(at);
            (book, at)
        });
        drop(door);
        Turn { _only: only, counted }
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
    /// Where it was counted, and when.
    counted: Option<(Arc<Book>, Duration)>,
}

impl Turn {
    /// Ends it without a request: it is as if it had not been.
    pub(crate) fn give_back(self) {
        if let Some((book, at)) = self.counted {
            book.window.lock().take_back(at);
        }
    }
}

#[cfg(test)]
mod tests;
