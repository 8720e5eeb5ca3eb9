//! The validation report of a feed, in the format of the reference validator with additions.

use axum::extract::{Path, State};
use axum::response::Response;
use http::HeaderMap;
use lineside_quality::external_validators::ExternalComparison;
use lineside_quality::validation_tasks::{collect_external_comparisons, find_report_on_version};
use serde_json::{Value, json};
use utoipa::ToSchema;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::external_reports::{self, ExternalReportItem};
use crate::app::App;
use crate::errors::{Problem, Refusal};
use crate::lookup;
use crate::parameters::QueryParameters;
use crate::reply::{ReplyPreferences, Representation};

pub(super) fn routes() -> OpenApiRouter<App> {
    OpenApiRouter::new().routes(routes!(get_report))
}

/// The report.
#[derive(ToSchema)]
#[schema(as = Report)]
#[expect(dead_code, reason = "only OpenAPI uses it")]
struct ReportItem {
    /// The validated data, the settings and the contents, as in the reference validator's `report.json`.
    #[schema(value_type = Object)]
    summary: Value,
    /// The findings, by code.
    notices: Vec<NoticeItem>,
    /// Fields that the reference does not have.
    lineside: LinesideFieldsItem,
}

/// One kind of finding.
#[derive(ToSchema)]
#[schema(as = Notice, rename_all = "camelCase")]
#[expect(dead_code, reason = "only OpenAPI uses it")]
struct NoticeItem {
    /// The code.
    code: String,
    /// `ERROR`, `WARNING` or `INFO`.
    severity: String,
    /// The exact number of findings.
    total_notices: u64,
    /// The first of them, at most 100.
    #[schema(value_type = Vec<Object>)]
    sample_notices: Vec<Value>,
}

/// Fields that the reference does not have.
#[derive(ToSchema)]
#[schema(as = ReportInShort)]
#[expect(dead_code, reason = "only OpenAPI uses it")]
struct LinesideFieldsItem {
    /// The feed.
    feed: String,
    /// `dataset`, a version of a schedule, or `realtime`.
    subject: String,
    /// The SHA-256 of the validated bytes.
    version: Option<String>,
    /// True if the version could not be read, so that the previous version is served.
    refused: bool,
    /// Time of the validation, RFC 3339.
    at: Option<String>,
    /// The version of Lineside that validated it.
    validator: String,
    /// The duration in seconds.
    took: f64,
    /// `whole`; `cut_short`, for messages: the time ran out, and there may be more findings; `unreadable`; or
    /// `unfinished`: the validation was aborted, which says nothing about the data.
    outcome: String,
    /// The reason why the report is not complete.
    reason: Option<String>,
    errors: u64,
    warnings: u64,
    infos: u64,
    /// The codes, by severity, then by name.
    codes: Vec<CodeCountItem>,
    /// The version that it was compared with; null for the first, and for real time.
    previous: Option<String>,
    /// The codes with more or fewer findings than that version has; for real time, than at the change before.
    changed: Vec<ChangedCodeItem>,
    /// Rules of Lineside that failed. They say nothing about the data.
    faults: Vec<FailedRuleItem>,
    /// Files of a schedule that rules did not see completely, so that there may be more findings once they are fixed.
    unread: Vec<UnreadFileItem>,
    /// The results of the operator's own validators for the schedule; without `version`, their latest results.
    validators: Vec<ExternalReportItem<'static>>,
    /// The permanent address of the report.
    url: String,
}

/// A code, and the number of its findings.
#[derive(ToSchema)]
#[schema(as = ReportCode)]
#[expect(dead_code, reason = "only OpenAPI uses it")]
struct CodeCountItem {
    code: String,
    /// `ERROR`, `WARNING` or `INFO`.
    severity: String,
    count: u64,
}

/// A code with more or fewer findings than before.
#[derive(ToSchema)]
#[schema(as = ReportChange)]
#[expect(dead_code, reason = "only OpenAPI uses it")]
struct ChangedCodeItem {
    code: String,
    /// `ERROR`, `WARNING` or `INFO`.
    severity: String,
    before: u64,
    now: u64,
}

/// A file that rules did not see completely.
#[derive(ToSchema)]
#[schema(as = ReportUnread)]
#[expect(dead_code, reason = "only OpenAPI uses it")]
struct UnreadFileItem {
    filename: String,
    /// `rows`: some rows could not be read; `rest`: nor could the rows after one that is too large; `header`: the
    /// header is invalid; `encoding`: the text is UTF-16; `zones`: some or all zones of on-demand services could not be
    /// read; `content`: the file is empty; `file`: the file is missing.
    lack: String,
    /// Rows that could not be read and were left out, as far as the file was read.
    rows: u64,
    /// The number of codes whose rules did not run, as they need the whole file.
    rules: u64,
}

/// A rule of Lineside that failed.
#[derive(ToSchema)]
#[schema(as = ReportFault)]
#[expect(dead_code, reason = "only OpenAPI uses it")]
struct FailedRuleItem {
    rule: String,
    message: String,
}

/// Returns the validation report of a feed
///
/// It has the format of the reference validator's `report.json`, so that the same programs can read it. Without
/// `version` it is the latest report. With a `data_dir`, `[retention] reports` sets the number of stored reports;
/// without one, only the latest is stored.
#[utoipa::path(
    get, path = "/api/v1/feeds/{id}/report", tag = "catalog",
    params(
        ("id" = String, Path, description = "The feed's id"),
        ("version" = Option<String>, Query, description = "The SHA-256 of a version, from the list of versions")
    ),
    responses(
        (status = 200, description = "The report", body = ReportItem),
        (status = 400, description = "`bad_parameter`", body = Problem),
        (status = 404, description = "`unknown_feed`, or `not_found`: the report does not exist, or not yet", body = Problem),
        (status = 503, description = "`storage_unavailable`", body = Problem)
    )
)]
async fn get_report(
    State(app): State<App>,
    Path(id): Path<String>,
    parameters: QueryParameters,
    headers: HeaderMap,
    preferences: ReplyPreferences,
) -> Result<Response, Refusal> {
    let feed = lookup::find_feed(&app, &id)?;
    let version = parameters.find_value("version");
    let report = find_report_on_version(app.server_context(), &feed, version).await?;
    let others =
        collect_external_comparisons(app.server_context(), &feed, &report, version.is_none()).await;
    let mut json = report.to_report_json(&app.base_url(&headers));
    json["lineside"]["validators"] = json!(external_reports::report_items(&others));
    let reply = Representation::from_json(&json);
    let at =
        others.iter().filter_map(ExternalComparison::external_changed_at).fold(report.at, Ord::max);
    Ok(reply.with_modified_time(Some(at), app.now()).into_reply(&preferences, &app).await)
}
