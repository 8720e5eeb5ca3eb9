//! Versions of a schedule: the list `/api/v1/feeds/{id}/versions`, and each version's bytes,
//! `/feeds/{feed}/versions/{hash}.zip`.

use std::io::{self, SeekFrom};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use axum::extract::{Path, State};
use axum::response::{IntoResponse as _, Response};
use axum::routing::get;
use bytes::Bytes;
use futures_util::stream;
use http::{HeaderMap, HeaderValue, StatusCode, header};
use jiff::{Timestamp, civil::Date};
use lineside_config::times::format_rfc3339;
use lineside_ingest::Feed;
use lineside_model::{Dataset, FeedId, ScheduleCountDifferences};
use lineside_quality::reports::{
    ReportFindingCounts, ReportSummariesByVersion, load_report_summaries,
};
use lineside_store::{BlobHash, ScheduleVersion, Store};
use serde::Serialize;
use tokio::fs::File;
use tokio::io::{AsyncReadExt as _, AsyncSeekExt as _};
use utoipa::ToSchema;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::list::{ListPage, ListRequest, PageRange};
use crate::app::App;
use crate::blocking::{read_poll_archive, run_blocking};
use crate::documented_route::document_route;
use crate::errors::{Problem, Refusal};
use crate::lookup;
use crate::ranges::{self, RangeRequest};
use crate::reply::producer_bytes_csp;
use crate::reply::{ReplyPreferences, Representation, format_http_date};

/// Bytes of a file that are read at a time, and held in memory, for one client.
const PIECE_BYTES: usize = 128 << 10;
/// Largest number of reports on versions of a feed that are searched.
const REPORTS_MAX: usize = 1_000;
/// Cache lifetime of a version: its address has its hash, so it never changes.
const FRESH_FOR: Duration = Duration::from_secs(365 * 86_400);

pub(super) fn routes() -> OpenApiRouter<App> {
    OpenApiRouter::new().routes(routes!(list_versions)).merge(document_route(
        "/feeds/{feed}/versions/{file}",
        get(get_version_zip),
        [routes!(get_version_by_hash)],
    ))
}

/// One version of a feed's schedule.
#[derive(Debug, Serialize, ToSchema)]
struct VersionItem {
    /// The SHA-256 of its bytes.
    hash: String,
    /// Size in bytes.
    size: u64,
    /// True for the version that is served.
    current: bool,
    /// Time at which it first arrived.
    first_seen: Option<String>,
    /// Time at which its source last sent or confirmed it, to within a minute.
    last_seen: Option<String>,
    /// The publisher's name of the version: `feed_version`.
    feed_version: Option<String>,
    /// The first day of its validity by `feed_info.txt`, else the first day of service.
    valid_from: Option<String>,
    /// The last day of its validity, likewise.
    valid_until: Option<String>,
    /// The first day of service; null for versions that were stored before it was recorded.
    service_start: Option<String>,
    /// The last day of service, likewise.
    service_end: Option<String>,
    /// True if `valid_until` or `service_end` is past, in the agency's zone.
    ended: bool,
    /// True if `valid_from` or `service_start` is in the future.
    not_yet_valid: bool,
    routes: u64,
    stops: u64,
    trips: u64,
    /// The differences from the next version of the list, the one seen before; null for the last.
    changes: Option<CountChangesItem>,
    /// Trips of each day; only for the served version, once it is loaded.
    daily_trips: Option<DailyTrips>,
    /// Address of its bytes.
    url: String,
    /// The report on it, if it is still stored.
    report: Option<ReportLink>,
}

/// The differences between the counts of two versions; negative for a decrease.
#[derive(Debug, Serialize, ToSchema)]
struct CountChangesItem {
    routes: i64,
    stops: i64,
    trips: i64,
}

/// The trips of consecutive days, at most twelve months.
#[derive(Debug, Serialize, ToSchema)]
struct DailyTrips {
    /// The first day.
    start: String,
    /// Trips of the first day, the next day, and so on. A trip of `frequencies.txt` counts once per run.
    trips: Vec<u64>,
}

/// The report on a version.
#[derive(Debug, Serialize, ToSchema)]
struct ReportLink {
    /// The permanent page of the report.
    url: String,
    /// Its totals; absent for reports of an older version of the program.
    counts: Option<ReportFindingCounts>,
}

/// Lists the stored versions of a feed's schedule
///
/// The served version comes first, the others by the time at which they were last seen. Without a `data_dir`, and for
/// real-time feeds, the list is empty.
#[utoipa::path(
    get, path = "/api/v1/feeds/{id}/versions", tag = "catalog",
    params(
        ("id" = String, Path, description = "The feed's id"),
        ("limit" = Option<usize>, Query, description = "Items per page, at most 500; default 50"),
        ("offset" = Option<usize>, Query, description = "Number of items to skip, as in `next`")
    ),
    responses(
        (status = 200, description = "A page of versions", body = ListPage<VersionItem>),
        (status = 400, description = "`bad_parameter`", body = Problem),
        (status = 404, description = "`unknown_feed`", body = Problem),
        (status = 503, description = "`storage_unavailable`", body = Problem)
    )
)]
async fn list_versions(
    State(app): State<App>,
    Path(id): Path<String>,
    ListRequest { parameters, link, base }: ListRequest,
    preferences: ReplyPreferences,
) -> Result<Response, Refusal> {
    let feed = lookup::find_feed(&app, &id)?;
    let page = PageRange::from_parameters(&parameters)?;
    // One item beyond the page shows if there is a next page, and the last version's changes.
    let versions = read_stored_versions(&app, feed.id(), page.offset, page.limit + 1).await?;
    let reports = read_report_summaries(&app, feed.id()).await;
    let mut daily_trips = find_daily_trips(&feed).await;
    let facts = VersionItemContext {
        feed: feed.id(),
        today: feed.network().data_date_today(),
        reports,
        base,
    };
    let next = versions.iter().skip(1).map(Some).chain([None]);
    let items = versions.iter().zip(next).map(|(version, previous)| VersionItem {
        daily_trips: version.is_current.then(|| daily_trips.take()).flatten(),
        ..facts.version_item(version, previous)
    });
    let list = page.take_page_of_prefetched(items.collect(), &link);
    Ok(Representation::from_json(&list)
        .with_modified_time(Some(app.now()), app.now())
        .into_reply(&preferences, &app)
        .await)
}

/// Reads the stored versions of a feed's schedule, in the order of the list.
pub async fn read_stored_versions(
    app: &App,
    feed: &FeedId,
    offset: usize,
    limit: usize,
) -> Result<Vec<ScheduleVersion>, Refusal> {
    let Some(store) = app.store().map(Arc::clone) else { return Ok(Vec::new()) };
    let feed = feed.clone();
    read_poll_archive(app, move |_| store.list_schedule_versions(&feed, offset, limit)).await
}

/// Reads the summaries of the stored reports on versions of a feed, by version.
pub async fn read_report_summaries(app: &App, feed: &FeedId) -> ReportSummariesByVersion {
    let Some(store) = app.store().map(Arc::clone) else { return ReportSummariesByVersion::new() };
    let feed = feed.clone();
    let read =
        read_poll_archive(app, move |_| Ok(load_report_summaries(&store, &feed, REPORTS_MAX)));
    read.await.unwrap_or_default()
}

async fn find_daily_trips(feed: &Feed) -> Option<DailyTrips> {
    let dataset = find_schedule_with_calendar(feed).await?;
    let days =
        dataset.service_calendar()?.twelve_months_around(feed.network().data_date_today())?;
    Some(DailyTrips { start: days.first.to_string(), trips: days.trips.to_vec() })
}

/// Returns the loaded schedule of a feed with its service calendar computed; `None` if the feed is not its network's
/// schedule.
pub async fn find_schedule_with_calendar(feed: &Feed) -> Option<Arc<Dataset>> {
    let network = feed.network();
    let dataset = network.dataset().filter(|dataset| dataset.feed == *feed.id())?;
    let counted = Arc::clone(&dataset);
    run_blocking(move || counted.service_calendar().is_some()).await.ok()?;
    Some(dataset)
}

/// The facts that all items of a list share.
struct VersionItemContext<'a> {
    feed: &'a FeedId,
    today: Date,
    reports: ReportSummariesByVersion,
    base: String,
}

impl VersionItemContext<'_> {
    fn version_item(
        &self,
        version: &ScheduleVersion,
        previous: Option<&ScheduleVersion>,
    ) -> VersionItem {
        let Self { feed, base, .. } = self;
        let facts = version.facts.clone();
        let address = format!("{base}/feeds/{feed}/versions/{}", version.hash);
        let counts = self.reports.get(&version.hash.to_string());
        let changes = previous.map(|previous| facts.compare_counts(&previous.facts));
        VersionItem {
            report: counts.map(|counts| ReportLink {
                url: format!("{address}/report"),
                counts: counts.clone(),
            }),
            url: format!("{address}.zip"),
            hash: version.hash.to_string(),
            size: version.size,
            current: version.is_current,
            first_seen: format_rfc3339(version.first_seen),
            last_seen: format_rfc3339(version.last_seen),
            ended: facts.has_ended(self.today),
            not_yet_valid: facts.is_not_yet_valid(self.today),
            feed_version: facts.publisher_version,
            valid_from: facts.valid_from,
            valid_until: facts.valid_until,
            service_start: facts.service_start,
            service_end: facts.service_end,
            routes: facts.routes,
            stops: facts.stops,
            trips: facts.trips,
            changes: changes.map(|ScheduleCountDifferences { routes, stops, trips }| {
                CountChangesItem { routes, stops, trips }
            }),
            daily_trips: None,
        }
    }
}

async fn get_version_zip(
    state: State<App>,
    Path((feed, file)): Path<(String, String)>,
    preferences: ReplyPreferences,
) -> Result<Response, Refusal> {
    let hash = file.strip_suffix(".zip").ok_or(Refusal::UnknownPath)?.to_owned();
    get_version_by_hash(state, Path((feed, hash)), preferences).await
}

/// Returns a version of a feed's schedule, unchanged
///
/// The content of this address never changes; it may be deleted, by `[retention] versions` and `versions_age`.
#[utoipa::path(
    get, path = "/feeds/{feed}/versions/{hash}.zip", tag = "bytes",
    params(
        ("feed" = String, Path, description = "The feed's id"),
        ("hash" = String, Path, description = "The SHA-256 of its bytes, from the list of versions")
    ),
    responses(
        (status = 200, description = "The zip", content_type = "application/zip"),
        (status = 206, description = "The requested `Range`"),
        (status = 304, description = "The client's copy is current"),
        (status = 404, description = "`unknown_feed` or `not_found`", body = Problem),
        (status = 416, description = "`bad_range`", body = Problem),
        (status = 503, description = "`storage_unavailable`", body = Problem)
    )
)]
async fn get_version_by_hash(
    State(app): State<App>,
    Path((id, hash)): Path<(String, String)>,
    preferences: ReplyPreferences,
) -> Result<Response, Refusal> {
    let feed = lookup::find_feed(&app, &id)?.id().clone();
    let hash = BlobHash::parse_hex(&hash).ok_or(Refusal::UnknownPath)?;
    let store = app.store().map(Arc::clone).ok_or(Refusal::UnknownPath)?;
    let (task_store, task_feed_id) = (Arc::clone(&store), feed.clone());
    let found =
        read_poll_archive(&app, move |_| task_store.find_schedule_version(&task_feed_id, &hash))
            .await?;
    let found = found.ok_or(Refusal::UnknownPath)?;
    reply_with_version_bytes(&store, &feed, &found, &preferences).await
}

async fn reply_with_version_bytes(
    store: &Store,
    feed: &FeedId,
    version: &ScheduleVersion,
    preferences: &ReplyPreferences,
) -> Result<Response, Refusal> {
    let headers = version_headers(feed, version);
    let tag = headers[header::ETAG].clone();
    if preferences.matching_tag([&tag, &tag], Some(version.first_seen)).is_some() {
        return Ok((StatusCode::NOT_MODIFIED, headers).into_response());
    }
    let path = store.blob_path(&version.hash);
    let unreadable = |error: io::Error| {
        tracing::warn!(file = %path.display(), %error, "a stored version of a schedule cannot be read");
        Refusal::StorageUnavailable
    };
    let length = tokio::fs::metadata(&path).await.map_err(unreadable)?.len();
    if length != version.size {
        return Err(unreadable(io::Error::other("its length has changed")));
    }
    let length = usize::try_from(length).map_err(|_| Refusal::Internal)?;
    let is_on_condition = preferences.if_range_header().is_none_or(|condition| *condition == tag);
    let range = preferences.range_header().filter(|_| is_on_condition);
    let (first, last) =
        match range.map_or(RangeRequest::Whole, |range| ranges::parse_range(range, length)) {
            RangeRequest::NotSatisfiable => return Err(Refusal::BadRange { length }),
            RangeRequest::Part { first, last } => {
                let body = stream_file_range(path.clone(), first, last - first + 1);
                let content_range = HeaderValue::try_from(format!("bytes {first}-{last}/{length}"));
                let place = content_range.expect("a number is a valid header value");
                let part = [
                    (header::CONTENT_RANGE, place),
                    (header::CONTENT_LENGTH, HeaderValue::from(last - first + 1)),
                ];
                return Ok((StatusCode::PARTIAL_CONTENT, headers, part, body).into_response());
            }
            RangeRequest::Whole => (0, length),
        };
    let body = stream_file_range(path, first, last);
    let whole = [(header::CONTENT_LENGTH, HeaderValue::from(length))];
    Ok((headers, whole, body).into_response())
}

fn version_headers(feed: &FeedId, version: &ScheduleVersion) -> HeaderMap {
    let cache = format!("public, max-age={}, immutable", FRESH_FOR.as_secs());
    let name = format!("attachment; filename=\"{}\"", version_file_name(feed, version));
    let text =
        |text: String| HeaderValue::try_from(text).expect("a quoted tag is a valid header value");
    let (policy, nothing) = producer_bytes_csp();
    let mut headers = HeaderMap::from_iter([
        (header::CONTENT_TYPE, HeaderValue::from_static("application/zip")),
        (header::ETAG, text(format!("\"{}\"", version.hash))),
        (header::CACHE_CONTROL, text(cache)),
        (header::CONTENT_DISPOSITION, text(name)),
        (header::ACCEPT_RANGES, HeaderValue::from_static("bytes")),
        (policy, nothing),
    ]);
    headers.extend(format_http_date(version.first_seen).map(|date| (header::LAST_MODIFIED, date)));
    headers
}

/// Returns a file name with the feed, the day of arrival, and enough of the hash to tell the version from others of
/// that day.
fn version_file_name(feed: &FeedId, version: &ScheduleVersion) -> String {
    const DIGITS: usize = 8;
    let day = Timestamp::from_millisecond(version.first_seen.0).unwrap_or_default();
    let day = day.strftime("%Y-%m-%d").to_string();
    let hash = version.hash.to_string();
    format!("{feed}_{day}_{}.zip", &hash[..DIGITS])
}

/// Streams a part of a file, read while it is sent. The file is open only while a piece is read: clients that do not
/// read must not hold descriptors.
fn stream_file_range(path: PathBuf, first: usize, length: usize) -> Body {
    let pieces = stream::try_unfold((path, first, length), |(path, at, left)| async move {
        if left == 0 {
            return io::Result::Ok(None);
        }
        let mut file = File::open(&path).await?;
        file.seek(SeekFrom::Start(at as u64)).await?;
        let mut piece = vec![0; left.min(PIECE_BYTES)];
        file.read_exact(&mut piece).await?;
        let n = piece.len();
        Ok(Some((Bytes::from(piece), (path, at + n, left - n))))
    });
    Body::from_stream(pieces)
}

#[cfg(test)]
mod tests {
    use lineside_model::ScheduleVersionFacts;
    use lineside_sync::UnixMillis;

    use super::*;

    #[test]
    fn the_file_name_of_a_version_has_its_feed_date_and_hash() {
        let version = ScheduleVersion {
            hash: BlobHash::parse_hex(&"0123456789abcdef".repeat(4)).unwrap(),
            size: 1,
            first_seen: UnixMillis(1_772_607_600_000),
            last_seen: UnixMillis(1_772_607_600_000),
            is_current: true,
            facts: ScheduleVersionFacts::default(),
        };
        let feed = FeedId::new("city").unwrap();
        assert_eq!(version_file_name(&feed, &version), "city_2026-03-04_01234567.zip");
    }
}
