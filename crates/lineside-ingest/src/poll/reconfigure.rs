//! Reactions of a feed's task to the operator: poll at once, pause, or continue with another configuration.

use std::{mem, sync::Arc, time::Duration};

use lineside_formats::Format;
use lineside_sync::UnixMillis;

use super::{
    FeedPoller, HEALTH_CHECK_INTERVAL, PollerContext, SystemPollers, decoder_crash_failure,
    new_fetcher,
    siri::{PendingTermination, error_body_reader},
};
use crate::{
    catalog::{Feed, PollRequest},
    fetch_failure::FetchError,
    health::ContentHistory,
    inbox::FeedInbox,
    network_writer::{NetworkInput, NetworkQueue},
    rate_limit::{RateLimitBucket, RateLimitReservation},
    status::HealthRules,
};

impl FeedPoller {
    /// Returns the rate limit bucket of its requests.
    pub(crate) fn rate_limit_bucket(&self) -> &RateLimitBucket {
        &self.rate_limit_bucket
    }

    /// Continues as `feed`, which is the same feed with another configuration or another network. The next poll is due
    /// as if the new configuration had applied before, or at once if the source has changed.
    pub(crate) fn reconfigure(
        mut self,
        feed: Arc<Feed>,
        number: usize,
        queue: NetworkQueue,
        shared: &PollerContext,
    ) -> FeedPoller {
        let before = Arc::clone(self.feed.shared_config());
        let config = Arc::clone(feed.shared_config());
        let now = self.clock.monotonic();
        let termination = self.termination_request();
        // Its own reservation must not delay it.
        drop(mem::take(&mut self.reservation));
        self.conversions.reconfigure(&feed, &before, &*shared.snapshots);
        let bucket =
            mem::replace(&mut self.rate_limit_bucket, shared.sources.bucket_for_feed(&config));
        self.rules = HealthRules::from_config(&config);
        (self.feed, self.number, self.queue) = (feed, number, Some(queue));
        let is_other_format =
            config.configured_format().is_some_and(|it| self.status.format != Some(it));
        if !config.has_same_source(&before) {
            let fetcher = mem::replace(&mut self.fetcher, new_fetcher(&config, &shared.sources));
            self.pending_termination = termination.map(|question| PendingTermination {
                fetcher,
                rate_limit_bucket: bucket,
                request: question,
            });
            self.snapshot_writer.reconfigure(&config);
            self.siri.clear();
            // The former producer knows the key of the former inbox.
            let (inbox, deliveries) = FeedInbox::new((shared.inboxes.keys)());
            self.feed.set_inbox(inbox);
            self.deliveries = deliveries;
            self.has_new_source = true;
            // Another source may usually report more or less.
            self.health = ContentHistory::default();
            self.due_at = now;
        } else {
            self.fetcher.reconfigure(&config, &shared.sources);
            self.fetcher.set_error_body_reader(error_body_reader(&config));
            if config.siri != before.siri {
                // The id mapping may have changed, and the current entities use the old one.
                self.siri.clear();
                self.forget_content();
                self.due_at = now;
            }
            let is_converted_otherwise = config.converter != before.converter;
            if is_converted_otherwise || is_other_format && self.status.format.is_some() {
                // The same bytes now give another result.
                self.fetcher.forget_version();
                self.has_new_source = true;
                self.due_at = now;
            } else if let Some(ended_at) = self.ended_at.filter(|_| config.siri == before.siri) {
                self.due_at = ended_at + self.compute_wait();
            }
        }
        self.reservation = self.rate_limit_bucket.reserve_from(self.due_at, now);
        self.restart_system(shared);
        self
    }

    /// Restarts the polling of a GBFS system's files with the current configuration, once its discovery file has been
    /// read again.
    fn restart_system(&mut self, shared: &PollerContext) {
        let is_system = self.feed.config().format == Some(Format::Gbfs);
        self.system = is_system.then(|| SystemPollers::new(shared, self.network_link()));
        self.is_restore_done &= !is_system;
        let (parts, now) = (self.feed.gbfs_files(), self.clock.wall_time());
        if is_system {
            parts.iter().for_each(|part| part.feed.mark_unpolled(now));
        } else {
            self.feed.set_gbfs_files(Vec::new());
            self.status.worst_file_state = None;
            parts
                .iter()
                .for_each(|part| shared.snapshots.forget_snapshot(&part.feed.snapshot_key()));
        }
    }

    /// Ends polling for good while the server continues.
    pub(crate) async fn end_polling(mut self) {
        self.terminate_subscription().await;
    }

    /// Forgets the content: the same bytes must be fetched and applied again.
    pub(crate) fn forget_content(&mut self) {
        self.fetcher.forget_version();
        self.is_expired = true;
    }

    /// Polls at once if the rate limit allows it; else replies with the remaining time.
    pub(super) fn poll_immediately(&mut self, request: PollRequest) {
        let now = self.clock.monotonic();
        drop(mem::take(&mut self.reservation));
        let first = self.rate_limit_bucket.reserve_from(now, now);
        if first.reserved_at() <= now {
            self.reservation = first;
            self.system.iter().for_each(SystemPollers::poll_immediately);
            return answer_poll_request(request, Ok(()));
        }
        let wait = first.reserved_at().saturating_sub(now);
        drop(first);
        self.reservation = self.rate_limit_bucket.reserve_from(self.due_at, now);
        answer_poll_request(request, Err(wait));
    }

    /// Pauses polling until the task ends. The data age meanwhile, and their status is updated.
    pub(super) async fn pause_polling(&mut self) {
        // Others may use its reservation.
        self.reservation = RateLimitReservation::default();
        self.status.next_poll = None;
        self.terminate_subscription().await;
        loop {
            self.update_health().await;
            self.poll_log.record_pause(&self.feed, &self.status);
            self.feed.set_status(self.status.clone());
            tokio::select! {
                biased;
                // No reply: the feed was paused after the request.
                Some(ask) = self.poll_requests.recv() => drop(ask),
                () = self.clock.sleep(HEALTH_CHECK_INTERVAL) => {}
            }
        }
    }

    /// Removes the current data if the next ones are of another format.
    pub(super) async fn clear_other_format(
        &self,
        format: Format,
        now: UnixMillis,
    ) -> Result<(), FetchError> {
        let before = self.feed.snapshot().map(|snapshot| snapshot.format);
        if before.is_none_or(|before| before == format) {
            return Ok(());
        }
        let clear = NetworkInput::Clear { number: self.number, now };
        self.send_to_network(clear).await.map_err(|_| decoder_crash_failure())
    }
}

/// The requester may be gone.
pub(super) fn answer_poll_request(request: PollRequest, poll_result: Result<(), Duration>) {
    let _ = request.send(poll_result);
}
