//! A report that was written as `report.json`, read again to be shown.

use std::collections::BTreeMap;

use lineside_validate::Severity;
use lineside_validate::rules::{gbfs, gtfs, gtfs_rt, netex, siri};
use serde::Deserialize;
use serde_json::{Map, Value};

use super::Finding;

/// What such a report says.
#[derive(Debug)]
pub(crate) struct Reread {
    /// What the input is called.
    pub(crate) input: String,
    /// When it was looked at, as RFC 3339.
    pub(crate) at: String,
    /// The day on which it was judged.
    pub(crate) today: String,
    /// By severity, the worst first, then by code.
    pub(crate) findings: Vec<Finding>,
}

#[derive(Deserialize)]
struct Report {
    summary: Value,
    notices: Vec<Notice>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Notice {
    code: String,
    severity: String,
    total_notices: u64,
    #[serde(default)]
    sample_notices: Vec<Map<String, Value>>,
}

impl Reread {
    /// Reads it, whether this program wrote it or the reference validator.
    ///
    /// # Errors
    /// If it is no such report.
    pub(crate) fn of(json: &[u8]) -> Result<Self, serde_json::Error> {
        let Report { summary, notices } = serde_json::from_slice(json)?;
        let kinds = gtfs::kinds().chain(gtfs_rt::kinds()).chain(gbfs::kinds());
        let kinds = kinds.chain(siri::kinds()).chain(netex::kinds());
        let words: BTreeMap<&str, &'static str> =
            kinds.map(|kind| (kind.code, kind.summary())).collect();
        let finding = |notice: Notice| Finding {
            severity: match notice.severity.as_str() {
                "ERROR" => Severity::Error,
                "WARNING" => Severity::Warning,
                _ => Severity::Info,
            },
            total: notice.total_notices,
            places: Vec::new(),
            summary: words.get(notice.code.as_str()).copied().unwrap_or_default(),
            samples: notice.sample_notices,
            code: notice.code,
        };
        let mut findings: Vec<Finding> = notices.into_iter().map(finding).collect();
        findings.sort_by(|a, b| b.severity.cmp(&a.severity).then_with(|| a.code.cmp(&b.code)));
        let text = |names: [&str; 2]| {
            let found = names.iter().find_map(|name| summary[*name].as_str());
            found.unwrap_or_default().to_owned()
        };
        Ok(Self {
            input: text(["gtfsInput", "input"]),
            at: text(["validatedAt", "validatedAt"]),
            today: text(["dateForValidation", "dateForValidation"]),
            findings,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_report_is_read_as_it_was_written() {
        let json = br#"{"summary": {"gtfsInput": "a.zip", "validatedAt": "2026-01-02T03:04:05Z"}, "notices": [
            {"code": "unknown_file", "severity": "INFO", "totalNotices": 1, "sampleNotices": [{"filename": "x.txt"}]},
            {"code": "of_somebody_else", "severity": "WARNING", "totalNotices": 7},
            {"code": "foreign_key_violation", "severity": "ERROR", "totalNotices": 2, "sampleNotices": []}
        ]}"#;
        let read = Reread::of(json).unwrap();
        assert_eq!((&*read.input, &*read.at), ("a.zip", "2026-01-02T03:04:05Z"));
        let codes: Vec<&str> = read.findings.iter().map(|it| &*it.code).collect();
        assert_eq!(codes, ["foreign_key_violation", "of_somebody_else", "unknown_file"]);
        assert!(!read.findings[0].summary.is_empty() && read.findings[1].summary.is_empty());
        assert_eq!(read.findings[2].samples[0]["filename"], "x.txt");
        assert!(Reread::of(b"{}").is_err() && Reread::of(b"<html>").is_err());
    }
}
