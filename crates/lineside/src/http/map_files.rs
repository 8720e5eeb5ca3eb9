//! The files under the map: the city's own lines, and an operator's style or tile archive that
//! lies on this machine. An archive is read in ranges (RFC 9110 §14), as PMTiles readers do.

use std::io::{self, SeekFrom};
use std::path::Path;
use std::time::{Duration, UNIX_EPOCH};

use axum::Router;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use bytes::Bytes;
use http::{HeaderMap, HeaderValue, StatusCode, header};
use lineside_sync::UnixMillis;
use tokio::io::{AsyncReadExt as _, AsyncSeekExt as _};

use super::errors::Refusal;
use super::parameters::bad;
use super::reply::{Representation, Wants};
use crate::app::{App, BASE_MAP_PATH, MAP_STYLE_PATH, MAP_TILES_PATH};
use crate::config::MapSource;

/// The largest map style that is served.
const STYLE_BYTES_MAX: u64 = 8 << 20;
/// The largest piece of an archive in one reply; readers ask for tiles and directories.
const RANGE_BYTES_MAX: u64 = 4 << 20;
/// How long a browser may keep what lies under the map.
const FRESH_FOR: Duration = Duration::from_secs(3600);

pub(super) fn router() -> Router<App> {
    Router::new()
        .route(BASE_MAP_PATH, get(base_map))
        .route(MAP_STYLE_PATH, get(style))
        .route(MAP_TILES_PATH, get(tiles))
}

async fn base_map(State(app): State<App>, wants: Wants) -> Result<Response, Refusal> {
    let body = app.base_map().ok_or(Refusal::UnknownPath)?.clone();
    let kind = HeaderValue::from_static("application/geo+json");
    let reply = Representation::new(kind, body).modified(Some(app.started()), app.now());
    Ok(reply.fresh_for(FRESH_FOR).reply(&wants, &app).await)
}

async fn style(State(app): State<App>, wants: Wants) -> Result<Response, Refusal> {
    let Some(MapSource::File(path)) = &app.config().map.style else {
        return Err(Refusal::UnknownPath);
    };
    let body =
        read_piece(path, 0, STYLE_BYTES_MAX).await.map_err(|error| unreadable(path, &error))?;
    let kind = HeaderValue::from_static("application/json");
    Ok(Representation::new(kind, body).reply(&wants, &app).await)
}

async fn tiles(State(app): State<App>, headers: HeaderMap) -> Result<Response, Refusal> {
    let Some(MapSource::File(path)) = &app.config().map.pmtiles else {
        return Err(Refusal::UnknownPath);
    };
    let range = headers.get(header::RANGE).and_then(|range| range.to_str().ok());
    let Some(range) = range else {
        return Err(bad("Range", "this archive is read in ranges"));
    };
    tiles_reply(path, range, &headers).await.map_err(|error| unreadable(path, &error))
}

fn unreadable(path: &Path, error: &io::Error) -> Refusal {
    tracing::warn!(path = %path.display(), %error, "a file of the map cannot be read");
    Refusal::UnknownPath
}

async fn tiles_reply(path: &Path, range: &str, headers: &HeaderMap) -> io::Result<Response> {
    let metadata = tokio::fs::metadata(path).await?;
    let length = metadata.len();
    let modified = metadata.modified()?.duration_since(UNIX_EPOCH).unwrap_or_default();
    let modified = UnixMillis(i64::try_from(modified.as_millis()).unwrap_or(i64::MAX));
    // The archive is too large to hash; its size and time tell its versions apart.
    let tag = format!("\"{:x}-{length:x}\"", modified.0);
    let tag = HeaderValue::try_from(tag).expect("hexadecimal digits are a header value");
    if headers.get(header::IF_NONE_MATCH) == Some(&tag) {
        return Ok((StatusCode::NOT_MODIFIED, [(header::ETAG, tag)]).into_response());
    }
    let Some((first, last)) = parse_range(range, length) else {
        let total = format!("bytes */{length}");
        let total = HeaderValue::try_from(total).expect("a number is a header value");
        let headers = [(header::CONTENT_RANGE, total)];
        return Ok((StatusCode::RANGE_NOT_SATISFIABLE, headers).into_response());
    };
    let body = read_piece(path, first, last - first + 1).await?;
    let place = format!("bytes {first}-{last}/{length}");
    let headers = [
        (header::CONTENT_TYPE, HeaderValue::from_static("application/vnd.pmtiles")),
        (header::CONTENT_RANGE, HeaderValue::try_from(place).expect("numbers are a header value")),
        (header::ACCEPT_RANGES, HeaderValue::from_static("bytes")),
        (header::CACHE_CONTROL, HeaderValue::from_static("public, max-age=3600")),
        (header::ETAG, tag),
    ];
    Ok((StatusCode::PARTIAL_CONTENT, headers, body).into_response())
}

/// The first and last byte asked for: `bytes=0-16383`; cut to what one reply holds.
fn parse_range(range: &str, length: u64) -> Option<(u64, u64)> {
    let (first, last) = range.strip_prefix("bytes=")?.split_once('-')?;
    let first: u64 = first.parse().ok()?;
    let last: u64 = if last.is_empty() { u64::MAX } else { last.parse().ok()? };
    let end = length.checked_sub(1)?;
    let last = last.min(end).min(first.saturating_add(RANGE_BYTES_MAX - 1));
    (first <= last).then_some((first, last))
}

async fn read_piece(path: &Path, start: u64, length: u64) -> io::Result<Bytes> {
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
    fn ranges_stay_within_the_archive_and_the_bound() {
        assert_eq!(parse_range("bytes=0-99", 1000), Some((0, 99)));
        assert_eq!(parse_range("bytes=900-2000", 1000), Some((900, 999)));
        assert_eq!(parse_range("bytes=900-", 1000), Some((900, 999)));
        assert_eq!(parse_range("bytes=0-", u64::MAX), Some((0, RANGE_BYTES_MAX - 1)));
        for wrong in ["bytes=1000-", "bytes=5-4", "bytes=-5", "bytes=a-b", "0-5", "bytes=0-1,3-4"] {
            assert_eq!(parse_range(wrong, 1000), None, "{wrong}");
        }
        assert_eq!(parse_range("bytes=0-0", 0), None);
    }
}
