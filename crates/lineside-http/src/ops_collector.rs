//! Collects the statistics of all feeds and the node, as totals and as rates since the previous collection.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use lineside_config::times::format_rfc3339;
use lineside_hub::Hub;
use lineside_ingest::Feed;
use lineside_sync::real_time::sleep_real_time;
use lineside_sync::{Clock, RealClock};

use crate::app::App;
use crate::compressed_count_and_bytes;
use crate::ops::dashboard::DashboardSnapshot;
use crate::ops::feed_overview::CacheUsage;
use crate::ops::feed_overview::{FeedOverview, FeedOverviewInputs, round_to_digits};
use crate::ops::node_overview::{FeedStateCounts, NodeOverview, NodeSample};
use crate::ops::process;
use crate::ops::quantiles::QuantileWindow;
use crate::ops::{FEEDS_KEY, NODE_KEY};

/// Interval between two collections while the dashboard is watched.
const WATCHED_INTERVAL: Duration = Duration::from_secs(1);
/// Number of these intervals between two collections while it is not watched.
const UNWATCHED_EVERY: u32 = 10;

/// The counters at the previous collection.
#[derive(Debug)]
pub(crate) struct MetricsCollector {
    /// Real time, even if the clock of the data is faster: CPU time and requests are measured in it.
    clock: RealClock,
    previous: Option<PreviousCounters>,
    delivery_times: QuantileWindow,
}

#[derive(Debug)]
struct PreviousCounters {
    at: Duration,
    /// Number of requests by feed.
    requests: HashMap<String, u64>,
    deliveries: u64,
    answered: u64,
    cpu: Option<Duration>,
}

impl MetricsCollector {
    pub(crate) fn new() -> Self {
        let (clock, delivery_times) = (RealClock::new(), QuantileWindow::default());
        Self { clock, previous: None, delivery_times }
    }

    /// Collects the snapshot that follows `before`.
    pub(crate) fn collect_snapshot(
        &mut self,
        app: &App,
        before: &DashboardSnapshot,
    ) -> DashboardSnapshot {
        let now = self.clock.monotonic();
        let feeds = app.ingest().feeds();
        let overviews = self.collect_feeds(&feeds, app, now);
        let node = NodeOverview {
            version: env!("CARGO_PKG_VERSION"),
            started: format_rfc3339(app.started_at()),
            connections_max: app.max_connections(),
            feeds: FeedStateCounts::from_feeds(&overviews),
        };
        let requests = feeds
            .iter()
            .map(|feed| (feed.id().to_string(), feed.metrics().request_count()))
            .collect();
        let counted = PreviousCounters {
            at: now,
            requests,
            deliveries: app.hub().metrics().deliveries_total,
            answered: app.http_metrics().request_count(),
            cpu: process::cpu_time(),
        };
        let sample = self.collect_node_sample(app, &counted, &overviews);
        self.previous = Some(counted);
        DashboardSnapshot::next_snapshot(before, sample.at, overviews, node, sample)
    }

    fn collect_feeds(&self, feeds: &[Arc<Feed>], app: &App, now: Duration) -> Vec<FeedOverview> {
        let (subscribers, reports, wall) =
            (count_subscribers(app.hub()), app.latest_reports(), app.now());
        let overviews = feeds.iter().map(|feed| {
            let requests =
                self.previous.as_ref().and_then(|it| it.requests.get(feed.id().as_str()));
            let elapsed = self.elapsed_since_previous(now).unwrap_or_default();
            let requests = requests.copied();
            let cache = feed_cache_usage(feed);
            let seen = FeedOverviewInputs {
                requests,
                elapsed,
                subscribers: &subscribers,
                wall,
                reports,
                cache,
            };
            FeedOverview::from_feed(feed, &seen)
        });
        overviews.collect()
    }

    fn elapsed_since_previous(&self, now: Duration) -> Option<Duration> {
        self.previous.as_ref().map(|before| now.saturating_sub(before.at))
    }

    fn collect_node_sample(
        &mut self,
        app: &App,
        counted: &PreviousCounters,
        feeds: &[FeedOverview],
    ) -> NodeSample {
        let delivery = self
            .delivery_times
            .quantiles_since_last(&app.hub().delivery_time_snapshot(), [0.5, 0.99]);
        let before = self.previous.as_ref();
        let seconds = self.elapsed_since_previous(counted.at).map(|elapsed| elapsed.as_secs_f64());
        let rate = |now: u64, before: Option<u64>| match (before, seconds) {
            (Some(before), Some(seconds)) if seconds > 0.0 => {
                round_to_digits(now.saturating_sub(before) as f64 / seconds, 10.0)
            }
            _ => 0.0,
        };
        let cpu = || {
            let used = counted.cpu?.saturating_sub(before?.cpu?).as_secs_f64();
            seconds
                .filter(|seconds| *seconds > 0.0)
                .map(|seconds| round_to_digits(used / seconds, 1_000.0))
        };
        let hub = app.hub().metrics();
        let in_seconds = |time: Duration| time.as_secs_f64();
        NodeSample {
            at: app.now(),
            connections: u64::from(app.admission().open_connections()),
            sessions: hub.sessions,
            subscriptions: hub.subscriptions,
            rooms: hub.rooms,
            deliveries: rate(counted.deliveries, before.map(|it| it.deliveries)),
            requests: rate(counted.answered, before.map(|it| it.answered)),
            delivery_p50: delivery.map(|[p50, _]| in_seconds(p50)),
            delivery_p99: delivery.map(|[_, p99]| in_seconds(p99)),
            memory: process::resident_bytes(),
            cpu: cpu(),
            mailboxes: app
                .partitions()
                .metrics()
                .pending_connection_count()
                .try_into()
                .unwrap_or(0),
            cache: feeds.iter().map(|feed| feed.cache.bytes).sum(),
        }
    }
}

/// Collects snapshots until the server stops.
pub async fn run_collector(app: App) {
    let mut collector = MetricsCollector::new();
    let mut collections_since = UNWATCHED_EVERY;
    while !app.shutdown().is_draining() {
        collections_since += 1;
        let is_watched = [FEEDS_KEY, NODE_KEY].map(|key| app.hub().find_room(key).is_some());
        if is_watched.contains(&true) || collections_since >= UNWATCHED_EVERY {
            collections_since = 0;
            let ops = app.ops_dashboard();
            let number = ops.begun_collections.fetch_add(1, Ordering::AcqRel) + 1;
            collector = collect_snapshot_blocking(&app, collector).await;
            ops.published_collection.store(number, Ordering::Release);
            ops.snapshot_published.notify_waiters();
        }
        tokio::select! {
            () = sleep_real_time(WATCHED_INTERVAL) => {}
            () = app.ops_dashboard().refresh_requested.notified() => collections_since = UNWATCHED_EVERY,
            () = app.shutdown().wait_until_draining() => {}
        }
    }
}

/// Collects one snapshot on a blocking thread: with many feeds and rooms this takes long.
async fn collect_snapshot_blocking(app: &App, mut collector: MetricsCollector) -> MetricsCollector {
    let app = app.clone();
    let collect = move || {
        let board = collector.collect_snapshot(&app, &app.ops_dashboard().current_snapshot());
        app.ops_dashboard().publish_snapshot(app.hub(), board);
        collector
    };
    tokio::task::spawn_blocking(collect).await.unwrap_or_else(|error| {
        tracing::error!(%error, "collecting the data of the dashboard crashed");
        MetricsCollector::new()
    })
}

fn feed_cache_usage(feed: &Feed) -> CacheUsage {
    let parts = feed.distinct_gbfs_files();
    let all = parts.iter().map(|part| &*part.feed).chain([feed]).map(file_cache_usage);
    all.fold(CacheUsage::default(), |sum, one| CacheUsage {
        representations: sum.representations + one.representations,
        bytes: sum.bytes + one.bytes,
    })
}

fn file_cache_usage(feed: &Feed) -> CacheUsage {
    let Some(served) = feed.served_snapshot() else { return CacheUsage::default() };
    let plain = served.snapshot().bytes.len();
    let (representations, bytes) = compressed_count_and_bytes(&served);
    CacheUsage { representations: representations + 1, bytes: bytes + plain }
}

/// Returns the number of subscribers to all channels of each feed. The second segment of a transit channel's name is
/// its feed.
fn count_subscribers(hub: &Hub) -> HashMap<String, u64> {
    let mut subscribers: HashMap<String, u64> = HashMap::new();
    hub.for_each_public_room(|channel, n| {
        let mut words = channel.decoded_segments();
        if let (Some(kind), Some(feed)) = (words.next(), words.next())
            && FEED_PREFIXES.contains(&&*kind)
        {
            *subscribers.entry(feed.into_owned()).or_default() += n as u64;
        }
    });
    subscribers
}

/// The first segments of channels that belong to a feed.
const FEED_PREFIXES: [&str; 7] = ["feed", "vehicle", "trip", "alerts", "route", "stop", "station"];
