//! Reports on feeds: each new version of a schedule is validated, and the findings are stored, shown and published.
//!
//! The tasks of `validation_tasks` create a [`FeedValidationReport`], which `changes` compares with the previous one.
//! It goes into the store if there is one, into [`LatestValidationReports`], and to the subscribers of `report/<feed>`.
//! Real-time messages are validated as they pass (`realtime`); their reports have the same type and take the same way.

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
use lineside_hub::{EncodedChannelName, Hub, RoomKey};
use lineside_ingest::messages::encode_changes_as_publications;
use lineside_ingest::{Feed, Ingest, KIND_EXTRA, RejectedSchedule};
use lineside_model::FeedId;
use lineside_store::Store;
use parking_lot::Mutex;
use xxhash_rust::xxh3::xxh3_64;

use crate::job_queue::{JobQueue, JobStatus, QueueStats};
use crate::keyed_change;

pub use self::changes::ChangedCodeCount;
pub use self::changes::ReportChanges;
pub use self::realtime::{
    CodeHistoryEntry, MessageCheckCounts, MessageChecker, RealtimeReportDetails,
};
pub use self::report_record::ReportSummaryRecord;
#[cfg(any(test, feature = "test-support"))]
pub use self::test_report::test_report;
pub use self::validation_report::{
    DATASET, FailedRule, FeedValidationReport, FindingsOfCode, REALTIME, ReportFindingCounts,
    ReportOutcome, ValidatedSubject,
};
pub use self::verdict::ReportVerdict;

/// The first segment of the channels' names.
pub const CHANNEL_PREFIX: &str = "report";
/// The kind of the channels' records.
const KIND: &str = "report";

/// The latest reports of a feed.
#[derive(Clone, Debug, Default)]
pub struct LatestFeedReports {
    /// The report on the latest version of the schedule.
    pub dataset: Option<Arc<FeedValidationReport>>,
    /// The report on real-time data.
    pub realtime: Option<Arc<FeedValidationReport>>,
}

impl LatestFeedReports {
    pub fn all_reports(&self) -> impl Iterator<Item = &Arc<FeedValidationReport>> {
        self.dataset.iter().chain(&self.realtime)
    }

    /// Returns the report that represents the feed.
    pub fn dataset_or_realtime_report(&self) -> Option<&Arc<FeedValidationReport>> {
        self.all_reports().next()
    }

    /// Returns the summary of the report that represents the feed.
    pub fn summary_of_main_report(&self) -> Option<ReportFindingCounts> {
        self.dataset_or_realtime_report().map(|report| ReportFindingCounts::from_report(report))
    }

    fn report_slot_for_subject(
        &mut self,
        subject: &ValidatedSubject,
    ) -> &mut Option<Arc<FeedValidationReport>> {
        match subject {
            ValidatedSubject::Dataset { .. } => &mut self.dataset,
            ValidatedSubject::Realtime { .. } => &mut self.realtime,
        }
    }
}

/// The work that the first report of a feed waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AwaitedReportPrerequisite {
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
pub type VersionToValidate = Option<Arc<RejectedSchedule>>;

type ValidationReportsByFeed = HashMap<String, Arc<LatestFeedReports>>;

/// The latest reports of all feeds, and the queue of validations.
#[derive(Debug, Default)]
pub struct LatestValidationReports {
    by_feed: ArcSwap<ValidationReportsByFeed>,
    /// Locked during each change, so that no report is lost and all are published in order.
    update_lock: Mutex<()>,
    pub queue: JobQueue<FeedId, VersionToValidate>,
    /// The checks of messages as they pass.
    message_checker: Arc<MessageChecker>,
    /// The list of existing feeds; empty until polling begins.
    ingest: OnceLock<Weak<Ingest>>,
}

impl LatestValidationReports {
    /// Creates an empty set. `limits` limits the resources of message checks; `store` has versions of schedules, if
    /// there is one.
    pub fn new(limits: &ValidationConfig, store: Weak<Store>) -> Self {
        Self { message_checker: Arc::new(MessageChecker::new(limits, store)), ..Self::default() }
    }

    /// Sets the list of existing feeds, once.
    pub fn attach_ingest(&self, ingest: &Arc<Ingest>) {
        self.ingest.get_or_init(|| Arc::downgrade(ingest));
    }

    pub fn latest_reports_of_feed(&self, feed: &str) -> Option<Arc<LatestFeedReports>> {
        self.by_feed.load().get(feed).cloned()
    }

    pub fn message_checker(&self) -> &Arc<MessageChecker> {
        &self.message_checker
    }

    /// Returns the statistics of the queue.
    pub fn validation_queue_stats(&self) -> QueueStats {
        self.queue.stats()
    }

    /// Returns the status of the validation of a feed's newest version; `None` if none is queued or running.
    pub fn validation_job_status(&self, feed: &str) -> Option<JobStatus> {
        self.queue.job_status(|id| id.as_str() == feed)
    }

    /// Returns the work that the first report of a feed waits for; `None` if there is nothing to validate.
    pub fn awaited_report_prerequisite(&self, feed: &Feed) -> Option<AwaitedReportPrerequisite> {
        if let Some(status) = self.validation_job_status(feed.id().as_str()) {
            return Some(AwaitedReportPrerequisite::Version(status));
        }
        feed.served_snapshot()?;
        match feed.format()? {
            // The scheduler queues the version within a second.
            format if format.is_schedule() && self.validation_queue_stats().slots > 0 => {
                Some(AwaitedReportPrerequisite::Version(JobStatus::Waiting(
                    self.validation_queue_stats().waiting,
                )))
            }
            format if format.is_realtime() => {
                self.message_checker.awaited_report_prerequisite(feed.id())
            }
            format if format.is_shared_mobility() => self
                .message_checker
                .awaited_report_prerequisite(feed.id())
                .map(|_| AwaitedReportPrerequisite::System),
            _ => None,
        }
    }

    /// Replaces the feed's report on its subject, and publishes it unless its record is unchanged.
    pub fn replace_and_publish_report(&self, hub: &Hub, report: Arc<FeedValidationReport>) {
        let _putting = self.update_lock.lock();
        let (before, at) = (self.by_feed.load_full(), report.at);
        let mut feed_reports =
            before.get(&report.feed).map(|it| LatestFeedReports::clone(it)).unwrap_or_default();
        let replaced =
            feed_reports.report_slot_for_subject(&report.subject).replace(Arc::clone(&report));
        let mut next = ValidationReportsByFeed::clone(&before);
        next.insert(report.feed.clone(), Arc::new(feed_reports));
        self.by_feed.store(Arc::new(next));
        if replaced.is_some_and(|before| is_same_except_time(&before, &report)) {
            return;
        }
        let Some(room) = hub.find_room(report_channel_room_key(&report.feed)) else { return };
        let mut batch = hub.open_publish_batch();
        for message in encode_changes_as_publications(at, &[encode_report_upsert(&report)]) {
            batch.append_publication(&room, None, message);
        }
        batch.finish_and_signal_listeners();
    }

    /// Removes the reports of deleted feeds.
    pub fn retain_feeds(&self, is_member: impl Fn(&str) -> bool) {
        let _putting = self.update_lock.lock();
        let before = self.by_feed.load_full();
        if before.keys().all(|feed| is_member(feed)) {
            return;
        }
        let mut next = ValidationReportsByFeed::clone(&before);
        next.retain(|feed, _| is_member(feed));
        self.by_feed.store(Arc::new(next));
    }

    pub fn has_feed(&self, feed: &str) -> bool {
        let ingest = self.ingest.get().and_then(Weak::upgrade);
        ingest.is_some_and(|ingest| ingest.find_feed(feed).is_some())
    }
}

/// Returns true if two reports differ at most in their time and duration.
fn is_same_except_time(before: &FeedValidationReport, now: &FeedValidationReport) -> bool {
    let (before, now) =
        (ReportSummaryRecord::from_report(before), ReportSummaryRecord::from_report(now));
    ReportSummaryRecord { at: None, took: 0.0, ..before }
        == ReportSummaryRecord { at: None, took: 0.0, ..now }
}

pub fn encode_report_upsert(report: &FeedValidationReport) -> Bytes {
    keyed_change::encode_upsert_change(
        &report.feed,
        KIND,
        report.subject.subject_kind_name(),
        &ReportSummaryRecord::from_report(report),
    )
}

/// Returns the room of a feed's channel. The dashboard's rooms have the lowest numbers in this group.
pub fn report_channel_room_key(feed: &str) -> RoomKey {
    RoomKey { group: 0, kind: KIND_EXTRA, id: xxh3_64(feed.as_bytes()) | 1 << 63 }
}

/// Returns the feed of a channel `report/<feed>`.
pub fn parse_report_channel(channel: &EncodedChannelName) -> Option<String> {
    let mut segments = channel.decoded_segments();
    let is_report = segments.next().as_deref() == Some(CHANNEL_PREFIX);
    let feed = segments.next().filter(|_| is_report)?;
    segments.next().is_none().then(|| feed.into_owned())
}

/// The summaries of reports, by version.
pub type ReportSummariesByVersion = HashMap<String, Option<ReportFindingCounts>>;

/// Loads the summaries of the latest reports on versions of a feed; none if they cannot be read. A report of an older
/// program has no summary.
pub fn load_report_summaries(
    store: &lineside_store::Store,
    feed: &FeedId,
    limit: usize,
) -> ReportSummariesByVersion {
    match store.list_validation_report_summaries(feed, DATASET, limit) {
        Ok(rows) => {
            let brief = |text: &str| serde_json::from_str(text).ok();
            rows.into_iter().map(|row| (row.version, brief(&row.brief))).collect()
        }
        Err(error) => {
            tracing::warn!(%feed, %error, "summaries of stored reports cannot be read");
            ReportSummariesByVersion::new()
        }
    }
}

/// Loads at most `limit` stored reports of a feed, the latest first; none if they cannot be read.
pub fn load_stored_reports(
    store: &lineside_store::Store,
    feed: &FeedId,
    subject: &str,
    limit: usize,
) -> Vec<FeedValidationReport> {
    match store.list_validation_reports(feed, subject, limit) {
        Ok(rows) => rows.iter().filter_map(FeedValidationReport::from_report_row).collect(),
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
        let channel = |name: &str| EncodedChannelName::parse_channel_name(name).unwrap();
        assert_eq!(parse_report_channel(&channel("report/city")).as_deref(), Some("city"));
        for other in ["report/city/more", "ops/feeds", "feed/city"] {
            assert_eq!(parse_report_channel(&channel(other)), None, "{other}");
        }
        assert_ne!(report_channel_room_key("city"), report_channel_room_key("town"));
    }

    #[test]
    fn reports_that_differ_only_in_time_have_equal_content() {
        let first = test_report("a", &[("unknown_file", lineside_validate::Severity::Info, 1)]);
        let later = FeedValidationReport { at: UnixMillis(9_000), took_ms: 77, ..first.clone() };
        assert!(is_same_except_time(&first, &later));
        let more = test_report("a", &[("unknown_file", lineside_validate::Severity::Info, 2)]);
        assert!(!is_same_except_time(&first, &more));
    }
}
