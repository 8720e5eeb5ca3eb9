//! Rechecks the age of an unchanged message. Such a message is not validated again, but it becomes older: its age is
//! checked from time to time, once its source has confirmed it.

use std::time::Duration;

use lineside_formats::gtfs_rt::proto::FeedMessage;
use lineside_ingest::Feed;
use lineside_model::FeedStatus;
use lineside_sync::UnixMillis;
use lineside_validate::Notices;
use lineside_validate::rules::gtfs_rt::{
    AGE_CODES, MessageWithContext, RealtimeRuleScope, ScheduleIndex, validate_message_age,
};

use super::{FeedMessageChecks, LatestCheck, MessageChecker, MessageFindings, SAMPLES};

/// Minimum time between two age checks.
const AGE_CHECK_INTERVAL_MIN: Duration = Duration::from_secs(30);

/// The state of the source at the last age check.
#[derive(Debug)]
pub struct LastAgeCheck {
    at: UnixMillis,
    /// Number of times that the source had confirmed its message.
    confirmed: u64,
    /// The rules that apply to the message.
    scope: RealtimeRuleScope,
}

impl LastAgeCheck {
    pub fn for_status(
        at: UnixMillis,
        status: &FeedStatus,
        scope: RealtimeRuleScope,
    ) -> LastAgeCheck {
        LastAgeCheck { at, confirmed: count_unchanged_polls(status), scope }
    }

    /// Returns true if the check is old, or the clock was set back since.
    fn is_outdated(&self, now: UnixMillis) -> bool {
        now.duration_since(self.at).max(self.at.duration_since(now)) >= AGE_CHECK_INTERVAL_MIN
    }
}

/// Returns the number of times that the source has confirmed its message.
fn count_unchanged_polls(status: &FeedStatus) -> u64 {
    let is_same = |outcome: &str| matches!(outcome, "same" | "not_modified");
    status.outcomes.iter().filter(|(outcome, _)| is_same(outcome)).map(|(_, count)| count).sum()
}

impl MessageFindings {
    fn is_age_recheck_due(&self, status: &FeedStatus, now: UnixMillis) -> bool {
        let age_check = self.age_check.as_ref();
        age_check
            .is_some_and(|it| it.is_outdated(now) && count_unchanged_polls(status) > it.confirmed)
    }
}

impl FeedMessageChecks {
    /// Returns true if an age check is due and the source has confirmed its message since the last one. Returns false
    /// while another check holds the lock.
    pub fn is_recheck_due(&self, status: &FeedStatus, now: UnixMillis) -> bool {
        self.findings.try_lock().is_some_and(|findings| findings.is_age_recheck_due(status, now))
    }

    /// Checks the age of a message that was checked at `at`, and keeps its other findings. Does nothing if another
    /// message has arrived meanwhile.
    fn recheck_message_age(&self, repeated: UnchangedMessage<'_>, at: UnixMillis) {
        let UnchangedMessage { message, timetable, now, scope, last_check } = repeated;
        let mut found = Notices::new(SAMPLES);
        let subject = MessageWithContext::new(message, timetable, now).with_rule_scope(scope);
        for error in validate_message_age(&subject, &mut found) {
            tracing::error!(rule = error.rule, "a rule crashed: {}", error.message);
        }
        let mut findings = self.findings.lock();
        let is_match = |it: &&mut LatestCheck| it.refusal.is_none() && it.at == last_check;
        let Some(latest) = findings.latest.as_mut().filter(is_match) else { return };
        latest.at = at;
        latest.notices.retain_notice_kinds(|kind| !AGE_CODES.contains(&kind.code));
        latest.notices.merge_notices(found.clone());
        findings.has_other_codes |=
            findings.lifecycle.record_recheck_findings(AGE_CODES, &found, at.0);
        findings.has_new_findings = true;
    }
}

/// A message whose age is checked again.
struct UnchangedMessage<'a> {
    message: &'a FeedMessage,
    timetable: &'a ScheduleIndex,
    /// The time in seconds since 1970, on the clock of the feed's data.
    now: i64,
    scope: RealtimeRuleScope,
    /// Time of the message's last check.
    last_check: UnixMillis,
}

impl MessageChecker {
    /// Checks the age of a feed's message, if its source has confirmed it for a while.
    pub fn recheck_age_if_due(
        &self,
        feed: &Feed,
        feed_messages: &FeedMessageChecks,
        at: UnixMillis,
    ) {
        let status = feed.status();
        let (last_check, scope) = {
            let mut findings = feed_messages.findings.lock();
            if !findings.is_age_recheck_due(&status, at) {
                return;
            }
            let Some(age_check) = &mut findings.age_check else { return };
            *age_check = LastAgeCheck::for_status(at, &status, age_check.scope);
            let scope = age_check.scope;
            (findings.latest.as_ref().map(|latest| latest.at), scope)
        };
        let network = feed.network();
        let previous = feed_messages.previous.lock().clone();
        let schedule = self.schedule_for_feed_messages(feed, &network).ok().flatten();
        if let Some(((message, schedule), last_check)) = previous.zip(schedule).zip(last_check) {
            let (timetable, now) = (&*schedule.timetable, network.data_time_now().unix_seconds());
            feed_messages.recheck_message_age(
                UnchangedMessage { message: &message, timetable, now, scope, last_check },
                at,
            );
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use jiff::civil::Date;
    use lineside_formats::Format;
    use lineside_formats::gtfs_rt::{FeedMessageLimits, decode_json};
    use lineside_validate::ValidationContext;
    use lineside_validate::gtfs::InMemoryFiles;

    use lineside_sync::SimulatedClock;

    use super::super::polled_feed::{poll_test_feed, wait_until_some};
    use super::super::{MessageNoticesSoFar, MessageValidationInput, PreparedScheduleVersions};
    use super::*;
    use lineside_config::ValidationConfig;
    use lineside_sync::real_time::RealTimeStopwatch;

    const MADE: i64 = 1_767_250_000;

    #[test]
    fn an_unchanged_message_becomes_stale_and_retains_its_findings() {
        let context = ValidationContext { today: Date::ZERO, country: None, threads: 1 };
        let timetable = Arc::new(
            ScheduleIndex::read_and_index_schedule(&InMemoryFiles::default(), &context).unwrap(),
        );
        let text = r#"{"header": {"gtfs_realtime_version": "2.0", "incrementality": "FULL_DATASET",
            "timestamp": 1767250000}, "entity": [{"id": "1", "vehicle": {"vehicle": {"id": "V"},
            "position": {"latitude": 100, "longitude": 10}, "timestamp": 1767249995}}]}"#;
        let (message, _) = decode_json(text.as_bytes(), &FeedMessageLimits::default()).unwrap();
        let notices = Arc::new(Notices::new(0));
        let name = Some("a".into());
        let schedule =
            PreparedScheduleVersions { name, timetable, notices, earlier_versions: Vec::new() };
        let timetable = Arc::clone(&schedule.timetable);
        let message_input = MessageValidationInput {
            message: &message,
            previous: None,
            others: Vec::new(),
            schedule,
            scope: RealtimeRuleScope::default(),
            received: MADE,
        };
        let feed_messages = FeedMessageChecks::default();
        feed_messages.validate_and_record(
            (message_input, MessageNoticesSoFar::new()),
            UnixMillis(0),
            &RealTimeStopwatch::start_stopwatch(),
            Duration::from_secs(60),
        );
        let codes = || -> Vec<String> {
            let findings = feed_messages.findings.lock();
            let notices = &findings.latest.as_ref().unwrap().notices;
            let codes = notices.iter().map(|found| (found.kind.code, found.total));
            codes.map(|(code, total)| format!("{code} {total}")).collect()
        };
        let is_active = |code: &str| {
            let findings = feed_messages.findings.lock();
            findings.lifecycle.codes.get(code).is_some_and(|seen| seen.standing.is_some())
        };
        assert_eq!(codes(), ["E026 1"]);
        let check_age = |now, last_check, at| {
            let scope = RealtimeRuleScope::default();
            let repeated = UnchangedMessage {
                message: &message,
                timetable: &timetable,
                now,
                scope,
                last_check,
            };
            feed_messages.recheck_message_age(repeated, UnixMillis(at));
        };
        check_age(MADE + 60, UnixMillis(0), 60_000);
        assert_eq!(codes(), ["E026 1"], "a message of one minute is not old");
        for n in 1..=3 {
            let last_check = feed_messages.findings.lock().latest.as_ref().unwrap().at;
            assert!(!is_active("W008") && !is_active("stale_vehicle"));
            check_age(MADE + 100 * n, last_check, 100_000 * n);
            assert_eq!(codes(), ["E026 1", "W008 1", "stale_vehicle 1"]);
            assert_eq!(feed_messages.findings.lock().latest.as_ref().unwrap().at.0, 100_000 * n);
        }
        check_age(MADE, UnixMillis(0), 500_000);
        assert_eq!(codes().len(), 3, "another message has arrived meanwhile");
        assert!(is_active("W008") && is_active("stale_vehicle"));
        assert!(!is_active("E026"), "only one message had it");
        let presence = feed_messages.findings.lock().lifecycle.clone();
        assert_eq!((presence.messages, presence.again), (1, 4));
        assert!(
            presence.codes.values().all(|seen| seen.messages == 1),
            "there was only one message"
        );
    }

    #[tokio::test]
    async fn an_unchanged_message_is_rechecked_every_30_seconds() {
        let text = r#"{"header": {"gtfs_realtime_version": "2.0", "incrementality": "FULL_DATASET",
            "timestamp": 1767250000}, "entity": []}"#;
        let (folder, clock) =
            (tempfile::tempdir().unwrap(), SimulatedClock::new(UnixMillis(MADE * 1_000)));
        let limits = ValidationConfig {
            message_time: Duration::from_secs(60),
            ..ValidationConfig::default()
        };
        let messages = Arc::new(MessageChecker { limits, ..MessageChecker::default() });
        let inspector = Some(Arc::clone(&messages) as _);
        let (feed, file) = (("buses", Format::GtfsRt), ("buses.json", text.as_bytes()));
        let ingest = poll_test_feed(feed, file, &folder, &clock, inspector);
        let feed = ingest.find_feed("buses").unwrap();
        let feed_messages = messages.get_or_create_feed_checks(feed.id());
        let age_check =
            || feed_messages.findings.lock().age_check.as_ref().map(|age_check| age_check.at);
        let first = wait_until_some(&clock, || {
            age_check().filter(|_| count_unchanged_polls(&feed.status()) > 0)
        })
        .await;
        let count_checks = || {
            let findings = feed_messages.findings.lock();
            findings.lifecycle.messages + findings.lifecycle.again
        };
        let is_old =
            || feed_messages.findings.lock().latest.as_ref().unwrap().notices.get("W008").is_some();
        // Later than all times below.
        clock.advance_time(Duration::from_secs(200));
        for (seconds, n_checks) in [(29, 1), (30, 2), (59, 2), (60, 3)] {
            let n_confirmed = count_unchanged_polls(&feed.status());
            wait_until_some(&clock, || {
                Some(()).filter(|()| count_unchanged_polls(&feed.status()) > n_confirmed)
            })
            .await;
            messages.check_waiting_and_unchanged(
                &feed,
                &feed_messages,
                first + Duration::from_secs(seconds),
            );
            assert_eq!((count_checks(), is_old()), (n_checks, n_checks > 1), "after {seconds} s");
        }
        ingest.stop_polling().await;
    }

    #[test]
    fn only_confirmed_messages_are_rechecked() {
        let build_status = |outcomes: &[(&str, u64)]| FeedStatus {
            outcomes: outcomes.iter().map(|(outcome, n)| ((*outcome).into(), *n)).collect(),
            ..FeedStatus::default()
        };
        assert_eq!(count_unchanged_polls(&build_status(&[("new", 7), ("http_500", 3)])), 0);
        assert_eq!(
            count_unchanged_polls(&build_status(&[("same", 2), ("new", 7), ("not_modified", 3)])),
            5
        );
        let (feed_messages, at) = (FeedMessageChecks::default(), UnixMillis(1_000_000));
        let (status, later) = (build_status(&[("same", 9)]), at + AGE_CHECK_INTERVAL_MIN);
        assert!(!feed_messages.is_recheck_due(&status, later), "no message was checked yet");
        feed_messages.findings.lock().age_check = Some(LastAgeCheck::for_status(
            at,
            &build_status(&[("same", 8)]),
            RealtimeRuleScope::default(),
        ));
        assert!(!feed_messages.is_recheck_due(&status, later - Duration::from_millis(1)));
        assert!(feed_messages.is_recheck_due(&status, later));
        assert!(
            feed_messages.is_recheck_due(&status, at - AGE_CHECK_INTERVAL_MIN),
            "the clock was set back"
        );
        assert!(!feed_messages.is_recheck_due(&build_status(&[("same", 8), ("new", 1)]), later));
    }
}
