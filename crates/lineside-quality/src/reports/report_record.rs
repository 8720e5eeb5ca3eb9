//! The summary of a report: the record of the channel `report/<feed>`, and the part of the API's reports besides the
//! findings.

use lineside_config::times::format_rfc3339;
use lineside_validate::Severity;
use serde::Serialize;

use super::changes::ChangedCodeCount;
use super::validation_report::{
    FeedValidationReport, FindingsOfCode, ReportOutcome, ValidatedSubject, severity,
};

/// The summary of a report.
#[derive(Debug, PartialEq, Serialize)]
pub struct ReportSummaryRecord<'a> {
    pub subject: &'static str,
    /// The SHA-256 of the validated version.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub version: Option<&'a str>,
    /// True if the version was rejected, so that the previous one is served.
    pub refused: bool,
    /// Time of the validation, RFC 3339.
    pub at: Option<String>,
    /// The version of the validator.
    pub validator: &'a str,
    /// Duration of the validation, in seconds.
    pub took: f64,
    /// `whole`, `cut_short`, `unreadable`, or `unfinished`, which says nothing of the data.
    pub outcome: &'static str,
    /// The reason why the report is not whole.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<&'a str>,
    pub errors: u64,
    pub warnings: u64,
    pub infos: u64,
    /// The findings by severity, the most severe first, then by code. There are at most as many codes as rules.
    pub codes: Vec<FindingCodeCount<'a>>,
    /// The previous version; null for the first one, and for messages.
    pub previous: Option<&'a str>,
    /// The codes with more or fewer findings than in the previous version; for messages, than at the last reported
    /// change.
    pub changed: &'a [ChangedCodeCount],
    /// The permanent address of the report.
    pub url: String,
}

/// A code with its number of findings.
#[derive(Debug, PartialEq, Serialize)]
pub struct FindingCodeCount<'a> {
    code: &'a str,
    #[serde(with = "severity")]
    severity: Severity,
    count: u64,
}

impl<'a> FindingCodeCount<'a> {
    fn from_finding(finding: &'a FindingsOfCode) -> Self {
        Self { code: &finding.code, severity: finding.severity, count: finding.total }
    }
}

impl<'a> ReportSummaryRecord<'a> {
    pub fn from_report(report: &'a FeedValidationReport) -> Self {
        let (outcome, reason) = match &report.outcome {
            ReportOutcome::Whole => ("whole", None),
            ReportOutcome::CutShort {} => ("cut_short", None),
            ReportOutcome::Unreadable { words: reason } => ("unreadable", Some(reason.as_str())),
            ReportOutcome::Unfinished { words: reason } => ("unfinished", Some(reason.as_str())),
        };
        let changes = report.changes.as_ref();
        Self {
            subject: report.subject.subject_kind_name(),
            version: report.subject.dataset_version(),
            refused: matches!(report.subject, ValidatedSubject::Dataset { refused: true, .. }),
            at: format_rfc3339(report.at),
            validator: &report.validator,
            took: report.took_ms as f64 / 1_000.0,
            outcome,
            reason,
            errors: report.count_findings(Severity::Error),
            warnings: report.count_findings(Severity::Warning),
            infos: report.count_findings(Severity::Info),
            codes: report.findings.iter().map(FindingCodeCount::from_finding).collect(),
            previous: changes.map(|it| it.version.as_str()).filter(|it| !it.is_empty()),
            changed: changes.map_or(&[], |changes| &changes.codes),
            url: report.report_path(),
        }
    }
}
