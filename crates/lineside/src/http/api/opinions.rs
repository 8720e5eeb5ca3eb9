//! What an operator's own validators say of a schedule, in the JSON of its report.

use lineside_sync::UnixMillis;
use lineside_validate::Severity;
use serde::Serialize;
use serde_json::{Map, Value};
use utoipa::ToSchema;

use crate::http::rfc3339;
use crate::validators::{Beside, Body, Said};

/// What a validator of the operator's says
#[derive(Serialize, ToSchema)]
#[schema(as = ReportBeside)]
pub(super) struct OpinionItem<'a> {
    /// What the operator calls it.
    name: &'a str,
    /// Whether it looks at the feed's newest version right now, or that waits for it.
    pending: bool,
    /// Why its newest run came to nothing; null where it did not. What it said before stays.
    failed: Option<FailedItem<'a>>,
    /// What it said last; null where it never did.
    said: Option<SaidItem<'a>>,
}

/// A run of a validator that came to nothing
#[derive(Serialize, ToSchema)]
#[schema(as = ReportBesideFailed)]
struct FailedItem<'a> {
    /// When that was, RFC 3339.
    at: Option<String>,
    /// The SHA-256 of the version that it was given.
    version: &'a str,
    /// What it did, in words, such as `ended with exit code 3`.
    reason: &'a str,
    /// What it wrote to its standard error, at most its beginning and end, or how its result begins where that is nothing.
    text: &'a str,
}

/// What a validator said
#[derive(Serialize, ToSchema)]
#[schema(as = ReportBesideSaid)]
struct SaidItem<'a> {
    /// The SHA-256 of the version that it is about.
    version: &'a str,
    /// When it began, RFC 3339.
    at: Option<String>,
    /// How long it took, in seconds.
    took: f64,
    /// `report`, in the shape of the reference validator's, or `text`.
    kind: &'static str,
    /// Which version of it that was, as it says itself.
    validator: Option<&'a str>,
    /// That it ended with another exit code than 0, in words.
    ended: Option<&'a str>,
    /// What it wrote to its standard error, at most its beginning and end.
    stderr: &'a str,
    /// How its text begins.
    text: Option<&'a str>,
    errors: u64,
    warnings: u64,
    infos: u64,
    /// The codes of both with their counts, what differs first; null where one of both gave no report on that version.
    codes: Option<Vec<ComparedItem<'a>>>,
    /// What it has found, by code.
    notices: Vec<TheirNotice<'a>>,
    /// Codes of its own that are not kept.
    left_out: u64,
}

/// One code as both have it
#[derive(Serialize, ToSchema)]
#[schema(as = ReportCompared)]
struct ComparedItem<'a> {
    code: &'a str,
    /// How many we have found,
    ours: u64,
    /// and how many the validator has.
    theirs: u64,
    /// Whether count or severity is another.
    differs: bool,
}

/// One kind of finding of a validator's
#[derive(Serialize, ToSchema)]
#[schema(as = NoticeBeside)]
#[serde(rename_all = "camelCase")]
#[schema(rename_all = "camelCase")]
struct TheirNotice<'a> {
    code: &'a str,
    /// `ERROR`, `WARNING` or `INFO`.
    #[schema(value_type = String)]
    severity: Severity,
    total_notices: u64,
    /// The first of them, at most 10.
    #[schema(value_type = Vec<Object>)]
    sample_notices: &'a [Map<String, Value>],
}

/// All of them.
pub(super) fn items(all: &[Beside]) -> Vec<OpinionItem<'_>> {
    all.iter().map(OpinionItem::of).collect()
}

impl<'a> OpinionItem<'a> {
    fn of(beside: &'a Beside) -> Self {
        let opinion = beside.opinion.as_deref();
        let failed = opinion.and_then(|opinion| {
            let failed = opinion.failed.as_ref()?;
            Some(FailedItem {
                at: rfc3339(UnixMillis(failed.at)),
                version: &opinion.version,
                reason: &failed.why,
                text: &failed.said,
            })
        });
        Self {
            name: &beside.name,
            pending: beside.is_pending,
            failed,
            said: beside.said().map(|said| SaidItem::of(said, beside)),
        }
    }
}

impl<'a> SaidItem<'a> {
    fn of(said: &'a Said, beside: &'a Beside) -> Self {
        let (kind, validator, text, left_out) = match &said.body {
            Body::Report { tool, left_out, .. } => {
                ("report", Some(tool.as_str()).filter(|it| !it.is_empty()), None, *left_out)
            }
            Body::Text { text, .. } => ("text", None, Some(text.as_str()), 0),
        };
        let notices = said.findings().unwrap_or_default().iter().map(|finding| TheirNotice {
            code: &finding.code,
            severity: finding.severity,
            total_notices: finding.total,
            sample_notices: &finding.samples,
        });
        let codes = beside.compared().map(|both| {
            let item = |it: &crate::validators::Compared<'a>| ComparedItem {
                code: it.code,
                ours: it.ours.map_or(0, |(_, n)| n),
                theirs: it.theirs.map_or(0, |(_, n)| n),
                differs: it.differs(),
            };
            both.iter().map(item).collect()
        });
        Self {
            version: &said.version,
            at: rfc3339(UnixMillis(said.at)),
            took: said.took_ms as f64 / 1_000.0,
            kind,
            validator,
            ended: said.ended.as_deref(),
            stderr: &said.aside,
            text,
            errors: said.count(Severity::Error),
            warnings: said.count(Severity::Warning),
            infos: said.count(Severity::Info),
            codes,
            notices: notices.collect(),
            left_out,
        }
    }
}
