//! The times and counts of each code in a feed's messages.
//!
//! Findings are debounced: a code becomes active after [`COMES`] consecutive messages with it, and clears after
//! [`GOES`] without it. Notifications use the active codes.

use std::collections::BTreeMap;

use lineside_validate::{Notices, Severity};
use serde::{Deserialize, Serialize};

use super::super::validation_report::severity;

/// Number of consecutive messages with a code that make it active.
const ACTIVATE_AFTER: u32 = 3;
/// Number of consecutive messages without a code that clear it.
const CLEAR_AFTER: u32 = 10;
/// Number of a feed's first messages whose codes were there from the start and so are not news; likewise after a change
/// of the validator's version.
const START_MESSAGES: u64 = 5;

/// The history of codes in a feed's messages.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct FindingCodeHistory {
    /// Number of checked messages.
    pub messages: u64,
    /// Number of those whose check was cut short.
    pub cut_short: u64,
    /// Number of age checks of unchanged messages.
    #[serde(default)]
    pub again: u64,
    /// Number of messages and age checks that another validator version made.
    #[serde(default)]
    by_others: u64,
    /// Each code that was ever found. There are at most as many as rules.
    pub codes: BTreeMap<String, CodeHistoryEntry>,
}

/// The history of a code.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CodeHistoryEntry {
    #[serde(with = "severity")]
    pub severity: Severity,
    /// Times of the first and the last finding, in milliseconds since 1970.
    pub first: i64,
    pub last: i64,
    /// Number of messages with the code.
    pub messages: u64,
    /// Time since which the code is active; `None` if it is not.
    pub standing: Option<i64>,
    /// True if the last checked message has the code.
    #[serde(default)]
    is_in_last: bool,
    /// True if the feed had the code from the start.
    from_start: bool,
    /// Numbers of consecutive messages with and without the code.
    hits: u32,
    misses: u32,
}

impl FindingCodeHistory {
    /// Records the findings in a message. An incomplete check does not clear codes. Returns true if the active codes
    /// changed.
    pub fn record_message_findings(&mut self, notices: &Notices, at: i64, is_whole: bool) -> bool {
        self.messages += 1;
        self.cut_short += u64::from(!is_whole);
        self.codes.values_mut().for_each(|seen| seen.is_in_last = false);
        self.record_findings(notices, at, |_| is_whole)
    }

    /// Records another check of the last message for these codes only. It counts like a message for debouncing.
    pub fn record_recheck_findings(
        &mut self,
        checked_codes: &[&str],
        notices: &Notices,
        at: i64,
    ) -> bool {
        self.again += 1;
        self.record_findings(notices, at, |code| checked_codes.contains(&code))
    }

    /// Records findings. `is_checked` returns true if the check would have found a code.
    fn record_findings(
        &mut self,
        notices: &Notices,
        at: i64,
        is_checked: impl Fn(&str) -> bool,
    ) -> bool {
        let from_start = self.messages + self.again <= self.by_others + START_MESSAGES;
        let mut is_changed = false;
        for found in notices.iter() {
            let new = || CodeHistoryEntry {
                severity: found.kind.severity,
                first: at,
                last: at,
                messages: 0,
                standing: None,
                is_in_last: false,
                from_start,
                hits: 0,
                misses: 0,
            };
            let seen = self.codes.entry(found.kind.code.to_owned()).or_insert_with(new);
            (seen.last, seen.misses) = (at, 0);
            seen.messages += u64::from(!seen.is_in_last);
            seen.is_in_last = true;
            seen.hits = seen.hits.saturating_add(1);
            if seen.hits >= ACTIVATE_AFTER && seen.standing.is_none() {
                seen.standing = Some(at);
                seen.from_start |= from_start;
                is_changed = true;
            }
        }
        let is_gone = |code: &str| is_checked(code) && notices.get(code).is_none();
        for (_, seen) in self.codes.iter_mut().filter(|(code, _)| is_gone(code)) {
            seen.hits = 0;
            seen.misses = seen.misses.saturating_add(1);
            if seen.misses >= CLEAR_AFTER {
                seen.from_start = false;
                is_changed |= seen.standing.take().is_some();
            }
        }
        is_changed
    }

    /// Merges the history of an earlier process. If another validator version made it, codes of the next messages are
    /// not news, because the rules may differ.
    pub fn merge_earlier_history(&mut self, earlier: FindingCodeHistory, is_same_validator: bool) {
        let earlier_checks = earlier.messages + earlier.again;
        self.by_others = if is_same_validator { earlier.by_others } else { earlier_checks };
        self.messages += earlier.messages;
        self.again += earlier.again;
        self.cut_short += earlier.cut_short;
        for (code, before) in earlier.codes {
            match self.codes.get_mut(&code) {
                Some(seen) => {
                    seen.first = before.first;
                    seen.messages += before.messages;
                    seen.standing = before.standing.or(seen.standing);
                    seen.from_start = before.from_start;
                }
                None => {
                    // The last message is one of this process, if it has checked any.
                    let is_in_last = before.is_in_last && self.messages == earlier.messages;
                    self.codes.insert(code, CodeHistoryEntry { is_in_last, ..before });
                }
            }
        }
    }

    /// Returns the active error codes that the feed did not have from the start.
    pub fn new_active_errors(&self) -> impl Iterator<Item = &str> {
        let is_news = |seen: &CodeHistoryEntry| {
            seen.severity == Severity::Error && seen.standing.is_some() && !seen.from_start
        };
        self.codes.iter().filter(move |(_, seen)| is_news(seen)).map(|(code, _)| code.as_str())
    }
}

#[cfg(test)]
mod tests {
    use lineside_validate::rules::gtfs_rt::realtime_notice_kinds;

    use super::*;

    /// Returns notices with these codes.
    fn found(codes: &[&str]) -> Notices {
        let mut notices = Notices::new(1);
        for kind in realtime_notice_kinds().filter(|kind| codes.contains(&kind.code)) {
            notices.count_notice_with_sample(kind, |_| {});
        }
        notices
    }

    fn new_codes(presence: &FindingCodeHistory) -> Vec<&str> {
        presence.new_active_errors().collect()
    }

    /// Returns the history of a feed without findings.
    fn well() -> FindingCodeHistory {
        let mut presence = FindingCodeHistory::default();
        (0..20).for_each(|at| {
            presence.record_message_findings(&found(&[]), at, true);
        });
        presence
    }

    #[test]
    fn a_persistent_error_is_announced_and_a_warning_never() {
        let mut presence = well();
        assert!(!presence.record_message_findings(&found(&["E003", "W001"]), 100, true));
        assert!(!presence.record_message_findings(&found(&["E003", "W001"]), 101, true));
        assert!(new_codes(&presence).is_empty());
        assert!(presence.record_message_findings(&found(&["E003", "W001"]), 102, true));
        assert_eq!(new_codes(&presence), ["E003"]);
        let seen = &presence.codes["E003"];
        assert_eq!((seen.first, seen.last, seen.messages, seen.standing), (100, 102, 3, Some(102)));
    }

    #[test]
    fn flapping_errors_are_not_announced_and_persistent_ones_end_late() {
        let mut presence = well();
        for at in 0..30 {
            let codes: &[&str] = if at % 3 == 0 { &[] } else { &["E003"] };
            assert!(!presence.record_message_findings(&found(codes), at, true));
        }
        assert!(new_codes(&presence).is_empty());
        (0..3).for_each(|at| {
            presence.record_message_findings(&found(&["E003"]), at, true);
        });
        for at in 0..CLEAR_AFTER - 1 {
            assert!(!presence.record_message_findings(&found(&[]), i64::from(at), true));
        }
        assert_eq!(new_codes(&presence), ["E003"]);
        assert!(presence.record_message_findings(&found(&[]), 99, true));
        assert!(new_codes(&presence).is_empty());
    }

    #[test]
    fn an_incomplete_check_does_not_end_a_finding() {
        let mut presence = well();
        (0..3).for_each(|at| {
            presence.record_message_findings(&found(&["E003"]), at, true);
        });
        for at in 0..50 {
            assert!(!presence.record_message_findings(&found(&[]), at, false));
        }
        assert_eq!((new_codes(&presence), presence.cut_short), (vec!["E003"], 50));
    }

    #[test]
    fn an_initial_error_is_announced_only_after_it_was_absent() {
        let mut presence = FindingCodeHistory::default();
        (0..50).for_each(|at| {
            presence.record_message_findings(&found(&["E003"]), at, true);
        });
        assert!(new_codes(&presence).is_empty());
        assert!(presence.codes["E003"].standing.is_some());
        (0..CLEAR_AFTER).for_each(|at| {
            presence.record_message_findings(&found(&[]), i64::from(at), true);
        });
        (0..3).for_each(|at| {
            presence.record_message_findings(&found(&["E003"]), at, true);
        });
        assert_eq!(new_codes(&presence), ["E003"]);
    }

    #[test]
    fn findings_continue_after_a_restart() {
        let mut earlier = well();
        (100..103).for_each(|at| {
            earlier.record_message_findings(&found(&["E003"]), at, true);
        });
        let text = serde_json::to_string(&earlier).unwrap();
        let mut presence = FindingCodeHistory::default();
        presence.record_message_findings(&found(&["E003"]), 200, true);
        presence.merge_earlier_history(serde_json::from_str(&text).unwrap(), true);
        let seen = &presence.codes["E003"];
        assert_eq!((presence.messages, seen.first, seen.last, seen.messages), (24, 100, 200, 4));
        // The last message of this process need not have the codes of the earlier process's last one.
        for messages in 0..2 {
            let mut presence = FindingCodeHistory::default();
            (0..messages)
                .for_each(|at| _ = presence.record_message_findings(&found(&[]), at, true));
            presence.merge_earlier_history(serde_json::from_str(&text).unwrap(), true);
            assert_eq!(presence.codes["E003"].is_in_last, messages == 0);
        }
        assert_eq!(new_codes(&presence), ["E003"]);
    }

    #[test]
    fn initial_errors_of_a_new_validator_version_are_not_announced() {
        for is_same in [true, false] {
            let mut presence = FindingCodeHistory::default();
            presence.merge_earlier_history(well(), is_same);
            (0..3).for_each(|at| {
                presence.record_message_findings(&found(&["E003"]), at, true);
            });
            assert_eq!(new_codes(&presence).is_empty(), !is_same);
            (3..9).for_each(|at| {
                let codes: &[&str] = if at < 6 { &["E003"] } else { &["E003", "E004"] };
                presence.record_message_findings(&found(codes), at, true);
            });
            let expected: &[&str] = if is_same { &["E003", "E004"] } else { &["E004"] };
            assert_eq!(new_codes(&presence), expected, "the data have changed since");
        }
    }
}
