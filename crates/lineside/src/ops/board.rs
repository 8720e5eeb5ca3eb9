//! Everything that is shown at one moment. What has not changed is shared with the board before.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

use bytes::Bytes;
use lineside_sync::UnixMillis;

use super::feeds::FeedFigures;
use super::message::{removal, upsert};
use super::node::{NodeFigures, Sample};

/// Samples that are kept: five minutes of them while somebody watches.
const SAMPLES_MAX: usize = 300;
/// No sample is kept longer, so that those of hours in which nobody watched do not stand beside those of now.
const SAMPLE_AGE_MS_MAX: i64 = 5 * 60 * 1_000;
/// Of a feed, of the node, and of the node at one moment.
const FEED: &str = "feed";
const NODE: &str = "node";
const SAMPLE: &str = "sample";
/// The one record of its kind.
const NOW: &str = "now";

/// How everything was at one moment.
#[derive(Debug, Default)]
pub(crate) struct Board {
    /// When it was looked.
    pub(crate) at: UnixMillis,
    /// In the order of the configuration.
    pub(crate) feeds: Vec<Arc<Row>>,
    /// What of the node does not change from moment to moment.
    pub(super) node: NodeFigures,
    /// The last minutes, oldest first.
    samples: VecDeque<Arc<Moment>>,
}

/// A feed, with its change written once.
#[derive(Debug)]
pub(crate) struct Row {
    pub(crate) figures: FeedFigures,
    upsert: Bytes,
}

#[derive(Debug)]
struct Moment {
    at: UnixMillis,
    sample: Sample,
    upsert: Bytes,
}

impl Board {
    /// The next board after `before`.
    pub(super) fn next(
        before: &Self,
        at: UnixMillis,
        feeds: Vec<FeedFigures>,
        node: NodeFigures,
        sample: Sample,
    ) -> Self {
        let known: HashMap<&str, &Arc<Row>> =
            before.feeds.iter().map(|row| (row.figures.id.as_str(), row)).collect();
        let feeds = feeds.into_iter().map(|figures| match known.get(figures.id.as_str()) {
            Some(row) if row.figures == figures => Arc::clone(row),
            _ => Arc::new(Row::new(figures)),
        });
        let mut samples = before.samples.clone();
        samples.push_back(Arc::new(Moment::new(at, sample)));
        while samples.len() > SAMPLES_MAX
            || samples.front().is_some_and(|oldest| at.0 - oldest.at.0 > SAMPLE_AGE_MS_MAX)
        {
            samples.pop_front();
        }
        Self { at, feeds: feeds.collect(), node, samples }
    }

    /// The node at the moments of the last minutes, oldest first.
    pub(crate) fn samples(&self) -> impl DoubleEndedIterator<Item = (UnixMillis, &Sample)> {
        self.samples.iter().map(|moment| (moment.at, &moment.sample))
    }

    pub(super) fn feed_upserts(&self) -> Vec<Bytes> {
        self.feeds.iter().map(|row| row.upsert.clone()).collect()
    }

    pub(super) fn node_upserts(&self) -> Vec<Bytes> {
        let samples = self.samples.iter().map(|moment| moment.upsert.clone());
        [self.node_upsert()].into_iter().chain(samples).collect()
    }

    /// What of the feeds is different from `before`.
    pub(super) fn feed_changes(&self, before: &Self) -> Vec<Bytes> {
        let old: HashMap<&str, &Arc<Row>> =
            before.feeds.iter().map(|row| (row.figures.id.as_str(), row)).collect();
        let is_new = |row: &&Arc<Row>| {
            old.get(row.figures.id.as_str()).is_none_or(|old| !Arc::ptr_eq(old, row))
        };
        let upserts = self.feeds.iter().filter(is_new).map(|row| row.upsert.clone());
        let now: HashMap<&str, ()> =
            self.feeds.iter().map(|row| (row.figures.id.as_str(), ())).collect();
        let ids = before.feeds.iter().map(|row| row.figures.id.as_str());
        let gone = ids.filter(|id| !now.contains_key(id)).map(|id| removal(id, FEED, id, "gone"));
        upserts.chain(gone).collect()
    }

    /// The same of the node and its moments.
    pub(super) fn node_changes(&self, before: &Self) -> Vec<Bytes> {
        let node = (self.node != before.node).then(|| self.node_upsert());
        let last = before.samples.back().map(|moment| moment.at);
        let new = self.samples.iter().filter(|moment| last.is_none_or(|last| moment.at > last));
        let new = new.map(|moment| moment.upsert.clone());
        let first = self.samples.front().map(|moment| moment.at);
        let old = before.samples.iter().filter(|moment| first.is_some_and(|it| moment.at < it));
        let old = old.map(|moment| removal("", SAMPLE, &id_of(moment.at), "expired"));
        node.into_iter().chain(new).chain(old).collect()
    }

    fn node_upsert(&self) -> Bytes {
        upsert("", NODE, NOW, &self.node)
    }
}

impl Row {
    fn new(figures: FeedFigures) -> Self {
        let id = figures.id.as_str();
        Self { upsert: upsert(id, FEED, id, &figures), figures }
    }
}

impl Moment {
    fn new(at: UnixMillis, sample: Sample) -> Self {
        Self { at, upsert: upsert("", SAMPLE, &id_of(at), &sample), sample }
    }
}

/// A sample is known by its moment.
fn id_of(at: UnixMillis) -> String {
    at.0.to_string()
}
