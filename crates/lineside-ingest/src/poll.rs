//! The task of a feed: polls its source and sends usable content to its network.

mod accept;
mod decoding;
mod health;
mod observe;
mod persist;
mod poll_log;
mod polled_feed;
mod protocol;
mod protocols;
mod reconfigure;
mod restore;
mod termination;

use std::{sync::Arc, time::Duration};

use lineside_sync::{Clock, stage};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

pub(crate) use self::{
    decoding::decode_message,
    protocols::{ConverterSlots, build_source_test_request},
};
use self::{
    polled_feed::PolledFeed,
    protocol::{
        BoxFuture, NextPollChange, PollSuccess, SourceProtocol, protocol_for_detected_format,
        protocol_for_feed,
    },
    protocols::{ConverterResult, siri_error_body_reader},
    reconfigure::reply_to_poll_request,
    termination::PreviousSourceTermination,
};
use crate::{
    archive::PollArchive,
    catalog::{Feed, ImmediatePollRequest},
    dataset::DecodingLimits,
    feed_config::SharedFeedConfig,
    fetch::{FetchOutcome, FetchedBody, SharedFetchContext, SourceFetcher},
    fetch_failure::{FailureCode, FetchError},
    inbox::InboxSettings,
    limits::POLL_MIN,
    load_budget::ScheduleLoadBudget,
    message_observer::MessageObserver,
    network_writer::NetworkQueue,
    poll_schedule::{FirstPollDelays, PollSchedule},
    poll_stages::PollStage,
    rate_limit::{RateLimitBucket, RateLimitPermit, RateLimitReservation},
    snapshot_store::SnapshotStore,
    task_spawner::TaskSpawner,
};

/// Interval at which a waiting feed checks the age of its data.
const HEALTH_CHECK_INTERVAL: Duration = Duration::from_secs(1);
/// Maximum number of queued requests for an immediate poll; further ones would be redundant.
const POLL_REQUESTS_MAX: usize = 1;

/// The poller of one feed: the loop and the schedule of its polls.
#[derive(Debug)]
pub(crate) struct FeedPoller {
    polled: PolledFeed,
    /// How the source is requested and its replies are read.
    protocol: Box<dyn SourceProtocol>,
    /// The rate limit bucket of its requests.
    rate_limit_bucket: RateLimitBucket,
    /// The reservation of the next request.
    reservation: RateLimitReservation,
    /// The time at which the next request was due before the rate limit.
    due_at: Duration,
    /// The end of the last request.
    ended_at: Option<Duration>,
    poll_requests: mpsc::Receiver<ImmediatePollRequest>,
    /// Keeps the channel open while the poller exists.
    _poll_request_sender: mpsc::Sender<ImmediatePollRequest>,
    /// True once the snapshot of an earlier process has been handled.
    is_restore_done: bool,
    /// True if the current message is a restored one that has not been observed.
    is_unobserved: bool,
    /// The request that the previous producer must still receive.
    pending_termination: Option<PreviousSourceTermination>,
}

/// State shared by all pollers.
#[derive(Clone, Debug)]
pub(crate) struct SharedPollerContext {
    pub(crate) sources: SharedFetchContext,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) loads: Arc<ScheduleLoadBudget>,
    pub(crate) load_limits: Arc<DecodingLimits>,
    pub(crate) converter_slots: ConverterSlots,
    pub(crate) start_stagger: Arc<FirstPollDelays>,
    pub(crate) archive: Arc<dyn PollArchive>,
    pub(crate) snapshots: Arc<dyn SnapshotStore>,
    pub(crate) tasks: TaskSpawner,
    pub(crate) inboxes: InboxSettings,
    pub(crate) message_observer: Option<Arc<dyn MessageObserver>>,
}

impl FeedPoller {
    pub(crate) fn new(
        feed: Arc<Feed>,
        number: usize,
        queue: NetworkQueue,
        shared: &SharedPollerContext,
        seed: u64,
    ) -> FeedPoller {
        let first = shared.start_stagger.first_poll_delay(feed.id());
        FeedPoller::new_outside_network(feed, shared, seed, first, |polled| {
            (polled.number, polled.queue) = (number, Some(queue));
            protocol_for_feed(polled, shared)
        })
    }

    /// Creates a poller that does not appear in the network, such as that of a GBFS file; its first poll is after
    /// `first`.
    fn new_outside_network(
        feed: Arc<Feed>,
        shared: &SharedPollerContext,
        seed: u64,
        first: Duration,
        new_protocol: impl FnOnce(&mut PolledFeed) -> Box<dyn SourceProtocol>,
    ) -> FeedPoller {
        let bucket = shared.sources.rate_limit_bucket_for_feed(feed.shared_config());
        let now = shared.clock.monotonic();
        let due = now + first;
        let (poll_request_sender, poll_requests) = mpsc::channel(POLL_REQUESTS_MAX);
        feed.set_poll_request_sender(poll_request_sender.clone());
        let mut polled = PolledFeed::new(feed, shared, seed);
        FeedPoller {
            protocol: new_protocol(&mut polled),
            polled,
            reservation: bucket.reserve_request_time(due, now),
            due_at: due,
            ended_at: None,
            poll_requests,
            _poll_request_sender: poll_request_sender,
            rate_limit_bucket: bucket,
            is_restore_done: false,
            is_unobserved: false,
            pending_termination: None,
        }
    }

    /// Polls until `stop`, or until `retire`: then the poller is returned and can be
    /// [reconfigured](FeedPoller::reconfigure). A reply that has already arrived is applied first.
    pub(crate) async fn run_until_retired(
        mut self,
        stop: CancellationToken,
        retire: CancellationToken,
    ) -> Option<FeedPoller> {
        let retired = tokio::select! {
            biased;
            () = stop.cancelled() => false,
            () = self.poll_until_retired(&retire) => true,
        };
        if !retired {
            self.terminate_subscriptions().await;
        }
        retired.then_some(self)
    }

    /// Runs the poller as a boxed future, which a poller that starts others needs.
    fn run_as_boxed_future(self, stop: CancellationToken) -> BoxFuture<'static, ()> {
        let run = Box::pin(self.run_until_retired(stop, CancellationToken::new()));
        Box::pin(async move { drop(run.await) })
    }

    async fn poll_until_retired(&mut self, retire: &CancellationToken) {
        self.terminate_previous_source().await;
        self.accept_stored_snapshot().await;
        self.polled.archive_state_if_changed();
        loop {
            let permit = tokio::select! {
                biased;
                () = retire.cancelled() => return,
                permit = self.wait_for_poll_permit() => permit,
            };
            if !self.poll_source(permit, retire).await {
                return;
            }
            self.polled.feed.mark_polled();
            let now = self.polled.clock.monotonic();
            self.ended_at = Some(now);
            self.due_at = now + self.time_until_next_poll();
            self.reservation = self.rate_limit_bucket.reserve_request_time(self.due_at, now);
        }
    }

    async fn wait_for_poll_permit(&mut self) -> RateLimitPermit {
        if self.polled.feed.config().paused {
            self.pause_until_task_ends().await;
        }
        self.sleep_until_next_poll().await;
        self.wait_for_reserved_permit().await
    }

    /// Waits for the next poll and reports its time.
    async fn sleep_until_next_poll(&mut self) {
        loop {
            let left =
                self.reservation.reserved_time().saturating_sub(self.polled.clock.monotonic());
            self.polled.status.next_poll = Some(self.polled.clock.wall_time() + left);
            self.polled.feed.set_status(self.polled.status.clone());
            let Some(request) = self.wait_for_next_poll().await else { return };
            self.poll_now_if_allowed(request);
        }
    }

    /// Waits for the next poll or a request for an immediate one. Applies deliveries meanwhile.
    async fn wait_for_next_poll(&mut self) -> Option<ImmediatePollRequest> {
        while self.polled.clock.monotonic() < self.reservation.reserved_time() {
            let wake_at = (self.polled.clock.monotonic() + HEALTH_CHECK_INTERVAL)
                .min(self.reservation.reserved_time());
            tokio::select! {
                biased;
                Some(ask) = self.poll_requests.recv() => return Some(ask),
                delivery = self.protocol.wait_for_delivery() => {
                    let next_poll = self.protocol.accept_producer_delivery(&mut self.polled, delivery).await;
                    self.reschedule_poll(next_poll);
                }
                () = self.polled.clock.sleep_until(wake_at) => {}
            }
            // A poll that is due updates the health. The clock of a recording has just jumped to the message that this
            // poll reads, so the one before it would seem old.
            if self.polled.clock.monotonic() < self.reservation.reserved_time() {
                self.update_content_and_health().await;
            }
        }
        None
    }

    /// Takes the permit of the reservation that is due; other requests may still hold it.
    async fn wait_for_reserved_permit(&mut self) -> RateLimitPermit {
        let next = std::mem::take(&mut self.reservation);
        let mut permit = std::pin::pin!(next.wait_for_permit(Arc::clone(&self.polled.clock)));
        loop {
            let next_check = self.polled.clock.sleep(HEALTH_CHECK_INTERVAL);
            tokio::select! {
                biased;
                permit = &mut permit => return permit,
                // The feed polls as soon as possible anyway.
                Some(ask) = self.poll_requests.recv() => reply_to_poll_request(ask, Ok(())),
                () = next_check => {}
            }
            self.update_content_and_health().await;
        }
    }

    /// Updates the health while waiting; before the first poll there is none.
    async fn update_content_and_health(&mut self) {
        if self.polled.feed.has_been_polled() {
            self.protocol.update_content_between_polls(&mut self.polled).await;
            self.polled.update_and_report_state().await;
        }
    }

    /// Polls the source once. Returns false if `retire` came before the reply or before its conversion.
    async fn poll_source(&mut self, permit: RateLimitPermit, retire: &CancellationToken) -> bool {
        self.polled.status.last_attempt = Some(self.polled.clock.wall_time());
        self.polled.status.is_restored = false;
        let network = self.polled.feed.network();
        let began = network.stage_start_time();
        let mut ongoing_poll = self.polled.poll_log.start_measuring_poll(&self.polled.status);
        let fetching = stage::run_in_stage(
            PollStage::Fetch.to_work_stage(),
            self.fetch_source(permit, retire),
        );
        let Some(fetched) = fetching.await else { return false };
        let waited = self.polled.fetcher.permit_wait_time();
        self.polled.poll_log.record_reply_time(&mut ongoing_poll, waited);
        network.record_stage_duration(PollStage::Fetch, began + waited);
        if let Some(replay) = self.polled.fetcher.replay_clock() {
            network.set_replay_clock_if_unset(replay);
        }
        let outcome = match fetched {
            Ok(FetchOutcome::NotModified) => {
                self.polled.record_not_modified();
                Ok(PollSuccess::NotModified)
            }
            Ok(FetchOutcome::Empty(status)) => self.polled.accept_empty_reply(status),
            Ok(FetchOutcome::Body(body)) => match self.convert_and_accept_reply(body, retire).await
            {
                Some(accepted) => accepted,
                None => return false,
            },
            Err(failure) => Err(failure),
        };
        match outcome
            .or_else(|failure| self.protocol.reinterpret_failure(&mut self.polled, failure))
        {
            Ok(outcome) => {
                self.protocol.record_successful_poll(&mut self.polled, outcome).await;
                let polled = &mut self.polled;
                polled.status.count_poll_outcome(outcome.as_str());
                polled.update_and_report_state().await;
                polled.poll_log.record_completed_poll(
                    ongoing_poll,
                    outcome.as_str(),
                    &polled.feed,
                    &polled.status,
                );
                self.observe_restored_once_confirmed(outcome).await;
            }
            Err(failure) => {
                let polled = &mut self.polled;
                polled.record_failure(failure).await;
                polled.poll_log.record_completed_poll(
                    ongoing_poll,
                    "",
                    &polled.feed,
                    &polled.status,
                );
            }
        }
        true
    }

    async fn fetch_source(
        &mut self,
        permit: RateLimitPermit,
        retire: &CancellationToken,
    ) -> Option<Result<FetchOutcome, FetchError>> {
        let request = match self.protocol.next_source_request(&mut self.polled).await {
            Ok(request) => request,
            Err(failure) => return Some(Err(failure)),
        };
        let mut fetched = std::pin::pin!(self.polled.fetcher.fetch_source(permit, request));
        loop {
            tokio::select! {
                biased;
                () = retire.cancelled() => return None,
                fetched = &mut fetched => return Some(fetched),
                Some(ask) = self.poll_requests.recv() => reply_to_poll_request(ask, Ok(())),
            }
        }
    }

    /// Accepts the body of a reply. `None` if the feed was retired during its conversion.
    async fn convert_and_accept_reply(
        &mut self,
        body: FetchedBody,
        retire: &CancellationToken,
    ) -> Option<Result<PollSuccess, FetchError>> {
        let (bytes, status) = (body.bytes.clone(), body.status);
        let converted = match self.protocol.start_conversion(&mut self.polled, &body) {
            None => None,
            Some(conversion) => match self.wait_for_conversion(conversion, retire).await {
                None => {
                    self.polled.fetcher.forget_fetched_version();
                    return None;
                }
                converted => converted,
            },
        };
        self.switch_protocol_if_needed(&body);
        let accepted = self.protocol.accept_reply(&mut self.polled, body, converted).await;
        let fetcher = &mut self.polled.fetcher;
        Some(accepted.map_err(|failure| {
            // An unusable body must not become "not modified" at the next poll.
            fetcher.forget_fetched_version();
            // A failed conversion shows the program's output instead of the reply's beginning.
            let is_from_reply = failure.code != FailureCode::Convert;
            let head = is_from_reply.then(|| fetcher.redacted_body_start(&bytes, None));
            // A decoder's message may quote the bytes.
            let failure = match fetcher.redirected_host() {
                Some(host) => failure.with_replaced_detail(&format!(
                    "the response of {host}, to which the URL redirects, cannot be used"
                )),
                None => failure,
            };
            failure.with_response(status, bytes.len() as u64, head)
        }))
    }

    /// Waits for a conversion. `None` if the feed is retired meanwhile.
    async fn wait_for_conversion(
        &mut self,
        mut conversion: BoxFuture<'static, ConverterResult>,
        retire: &CancellationToken,
    ) -> Option<ConverterResult> {
        loop {
            tokio::select! {
                biased;
                () = retire.cancelled() => return None,
                converted = &mut conversion => return Some(converted),
                Some(ask) = self.poll_requests.recv() => reply_to_poll_request(ask, Ok(())),
                // Data age meanwhile, as between polls.
                () = self.polled.clock.sleep(HEALTH_CHECK_INTERVAL) => self.update_content_and_health().await,
            }
        }
    }

    /// Changes the protocol if a source without a configured format sends data that need another one.
    fn switch_protocol_if_needed(&mut self, body: &FetchedBody) {
        if self.polled.feed.config().configured_format().is_some() {
            return;
        }
        if let Ok(format) = self.polled.detect_usable_format(&body.bytes)
            && !self.protocol.can_decode_format(format)
        {
            self.protocol = protocol_for_detected_format(Some(format), &mut self.polled);
        }
    }

    /// Moves the next poll after a delivery.
    fn reschedule_poll(&mut self, next_poll: NextPollChange) {
        let now = self.polled.clock.monotonic();
        let wait = match next_poll {
            NextPollChange::In(wait) => wait,
            NextPollChange::NotBefore(wait) if now + wait > self.reservation.reserved_time() => {
                wait
            }
            NextPollChange::AfterPoll => self.time_until_next_poll(),
            NextPollChange::Unchanged | NextPollChange::NotBefore(_) => return,
        };
        drop(std::mem::take(&mut self.reservation));
        self.due_at = now + wait;
        self.reservation = self.rate_limit_bucket.reserve_request_time(self.due_at, now);
        let polled = &mut self.polled;
        let left = self.reservation.reserved_time().saturating_sub(now);
        polled.status.next_poll = Some(polled.clock.wall_time() + left);
        polled.feed.set_status(polled.status.clone());
    }

    /// Returns the time until the next poll.
    fn time_until_next_poll(&mut self) -> Duration {
        if let Some(due) = self.polled.fetcher.time_until_next_replay_frame() {
            return due.max(POLL_MIN);
        }
        let polled = &mut self.polled;
        if let Some(wait) = self.protocol.time_until_next_request(polled) {
            return wait;
        }
        let config = polled.feed.config();
        let mut advice = polled.fetcher.last_poll_advice();
        advice.fresh_for = advice.fresh_for.max(polled.body_ttl);
        polled.status.fresh_for = advice.fresh_for;
        let recommended = polled.recommended_interval.filter(|_| config.poll.is_none());
        let schedule = PollSchedule {
            interval: recommended.unwrap_or_else(|| config.poll_interval(polled.status.format)),
            ttl: config.ttl.unwrap_or_default(),
            failures_in_a_row: polled.status.failures_in_a_row,
            advice,
        };
        schedule.time_until_next_poll(&mut polled.rng)
    }
}

/// Returns the fetcher of a feed's source, with the error replies of the feed's protocol.
pub(crate) fn new_fetcher(config: &SharedFeedConfig, shared: &SharedFetchContext) -> SourceFetcher {
    let mut fetcher = SourceFetcher::new(config, shared);
    fetcher.set_error_body_reader(siri_error_body_reader(config));
    fetcher
}

fn decoder_crash_failure() -> FetchError {
    FetchError::new(FailureCode::Decode, "decoding stopped because of a bug in Lineside")
}
