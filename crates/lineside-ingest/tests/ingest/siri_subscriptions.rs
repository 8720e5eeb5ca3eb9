//! Tests of SIRI subscriptions over real sockets: requests, deliveries and termination.

mod announced_data;
mod lifecycle;
mod deliveries;
mod secrets;

use std::{
    sync::{
        Arc,
        atomic::{AtomicU32, Ordering},
    },
    time::Duration,
};

use lineside_formats::gtfs_rt::proto::trip_descriptor::ScheduleRelationship;
use lineside_ingest::{DeliveryError, Feed, InboxSettings, Ingest, IngestOptions};
use lineside_model::{
    FailureCode, FeedConfig, FeedState, PollQuery, RequestRate, Secret, ServedContentFreshness,
    SiriMode, SiriService, SiriSourceSettings, exports, exports::ExportedEntityKinds,
};
use lineside_sync::{Clock, RealClock, SimulatedClock, UnixMillis};
use lineside_testkit::wait_until;

use crate::{
    running::{options as running_options, wait_until_failed},
    siri_producers::{journey, ok, request, siri, timetables, today, trips},
    upstream::{Answer, Upstream, http},
};

fn xml(inside: &str) -> String {
    format!("<Siri xmlns=\"http://www.siri.org.uk/siri\">{inside}</Siri>")
}

const AGREED: &str = "<SubscriptionResponse><ResponseStatus><Status>true</Status></ResponseStatus>\
                      </SubscriptionResponse>";

/// Returns a simulated clock that starts at the real time, which timestamps are compared with.
fn clock() -> Arc<SimulatedClock> {
    Arc::new(SimulatedClock::new(RealClock::new().wall_time()))
}

fn subscriber(url: &str, services: Vec<SiriService>) -> FeedConfig {
    let source = SiriSourceSettings { mode: SiriMode::Subscribe, services, ..request() };
    FeedConfig { poll: Some(Duration::from_secs(3600)), ..siri(url, source) }
}

/// Starts a subscribed feed of an answering producer; returns it with the key sent to the producer.
async fn subscribed(upstream: &Upstream, clock: &Arc<SimulatedClock>) -> (Arc<Ingest>, String) {
    let feed = subscriber(&upstream.url("/siri"), vec![SiriService::Timetables]);
    start_subscribed(upstream, feed, clock).await
}

async fn start_subscribed(
    upstream: &Upstream,
    feed: FeedConfig,
    clock: &Arc<SimulatedClock>,
) -> (Arc<Ingest>, String) {
    let n_messages_sent = AtomicU32::new(0);
    let key =
        move || Secret::new(format!("k3y-{}", n_messages_sent.fetch_add(1, Ordering::Relaxed)));
    let ingest = Ingest::start_polling(IngestOptions {
        inboxes: InboxSettings {
            address: Some("https://me.example/".into()),
            subscriber: "lineside-1".into(),
            keys: Arc::new(key),
        },
        clock: Arc::clone(clock) as _,
        ..running_options(vec![feed])
    });
    let feed = ingest.find_feed("siri").unwrap();
    // A producer that refuses has received a key, too.
    wait_until("the feed has subscribed", async || {
        // The starts of feeds are staggered.
        clock.advance_time(Duration::from_millis(1));
        feed.status().fetches > 0
    })
    .await;
    let key = last_sent_key(upstream);
    (ingest, key)
}

/// Returns the key last sent to the producer.
fn last_sent_key(upstream: &Upstream) -> String {
    let request = upstream.requests().pop().unwrap();
    let (_, key) = request.split_once("https://me.example/siri/inbox/siri?key=").unwrap();
    key.split('<').next().unwrap().to_owned()
}

/// Returns the number of requests that contain a text.
fn count_requests(upstream: &Upstream, what: &str) -> usize {
    upstream.requests().iter().filter(|request| request.contains(what)).count()
}

fn status_of(started: &str) -> String {
    let started = format!("<ServiceStartedTime>{started}</ServiceStartedTime>");
    xml(&format!("<CheckStatusResponse><Status>true</Status>{started}</CheckStatusResponse>"))
}

const STARTED: &str = "2026-11-20T08:00:00Z";

/// Returns a notification of available data.
fn ready() -> bytes::Bytes {
    xml("<DataReadyNotification><MessageIdentifier>m</MessageIdentifier></DataReadyNotification>")
        .into()
}

/// Returns the number of fetches of announced data.
fn fetched(upstream: &Upstream) -> usize {
    let requests = upstream.requests();
    requests.iter().filter(|request| request.contains("<DataSupplyRequest>")).count()
}

/// Returns the seconds until a feed's next poll.
fn next_in(feed: &Feed, clock: &SimulatedClock) -> Option<u64> {
    feed.status()
        .next_poll
        .map(|at| at.duration_since(clock.wall_time()).as_millis().div_ceil(1_000) as u64)
}

/// Returns a condition: the feed has subscribed `times` times.
fn has_agreed(feed: &Arc<Feed>, times: u64) -> impl AsyncFn() -> bool {
    let feed = Arc::clone(feed);
    async move || feed.status().outcomes.iter().any(|(name, n)| name == "subscribed" && *n == times)
}
