//! The differences between two reports of a feed.

use std::collections::BTreeMap;

use lineside_validate::Severity;
use serde::{Deserialize, Serialize};

use super::validation_report::{FeedValidationReport, severity};
use crate::check::UNREADABLE_FILE;

/// Maximum number of changed codes.
const CODES_MAX: usize = 200;

/// The differences from the previous report.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReportChanges {
    /// The previous version; empty for real-time reports.
    pub version: String,
    /// The codes with more or fewer findings, the most severe first, then by name.
    pub codes: Vec<ChangedCodeCount>,
    /// The codes that may be new: the previous check did not find them, but could not see all of their files. The most
    /// severe first, then by name.
    #[serde(default)]
    pub unsure: Vec<ChangedCodeCount>,
}

/// A code whose number of findings changed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChangedCodeCount {
    pub code: String,
    #[serde(with = "severity")]
    pub severity: Severity,
    pub before: u64,
    pub now: u64,
}

impl ReportChanges {
    /// Returns the certain differences of `now`. Returns `None` if a report is inconclusive, or if two validator
    /// versions made them, because their rules may differ.
    ///
    /// An incomplete check found at least its count. So a count that rises in an incomplete `now` is a change, and one
    /// that falls is not; and a count that falls from an incomplete `before` is a change, and one that rises is not.
    /// Files that a rule saw only in part are treated alike.
    pub fn between_reports(
        before: &FeedValidationReport,
        now: &FeedValidationReport,
    ) -> Option<ReportChanges> {
        if !before.is_validation_finished()
            || !now.is_validation_finished()
            || before.validator != now.validator
        {
            return None;
        }
        let mut counts: BTreeMap<(&str, Severity), (u64, u64)> = BTreeMap::new();
        for finding in &before.findings {
            counts.entry((&finding.code, finding.severity)).or_default().0 += finding.total;
        }
        for finding in &now.findings {
            counts.entry((&finding.code, finding.severity)).or_default().1 += finding.total;
        }
        let is_beyond = |many: u64, few: u64, report: &FeedValidationReport, code: &str| {
            many > few
                && max_missed_findings(report, code)
                    .is_some_and(|uncounted_max| many - few > uncounted_max)
        };
        let is_sure = |code: &str, n_before: u64, n_now: u64| {
            is_beyond(n_now, n_before, before, code) || is_beyond(n_before, n_now, now, code)
        };
        let (mut codes, mut unsure) = (Vec::new(), Vec::new());
        for ((code, severity), (n_before, n_now)) in counts {
            let changed =
                ChangedCodeCount { code: code.to_owned(), severity, before: n_before, now: n_now };
            if is_sure(code, n_before, n_now) {
                codes.push(changed);
            } else if n_before == 0 && n_now > 0 {
                unsure.push(changed);
            }
        }
        for all in [&mut codes, &mut unsure] {
            all.sort_by(|a, b| b.severity.cmp(&a.severity).then_with(|| a.code.cmp(&b.code)));
            all.truncate(CODES_MAX);
        }
        let version = before.subject.dataset_version().unwrap_or_default().to_owned();
        Some(ReportChanges { version, codes, unsure })
    }

    /// Returns the differences between two reports on messages. If there are none, returns the previous report's
    /// differences as far as the new report confirms them.
    pub fn between_message_reports(
        before: &FeedValidationReport,
        now: &FeedValidationReport,
    ) -> Option<ReportChanges> {
        let changes = ReportChanges::between_reports(before, now)?;
        if !changes.codes.is_empty() {
            return Some(changes);
        }
        let mut changes = before.changes.clone()?;
        if !now.has_all_findings() {
            changes.codes.retain(|it| it.now > 0 && it.now == now.finding_count_for_code(&it.code));
        }
        Some(changes).filter(|it| !it.codes.is_empty())
    }

    /// Returns the error codes with more findings than before.
    pub fn new_errors(&self) -> impl Iterator<Item = &ChangedCodeCount> {
        self.codes.iter().filter(|it| it.severity == Severity::Error && it.now > it.before)
    }
}

/// Returns the maximum number of findings of a code that a check may have missed; `None` if it is unknown.
fn max_missed_findings(report: &FeedValidationReport, code: &str) -> Option<u64> {
    let has_unread_file = report.findings.iter().any(|it| it.code == UNREADABLE_FILE);
    if !report.has_all_findings() || has_unread_file {
        return None;
    }
    report.unread.iter().map(|file| file.max_hidden_findings(code)).sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reports::test_report;
    use crate::reports::validation_report::{FailedRule, ReportOutcome};

    #[test]
    fn only_codes_with_changed_counts_are_listed() {
        use Severity::{Error, Info, Warning};
        let before =
            test_report("a", &[("gone", Error, 2), ("less", Warning, 9), ("same", Info, 4)]);
        let now = test_report("b", &[("less", Warning, 1), ("new", Error, 3), ("same", Info, 4)]);
        let changes = ReportChanges::between_reports(&before, &now).unwrap();
        let listed: Vec<_> =
            changes.codes.iter().map(|it| (it.code.as_str(), it.before, it.now)).collect();
        assert_eq!(listed, [("gone", 2, 0), ("new", 0, 3), ("less", 9, 1)]);
        assert_eq!(changes.version, "a");
        let errors: Vec<_> = changes.new_errors().map(|it| it.code.as_str()).collect();
        assert_eq!(errors, ["new"]);
    }

    #[test]
    fn the_last_change_is_listed_until_the_next_one() {
        let before = test_report("", &[("E003", Severity::Error, 1)]);
        let mut now = test_report("", &[("E003", Severity::Error, 2)]);
        now.changes = ReportChanges::between_message_reports(&before, &now);
        assert_eq!(list_changes(now.changes.as_ref()), [("E003", 1, 2)]);
        assert_eq!(ReportChanges::between_message_reports(&now, &now), now.changes);
        let cleared = ReportChanges::between_message_reports(&now, &test_report("", &[]));
        assert_eq!(list_changes(cleared.as_ref()), [("E003", 2, 0)]);
    }

    fn list_changes(changes: Option<&ReportChanges>) -> Vec<(&str, u64, u64)> {
        let codes = changes.into_iter().flat_map(|it| &it.codes);
        codes.map(|it| (it.code.as_str(), it.before, it.now)).collect()
    }

    #[test]
    fn codes_of_an_unfinished_check_are_neither_new_nor_gone() {
        let found = [("E003", Severity::Error, 3)];
        let (whole, words) = (test_report("", &found), || "too many changes".to_owned());
        let unfinished = FeedValidationReport {
            outcome: ReportOutcome::Unfinished { words: words() },
            ..test_report("", &[])
        };
        assert_eq!(ReportChanges::between_message_reports(&whole, &unfinished), None);
        assert_eq!(ReportChanges::between_message_reports(&unfinished, &whole), None);
        let older_validator =
            FeedValidationReport { validator: "0".to_owned(), ..test_report("", &[]) };
        assert_eq!(
            ReportChanges::between_message_reports(&older_validator, &whole),
            None,
            "the other version may have had other rules"
        );
        assert_eq!(ReportChanges::between_message_reports(&whole, &older_validator), None);
    }

    #[test]
    fn codes_of_partly_read_files_are_neither_new_nor_gone() {
        use Severity::{Error, Warning};
        use lineside_validate::rules::gtfs::{IncompleteFile, MissingFilePart};
        let hidden = "trip_distance_exceeds_shape_distance";
        let whole = test_report("a", &[(hidden, Error, 39), ("unknown_column", Warning, 40)]);
        let row = IncompleteFile {
            filename: "shapes.txt".to_owned(),
            lack: MissingFilePart::Rows,
            rows: 2,
            rules: 16,
        };
        let found = [("invalid_float", Error, 1), ("unknown_column", Warning, 4)];
        let partly = FeedValidationReport { unread: vec![row.clone()], ..test_report("b", &found) };
        let changes = ReportChanges::between_reports(&whole, &partly);
        assert_eq!(
            list_changes(changes.as_ref()),
            [("invalid_float", 0, 1), ("unknown_column", 40, 4)]
        );
        let changes = ReportChanges::between_reports(&partly, &whole);
        assert_eq!(
            list_changes(changes.as_ref()),
            [("invalid_float", 1, 0), ("unknown_column", 4, 40)]
        );
        // Each field of a skipped row may be wrong.
        let more = test_report("c", &[("invalid_float", Error, 1), ("unknown_column", Warning, 6)]);
        assert_eq!(list_changes(ReportChanges::between_reports(&partly, &more).as_ref()), []);
        // The rules find something that they could not see before, so it may not be new.
        let newly = test_report("d", &[(hidden, Error, 1), ("unknown_column", Warning, 4)]);
        let changes = ReportChanges::between_reports(&partly, &newly).unwrap();
        assert_eq!(list_changes(Some(&changes)), [("invalid_float", 1, 0)]);
        let unsure: Vec<_> = changes.unsure.iter().map(|it| (it.code.as_str(), it.now)).collect();
        assert_eq!(unsure, [(hidden, 1)]);
        // Without a header the number of unread rows is unknown.
        let header = IncompleteFile { lack: MissingFilePart::Header, rows: 0, ..row };
        let partly = FeedValidationReport { unread: vec![header], ..test_report("b", &found) };
        assert_eq!(
            list_changes(ReportChanges::between_reports(&partly, &whole).as_ref()),
            [("invalid_float", 1, 0)]
        );
        let cut_off = [("unreadable_file", Error, 1), ("unknown_column", Warning, 4)];
        let changes = ReportChanges::between_reports(&whole, &test_report("b", &cut_off));
        assert_eq!(list_changes(changes.as_ref()), [("unreadable_file", 0, 1)]);
    }

    #[test]
    fn counts_of_an_incomplete_check_are_minimums() {
        use Severity::{Error, Warning};
        let whole =
            test_report("", &[("E003", Error, 3), ("E022", Error, 1), ("W001", Warning, 9)]);
        let found = [("E022", Error, 2), ("E045", Error, 1), ("W001", Warning, 4)];
        let fault = FailedRule { rule: "r".to_owned(), message: "m".to_owned() };
        let not_a_zip = "no zip".to_owned();
        for partly in [
            FeedValidationReport { outcome: ReportOutcome::CutShort {}, ..test_report("", &found) },
            FeedValidationReport {
                outcome: ReportOutcome::Unreadable { words: not_a_zip },
                ..test_report("", &found)
            },
            FeedValidationReport { faults: vec![fault], ..test_report("", &found) },
        ] {
            let changes = ReportChanges::between_message_reports(&whole, &partly);
            assert_eq!(list_changes(changes.as_ref()), [("E022", 1, 2), ("E045", 0, 1)]);
            let changes = ReportChanges::between_message_reports(&partly, &whole);
            assert_eq!(list_changes(changes.as_ref()), [("E022", 2, 1), ("E045", 1, 0)]);
            assert_eq!(ReportChanges::between_message_reports(&partly, &partly), None);
        }
    }

    #[test]
    fn an_incomplete_check_repeats_only_changes_that_it_confirms() {
        let before = test_report("", &[("E003", Severity::Error, 1), ("E022", Severity::Error, 4)]);
        let mut now = test_report("", &[("E003", Severity::Error, 2)]);
        now.changes = ReportChanges::between_message_reports(&before, &now);
        assert_eq!(list_changes(now.changes.as_ref()), [("E003", 1, 2), ("E022", 4, 0)]);
        let cut_short = |total: u64| FeedValidationReport {
            outcome: ReportOutcome::CutShort {},
            ..test_report("", &[("E003", Severity::Error, total)])
        };
        let second = ReportChanges::between_message_reports(&now, &cut_short(2));
        assert_eq!(list_changes(second.as_ref()), [("E003", 1, 2)]);
        assert_eq!(ReportChanges::between_message_reports(&now, &cut_short(1)), None);
    }
}
