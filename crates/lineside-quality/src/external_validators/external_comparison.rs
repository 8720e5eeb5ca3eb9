//! Compares the reports of external validators on a version with ours.

use std::collections::BTreeMap;
use std::sync::Arc;

use lineside_sync::UnixMillis;
use lineside_validate::Severity;

use super::external_report::{ExternalReport, ExternalResult};
use crate::reports::{FeedValidationReport, FindingsOfCode};

/// A validator's report, and ours on the same version.
#[derive(Debug)]
pub struct ExternalComparison {
    /// The validator's name.
    pub name: String,
    /// The validator's report; `None` before its first run has ended.
    pub external: Option<Arc<ExternalReport>>,
    /// Our report on the version of the validator's latest result, if there is one.
    pub lineside: Option<Arc<FeedValidationReport>>,
    /// True if the validator's run on the feed's newest version is queued or in progress.
    pub is_pending: bool,
}

/// The number of findings of a code, and their highest severity.
pub(crate) type FindingCount = Option<(Severity, u64)>;

/// A code with both validators' findings.
#[derive(Debug, PartialEq, Eq)]
pub struct ComparedCode<'a> {
    pub code: &'a str,
    pub lineside: FindingCount,
    pub external: FindingCount,
}

impl ComparedCode<'_> {
    /// Returns true if the findings differ.
    pub fn has_different_counts(&self) -> bool {
        self.lineside != self.external
    }

    fn worst_severity(&self) -> Option<Severity> {
        let severity = |count: FindingCount| count.map(|(severity, _)| severity);
        severity(self.lineside).max(severity(self.external))
    }
}

impl ExternalComparison {
    /// Returns the latest result of the validator.
    pub fn latest_external_result(&self) -> Option<&ExternalResult> {
        self.external.as_ref().and_then(|report| report.said.as_ref())
    }

    /// Returns the time of the latest result or failure.
    pub fn external_changed_at(&self) -> Option<UnixMillis> {
        let report = self.external.as_ref()?;
        let result_time = report.said.as_ref().map(ExternalResult::ended_at);
        result_time.max(report.failed.as_ref().map(|failed| failed.at)).map(UnixMillis)
    }

    /// Returns each code with both findings: differing codes first, then by severity. Returns `None` if either report
    /// is missing or inconclusive.
    pub fn compare_finding_counts(&self) -> Option<Vec<ComparedCode<'_>>> {
        let external = self.latest_external_result()?.report_findings()?;
        let lineside = self.lineside.as_ref().filter(|report| report.is_validation_finished())?;
        Some(compare_findings_by_code(&lineside.findings, external))
    }
}

fn compare_findings_by_code<'a>(
    lineside: &'a [FindingsOfCode],
    external: &'a [FindingsOfCode],
) -> Vec<ComparedCode<'a>> {
    let mut codes: BTreeMap<&str, (FindingCount, FindingCount)> = BTreeMap::new();
    for finding in lineside {
        add_to_finding_count(&mut codes.entry(&finding.code).or_default().0, finding);
    }
    for finding in external {
        add_to_finding_count(&mut codes.entry(&finding.code).or_default().1, finding);
    }
    let both = codes.into_iter().map(|(code, (lineside, external))| ComparedCode {
        code,
        lineside,
        external,
    });
    let mut both: Vec<ComparedCode<'_>> = both.collect();
    both.sort_by_key(|it| (!it.has_different_counts(), std::cmp::Reverse(it.worst_severity())));
    both
}

fn add_to_finding_count(count: &mut FindingCount, finding: &FindingsOfCode) {
    let (severity, total) = count.unwrap_or((finding.severity, 0));
    *count = Some((severity.max(finding.severity), total.saturating_add(finding.total)));
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reports::test_report;

    #[test]
    fn differing_codes_come_first_ordered_by_severity() {
        use Severity::{Error, Info, Warning};
        let lineside = test_report(
            "a",
            &[("same", Error, 3), ("more", Info, 9), ("mine", Warning, 1), ("graver", Warning, 2)],
        );
        let external = test_report(
            "a",
            &[
                ("same", Error, 2),
                ("same", Warning, 1),
                ("more", Info, 8),
                ("theirs", Error, 1),
                ("graver", Error, 2),
            ],
        );
        let both = compare_findings_by_code(&lineside.findings, &external.findings);
        let compared: Vec<_> = both.iter().map(|it| (it.code, it.lineside, it.external)).collect();
        assert_eq!(
            compared,
            [
                ("graver", Some((Warning, 2)), Some((Error, 2))),
                ("theirs", None, Some((Error, 1))),
                ("mine", Some((Warning, 1)), None),
                ("more", Some((Info, 9)), Some((Info, 8))),
                ("same", Some((Error, 3)), Some((Error, 3))),
            ]
        );
        assert!(
            !both[4].has_different_counts()
                && both[..4].iter().all(ComparedCode::has_different_counts)
        );
    }
}
