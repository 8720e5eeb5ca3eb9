//! The report of a feed's data, and its stored form.

use lineside_model::FeedId;
use lineside_store::ReportRow;
use lineside_sync::UnixMillis;
use lineside_validate::Severity;
use lineside_validate::rules::gtfs::IncompleteFile;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::{Map, Value, json};
use utoipa::ToSchema;

use super::changes::ReportChanges;
use crate::check::{self, FindingPlace, LatLon, ParsedReportJson, SourceRow};

/// The counts of a report, for lists.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(as = ReportCounts)]
pub struct ReportFindingCounts {
    /// `whole`; `cut_short`, for messages: there may be more; `unreadable`; or `unfinished`: the validation failed,
    /// which says nothing of the data.
    pub outcome: String,
    pub errors: u64,
    pub warnings: u64,
    pub infos: u64,
    /// Number of Lineside's rules that failed: then there may be more.
    #[serde(default)]
    pub faults: u64,
    /// Number of files that rules could not read: then there may be more.
    #[serde(default)]
    pub unread_files: u64,
}

impl ReportFindingCounts {
    /// Returns the counts of a report.
    pub fn from_report(report: &FeedValidationReport) -> ReportFindingCounts {
        ReportFindingCounts {
            outcome: super::report_record::ReportSummaryRecord::from_report(report)
                .outcome
                .to_owned(),
            errors: report.count_findings(Severity::Error),
            warnings: report.count_findings(Severity::Warning),
            infos: report.count_findings(Severity::Info),
            faults: report.faults.len() as u64,
            unread_files: report.unread.len() as u64,
        }
    }

    /// Returns true if the report says something of the data: the validation did not fail.
    pub fn is_of_finished_validation(&self) -> bool {
        self.outcome != "unfinished"
    }

    /// Returns true if the data cannot have more findings than the report.
    pub fn has_all_finding_counts(&self) -> bool {
        self.is_of_finished_validation() && self.outcome != "cut_short" && self.faults == 0
    }
}

/// Maximum size of a stored report as JSON, in bytes; a larger one loses samples.
const BYTES_MAX: usize = 1 << 20;

/// A report on a feed's data.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FeedValidationReport {
    pub feed: String,
    pub subject: ValidatedSubject,
    /// Time of the validation.
    #[serde(with = "millis")]
    pub at: UnixMillis,
    /// The version of the validator.
    pub validator: String,
    /// Duration of the validation, in milliseconds.
    pub took_ms: u64,
    pub outcome: ReportOutcome,
    /// Findings by severity, the most severe first, then by code.
    pub findings: Vec<FindingsOfCode>,
    /// Internal errors, which say nothing of the data.
    pub faults: Vec<FailedRule>,
    /// The differences from the previous report; `None` for the first.
    pub changes: Option<ReportChanges>,
    /// The `summary` of the reference validator's `report.json`.
    pub about: Value,
    /// The coordinates of some stops, to draw on maps.
    pub outline: Vec<LatLon>,
    /// The files of a schedule that the rules saw only in part.
    #[serde(default)]
    pub unread: Vec<IncompleteFile>,
    /// The rows and records of the first findings.
    #[serde(default)]
    pub rows: Vec<SourceRow>,
}

/// The validated data.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "lowercase")]
pub enum ValidatedSubject {
    /// A version of a schedule.
    Dataset {
        /// The SHA-256 of the bytes.
        version: String,
        /// The hash by which ingest identifies the version; empty if ingest rejected it.
        tag: String,
        /// True if ingest rejected the version, so that the previous one is served.
        refused: bool,
    },
    /// Real-time messages.
    Realtime {
        /// The active error codes that the feed did not have from the start.
        #[serde(default)]
        news: Vec<String>,
    },
}

impl ValidatedSubject {
    /// Returns the name of the kind, which is the id of its record in the feed's channel.
    pub fn subject_kind_name(&self) -> &'static str {
        match self {
            Self::Dataset { .. } => DATASET,
            Self::Realtime { .. } => REALTIME,
        }
    }

    /// Returns the version; `None` for messages.
    pub fn dataset_version(&self) -> Option<&str> {
        match self {
            Self::Dataset { version, .. } => Some(version),
            Self::Realtime { .. } => None,
        }
    }

    /// Returns true if the version was rejected by ingest, so that it is not served.
    pub fn is_rejected_version(&self) -> bool {
        matches!(self, Self::Dataset { refused: true, .. })
    }
}

/// The kind of versions of schedules.
pub const DATASET: &str = "dataset";
/// The kind of real-time messages.
pub const REALTIME: &str = "realtime";
/// The version of the only stored report on messages.
const LATEST: &str = "latest";

/// The outcome of a validation.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "lowercase")]
pub enum ReportOutcome {
    /// All data was validated.
    Whole,
    /// The time was insufficient: there may be more findings.
    CutShort {},
    /// The data cannot be read at all.
    Unreadable {
        /// The reason.
        words: String,
    },
    /// The validation failed, which says nothing of the data.
    Unfinished {
        /// The reason.
        words: String,
    },
}

/// The findings of one code.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FindingsOfCode {
    pub code: String,
    #[serde(with = "severity")]
    pub severity: Severity,
    /// Total number, including those without a sample.
    pub total: u64,
    /// A description in one or two sentences of Markdown; empty if the code says it all.
    pub summary: String,
    /// The first findings.
    pub samples: Vec<Map<String, Value>>,
    /// The places of some findings, if they have places.
    pub places: Vec<FindingPlace>,
}

impl From<check::CheckFinding> for FindingsOfCode {
    fn from(finding: check::CheckFinding) -> Self {
        FindingsOfCode {
            code: finding.code,
            severity: finding.severity,
            total: finding.total,
            summary: finding.summary.to_owned(),
            samples: finding.samples,
            places: finding.places,
        }
    }
}

/// An internal error: a rule that failed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FailedRule {
    pub rule: String,
    pub message: String,
}

impl FeedValidationReport {
    /// Creates the report on a file that belongs to no feed, such as an upload.
    pub fn for_unattached_file(read: ParsedReportJson) -> FeedValidationReport {
        let fault = |(rule, message)| FailedRule { rule, message };
        FeedValidationReport {
            feed: String::new(),
            subject: ValidatedSubject::Dataset {
                version: String::new(),
                tag: String::new(),
                refused: false,
            },
            at: UnixMillis(0),
            validator: String::new(),
            took_ms: 0,
            outcome: ReportOutcome::Whole,
            findings: read.findings.into_iter().map(FindingsOfCode::from).collect(),
            faults: read.faults.into_iter().map(fault).collect(),
            changes: None,
            about: Value::Null,
            outline: read.outline,
            unread: read.unread,
            rows: read.rows,
        }
    }

    /// Returns the number of findings of a severity.
    pub fn count_findings(&self, severity: Severity) -> u64 {
        let same_severity = self.findings.iter().filter(|finding| finding.severity == severity);
        same_severity.map(|finding| finding.total).sum()
    }

    /// Returns true if the report says something of the data: the validation did not fail.
    pub fn is_validation_finished(&self) -> bool {
        !matches!(self.outcome, ReportOutcome::Unfinished { .. })
    }

    /// Returns true if all data was validated.
    pub fn is_all_data_validated(&self) -> bool {
        self.outcome == ReportOutcome::Whole
    }

    /// Returns true if the data cannot have more findings than the report.
    pub fn has_all_findings(&self) -> bool {
        self.is_all_data_validated() && self.faults.is_empty()
    }

    /// Returns the number of findings of a code.
    pub fn finding_count_for_code(&self, code: &str) -> u64 {
        self.findings.iter().find(|it| it.code == code).map_or(0, |it| it.total)
    }

    /// Returns true if the report is on the files of a GBFS system, not on messages.
    pub fn is_for_gbfs_system(&self) -> bool {
        self.about.get("isSystem").is_some_and(|it| *it == true)
    }

    /// Returns the permanent path of the report.
    pub fn report_path(&self) -> String {
        match self.subject.dataset_version() {
            Some(version) => format!("/feeds/{}/versions/{version}/report", self.feed),
            None => format!("/feeds/{}#report-{}", self.feed, self.subject.subject_kind_name()),
        }
    }

    /// Returns the report as the reference validator's `report.json`, with additional fields under `lineside`.
    pub fn to_report_json(&self, base: &str) -> Value {
        let mut findings: Vec<&FindingsOfCode> = self.findings.iter().collect();
        findings.sort_by(|a, b| a.code.cmp(&b.code));
        let notices = findings.into_iter().map(|finding| {
            json!({
                "code": finding.code,
                "severity": finding.severity,
                "totalNotices": finding.total,
                "sampleNotices": finding.samples,
            })
        });
        let notices: Vec<Value> = notices.collect();
        let record = super::report_record::ReportSummaryRecord::from_report(self);
        let mut record = serde_json::to_value(record).unwrap_or_default();
        record["feed"] = json!(self.feed);
        record["url"] = json!(format!("{base}{}", self.report_path()));
        record["faults"] = json!(self.faults);
        record["unread"] = json!(self.unread);
        json!({ "summary": self.about, "notices": notices, "lineside": record })
    }

    /// Returns the row to store, and drops samples until it fits.
    pub fn shrink_to_report_row(&mut self) -> Option<ReportRow> {
        let version = self.subject.dataset_version().unwrap_or(LATEST).to_owned();
        let feed = FeedId::new(&self.feed).ok()?;
        let mut body = serde_json::to_string(self).ok()?;
        while body.len() > BYTES_MAX && self.halve_samples_of_findings() {
            body = serde_json::to_string(self).ok()?;
        }
        let subject = self.subject.subject_kind_name().to_owned();
        let refused = self.subject.is_rejected_version();
        let brief = serde_json::to_string(&ReportFindingCounts::from_report(self)).ok()?;
        Some(ReportRow { feed, subject, version, at: self.at, refused, brief, body })
    }

    /// Drops half of all samples. Returns false if there were none.
    fn halve_samples_of_findings(&mut self) -> bool {
        let mut had_some = false;
        for finding in &mut self.findings {
            had_some |= !finding.samples.is_empty() || !finding.places.is_empty();
            finding.samples.truncate(finding.samples.len() / 2);
            finding.places.truncate(finding.places.len() / 2);
        }
        had_some |= !self.rows.is_empty();
        self.rows.truncate(self.rows.len() / 2);
        had_some
    }

    /// Decodes a stored row; `None` if another version of the program wrote an incompatible one.
    pub fn from_report_row(row: &ReportRow) -> Option<FeedValidationReport> {
        serde_json::from_str(&row.body).ok()
    }
}

/// Encodes times as whole milliseconds since 1970.
mod millis {
    use super::{Deserialize as _, Deserializer, Serializer, UnixMillis};

    pub(crate) fn serialize<S: Serializer>(
        at: &UnixMillis,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        serializer.serialize_i64(at.0)
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<UnixMillis, D::Error> {
        i64::deserialize(from).map(UnixMillis)
    }
}

/// Encodes severities by name.
pub mod severity {
    use serde::de::Error as _;

    use super::{Deserialize as _, Deserializer, Serialize as _, Serializer, Severity};

    pub(in crate::reports) fn serialize<S: Serializer>(
        severity: &Severity,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        severity.serialize(serializer)
    }

    pub(in crate::reports) fn deserialize<'de, D: Deserializer<'de>>(
        from: D,
    ) -> Result<Severity, D::Error> {
        let name = String::deserialize(from)?;
        let all = [Severity::Error, Severity::Warning, Severity::Info];
        let found = all.into_iter().find(|severity| severity.severity_report_name() == name);
        found.ok_or_else(|| D::Error::custom("an unknown severity"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reports::test_report;

    #[test]
    fn a_saved_report_is_bounded_and_can_be_restored() {
        let mut wide = test_report("a", &[("unknown_file", Severity::Info, 900_000)]);
        let text = "x".repeat(500);
        let sample: Map<String, Value> =
            [("filename".to_owned(), json!(text))].into_iter().collect();
        wide.findings[0].samples = vec![sample; 5_000];
        let row = wide.shrink_to_report_row().unwrap();
        assert!(row.body.len() <= BYTES_MAX, "{}", row.body.len());
        let brief: ReportFindingCounts = serde_json::from_str(&row.brief).unwrap();
        assert_eq!((brief.outcome.as_str(), brief.infos, brief.errors), ("whole", 900_000, 0));
        let back = FeedValidationReport::from_report_row(&row).unwrap();
        assert_eq!(back, wide);
        assert_eq!(back.count_findings(Severity::Info), 900_000, "the total stays exact");
        assert!(!back.findings[0].samples.is_empty());
    }
}
