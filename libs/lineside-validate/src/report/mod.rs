//! What was found, in the shape of the reference validator's `report.json`, so that tools which read
//! that one read this one.

mod features;
mod summary;

use serde::Serialize;
use serde_json::{Map, Value};

pub use self::{
    features::detect_features,
    summary::{AgencySummary, EntityCounts, FeedInfo, FeedSummary, ValidationRun},
};
use crate::{Notices, Severity, rules::SystemError};

/// A whole report.
#[derive(Debug, Serialize)]
pub struct ReportDocument<'a> {
    /// What was looked at, and how.
    pub summary: FeedSummary,
    /// What was found, ordered by code.
    pub notices: Vec<NoticeReport<'a>>,
}

/// One kind's notices.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct NoticeReport<'a> {
    /// The kind.
    pub code: &'static str,
    /// How bad it is.
    pub severity: Severity,
    /// How many there were.
    pub total_notices: u64,
    /// The first of them.
    pub sample_notices: &'a [Map<String, Value>],
}

/// The notices by code, as the reference validator lists them.
pub fn report_notices(notices: &Notices) -> Vec<NoticeReport<'_>> {
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

/// Our own faults, in the shape of the reference validator's `system_errors.json`: never mixed with
/// the data's.
pub fn report_system_errors(errors: &[SystemError]) -> Value {
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
