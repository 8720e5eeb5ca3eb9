//! What is different between two reports of a feed.

use std::collections::BTreeMap;

use lineside_validate::Severity;
use serde::{Deserialize, Serialize};

use super::report::{Finding, Report, severity};

/// Codes that are told one by one.
const CODES_MAX: usize = 200;

/// What is different from the report before.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Changes {
    /// The version before; empty where there are no versions.
    pub(crate) version: String,
    /// The codes that are more or less, the worst first, then by name.
    pub(crate) codes: Vec<Changed>,
}

/// A code whose findings are more or less than they were.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Changed {
    pub(crate) code: String,
    #[serde(with = "severity")]
    pub(crate) severity: Severity,
    pub(crate) before: u64,
    pub(crate) now: u64,
}

impl Changes {
    /// What `now` has found that `before` has not, and the other way round.
    pub(crate) fn between(before: &Report, now: &[Finding]) -> Changes {
        let mut counts: BTreeMap<(&str, Severity), (u64, u64)> = BTreeMap::new();
        for finding in &before.findings {
            counts.entry((&finding.code, finding.severity)).or_default().0 += finding.total;
        }
        for finding in now {
            counts.entry((&finding.code, finding.severity)).or_default().1 += finding.total;
        }
        let changed = counts.into_iter().filter(|(_, (before, now))| before != now);
        let changed = changed.map(|((code, severity), (before, now))| Changed {
            code: code.to_owned(),
            severity,
            before,
            now,
        });
        let mut codes: Vec<Changed> = changed.collect();
        codes.sort_by(|a, b| b.severity.cmp(&a.severity).then_with(|| a.code.cmp(&b.code)));
        codes.truncate(CODES_MAX);
        Changes { version: before.subject.version().unwrap_or_default().to_owned(), codes }
    }

    /// What messages have that they had not when they were told of before, and the other way round. Where that is nothing, it is what
    /// was told then: that still holds.
    pub(super) fn of_messages(before: &Report, now: &[Finding]) -> Option<Changes> {
        let changes = Changes::between(before, now);
        if changes.codes.is_empty() { before.changes.clone() } else { Some(changes) }
    }

    /// The kinds of errors of which there are more now, or any at all.
    pub(crate) fn new_errors(&self) -> impl Iterator<Item = &Changed> {
        self.codes.iter().filter(|it| it.severity == Severity::Error && it.now > it.before)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reports::report::tests::report;

    #[test]
    fn what_is_new_gone_more_and_less_is_told_and_the_rest_is_not() {
        use Severity::{Error, Info, Warning};
        let before = report("a", &[("gone", Error, 2), ("less", Warning, 9), ("same", Info, 4)]);
        let now = report("b", &[("less", Warning, 1), ("new", Error, 3), ("same", Info, 4)]);
        let changes = Changes::between(&before, &now.findings);
        let told: Vec<_> =
            changes.codes.iter().map(|it| (it.code.as_str(), it.before, it.now)).collect();
        assert_eq!(told, [("gone", 2, 0), ("new", 0, 3), ("less", 9, 1)]);
        assert_eq!(changes.version, "a");
        let errors: Vec<_> = changes.new_errors().map(|it| it.code.as_str()).collect();
        assert_eq!(errors, ["new"]);
    }

    #[test]
    fn what_changed_last_stays_told_until_something_else_does() {
        let before = report("", &[("E003", Severity::Error, 1)]);
        let mut now = report("", &[("E003", Severity::Error, 2)]);
        now.changes = Changes::of_messages(&before, &now.findings);
        assert_eq!(now.changes.as_ref().map(|it| it.codes.len()), Some(1));
        assert_eq!(Changes::of_messages(&now, &now.findings), now.changes);
        let gone = Changes::of_messages(&now, &[]).map(|it| it.codes);
        let codes = gone.iter().flatten().map(|it| (it.before, it.now));
        assert_eq!(codes.collect::<Vec<_>>(), [(2, 0)]);
    }
}
