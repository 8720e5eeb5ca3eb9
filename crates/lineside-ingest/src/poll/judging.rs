//! How a feed is doing, judged between polls too: data grow old by themselves.

use lineside_formats::Format;
use lineside_sync::UnixMillis;

use super::Poller;
use crate::{network::Input, record::FeedRecord};

impl Poller {
    /// Judges the state anew and tells the network if it changed.
    pub(super) async fn judge(&mut self) {
        let now = self.clock.wall();
        let before = FeedRecord::of(&self.feed.status());
        let data_now = self.data_now();
        if self.status.format == Some(Format::GtfsRt) {
            self.rules.expectation = self.health.expectation(self.under_way().await, now);
        }
        self.status.judge(now, data_now, &self.rules);
        self.ledger.judged(&self.status);
        let record = FeedRecord::of(&self.status);
        if let Some(input) = self.expiry(now, &record) {
            // A network that is gone needs no word of it.
            let _ = self.queue.send(input).await;
            self.expired = true;
        } else if record != before {
            let _ = self.queue.send(Input::Status { number: self.number, record, now }).await;
        } else {
            return;
        }
        self.feed.set_status(self.status.clone());
    }

    /// How many trips its timetable has under way; none without one.
    pub(super) async fn under_way(&self) -> Option<u32> {
        let (dataset, now) = (self.feed.network().dataset()?, self.data_now());
        if let Some(known) = dataset.known_under_way(now) {
            return Some(known);
        }
        tokio::task::spawn_blocking(move || dataset.count_under_way(now)).await.ok()
    }

    /// Takes back what the feed said once it is older than the operator allows.
    fn expiry(&mut self, now: UnixMillis, record: &FeedRecord) -> Option<Input> {
        let max_age = self.rules.max_age?;
        let too_old = self.status.last_success.is_some_and(|at| now.since(at) > max_age);
        if self.expired || !too_old || self.status.format != Some(Format::GtfsRt) {
            return None;
        }
        self.status.entities = 0;
        self.fetcher.forget();
        Some(Input::Expire { number: self.number, record: record.clone(), now })
    }
}
