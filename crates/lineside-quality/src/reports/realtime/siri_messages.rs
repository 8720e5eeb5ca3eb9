//! Validates SIRI messages: each by SIRI's own rules as it passes, and then the resulting state by the real-time rules
//! on trips, times and places, not by those on the format of GTFS-Realtime.
//!
//! If a message is the producer's whole state, both happen at once. If it contains changes, the findings are gathered
//! for a while and validated together. If it is a page, it waits for the last page, or until no more arrive.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use lineside_formats::gtfs_rt::proto::FeedMessage;
use lineside_formats::siri::SiriMessage;
use lineside_ingest::{Feed, Network, SiriMessagePart};
use lineside_model::exports::{ExportedEntityKinds, get_gtfs_rt_export};
use lineside_sync::UnixMillis;
use lineside_sync::real_time::RealTimeStopwatch;
use lineside_validate::rules::gtfs_rt::RealtimeRuleScope;
use lineside_validate::rules::siri::validate_siri_while;

use super::staleness::LastAgeCheck;
use super::{
    FeedMessageChecks, MessageChecker, MessageNoticesSoFar, MessageValidationInput,
    decode_gtfs_rt_message, has_trips_or_vehicles,
};

/// Time for which changes are gathered before they are validated together.
const GATHER_TIME_MAX: Duration = Duration::from_secs(10);
/// Time after a page in which the next one is awaited: a rate limit may delay it.
const PAGE_TIME_MAX: Duration = Duration::from_secs(120);
/// Time after the first page in which the last one is awaited, in case the pages restart forever.
const PAGES_TIME_MAX: Duration = Duration::from_secs(600);

/// The findings in messages that are not validated as a whole yet.
#[derive(Debug)]
pub struct GatheredMessages {
    notices: MessageNoticesSoFar,
    /// Time of the first message.
    since: RealTimeStopwatch,
    /// Time of the last message, if it was a page other than the last one.
    page_since: Option<RealTimeStopwatch>,
    /// Time of the last message.
    at: UnixMillis,
    /// The same time on the clock of the feed's data, in seconds since 1970.
    received: i64,
    /// True if a message had stop monitoring, which covers only the requested stops.
    has_visits: bool,
    /// True if a message held only changes.
    has_changes: bool,
    /// True if the last message was the whole state, or its last page.
    is_complete: bool,
}

impl GatheredMessages {
    fn start_gathering(at: UnixMillis, received: i64) -> Self {
        Self {
            notices: MessageNoticesSoFar::new(),
            since: RealTimeStopwatch::start_stopwatch(),
            page_since: None,
            at,
            received,
            has_visits: false,
            has_changes: false,
            is_complete: false,
        }
    }

    /// Records a message.
    fn add_siri_message(
        &mut self,
        (message, part): (&SiriMessage, SiriMessagePart),
        at: UnixMillis,
        received: i64,
    ) {
        (self.at, self.received) = (at, received);
        self.has_visits |= message.service_deliveries().any(|it| !it.stop_monitorings.is_empty());
        self.has_changes |= part == SiriMessagePart::Changes;
        self.is_complete = part == SiriMessagePart::Whole;
        self.page_since = (part == SiriMessagePart::Page).then(RealTimeStopwatch::start_stopwatch);
    }

    /// Returns true if the gathered messages are due for validation.
    fn is_validation_due(&self) -> bool {
        self.is_validation_due_after(
            self.since.elapsed(),
            self.page_since.map(|since| since.elapsed()),
        )
    }

    /// Returns true if messages that were gathered for `gathered` are due, `page` after the last page.
    fn is_validation_due_after(&self, gathered: Duration, page: Option<Duration>) -> bool {
        match page {
            _ if self.is_complete => true,
            Some(page) => page >= PAGE_TIME_MAX || gathered >= PAGES_TIME_MAX,
            None => gathered >= GATHER_TIME_MAX,
        }
    }

    /// Returns the rules that apply. A new subscription has not delivered everything yet.
    fn applicable_rule_scope(&self, has_schedule: bool, is_beginning: bool) -> RealtimeRuleScope {
        RealtimeRuleScope {
            has_schedule,
            is_translated: true,
            is_whole: !self.has_visits && self.page_since.is_none() && !is_beginning,
            is_repeated: !self.has_changes,
        }
    }
}

impl FeedMessageChecks {
    /// Returns true if a message waits, or gathered messages are due. Returns false while they are being validated, so
    /// that the caller never waits for rules.
    pub fn has_messages_due(&self) -> bool {
        self.waiting.lock().is_some() || self.is_any_gathered(GatheredMessages::is_validation_due)
    }

    /// Returns true if a message waits until its schedule is prepared.
    pub fn waits_for_schedule(&self) -> bool {
        self.waiting.lock().is_some() || self.is_any_gathered(|it| it.is_complete)
    }

    fn is_any_gathered(&self, is_met: impl Fn(&GatheredMessages) -> bool) -> bool {
        let gathered = self.gathered.try_lock();
        gathered.is_some_and(|gathered| gathered.as_ref().is_some_and(is_met))
    }
}

impl MessageChecker {
    /// Validates a message by SIRI's own rules, and the whole state if the message contains it.
    pub fn validate_and_gather_message(
        &self,
        feed: &Feed,
        (message, part): (&SiriMessage, SiriMessagePart),
        at: UnixMillis,
        received: i64,
    ) {
        let (feed_messages, watch) =
            (self.get_or_create_feed_checks(feed.id()), RealTimeStopwatch::start_stopwatch());
        let mut gathered_slot = feed_messages.gathered.lock();
        // A message that waits for its schedule is replaced by the next one.
        gathered_slot.take_if(|it| it.is_complete);
        let gathered =
            gathered_slot.get_or_insert_with(|| GatheredMessages::start_gathering(at, received));
        let may_continue = || watch.elapsed() < self.limits.message_time;
        let verdict = validate_siri_while(message, &mut gathered.notices.notices, &may_continue);
        gathered.notices.errors.extend(verdict.errors);
        gathered.notices.is_cut_short |= verdict.is_cut_short;
        gathered.add_siri_message((message, part), at, received);
        drop(gathered_slot);
        self.checked.fetch_add(1, Ordering::Relaxed);
        self.cut_short.fetch_add(u64::from(verdict.is_cut_short), Ordering::Relaxed);
        if part == SiriMessagePart::Whole {
            self.validate_current_state(feed, &feed_messages, &watch);
        }
    }

    /// Validates gathered messages that are due.
    pub fn validate_gathered_if_due(&self, feed: &Feed, feed_messages: &FeedMessageChecks) {
        let is_due =
            feed_messages.gathered.lock().as_ref().is_some_and(GatheredMessages::is_validation_due);
        if is_due {
            self.validate_current_state(feed, feed_messages, &RealTimeStopwatch::start_stopwatch());
        }
    }

    /// Validates the state that results from the messages, together with the gathered findings.
    fn validate_current_state(
        &self,
        feed: &Feed,
        feed_messages: &FeedMessageChecks,
        watch: &RealTimeStopwatch,
    ) {
        let network = feed.network();
        let schedule = match self.schedule_for_feed_messages(feed, &network) {
            Ok(Some(schedule)) => schedule,
            // The schedule is being prepared; the next attempt follows in a second.
            Ok(None) => return,
            Err(refusal) => {
                let gathered = feed_messages.gathered.lock().take();
                if let Some(gathered) = gathered {
                    let has_activity = || {
                        export_feed_state(feed, &network)
                            .is_some_and(|it| has_trips_or_vehicles(&it.0))
                    };
                    feed_messages.record_unchecked_reason(
                        refusal,
                        gathered.at,
                        gathered.received,
                        has_activity,
                    );
                }
                return;
            }
        };
        let Some(gathered) = feed_messages.gathered.lock().take() else { return };
        let scope =
            gathered.applicable_rule_scope(schedule.name.is_some(), feed.status().is_beginning);
        let GatheredMessages { notices, at, received, .. } = gathered;
        let Some((message, is_retainable)) = export_feed_state(feed, &network) else { return };
        let others = self.current_messages_of_other_feeds(&network, feed.id(), received);
        let previous = feed_messages.previous.lock().clone();
        let message_input = MessageValidationInput {
            message: &message,
            previous,
            others,
            schedule,
            scope,
            received,
        };
        let was_cut_short = notices.is_cut_short;
        let is_cut_short = self.validate_against_schedule_versions(
            &network,
            feed_messages,
            (message_input, notices),
            at,
            watch,
        );
        self.cut_short.fetch_add(u64::from(is_cut_short && !was_cut_short), Ordering::Relaxed);
        feed_messages.keep_previous_message(
            Some(message).filter(|_| is_retainable),
            feed,
            received,
        );
        // The age of a message with changes says nothing of the feed.
        let age_check =
            scope.is_repeated.then(|| LastAgeCheck::for_status(at, &feed.status(), scope));
        feed_messages.findings.lock().age_check = age_check;
    }
}

/// Returns the current state of a feed as a GTFS-Realtime message, and true if it is small enough to hold.
fn export_feed_state(feed: &Feed, network: &Network) -> Option<(Arc<FeedMessage>, bool)> {
    decode_gtfs_rt_message(
        &get_gtfs_rt_export(&network.state(), feed.id().as_str(), ExportedEntityKinds::All)?.bytes,
    )
}

#[cfg(test)]
mod tests {
    use lineside_model::FeedStatus;

    use super::*;

    const AT: UnixMillis = UnixMillis(1_795_262_400_000);

    fn gathered(parts: &[SiriMessagePart]) -> GatheredMessages {
        let mut gathered = GatheredMessages::start_gathering(AT, AT.unix_seconds());
        for part in parts {
            gathered.add_siri_message((&SiriMessage::default(), *part), AT, AT.unix_seconds());
        }
        gathered
    }

    #[test]
    fn pages_wait_for_the_last_page_and_changes_for_ten_seconds() {
        use SiriMessagePart::{Changes, Page, Whole};
        let check =
            |parts: &[SiriMessagePart], gathered_for: u64, page: Option<u64>, is_due: bool| {
                let (gathered_for, page) =
                    (Duration::from_secs(gathered_for), page.map(Duration::from_secs));
                assert_eq!(
                    gathered(parts).is_validation_due_after(gathered_for, page),
                    is_due,
                    "{parts:?}"
                );
            };
        check(&[Changes], 9, None, false);
        check(&[Changes, Changes], 10, None, true);
        check(&[Page], 15, Some(15), false);
        check(&[Page, Page], 300, Some(15), false);
        check(&[Page, Page, Whole], 30, None, true);
        check(&[Page, Page], 135, Some(120), true);
        check(&[Page, Page], 600, Some(15), true);
        assert!(gathered(&[Page]).page_since.is_some());
        assert!(gathered(&[Page, Whole]).page_since.is_none());
    }

    #[test]
    fn a_query_does_not_wait_for_a_running_check() {
        let feed_messages = FeedMessageChecks::default();
        *feed_messages.gathered.lock() = Some(gathered(&[SiriMessagePart::Whole]));
        assert!(feed_messages.has_messages_due() && feed_messages.waits_for_schedule());
        let (gathering, findings_guard) =
            (feed_messages.gathered.lock(), feed_messages.findings.lock());
        assert!(!feed_messages.has_messages_due() && !feed_messages.waits_for_schedule());
        assert!(!feed_messages.is_recheck_due(&FeedStatus::default(), AT));
        drop((gathering, findings_guard));
    }

    #[test]
    fn incomplete_siri_data_are_not_checked_as_whole() {
        use SiriMessagePart::{Changes, Page, Whole};
        let is_whole = |parts: &[SiriMessagePart], is_beginning| {
            gathered(parts).applicable_rule_scope(true, is_beginning).is_whole
        };
        assert!(is_whole(&[Page, Whole], false) && is_whole(&[Changes], false));
        assert!(!is_whole(&[Changes], true), "the first minute of a subscription");
        assert!(!is_whole(&[Page], false), "the last page is missing");
    }
}
