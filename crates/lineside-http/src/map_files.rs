//! The files behind the map: the demo city's base map, and an operator's style or tile archive on this machine. An
//! archive is read in ranges (RFC 9110 §14), as PMTiles readers do.

use std::io::{self, SeekFrom};
use std::path::Path;
use std::time::{Duration, UNIX_EPOCH};

use axum::Router;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use bytes::Bytes;
use http::{HeaderMap, HeaderValue, StatusCode, header};
use lineside_config::MapSource;
use lineside_sync::UnixMillis;
use tokio::io::{AsyncReadExt as _, AsyncSeekExt as _};

use super::errors::Refusal;
use super::parameters::bad_parameter_refusal;
use super::ranges::{self, RangeRequest};
use super::reply::{ReplyPreferences, Representation};
use crate::app::{App, BASE_MAP_PATH, MAP_STYLE_PATH, MAP_TILES_PATH};

/// Largest map style that is served, in bytes.
const STYLE_BYTES_MAX: u64 = 8 << 20;
/// Largest part of an archive in one reply, in bytes; readers request tiles and directories.
const PIECE_BYTES_MAX: usize = 4 << 20;
/// Cache lifetime of the files behind the map.
const FRESH_FOR: Duration = Duration::from_secs(3600);

pub fn router() -> Router<App> {
    Router::new()
        .route(BASE_MAP_PATH, get(get_base_map))
        .route(MAP_STYLE_PATH, get(get_map_style))
        .route(MAP_TILES_PATH, get(get_map_tiles))
}

async fn get_base_map(
    State(app): State<App>,
    preferences: ReplyPreferences,
) -> Result<Response, Refusal> {
    let body = app.base_map_geojson().ok_or(Refusal::UnknownPath)?.clone();
    let kind = HeaderValue::from_static("application/geo+json");
    let reply =
        Representation::new(kind, body).with_modified_time(Some(app.started_at()), app.now());
    Ok(reply.with_freshness(FRESH_FOR).into_reply(&preferences, &app).await)
}

async fn get_map_style(
    State(app): State<App>,
    preferences: ReplyPreferences,
) -> Result<Response, Refusal> {
    let Some(MapSource::File(path)) = &app.config().map.style else {
        return Err(Refusal::UnknownPath);
    };
    let body = read_file_range(path, 0, STYLE_BYTES_MAX)
        .await
        .map_err(|error| log_unreadable_file(path, &error))?;
    let kind = HeaderValue::from_static("application/json");
    Ok(Representation::new(kind, body).into_reply(&preferences, &app).await)
}

async fn get_map_tiles(State(app): State<App>, headers: HeaderMap) -> Result<Response, Refusal> {
    let Some(MapSource::File(path)) = &app.config().map.pmtiles else {
        return Err(Refusal::UnknownPath);
    };
    let range = headers.get(header::RANGE).ok_or_else(missing_range_refusal)?;
    reply_with_tile_range(path, range, &headers)
        .await
        .unwrap_or_else(|error| Err(log_unreadable_file(path, &error)))
}

fn missing_range_refusal() -> Refusal {
    bad_parameter_refusal("Range", "missing: the archive can only be read in ranges")
}

fn log_unreadable_file(path: &Path, error: &io::Error) -> Refusal {
    tracing::warn!(path = %path.display(), %error, "a map file cannot be read");
    Refusal::UnknownPath
}

async fn reply_with_tile_range(
    path: &Path,
    range: &HeaderValue,
    headers: &HeaderMap,
) -> io::Result<Result<Response, Refusal>> {
    let metadata = tokio::fs::metadata(path).await?;
    let length = metadata.len();
    let modified = metadata.modified()?.duration_since(UNIX_EPOCH).unwrap_or_default();
    let modified = UnixMillis(i64::try_from(modified.as_millis()).unwrap_or(i64::MAX));
    // The archive is too large to hash; its size and time tell its versions apart.
    let tag = format!("\"{:x}-{length:x}\"", modified.0);
    let tag = HeaderValue::try_from(tag).expect("hexadecimal digits are a valid header value");
    if headers.get(header::IF_NONE_MATCH) == Some(&tag) {
        return Ok(Ok((StatusCode::NOT_MODIFIED, [(header::ETAG, tag)]).into_response()));
    }
    let length = usize::try_from(length).unwrap_or(usize::MAX);
    let (first, last) = match parse_limited_range(range, length) {
        RangeRequest::Part { first, last } => (first, last),
        RangeRequest::NotSatisfiable => return Ok(Err(Refusal::BadRange { length })),
        RangeRequest::Whole => return Ok(Err(missing_range_refusal())),
    };
    let body = read_file_range(path, first as u64, (last - first + 1) as u64).await?;
    let content_range = format!("bytes {first}-{last}/{length}");
    let headers = [
        (header::CONTENT_TYPE, HeaderValue::from_static("application/vnd.pmtiles")),
        (
            header::CONTENT_RANGE,
            HeaderValue::try_from(content_range).expect("a number is a valid header value"),
        ),
        (header::ACCEPT_RANGES, HeaderValue::from_static("bytes")),
        (header::CACHE_CONTROL, HeaderValue::from_static("public, max-age=3600")),
        (header::ETAG, tag),
    ];
    Ok(Ok((StatusCode::PARTIAL_CONTENT, headers, body).into_response()))
}

/// Parses a range and shortens it to the largest reply.
fn parse_limited_range(range: &HeaderValue, length: usize) -> RangeRequest {
    match ranges::parse_range(range, length) {
        RangeRequest::Part { first, last } => {
            RangeRequest::Part { first, last: last.min(first.saturating_add(PIECE_BYTES_MAX - 1)) }
        }
        other => other,
    }
}

async fn read_file_range(path: &Path, start: u64, length: u64) -> io::Result<Bytes> {
    let mut file = tokio::fs::File::open(path).await?;
    file.seek(SeekFrom::Start(start)).await?;
    let mut body = Vec::new();
    file.take(length).read_to_end(&mut body).await?;
    Ok(Bytes::from(body))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_range_is_limited_to_the_archive_and_the_maximum_length() {
        let check = |range, length, expect| {
            assert_eq!(
                parse_limited_range(&HeaderValue::from_static(range), length),
                expect,
                "{range}"
            );
        };
        check("bytes=0-99", 1000, RangeRequest::Part { first: 0, last: 99 });
        check("bytes=900-", 1000, RangeRequest::Part { first: 900, last: 999 });
        check("bytes=-5", 1000, RangeRequest::Part { first: 995, last: 999 });
        check("bytes=7-", usize::MAX, RangeRequest::Part { first: 7, last: 6 + PIECE_BYTES_MAX });
        check("bytes=1000-", 1000, RangeRequest::NotSatisfiable);
        check("bytes=0-1,3-4", 1000, RangeRequest::Whole);
    }
}
