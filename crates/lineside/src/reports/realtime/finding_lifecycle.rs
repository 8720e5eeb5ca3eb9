//! What has been wrong with a feed's messages, and since when.
//!
//! What comes and goes is damped: a code stands once so many messages in a row have it, and it has gone once so many in a
//! row have it not. Who is to be told hears of what stands.

use std::collections::BTreeMap;

use lineside_validate::{Notices, Severity};
use serde::{Deserialize, Serialize};

use super::super::validation_report::severity;

/// Messages in a row that have a code when it begins to stand,
const COMES: u32 = 3;
/// and that have it not when it has gone.
const GOES: u32 = 10;
/// Messages of a feed within which a code was there from the start, which is no news; so it is with the first ones that
/// another validator looks at.
const START: u64 = 5;

/// What has been wrong with a feed's messages.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct FindingLifecycle {
    /// Messages that were looked at.
    pub(crate) messages: u64,
    /// Of these, those for which the time did not suffice.
    pub(crate) cut_short: u64,
    /// How often one that stayed the same was asked again how old it is.
    #[serde(default)]
    pub(crate) again: u64,
    /// The first looks, of either kind, that another validator took.
    #[serde(default)]
    by_others: u64,
    /// Each code that was ever found. There are no more than there are rules.
    pub(crate) codes: BTreeMap<String, CodeLifecycle>,
}

/// When a code was found.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct CodeLifecycle {
    #[serde(with = "severity")]
    pub(crate) severity: Severity,
    /// When it was found first, and last: milliseconds since 1970.
    pub(crate) first: i64,
    pub(crate) last: i64,
    /// Messages that had it.
    pub(crate) messages: u64,
    /// Since when it stands; none while it does not.
    pub(crate) standing: Option<i64>,
    /// The last message that was looked at is one of them.
    #[serde(default)]
    is_in_last: bool,
    /// It was there when the feed was first looked at.
    from_start: bool,
    /// Messages in a row that had it, or that had it not.
    hits: u32,
    misses: u32,
}

impl FindingLifecycle {
    /// Takes down what a message had. One that was not looked at to the end says nothing of what it has not. Tells whether
    /// anything else stands than before.
    pub(super) fn add_message(&mut self, notices: &Notices, at: i64, is_whole: bool) -> bool {
        self.messages += 1;
        self.cut_short += u64::from(!is_whole);
        self.codes.values_mut().for_each(|seen| seen.is_in_last = false);
        self.record_notices(notices, at, |_| is_whole)
    }

    /// Takes down another look at the last message, at which only these codes were asked. For what stands it counts as a message.
    pub(super) fn add_recheck(&mut self, asked: &[&str], notices: &Notices, at: i64) -> bool {
        self.again += 1;
        self.record_notices(notices, at, |code| asked.contains(&code))
    }

    /// `is_asked` says of a code that was not found whether it would have been.
    fn record_notices(
        &mut self,
        notices: &Notices,
        at: i64,
        is_asked: impl Fn(&str) -> bool,
    ) -> bool {
        let from_start = self.messages + self.again <= self.by_others + START;
        let mut is_changed = false;
        for found in notices.iter() {
            let new = || CodeLifecycle {
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
            if seen.hits >= COMES && seen.standing.is_none() {
                seen.standing = Some(at);
                seen.from_start |= from_start;
                is_changed = true;
            }
        }
        let is_gone = |code: &str| is_asked(code) && notices.get(code).is_none();
        for (_, seen) in self.codes.iter_mut().filter(|(code, _)| is_gone(code)) {
            seen.hits = 0;
            seen.misses = seen.misses.saturating_add(1);
            if seen.misses >= GOES {
                seen.from_start = false;
                is_changed |= seen.standing.take().is_some();
            }
        }
        is_changed
    }

    /// Goes on with what an earlier process has found. Where another validator found it, what is there and was not is no news:
    /// the rules may be others.
    pub(super) fn resume_from(&mut self, earlier: FindingLifecycle, is_same_validator: bool) {
        let looks = earlier.messages + earlier.again;
        self.by_others = if is_same_validator { earlier.by_others } else { looks };
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
                    // The last message is one of this process, if it has looked at any.
                    let is_in_last = before.is_in_last && self.messages == earlier.messages;
                    self.codes.insert(code, CodeLifecycle { is_in_last, ..before });
                }
            }
        }
    }

    /// The errors that stand and were not there from the start.
    pub(super) fn new_errors(&self) -> impl Iterator<Item = &str> {
        let is_news = |seen: &CodeLifecycle| {
            seen.severity == Severity::Error && seen.standing.is_some() && !seen.from_start
        };
        self.codes.iter().filter(move |(_, seen)| is_news(seen)).map(|(code, _)| code.as_str())
    }
}

#[cfg(test)]
mod tests {
    use lineside_validate::rules::gtfs_rt::notice_kinds;

    use super::*;

    /// Notices with these codes.
    fn found(codes: &[&str]) -> Notices {
        let mut notices = Notices::new(1);
        for kind in notice_kinds().filter(|kind| codes.contains(&kind.code)) {
            notices.add_notice(kind, |_| {});
        }
        notices
    }

    fn news(presence: &FindingLifecycle) -> Vec<&str> {
        presence.new_errors().collect()
    }

    /// A feed that was well for a while.
    fn well() -> FindingLifecycle {
        let mut presence = FindingLifecycle::default();
        (0..20).for_each(|at| {
            presence.add_message(&found(&[]), at, true);
        });
        presence
    }

    #[test]
    fn an_error_is_news_once_it_stands_and_a_warning_never() {
        let mut presence = well();
        assert!(!presence.add_message(&found(&["E003", "W001"]), 100, true));
        assert!(!presence.add_message(&found(&["E003", "W001"]), 101, true));
        assert!(news(&presence).is_empty());
        assert!(presence.add_message(&found(&["E003", "W001"]), 102, true));
        assert_eq!(news(&presence), ["E003"]);
        let seen = &presence.codes["E003"];
        assert_eq!((seen.first, seen.last, seen.messages, seen.standing), (100, 102, 3, Some(102)));
    }

    #[test]
    fn what_flaps_is_no_news_and_what_stands_goes_only_after_a_while() {
        let mut presence = well();
        for at in 0..30 {
            let codes: &[&str] = if at % 3 == 0 { &[] } else { &["E003"] };
            assert!(!presence.add_message(&found(codes), at, true));
        }
        assert!(news(&presence).is_empty());
        (0..3).for_each(|at| {
            presence.add_message(&found(&["E003"]), at, true);
        });
        for at in 0..GOES - 1 {
            assert!(!presence.add_message(&found(&[]), i64::from(at), true));
        }
        assert_eq!(news(&presence), ["E003"]);
        assert!(presence.add_message(&found(&[]), 99, true));
        assert!(news(&presence).is_empty());
    }

    #[test]
    fn what_was_not_looked_at_to_the_end_says_nothing_of_what_it_has_not() {
        let mut presence = well();
        (0..3).for_each(|at| {
            presence.add_message(&found(&["E003"]), at, true);
        });
        for at in 0..50 {
            assert!(!presence.add_message(&found(&[]), at, false));
        }
        assert_eq!((news(&presence), presence.cut_short), (vec!["E003"], 50));
    }

    #[test]
    fn what_was_there_from_the_start_is_no_news_until_it_has_gone_once() {
        let mut presence = FindingLifecycle::default();
        (0..50).for_each(|at| {
            presence.add_message(&found(&["E003"]), at, true);
        });
        assert!(news(&presence).is_empty());
        assert!(presence.codes["E003"].standing.is_some());
        (0..GOES).for_each(|at| {
            presence.add_message(&found(&[]), i64::from(at), true);
        });
        (0..3).for_each(|at| {
            presence.add_message(&found(&["E003"]), at, true);
        });
        assert_eq!(news(&presence), ["E003"]);
    }

    #[test]
    fn what_an_earlier_process_found_goes_on() {
        let mut earlier = well();
        (100..103).for_each(|at| {
            earlier.add_message(&found(&["E003"]), at, true);
        });
        let text = serde_json::to_string(&earlier).unwrap();
        let mut presence = FindingLifecycle::default();
        presence.add_message(&found(&["E003"]), 200, true);
        presence.resume_from(serde_json::from_str(&text).unwrap(), true);
        let seen = &presence.codes["E003"];
        assert_eq!((presence.messages, seen.first, seen.last, seen.messages), (24, 100, 200, 4));
        // What the last message of the earlier process had, that of this one may not have.
        for messages in 0..2 {
            let mut presence = FindingLifecycle::default();
            (0..messages).for_each(|at| _ = presence.add_message(&found(&[]), at, true));
            presence.resume_from(serde_json::from_str(&text).unwrap(), true);
            assert_eq!(presence.codes["E003"].is_in_last, messages == 0);
        }
        assert_eq!(news(&presence), ["E003"]);
    }

    #[test]
    fn what_another_validator_finds_first_is_no_news_and_what_comes_later_is() {
        for is_same in [true, false] {
            let mut presence = FindingLifecycle::default();
            presence.resume_from(well(), is_same);
            (0..3).for_each(|at| {
                presence.add_message(&found(&["E003"]), at, true);
            });
            assert_eq!(news(&presence).is_empty(), !is_same);
            (3..9).for_each(|at| {
                let codes: &[&str] = if at < 6 { &["E003"] } else { &["E003", "E004"] };
                presence.add_message(&found(codes), at, true);
            });
            let expected: &[&str] = if is_same { &["E003", "E004"] } else { &["E004"] };
            assert_eq!(news(&presence), expected, "the data have changed since");
        }
    }
}
