//! What was found, in the shape of the reference validator's `report.json`.

use serde::Serialize;
use serde_json::{Map, Value};

use crate::{Notices, Severity};

/// One kind's notices in a report.
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
pub fn notices(notices: &Notices) -> Vec<NoticeReport<'_>> {
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
