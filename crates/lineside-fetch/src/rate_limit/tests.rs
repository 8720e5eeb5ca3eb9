//! Tests with random feeds: no rate is exceeded, no host gets more concurrent requests than its limit, and no feed
//! starves.

use std::{
    cell::{Cell, RefCell},
    collections::BTreeMap,
    pin::{Pin, pin},
    rc::Rc,
    task::{Context, Waker},
};

use lineside_sync::{SimulatedClock, UnixMillis};
use proptest::prelude::*;

use super::*;
use crate::source::{Secret, SourceLocation};

/// The simulated time.
const HORIZON: Duration = Duration::from_secs(20 * 60);

/// A feed of a test.
#[derive(Clone, Debug)]
struct SimulatedFeed {
    host: u8,
    /// The credential; none for 0.
    key: u8,
    rate: Option<(u32, bool)>,
    /// The limit of concurrent requests to the host.
    concurrent: Option<usize>,
    /// Seconds between the end of a request and the next one, if nothing delays it.
    interval: u64,
    /// Seconds that the producer takes to answer.
    service: u64,
}

impl SimulatedFeed {
    fn rate(&self) -> Option<RequestRate> {
        let (count, minutes) = self.rate?;
        Some(RequestRate::parse(&format!("{count}/{}", if minutes { "min" } else { "s" })).unwrap())
    }

    fn feed(&self, number: usize) -> FeedConfig {
        let url = format!("https://{}.example/{number}", self.host);
        let id = FeedId::new(&format!("f{number}")).unwrap();
        let mut feed = FeedConfig::new(id, SourceLocation::parse(&url).unwrap());
        (feed.rate, feed.max_concurrent_requests) = (self.rate(), self.concurrent);
        if self.key > 0 {
            feed.headers = vec![("x-key".to_owned(), Secret::new(self.key.to_string()))];
        }
        feed
    }
}

/// A request as its feed experienced it.
#[derive(Clone, Copy, Debug)]
struct RequestTimes {
    feed: usize,
    /// The times at which the request was due, reserved, sent and completed.
    due: Duration,
    reserved: Duration,
    began: Duration,
    ended: Duration,
}

/// The sent requests, and a counter of all events.
#[derive(Clone, Default)]
struct Log {
    sent: Rc<RefCell<Vec<RequestTimes>>>,
    steps: Rc<Cell<u64>>,
}

async fn send_requests(
    number: usize,
    simulated_feed: SimulatedFeed,
    bucket: RateLimitBucket,
    clock: SimulatedClock,
    log: Log,
) {
    let mut due = Duration::ZERO;
    while due < HORIZON {
        let reservation = bucket.reserve_request_time(due, clock.monotonic());
        let reserved = reservation.reserved_time();
        clock.sleep_until(reserved).await;
        let permit = reservation.wait_for_permit(Arc::new(clock.clone())).await;
        let began = clock.monotonic();
        let at = log.sent.borrow().len();
        let sent = RequestTimes { feed: number, due, reserved, began, ended: Duration::MAX };
        log.sent.borrow_mut().push(sent);
        log.steps.update(|steps| steps + 1);
        clock.sleep(Duration::from_secs(simulated_feed.service)).await;
        drop(permit);
        log.sent.borrow_mut()[at].ended = clock.monotonic();
        log.steps.update(|steps| steps + 1);
        due = clock.monotonic() + Duration::from_secs(simulated_feed.interval);
    }
}

/// Runs all feeds for the whole time and returns their requests.
fn run(simulated_feeds: &[SimulatedFeed]) -> Vec<RequestTimes> {
    let feeds: Vec<FeedConfig> = simulated_feeds
        .iter()
        .enumerate()
        .map(|(number, simulated_feed)| simulated_feed.feed(number))
        .collect();
    let budgets = RateLimiter::new(feeds.iter());
    let clock = SimulatedClock::new(UnixMillis(0));
    let log = Log::default();
    let mut tasks: Vec<Pin<Box<dyn Future<Output = ()>>>> = Vec::new();
    for (number, feed) in feeds.iter().enumerate() {
        let bucket = budgets.bucket_for_feed(feed, feed.url.host_with_port().as_deref());
        let simulated_feed = simulated_feeds[number].clone();
        tasks.push(Box::pin(send_requests(
            number,
            simulated_feed,
            bucket,
            clock.clone(),
            log.clone(),
        )));
    }
    let mut context = Context::from_waker(Waker::noop());
    loop {
        // One feed's progress may allow another to proceed, which changes the counter.
        loop {
            let before = log.steps.get();
            tasks.retain_mut(|task| task.as_mut().poll(&mut context).is_pending());
            if log.steps.get() == before {
                break;
            }
        }
        match clock.next_sleep_deadline() {
            Some(next) => clock.advance_time(next.saturating_sub(clock.monotonic())),
            None => break,
        }
    }
    assert!(tasks.is_empty(), "a task is still waiting");
    log.sent.take()
}

/// Groups the feeds that are counted together, independently of the rate limiter's code.
fn together(simulated_feeds: &[SimulatedFeed]) -> BTreeMap<(u8, u8), Vec<usize>> {
    let mut together: BTreeMap<(u8, u8), Vec<usize>> = BTreeMap::new();
    for (number, simulated_feed) in simulated_feeds.iter().enumerate() {
        together.entry((simulated_feed.host, simulated_feed.key)).or_default().push(number);
    }
    together
}

fn check(simulated_feeds: &[SimulatedFeed]) {
    let sent = run(simulated_feeds);
    let max_concurrent = |host: u8| {
        let of_host = simulated_feeds.iter().filter(|wish| wish.host == host);
        of_host.filter_map(|wish| wish.concurrent).min()
    };
    for ((host, _), feeds) in together(simulated_feeds) {
        let rates: Vec<RequestRate> =
            feeds.iter().filter_map(|feed| simulated_feeds[*feed].rate()).collect();
        let mut began: Vec<Duration> =
            sent.iter().filter(|sent| feeds.contains(&sent.feed)).map(|sent| sent.began).collect();
        began.sort_unstable();
        for rate in &rates {
            for some in began.windows(rate.max_requests() + 1) {
                let span = some[rate.max_requests()] - some[0];
                assert!(
                    span >= rate.period(),
                    "{rate} is exceeded: {some:?} of {simulated_feeds:?}"
                );
            }
        }
        let slowest = rates.iter().map(|rate| rate.period()).max().unwrap_or_default();
        let start_times = |feed: &usize| {
            sent.iter().filter(|sent| sent.feed == *feed).map(|sent| sent.began).collect()
        };
        let others: BTreeMap<usize, Vec<Duration>> =
            feeds.iter().map(|feed| (*feed, start_times(feed))).collect();
        for one in sent.iter().filter(|sent| feeds.contains(&sent.feed)) {
            no_feed_starves(
                one,
                &others,
                slowest,
                (simulated_feeds, max_concurrent(host).is_some()),
            );
        }
    }
    for host in 0..3 {
        let mut at_host: Vec<&RequestTimes> =
            sent.iter().filter(|sent| simulated_feeds[sent.feed].host == host).collect();
        at_host.sort_unstable_by_key(|sent| sent.began);
        let Some(max) = max_concurrent(host) else { continue };
        for (number, one) in at_host.iter().enumerate() {
            let open = at_host[..number].iter().filter(|earlier| earlier.ended > one.began).count();
            assert!(open < max, "{} at a time: {one:?} of {simulated_feeds:?}", open + 1);
        }
    }
    for number in 0..simulated_feeds.len() {
        assert!(
            sent.iter().any(|sent| sent.feed == number),
            "{number} was never polled: {simulated_feeds:?}"
        );
    }
}

/// Asserts that a feed waits for at most one request of each of the others, and that reserved times are met.
fn no_feed_starves(
    one: &RequestTimes,
    feeds: &BTreeMap<usize, Vec<Duration>>,
    slowest: Duration,
    (wishes, has_slots): (&[SimulatedFeed], bool),
) {
    let n_feeds = u32::try_from(feeds.len()).unwrap();
    if has_slots {
        // Each feed before it may wait for the host, where each request may be slow.
        let at_host: u64 = wishes.iter().map(|simulated_feed| simulated_feed.service).sum();
        let longest = (slowest + Duration::from_secs(at_host)) * (n_feeds + 1);
        assert!(one.began <= one.due + longest, "{one:?} of {wishes:?}");
        return;
    }
    assert_eq!(one.began, one.reserved, "the reserved time changed: {one:?} of {wishes:?}");
    assert!(one.began <= one.due + slowest * (n_feeds + 1), "{one:?} of {wishes:?}");
    for (other, began) in feeds.iter().filter(|(other, _)| **other != one.feed) {
        let first = began.partition_point(|at| *at <= one.due);
        let overtook = began.partition_point(|at| *at < one.began).saturating_sub(first);
        assert!(overtook <= 1, "{other} overtook {one:?} {overtook} times: {wishes:?}");
    }
}

fn any_feed() -> impl Strategy<Value = SimulatedFeed> {
    let rate = proptest::option::weighted(0.6, (1_u32..5, any::<bool>()));
    let concurrent = proptest::option::weighted(0.15, 1_usize..3);
    (0_u8..2, 0_u8..3, rate, concurrent, 0_u64..100, 0_u64..5).prop_map(
        |(host, key, rate, concurrent, interval, service)| {
            // A request takes time: otherwise a feed without a rate would send requests endlessly.
            let interval = interval.max(u64::from(service == 0));
            SimulatedFeed { host, key, rate, concurrent, interval, service }
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn no_rate_is_exceeded_and_no_feed_starves(wishes in proptest::collection::vec(any_feed(), 1..10)) {
        check(&wishes);
    }
}

fn polite(key: u8, rate: Option<(u32, bool)>, interval: u64) -> SimulatedFeed {
    SimulatedFeed { host: 0, key, rate, concurrent: None, interval, service: 1 }
}

#[test]
fn the_strictest_rate_applies_to_all_feeds_of_a_credential_only() {
    let simulated_feeds = [polite(1, Some((4, true)), 5), polite(1, None, 5), polite(2, None, 5)];
    check(&simulated_feeds);
    let sent = run(&simulated_feeds);
    let count = |feed| sent.iter().filter(|sent| sent.feed == feed).count() as u64;
    let minutes = HORIZON.as_secs() / 60;
    assert!((minutes * 4 - 4..=minutes * 4 + 8).contains(&(count(0) + count(1))));
    assert!(count(0).abs_diff(count(1)) <= 2, "{} and {}", count(0), count(1));
    assert!(count(2) >= HORIZON.as_secs() / 6);
}

#[test]
fn a_frequent_feed_does_not_starve_a_rare_one() {
    check(&[polite(0, Some((1, true)), 1), polite(0, None, 1), polite(0, None, 600)]);
}

#[test]
fn a_dropped_reservation_is_free_again() {
    let simulated_feeds = [polite(0, Some((1, true)), 1), polite(0, None, 1)];
    let feeds = [simulated_feeds[0].feed(0), simulated_feeds[1].feed(1)];
    let budgets = RateLimiter::new(feeds.iter());
    let bucket =
        |feed: &FeedConfig| budgets.bucket_for_feed(feed, feed.url.host_with_port().as_deref());
    let second = Duration::from_secs(1);
    let first = bucket(&feeds[0]).reserve_request_time(second, Duration::ZERO);
    assert_eq!(
        bucket(&feeds[1]).reserve_request_time(second, Duration::ZERO).reserved_time(),
        second * 61
    );
    drop(first);
    assert_eq!(
        bucket(&feeds[1]).reserve_request_time(second, Duration::ZERO).reserved_time(),
        second
    );
}

#[test]
fn a_redirect_counts_against_the_target_host() {
    let mut redirected_feed = polite(0, Some((1, true)), 1);
    redirected_feed.host = 1;
    let feeds = [polite(0, None, 1).feed(0), redirected_feed.feed(1)];
    let budgets = RateLimiter::new(feeds.iter());
    let hop = budgets.bucket_for_feed(&feeds[0], Some("1.example"));
    let _reservation = hop.reserve_request_time(Duration::ZERO, Duration::ZERO);
    let own = budgets.bucket_for_feed(&feeds[1], Some("1.example"));
    assert_eq!(
        own.reserve_request_time(Duration::ZERO, Duration::ZERO).reserved_time(),
        Duration::from_secs(60)
    );
}

#[test]
fn changed_rates_remember_sent_requests() {
    let limited = polite(0, Some((1, true)), 1);
    let feeds = [limited.feed(0), polite(0, None, 1).feed(1)];
    let budgets = RateLimiter::new(feeds.iter());
    let bucket =
        |feed: &FeedConfig| budgets.bucket_for_feed(feed, feed.url.host_with_port().as_deref());
    let clock = SimulatedClock::new(UnixMillis(0));
    let before = bucket(&feeds[0]);
    let permit = pin!(
        before
            .reserve_request_time(Duration::ZERO, Duration::ZERO)
            .wait_for_permit(Arc::new(clock))
    );
    assert!(permit.poll(&mut Context::from_waker(Waker::noop())).is_ready());
    // The same feeds have the same group; another rate gives another group, which knows the sent requests.
    budgets.update_limits_for_feeds(feeds.iter());
    assert!(bucket(&feeds[0]).is_same_bucket(&before));
    let stricter =
        [feeds[0].clone(), FeedConfig { rate: RequestRate::parse("2/h").ok(), ..feeds[1].clone() }];
    budgets.update_limits_for_feeds(stricter.iter());
    assert!(!bucket(&feeds[0]).is_same_bucket(&before));
    let reserve_all = |from: u64| {
        bucket(&feeds[1]).reserve_request_time(Duration::from_secs(from), Duration::from_secs(1))
    };
    let second = reserve_all(1);
    assert_eq!(second.reserved_time(), Duration::from_secs(60));
    assert_eq!(reserve_all(1).reserved_time(), Duration::from_secs(3_600));
    drop(second);
    budgets.update_limits_for_feeds(std::iter::empty());
    assert!(bucket(&feeds[0]).is_same_bucket(&RateLimitBucket::default()));
}

#[test]
fn feeds_that_no_longer_share_a_credential_are_separated() {
    let shared = polite(0, Some((1, true)), 1);
    let feeds = [shared.feed(0), shared.feed(1)];
    let budgets = RateLimiter::new(feeds.iter());
    let bucket =
        |feed: &FeedConfig| budgets.bucket_for_feed(feed, feed.url.host_with_port().as_deref());
    assert!(bucket(&feeds[0]).is_same_bucket(&bucket(&feeds[1])));
    let mut parted = feeds.clone();
    parted[1].headers.push(("x-key".to_owned(), crate::source::Secret::new("hunter2")));
    budgets.update_limits_for_feeds(parted.iter());
    assert!(!bucket(&parted[0]).is_same_bucket(&bucket(&parted[1])));
}
