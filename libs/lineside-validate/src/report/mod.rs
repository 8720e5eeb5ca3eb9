//! Reports in the shape of the reference validator's `report.json`, so that tools which read that file can read these.

mod features;
mod summary;

use serde::Serialize;
use serde_json::{Map, Value};

pub use self::{
    features::detect_features,
    summary::{AgencySummary, EntityCounts, FeedInfo, FeedSummary, ValidationRunFacts},
};
use crate::{Notices, Severity, rules::ValidatorFault};

/// A complete report.
#[derive(Debug, Serialize)]
pub struct ValidationReportDocument<'a> {
    /// A summary of the input and of the run.
    pub summary: FeedSummary,
    /// The notices by kind, ordered by code.
    pub notices: Vec<NoticeReport<'a>>,
}

/// The notices of one kind.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct NoticeReport<'a> {
    /// The code of the kind.
    pub code: &'static str,
    /// The severity of the kind.
    pub severity: Severity,
    /// The total number of notices.
    pub total_notices: u64,
    /// The first notices, as samples.
    pub sample_notices: &'a [Map<String, Value>],
}

/// Returns the notices by code, as the reference validator lists them.
pub fn notices_as_report(notices: &Notices) -> Vec<NoticeReport<'_>> {
    notices
        .iter()
        .map(|found| NoticeReport {
            code: found.kind.code,
            severity: found.kind.severity,
            total_notices: found.total,
            sample_notices: &found.samples,
        })
        .collect()
}

/// Returns the validator's own faults in the shape of the reference validator's `system_errors.json`.
pub fn system_errors_as_json(errors: &[ValidatorFault]) -> Value {
    const CODE: &str = "runtime_exception_in_validator_error";
    let samples: Vec<Value> = errors
        .iter()
        .map(|error| serde_json::json!({ "validator": error.rule, "message": error.message }))
        .collect();
    let notices = match samples.is_empty() {
        true => Vec::new(),
        false => vec![serde_json::json!({
            "code": CODE,
            "severity": Severity::Error,
            "totalNotices": samples.len(),
            "sampleNotices": samples,
        })],
    };
    serde_json::json!({ "notices": notices })
}
