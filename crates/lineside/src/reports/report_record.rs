//! A report in short: the record of the channel `report/<feed>`, and what the API says besides the findings.

use lineside_validate::Severity;
use serde::Serialize;

use super::changes::ChangedCode;
use super::validation_report::{
    ReportFinding, ReportOutcome, ReportSubject, ValidationReport, severity,
};
use crate::http::format_rfc3339;

/// A report in short.
#[derive(Debug, PartialEq, Serialize)]
pub(crate) struct ReportRecord<'a> {
    pub(crate) subject: &'static str,
    /// The SHA-256 of what was looked at.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) version: Option<&'a str>,
    /// Whether it could not be read, so that the version before is served.
    pub(crate) refused: bool,
    /// When it was looked, RFC 3339.
    pub(crate) at: Option<String>,
    /// Who looked.
    pub(crate) validator: &'a str,
    /// How long that took, in seconds.
    pub(crate) took: f64,
    /// `whole`, `cut_short`, `unreadable`, or `unfinished`, which says nothing of the data.
    pub(crate) outcome: &'static str,
    /// Why it is not whole.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) reason: Option<&'a str>,
    pub(crate) errors: u64,
    pub(crate) warnings: u64,
    pub(crate) infos: u64,
    /// What was found, the worst first, then by code. There are no more than there are rules.
    pub(crate) codes: Vec<CodeCount<'a>>,
    /// The version before; null for the first, and of messages.
    pub(crate) previous: Option<&'a str>,
    /// The codes of which there are more or less than in it; of messages, than when it was told before that something had changed.
    pub(crate) changed: &'a [ChangedCode],
    /// Where the report stays.
    pub(crate) url: String,
}

/// A code, and how often it was found.
#[derive(Debug, PartialEq, Serialize)]
pub(crate) struct CodeCount<'a> {
    code: &'a str,
    #[serde(with = "severity")]
    severity: Severity,
    count: u64,
}

impl<'a> CodeCount<'a> {
    fn from_finding(finding: &'a ReportFinding) -> Self {
        Self { code: &finding.code, severity: finding.severity, count: finding.total }
    }
}

impl<'a> ReportRecord<'a> {
    pub(crate) fn from_report(report: &'a ValidationReport) -> Self {
        let (outcome, reason) = match &report.outcome {
            ReportOutcome::Whole => ("whole", None),
            ReportOutcome::CutShort {} => ("cut_short", None),
            ReportOutcome::Unreadable { words } => ("unreadable", Some(words.as_str())),
            ReportOutcome::Unfinished { words } => ("unfinished", Some(words.as_str())),
        };
        let changes = report.changes.as_ref();
        Self {
            subject: report.subject.kind_name(),
            version: report.subject.version(),
            refused: matches!(report.subject, ReportSubject::Dataset { refused: true, .. }),
            at: format_rfc3339(report.at),
            validator: &report.validator,
            took: report.took_ms as f64 / 1_000.0,
            outcome,
            reason,
            errors: report.count_findings(Severity::Error),
            warnings: report.count_findings(Severity::Warning),
            infos: report.count_findings(Severity::Info),
            codes: report.findings.iter().map(CodeCount::from_finding).collect(),
            previous: changes.map(|it| it.version.as_str()).filter(|it| !it.is_empty()),
            changed: changes.map_or(&[], |changes| &changes.codes),
            url: report.report_path(),
        }
    }
}
