//! A source asked once, for whoever wants its bytes or what they are and not a feed.

use std::{io::Write, path::Path, sync::Arc};

use bytes::Bytes;
use lineside_formats::{Format, sniff};
use lineside_sync::Clock;

use super::{
    Failure, FailureCode, FetchFailure, Fetched, Fetcher, Question, Sources, folder, spool::Spool,
};
use crate::{budget::Turn, config::FeedConfig, limits::PROBE_BYTES, source::Location};

/// Finds the format of a feed that is configured without one, as its first poll would.
///
/// It asks the source once, so it is meant for a start from the command line, where nothing says which of a few
/// addresses is the schedule. Folders are told by what they are. `None` if the source does not answer.
pub async fn probe(config: &FeedConfig, clock: Arc<dyn Clock>) -> Option<Format> {
    if config.promised().is_some() {
        return config.promised();
    }
    match &config.url {
        Location::Path(path) => {
            let path = path.clone();
            let probe = move || match path.is_dir() {
                true => folder::format_of(&path),
                false => probe_file(&path),
            };
            tokio::task::spawn_blocking(probe).await.ok()?
        }
        Location::Http(_) | Location::Replay { .. } => {
            let config = Arc::new(config.clone());
            let mut fetcher = Fetcher::new(&config, &Sources::new("", clock, Arc::default()));
            match fetcher.fetch(Turn::default(), Question::Plain).await {
                Ok(Fetched::Body(body)) => sniff(&body.bytes),
                Ok(Fetched::NotModified | Fetched::Nothing(_)) | Err(_) => None,
            }
        }
    }
}

/// Asks the source of a feed once, as a poll would, and gives the whole body.
///
/// # Errors
/// Why there is none.
pub async fn fetch_once(config: &FeedConfig, clock: Arc<dyn Clock>) -> Result<Bytes, FetchFailure> {
    fetch(config, clock, None).await
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
    fetch(config, clock, Some(Spool::new(writer))).await.map(drop)
}

async fn fetch(
    config: &FeedConfig,
    clock: Arc<dyn Clock>,
    spool: Option<Spool>,
) -> Result<Bytes, FetchFailure> {
    let config = Arc::new(config.clone());
    let sources = Sources::new("", Arc::clone(&clock), Arc::default());
    let mut fetcher = Fetcher::new(&config, &sources);
    if let Some(spool) = spool {
        fetcher.spool_to(spool);
    }
    let failure = match fetcher.fetch(Turn::default(), Question::Plain).await {
        Ok(Fetched::Body(body)) => return Ok(body.bytes),
        Ok(Fetched::NotModified | Fetched::Nothing(_)) => {
            Failure::new(FailureCode::Empty, "the answer has nothing in its body")
        }
        Err(failure) => failure,
    };
    Err(failure.at(clock.wall()))
}

/// A zip shows all its names only at its end, so it is told by the name of its first file.
fn probe_file(path: &Path) -> Option<Format> {
    use std::io::Read;
    let mut head = Vec::new();
    std::fs::File::open(path).ok()?.take(PROBE_BYTES as u64).read_to_end(&mut head).ok()?;
    if !head.starts_with(b"PK\x03\x04") {
        return sniff(&head);
    }
    // The name stands after 30 bytes of other facts, two of which say how long it is.
    let length = usize::from(u16::from_le_bytes([*head.get(26)?, *head.get(27)?]));
    let name = head.get(30..30 + length)?.to_ascii_lowercase();
    Some(if name.ends_with(b".xml") { Format::Netex } else { Format::Gtfs })
}
