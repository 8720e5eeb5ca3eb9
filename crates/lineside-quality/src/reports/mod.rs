//! Reports on feeds: each new version of a schedule is validated, and the findings are stored, shown and published.
//!
//! The tasks of `validation_tasks` create a [`ValidationReport`], which `changes` compares with the previous one. It goes
//! into the store if there is one, into [`LatestReports`], and to the subscribers of `report/<feed>`. Real-time messages
//! are validated as they pass (`realtime`); their reports have the same type and take the same way.

pub mod cancel_after;
pub mod changes;
pub mod realtime;
#[cfg(any(test, feature = "test-support"))]
mod test_report;
mod report_record;
pub mod validation_report;
mod verdict;

use std::collections::HashMap;
use std::sync::{Arc, OnceLock, Weak};

use arc_swap::ArcSwap;
use bytes::Bytes;
use lineside_config::ValidationConfig;
use lineside_hub::{Channel, Hub, RoomKey};
use lineside_ingest::messages::encode_publications;
use lineside_ingest::{Feed, Ingest, KIND_EXTRA, RejectedSchedule};
use lineside_model::FeedId;
use lineside_store::Store;
use parking_lot::Mutex;
use xxhash_rust::xxh3::xxh3_64;

use crate::job_queue::{JobQueue, JobStatus, QueueStats};
use crate::keyed_change;

pub use self::changes::ChangedCode;
pub use self::changes::ReportChanges;
pub use self::realtime::{CodeLifecycle, MessageCheckCounts, MessageChecker, RealtimeDetails};
pub use self::report_record::ReportRecord;
#[cfg(any(test, feature = "test-support"))]
pub use self::test_report::test_report;
pub use self::validation_report::{
    DATASET, REALTIME, ReportFinding, ReportOutcome, ReportSubject, ReportSummary, RuleFault,
    ValidationReport,
};
pub use self::verdict::ReportVerdict;

/// The first segment of the channels' names.
pub const CHANNEL_PREFIX: &str = "report";
/// The kind of the channels' records.
const KIND: &str = "report";

/// The latest reports of a feed.
#[derive(Clone, Debug, Default)]
pub struct FeedReports {
    /// The report on the latest version of the schedule.
    pub dataset: Option<Arc<ValidationReport>>,
    /// The report on real-time data.
    pub realtime: Option<Arc<ValidationReport>>,
}

impl FeedReports {
    pub fn all_reports(&self) -> impl Iterator<Item = &Arc<ValidationReport>> {
        self.dataset.iter().chain(&self.realtime)
    }

    /// Returns the report that represents the feed.
    pub fn main_report(&self) -> Option<&Arc<ValidationReport>> {
        self.all_reports().next()
    }

    /// Returns the summary of the report that represents the feed.
    pub fn main_summary(&self) -> Option<ReportSummary> {
        self.main_report().map(|report| ReportSummary::from_report(report))
    }

    fn report_slot(&mut self, subject: &ReportSubject) -> &mut Option<Arc<ValidationReport>> {
        match subject {
            ReportSubject::Dataset { .. } => &mut self.dataset,
            ReportSubject::Realtime { .. } => &mut self.realtime,
        }
    }
}

/// The work that the first report of a feed waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReportPrerequisite {
    /// The validation of its newest version.
    Version(JobStatus),
    /// The check of its first message.
    Message,
    /// The preparation of the schedule for its messages.
    Schedule,
    /// The download of all files of a GBFS system.
    System,
}

/// The version to validate: bytes that ingest rejected, or without them the version that is served when the validation
/// starts.
pub type Version = Option<Arc<RejectedSchedule>>;

type ByFeed = HashMap<String, Arc<FeedReports>>;

/// The latest reports of all feeds, and the queue of validations.
#[derive(Debug, Default)]
pub struct LatestReports {
    by_feed: ArcSwap<ByFeed>,
    /// Locked during each change, so that no report is lost and all are published in order.
    update_lock: Mutex<()>,
    pub queue: JobQueue<FeedId, Version>,
    /// The checks of messages as they pass.
    message_checker: Arc<MessageChecker>,
    /// The list of existing feeds; empty until polling begins.
    ingest: OnceLock<Weak<Ingest>>,
}

impl LatestReports {
    /// Creates an empty set. `limits` limits the resources of message checks; `store` has versions of schedules, if
    /// there is one.
    pub fn new(limits: &ValidationConfig, store: Weak<Store>) -> Self {
        Self { message_checker: Arc::new(MessageChecker::new(limits, store)), ..Self::default() }
    }

    /// Sets the list of existing feeds, once.
    pub fn attach_ingest(&self, ingest: &Arc<Ingest>) {
        self.ingest.get_or_init(|| Arc::downgrade(ingest));
    }

    pub fn feed_reports(&self, feed: &str) -> Option<Arc<FeedReports>> {
        self.by_feed.load().get(feed).cloned()
    }

    pub fn message_checker(&self) -> &Arc<MessageChecker> {
        &self.message_checker
    }

    /// Returns the statistics of the queue.
    pub fn queue_stats(&self) -> QueueStats {
        self.queue.stats()
    }

    /// Returns the status of the validation of a feed's newest version; `None` if none is queued or running.
    pub fn validation_status(&self, feed: &str) -> Option<JobStatus> {
        self.queue.job_status(|id| id.as_str() == feed)
    }

    /// Returns the work that the first report of a feed waits for; `None` if there is nothing to validate.
    pub fn report_prerequisite(&self, feed: &Feed) -> Option<ReportPrerequisite> {
        if let Some(status) = self.validation_status(feed.id().as_str()) {
            return Some(ReportPrerequisite::Version(status));
        }
        feed.current()?;
        match feed.format()? {
            // The scheduler queues the version within a second.
            format if format.is_schedule() && self.queue_stats().slots > 0 => {
                Some(ReportPrerequisite::Version(JobStatus::Waiting(self.queue_stats().waiting)))
            }
            format if format.is_realtime() => self.message_checker.report_prerequisite(feed.id()),
            format if format.is_shared_mobility() => self
                .message_checker
                .report_prerequisite(feed.id())
                .map(|_| ReportPrerequisite::System),
            _ => None,
        }
    }

    /// Replaces the feed's report on its subject, and publishes it unless its record is unchanged.
    pub fn publish_report(&self, hub: &Hub, report: Arc<ValidationReport>) {
        let _putting = self.update_lock.lock();
        let (before, at) = (self.by_feed.load_full(), report.at);
        let mut feed_reports =
            before.get(&report.feed).map(|it| FeedReports::clone(it)).unwrap_or_default();
        let replaced = feed_reports.report_slot(&report.subject).replace(Arc::clone(&report));
        let mut next = ByFeed::clone(&before);
        next.insert(report.feed.clone(), Arc::new(feed_reports));
        self.by_feed.store(Arc::new(next));
        if replaced.is_some_and(|before| content_eq(&before, &report)) {
            return;
        }
        let Some(room) = hub.find_room(room_key(&report.feed)) else { return };
        let mut batch = hub.open_batch();
        for message in encode_publications(at, &[encode_report_upsert(&report)]) {
            batch.append_publication(&room, None, message);
        }
        batch.finish();
    }

    /// Removes the reports of deleted feeds.
    pub fn retain(&self, is_member: impl Fn(&str) -> bool) {
        let _putting = self.update_lock.lock();
        let before = self.by_feed.load_full();
        if before.keys().all(|feed| is_member(feed)) {
            return;
        }
        let mut next = ByFeed::clone(&before);
        next.retain(|feed, _| is_member(feed));
        self.by_feed.store(Arc::new(next));
    }

    pub fn knows_feed(&self, feed: &str) -> bool {
        let ingest = self.ingest.get().and_then(Weak::upgrade);
        ingest.is_some_and(|ingest| ingest.find_feed(feed).is_some())
    }
}

/// Returns true if two reports differ at most in their time and duration.
fn content_eq(before: &ValidationReport, now: &ValidationReport) -> bool {
    let (before, now) = (ReportRecord::from_report(before), ReportRecord::from_report(now));
    ReportRecord { at: None, took: 0.0, ..before } == ReportRecord { at: None, took: 0.0, ..now }
}

pub fn encode_report_upsert(report: &ValidationReport) -> Bytes {
    keyed_change::encode_upsert(
        &report.feed,
        KIND,
        report.subject.kind_name(),
        &ReportRecord::from_report(report),
    )
}

/// Returns the room of a feed's channel. The dashboard's rooms have the lowest numbers in this group.
pub fn room_key(feed: &str) -> RoomKey {
    RoomKey { group: 0, kind: KIND_EXTRA, id: xxh3_64(feed.as_bytes()) | 1 << 63 }
}

/// Returns the feed of a channel `report/<feed>`.
pub fn feed_from_channel(channel: &Channel) -> Option<String> {
    let mut segments = channel.decoded_segments();
    let is_report = segments.next().as_deref() == Some(CHANNEL_PREFIX);
    let feed = segments.next().filter(|_| is_report)?;
    segments.next().is_none().then(|| feed.into_owned())
}

/// The summaries of reports, by version.
pub type ReportSummaries = HashMap<String, Option<ReportSummary>>;

/// Loads the summaries of the latest reports on versions of a feed; none if they cannot be read. A report of an older
/// program has no summary.
pub fn load_summaries(
    store: &lineside_store::Store,
    feed: &FeedId,
    limit: usize,
) -> ReportSummaries {
    match store.list_report_summaries(feed, DATASET, limit) {
        Ok(rows) => {
            let brief = |text: &str| serde_json::from_str(text).ok();
            rows.into_iter().map(|row| (row.version, brief(&row.brief))).collect()
        }
        Err(error) => {
            tracing::warn!(%feed, %error, "summaries of stored reports cannot be read");
            ReportSummaries::new()
        }
    }
}

/// Loads at most `limit` stored reports of a feed, the latest first; none if they cannot be read.
pub fn load_reports(
    store: &lineside_store::Store,
    feed: &FeedId,
    subject: &str,
    limit: usize,
) -> Vec<ValidationReport> {
    match store.list_reports(feed, subject, limit) {
        Ok(rows) => rows.iter().filter_map(ValidationReport::from_row).collect(),
        Err(error) => {
            tracing::warn!(%feed, %error, "stored reports cannot be read");
            Vec::new()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use lineside_sync::UnixMillis;

    #[test]
    fn a_report_channel_names_exactly_one_feed() {
        let channel = |name: &str| Channel::parse_name(name).unwrap();
        assert_eq!(feed_from_channel(&channel("report/city")).as_deref(), Some("city"));
        for other in ["report/city/more", "ops/feeds", "feed/city"] {
            assert_eq!(feed_from_channel(&channel(other)), None, "{other}");
        }
        assert_ne!(room_key("city"), room_key("town"));
    }

    #[test]
    fn reports_that_differ_only_in_time_have_equal_content() {
        let first = test_report("a", &[("unknown_file", lineside_validate::Severity::Info, 1)]);
        let later = ValidationReport { at: UnixMillis(9_000), took_ms: 77, ..first.clone() };
        assert!(content_eq(&first, &later));
        let more = test_report("a", &[("unknown_file", lineside_validate::Severity::Info, 2)]);
        assert!(!content_eq(&first, &more));
    }
}
