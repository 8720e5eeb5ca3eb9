//! One-time fetches of a source outside of a feed, for its bytes or its format.

use std::{io::Write, path::Path, sync::Arc};

use bytes::Bytes;
use lineside_formats::{Format, schedule_format_by_file, sniff_format};
use lineside_sync::Clock;

use super::{
    FetchOutcome, SharedFetchContext, SourceFetcher, SourceRequest, folder, spool::BodyStreamWriter,
};
use crate::{
    feed_config::FeedConfig,
    fetch_failure::{FailureCode, FetchError, FetchFailure},
    limits::PROBE_BYTES,
    rate_limit::RateLimitPermit,
    source::SourceLocation,
};

/// Detects the format of a feed without a configured one, as its first poll would.
///
/// Fetches the source once, so it is meant for a start from the command line, where the schedule among several URLs is
/// unknown. The format of a folder follows from its files. Returns `None` if the source does not answer.
pub async fn detect_source_format(config: &FeedConfig, clock: Arc<dyn Clock>) -> Option<Format> {
    if config.configured_format().is_some() {
        return config.configured_format();
    }
    match &config.url {
        SourceLocation::Path(path) => {
            let path = path.clone();
            let probe = move || match path.is_dir() {
                true => folder::detect_folder_format(&path),
                false => detect_format_of_file(&path),
            };
            tokio::task::spawn_blocking(probe).await.ok()?
        }
        SourceLocation::Http(_) | SourceLocation::Replay { .. } => {
            let config = Arc::new(config.clone());
            let mut fetcher =
                SourceFetcher::new(&config, &SharedFetchContext::new("", clock, Arc::default()));
            match fetcher.fetch_source(RateLimitPermit::default(), SourceRequest::Plain).await {
                Ok(FetchOutcome::Body(body)) => sniff_format(&body.bytes),
                Ok(FetchOutcome::NotModified | FetchOutcome::Empty(_)) | Err(_) => None,
            }
        }
    }
}

/// Fetches the source of a feed once, like a poll, and returns the whole body.
///
/// # Errors
/// Returns the failure of the fetch.
pub async fn fetch_source_once(
    config: &FeedConfig,
    clock: Arc<dyn Clock>,
) -> Result<Bytes, FetchFailure> {
    fetch_once_with_spool(config, clock, None).await
}

/// Fetches an http(s) source once, like a poll, and writes the decompressed body piece by piece, so that it is never
/// whole in memory. Writing blocks the task, so this is for commands.
///
/// # Errors
/// Returns the failure of the fetch or of writing.
pub async fn fetch_once_into_writer(
    config: &FeedConfig,
    clock: Arc<dyn Clock>,
    writer: Box<dyn Write + Send + Sync>,
) -> Result<(), FetchFailure> {
    fetch_once_with_spool(config, clock, Some(BodyStreamWriter::new(writer))).await.map(drop)
}

async fn fetch_once_with_spool(
    config: &FeedConfig,
    clock: Arc<dyn Clock>,
    spool: Option<BodyStreamWriter>,
) -> Result<Bytes, FetchFailure> {
    let config = Arc::new(config.clone());
    let sources = SharedFetchContext::new("", Arc::clone(&clock), Arc::default());
    let mut fetcher = SourceFetcher::new(&config, &sources);
    if let Some(spool) = spool {
        fetcher.stream_next_body_into(spool);
    }
    let failure = match fetcher.fetch_source(RateLimitPermit::default(), SourceRequest::Plain).await
    {
        Ok(FetchOutcome::Body(body)) => return Ok(body.bytes),
        Ok(FetchOutcome::NotModified | FetchOutcome::Empty(_)) => {
            FetchError::new(FailureCode::Empty, "the response has an empty body")
        }
        Err(failure) => failure,
    };
    Err(failure.into_fetch_failure(clock.wall_time()))
}

/// A zip lists its names only at the end, so the name of its first file decides.
fn detect_format_of_file(path: &Path) -> Option<Format> {
    use std::io::Read;
    let mut head = Vec::new();
    std::fs::File::open(path).ok()?.take(PROBE_BYTES as u64).read_to_end(&mut head).ok()?;
    if !head.starts_with(b"PK\x03\x04") {
        return sniff_format(&head);
    }
    // The name follows 30 bytes of header, two of which contain its length.
    let length = usize::from(u16::from_le_bytes([*head.get(26)?, *head.get(27)?]));
    let name = head.get(30..30 + length)?;
    Some(schedule_format_by_file(&String::from_utf8_lossy(name)))
}
