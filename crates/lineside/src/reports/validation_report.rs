//! A report: what was found in one feed's data, in the form in which it is kept.

use lineside_ingest::FeedId;
use lineside_store::ReportRow;
use lineside_sync::UnixMillis;
use lineside_validate::Severity;
use lineside_validate::rules::gtfs::IncompleteFile;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::{Map, Value, json};
use utoipa::ToSchema;

use super::changes::ReportChanges;
use crate::check::{self, FindingPlace, ParsedReport, Point, RawRow};

/// What a report comes to, for lists of many.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(as = ReportCounts)]
pub(crate) struct ReportSummary {
    /// `whole`; `cut_short`, of messages: there may be more; `unreadable`; or `unfinished`: we gave up, which says nothing of the data.
    pub(crate) outcome: String,
    pub(crate) errors: u64,
    pub(crate) warnings: u64,
    pub(crate) infos: u64,
    /// Rules of ours that did not finish: then there may be more.
    #[serde(default)]
    pub(crate) faults: u64,
}

impl ReportSummary {
    /// What a report comes to.
    pub(crate) fn from_report(report: &ValidationReport) -> ReportSummary {
        ReportSummary {
            outcome: super::report_record::ReportRecord::from_report(report).outcome.to_owned(),
            errors: report.count_findings(Severity::Error),
            warnings: report.count_findings(Severity::Warning),
            infos: report.count_findings(Severity::Info),
            faults: report.faults.len() as u64,
        }
    }

    /// Whether it says something of the data: we did not give up.
    pub(crate) fn is_conclusive(&self) -> bool {
        self.outcome != "unfinished"
    }

    /// Whether there cannot be more than it counts.
    pub(crate) fn is_exhaustive(&self) -> bool {
        self.is_conclusive() && self.outcome != "cut_short" && self.faults == 0
    }
}

/// Bytes of a report in JSON; a larger one is kept with fewer examples.
const BYTES_MAX: usize = 1 << 20;

/// What was found.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct ValidationReport {
    pub(crate) feed: String,
    pub(crate) subject: ReportSubject,
    /// When it was looked.
    #[serde(with = "millis")]
    pub(crate) at: UnixMillis,
    /// The version of the program that looked.
    pub(crate) validator: String,
    /// How long that took, in milliseconds.
    pub(crate) took_ms: u64,
    pub(crate) outcome: ReportOutcome,
    /// The worst first, then by code.
    pub(crate) findings: Vec<ReportFinding>,
    /// Our own faults, which say nothing of the data.
    pub(crate) faults: Vec<RuleFault>,
    /// What is different from the report before; none for the first.
    pub(crate) changes: Option<ReportChanges>,
    /// The `summary` of the reference validator's `report.json`.
    pub(crate) about: Value,
    /// Where stops are, to draw under places.
    pub(crate) outline: Vec<Point>,
    /// Files of a schedule of which rules did not see all.
    #[serde(default)]
    pub(crate) unread: Vec<IncompleteFile>,
    /// The rows and records that the first findings are about.
    #[serde(default)]
    pub(crate) rows: Vec<RawRow>,
}

/// What was looked at.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "lowercase")]
pub(crate) enum ReportSubject {
    /// A version of a schedule.
    Dataset {
        /// The SHA-256 of its bytes.
        version: String,
        /// The hash by which ingest tells it from others; empty where it refused the bytes.
        tag: String,
        /// Whether ingest refused it, so that the version before is served.
        refused: bool,
    },
    /// Messages of real time.
    Realtime {
        /// The codes of errors that stand and were not there from the start.
        #[serde(default)]
        news: Vec<String>,
    },
}

impl ReportSubject {
    /// The word that stands for its kind: the id of its record in the feed's channel.
    pub(crate) fn kind_name(&self) -> &'static str {
        match self {
            Self::Dataset { .. } => DATASET,
            Self::Realtime { .. } => REALTIME,
        }
    }

    /// Which version, if there are versions.
    pub(crate) fn version(&self) -> Option<&str> {
        match self {
            Self::Dataset { version, .. } => Some(version),
            Self::Realtime { .. } => None,
        }
    }

    /// Whether it is a version that ingest refused, which nobody is served.
    pub(crate) fn is_rejected(&self) -> bool {
        matches!(self, Self::Dataset { refused: true, .. })
    }
}

/// The word for versions of schedules.
pub(crate) const DATASET: &str = "dataset";
/// The word for messages of real time,
pub(crate) const REALTIME: &str = "realtime";
/// and for the one report that is kept of them.
const LATEST: &str = "latest";

/// How the look ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "lowercase")]
pub(crate) enum ReportOutcome {
    /// All of it was looked at.
    Whole,
    /// The time did not suffice: what was found is there, and there may be more.
    CutShort {},
    /// The data cannot be read at all.
    Unreadable {
        /// Why.
        words: String,
    },
    /// We gave up, which says nothing of the data.
    Unfinished {
        /// Why.
        words: String,
    },
}

/// One kind of finding.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct ReportFinding {
    pub(crate) code: String,
    #[serde(with = "severity")]
    pub(crate) severity: Severity,
    /// How many there are, kept or not.
    pub(crate) total: u64,
    /// What is wrong, in a sentence or two of Markdown; empty where the code says it all.
    pub(crate) summary: String,
    /// The first of them.
    pub(crate) samples: Vec<Map<String, Value>>,
    /// Where some of them are, where it is about places.
    pub(crate) places: Vec<FindingPlace>,
}

impl From<check::CheckFinding> for ReportFinding {
    fn from(finding: check::CheckFinding) -> Self {
        ReportFinding {
            code: finding.code,
            severity: finding.severity,
            total: finding.total,
            summary: finding.summary.to_owned(),
            samples: finding.samples,
            places: finding.places,
        }
    }
}

/// A fault of ours: a rule that broke off.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct RuleFault {
    pub(crate) rule: String,
    pub(crate) message: String,
}

impl ValidationReport {
    /// What was found in a file that is no feed's, such as a visitor's.
    pub(crate) fn for_file(read: ParsedReport) -> ValidationReport {
        let fault = |(rule, message)| RuleFault { rule, message };
        ValidationReport {
            feed: String::new(),
            subject: ReportSubject::Dataset {
                version: String::new(),
                tag: String::new(),
                refused: false,
            },
            at: UnixMillis(0),
            validator: String::new(),
            took_ms: 0,
            outcome: ReportOutcome::Whole,
            findings: read.findings.into_iter().map(ReportFinding::from).collect(),
            faults: read.faults.into_iter().map(fault).collect(),
            changes: None,
            about: Value::Null,
            outline: read.outline,
            unread: read.unread,
            rows: read.rows,
        }
    }

    /// How many findings there are that bad.
    pub(crate) fn count_findings(&self, severity: Severity) -> u64 {
        let alike = self.findings.iter().filter(|finding| finding.severity == severity);
        alike.map(|finding| finding.total).sum()
    }

    /// Whether it says something of the data: we did not give up.
    pub(crate) fn is_conclusive(&self) -> bool {
        !matches!(self.outcome, ReportOutcome::Unfinished { .. })
    }

    /// Whether it says all that there is to say of the data.
    pub(crate) fn is_complete(&self) -> bool {
        self.outcome == ReportOutcome::Whole
    }

    /// Whether there cannot be more than it counts.
    pub(crate) fn is_exhaustive(&self) -> bool {
        self.is_complete() && self.faults.is_empty()
    }

    /// How often it says a code.
    pub(crate) fn total_for_code(&self, code: &str) -> u64 {
        self.findings.iter().find(|it| it.code == code).map_or(0, |it| it.total)
    }

    /// Whether it is about the files of a GBFS system, which are no messages.
    pub(crate) fn is_for_system(&self) -> bool {
        self.about.get("isSystem").is_some_and(|it| *it == true)
    }

    /// Where this report stays.
    pub(crate) fn report_path(&self) -> String {
        match self.subject.version() {
            Some(version) => format!("/feeds/{}/versions/{version}/report", self.feed),
            None => format!("/feeds/{}#report-{}", self.feed, self.subject.kind_name()),
        }
    }

    /// It in the shape of the reference validator's `report.json`, with ours under `lineside`.
    pub(crate) fn to_json(&self, base: &str) -> Value {
        let mut findings: Vec<&ReportFinding> = self.findings.iter().collect();
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
        let ours = super::report_record::ReportRecord::from_report(self);
        let mut ours = serde_json::to_value(ours).unwrap_or_default();
        ours["feed"] = json!(self.feed);
        ours["url"] = json!(format!("{base}{}", self.report_path()));
        ours["faults"] = json!(self.faults);
        ours["unread"] = json!(self.unread);
        json!({ "summary": self.about, "notices": notices, "lineside": ours })
    }

    /// The row that is kept, with as many examples as fit.
    pub(crate) fn prepare_row(&mut self) -> Option<ReportRow> {
        let version = self.subject.version().unwrap_or(LATEST).to_owned();
        let feed = FeedId::new(&self.feed).ok()?;
        let mut body = serde_json::to_string(self).ok()?;
        while body.len() > BYTES_MAX && self.halve_samples() {
            body = serde_json::to_string(self).ok()?;
        }
        let subject = self.subject.kind_name().to_owned();
        let refused = self.subject.is_rejected();
        let brief = serde_json::to_string(&ReportSummary::from_report(self)).ok()?;
        Some(ReportRow { feed, subject, version, at: self.at, refused, brief, body })
    }

    /// Lets go of half of the examples. Tells whether there was one.
    fn halve_samples(&mut self) -> bool {
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

    /// What a row says; nothing where another version of the program wrote it otherwise.
    pub(crate) fn from_row(row: &ReportRow) -> Option<ValidationReport> {
        serde_json::from_str(&row.body).ok()
    }
}

/// Times as whole milliseconds since 1970.
mod millis {
    use super::{Deserialize as _, Deserializer, Serializer, UnixMillis};

    pub(super) fn serialize<S: Serializer>(
        at: &UnixMillis,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        serializer.serialize_i64(at.0)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<UnixMillis, D::Error> {
        i64::deserialize(from).map(UnixMillis)
    }
}

/// Severities by their names.
pub(super) mod severity {
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
        let found = all.into_iter().find(|severity| severity.report_name() == name);
        found.ok_or_else(|| D::Error::custom("an unknown severity"))
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// A report that found these.
    pub(crate) fn report_with_findings(
        version: &str,
        found: &[(&str, Severity, u64)],
    ) -> ValidationReport {
        let findings = found.iter().map(|(code, severity, total)| ReportFinding {
            code: (*code).to_owned(),
            severity: *severity,
            total: *total,
            summary: "What is `wrong`.".to_owned(),
            samples: Vec::new(),
            places: Vec::new(),
        });
        ValidationReport {
            feed: "city".to_owned(),
            subject: ReportSubject::Dataset {
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

    #[test]
    fn what_is_kept_comes_back_and_is_bounded() {
        let mut wide = report_with_findings("a", &[("unknown_file", Severity::Info, 900_000)]);
        let text = "x".repeat(500);
        let sample: Map<String, Value> =
            [("filename".to_owned(), json!(text))].into_iter().collect();
        wide.findings[0].samples = vec![sample; 5_000];
        let row = wide.prepare_row().unwrap();
        assert!(row.body.len() <= BYTES_MAX, "{}", row.body.len());
        let brief: ReportSummary = serde_json::from_str(&row.brief).unwrap();
        assert_eq!((brief.outcome.as_str(), brief.infos, brief.errors), ("whole", 900_000, 0));
        let back = ValidationReport::from_row(&row).unwrap();
        assert_eq!(back, wide);
        assert_eq!(back.count_findings(Severity::Info), 900_000, "the total stays exact");
        assert!(!back.findings[0].samples.is_empty());
    }
}
