//! A report in short: the record of the channel `report/<feed>`, and what the API says besides the findings.

use lineside_validate::Severity;
use serde::Serialize;

use super::changes::Changed;
use super::report::{Finding, Outcome, Report, Subject, severity};
use crate::http::rfc3339;

/// A report in short.
#[derive(Debug, PartialEq, Serialize)]
pub(crate) struct Record<'a> {
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
    pub(crate) changed: &'a [Changed],
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
    fn of(finding: &'a Finding) -> Self {
        Self { code: &finding.code, severity: finding.severity, count: finding.total }
    }
}

impl<'a> Record<'a> {
    pub(crate) fn of(report: &'a Report) -> Self {
        let (outcome, reason) = match &report.outcome {
            Outcome::Whole => ("whole", None),
            Outcome::CutShort {} => ("cut_short", None),
            Outcome::Unreadable { words } => ("unreadable", Some(words.as_str())),
            Outcome::Unfinished { words } => ("unfinished", Some(words.as_str())),
        };
        let changes = report.changes.as_ref();
        Self {
            subject: report.subject.word(),
            version: report.subject.version(),
            refused: matches!(report.subject, Subject::Dataset { refused: true, .. }),
            at: rfc3339(report.at),
            validator: &report.validator,
            took: report.took_ms as f64 / 1_000.0,
            outcome,
            reason,
            errors: report.count(Severity::Error),
            warnings: report.count(Severity::Warning),
            infos: report.count(Severity::Info),
            codes: report.findings.iter().map(CodeCount::of).collect(),
            previous: changes.map(|it| it.version.as_str()).filter(|it| !it.is_empty()),
            changed: changes.map_or(&[], |changes| &changes.codes),
            url: report.address(),
        }
    }
}
