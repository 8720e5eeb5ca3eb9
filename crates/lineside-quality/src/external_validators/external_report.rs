//! The report of an external validator on one version, and its stored form.

use lineside_fetch::{OutputRedactor, ProgramError, ValidatorOutput};
use lineside_model::{ExternalProgram, FeedId};
use lineside_store::{BlobHash, ReportRow};
use lineside_sync::UnixMillis;
use lineside_validate::Severity;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::check::ParsedReportJson;
use crate::reports::FindingsOfCode;

/// Maximum size of a stored report as JSON, in bytes; a larger one is reduced.
const BYTES_MAX: usize = 512 << 10;
/// Maximum number of stored samples of each code.
const SAMPLES: usize = 10;
/// Maximum size of a code that is not one of ours, in bytes.
const CODE_BYTES: usize = 100;
/// Maximum size of each text in a finding, in bytes.
const VALUE_BYTES: usize = 500;
/// Maximum size of a result that is not a report, in bytes.
const TEXT_BYTES: usize = 4 << 10;
/// The prefix of a validator's name in the store.
const SUBJECT: &str = "validator/";

/// A validator's result on a version, and its newest failure.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ExternalReport {
    /// The validator's name.
    pub validator: String,
    /// The SHA-256 of the newest version that it validated.
    pub version: String,
    /// The hash by which ingest identifies that version.
    pub tag: String,
    /// The command, as its [`program_fingerprint`].
    #[serde(default)]
    pub mark: String,
    /// The latest result: on an earlier version if the newest run failed.
    pub said: Option<ExternalResult>,
    /// The failure of the newest run, if it failed.
    pub failed: Option<FailedRun>,
}

/// The result of a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ExternalResult {
    /// The SHA-256 of the version.
    pub version: String,
    /// Start of the run, in milliseconds since 1970.
    pub at: i64,
    /// Duration of the run, in milliseconds.
    pub took_ms: u64,
    /// A description of the exit code if it is not 0.
    pub ended: Option<String>,
    /// The text on standard error.
    pub aside: String,
    pub body: ExternalOutput,
}

/// The content of a result.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "lowercase")]
pub enum ExternalOutput {
    /// A report in the format of the reference validator.
    Report {
        /// The validator's version by its own report; empty if it has none.
        tool: String,
        /// Findings by severity, the most severe first, then by code.
        findings: Vec<FindingsOfCode>,
        /// Number of codes that were not stored.
        left_out: u64,
    },
    /// Any other text.
    Text {
        /// The beginning of the text.
        text: String,
        /// The size of the text, in bytes.
        bytes: u64,
    },
}

/// A run without a result.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FailedRun {
    /// Time of the failure, in milliseconds since 1970.
    pub at: i64,
    /// The reason, as a description of what the program did.
    pub why: String,
    /// The text on standard error, or the beginning of the result if that is empty.
    pub said: String,
}

impl ExternalOutput {
    /// Parses the output of a program. Blocks while parsing.
    ///
    /// # Errors
    /// Returns an error if the output is invalid JSON or not UTF-8: the program stopped early or is faulty.
    fn parse_output(output: &[u8], cover: &OutputRedactor) -> Result<ExternalOutput, String> {
        let text = || ExternalOutput::Text {
            text: cover.redact_output(output, TEXT_BYTES),
            bytes: output.len() as u64,
        };
        let read = match ParsedReportJson::from_json(output) {
            Ok(read) => read,
            Err(_) if str::from_utf8(output).is_err() => {
                return Err("returned neither a report nor UTF-8 text".to_owned());
            }
            Err(error) if output.trim_ascii_start().starts_with(b"{") && !error.is_data() => {
                return Err(format!("returned a report that is not valid JSON: {error}"));
            }
            Err(_) => return Ok(text()),
        };
        let mut findings: Vec<FindingsOfCode> =
            read.findings.into_iter().map(FindingsOfCode::from).collect();
        for finding in &mut findings {
            // Our own codes reveal nothing of a program's arguments.
            if finding.summary.is_empty() {
                finding.code = cover.redact_output(finding.code.as_bytes(), CODE_BYTES);
            }
            finding.samples.truncate(SAMPLES);
            finding.samples.iter_mut().for_each(|sample| redact_and_truncate_sample(sample, cover));
        }
        let tool = cover.redact_output(read.validator.as_bytes(), CODE_BYTES);
        Ok(ExternalOutput::Report { tool, findings, left_out: read.n_omitted })
    }
}

/// Redacts and truncates all texts of a sample.
fn redact_and_truncate_sample(sample: &mut Map<String, Value>, cover: &OutputRedactor) {
    let shown = |text: &str| cover.redact_output(text.as_bytes(), VALUE_BYTES);
    *sample = std::mem::take(sample)
        .into_iter()
        .map(|(name, mut value)| {
            redact_and_truncate_value(&mut value, &shown);
            (shown(&name), value)
        })
        .collect();
}

/// Redacts a value. The recursion is bounded because JSON is parsed to a bounded depth.
fn redact_and_truncate_value(value: &mut Value, shown: &impl Fn(&str) -> String) {
    match value {
        Value::String(text) => *text = shown(text),
        Value::Array(values) => {
            values.iter_mut().for_each(|value| redact_and_truncate_value(value, shown))
        }
        Value::Object(values) => {
            *values = std::mem::take(values)
                .into_iter()
                .map(|(name, mut value)| {
                    redact_and_truncate_value(&mut value, shown);
                    (shown(&name), value)
                })
                .collect();
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

/// Interprets a finished run as a result or a failure.
pub fn run_to_result_or_failure(
    ran: Result<ValidatorOutput, ProgramError>,
    version: &str,
    (began, ended): (UnixMillis, UnixMillis),
    cover: &OutputRedactor,
) -> Result<ExternalResult, FailedRun> {
    let failed = |why: String, output: String| FailedRun { at: ended.0, why, said: output };
    let validated = match ran {
        Ok(validated) => validated,
        Err(not) => return Err(failed(not.reason, not.stderr)),
    };
    let body = match ExternalOutput::parse_output(&validated.output, cover) {
        Ok(body) => body,
        // The exit code's description explains more.
        Err(why) => return Err(failed(validated.fault.unwrap_or(why), validated.stderr)),
    };
    match (validated.fault, body) {
        // A validator may report findings by its exit code too. One that stops early leaves no report.
        (Some(why), ExternalOutput::Text { text, .. }) => Err(failed(
            why,
            if validated.stderr.trim().is_empty() { text } else { validated.stderr },
        )),
        (ended, body) => Ok(ExternalResult {
            version: version.to_owned(),
            at: began.0,
            took_ms: u64::try_from(validated.took.as_millis()).unwrap_or(u64::MAX),
            ended,
            aside: validated.stderr,
            body,
        }),
    }
}

impl ExternalReport {
    /// Returns the key of a validator's reports in the store.
    pub fn store_key_of_validator(validator: &str) -> String {
        format!("{SUBJECT}{validator}")
    }

    /// Returns the common prefix of all validators' keys.
    pub const fn store_key_prefix() -> &'static str {
        SUBJECT
    }

    /// Returns the row to store, and reduces the findings until it fits.
    pub fn shrink_to_report_row(&mut self, feed: &FeedId, at: UnixMillis) -> Option<ReportRow> {
        let mut body = serde_json::to_string(self).ok()?;
        while body.len() > BYTES_MAX && self.halve_samples_or_findings() {
            body = serde_json::to_string(self).ok()?;
        }
        let (subject, version) =
            (Self::store_key_of_validator(&self.validator), self.version.clone());
        let (refused, brief) = (false, String::new());
        Some(ReportRow { feed: feed.clone(), subject, version, at, refused, brief, body })
    }

    /// Drops half of each code's samples, or half of the codes if no samples are left. Returns false if nothing is
    /// left.
    fn halve_samples_or_findings(&mut self) -> bool {
        let Some(ExternalResult {
            body: ExternalOutput::Report { findings, left_out, .. }, ..
        }) = &mut self.said
        else {
            return false;
        };
        let samples_max = findings.iter().map(|finding| finding.samples.len()).max().unwrap_or(0);
        if samples_max > 0 {
            findings.iter_mut().for_each(|finding| finding.samples.truncate(samples_max / 2));
            return true;
        }
        let n_remaining = findings.len() / 2;
        *left_out += findings.len().saturating_sub(n_remaining) as u64;
        findings.truncate(n_remaining);
        n_remaining > 0
    }

    /// Parses a stored row; `None` if another version of the program wrote an incompatible one.
    pub fn from_report_row(row: &ReportRow) -> Option<ExternalReport> {
        serde_json::from_str(&row.body).ok()
    }

    /// Returns the hash of the version that this program need not validate again.
    pub fn finished_content_hash(&self, program: &ExternalProgram) -> Option<u128> {
        let is_current = self.failed.is_none() && self.mark == program_fingerprint(program);
        u128::from_str_radix(&self.tag, 16).ok().filter(|_| is_current)
    }
}

/// Returns a fingerprint of a command and its limits, to compare over a restart. It does not reveal the arguments,
/// which may be secrets.
pub fn program_fingerprint(program: &ExternalProgram) -> String {
    let ExternalProgram { command, timeout, memory } = program;
    BlobHash::from_content(format!("{command:?} {timeout:?} {memory}").as_bytes()).to_string()
}

impl ExternalResult {
    /// Returns the end of the run, in milliseconds since 1970.
    pub fn ended_at(&self) -> i64 {
        self.at.saturating_add(i64::try_from(self.took_ms).unwrap_or(i64::MAX))
    }

    /// Returns the findings; `None` if the result is not a report.
    pub fn report_findings(&self) -> Option<&[FindingsOfCode]> {
        match &self.body {
            ExternalOutput::Report { findings, .. } => Some(findings),
            ExternalOutput::Text { .. } => None,
        }
    }

    /// Returns the number of findings of a severity.
    pub fn count_findings(&self, severity: Severity) -> u64 {
        let alike = self.report_findings().unwrap_or_default().iter();
        alike.filter(|it| it.severity == severity).fold(0, |sum, it| sum.saturating_add(it.total))
    }
}

#[cfg(test)]
pub mod tests {
    use std::time::Duration;

    use bytes::Bytes;
    use lineside_model::{FeedConfig, SourceLocation};

    use super::*;

    /// Returns a report without a result.
    pub(in crate::external_validators) fn sample_external_report(
        validator: &str,
        version: &str,
    ) -> ExternalReport {
        ExternalReport {
            validator: validator.to_owned(),
            version: version.to_owned(),
            tag: "1f".to_owned(),
            mark: program_fingerprint(&sample_program()),
            said: None,
            failed: None,
        }
    }

    fn sample_program() -> ExternalProgram {
        let command = ["v", "--key=hunter2"].map(str::to_owned).to_vec();
        ExternalProgram { command, timeout: Duration::ZERO, memory: 0 }
    }

    fn sample_redactor() -> OutputRedactor {
        let program = sample_program();
        let url = SourceLocation::parse("https://a.example/").unwrap();
        OutputRedactor::for_program(&program, &FeedConfig::new(FeedId::new("a").unwrap(), url))
    }

    fn interpret_output(
        output: &str,
        fault: Option<&str>,
        stderr: &str,
    ) -> Result<ExternalResult, FailedRun> {
        let validated = ValidatorOutput {
            output: Bytes::copy_from_slice(output.as_bytes()),
            fault: fault.map(str::to_owned),
            stderr: stderr.to_owned(),
            took: Duration::from_millis(7),
        };
        run_to_result_or_failure(
            Ok(validated),
            "abc",
            (UnixMillis(5), UnixMillis(12)),
            &sample_redactor(),
        )
    }

    const REPORT: &str = r#"{"summary": {"validatorVersion": "8.0.0"}, "notices": [
        {"code": "unknown_file", "severity": "INFO", "totalNotices": 1, "sampleNotices": [{"filename": "hunter2", "a": [{"hunter2": "x"}]}]},
        {"code": "mine_hunter2", "severity": "ERROR", "totalNotices": 18446744073709551615},
        {"code": "other", "severity": "ERROR", "totalNotices": 2}]}"#;

    #[test]
    fn a_report_is_read_at_any_exit_code_and_redacted() {
        let good = interpret_output(REPORT, Some("ended with exit code 1"), "").unwrap();
        assert_eq!(good.ended.as_deref(), Some("ended with exit code 1"));
        assert_eq!(
            (good.count_findings(Severity::Error), good.count_findings(Severity::Info)),
            (u64::MAX, 1)
        );
        let ExternalOutput::Report { tool, findings, left_out } = &good.body else {
            panic!("{good:?}")
        };
        assert_eq!((tool.as_str(), *left_out), ("8.0.0", 0));
        let codes: Vec<&str> = findings.iter().map(|it| it.code.as_str()).collect();
        assert_eq!(codes, ["mine_***", "other", "unknown_file"]);
        let stored = serde_json::to_string(&good).unwrap();
        assert!(!stored.contains("hunter2") && stored.contains("***"), "{stored}");
    }

    #[test]
    fn other_output_is_a_text_on_success_and_a_failure_otherwise() {
        let long = format!("all is well, hunter2 {}", "x".repeat(9_000));
        let text = interpret_output(&long, None, "").unwrap();
        assert!(text.report_findings().is_none());
        let ExternalOutput::Text { text, bytes } = text.body else { panic!("{text:?}") };
        assert!(text.starts_with("all is well, *** x") && text.len() <= TEXT_BYTES);
        assert_eq!(bytes, long.len() as u64);
        assert!(interpret_output("", None, "").is_ok(), "an empty text is valid");
        let failed =
            interpret_output("{}", Some("ended with exit code 2"), "no memory\n").unwrap_err();
        assert_eq!(
            (failed.why.as_str(), failed.said.as_str()),
            ("ended with exit code 2", "no memory\n")
        );
        assert_eq!(interpret_output("line 3", Some("ended"), " ").unwrap_err().said, "line 3");
        let not = ProgramError { reason: "produced no output".to_owned(), stderr: "a".to_owned() };
        let failed = run_to_result_or_failure(
            Err(not),
            "abc",
            (UnixMillis(5), UnixMillis(12)),
            &sample_redactor(),
        )
        .unwrap_err();
        assert_eq!((failed.why.as_str(), failed.at), ("produced no output", 12));
    }

    #[test]
    fn a_truncated_report_is_a_failure_and_an_invalid_entry_is_skipped() {
        let cut = interpret_output(&REPORT[..120], None, "").unwrap_err();
        assert!(
            cut.why.starts_with("returned a report that is not valid JSON: EOF"),
            "{}",
            cut.why
        );
        let validated = ValidatorOutput {
            output: Bytes::from_static(b"\xff\xfe\0"),
            fault: None,
            stderr: String::new(),
            took: Duration::ZERO,
        };
        let mush = run_to_result_or_failure(
            Ok(validated),
            "abc",
            (UnixMillis(5), UnixMillis(12)),
            &sample_redactor(),
        )
        .unwrap_err();
        assert!(mush.why.contains("nor UTF-8 text"), "{}", mush.why);
        let odd = REPORT.replace("\"totalNotices\": 2", "\"totalNotices\": \"many\"");
        assert_ne!(odd, REPORT);
        let odd = interpret_output(&odd, None, "").unwrap();
        let ExternalOutput::Report { findings, left_out, .. } = &odd.body else {
            panic!("{odd:?}")
        };
        assert_eq!((findings.len(), *left_out), (2, 1));
    }

    #[test]
    fn a_saved_report_is_bounded_and_can_be_restored() {
        let value = "\\u00e9".repeat(400);
        let samples = vec![format!(r#"{{"a": "{value}", "b": "{value}"}}"#); 20].join(",");
        let code = "c".repeat(200);
        let notices: Vec<String> = (0..3_000)
            .map(|n| format!(r#"{{"code": "{n:04}{code}", "severity": "WARNING", "totalNotices": 20, "sampleNotices": [{samples}]}}"#))
            .collect();
        let huge =
            interpret_output(&format!(r#"{{"notices": [{}]}}"#, notices.join(",")), None, "")
                .unwrap();
        let mut report_to_store =
            ExternalReport { said: Some(huge), ..sample_external_report("a", "abc") };
        let row = report_to_store
            .shrink_to_report_row(&FeedId::new("city").unwrap(), UnixMillis(9))
            .unwrap();
        assert!(row.body.len() <= BYTES_MAX, "{}", row.body.len());
        assert_eq!((row.subject.as_str(), row.version.as_str()), ("validator/a", "abc"));
        let back = ExternalReport::from_report_row(&row).unwrap();
        assert_eq!(back, report_to_store);
        let Some(ExternalResult {
            body: ExternalOutput::Report { findings, left_out, .. }, ..
        }) = &back.said
        else {
            panic!("{back:?}")
        };
        assert_eq!(findings.len() as u64 + left_out, 3_000);
        assert!(findings.iter().all(|it| it.code.len() <= CODE_BYTES));
        assert_eq!(back.finished_content_hash(&sample_program()), Some(0x1f));
        let other = ExternalProgram {
            command: vec!["v".to_owned(), "--key=other".to_owned()],
            ..sample_program()
        };
        assert_eq!(back.finished_content_hash(&other), None, "a changed command runs again");
        assert!(!row.body.contains("hunter2"));
        let failed = FailedRun { at: 1, why: String::new(), said: String::new() };
        assert_eq!(
            ExternalReport { failed: Some(failed), ..back }
                .finished_content_hash(&sample_program()),
            None,
            "a failed run is retried"
        );
    }
}
