//! Rechecks the age of an unchanged message. Such a message is not validated again, but it becomes older: its age is
//! checked from time to time, once its source has confirmed it.

use std::time::Duration;

use lineside_formats::gtfs_rt::proto::FeedMessage;
use lineside_ingest::{Feed, FeedStatus};
use lineside_sync::UnixMillis;
use lineside_validate::Notices;
use lineside_validate::rules::gtfs_rt::{
    MessageSubject, OF_AGE, RuleScope, ScheduleIndex, validate_age,
};

use super::{FeedMessages, LatestCheck, MessageChecks, MessageFindings, SAMPLES};

/// Minimum time between two age checks.
const AGAIN_AFTER: Duration = Duration::from_secs(30);

/// The state of the source at the last age check.
#[derive(Debug)]
pub(super) struct AgeCheck {
    at: UnixMillis,
    /// Number of times that the source had confirmed its message.
    confirmed: u64,
    /// The rules that apply to the message.
    scope: RuleScope,
}

impl AgeCheck {
    pub(super) fn for_status(at: UnixMillis, status: &FeedStatus, scope: RuleScope) -> AgeCheck {
        AgeCheck { at, confirmed: count_confirmations(status), scope }
    }

    /// Returns true if the check is old, or the clock was set back since.
    fn is_outdated(&self, now: UnixMillis) -> bool {
        now.duration_since(self.at).max(self.at.duration_since(now)) >= AGAIN_AFTER
    }
}

/// Returns the number of times that the source has confirmed its message.
fn count_confirmations(status: &FeedStatus) -> u64 {
    let is_same = |outcome: &str| matches!(outcome, "same" | "not_modified");
    status.outcomes.iter().filter(|(outcome, _)| is_same(outcome)).map(|(_, count)| count).sum()
}

impl MessageFindings {
    fn is_recheck_due(&self, status: &FeedStatus, now: UnixMillis) -> bool {
        let judged = self.judged.as_ref();
        judged.is_some_and(|it| it.is_outdated(now) && count_confirmations(status) > it.confirmed)
    }
}

impl FeedMessages {
    /// Returns true if an age check is due and the source has confirmed its message since the last one. Returns false
    /// while another check holds the lock.
    pub(super) fn is_recheck_due(&self, status: &FeedStatus, now: UnixMillis) -> bool {
        self.look.try_lock().is_some_and(|look| look.is_recheck_due(status, now))
    }

    /// Checks the age of a message that was checked at `looked`, and keeps its other findings. Does nothing if another
    /// message has arrived meanwhile.
    fn check_age(&self, asked: RepeatedMessage<'_>, at: UnixMillis) {
        let RepeatedMessage { message, timetable, now, scope, looked } = asked;
        let mut found = Notices::new(SAMPLES);
        let subject = MessageSubject::new(message, timetable, now).with_scope(scope);
        for error in validate_age(&subject, &mut found) {
            tracing::error!(rule = error.rule, "a rule crashed: {}", error.message);
        }
        let mut look = self.look.lock();
        let is_it = |it: &&mut LatestCheck| it.refusal.is_none() && it.at == looked;
        let Some(latest) = look.latest.as_mut().filter(is_it) else { return };
        latest.at = at;
        latest.notices.retain_kinds(|kind| !OF_AGE.contains(&kind.code));
        latest.notices.merge_notices(found.clone());
        look.is_other |= look.presence.add_recheck(OF_AGE, &found, at.0);
        look.is_new = true;
    }
}

/// A message whose age is checked again.
struct RepeatedMessage<'a> {
    message: &'a FeedMessage,
    timetable: &'a ScheduleIndex,
    /// The time in seconds since 1970, on the clock of the feed's data.
    now: i64,
    scope: RuleScope,
    /// Time of the message's last check.
    looked: UnixMillis,
}

impl MessageChecks {
    /// Checks the age of a feed's message, if its source has confirmed it for a while.
    pub(super) fn recheck_age(&self, feed: &Feed, place: &FeedMessages, at: UnixMillis) {
        let status = feed.status();
        let (looked, scope) = {
            let mut look = place.look.lock();
            if !look.is_recheck_due(&status, at) {
                return;
            }
            let Some(judged) = &mut look.judged else { return };
            *judged = AgeCheck::for_status(at, &status, judged.scope);
            let scope = judged.scope;
            (look.latest.as_ref().map(|latest| latest.at), scope)
        };
        let network = feed.network();
        let held = place.previous.lock().clone();
        let schedule = self.schedule_for(feed, &network).ok().flatten();
        if let Some(((message, schedule), looked)) = held.zip(schedule).zip(looked) {
            let (timetable, now) = (&*schedule.timetable, network.data_now().unix_seconds());
            place.check_age(
                RepeatedMessage { message: &message, timetable, now, scope, looked },
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
    use lineside_validate::gtfs::TextSource;

    use lineside_sync::SimulatedClock;

    use super::super::polled_feed::{poll_test_feed, wait_until_some};
    use super::super::{FoundNotices, MessageInput, ScheduleVersions};
    use super::*;
    use crate::config::ValidationConfig;
    use crate::timeout::Stopwatch;

    const MADE: i64 = 1_767_250_000;

    #[test]
    fn an_unchanged_message_becomes_stale_and_retains_its_findings() {
        let context = ValidationContext { today: Date::ZERO, country: None, threads: 1 };
        let timetable =
            Arc::new(ScheduleIndex::read_schedule(&TextSource::default(), &context).unwrap());
        let text = r#"{"header": {"gtfs_realtime_version": "2.0", "incrementality": "FULL_DATASET",
            "timestamp": 1767250000}, "entity": [{"id": "1", "vehicle": {"vehicle": {"id": "V"},
            "position": {"latitude": 100, "longitude": 10}, "timestamp": 1767249995}}]}"#;
        let (message, _) = decode_json(text.as_bytes(), &FeedMessageLimits::default()).unwrap();
        let notices = Arc::new(Notices::new(0));
        let name = Some("a".into());
        let schedule = ScheduleVersions { name, timetable, notices, earlier: Vec::new() };
        let timetable = Arc::clone(&schedule.timetable);
        let asked = MessageInput {
            message: &message,
            previous: None,
            others: Vec::new(),
            schedule,
            scope: RuleScope::default(),
            received: MADE,
        };
        let place = FeedMessages::default();
        place.validate_input(
            (asked, FoundNotices::new()),
            UnixMillis(0),
            &Stopwatch::start(),
            Duration::from_secs(60),
        );
        let codes = || -> Vec<String> {
            let look = place.look.lock();
            let notices = &look.latest.as_ref().unwrap().notices;
            let codes = notices.iter().map(|found| (found.kind.code, found.total));
            codes.map(|(code, total)| format!("{code} {total}")).collect()
        };
        let stands = |code: &str| {
            let look = place.look.lock();
            look.presence.codes.get(code).is_some_and(|seen| seen.standing.is_some())
        };
        assert_eq!(codes(), ["E026 1"]);
        let judge = |now, looked, at| {
            let scope = RuleScope::default();
            let asked =
                RepeatedMessage { message: &message, timetable: &timetable, now, scope, looked };
            place.check_age(asked, UnixMillis(at));
        };
        judge(MADE + 60, UnixMillis(0), 60_000);
        assert_eq!(codes(), ["E026 1"], "a message of one minute is not old");
        for n in 1..=3 {
            let looked = place.look.lock().latest.as_ref().unwrap().at;
            assert!(!stands("W008") && !stands("stale_vehicle"));
            judge(MADE + 100 * n, looked, 100_000 * n);
            assert_eq!(codes(), ["E026 1", "W008 1", "stale_vehicle 1"]);
            assert_eq!(place.look.lock().latest.as_ref().unwrap().at.0, 100_000 * n);
        }
        judge(MADE, UnixMillis(0), 500_000);
        assert_eq!(codes().len(), 3, "another message has arrived meanwhile");
        assert!(stands("W008") && stands("stale_vehicle"));
        assert!(!stands("E026"), "only one message had it");
        let presence = place.look.lock().presence.clone();
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
        let messages = Arc::new(MessageChecks { limits, ..MessageChecks::default() });
        let inspector = Some(Arc::clone(&messages) as _);
        let (feed, file) = (("buses", Format::GtfsRt), ("buses.json", text.as_bytes()));
        let ingest = poll_test_feed(feed, file, &folder, &clock, inspector);
        let feed = ingest.find_feed("buses").unwrap();
        let place = messages.feed_messages(feed.id());
        let judged = || place.look.lock().judged.as_ref().map(|judged| judged.at);
        let first = wait_until_some(&clock, || {
            judged().filter(|_| count_confirmations(&feed.status()) > 0)
        })
        .await;
        let n_looks = || {
            let look = place.look.lock();
            look.presence.messages + look.presence.again
        };
        let is_old = || place.look.lock().latest.as_ref().unwrap().notices.get("W008").is_some();
        // Later than all times below.
        clock.advance(Duration::from_secs(200));
        for (seconds, looks) in [(29, 1), (30, 2), (59, 2), (60, 3)] {
            let n_confirmed = count_confirmations(&feed.status());
            wait_until_some(&clock, || {
                Some(()).filter(|()| count_confirmations(&feed.status()) > n_confirmed)
            })
            .await;
            messages.recheck_feed(&feed, &place, first + Duration::from_secs(seconds));
            assert_eq!((n_looks(), is_old()), (looks, looks > 1), "after {seconds} s");
        }
        ingest.shut_down().await;
    }

    #[test]
    fn only_confirmed_messages_are_rechecked() {
        let said = |outcomes: &[(&str, u64)]| FeedStatus {
            outcomes: outcomes.iter().map(|(outcome, n)| ((*outcome).into(), *n)).collect(),
            ..FeedStatus::default()
        };
        assert_eq!(count_confirmations(&said(&[("new", 7), ("http_500", 3)])), 0);
        assert_eq!(count_confirmations(&said(&[("same", 2), ("new", 7), ("not_modified", 3)])), 5);
        let (place, at) = (FeedMessages::default(), UnixMillis(1_000_000));
        let (status, later) = (said(&[("same", 9)]), at + AGAIN_AFTER);
        assert!(!place.is_recheck_due(&status, later), "no message was checked yet");
        place.look.lock().judged =
            Some(AgeCheck::for_status(at, &said(&[("same", 8)]), RuleScope::default()));
        assert!(!place.is_recheck_due(&status, later - Duration::from_millis(1)));
        assert!(place.is_recheck_due(&status, later));
        assert!(place.is_recheck_due(&status, at - AGAIN_AFTER), "the clock was set back");
        assert!(!place.is_recheck_due(&said(&[("same", 8), ("new", 1)]), later));
    }
}
