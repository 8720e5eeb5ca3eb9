//! Reporting of a feed's status to its network, to the archive and to readers. The status is also updated between
//! polls: data age by themselves.

use lineside_formats::Format;
use lineside_sync::UnixMillis;

use super::polled_feed::PolledFeed;
use crate::{
    network_writer::{NetworkInput, NetworkTaskEnded},
    record::FeedStatusRecord,
};

impl PolledFeed {
    /// Updates the state, and reports it to the network unless it is the one last reported here.
    pub(super) async fn update_and_report_state(&mut self) {
        let now = self.clock.wall_time();
        let data_now = self.data_time_now();
        if self.status.format.is_some_and(Format::is_realtime) {
            self.rules.expectation =
                self.health.expected_content(self.count_active_trips().await, now);
        }
        self.rules.ended = self.feed.service_date_range().and_then(|it| it.end_if_passed(data_now));
        let replay = self.fetcher.replay_clock();
        self.rules.replay_has_ended =
            replay.is_some_and(|it| it.ended_at(self.clock.monotonic()).is_some());
        self.rules.ttl = self.recommended_interval.unwrap_or_default();
        self.status.worst_file_state = self.feed.worst_file_failure_state();
        self.status.files_data_time = self.feed.files_data_time();
        self.status.update_state(now, data_now, &self.rules);
        self.archive_state_if_changed();
        let record = FeedStatusRecord::from_status(&self.status);
        let input = if let Some(input) = self.expire_records_if_too_old(now, &record) {
            self.is_expired = true;
            input
        } else if self.reported_record.as_ref() != Some(&record) {
            NetworkInput::Status { number: self.number, record: record.clone(), now }
        } else {
            return;
        };
        // An ended network needs no update.
        let _ = self.send_to_network(input).await;
        self.reported_record = Some(record);
        self.feed.set_status(self.status.clone());
    }

    /// Counts the running trips of its timetable; `None` without a timetable.
    pub(super) async fn count_active_trips(&self) -> Option<u32> {
        let (dataset, now) = (self.feed.network().dataset()?, self.data_time_now());
        if let Some(known) = dataset.cached_active_trip_count(now) {
            return Some(known);
        }
        tokio::task::spawn_blocking(move || dataset.count_active_trips(now)).await.ok()
    }

    /// Reports the feed's state to the archive. A GBFS file's state is not that of the system.
    pub(super) fn archive_state_if_changed(&mut self) {
        if self.queue.is_some() {
            self.poll_log.record_state_if_changed(&self.status);
        }
    }

    pub(super) async fn send_to_network(
        &self,
        input: NetworkInput,
    ) -> Result<(), NetworkTaskEnded> {
        match &self.queue {
            Some(queue) => queue.send_input(input).await,
            None => Ok(()),
        }
    }

    /// Returns the present on the clock of the feed's data: the recorded time during a replay.
    pub(super) fn data_time_now(&self) -> UnixMillis {
        match self.fetcher.replay_clock() {
            Some(replay) => replay.recorded_time(self.clock.monotonic()),
            // A schedule follows the recorded time of a replay in its network.
            None if self.status.format.is_some_and(Format::is_schedule) => {
                self.feed.network().data_time_now()
            }
            None => self.clock.wall_time(),
        }
    }

    /// Removes the feed's records once they exceed the maximum age.
    fn expire_records_if_too_old(
        &mut self,
        now: UnixMillis,
        record: &FeedStatusRecord,
    ) -> Option<NetworkInput> {
        let is_real_time = self.status.format.is_some_and(Format::is_realtime);
        if self.is_expired || !self.is_data_too_old(now) || !is_real_time {
            return None;
        }
        self.status.entities = 0;
        self.fetcher.forget_fetched_version();
        Some(NetworkInput::Expire { number: self.number, record: record.clone(), now })
    }

    /// Returns true if the current data exceed the maximum age.
    pub(super) fn is_data_too_old(&self, now: UnixMillis) -> bool {
        let age = self.status.last_success.map(|at| now.duration_since(at));
        self.rules.max_age.zip(age).is_some_and(|(max, age)| age > max)
    }
}
