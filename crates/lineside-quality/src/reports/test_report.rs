//! A report for unit tests.

use lineside_sync::UnixMillis;
use lineside_validate::Severity;
use serde_json::json;

use super::{FeedValidationReport, FindingsOfCode, ReportOutcome, ValidatedSubject};

/// Returns a report with these findings.
#[must_use]
pub fn test_report(version: &str, found: &[(&str, Severity, u64)]) -> FeedValidationReport {
    let findings = found.iter().map(|(code, severity, total)| FindingsOfCode {
        code: (*code).to_owned(),
        severity: *severity,
        total: *total,
        summary: "What is `wrong`.".to_owned(),
        samples: Vec::new(),
        places: Vec::new(),
    });
    FeedValidationReport {
        feed: "city".to_owned(),
        subject: ValidatedSubject::Dataset {
            version: version.to_owned(),
            tag: version.to_owned(),
            refused: false,
        },
        at: UnixMillis(1_000),
        validator: "1".to_owned(),
        took_ms: 5,
        outcome: ReportOutcome::Whole,
        findings: findings.collect(),
        faults: Vec::new(),
        changes: None,
        about: json!({}),
        outline: Vec::new(),
        unread: Vec::new(),
        rows: Vec::new(),
    }
}
