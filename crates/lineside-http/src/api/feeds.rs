//! The catalog: `/api/v1/feeds` and `/api/v1/feeds/{id}`.

use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;

use axum::extract::{Path, State};
use axum::response::Response;
use http::HeaderMap;
use lineside_config::times::format_rfc3339;
use lineside_formats::Format;
use lineside_ingest::Feed;
use lineside_model::{FeedState, FetchFailure, FetchPhase};
use lineside_quality::reports::{ReportFindingCounts, ReportVerdict};
use serde::Serialize;
use utoipa::ToSchema;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::conversion_report::ConversionReportItem;
use super::files::{self, FileItem};
use super::list::{ListPage, ListRequest, PageRange};
use crate::app::App;
use crate::blocking::run_blocking;
use crate::errors::{Problem, Refusal};
use crate::lookup;
use crate::parameters::QueryParameters;
use crate::reply::{ReplyPreferences, Representation};

pub(super) fn routes() -> OpenApiRouter<App> {
    OpenApiRouter::new().routes(routes!(list_feeds)).routes(routes!(get_feed))
}

/// A feed: its description, its state, and its addresses.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct FeedItem {
    /// The feed's id in addresses and channels.
    id: String,
    /// The display name.
    name: String,
    /// The publisher of the feed.
    publisher: Option<String>,
    /// Its licence.
    licence: Option<String>,
    /// `gtfs`, `gtfs-rt`, `gbfs`, `netex`, `siri` or `raw`; null until its content is known.
    format: Option<&'static str>,
    /// Its mode or topic, such as `bus`.
    theme: Option<String>,
    /// A sentence or two about it for people.
    description: Option<String>,
    /// The schedule feed that it belongs to.
    #[serde(rename = "static")]
    static_feed: Option<String>,
    /// `ok`, `late`, `stale`, `expired`, `failing`, `empty`, `paused` or `unknown`.
    state: &'static str,
    /// The reason of the state.
    reason: String,
    /// Start of the state. With `expired`, the end of the last service day.
    since: Option<String>,
    /// True if an admin has paused the feed: the source is not polled.
    paused: bool,
    /// The state before it was paused, `unknown` if it was paused before this server polled it; null unless it is
    /// paused.
    state_before_pause: Option<&'static str>,
    /// Time since which there have been no reliable live data: the time of the last ones, if known. Null while they are
    /// reliable, and for schedules.
    unreliable_since: Option<String>,
    /// The first service day of a schedule, `YYYY-MM-DD`; null for other feeds.
    service_start: Option<String>,
    /// The last service day of a schedule, `YYYY-MM-DD`, in the agency's zone; null for other feeds.
    service_end: Option<String>,
    /// Days until the last service day: 0 on that day, negative once the timetable has expired.
    service_days_left: Option<i64>,
    /// Days until the first service day of a schedule: 0 once it has come; null for other feeds.
    service_days_until_start: Option<i64>,
    /// True if the first service day is in the future.
    not_yet_valid: bool,
    /// True if the last service day is past, also while `state` is another one, such as `failing`.
    expired: bool,
    /// Current time of the recording that the feed's network replays, the clock of its times and service days; null
    /// unless a source of the network is `replay://`.
    replay_time: Option<String>,
    /// True if that recording has ended: its clock has stopped, and the last data are served.
    replay_ended: bool,
    /// Time at which it last sent or confirmed good data.
    last_success: Option<String>,
    /// The data's own timestamp.
    data_time: Option<String>,
    /// Time of the next poll.
    next_poll: Option<String>,
    /// Served records, trips of a schedule, or files of a GBFS system.
    entities: u64,
    /// Unreadable rows and values of the data.
    problems: u64,
    /// Its latest validation report; null until it has been validated.
    report: Option<FeedReport>,
    /// Addresses of the feed's data, by name.
    links: BTreeMap<&'static str, String>,
}

/// Summary of the latest report on a feed.
#[derive(Debug, Serialize, ToSchema)]
struct FeedReport {
    /// `dataset`, a version of a schedule, or `realtime`.
    subject: &'static str,
    /// Time of the validation, RFC 3339.
    at: Option<String>,
    /// Its totals.
    counts: ReportFindingCounts,
    /// The address of the complete report.
    url: String,
}

/// A feed with its unreadable data.
#[derive(Debug, Serialize, ToSchema)]
struct FeedDetail {
    #[serde(flatten)]
    feed: FeedItem,
    /// The address of its source; keys and passwords are hidden.
    source: String,
    /// The last failed poll, unless one has succeeded since.
    last_error: Option<LastPollError>,
    /// The number of problems of each kind.
    problem_counts: Vec<ProblemCount>,
    /// The first problems of each kind.
    problem_samples: Vec<ProblemSample>,
    /// Data of a NeTEx schedule that its timetable does not contain; absent for other feeds.
    #[serde(skip_serializing_if = "Option::is_none")]
    losses: Option<ConversionReportItem>,
    /// The files of a GBFS system; absent for other feeds.
    #[serde(skip_serializing_if = "Option::is_none")]
    files: Option<Vec<FileItem>>,
}

/// A failed poll.
#[derive(Debug, Serialize, ToSchema)]
struct LastPollError {
    /// `http_<status>`, `timeout`, `dns`, `connect`, `file`, `tls`, `html`, `empty`, `truncated`, `decode`, `no_rows`,
    /// `refused`, `too_large` or `convert`.
    code: String,
    /// A description of the failure.
    detail: String,
    /// Time of the failure.
    at: Option<String>,
    /// The phase of the failure: `dns`, `connect`, `tls`, `wait`, `body` or `decode`; null for files.
    phase: Option<&'static str>,
    /// The status of the reply, if there was one.
    status: Option<u16>,
    /// Received bytes of its body.
    bytes: u64,
    /// The first bytes as text, at most 512, with the feed's secrets hidden; with `convert`, the converter's standard
    /// error.
    first_bytes: Option<String>,
}

impl LastPollError {
    fn from_failure(failure: &FetchFailure) -> Self {
        Self {
            code: failure.code.to_string(),
            detail: failure.detail.clone(),
            at: format_rfc3339(failure.at),
            phase: failure.phase.map(FetchPhase::as_str),
            status: failure.status,
            bytes: failure.bytes,
            first_bytes: failure.head.clone(),
        }
    }
}

/// The count of one problem in one file.
#[derive(Debug, Serialize, ToSchema)]
struct ProblemCount {
    file: String,
    code: &'static str,
    count: u64,
}

/// One problem of the data.
#[derive(Debug, Serialize, ToSchema)]
struct ProblemSample {
    file: String,
    line: Option<u64>,
    /// The producer's id of the record.
    id: Option<String>,
    field: Option<String>,
    value: Option<String>,
    code: &'static str,
    detail: String,
}

/// Lists the feeds
///
/// `q` searches names, publishers, and the routes and stops of schedules.
#[utoipa::path(
    get, path = "/api/v1/feeds", tag = "catalog",
    params(
        ("q" = Option<String>, Query, description = "Words to search for"),
        ("format" = Option<String>, Query, description = "`gtfs`, `gtfs-rt`, `gbfs`, `netex`, `siri` or `raw`"),
        ("theme" = Option<String>, Query, description = "The configured `theme` (mode or topic)"),
        ("publisher" = Option<String>, Query, description = "The configured publisher"),
        ("state" = Option<String>, Query, description = "`ok`, `late`, `stale`, `expired`, `failing`, `empty`, `paused` or `unknown`"),
        ("report" = Option<String>, Query, description = "`errors`, `warnings` without errors, `none`, or `unknown` if not validated completely"),
        ("limit" = Option<usize>, Query, description = "Items per page, at most 500; default 50"),
        ("offset" = Option<usize>, Query, description = "Number of items to skip, as in `next`")
    ),
    responses(
        (status = 200, description = "A page of feeds", body = ListPage<FeedItem>),
        (status = 400, description = "`bad_parameter`", body = Problem),
        (status = 503, description = "`busy`", body = Problem)
    )
)]
async fn list_feeds(
    State(app): State<App>,
    ListRequest { parameters, link, base }: ListRequest,
    preferences: ReplyPreferences,
) -> Result<Response, Refusal> {
    let page = PageRange::from_parameters(&parameters)?;
    let found = match parameters.parse_search_text("q")? {
        Some(search_text) => Some(search_feed_ids(&app, search_text).await?),
        None => None,
    };
    let filter = FeedFilter::from_parameters(found, &parameters)?;
    let feeds = app.ingest().feeds().into_iter().filter(|feed| filter.matches_feed(&app, feed));
    let items = feeds.map(|feed| feed_item(&app, &feed, &base));
    let list = page.take_page(items, &link);
    Ok(set_modified_now(Representation::from_json(&list), &app)
        .into_reply(&preferences, &app)
        .await)
}

/// Returns one feed, with its unreadable data
#[utoipa::path(
    get, path = "/api/v1/feeds/{id}", tag = "catalog",
    params(("id" = String, Path, description = "The feed's id")),
    responses(
        (status = 200, description = "The feed", body = FeedDetail),
        (status = 404, description = "`unknown_feed`", body = Problem)
    )
)]
async fn get_feed(
    State(app): State<App>,
    Path(id): Path<String>,
    headers: HeaderMap,
    preferences: ReplyPreferences,
) -> Result<Response, Refusal> {
    let feed = lookup::find_feed(&app, &id)?;
    let detail = feed_detail(&app, &feed, &app.base_url(&headers));
    Ok(set_modified_now(Representation::from_json(&detail), &app)
        .into_reply(&preferences, &app)
        .await)
}

/// Dates a reply about feeds with the present. Polls, edits and time alone change it, so a client's date never proves
/// that it has the latest.
fn set_modified_now(reply: Representation, app: &App) -> Representation {
    reply.with_modified_time(Some(app.now()), app.now())
}

/// The filters of a list of feeds.
struct FeedFilter<'a> {
    /// Ids of the feeds that match the words of `q`; `None` without `q`.
    matching_ids: Option<HashSet<String>>,
    format: Option<Format>,
    state: Option<FeedState>,
    report: Option<ReportVerdict>,
    theme: Option<&'a str>,
    publisher: Option<&'a str>,
}

impl<'a> FeedFilter<'a> {
    fn from_parameters(
        found: Option<HashSet<String>>,
        parameters: &'a QueryParameters,
    ) -> Result<Self, Refusal> {
        let formats = Format::ALL.map(|format| (format.as_str(), format));
        let states = FeedState::ALL.map(|state| (state.as_str(), state));
        let verdicts = ReportVerdict::ALL.map(|verdict| (verdict.as_str(), verdict));
        Ok(Self {
            matching_ids: found,
            format: parameters.parse_choice("format", formats)?,
            state: parameters.parse_choice("state", states)?,
            report: parameters.parse_choice("report", verdicts)?,
            theme: parameters.find_value("theme"),
            publisher: parameters.find_value("publisher"),
        })
    }

    fn matches_feed(&self, app: &App, feed: &Feed) -> bool {
        let config = feed.config();
        let status = feed.status();
        let format = feed.format();
        self.matching_ids.as_ref().is_none_or(|found| found.contains(config.id.as_str()))
            && (self.format.is_none() || self.format == format)
            && self.state.is_none_or(|state| state == status.state)
            && self.report.is_none_or(|verdict| verdict == feed_report_verdict(app, feed))
            && (self.theme.is_none() || self.theme == config.theme.as_deref())
            && (self.publisher.is_none() || self.publisher == config.publisher.as_deref())
    }
}

/// Returns the ids of the feeds that match, searched off the runtime's threads within the bound of searches.
async fn search_feed_ids(app: &App, search_text: &str) -> Result<HashSet<String>, Refusal> {
    let permit = app.admission().page_render_slots().acquire_permit().await?;
    let (app, search_text) = (app.clone(), search_text.to_owned());
    let search = run_blocking(move || {
        let _permit = permit;
        let hits = app.ingest().search_catalog(&search_text).hits;
        hits.into_iter().map(|hit| hit.feed.config().id.to_string()).collect()
    });
    search.await
}

fn feed_report_verdict(app: &App, feed: &Feed) -> ReportVerdict {
    let reports = app.latest_reports().latest_reports_of_feed(feed.id().as_str());
    ReportVerdict::from_summary(
        reports.and_then(|reports| reports.summary_of_main_report()).as_ref(),
    )
}

fn feed_report(app: &App, feed: &Feed, base: &str) -> Option<FeedReport> {
    let reports = app.latest_reports().latest_reports_of_feed(feed.id().as_str())?;
    let report = reports.dataset_or_realtime_report()?;
    Some(FeedReport {
        subject: report.subject.subject_kind_name(),
        at: format_rfc3339(report.at),
        counts: ReportFindingCounts::from_report(report),
        url: format!("{base}/api/v1/feeds/{}/report", feed.id()),
    })
}

fn feed_item(app: &App, feed: &Arc<Feed>, base: &str) -> FeedItem {
    let config = feed.config();
    let status = feed.status_including_files();
    let format = feed.format();
    let at = |time: Option<lineside_sync::UnixMillis>| time.and_then(format_rfc3339);
    let (window, now) = (feed.service_date_range(), feed.network().data_time_now());
    let service = window.as_ref();
    FeedItem {
        id: config.id.to_string(),
        name: config.display_name().to_owned(),
        publisher: config.publisher.clone(),
        licence: config.licence.clone(),
        format: format.map(Format::as_str),
        theme: config.theme.clone(),
        description: config.description.clone(),
        static_feed: config.static_feed.as_ref().map(ToString::to_string),
        state: status.state.as_str(),
        reason: status.reason.clone(),
        since: format_rfc3339(status.since),
        paused: config.paused,
        state_before_pause: status.state_before_pause.map(FeedState::as_str),
        unreliable_since: at(status.unreliable_since),
        service_start: service.map(|it| it.start.to_string()),
        service_end: service.map(|it| it.end.to_string()),
        service_days_left: service.and_then(|it| it.days_until_end(now)),
        service_days_until_start: service.and_then(|it| it.days_until_start(now)),
        not_yet_valid: service.is_some_and(|it| it.is_not_yet_valid(now)),
        expired: service.is_some_and(|it| it.end_if_passed(now).is_some()),
        replay_time: at(feed.network().replayed_time_now()),
        replay_ended: feed.network().replay_ended_at().is_some(),
        last_success: at(status.last_success),
        data_time: at(status.data_time),
        next_poll: at(status.next_poll),
        entities: status.entities,
        problems: feed.problems_including_files().total_count(),
        report: feed_report(app, feed, base),
        links: feed_urls(app, feed, format, base),
    }
}

/// Returns the addresses that serve this feed.
fn feed_urls(
    app: &App,
    feed: &Feed,
    format: Option<Format>,
    base: &str,
) -> BTreeMap<&'static str, String> {
    let id = &feed.config().id;
    let mut links = BTreeMap::from([
        ("self", format!("{base}/api/v1/feeds/{id}")),
        ("page", format!("{base}/feeds/{id}")),
        ("proxy", format!("{base}/proxy/{id}")),
        ("state", format!("{base}/api/v1/feeds/{id}/state")),
        ("availability", format!("{base}/api/v1/feeds/{id}/availability")),
        ("events", format!("{base}/events?channel=feed/{id}")),
    ]);
    if format.is_some_and(Format::is_schedule) {
        links.insert("gtfs", format!("{base}/gtfs/{id}.zip"));
        links.insert("versions", format!("{base}/api/v1/feeds/{id}/versions"));
    }
    if format.is_some_and(Format::is_schedule)
        && app.ingest().find_network_of_feed(id.as_str()).is_some()
    {
        links.insert("stops", format!("{base}/geojson/{id}/stops.geojson"));
        links.insert("routes", format!("{base}/geojson/{id}/routes.geojson"));
    }
    if format.is_some_and(Format::is_shared_mobility) {
        links.insert("gbfs", format!("{base}/proxy/{id}/gbfs.json"));
        links.insert("gbfs_2", format!("{base}/gbfs/{id}/2/gbfs.json"));
        links.insert("gbfs_3", format!("{base}/gbfs/{id}/3/gbfs.json"));
        links.insert("stations", format!("{base}/geojson/{id}/stations.geojson"));
        links.insert("vehicles", format!("{base}/geojson/{id}/vehicles.geojson"));
    }
    if format.is_none_or(|it| it.is_schedule() || it.is_realtime()) {
        links.insert("delays", format!("{base}/api/v1/feeds/{id}/delays"));
        links.insert("gtfs_rt", format!("{base}/gtfs-rt/{id}.pb"));
        links.insert("gtfs_rt_json", format!("{base}/gtfs-rt/{id}.json"));
        links.insert("vehicles", format!("{base}/geojson/{id}/vehicles.geojson"));
    }
    links
}

fn feed_detail(app: &App, feed: &Arc<Feed>, base: &str) -> FeedDetail {
    let status = feed.status();
    let problems = feed.problems_including_files();
    let counts = problems.problem_counts().map(|(file, code, count)| ProblemCount {
        file: file.to_owned(),
        code,
        count,
    });
    let samples = problems.retained_problems().iter().map(|problem| ProblemSample {
        file: problem.file.to_string(),
        line: problem.line,
        id: problem.id.as_deref().map(str::to_owned),
        field: problem.field.as_deref().map(str::to_owned),
        value: problem.value.as_deref().map(str::to_owned),
        code: problem.code,
        detail: problem.detail.to_string(),
    });
    FeedDetail {
        feed: feed_item(app, feed, base),
        source: feed.config().url.publishable_name(),
        last_error: status.last_error.as_ref().map(LastPollError::from_failure),
        problem_counts: counts.collect(),
        problem_samples: samples.collect(),
        losses: app
            .ingest()
            .find_network_of_feed(feed.id().as_str())
            .and_then(|it| ConversionReportItem::for_feed(feed, &it)),
        files: feed
            .format()
            .is_some_and(Format::is_shared_mobility)
            .then(|| files::gbfs_file_items(feed, base)),
    }
}
