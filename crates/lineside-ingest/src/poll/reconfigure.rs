//! Reactions of a feed's task to the operator: poll at once, pause, or continue with another configuration.

use std::{mem, sync::Arc, time::Duration};

use lineside_formats::Format;
use lineside_sync::UnixMillis;

use super::{
    FeedPoller, HEALTH_CHECK_INTERVAL, SharedPollerContext, decoder_crash_failure, new_fetcher,
    polled_feed::PolledFeed, protocol::protocol_for_feed, siri_error_body_reader,
    termination::PreviousSourceTermination,
};
use crate::{
    catalog::{Feed, ImmediatePollRequest},
    feed_config::FeedConfig,
    fetch_failure::FetchError,
    health::ReportedContentHistory,
    network_writer::{NetworkInput, NetworkQueue},
    rate_limit::{RateLimitBucket, RateLimitReservation},
    snapshot_store::SnapshotStore,
    status::HealthRules,
};

impl FeedPoller {
    /// Returns the rate limit bucket of its requests.
    pub(crate) fn rate_limit_bucket(&self) -> &RateLimitBucket {
        &self.rate_limit_bucket
    }

    /// Continues as `feed`, which is the same feed with another configuration or another network. The next poll is due
    /// as if the new configuration had applied before, or at once if the source has changed.
    pub(crate) fn continue_with_config(
        mut self,
        feed: Arc<Feed>,
        number: usize,
        queue: NetworkQueue,
        shared: &SharedPollerContext,
    ) -> FeedPoller {
        let before = Arc::clone(self.polled.feed.shared_config());
        let config = Arc::clone(feed.shared_config());
        let now = self.polled.clock.monotonic();
        let termination = self.protocol.termination_request(&self.polled);
        // Its own reservation must not delay it.
        drop(mem::take(&mut self.reservation));
        let bucket = mem::replace(
            &mut self.rate_limit_bucket,
            shared.sources.rate_limit_bucket_for_feed(&config),
        );
        let polled = &mut self.polled;
        polled.rules = HealthRules::from_config(&config);
        (polled.feed, polled.number, polled.queue) = (feed, number, Some(queue));
        // The network may be another one, or have another record of this feed.
        polled.reported_record = None;
        update_converter_input(&polled.feed, &before, &*shared.snapshots);
        if !config.has_same_source(&before) {
            let fetcher = mem::replace(&mut polled.fetcher, new_fetcher(&config, &shared.sources));
            self.pending_termination = termination.map(|request| PreviousSourceTermination {
                fetcher,
                rate_limit_bucket: bucket,
                request,
            });
            polled.snapshot_writer.switch_source(&config);
            polled.has_new_source = true;
            // Another source may usually report more or less.
            polled.health = ReportedContentHistory::default();
            self.due_at = now;
            self.restart_with_new_protocol(shared);
        } else {
            polled.fetcher.reconfigure(&config, &shared.sources);
            polled.fetcher.set_error_body_reader(siri_error_body_reader(&config));
            self.protocol.apply_changed_config(polled, &before);
            let is_other_format = polled.status.format.is_some_and(|current| {
                config.configured_format().is_some_and(|format| format != current)
            });
            if is_other_format || config.converter != before.converter {
                // The same bytes now give another result.
                polled.fetcher.forget_fetched_version();
                polled.has_new_source = true;
                self.due_at = now;
            } else if config.siri != before.siri {
                self.due_at = now;
            } else if let Some(ended_at) = self.ended_at {
                self.due_at = ended_at + self.time_until_next_poll();
            }
            let is_other_protocol = config.configured_format() != before.configured_format()
                || config.siri.is_some() != before.siri.is_some()
                || config.converter != before.converter;
            if is_other_protocol || self.protocol.is_body_needed_at_start() {
                self.restart_with_new_protocol(shared);
            }
        }
        self.reservation = self.rate_limit_bucket.reserve_request_time(self.due_at, now);
        self
    }

    /// Starts with a new protocol. The files of a GBFS system are polled with the current configuration once its
    /// discovery file has been read again.
    fn restart_with_new_protocol(&mut self, shared: &SharedPollerContext) {
        let polled = &mut self.polled;
        (polled.body_ttl, polled.recommended_interval) = (None, None);
        self.protocol = protocol_for_feed(polled, shared);
        let is_system = self.protocol.is_body_needed_at_start();
        self.is_restore_done &= !is_system;
        let (files, now) = (polled.feed.gbfs_files(), polled.clock.wall_time());
        if is_system {
            files.iter().for_each(|file| file.feed.mark_no_longer_polled(now));
        } else {
            polled.feed.set_gbfs_files(Vec::new());
            polled.status.worst_file_state = None;
            polled.status.files_data_time = None;
            for file in files.iter() {
                shared.snapshots.delete_snapshot(&file.feed.snapshot_key());
            }
        }
    }

    /// Ends polling for good while the server continues.
    pub(crate) async fn terminate_and_drop(mut self) {
        self.terminate_subscriptions().await;
    }

    /// Forgets the content: the same bytes must be fetched and applied again.
    pub(crate) fn forget_fetched_content(&mut self) {
        self.polled.forget_fetched_content();
    }

    /// Polls at once if the rate limit allows it; else replies with the remaining time.
    pub(super) fn poll_now_if_allowed(&mut self, request: ImmediatePollRequest) {
        let now = self.polled.clock.monotonic();
        drop(mem::take(&mut self.reservation));
        let first = self.rate_limit_bucket.reserve_request_time(now, now);
        if first.reserved_time() <= now {
            self.reservation = first;
            self.protocol.poll_listed_files_now();
            return reply_to_poll_request(request, Ok(()));
        }
        let wait = first.reserved_time().saturating_sub(now);
        drop(first);
        self.reservation = self.rate_limit_bucket.reserve_request_time(self.due_at, now);
        reply_to_poll_request(request, Err(wait));
    }

    /// Pauses polling until the task ends. The data age meanwhile, and their status is updated.
    pub(super) async fn pause_until_task_ends(&mut self) {
        // Others may use its reservation.
        self.reservation = RateLimitReservation::default();
        self.polled.status.next_poll = None;
        self.terminate_subscriptions().await;
        loop {
            let polled = &mut self.polled;
            self.protocol.update_content_between_polls(polled).await;
            polled.update_and_report_state().await;
            polled.poll_log.record_polling_pause(&polled.feed, &polled.status);
            polled.feed.set_status(polled.status.clone());
            tokio::select! {
                biased;
                // No reply: the feed was paused after the request.
                Some(ask) = self.poll_requests.recv() => drop(ask),
                () = polled.clock.sleep(HEALTH_CHECK_INTERVAL) => {}
            }
        }
    }
}

impl PolledFeed {
    /// Removes the current data if the next ones are of another format.
    pub(super) async fn clear_data_of_other_format(
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
pub(super) fn reply_to_poll_request(
    request: ImmediatePollRequest,
    poll_result: Result<(), Duration>,
) {
    let _ = request.send(poll_result);
}

/// Keeps the current bytes as the input of a new converter, or removes the input of a former one.
fn update_converter_input(feed: &Feed, before: &FeedConfig, snapshots: &dyn SnapshotStore) {
    match (&before.converter, &feed.config().converter) {
        (None, Some(_)) => feed.copy_served_to_converter_input(),
        (Some(_), None) => {
            feed.set_converter_input(None);
            snapshots.delete_snapshot(&feed.converter_input_key());
        }
        _ => {}
    }
}
