//! Checks of inputs that are decoded: real-time messages and NeTEx. They report the problems of the decoder and the
//! findings of the rules.

use bytes::Bytes;
use lineside_formats::{Format, Problem, Problems};
use lineside_validate::rules::ValidatorFault;
use lineside_validate::{CancelToken, Notices, Severity, ValidationContext};
use serde_json::{Map, Value, json};

use super::{
    CheckFinding, CheckPlan, CheckReadProgress, CheckReport, LatLon, STOPPED, SourceRow, codes,
};

/// The parts of a check that each format has of its own.
pub(super) struct DecodedFormat {
    pub(super) format: Format,
    /// Decodes and validates an input.
    pub(super) inspect: fn(&DecodedInput<'_>, &mut Notices) -> Result<InspectionResult, String>,
    /// Validates an input with the schedule and the previous message of the plan.
    pub(super) check_references: CheckReferences,
    /// Returns the records of the first findings. Data that can no longer be read give none.
    pub(super) find_rows: fn(&DecodedInput<'_>, &[CheckFinding]) -> Vec<SourceRow>,
    /// The field with the position of a problem: its line, or the number of its record.
    pub(super) line_field: &'static str,
}

/// Adds notices, and may replace the outline; returns the internal errors.
type CheckReferences =
    fn(&DecodedInput<'_>, &mut Notices, &mut Vec<LatLon>) -> Result<Vec<ValidatorFault>, String>;

/// An input and the settings of its check.
#[derive(Clone, Copy)]
pub(super) struct DecodedInput<'a> {
    pub(super) body: &'a Bytes,
    pub(super) plan: &'a CheckPlan,
    pub(super) context: &'a ValidationContext,
    pub(super) stop: &'a CancelToken,
    /// The memory limit in bytes.
    pub(super) allowed: u64,
}

/// The result of decoding and validating an input.
#[derive(Default)]
pub(super) struct InspectionResult {
    /// The problems of the decoder.
    pub(super) problems: Problems,
    /// The records that do not fit into a timetable.
    pub(super) unused: Problems,
    pub(super) counts: Vec<(&'static str, u64)>,
    pub(super) errors: Vec<ValidatorFault>,
    /// The coordinates of some vehicles.
    pub(super) outline: Vec<LatLon>,
}

pub(super) fn check_decoded(
    decoded: &DecodedFormat,
    body: &Bytes,
    plan: CheckPlan,
    progress: &CheckReadProgress,
    elapsed: &dyn Fn() -> f64,
) -> Result<CheckReport, String> {
    let (mut notices, stop) = (Notices::new(plan.samples), progress.cancel_token());
    let context =
        ValidationContext { today: plan.today, country: plan.country, threads: plan.threads };
    let allowed = plan.memory.map_or(u64::MAX, |(allowed, _)| allowed);
    let input = DecodedInput { body, plan: &plan, context: &context, stop, allowed };
    let inspection = (decoded.inspect)(&input, &mut notices);
    if stop.is_cancelled() {
        return Err(STOPPED.to_owned());
    }
    let InspectionResult { problems, unused, counts, mut errors, mut outline } = inspection?;
    let mut found = super::to_check_findings(&notices);
    // A problem with the code of a finding is the same problem, so it is counted once.
    for (problems, severity) in [(&problems, Severity::Error), (&unused, Severity::Warning)] {
        for finding in problem_findings(problems, severity, decoded.line_field) {
            if found.iter().all(|other| other.code != finding.code) {
                found.push(finding);
            }
        }
    }
    if decoded.format.is_realtime() && plan.schedule.is_none() {
        found.push(CheckFinding { code: codes::SCHEDULE_NOT_GIVEN.to_owned(), ..NO_SCHEDULE });
    }
    let mut notices = Notices::new(plan.samples);
    errors.extend((decoded.check_references)(&input, &mut notices, &mut outline)?);
    found.extend(super::to_check_findings(&notices));
    let rows = match plan.has_places {
        true => (decoded.find_rows)(&input, &found),
        false => Vec::new(),
    };
    let mut checked = CheckReport::new(decoded.format, plan, found);
    checked.counts = counts;
    checked.rows = rows;
    if checked.plan.has_places {
        checked.outline = outline;
    }
    checked.errors = errors;
    checked.seconds = elapsed();
    Ok(checked)
}

/// The field with the name of a file.
pub(super) const FILENAME: &str = "filename";

/// The finding that a real-time message was validated without its schedule.
const NO_SCHEDULE: CheckFinding = CheckFinding {
    code: String::new(),
    severity: Severity::Info,
    total: 1,
    summary: codes::SCHEDULE_NOT_GIVEN_MEANING,
    samples: Vec::new(),
    places: Vec::new(),
};

/// Groups problems by code into findings of a severity. Services that only Lineside does not read give an info.
fn problem_findings(
    problems: &Problems,
    severity: Severity,
    line_field: &str,
) -> Vec<CheckFinding> {
    let mut findings: Vec<CheckFinding> = Vec::new();
    for (_, code, total) in problems.problem_counts() {
        match findings.iter_mut().find(|finding| finding.code == code) {
            Some(finding) => finding.total += total,
            None => findings.push(CheckFinding {
                code: code.to_owned(),
                severity: match code {
                    NOT_READ => Severity::Info,
                    // The schema allows a missing offset, and the message names the assumed one.
                    WITHOUT_ZONE => Severity::Warning,
                    _ => severity,
                },
                total,
                summary: codes::decoder_code_meaning(code),
                samples: Vec::new(),
                places: Vec::new(),
            }),
        }
    }
    for problem in problems.retained_problems() {
        if let Some(finding) = findings.iter_mut().find(|finding| finding.code == problem.code) {
            finding.samples.push(problem_sample(problem, line_field));
        }
    }
    findings
}

/// The decoder's code for a delivery of an unsupported service.
const NOT_READ: &str = "delivery_not_read";
/// The decoder's code for a time without an offset.
const WITHOUT_ZONE: &str = "timestamp_without_zone";

fn problem_sample(problem: &Problem, line_field: &str) -> Map<String, Value> {
    let fields = [
        (FILENAME, Some(json!(problem.file))),
        (line_field, problem.line.map(|line| json!(line))),
        ("id", problem.id.as_ref().map(|id| json!(id))),
        ("fieldName", problem.field.as_ref().map(|field| json!(field))),
        ("fieldValue", problem.value.as_ref().map(|value| json!(value))),
        ("message", Some(json!(problem.detail))),
    ];
    let given = fields.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?)));
    given.collect()
}
