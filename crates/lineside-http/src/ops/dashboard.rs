//! A snapshot of the dashboard. Records that have not changed are shared with the previous snapshot.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

use bytes::Bytes;
use lineside_quality::keyed_change::{encode_removal_change, encode_upsert_change};
use lineside_sync::UnixMillis;

use super::feed_overview::FeedOverview;
use super::node_overview::{NodeOverview, NodeSample};

/// Maximum number of samples: five minutes while the dashboard is watched.
const SAMPLES_MAX: usize = 300;
/// Maximum age of a sample, so that samples from unwatched hours do not appear next to current ones.
const SAMPLE_AGE_MS_MAX: i64 = 5 * 60 * 1_000;
/// The kinds of records: a feed, the node, and a sample of the node.
const FEED: &str = "feed";
const NODE: &str = "node";
const SAMPLE: &str = "sample";
/// The id of a record that is the only one of its kind.
const NOW: &str = "now";

/// The state of feeds and node at one moment.
#[derive(Debug, Default)]
pub struct DashboardSnapshot {
    /// Time of the snapshot.
    pub at: UnixMillis,
    /// The feeds in the order of the configuration.
    pub feeds: Vec<Arc<DashboardFeed>>,
    /// The rarely changing statistics of the node.
    pub node: NodeOverview,
    /// The samples of the last minutes, oldest first.
    samples: VecDeque<Arc<EncodedSample>>,
}

/// A feed's statistics, with their encoded change.
#[derive(Debug)]
pub struct DashboardFeed {
    pub overview: FeedOverview,
    upsert: Bytes,
}

#[derive(Debug)]
struct EncodedSample {
    at: UnixMillis,
    sample: NodeSample,
    upsert: Bytes,
}

impl DashboardSnapshot {
    /// Creates the snapshot that follows `before`.
    pub fn next_snapshot(
        before: &Self,
        at: UnixMillis,
        feeds: Vec<FeedOverview>,
        node: NodeOverview,
        sample: NodeSample,
    ) -> Self {
        let known: HashMap<&str, &Arc<DashboardFeed>> =
            before.feeds.iter().map(|row| (row.overview.id.as_str(), row)).collect();
        let feeds = feeds.into_iter().map(|overview| match known.get(overview.id.as_str()) {
            Some(row) if row.overview == overview => Arc::clone(row),
            _ => Arc::new(DashboardFeed::new(overview)),
        });
        let mut samples = before.samples.clone();
        samples.push_back(Arc::new(EncodedSample::new(at, sample)));
        while samples.len() > SAMPLES_MAX
            || samples.front().is_some_and(|oldest| at.0 - oldest.at.0 > SAMPLE_AGE_MS_MAX)
        {
            samples.pop_front();
        }
        Self { at, feeds: feeds.collect(), node, samples }
    }

    /// Returns the samples of the last minutes, oldest first.
    pub fn recent_samples(&self) -> impl DoubleEndedIterator<Item = (UnixMillis, &NodeSample)> {
        self.samples.iter().map(|moment| (moment.at, &moment.sample))
    }

    pub fn feed_upserts(&self) -> Vec<Bytes> {
        self.feeds.iter().map(|row| row.upsert.clone()).collect()
    }

    pub fn node_upserts(&self) -> Vec<Bytes> {
        let samples = self.samples.iter().map(|moment| moment.upsert.clone());
        [self.node_upsert()].into_iter().chain(samples).collect()
    }

    /// Returns the changes of the feeds since `before`.
    pub fn feed_changes(&self, before: &Self) -> Vec<Bytes> {
        let old: HashMap<&str, &Arc<DashboardFeed>> =
            before.feeds.iter().map(|row| (row.overview.id.as_str(), row)).collect();
        let is_new = |row: &&Arc<DashboardFeed>| {
            old.get(row.overview.id.as_str()).is_none_or(|old| !Arc::ptr_eq(old, row))
        };
        let upserts = self.feeds.iter().filter(is_new).map(|row| row.upsert.clone());
        let now: HashMap<&str, ()> =
            self.feeds.iter().map(|row| (row.overview.id.as_str(), ())).collect();
        let ids = before.feeds.iter().map(|row| row.overview.id.as_str());
        let removed = ids
            .filter(|id| !now.contains_key(id))
            .map(|id| encode_removal_change(id, FEED, id, "gone"));
        upserts.chain(removed).collect()
    }

    /// Returns the changes of the node and its samples since `before`.
    pub fn node_changes(&self, before: &Self) -> Vec<Bytes> {
        let node = (self.node != before.node).then(|| self.node_upsert());
        let last = before.samples.back().map(|moment| moment.at);
        let new = self.samples.iter().filter(|moment| last.is_none_or(|last| moment.at > last));
        let new = new.map(|moment| moment.upsert.clone());
        let first = self.samples.front().map(|moment| moment.at);
        let old = before.samples.iter().filter(|moment| first.is_some_and(|it| moment.at < it));
        let old =
            old.map(|moment| encode_removal_change("", SAMPLE, &sample_id(moment.at), "expired"));
        node.into_iter().chain(new).chain(old).collect()
    }

    fn node_upsert(&self) -> Bytes {
        encode_upsert_change("", NODE, NOW, &self.node)
    }
}

impl DashboardFeed {
    fn new(overview: FeedOverview) -> Self {
        let id = overview.id.as_str();
        Self { upsert: encode_upsert_change(id, FEED, id, &overview), overview }
    }
}

impl EncodedSample {
    fn new(at: UnixMillis, sample: NodeSample) -> Self {
        Self { at, upsert: encode_upsert_change("", SAMPLE, &sample_id(at), &sample), sample }
    }
}

/// Returns the id of a sample: its time.
fn sample_id(at: UnixMillis) -> String {
    at.0.to_string()
}
