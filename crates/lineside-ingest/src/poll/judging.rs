//! What a feed's task says of how the feed is doing: to its network, to the archive, and to readers. It is judged between
//! polls too: data grow old by themselves.

use lineside_formats::Format;
use lineside_sync::UnixMillis;

use super::Poller;
use crate::{
    network::{Input, NetworkGone},
    record::FeedRecord,
};

impl Poller {
    /// Judges the state anew and tells the network if it changed.
    pub(super) async fn judge(&mut self) {
        let now = self.clock.wall();
        let before = FeedRecord::of(&self.feed.status());
        let data_now = self.data_now();
        if self.status.format.is_some_and(Format::is_real_time) {
            self.rules.expectation = self.health.expectation(self.under_way().await, now);
        }
        self.rules.ended = self.feed.service_window().and_then(|it| it.ended(data_now));
        self.rules.ttl = self.gbfs_interval().unwrap_or_default();
        if self.system.is_some() {
            self.status.of_parts = self.feed.trouble_of_parts();
        }
        self.status.judge(now, data_now, &self.rules);
        self.tell_state();
        self.take_back(now).await;
        let record = FeedRecord::of(&self.status);
        if let Some(input) = self.expiry(now, &record) {
            // A network that is gone needs no word of it.
            let _ = self.send(input).await;
            self.expired = true;
        } else if record != before {
            let _ = self.send(Input::Status { number: self.number, record, now }).await;
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

    /// Tells the archive how the feed is. What a file of a system is like is not said of the whole.
    pub(super) fn tell_state(&mut self) {
        if self.queue.is_some() {
            self.ledger.judged(&self.status);
        }
    }

    pub(super) async fn send(&self, input: Input) -> Result<(), NetworkGone> {
        match &self.queue {
            Some(queue) => queue.send(input).await,
            None => Ok(()),
        }
    }

    /// The present on the clock of this feed's data, which in a recording is the recorded one.
    pub(super) fn data_now(&self) -> UnixMillis {
        match self.fetcher.replay_clock() {
            Some(replay) => replay.at(self.clock.monotonic()),
            // The days of a timetable go by the recording that is replayed beside it.
            None if self.status.format.is_some_and(Format::is_schedule) => {
                self.feed.network().now()
            }
            None => self.clock.wall(),
        }
    }

    /// Takes back what the feed said once it is older than the operator allows.
    fn expiry(&mut self, now: UnixMillis, record: &FeedRecord) -> Option<Input> {
        let is_real_time = self.status.format.is_some_and(Format::is_real_time);
        if self.expired || !self.is_too_old(now) || !is_real_time {
            return None;
        }
        self.status.entities = 0;
        self.fetcher.forget();
        Some(Input::Expire { number: self.number, record: record.clone(), now })
    }

    /// Whether what is there is older than the operator allows.
    pub(super) fn is_too_old(&self, now: UnixMillis) -> bool {
        let age = self.status.last_success.map(|at| now.since(at));
        self.rules.max_age.zip(age).is_some_and(|(max, age)| age > max)
    }
}
