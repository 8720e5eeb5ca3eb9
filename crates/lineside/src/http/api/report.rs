//! What is wrong with a feed, as the reference validator writes it, and more.

use std::sync::Arc;

use axum::extract::{Path, State};
use axum::response::Response;
use http::HeaderMap;
use lineside_ingest::Feed;
use lineside_store::BlobHash;
use serde_json::{Value, json};
use utoipa::ToSchema;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::opinions::{self, OpinionItem};
use crate::app::App;
use crate::http::aside::remembered;
use crate::http::errors::{Problem, Refusal};
use crate::http::found;
use crate::http::parameters::Parameters;
use crate::http::reply::{Representation, Wants};
use crate::reports::{DATASET, Report};
use crate::validators::{self, Beside};

pub(super) fn routes() -> OpenApiRouter<App> {
    OpenApiRouter::new().routes(routes!(of_feed))
}

/// The report.
#[derive(ToSchema)]
#[schema(as = Report)]
#[expect(dead_code, reason = "it only describes")]
struct ReportItem {
    /// What was looked at, how, and what is in it: as in the reference validator's `report.json`.
    #[schema(value_type = Object)]
    summary: Value,
    /// What was found, by code.
    notices: Vec<NoticeItem>,
    /// What the reference has no word for.
    lineside: OursItem,
}

/// One kind of finding.
#[derive(ToSchema)]
#[schema(as = Notice, rename_all = "camelCase")]
#[expect(dead_code, reason = "it only describes")]
struct NoticeItem {
    /// The kind.
    code: String,
    /// `ERROR`, `WARNING` or `INFO`.
    severity: String,
    /// How many there are, exactly.
    total_notices: u64,
    /// The first of them, at most 100.
    #[schema(value_type = Vec<Object>)]
    sample_notices: Vec<Value>,
}

/// What the reference has no word for.
#[derive(ToSchema)]
#[schema(as = ReportInShort)]
#[expect(dead_code, reason = "it only describes")]
struct OursItem {
    /// The feed.
    feed: String,
    /// `dataset`, a version of a schedule, or `realtime`.
    subject: String,
    /// The SHA-256 of what was looked at.
    version: Option<String>,
    /// Whether it could not be read, so that the version before is served.
    refused: bool,
    /// When it was looked, RFC 3339.
    at: Option<String>,
    /// The version of Lineside that looked.
    validator: String,
    /// How long that took, in seconds.
    took: f64,
    /// `whole`; `cut_short`, of messages: the time did not suffice, and there may be more; `unreadable`; or `unfinished`: we gave
    /// up, which says nothing of the data.
    outcome: String,
    /// Why it is not whole.
    reason: Option<String>,
    errors: u64,
    warnings: u64,
    infos: u64,
    /// What was found, the worst first, then by code.
    codes: Vec<CodeItem>,
    /// The version that it was compared with; null for the first, and of real time.
    previous: Option<String>,
    /// The codes of which there are more or less than there; of real time, than when it was told before that something had changed.
    changed: Vec<ChangedItem>,
    /// Rules of ours that broke off. They say nothing of the data.
    faults: Vec<FaultItem>,
    /// Files of a schedule of which rules did not see all, so that there may be more to find once they are mended.
    unread: Vec<UnreadItem>,
    /// What the operator's own validators say of the schedule. Without `version` it is what they said last.
    validators: Vec<OpinionItem<'static>>,
    /// Where the report stays.
    url: String,
}

/// A code, and how often it was found.
#[derive(ToSchema)]
#[schema(as = ReportCode)]
#[expect(dead_code, reason = "it only describes")]
struct CodeItem {
    code: String,
    /// `ERROR`, `WARNING` or `INFO`.
    severity: String,
    count: u64,
}

/// A code whose findings are more or less than they were.
#[derive(ToSchema)]
#[schema(as = ReportChange)]
#[expect(dead_code, reason = "it only describes")]
struct ChangedItem {
    code: String,
    /// `ERROR`, `WARNING` or `INFO`.
    severity: String,
    before: u64,
    now: u64,
}

/// A file of which rules did not see all.
#[derive(ToSchema)]
#[schema(as = ReportUnread)]
#[expect(dead_code, reason = "it only describes")]
struct UnreadItem {
    filename: String,
    /// `rows`: some could not be read; `rest`: nor could what follows a row that is too large; `header`: it is wrong; `encoding`:
    /// it is text in UTF-16; `zones`: of services on demand, some or all could not be read; `content`: there is nothing in the file; `file`: it is missing.
    lack: String,
    /// Rows that could not be read and were left out, as far as the file was read.
    rows: u64,
    /// Codes whose rules were passed over as they rely on the whole file.
    rules: u64,
}

/// A rule of ours that broke off.
#[derive(ToSchema)]
#[schema(as = ReportFault)]
#[expect(dead_code, reason = "it only describes")]
struct FaultItem {
    rule: String,
    message: String,
}

/// What is wrong with a feed
///
/// In the shape of the reference validator's `report.json`, so that what reads that one reads this one. Without `version`
/// it is the latest report. With a `data_dir` reports stay, as many as `[keep] reports` says; without one there is the latest.
#[utoipa::path(
    get, path = "/api/v1/feeds/{id}/report", tag = "catalog",
    params(
        ("id" = String, Path, description = "The feed's id"),
        ("version" = Option<String>, Query, description = "The SHA-256 of a version, from the list of versions")
    ),
    responses(
        (status = 200, description = "The report", body = ReportItem),
        (status = 400, description = "`bad_parameter`", body = Problem),
        (status = 404, description = "`unknown_feed`, or `not_found`: there is no such report, or none yet", body = Problem),
        (status = 503, description = "`not_readable`", body = Problem)
    )
)]
async fn of_feed(
    State(app): State<App>,
    Path(id): Path<String>,
    parameters: Parameters,
    headers: HeaderMap,
    wants: Wants,
) -> Result<Response, Refusal> {
    let feed = found::feed(&app, &id)?;
    let version = parameters.one("version");
    let report = find(&app, &feed, version).await?;
    let others = validators::beside(&app, &feed, &report, version.is_none()).await;
    let mut json = report.json(&app.base_url(&headers));
    json["lineside"]["validators"] = json!(opinions::items(&others));
    let reply = Representation::json(&json);
    let at = others.iter().filter_map(Beside::changed).fold(report.at, Ord::max);
    Ok(reply.modified(Some(at), app.now()).reply(&wants, &app).await)
}

/// A feed's report of a version, or its latest.
///
/// # Errors
/// If there is none, or it cannot be read now.
pub(crate) async fn find(
    app: &App,
    feed: &Feed,
    version: Option<&str>,
) -> Result<Arc<Report>, Refusal> {
    let latest = app.reports().of(feed.id().as_str());
    let Some(version) = version else {
        return latest.and_then(|reports| reports.main().cloned()).ok_or(Refusal::UnknownReport);
    };
    if BlobHash::parse(version).is_none() {
        let reason = "a version is named by the SHA-256 that the list of versions has".into();
        return Err(Refusal::BadParameter { name: "version", reason });
    }
    let is_it = |report: &Arc<Report>| report.subject.version() == Some(version);
    if let Some(report) = latest.and_then(|reports| reports.dataset.clone()).filter(is_it) {
        return Ok(report);
    }
    let store = app.store().map(Arc::clone).ok_or(Refusal::UnknownReport)?;
    let (id, version) = (feed.id().clone(), version.to_owned());
    let row = remembered(app, move |_| store.find_report(&id, DATASET, &version)).await?;
    let report = row.and_then(|row| Report::of_row(&row)).ok_or(Refusal::UnknownReport)?;
    Ok(Arc::new(report))
}
