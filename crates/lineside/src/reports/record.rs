//! A report in short: the record of the channel `report/<feed>`, and what the API says besides the findings.

use lineside_validate::Severity;
use serde::Serialize;

use super::changes::Changed;
use super::report::{Outcome, Report, Subject};
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
    /// The version before; null for the first.
    pub(crate) previous: Option<&'a str>,
    /// The codes of which there are more or less than in it.
    pub(crate) changed: &'a [Changed],
    /// Where the report stays.
    pub(crate) url: String,
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
            previous: changes.map(|changes| changes.version.as_str()),
            changed: changes.map_or(&[], |changes| &changes.codes),
            url: report.address(),
        }
    }
}
