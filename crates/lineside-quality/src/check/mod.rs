//! Validates an input for `lineside check` and other callers, without a terminal or a socket.
//!
//! The rules of `lineside-validate` run on every format; GTFS-Realtime without a schedule runs only the rules that need
//! none. Reports on real-time data and NeTEx also include the problems of their decoders.

mod formats;
mod gtfs_check;
mod decoded_check;
mod gtfs_rt_check;
mod siri_check;
mod realtime_conformance;
mod plan_schedule;
mod netex_check;
mod gbfs_check;
mod codes;
mod contents;
mod progress;
mod finding_fields;
mod html_report;
#[cfg(test)]
mod demo_feeds;
pub mod place_map;
mod finding_places;
mod raw_rows;
mod memory_estimate;
mod record_rows;
mod parse_report;
mod sample;
mod text_report;
mod unsupported_input;
mod unread_files;
mod json_memory;

use bytes::Bytes;
use jiff::civil::Date;
use lineside_formats::{Format, sniff_format};
use lineside_model::SiriIdMapping;
use lineside_validate::report::{self, FeedSummary};
use lineside_validate::rules::ValidatorFault;
use lineside_validate::rules::gtfs::IncompleteFile;
use lineside_validate::{Notices, Severity};
use serde::Serialize;
use serde_json::{Map, Value, json};

pub use codes::{
    UNREADABLE_FILE, ensure_known_codes, find_cause_and_fix, list_decoder_codes,
    notice_kinds_of_all_formats,
};
pub use contents::describe_record_counts;
pub use finding_fields::{format_with_thin_spaces, render_findings_table};
pub use finding_places::{FindingPlace, LatLon, sample_points_evenly};
pub use html_report::{format_date_for_people, render_text_with_code};
pub use json_memory::estimate_json_memory;
pub use memory_estimate::{
    describe_if_over_memory_limit, estimate_memory, estimate_until_cancelled,
    netex_limits_for_memory,
};
pub use parse_report::ParsedReportJson;
pub use progress::CheckReadProgress;
pub use raw_rows::SourceRow;
pub use record_rows::{gbfs_rows_of_findings, gtfs_rt_rows_of_findings};
pub use sample::sample_report;
pub use text_report::escape_control_chars;
pub use unread_files::{UNREAD, UNREAD_FILE, describe_unread_file};
pub use unsupported_input::describe_folder;

/// The settings of a check.
#[derive(Clone, Debug)]
pub struct CheckPlan {
    /// The name of the input in the report.
    pub input: String,
    /// The date for which the input is validated.
    pub today: Date,
    /// Time of the check, as RFC 3339.
    pub at: String,
    /// Time of the check, in seconds since 1970.
    pub now: i64,
    /// The schedule of a real-time message, as a zip.
    pub schedule: Option<Bytes>,
    /// The previous message of the same feed.
    pub previous: Option<Bytes>,
    /// The mapping of SIRI ids to those of the schedule.
    pub ids: SiriIdMapping,
    /// The country of telephone numbers (ISO 3166).
    pub country: Option<[u8; 2]>,
    /// Number of worker threads.
    pub threads: usize,
    /// The ignored codes.
    pub ignored: Vec<String>,
    /// The folder that reports are written into.
    pub output: Option<String>,
    /// Maximum number of findings of one kind that are listed.
    pub samples: usize,
    /// True if the report includes the places and rows of findings.
    pub has_places: bool,
    /// Memory limit in bytes, and the name of its setting for messages; `None` if memory is not estimated.
    pub memory: Option<(u64, &'static str)>,
    /// The files of a GBFS system, if the input may be one.
    pub files: GbfsSystemCheckFiles,
}

/// The files of a GBFS system.
#[derive(Clone, Debug, Default)]
pub struct GbfsSystemCheckFiles {
    /// The files with their names, without `.json`.
    pub read: Vec<(String, Bytes)>,
    /// The names of listed files that could not be read, each with the reason; a further language precedes its names.
    pub unread: Vec<(String, String)>,
    /// The files of each further language.
    pub others: Vec<GbfsLanguageFiles>,
    /// The files of an earlier state of the system.
    pub earlier: Vec<(String, Bytes)>,
    /// True if these are all files of the system.
    pub is_whole: bool,
}

/// The files of a GBFS system in a further language.
#[derive(Clone, Debug, Default)]
pub struct GbfsLanguageFiles {
    pub language: String,
    /// The files with their names.
    pub read: Vec<(String, Bytes)>,
    /// The names of the files that are also the first language's, from the same location.
    pub shared: Vec<String>,
    /// The names of the files that could not be read.
    pub unread: Vec<String>,
}

/// The findings of one kind.
#[derive(Debug)]
pub struct CheckFinding {
    pub code: String,
    pub severity: Severity,
    pub total: u64,
    /// A description in one sentence; empty if the code says it all.
    pub summary: &'static str,
    /// The first findings.
    pub samples: Vec<Map<String, Value>>,
    /// The coordinates of some findings, if they were looked up.
    pub places: Vec<FindingPlace>,
}

/// The result of a check.
#[derive(Debug)]
pub struct CheckReport {
    pub format: Format,
    plan: CheckPlan,
    /// Findings by severity, the most severe first, then by code.
    pub findings: Vec<CheckFinding>,
    /// Internal errors: rules that failed.
    pub errors: Vec<ValidatorFault>,
    /// The ignored codes that were found, with their counts.
    ignored: Vec<(String, u64)>,
    /// The files of a schedule that the rules saw only in part.
    pub unread: Vec<IncompleteFile>,
    /// The number of records of each kind.
    counts: Vec<(&'static str, u64)>,
    /// The summary of the reference validator's report; only of a schedule.
    summary: Option<FeedSummary>,
    /// The coordinates of some stops or vehicles, to draw on maps; only if places are enabled.
    pub outline: Vec<LatLon>,
    /// The rows and records of the first findings; only if places are enabled.
    pub rows: Vec<SourceRow>,
    pub seconds: f64,
}

/// The name of standard input in reports.
pub const STDIN: &str = "standard input";

/// Maximum number of findings of one kind that are listed, as in the reference validator.
pub const SAMPLES_MAX: u32 = 1_000;

/// The reason why a schedule or a previous message is refused.
pub const NOT_REAL_TIME: &str =
    "only GTFS-Realtime and SIRI messages use a schedule or a previous message";

/// The reason why a cancelled check has no report.
const STOPPED: &str = "the check was cancelled";

impl CheckReport {
    /// Returns the highest severity of the findings.
    pub fn worst_severity(&self) -> Option<Severity> {
        self.findings.iter().map(|finding| finding.severity).max()
    }

    /// Returns the report as the reference validator's `report.json`.
    pub fn to_report_json(&self) -> Value {
        let mut findings: Vec<&CheckFinding> = self.findings.iter().collect();
        findings.sort_by(|a, b| a.code.cmp(&b.code));
        let notices = findings.into_iter().map(|finding| {
            json!({
                "code": finding.code,
                "severity": finding.severity,
                "totalNotices": finding.total,
                "sampleNotices": finding.samples,
            })
        });
        json!({ "summary": self.summary_json(), "notices": notices.collect::<Vec<_>>() })
    }

    /// Returns the `summary` of the reference validator's `report.json`: the input, the settings and the counts.
    pub fn summary_json(&self) -> Value {
        match &self.summary {
            Some(summary) => json!(summary),
            None => json!({
                "validatorVersion": env!("CARGO_PKG_VERSION"),
                "validatedAt": self.plan.at,
                "input": self.plan.input,
                "format": self.format.as_str(),
                "dateForValidation": self.plan.today.to_string(),
                "validationTimeSeconds": self.seconds,
                "counts": self.counts.iter().map(|(kind, n)| (kind.replace(' ', "_"), json!(n)))
                    .collect::<Map<String, Value>>(),
            }),
        }
    }

    /// Returns the internal errors as the reference validator's `system_errors.json`.
    pub fn system_errors_json(&self) -> Value {
        report::system_errors_as_json(&self.errors)
    }

    /// Returns the places of findings by code, and the outline around them, as JSON. Coordinates have only significant
    /// digits.
    pub fn places_json(&self) -> impl Serialize {
        let find_places = |finding: &CheckFinding| {
            finding_places::places_of_finding(&finding.places, &finding.samples).into_owned()
        };
        let all = self.findings.iter().map(|finding| (finding.code.clone(), find_places(finding)));
        finding_places::FindingPlacesJson {
            outline: self.outline.clone(),
            places: all.filter(|(_, it)| !it.is_empty()).collect(),
            rows: self.rows.clone(),
        }
    }

    /// Returns the files that the rules saw only in part, as JSON.
    pub fn incomplete_files_json(&self) -> Value {
        json!(self.unread)
    }

    /// Describes the ignored codes and unread data, as lines for a terminal.
    pub fn describe_ignored_and_unread(&self) -> Option<String> {
        text_report::describe_ignored_and_unread(self)
    }

    /// Renders the report as lines for a terminal.
    pub fn render_as_text(&self, in_colors: bool) -> String {
        text_report::render_text(self, in_colors)
    }

    /// Renders the report as a page that needs no other file.
    pub fn render_as_html(&self) -> String {
        html_report::render_html(self)
    }

    fn new(format: Format, plan: CheckPlan, findings: Vec<CheckFinding>) -> CheckReport {
        let is_ignored = |finding: &CheckFinding| plan.ignored.contains(&finding.code);
        let (ignored, mut findings): (Vec<CheckFinding>, Vec<CheckFinding>) =
            findings.into_iter().partition(is_ignored);
        let mut ignored: Vec<(String, u64)> =
            ignored.into_iter().map(|finding| (finding.code, finding.total)).collect();
        ignored.sort();
        findings.sort_by(|a, b| b.severity.cmp(&a.severity).then_with(|| a.code.cmp(&b.code)));
        let (errors, counts) = (Vec::new(), Vec::new());
        CheckReport {
            format,
            plan,
            findings,
            errors,
            ignored,
            unread: Vec::new(),
            counts,
            summary: None,
            outline: Vec::new(),
            rows: Vec::new(),
            seconds: 0.0,
        }
    }
}

/// Returns the code of each finding with its samples.
fn codes_with_samples(
    findings: &[CheckFinding],
) -> impl Iterator<Item = (&str, &[Map<String, Value>])> {
    findings.iter().map(|finding| (finding.code.as_str(), finding.samples.as_slice()))
}

/// Returns the number of findings of a severity.
fn count_findings(findings: &[CheckFinding], severity: Severity) -> u64 {
    let same_severity = findings.iter().filter(|finding| finding.severity == severity);
    same_severity.map(|finding| finding.total).sum()
}

/// Checks an input. Blocks for as long as that takes.
///
/// # Errors
/// Returns an error if the input has an unsupported format, or cannot be read at all.
pub fn check_input(
    body: &Bytes,
    plan: CheckPlan,
    progress: &CheckReadProgress,
    elapsed: &dyn Fn() -> f64,
) -> Result<CheckReport, String> {
    let format = sniff_format(body);
    let is_real_time = format.is_some_and(Format::is_realtime);
    if !is_real_time && (plan.schedule.is_some() || plan.previous.is_some()) {
        return Err(NOT_REAL_TIME.to_owned());
    }
    // The files of a system come with its discovery file, which has no signature.
    let format = format.filter(|_| !plan.files.is_whole);
    (formats::find_checks(format).check)(body, plan, progress, elapsed)
}

fn to_check_findings(notices: &Notices) -> Vec<CheckFinding> {
    let findings = notices.iter().map(|found| CheckFinding {
        code: found.kind.code.to_owned(),
        severity: found.kind.severity,
        total: found.total,
        summary: found.kind.page_summary(),
        samples: found.samples.clone(),
        places: Vec::new(),
    });
    findings.collect()
}

/// Returns an error if checking a schedule in GTFS or NeTEx would exceed the memory limit.
fn check_schedule_memory(zip: &Bytes, plan: &CheckPlan) -> Result<(), String> {
    let Some((allowed, setting)) = plan.memory else { return Ok(()) };
    let needed = estimate_memory(zip, allowed).map_err(|error| error.to_string())?;
    describe_if_over_memory_limit(needed, allowed, setting).map_or(Ok(()), Err)
}

#[cfg(test)]
impl CheckPlan {
    /// Returns the default plan of tests.
    pub fn for_tests() -> CheckPlan {
        CheckPlan {
            input: "input".to_owned(),
            today: Date::ZERO,
            at: String::new(),
            now: 0,
            schedule: None,
            previous: None,
            ids: SiriIdMapping::Same,
            country: None,
            threads: 1,
            ignored: Vec::new(),
            output: None,
            samples: 1,
            has_places: false,
            memory: None,
            files: GbfsSystemCheckFiles::default(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cancelled_check_reports_nothing_for_any_format() {
        let netex = "<PublicationDelivery xmlns=\"http://www.netex.org.uk/netex\" version=\"1.0\">\
                     <Line id=\"L\" version=\"1\"/></PublicationDelivery>";
        let siri = "<Siri xmlns=\"http://www.siri.org.uk/siri\" version=\"2.0\"><ServiceDelivery>\
                    <EstimatedTimetableDelivery version=\"2.0\"/></ServiceDelivery></Siri>";
        let gbfs =
            "{\"last_updated\":0,\"ttl\":1,\"version\":\"2.3\",\"data\":{\"stations\":[{}]}}";
        let inputs = [(Format::Netex, netex), (Format::Siri, siri), (Format::Gbfs, gbfs)];
        for (format, text) in inputs {
            let (body, progress) = (Bytes::from(text), CheckReadProgress::default());
            let check = || check_input(&body, CheckPlan::for_tests(), &progress, &|| 0.5);
            let inspection = check().unwrap();
            assert_eq!(inspection.summary_json()["validationTimeSeconds"], 0.5);
            assert_eq!(inspection.format, format);
            assert!(!inspection.findings.is_empty(), "{format:?} has no findings");
            progress.cancel_check();
            assert_eq!(check().unwrap_err(), STOPPED, "{format:?}");
        }
    }
}
