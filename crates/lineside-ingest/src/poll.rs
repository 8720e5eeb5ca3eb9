//! The task of a feed: polls its source and sends usable content to its network.

mod conversion;
mod decoding;
mod gbfs_file;
mod reconfigure;
mod health;
mod persist;
mod observe;
mod siri;
mod system;
mod accept;
mod poll_log;

use std::{pin::Pin, sync::Arc, time::Duration};

use lineside_formats::Format;
use lineside_sync::{Clock, UnixMillis, stage};
use smol_str::ToSmolStr;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

pub(crate) use self::{conversion::ConverterSlots, decoding::decode_message};
use self::{
    conversion::FeedConversionState,
    gbfs_file::NetworkLink,
    reconfigure::answer_poll_request,
    siri::{PendingTermination, SiriState, error_body_reader},
    system::SystemPollers,
};
use crate::{
    archive::PollArchive,
    catalog::{Feed, PollRequest},
    dataset::LoadLimits,
    feed_config::{FeedConfig, SharedConfig},
    fetch::{FetchContext, FetchOutcome, SourceFetcher, SourceRequest},
    fetch_failure::{FailureCode, FetchError},
    health::ContentHistory,
    inbox::{FeedInbox, InboxDelivery, InboxSettings},
    limits::POLL_MIN,
    load_budget::LoadBudget,
    message_observer::MessageObserver,
    network_writer::NetworkQueue,
    poll::poll_log::PollLog,
    poll_schedule::{PollSchedule, StartStagger},
    poll_stages::PollStage,
    rate_limit::{RateLimitBucket, RateLimitPermit, RateLimitReservation},
    snapshot::Snapshot,
    snapshot_store::SnapshotStore,
    snapshot_writer::SnapshotWriter,
    status::{FeedStatus, HealthRules},
    task_spawner::TaskSpawner,
};

/// Interval at which a waiting feed checks the age of its data.
const HEALTH_CHECK_INTERVAL: Duration = Duration::from_secs(1);
/// Maximum number of queued requests for an immediate poll; further ones would be redundant.
const POLL_REQUESTS_MAX: usize = 1;

/// The poller of one feed.
#[derive(Debug)]
pub(crate) struct FeedPoller {
    feed: Arc<Feed>,
    /// The feed's number in its network.
    number: usize,
    fetcher: SourceFetcher,
    /// The queue to its network; a GBFS file has none and does not appear in the network as a feed.
    queue: Option<NetworkQueue>,
    clock: Arc<dyn Clock>,
    rng: fastrand::Rng,
    /// The rate limit bucket of its requests.
    rate_limit_bucket: RateLimitBucket,
    /// The reservation of the next request.
    reservation: RateLimitReservation,
    /// The time at which the next request was due before the rate limit.
    due_at: Duration,
    /// The end of the last request.
    ended_at: Option<Duration>,
    poll_requests: mpsc::Receiver<PollRequest>,
    /// Keeps the channel open while the poller exists.
    _poll_request_sender: mpsc::Sender<PollRequest>,
    /// True if the next content is of another source or format than the current one.
    has_new_source: bool,
    rules: HealthRules,
    health: ContentHistory,
    /// Limits concurrent schedule loads.
    loads: Arc<LoadBudget>,
    load_limits: Arc<LoadLimits>,
    conversions: FeedConversionState,
    status: FeedStatus,
    is_expired: bool,
    poll_log: PollLog,
    snapshot_writer: SnapshotWriter,
    /// True once the snapshot of an earlier process has been handled.
    is_restore_done: bool,
    /// The pollers of a GBFS system's other files.
    system: Option<SystemPollers>,
    /// The state of a SIRI producer.
    siri: SiriState,
    /// The TerminateSubscription request that the previous producer must still receive.
    pending_termination: Option<PendingTermination>,
    /// Deliveries that producers send by themselves.
    deliveries: mpsc::Receiver<InboxDelivery>,
    /// The address and name under which producers know this server.
    inboxes: InboxSettings,
    /// The observer of messages.
    message_observer: Option<Arc<dyn MessageObserver>>,
    /// True if the current message is a restored one that has not been observed.
    is_unobserved: bool,
    /// For a GBFS file, the network that receives its records.
    network_link: Option<NetworkLink>,
    /// The `ttl` in the last body.
    body_ttl: Option<Duration>,
}

/// State shared by all pollers.
#[derive(Clone, Debug)]
pub(crate) struct PollerContext {
    pub(crate) sources: FetchContext,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) loads: Arc<LoadBudget>,
    pub(crate) load_limits: Arc<LoadLimits>,
    pub(crate) converter_slots: ConverterSlots,
    pub(crate) start_stagger: Arc<StartStagger>,
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
        shared: &PollerContext,
        seed: u64,
    ) -> FeedPoller {
        let first = shared.start_stagger.delay_of_feed(feed.id());
        let mut poller = FeedPoller::new_detached(feed, shared, seed, first);
        (poller.number, poller.queue) = (number, Some(queue));
        let is_system = poller.feed.config().format == Some(Format::Gbfs);
        poller.system = is_system.then(|| SystemPollers::new(shared, poller.network_link()));
        poller
    }

    /// Creates a poller that does not appear in the network, such as that of a GBFS file; its first poll is after
    /// `first`.
    fn new_detached(
        feed: Arc<Feed>,
        shared: &PollerContext,
        seed: u64,
        first: Duration,
    ) -> FeedPoller {
        let config = feed.shared_config();
        let bucket = shared.sources.bucket_for_feed(config);
        let now = shared.clock.monotonic();
        let due = now + first;
        let (poll_request_sender, poll_requests) = mpsc::channel(POLL_REQUESTS_MAX);
        feed.set_poll_requests(poll_request_sender.clone());
        let (inbox, deliveries) = FeedInbox::new((shared.inboxes.keys)());
        feed.set_inbox(inbox);
        FeedPoller {
            fetcher: new_fetcher(config, &shared.sources),
            rules: HealthRules::from_config(config),
            health: ContentHistory::default(),
            status: FeedStatus::clone(&feed.status()),
            clock: Arc::clone(&shared.clock),
            loads: Arc::clone(&shared.loads),
            load_limits: Arc::clone(&shared.load_limits),
            conversions: FeedConversionState::new(
                &shared.converter_slots,
                &feed,
                &shared.snapshots,
                &shared.clock,
            ),
            rng: fastrand::Rng::with_seed(seed),
            reservation: bucket.reserve_from(due, now),
            due_at: due,
            ended_at: None,
            poll_requests,
            _poll_request_sender: poll_request_sender,
            has_new_source: false,
            rate_limit_bucket: bucket,
            // A message removed as too old must be accepted again with the same bytes.
            is_expired: feed.is_empty_message(),
            poll_log: PollLog::new(&shared.archive, &shared.clock, feed.id()),
            snapshot_writer: SnapshotWriter::new(
                &shared.snapshots,
                &shared.clock,
                feed.snapshot_key(),
                config,
            ),
            is_restore_done: false,
            number: 0,
            queue: None,
            system: None,
            siri: SiriState::new(seed),
            pending_termination: None,
            deliveries,
            inboxes: shared.inboxes.clone(),
            message_observer: shared.message_observer.clone(),
            is_unobserved: false,
            network_link: None,
            body_ttl: None,
            feed,
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
            self.terminate_subscription().await;
        }
        retired.then_some(self)
    }

    /// Runs the poller as a boxed future, which a poller that starts others needs.
    fn run_boxed(self, stop: CancellationToken) -> Pin<Box<dyn Future<Output = ()> + Send>> {
        let run = Box::pin(self.run_until_retired(stop, CancellationToken::new()));
        Box::pin(async move { drop(run.await) })
    }

    async fn poll_until_retired(&mut self, retire: &CancellationToken) {
        self.terminate_previous().await;
        self.restore_snapshot().await;
        self.archive_state();
        loop {
            let permit = tokio::select! {
                biased;
                () = retire.cancelled() => return,
                permit = self.wait_for_permit() => permit,
            };
            if !self.poll_source(permit, retire).await {
                return;
            }
            self.feed.set_polled();
            let now = self.clock.monotonic();
            self.ended_at = Some(now);
            self.due_at = now + self.compute_wait();
            self.reservation = self.rate_limit_bucket.reserve_from(self.due_at, now);
        }
    }

    async fn wait_for_permit(&mut self) -> RateLimitPermit {
        if self.feed.config().paused {
            self.pause_polling().await;
        }
        self.sleep_until_next_poll().await;
        self.take_permit().await
    }

    /// Waits for the next poll and reports its time.
    async fn sleep_until_next_poll(&mut self) {
        loop {
            let left = self.reservation.reserved_at().saturating_sub(self.clock.monotonic());
            self.status.next_poll = Some(self.clock.wall_time() + left);
            self.feed.set_status(self.status.clone());
            let Some(request) = self.wait_for_next_poll().await else { return };
            self.poll_immediately(request);
        }
    }

    /// Waits for the next poll or a request for an immediate one. Applies deliveries meanwhile.
    async fn wait_for_next_poll(&mut self) -> Option<PollRequest> {
        while self.clock.monotonic() < self.reservation.reserved_at() {
            let wake_at = (self.clock.monotonic() + HEALTH_CHECK_INTERVAL)
                .min(self.reservation.reserved_at());
            tokio::select! {
                biased;
                Some(ask) = self.poll_requests.recv() => return Some(ask),
                Some(delivery) = self.deliveries.recv() => self.accept_inbox_delivery(delivery).await,
                () = self.clock.sleep_until(wake_at) => {}
            }
            self.refresh_health().await;
        }
        None
    }

    /// Takes the permit of the reservation that is due; other requests may still hold it.
    async fn take_permit(&mut self) -> RateLimitPermit {
        let next = std::mem::take(&mut self.reservation);
        let mut permit = std::pin::pin!(next.wait_for_permit(Arc::clone(&self.clock)));
        loop {
            let next_check = self.clock.sleep(HEALTH_CHECK_INTERVAL);
            tokio::select! {
                biased;
                permit = &mut permit => return permit,
                // The feed polls as soon as possible anyway.
                Some(ask) = self.poll_requests.recv() => answer_poll_request(ask, Ok(())),
                () = next_check => {}
            }
            self.refresh_health().await;
        }
    }

    /// Updates the health while waiting; before the first poll there is none.
    async fn refresh_health(&mut self) {
        if self.feed.was_polled() {
            self.remove_unseen_when_complete().await;
            self.update_health().await;
        }
    }

    /// Polls the source once. Returns false if `retire` came before the reply or before its conversion.
    async fn poll_source(&mut self, permit: RateLimitPermit, retire: &CancellationToken) -> bool {
        self.status.last_attempt = Some(self.clock.wall_time());
        self.status.is_restored = false;
        let network = self.feed.network();
        let began = network.stage_start();
        let mut ongoing_poll = self.poll_log.begin_poll(&self.status);
        let fetching =
            stage::run_in_stage(PollStage::Fetch.thread_stage(), self.fetch_source(permit, retire));
        let Some(fetched) = fetching.await else { return false };
        let waited = self.fetcher.wait_time();
        self.poll_log.record_answer(&mut ongoing_poll, waited);
        network.record_stage(PollStage::Fetch, began + waited);
        if let Some(replay) = self.fetcher.replay_clock() {
            network.follow_replay(replay);
        }
        let outcome = match fetched {
            Ok(FetchOutcome::NotModified) => {
                self.confirm_snapshot();
                Ok("not_modified")
            }
            Ok(FetchOutcome::Empty(status)) => self.accept_empty_reply(status),
            Ok(FetchOutcome::Body(body)) if self.is_subscribing() => {
                self.accept_subscription_reply(body).await
            }
            Ok(FetchOutcome::Body(body)) => match self.accept_reply(body, retire).await {
                Some(accepted) => accepted,
                None => return false,
            },
            Err(failure) => Err(failure),
        };
        let outcome = outcome.or_else(|failure| match self.is_check_unsupported(&failure) {
            true => Ok("unchecked"),
            false => Err(failure),
        });
        match outcome {
            Ok(outcome) => {
                self.record_siri_answer(outcome == "new").await;
                self.status.count_outcome(outcome);
                self.update_health().await;
                self.poll_log.end_poll(ongoing_poll, outcome, &self.feed, &self.status);
                self.observe_restored(outcome).await;
            }
            Err(failure) => {
                self.record_siri_failure();
                self.record_failure(failure).await;
                self.poll_log.end_poll(ongoing_poll, "", &self.feed, &self.status);
            }
        }
        true
    }

    async fn fetch_source(
        &mut self,
        permit: RateLimitPermit,
        retire: &CancellationToken,
    ) -> Option<Result<FetchOutcome, FetchError>> {
        let question = match self.is_subscribing() {
            true => match self.next_subscription_request().await {
                Ok(question) => question,
                Err(failure) => return Some(Err(failure)),
            },
            false => self.next_siri_request(),
        };
        let mut fetched = std::pin::pin!(self.fetcher.fetch_source(permit, question));
        loop {
            tokio::select! {
                biased;
                () = retire.cancelled() => return None,
                fetched = &mut fetched => return Some(fetched),
                Some(ask) = self.poll_requests.recv() => answer_poll_request(ask, Ok(())),
            }
        }
    }

    async fn record_failure(&mut self, failure: FetchError) {
        tracing::warn!(feed = %self.feed.snapshot_key(), code = %failure.code, detail = failure.detail, "the poll failed");
        self.status.count_outcome(&failure.code.to_smolstr());
        self.status.empty_since = None;
        self.status.failures += 1;
        self.status.failures_in_a_row = self.status.failures_in_a_row.saturating_add(1);
        let now = self.clock.wall_time();
        self.status.failing_since.get_or_insert(now);
        self.status.last_error = Some(failure.into_fetch_failure(now));
        self.update_health().await;
    }

    fn record_success(&mut self) {
        self.status.last_success = Some(self.clock.wall_time());
        self.status.last_error = None;
        self.status.failures_in_a_row = 0;
        self.status.failing_since = None;
        self.status.empty_since = None;
        self.status.is_gathering = false;
        self.is_expired = false;
    }

    /// Returns the time until the next poll.
    fn compute_wait(&mut self) -> Duration {
        if let Some(due) = self.fetcher.next_frame_in() {
            return due.max(POLL_MIN);
        }
        let is_failing = self.status.failures_in_a_row > 0;
        // After a failed renewal the usual retry delay applies.
        if let Some(rest) = self.subscription_wait().filter(|_| !is_failing) {
            return rest.max(POLL_MIN);
        }
        if let Some(wait) = self.next_page_wait() {
            return wait;
        }
        let config = self.feed.config();
        let mut advice = self.fetcher.last_advice();
        advice.fresh_for = advice.fresh_for.max(self.body_ttl);
        self.status.fresh_for = advice.fresh_for;
        let own = self.gbfs_interval().filter(|_| config.poll.is_none());
        let schedule = PollSchedule {
            interval: own.unwrap_or_else(|| config.poll_interval(self.status.format)),
            ttl: config.ttl.unwrap_or_default(),
            failures_in_a_row: self.status.failures_in_a_row,
            advice,
        };
        schedule.next_wait(&mut self.rng)
    }
}

/// Returns the fetcher of a feed's source, with the error replies of the feed's protocol.
pub(crate) fn new_fetcher(config: &SharedConfig, shared: &FetchContext) -> SourceFetcher {
    let mut fetcher = SourceFetcher::new(config, shared);
    fetcher.set_error_body_reader(error_body_reader(config));
    fetcher
}

/// The first request to a source, which for SIRI may be a POST.
pub(crate) fn build_trial_request(config: &FeedConfig, now: UnixMillis) -> SourceRequest {
    siri::SiriRequests::new(now.0.unsigned_abs()).next_request(config, now)
}

fn decoder_crash_failure() -> FetchError {
    FetchError::new(FailureCode::Decode, "decoding stopped because of a bug in Lineside")
}
