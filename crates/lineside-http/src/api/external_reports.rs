//! The results of an operator's own validators, as a part of a schedule's report.

use lineside_config::times::format_rfc3339;
use lineside_quality::external_validators::{ExternalComparison, ExternalOutput, ExternalResult};
use lineside_sync::UnixMillis;
use lineside_validate::Severity;
use serde::Serialize;
use serde_json::{Map, Value};
use utoipa::ToSchema;

/// The results of a validator of the operator
#[derive(Serialize, ToSchema)]
#[schema(as = ReportBeside)]
pub(super) struct ExternalReportItem<'a> {
    /// The validator's name in the configuration.
    name: &'a str,
    /// True if the validator runs on the feed's newest version, or that version is queued.
    pending: bool,
    /// The failure of the newest run; null if it did not fail. The previous result is still shown.
    failed: Option<FailedRunItem<'a>>,
    /// The last result; null if there is none.
    result: Option<ExternalResultItem<'a>>,
}

/// A failed run of a validator
#[derive(Serialize, ToSchema)]
#[schema(as = ReportBesideFailed)]
struct FailedRunItem<'a> {
    /// Time of the run, RFC 3339.
    at: Option<String>,
    /// The SHA-256 of the version.
    version: &'a str,
    /// The failure, such as `ended with exit code 3`.
    reason: &'a str,
    /// Its standard error, at most the beginning and the end, or the beginning of its result if standard error is
    /// empty.
    text: &'a str,
}

/// A result of a validator
#[derive(Serialize, ToSchema)]
#[schema(as = ReportBesideSaid)]
struct ExternalResultItem<'a> {
    /// The SHA-256 of the version.
    version: &'a str,
    /// Start of the run, RFC 3339.
    at: Option<String>,
    /// Its duration in seconds.
    took: f64,
    /// `report`, in the format of the reference validator's, or `text`.
    kind: &'static str,
    /// The validator's own version, as in its result.
    validator: Option<&'a str>,
    /// The exit code, if it is not 0, as text.
    ended: Option<&'a str>,
    /// Its standard error, at most the beginning and the end.
    stderr: &'a str,
    /// The beginning of its text.
    text: Option<&'a str>,
    errors: u64,
    warnings: u64,
    infos: u64,
    /// The codes of both validators with their counts, differences first; null if one of them has no report on that
    /// version.
    codes: Option<Vec<CodeComparisonItem<'a>>>,
    /// Its findings, by code.
    notices: Vec<ExternalNoticeItem<'a>>,
    /// The number of its codes that are not stored.
    left_out: u64,
}

/// A code with the counts of both validators
#[derive(Serialize, ToSchema)]
#[schema(as = ReportCompared)]
struct CodeComparisonItem<'a> {
    code: &'a str,
    /// The number of findings of Lineside.
    ours: u64,
    /// The number of findings of the validator.
    theirs: u64,
    /// True if count or severity differs.
    differs: bool,
}

/// One kind of finding of a validator
#[derive(Serialize, ToSchema)]
#[schema(as = NoticeBeside)]
#[serde(rename_all = "camelCase")]
#[schema(rename_all = "camelCase")]
struct ExternalNoticeItem<'a> {
    code: &'a str,
    /// `ERROR`, `WARNING` or `INFO`.
    #[schema(value_type = String)]
    severity: Severity,
    total_notices: u64,
    /// The first findings, at most 10.
    #[schema(value_type = Vec<Object>)]
    sample_notices: &'a [Map<String, Value>],
}

/// Returns the results of all validators as items of the report.
pub(super) fn report_items(all: &[ExternalComparison]) -> Vec<ExternalReportItem<'_>> {
    all.iter().map(ExternalReportItem::from_comparison).collect()
}

impl<'a> ExternalReportItem<'a> {
    fn from_comparison(comparison: &'a ExternalComparison) -> Self {
        let report = comparison.external.as_deref();
        let failed = report.and_then(|report| {
            let failed = report.failed.as_ref()?;
            Some(FailedRunItem {
                at: format_rfc3339(UnixMillis(failed.at)),
                version: &report.version,
                reason: &failed.why,
                text: &failed.said,
            })
        });
        Self {
            name: &comparison.name,
            pending: comparison.is_pending,
            failed,
            result: comparison
                .latest_external_result()
                .map(|result| ExternalResultItem::from_result(result, comparison)),
        }
    }
}

impl<'a> ExternalResultItem<'a> {
    fn from_result(result: &'a ExternalResult, comparison: &'a ExternalComparison) -> Self {
        let (kind, validator, text, left_out) = match &result.body {
            ExternalOutput::Report { tool, left_out, .. } => {
                ("report", Some(tool.as_str()).filter(|it| !it.is_empty()), None, *left_out)
            }
            ExternalOutput::Text { text, .. } => ("text", None, Some(text.as_str()), 0),
        };
        let notices =
            result.report_findings().unwrap_or_default().iter().map(|finding| ExternalNoticeItem {
                code: &finding.code,
                severity: finding.severity,
                total_notices: finding.total,
                sample_notices: &finding.samples,
            });
        let codes = comparison.compare_finding_counts().map(|both| {
            let item =
                |it: &lineside_quality::external_validators::ComparedCode<'a>| CodeComparisonItem {
                    code: it.code,
                    ours: it.lineside.map_or(0, |(_, n)| n),
                    theirs: it.external.map_or(0, |(_, n)| n),
                    differs: it.has_different_counts(),
                };
            both.iter().map(item).collect()
        });
        Self {
            version: &result.version,
            at: format_rfc3339(UnixMillis(result.at)),
            took: result.took_ms as f64 / 1_000.0,
            kind,
            validator,
            ended: result.ended.as_deref(),
            stderr: &result.aside,
            text,
            errors: result.count_findings(Severity::Error),
            warnings: result.count_findings(Severity::Warning),
            infos: result.count_findings(Severity::Info),
            codes,
            notices: notices.collect(),
            left_out,
        }
    }
}
