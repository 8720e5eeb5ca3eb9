//! Validates real-time messages as they pass.
//!
//! Ingest passes each message on once it is published, and the feed's next poll waits for the check, which has a time
//! limit. `prepared_schedules` prepares the schedule, `finding_lifecycle` tracks the times of each code, and once a
//! second `validation_tasks` creates and stores reports of new findings. SIRI messages are validated by SIRI's own
//! rules (`siri_messages`), and then like the GTFS-Realtime that they are converted to. GBFS systems are validated as a
//! whole (`gbfs_systems`).

mod staleness;
mod gbfs_history;
mod previous_datasets;
#[cfg(test)]
mod polled_feed;
mod finding_lifecycle;
mod prepared_schedules;
mod siri_messages;
mod gbfs_systems;
pub mod last_activity;

use std::collections::HashMap;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::sync::{Arc, Weak};
use std::time::Duration;

use bytes::Bytes;
use lineside_config::ValidationConfig;
use lineside_formats::gtfs_rt::proto::{FeedEntity, FeedMessage};
use lineside_formats::gtfs_rt::{self, FeedMessageLimits, decode_json};
use lineside_ingest::{Feed, MessageObserver, Network, ObservedMessage};
use lineside_model::FeedId;
use lineside_store::Store;
use lineside_sync::UnixMillis;
use lineside_sync::real_time::RealTimeStopwatch;
use lineside_validate::Notices;
use lineside_validate::rules::ValidatorFault;
use lineside_validate::rules::gtfs_rt::{
    MessageHistory, MessageWithContext, OtherScheduleVersion, RealtimeRuleScope, ScheduleMatchRate,
    validate_realtime_while,
};
use parking_lot::Mutex;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use self::gbfs_systems::SystemCheckState;
use self::prepared_schedules::{PreparedScheduleCache, PreparedScheduleVersions};
use self::siri_messages::GatheredMessages;
use self::staleness::LastAgeCheck;
use super::AwaitedReportPrerequisite;
use crate::check::{SourceRow, gtfs_rt_rows_of_findings};

pub use self::finding_lifecycle::{CodeHistoryEntry, FindingCodeHistory};

/// Maximum number of samples of one code.
const SAMPLES: usize = 20;
/// Seconds after which it is noted again that a feed has trips, while its messages are not checked.
const ACTIVITY_INTERVAL_S: i64 = 3_600;
/// Maximum memory of a decoded message that is held until the next one, in bytes: half of the limit of decoding. After
/// a larger one, the next message and other feeds are checked without it.
const PREVIOUS_MESSAGE_BYTES_MAX: usize = 256 << 20;

/// Minimum number of polls for which a message counts as current, if `late_after` is less.
const FRESH_POLLS: u32 = 3;

/// Checks messages, and holds their findings.
#[derive(Debug, Default)]
pub struct MessageChecker {
    limits: ValidationConfig,
    feeds: Mutex<HashMap<FeedId, Arc<FeedMessageChecks>>>,
    prepared_schedules: PreparedScheduleCache,
    checked: AtomicU64,
    cut_short: AtomicU64,
}

/// Number of checked messages, and of those whose time was insufficient.
#[derive(Clone, Copy, Debug)]
pub struct MessageCheckCounts {
    pub checked: u64,
    pub cut_short: u64,
}

#[derive(Debug, Default)]
pub struct FeedMessageChecks {
    /// The last message.
    pub previous: Mutex<Option<Arc<FeedMessage>>>,
    /// Time until which the last message counts as current: on the clock of the feed's data, in seconds since 1970.
    pub fresh_until: AtomicI64,
    /// A message that waits until its schedule is prepared.
    waiting: Mutex<Option<MessageAwaitingSchedule>>,
    /// The findings in SIRI messages that are not validated as a whole yet.
    pub gathered: Mutex<Option<GatheredMessages>>,
    /// The state of a GBFS system's checks.
    pub system: Mutex<SystemCheckState>,
    pub findings: Mutex<MessageFindings>,
}

/// A message that waits for its schedule.
#[derive(Debug)]
struct MessageAwaitingSchedule {
    body: Bytes,
    at: UnixMillis,
    /// Time of receipt, on the clock of the feed's data, in seconds since 1970.
    received: i64,
}

/// The findings in a feed's messages.
#[derive(Debug, Default)]
pub struct MessageFindings {
    pub history: MessageHistory,
    pub lifecycle: FindingCodeHistory,
    pub latest: Option<LatestCheck>,
    /// True if there are new findings since the last report.
    pub has_new_findings: bool,
    /// True if other codes are active than at the last report.
    pub has_other_codes: bool,
    /// Time of the last message with a trip or a vehicle, in seconds since 1970 on the clock of the feed's data; 0 if
    /// there was none.
    pub last_activity_at: i64,
    /// Time at which this was last examined for a message that was not checked.
    pub examined_at: i64,
    /// The last age check of the held message.
    pub age_check: Option<LastAgeCheck>,
}

#[derive(Clone, Debug)]
pub struct LatestCheck {
    pub at: UnixMillis,
    pub took: Duration,
    /// The SHA-256 of the schedule used.
    pub schedule: Option<Arc<str>>,
    pub trips: ScheduleMatchRate,
    pub notices: Notices,
    /// The records of the first findings.
    pub rows: Vec<SourceRow>,
    pub errors: Vec<ValidatorFault>,
    pub is_cut_short: bool,
    /// True if only the rules without a schedule ran, because the feed has none.
    pub is_without_schedule: bool,
    /// The reason why the message was not checked.
    pub refusal: Option<Arc<str>>,
}

impl LatestCheck {
    fn from_check_findings(
        found: MessageNoticesSoFar,
        at: UnixMillis,
        took: Duration,
        (schedule, trips): (Option<Arc<str>>, ScheduleMatchRate),
    ) -> LatestCheck {
        let MessageNoticesSoFar { notices, rows, errors, is_cut_short } = found;
        let (lacks_schedule, refusal) = (false, None);
        LatestCheck {
            at,
            took,
            schedule,
            trips,
            notices,
            rows,
            errors,
            is_cut_short,
            is_without_schedule: lacks_schedule,
            refusal,
        }
    }
}

impl MessageFindings {
    /// Records a check.
    fn record_message_check(&mut self, latest: LatestCheck) {
        for error in &latest.errors {
            tracing::error!(rule = error.rule, "a rule crashed: {}", error.message);
        }
        self.has_other_codes |= self.lifecycle.record_message_findings(
            &latest.notices,
            latest.at.0,
            !latest.is_cut_short,
        );
        self.has_new_findings = true;
        self.latest = Some(latest);
    }
}

/// The details of a report on messages, besides the findings.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct RealtimeReportDetails {
    /// The SHA-256 of the schedule used.
    pub schedule: String,
    /// True if the feed has no schedule, so that rules which need one did not run.
    pub without_schedule: bool,
    /// True if the report is on the files of a GBFS system, not on messages.
    pub is_system: bool,
    /// Number of trips in the last message that should be in the schedule, and of those that are.
    pub named_trips: u64,
    pub matched_trips: u64,
    /// Time of the last message that names trips, in seconds since 1970 on the clock of the feed's data; 0 if there was
    /// none.
    pub trips_named_at: i64,
    /// Time of the last message with a trip or a vehicle, in or out of the schedule, in the same form.
    pub told_at: i64,
    /// The times of each code.
    pub presence: FindingCodeHistory,
}

impl MessageChecker {
    /// Creates the checks. `limits` limits the resources of a check; `store` has versions of schedules, if there is
    /// one.
    pub fn new(limits: &ValidationConfig, store: Weak<Store>) -> Self {
        Self {
            limits: limits.clone(),
            prepared_schedules: PreparedScheduleCache::new(store),
            ..Self::default()
        }
    }

    pub fn message_check_counts(&self) -> MessageCheckCounts {
        let count = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        MessageCheckCounts { checked: count(&self.checked), cut_short: count(&self.cut_short) }
    }

    pub fn get_or_create_feed_checks(&self, feed: &FeedId) -> Arc<FeedMessageChecks> {
        Arc::clone(self.feeds.lock().entry(feed.clone()).or_default())
    }

    /// Returns the work that the first report on a feed's messages waits for; `None` if they are not checked.
    pub fn awaited_report_prerequisite(&self, feed: &FeedId) -> Option<AwaitedReportPrerequisite> {
        if self.limits.message_time.is_zero() {
            return None;
        }
        let feed_messages = self.feeds.lock().get(feed).cloned();
        let waits = feed_messages.is_some_and(|feed_messages| feed_messages.waits_for_schedule());
        Some(if waits {
            AwaitedReportPrerequisite::Schedule
        } else {
            AwaitedReportPrerequisite::Message
        })
    }

    /// Returns the last messages of the network's other feeds that are current at `now`, in seconds since 1970. Alerts
    /// stay current until they are withdrawn.
    fn current_messages_of_other_feeds(
        &self,
        network: &Network,
        feed: &FeedId,
        now: i64,
    ) -> Vec<Arc<FeedMessage>> {
        let feeds = self.feeds.lock();
        let others = network.feed_ids().iter().filter(|id| *id != feed);
        let other_feeds = others.filter_map(|id| feeds.get(id));
        other_feeds
            .filter_map(|feed_messages| feed_messages.previous_message_if_fresh(now))
            .collect()
    }

    /// Removes deleted feeds.
    pub fn retain_feeds(&self, is_member: impl Fn(&FeedId) -> bool) {
        self.feeds.lock().retain(|id, _| is_member(id));
        self.prepared_schedules.retain_networks(is_member);
    }
}

impl MessageObserver for MessageChecker {
    fn observe_message(&self, feed: &Arc<Feed>, observed: ObservedMessage<'_>, now: UnixMillis) {
        if self.limits.message_time.is_zero() {
            return;
        }
        let received = feed.network().data_time_now().unix_seconds();
        match observed {
            ObservedMessage::GtfsRt(body) => {
                self.check_message_or_wait(
                    feed,
                    MessageAwaitingSchedule { body: body.clone(), at: now, received },
                );
            }
            ObservedMessage::Siri(message, part) => {
                self.validate_and_gather_message(feed, (message, part), now, received)
            }
        }
    }

    fn has_recently_reported_trips(&self, feed: &Feed) -> bool {
        self.prepared_schedules.store().is_some_and(|store| {
            last_activity::had_trips_or_vehicles_recently(
                &store,
                feed.id(),
                feed.network().data_time_now().unix_seconds(),
            )
        })
    }
}

impl MessageChecker {
    /// Checks a message, or keeps it until its schedule is prepared.
    fn check_message_or_wait(&self, feed: &Feed, message: MessageAwaitingSchedule) {
        let (network, feed_messages) = (feed.network(), self.get_or_create_feed_checks(feed.id()));
        let schedule = match self.schedule_for_feed_messages(feed, &network) {
            Ok(Some(schedule)) => schedule,
            Ok(None) => {
                *feed_messages.waiting.lock() = Some(message);
                return;
            }
            Err(refusal) => {
                let message_time = message.received;
                let has_activity = || {
                    decode_gtfs_rt_message(&message.body)
                        .is_some_and(|(it, _)| has_trips_or_vehicles(&it))
                };
                return feed_messages.record_unchecked_reason(
                    refusal,
                    message.at,
                    message_time,
                    has_activity,
                );
            }
        };
        // A waiting message is older than this one.
        drop(feed_messages.waiting.lock().take());
        let watch = RealTimeStopwatch::start_stopwatch();
        let MessageAwaitingSchedule { body, at, received } = message;
        let Some((message, is_retainable)) = decode_gtfs_rt_message(&body) else { return };
        let others = self.current_messages_of_other_feeds(&network, feed.id(), received);
        let previous = feed_messages.previous.lock().clone();
        let scope = RealtimeRuleScope {
            has_schedule: schedule.name.is_some(),
            ..RealtimeRuleScope::default()
        };
        let found = MessageNoticesSoFar::new();
        let message_input = MessageValidationInput {
            message: &message,
            previous,
            others,
            schedule,
            scope,
            received,
        };
        let is_cut_short = self.validate_against_schedule_versions(
            &network,
            &feed_messages,
            (message_input, found),
            at,
            &watch,
        );
        self.checked.fetch_add(1, Ordering::Relaxed);
        self.cut_short.fetch_add(u64::from(is_cut_short), Ordering::Relaxed);
        feed_messages.keep_previous_message(
            Some(message).filter(|_| is_retainable),
            feed,
            received,
        );
        feed_messages.findings.lock().age_check =
            Some(LastAgeCheck::for_status(at, &feed.status(), scope));
    }

    /// Validates a message, and reads earlier versions of the schedule if it does not refer to the current one. Returns
    /// true if the time was insufficient.
    fn validate_against_schedule_versions(
        &self,
        network: &Network,
        feed_messages: &FeedMessageChecks,
        message_input: (MessageValidationInput<'_>, MessageNoticesSoFar),
        at: UnixMillis,
        watch: &RealTimeStopwatch,
    ) -> bool {
        let outcome =
            feed_messages.validate_and_record(message_input, at, watch, self.limits.message_time);
        if outcome.trips.should_try_other_schedules() {
            self.prepared_schedules.start_reading_earlier_versions(network.id(), &self.limits);
        }
        outcome.is_cut_short
    }

    /// Returns the schedule for a feed's messages: `Ok(None)` while it is being prepared, and an empty one if the feed
    /// has none. Returns the reason as an error if it cannot be prepared.
    fn schedule_for_feed_messages(
        &self,
        feed: &Feed,
        network: &Network,
    ) -> Result<Option<PreparedScheduleVersions>, Arc<str>> {
        // A network is named after its schedule, or without one after its only feed.
        if network.feed_ids().first() == Some(feed.id()) {
            return Ok(Some(self.prepared_schedules.empty_schedule_versions()));
        }
        self.prepared_schedules.get(network, &self.limits)
    }

    /// Checks a waiting message whose schedule is prepared, and the age of an unchanged message.
    pub fn check_waiting_and_unchanged(
        &self,
        feed: &Feed,
        feed_messages: &FeedMessageChecks,
        at: UnixMillis,
    ) {
        let waiting = feed_messages.waiting.lock().take();
        if let Some(waiting) = waiting {
            self.check_message_or_wait(feed, waiting);
        }
        self.validate_gathered_if_due(feed, feed_messages);
        self.recheck_age_if_due(feed, feed_messages, at);
    }
}

/// A message with the inputs of its validation.
struct MessageValidationInput<'a> {
    message: &'a FeedMessage,
    previous: Option<Arc<FeedMessage>>,
    others: Vec<Arc<FeedMessage>>,
    schedule: PreparedScheduleVersions,
    /// The rules that apply.
    scope: RealtimeRuleScope,
    /// Time of receipt, on the clock of the feed's data, in seconds since 1970.
    received: i64,
}

/// The findings before a message is validated.
#[derive(Debug)]
struct MessageNoticesSoFar {
    notices: Notices,
    /// The records of the first findings.
    rows: Vec<SourceRow>,
    errors: Vec<ValidatorFault>,
    is_cut_short: bool,
}

/// The result of a validation besides the findings.
#[derive(Clone, Copy, Debug)]
struct CheckOutcome {
    /// True if the time was insufficient.
    is_cut_short: bool,
    /// Number of trips in the message that should be in the schedule, and of those that are.
    trips: ScheduleMatchRate,
}

impl MessageNoticesSoFar {
    fn new() -> MessageNoticesSoFar {
        let notices = Notices::new(SAMPLES);
        MessageNoticesSoFar { notices, rows: Vec::new(), errors: Vec::new(), is_cut_short: false }
    }

    /// Returns the codes of the findings, with samples.
    fn finding_codes_with_samples(&self) -> impl Iterator<Item = (&str, &[Map<String, Value>])> {
        self.notices.iter().map(|found| (found.kind.code, found.samples.as_slice()))
    }
}

impl FeedMessageChecks {
    /// Holds a feed's message until the next one.
    fn keep_previous_message(&self, message: Option<Arc<FeedMessage>>, feed: &Feed, received: i64) {
        let (config, format) = (feed.config(), feed.format());
        let fresh_for =
            config.late_after.max(config.poll_interval(format).saturating_mul(FRESH_POLLS));
        self.keep_previous_message_for(message, received, fresh_for);
    }

    fn keep_previous_message_for(
        &self,
        message: Option<Arc<FeedMessage>>,
        received: i64,
        fresh_for: Duration,
    ) {
        let made_at = message.as_ref().and_then(|it| it.header.timestamp).filter(|&it| it > 0);
        let made_at =
            made_at.map_or(received, |made_at| i64::try_from(made_at).unwrap_or(received));
        let fresh_for = i64::try_from(fresh_for.as_secs()).unwrap_or(i64::MAX);
        self.fresh_until.store(made_at.min(received).saturating_add(fresh_for), Ordering::Release);
        *self.previous.lock() = message;
    }

    /// Returns the feed's last message, if it is current for other feeds at that time.
    fn previous_message_if_fresh(&self, now: i64) -> Option<Arc<FeedMessage>> {
        let is_fresh = self.fresh_until.load(Ordering::Acquire) >= now;
        let previous_message = self.previous.lock().clone();
        previous_message.filter(|message| is_fresh || !has_trips_or_vehicles(message))
    }

    fn validate_and_record(
        &self,
        (message_input, found): (MessageValidationInput<'_>, MessageNoticesSoFar),
        at: UnixMillis,
        watch: &RealTimeStopwatch,
        budget: Duration,
    ) -> CheckOutcome {
        let MessageValidationInput { message, previous, others, schedule, scope, received } =
            message_input;
        let others: Vec<&FeedMessage> = others.iter().map(|other| &**other).collect();
        let versions = schedule.earlier_versions.iter();
        let versions: Vec<OtherScheduleVersion<'_>> =
            versions.map(|(name, trips)| OtherScheduleVersion { name, trips }).collect();
        let mut findings = self.findings.lock();
        let subject = MessageWithContext::new(message, &schedule.timetable, received);
        let subject = subject
            .with_previous_message(previous.as_deref())
            .with_other_feed_messages(&others)
            .with_other_schedule_versions(&versions);
        let subject = subject.with_message_history(Some(&findings.history)).with_rule_scope(scope);
        let MessageNoticesSoFar { mut notices, rows, mut errors, mut is_cut_short } = found;
        let verdict = validate_realtime_while(&subject, &mut notices, &|| watch.elapsed() < budget);
        // The schedule's own findings apply to each message.
        let mut schedule_notices = Notices::clone(&schedule.notices);
        schedule_notices.retain_notice_kinds(|kind| scope.applies_to_code(kind.code));
        notices.merge_notices(schedule_notices);
        errors.extend(verdict.errors);
        is_cut_short |= verdict.is_cut_short;
        let lacks_schedule = !scope.has_schedule;
        let names_trips = subject.references_trips();
        let trips =
            if lacks_schedule { ScheduleMatchRate::default() } else { subject.trip_match_rate() };
        let mut found = MessageNoticesSoFar { notices, rows, errors, is_cut_short };
        let records = gtfs_rt_rows_of_findings(message, found.finding_codes_with_samples());
        found.rows.extend(records);
        let latest = LatestCheck::from_check_findings(
            found,
            at,
            watch.elapsed(),
            (schedule.name.clone(), trips),
        );
        findings.history.add_message_times(message, received);
        if names_trips {
            findings.history.set_last_time_with_trips(received);
        }
        if has_trips_or_vehicles(message) {
            // Not the maximum: the clock may have been set back.
            findings.last_activity_at = received;
        }
        // Set again once this message is held.
        findings.age_check = None;
        findings
            .record_message_check(LatestCheck { is_without_schedule: lacks_schedule, ..latest });
        CheckOutcome { is_cut_short, trips }
    }

    /// Records why messages are not checked, and the approximate time of one with trips or vehicles.
    fn record_unchecked_reason(
        &self,
        refusal: Arc<str>,
        at: UnixMillis,
        received: i64,
        has_trip_data: impl FnOnce() -> bool,
    ) {
        let is_due = {
            let mut findings = self.findings.lock();
            let is_due =
                !(0..ACTIVITY_INTERVAL_S).contains(&received.saturating_sub(findings.examined_at));
            findings.examined_at = if is_due { received } else { findings.examined_at };
            is_due
        };
        // This value matters for days, so messages are rarely decoded for it, and without holding the lock.
        let has_activity = is_due && has_trip_data();
        let mut findings = self.findings.lock();
        if has_activity {
            (findings.last_activity_at, findings.has_new_findings) = (received, true);
        }
        if findings.latest.as_ref().is_some_and(|latest| latest.refusal.as_ref() == Some(&refusal))
        {
            return;
        }
        (findings.has_new_findings, findings.has_other_codes) = (true, true);
        let nothing = (None, ScheduleMatchRate::default());
        let latest = LatestCheck::from_check_findings(
            MessageNoticesSoFar::new(),
            at,
            Duration::ZERO,
            nothing,
        );
        findings.latest = Some(LatestCheck { refusal: Some(refusal), ..latest });
    }
}

/// Returns true if a message has a trip or a vehicle.
fn has_trips_or_vehicles(message: &FeedMessage) -> bool {
    message.entity.iter().any(is_trip_or_vehicle)
}

/// Returns true if an entity is a trip update or a vehicle and not deleted.
fn is_trip_or_vehicle(entity: &FeedEntity) -> bool {
    let is_trip_record = entity.trip_update.is_some() || entity.vehicle.is_some();
    is_trip_record && !entity.is_deleted()
}

/// Returns the decoded message, and true if it is small enough to hold. The feed's problems report the parts that
/// cannot be decoded.
fn decode_gtfs_rt_message(body: &Bytes) -> Option<(Arc<FeedMessage>, bool)> {
    let is_json = body.trim_ascii_start().starts_with(b"{");
    let within = |record_bytes: usize| {
        let limits = FeedMessageLimits { record_bytes, ..FeedMessageLimits::default() };
        let decoded = if is_json {
            decode_json(body, &limits)
        } else {
            gtfs_rt::decode_feed_message(body.clone(), &limits)
        };
        decoded.ok().map(|(message, _)| Arc::new(message))
    };
    // Protobuf that is too large to hold is refused before it is decoded, so the second attempt costs little. Only
    // JSON, which is rare in fast feeds, is decoded twice.
    let retainable = within(PREVIOUS_MESSAGE_BYTES_MAX).map(|message| (message, true));
    retainable.or_else(|| Some((within(FeedMessageLimits::default().record_bytes)?, false)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(header: i64, entity: &str) -> Option<Arc<FeedMessage>> {
        let text = format!(
            "{{\"header\": {{\"gtfs_realtime_version\": \"2.0\", \"timestamp\": {header}}}, \
             \"entity\": [{{\"id\": \"1\", {entity}}}]}}"
        );
        let (message, is_retainable) = decode_gtfs_rt_message(&Bytes::from(text)).unwrap();
        assert_eq!((message.entity.len(), is_retainable), (1, true), "{message:?}");
        Some(message)
    }

    #[test]
    fn the_last_time_of_trips_is_recorded_without_a_prepared_schedule() {
        let feed_messages = FeedMessageChecks::default();
        let mut activity_times = Vec::new();
        for (received, has_activity) in
            [(5_000, false), (10_000, true), (10_001, true), (20_000, true), (15_000, true)]
        {
            feed_messages.record_unchecked_reason(
                "it is too large".into(),
                UnixMillis(7),
                received,
                || has_activity,
            );
            let mut findings = feed_messages.findings.lock();
            activity_times
                .push((findings.last_activity_at, std::mem::take(&mut findings.has_new_findings)));
        }
        // A new time is stored even if the reason stays the same.
        let expected = [(0, true), (10_000, true), (10_000, false), (20_000, true), (15_000, true)];
        assert_eq!(
            activity_times, expected,
            "the last message arrived after the clock was set back"
        );
    }

    #[test]
    fn a_message_with_large_records_is_checked_but_not_retained() {
        // Entities with only an id, 1.7 KB each in decoded form.
        let entities_message = |n: usize| {
            let body = [&b"\x0A\x05\x0A\x032.0"[..], &b"\x12\x03\x0A\x01a".repeat(n)].concat();
            decode_gtfs_rt_message(&body.into())
                .map(|(message, is_retainable)| (message.entity.len(), is_retainable))
        };
        assert_eq!(entities_message(1_000), Some((1_000, true)));
        assert_eq!(entities_message(155_000), Some((155_000, false)));
        assert_eq!(entities_message(400_000), None);
    }

    #[test]
    fn other_feeds_are_compared_with_fresh_messages_only() {
        let (feed_messages, minutes) = (FeedMessageChecks::default(), Duration::from_secs(300));
        assert!(
            feed_messages.previous_message_if_fresh(1_000).is_none(),
            "the feed had no message yet"
        );
        let trips_message =
            |header| message(header, "\"trip_update\": {\"trip\": {\"trip_id\": \"T\"}}");
        feed_messages.keep_previous_message_for(trips_message(1_000), 1_010, minutes);
        assert!(feed_messages.previous_message_if_fresh(1_300).is_some());
        assert!(
            feed_messages.previous_message_if_fresh(1_301).is_none(),
            "the source has failed since then"
        );
        feed_messages.keep_previous_message_for(trips_message(1_000), 2_000, minutes);
        assert!(
            feed_messages.previous_message_if_fresh(2_000).is_none(),
            "the message was stale on arrival"
        );
        feed_messages.keep_previous_message_for(trips_message(9_000), 2_000, minutes);
        assert!(
            feed_messages.previous_message_if_fresh(2_300).is_some()
                && feed_messages.previous_message_if_fresh(2_301).is_none(),
            "its clock is fast"
        );
        feed_messages.keep_previous_message_for(message(1_000, "\"alert\": {}"), 2_000, minutes);
        assert!(
            feed_messages.previous_message_if_fresh(9_999).is_some(),
            "alerts apply until they are removed"
        );
    }
}
