//! The polls and incidents of a feed: `/api/v1/feeds/{id}/availability` and `/feeds/{feed}/availability.csv`.

use std::fmt::Write as _;

use axum::extract::{Path, State};
use axum::response::Response;
use http::{HeaderValue, header};
use lineside_config::times::format_rfc3339;
use lineside_model::{
    ArchiveSpan, FeedAvailabilityTimelines, FeedId, FeedStatePeriod, FetchPhase, PollBin,
    PollFailure, PollQuery, PollRecord, StatePeriod,
};
use lineside_sync::UnixMillis;
use serde::Serialize;
use utoipa::ToSchema;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::list::{ListRequest, PageRange};
use crate::app::App;
use crate::blocking::read_poll_archive;
use crate::errors::{Problem, Refusal};
use crate::lookup;
use crate::parameters::QueryParameters;
use crate::reply::{ReplyPreferences, Representation};

/// Largest number of incidents in one reply; the newest are included.
const INCIDENTS_MAX: usize = 100;

/// Largest number of polls in one table; the newest are included.
const POLL_LINES_MAX: usize = 10_000;

/// Values of the `outcome` parameter; `true` selects failed polls only.
const OUTCOMES: [(&str, bool); 2] = [("failed", true), ("all", false)];

pub(super) fn routes() -> OpenApiRouter<App> {
    OpenApiRouter::new().routes(routes!(get_availability)).routes(routes!(get_availability_csv))
}

/// Availability of a feed's source, and freshness of the data that clients received.
#[derive(Debug, Serialize, ToSchema)]
struct AvailabilityItem {
    /// The feed's id.
    feed: String,
    /// `24h` by the minute, or `30d` by the hour.
    span: &'static str,
    /// Start of the timelines.
    from: Option<String>,
    /// End of the timelines.
    until: Option<String>,
    /// Availability of the source: `answered`, `mixed`, `failed`, `paused`, `off` while this server did not run,
    /// `unknown` before the first poll. Without gaps, in order.
    source: Vec<StretchItem>,
    /// Data that clients received: `fresh`, `stale` for the last good bytes, `mixed` if there was nothing at times,
    /// `nothing`, `off`, `unknown`. Without gaps, in order.
    serving: Vec<StretchItem>,
    /// The states of the feed, newest first.
    incidents: Vec<IncidentItem>,
    /// Polls, newest first: failed ones, or all with `outcome=all`.
    items: Vec<PollItem>,
    /// The next page of polls; null on the last.
    next: Option<String>,
}

/// A period with one state.
#[derive(Debug, Serialize, ToSchema)]
struct StretchItem {
    from: Option<String>,
    until: Option<String>,
    /// The state.
    state: &'static str,
    /// Number of polls that began in the period.
    polls: u64,
    /// Number of failed polls among them.
    failed: u64,
}

/// A period during which a feed was in one state.
#[derive(Debug, Serialize, ToSchema)]
struct IncidentItem {
    /// The state, as in the catalog.
    state: &'static str,
    /// The reason at its beginning.
    reason: String,
    began: Option<String>,
    /// Null while it lasts.
    ended: Option<String>,
}

/// One poll.
#[derive(Debug, Serialize, ToSchema)]
struct PollItem {
    /// The time of the poll.
    at: Option<String>,
    /// `new`, `same`, `not_modified`, `nothing` or `failed`.
    outcome: String,
    /// The code of the failure, as in `Lineside-Status`.
    code: Option<String>,
    /// The phase of the failure: `dns`, `connect`, `tls`, `wait`, `body` or `decode`.
    phase: Option<&'static str>,
    /// The HTTP status of the failed poll's reply.
    status: Option<u16>,
    /// A description of the failure.
    message: Option<String>,
    /// The beginning of the body of the failed poll's reply.
    first_bytes: Option<String>,
    /// Time until the source had answered in full or failed, in seconds.
    duration: f64,
    /// Bytes of the body.
    bytes: u64,
    /// Data that clients received afterwards: `fresh`, `stale` or `nothing`.
    serving: &'static str,
}

/// Returns the availability history of a feed
///
/// Two timelines, one of the source and one of the served data; the states of the feed; and its polls.
#[utoipa::path(
    get, path = "/api/v1/feeds/{id}/availability", tag = "catalog",
    params(
        ("id" = String, Path, description = "The feed's id"),
        ("span" = Option<String>, Query, description = "`24h` by the minute, or `30d` by the hour; default `24h`"),
        ("outcome" = Option<String>, Query, description = "`failed` polls or `all` recorded polls; default `failed`"),
        ("limit" = Option<usize>, Query, description = "Polls per page, at most 500; default 50"),
        ("offset" = Option<usize>, Query, description = "Number of polls to skip, as in `next`")
    ),
    responses(
        (status = 200, description = "The history", body = AvailabilityItem),
        (status = 400, description = "`bad_parameter`", body = Problem),
        (status = 404, description = "`unknown_feed`", body = Problem),
        (status = 503, description = "`storage_unavailable`", body = Problem)
    )
)]
async fn get_availability(
    State(app): State<App>,
    Path(id): Path<String>,
    ListRequest { parameters, link, .. }: ListRequest,
    preferences: ReplyPreferences,
) -> Result<Response, Refusal> {
    let feed = lookup::find_feed(&app, &id)?.id().clone();
    let (span, page) = (parse_archive_span(&parameters)?, PageRange::from_parameters(&parameters)?);
    let only_failed = parameters.parse_choice("outcome", OUTCOMES)?.unwrap_or(true);
    let from = span.first_bin_start(app.now());
    // One item beyond the page shows if there is a next page.
    let query = PollQuery { from, only_failed, offset: page.offset, limit: page.limit + 1 };
    let (now, task_feed) = (app.now(), feed.clone());
    let read = read_poll_archive(&app, move |archive| {
        let strips = FeedAvailabilityTimelines::read_from_archive(archive, &task_feed, span, now)?;
        let incidents = archive.list_feed_state_periods(&task_feed, from, INCIDENTS_MAX)?;
        Ok((strips, incidents, archive.list_polls(&task_feed, query)?))
    });
    let (strips, incidents, polls) = read.await?;
    let polls = page.take_page_of_prefetched(polls.into_iter().map(poll_item).collect(), &link);
    let item = AvailabilityItem {
        feed: feed.to_string(),
        span: span.as_str(),
        from: format_rfc3339(strips.from),
        until: format_rfc3339(strips.until),
        source: strips.source.iter().map(|it| state_stretch_item(it, it.state.as_str())).collect(),
        serving: strips
            .serving
            .iter()
            .map(|it| state_stretch_item(it, it.state.as_str()))
            .collect(),
        incidents: incidents.into_iter().map(incident_item).collect(),
        items: polls.items,
        next: polls.next,
    };
    Ok(Representation::from_json(&item)
        .with_modified_time(Some(now), now)
        .into_reply(&preferences, &app)
        .await)
}

/// Returns the timelines of a feed as CSV
///
/// A line for each minute or hour in which the source was polled; with `outcome` a line for each poll.
#[utoipa::path(
    get, path = "/feeds/{feed}/availability.csv", tag = "catalog",
    params(
        ("feed" = String, Path, description = "The feed's id"),
        ("span" = Option<String>, Query, description = "`24h` by the minute, or `30d` by the hour; default `24h`"),
        ("outcome" = Option<String>, Query, description = "Polls instead of minutes or hours: `failed`, or `all` that are recorded individually")
    ),
    responses(
        (status = 200, description = "The table", body = String, content_type = "text/csv"),
        (status = 400, description = "`bad_parameter`", body = Problem),
        (status = 404, description = "`unknown_feed`", body = Problem),
        (status = 503, description = "`storage_unavailable`", body = Problem)
    )
)]
async fn get_availability_csv(
    State(app): State<App>,
    Path(id): Path<String>,
    parameters: QueryParameters,
    preferences: ReplyPreferences,
) -> Result<Response, Refusal> {
    let feed = lookup::find_feed(&app, &id)?.id().clone();
    let (span, now) = (parse_archive_span(&parameters)?, app.now());
    let polls = parameters.parse_choice("outcome", OUTCOMES)?;
    let task_feed = feed.clone();
    let read = read_poll_archive(&app, move |archive| match polls {
        None => Ok(availability_bins_csv(&FeedAvailabilityTimelines::read_from_archive(
            archive, &task_feed, span, now,
        )?)),
        Some(only_failed) => {
            let (from, limit) = (span.first_bin_start(now), POLL_LINES_MAX);
            let query = PollQuery { from, only_failed, offset: 0, limit };
            Ok(polls_csv(&archive.list_polls(&task_feed, query)?))
        }
    });
    let text = read.await?;
    let kind = HeaderValue::from_static("text/csv; charset=utf-8; header=present");
    let reply = Representation::new(kind, text).with_modified_time(Some(now), now);
    Ok(reply
        .with_header(header::CONTENT_DISPOSITION, content_disposition(&feed))
        .into_reply(&preferences, &app)
        .await)
}

fn parse_archive_span(parameters: &QueryParameters) -> Result<ArchiveSpan, Refusal> {
    let spans = ArchiveSpan::ALL.map(|span| (span.as_str(), span));
    Ok(parameters.parse_choice("span", spans)?.unwrap_or(ArchiveSpan::Day))
}

fn state_stretch_item<S>(stretch: &StatePeriod<S>, state: &'static str) -> StretchItem {
    StretchItem {
        from: format_rfc3339(stretch.from),
        until: format_rfc3339(stretch.until),
        state,
        polls: stretch.polls,
        failed: stretch.failed,
    }
}

fn incident_item(incident: FeedStatePeriod) -> IncidentItem {
    IncidentItem {
        state: incident.state.as_str(),
        reason: incident.reason,
        began: format_rfc3339(incident.began),
        ended: incident.ended.and_then(format_rfc3339),
    }
}

fn poll_item(poll: PollRecord) -> PollItem {
    let failed = poll.has_failed();
    let failure = poll.failure;
    PollItem {
        at: format_rfc3339(poll.at),
        phase: failure.as_ref().and_then(|failure| failure.phase).map(FetchPhase::as_str),
        status: failure.as_ref().and_then(|failure| failure.status),
        outcome: if failed { "failed".to_owned() } else { poll.outcome.to_string() },
        code: failed.then(|| poll.outcome.to_string()),
        first_bytes: failure.as_ref().and_then(|failure| failure.head.clone()),
        message: failure.map(|failure| failure.message),
        duration: poll.took.as_secs_f64(),
        bytes: poll.bytes,
        serving: poll.serving.as_str(),
    }
}

/// Writes one line per bin. Numbers, times and state names need no quotes.
fn availability_bins_csv(strips: &FeedAvailabilityTimelines) -> String {
    let mut text = String::from("from,until,source,serving,polls,failed,bytes,mean_seconds\n");
    for bin in &strips.bins {
        write_bin_csv_line(&mut text, bin, strips.span, strips.until);
    }
    text
}

fn write_bin_csv_line(text: &mut String, bin: &PollBin, span: ArchiveSpan, now: UnixMillis) {
    let end = UnixMillis(bin.start.0 + span.bin_seconds() * 1_000).min(now);
    let mean = bin.took.as_secs_f64() / f64::from(bin.polls.max(1));
    let (from, until) =
        (format_rfc3339(bin.start).unwrap_or_default(), format_rfc3339(end).unwrap_or_default());
    let (source, serving) =
        (bin.source_state_in_bin().as_str(), bin.serving_state_in_bin().as_str());
    let PollBin { polls, failed, bytes, .. } = bin;
    writeln!(text, "{from},{until},{source},{serving},{polls},{failed},{bytes},{mean:.3}")
        .expect("writing to memory cannot fail");
}

/// Writes one line per poll.
fn polls_csv(polls: &[PollRecord]) -> String {
    let heads = "at,outcome,phase,status,message,first_bytes,seconds,bytes,serving\n";
    let mut text = String::from(heads);
    for poll in polls {
        let PollRecord { at, outcome, failure, bytes, serving, .. } = poll;
        let (at, took) = (format_rfc3339(*at).unwrap_or_default(), poll.took.as_secs_f64());
        let format_failure = |extract: fn(&PollFailure) -> Option<String>| {
            failure.as_ref().and_then(extract).unwrap_or_default()
        };
        let phase = format_failure(|failure| failure.phase.map(|phase| phase.to_string()));
        let status = format_failure(|failure| failure.status.map(|status| status.to_string()));
        let failure_message =
            quote_csv_cell(&format_failure(|failure| Some(failure.message.clone())));
        let head = quote_csv_cell(&format_failure(|failure| failure.head.clone()));
        let serving = serving.as_str();
        writeln!(
            text,
            "{at},{outcome},{phase},{status},{failure_message},{head},{took:.3},{bytes},{serving}"
        )
        .expect("writing to memory cannot fail");
    }
    text
}

/// Quotes a cell with foreign text, so that spreadsheets do not run it as a formula.
fn quote_csv_cell(text: &str) -> String {
    let guard = if text.starts_with(['=', '+', '-', '@', '\t', '\r']) { "'" } else { "" };
    format!("\"{guard}{}\"", text.replace('"', "\"\""))
}

fn content_disposition(feed: &FeedId) -> HeaderValue {
    HeaderValue::try_from(format!("attachment; filename=\"{feed}-availability.csv\""))
        .expect("a feed's id is a valid header value")
}
