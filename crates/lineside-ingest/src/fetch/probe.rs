//! A source asked once, for whoever wants its bytes or what they are and not a feed.

use std::{io::Write, path::Path, sync::Arc};

use bytes::Bytes;
use lineside_formats::{Format, sniff_format};
use lineside_sync::Clock;

use super::{
    FailureCode, FetchContext, FetchError, FetchFailure, FetchOutcome, SourceFetcher,
    SourceRequest, folder, spool::BodySpool,
};
use crate::{
    config::FeedConfig, limits::PROBE_BYTES, rate_limit::RateLimitPermit, source::SourceLocation,
};

/// Finds the format of a feed that is configured without one, as its first poll would.
///
/// It asks the source once, so it is meant for a start from the command line, where nothing says which of a few
/// addresses is the schedule. Folders are told by what they are. `None` if the source does not answer.
pub async fn probe_format(config: &FeedConfig, clock: Arc<dyn Clock>) -> Option<Format> {
    if config.configured_format().is_some() {
        return config.configured_format();
    }
    match &config.url {
        SourceLocation::Path(path) => {
            let path = path.clone();
            let probe = move || match path.is_dir() {
                true => folder::detect_folder_format(&path),
                false => probe_file_format(&path),
            };
            tokio::task::spawn_blocking(probe).await.ok()?
        }
        SourceLocation::Http(_) | SourceLocation::Replay { .. } => {
            let config = Arc::new(config.clone());
            let mut fetcher =
                SourceFetcher::new(&config, &FetchContext::new("", clock, Arc::default()));
            match fetcher.fetch_source(RateLimitPermit::default(), SourceRequest::Plain).await {
                Ok(FetchOutcome::Body(body)) => sniff_format(&body.bytes),
                Ok(FetchOutcome::NotModified | FetchOutcome::Nothing(_)) | Err(_) => None,
            }
        }
    }
}

/// Asks the source of a feed once, as a poll would, and gives the whole body.
///
/// # Errors
/// Why there is none.
pub async fn fetch_once(config: &FeedConfig, clock: Arc<dyn Clock>) -> Result<Bytes, FetchFailure> {
    fetch_source(config, clock, None).await
}

/// Asks an http(s) source once, as a poll would, and writes the body piece by piece, inflated: it is never in memory.
/// What is written blocks for as long as `writer` does, so this is for commands.
///
/// # Errors
/// Why there is no body, or why it cannot be written.
pub async fn fetch_into(
    config: &FeedConfig,
    clock: Arc<dyn Clock>,
    writer: Box<dyn Write + Send + Sync>,
) -> Result<(), FetchFailure> {
    fetch_source(config, clock, Some(BodySpool::new(writer))).await.map(drop)
}

async fn fetch_source(
    config: &FeedConfig,
    clock: Arc<dyn Clock>,
    spool: Option<BodySpool>,
) -> Result<Bytes, FetchFailure> {
    let config = Arc::new(config.clone());
    let sources = FetchContext::new("", Arc::clone(&clock), Arc::default());
    let mut fetcher = SourceFetcher::new(&config, &sources);
    if let Some(spool) = spool {
        fetcher.spool_next_body(spool);
    }
    let failure = match fetcher.fetch_source(RateLimitPermit::default(), SourceRequest::Plain).await
    {
        Ok(FetchOutcome::Body(body)) => return Ok(body.bytes),
        Ok(FetchOutcome::NotModified | FetchOutcome::Nothing(_)) => {
            FetchError::new(FailureCode::Empty, "the answer has nothing in its body")
        }
        Err(failure) => failure,
    };
    Err(failure.into_fetch_failure(clock.wall_time()))
}

/// A zip shows all its names only at its end, so it is told by the name of its first file.
fn probe_file_format(path: &Path) -> Option<Format> {
    use std::io::Read;
    let mut head = Vec::new();
    std::fs::File::open(path).ok()?.take(PROBE_BYTES as u64).read_to_end(&mut head).ok()?;
    if !head.starts_with(b"PK\x03\x04") {
        return sniff_format(&head);
    }
    // The name stands after 30 bytes of other facts, two of which say how long it is.
    let length = usize::from(u16::from_le_bytes([*head.get(26)?, *head.get(27)?]));
    let name = head.get(30..30 + length)?.to_ascii_lowercase();
    Some(if name.ends_with(b".xml") { Format::Netex } else { Format::Gtfs })
}
