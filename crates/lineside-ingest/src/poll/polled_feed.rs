//! A feed as its poller and its protocol share it: the source, the accepted content and the status.

use std::{sync::Arc, time::Duration};

use lineside_formats::Problems;
use lineside_sync::Clock;
use smol_str::ToSmolStr;

use super::{SharedPollerContext, new_fetcher, poll_log::PollArchiveReporter};
use crate::{
    catalog::Feed,
    dataset::DecodingLimits,
    fetch::SourceFetcher,
    fetch_failure::FetchError,
    health::ReportedContentHistory,
    inbox::InboxSettings,
    load_budget::ScheduleLoadBudget,
    message_observer::MessageObserver,
    network_writer::NetworkQueue,
    record::FeedStatusRecord,
    snapshot_writer::SnapshotWriter,
    status::{FeedStatus, HealthRules},
};

/// The source, the accepted content and the status of a feed.
#[derive(Debug)]
pub(super) struct PolledFeed {
    pub(super) feed: Arc<Feed>,
    /// The feed's number in its network.
    pub(super) number: usize,
    /// The queue to its network; a GBFS file has none and does not appear in the network as a feed.
    pub(super) queue: Option<NetworkQueue>,
    pub(super) clock: Arc<dyn Clock>,
    pub(super) rng: fastrand::Rng,
    pub(super) fetcher: SourceFetcher,
    pub(super) poll_log: PollArchiveReporter,
    /// The address and name under which producers know this server.
    pub(super) inboxes: InboxSettings,
    pub(super) snapshot_writer: SnapshotWriter,
    pub(super) message_observer: Option<Arc<dyn MessageObserver>>,
    /// Limits concurrent schedule loads.
    pub(super) loads: Arc<ScheduleLoadBudget>,
    pub(super) load_limits: Arc<DecodingLimits>,
    pub(super) status: FeedStatus,
    pub(super) rules: HealthRules,
    pub(super) health: ReportedContentHistory,
    /// True if the next content is of another source or format than the current one.
    pub(super) has_new_source: bool,
    /// True if the current content was removed as too old, so that the same bytes must be accepted again.
    pub(super) is_expired: bool,
    /// The record of the last status that the network received between polls.
    pub(super) reported_record: Option<FeedStatusRecord>,
    /// Problems that a converter reported with the body being accepted.
    pub(super) output_problems: Problems,
    /// The `ttl` in the last body.
    pub(super) body_ttl: Option<Duration>,
    /// The poll interval that the content recommends; `None` for formats that recommend none.
    pub(super) recommended_interval: Option<Duration>,
}

impl PolledFeed {
    pub(super) fn new(feed: Arc<Feed>, shared: &SharedPollerContext, seed: u64) -> PolledFeed {
        let config = feed.shared_config();
        PolledFeed {
            number: 0,
            queue: None,
            clock: Arc::clone(&shared.clock),
            rng: fastrand::Rng::with_seed(seed),
            fetcher: new_fetcher(config, &shared.sources),
            poll_log: PollArchiveReporter::new(&shared.archive, &shared.clock, feed.id()),
            snapshot_writer: SnapshotWriter::new(
                &shared.snapshots,
                &shared.clock,
                feed.snapshot_key(),
                config,
            ),
            inboxes: shared.inboxes.clone(),
            message_observer: shared.message_observer.clone(),
            loads: Arc::clone(&shared.loads),
            load_limits: Arc::clone(&shared.load_limits),
            status: FeedStatus::clone(&feed.status()),
            rules: HealthRules::from_config(config),
            health: ReportedContentHistory::default(),
            has_new_source: false,
            is_expired: feed.has_empty_realtime_message(),
            reported_record: None,
            output_problems: Problems::new(),
            body_ttl: None,
            recommended_interval: None,
            feed,
        }
    }

    pub(super) async fn record_failure(&mut self, failure: FetchError) {
        tracing::warn!(feed = %self.feed.snapshot_key(), code = %failure.code, detail = failure.detail, "the poll failed");
        self.status.count_poll_outcome(&failure.code.to_smolstr());
        self.status.empty_since = None;
        self.status.failures += 1;
        self.status.failures_in_a_row = self.status.failures_in_a_row.saturating_add(1);
        let now = self.clock.wall_time();
        self.status.failing_since.get_or_insert(now);
        self.status.last_error = Some(failure.into_fetch_failure(now));
        self.update_and_report_state().await;
    }

    pub(super) fn record_success(&mut self) {
        self.status.last_success = Some(self.clock.wall_time());
        self.clear_failures();
        self.status.empty_since = None;
        self.status.is_gathering = false;
        self.is_expired = false;
    }

    /// Clears failures after a sign of life from the source.
    pub(super) fn clear_failures(&mut self) {
        self.status.last_error = None;
        self.status.failures_in_a_row = 0;
        self.status.failing_since = None;
    }

    /// Forgets the content: the same bytes must be fetched and applied again.
    pub(super) fn forget_fetched_content(&mut self) {
        self.fetcher.forget_fetched_version();
        self.is_expired = true;
    }
}
