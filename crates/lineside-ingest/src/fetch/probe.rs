//! What a source holds, from the first bytes of its body.

use std::{path::Path, sync::Arc};

use lineside_formats::{Format, sniff};
use lineside_sync::Clock;

use super::{Fetched, Fetcher, Sources};
use crate::{budget::Turn, config::FeedConfig, limits::PROBE_BYTES, source::Location};

/// Finds the format of a feed that is configured without one, as its first poll would.
///
/// It asks the source once, so it is meant for a start from the command line, where nothing says which of a few
/// addresses is the schedule. Folders are told by what they are. `None` if the source does not answer.
pub async fn probe(config: &FeedConfig, clock: Arc<dyn Clock>) -> Option<Format> {
    if config.format.is_some() {
        return config.format;
    }
    match &config.url {
        Location::Folder(_) => Some(Format::Gtfs),
        Location::File(path) => {
            let path = path.clone();
            tokio::task::spawn_blocking(move || probe_file(&path)).await.ok()?
        }
        Location::Http(_) | Location::Replay { .. } => {
            let config = Arc::new(config.clone());
            let mut fetcher = Fetcher::new(&config, &Sources::new("", clock, Arc::default()));
            match fetcher.fetch(Turn::default()).await {
                Ok(Fetched::Body(body)) => sniff(&body.bytes),
                Ok(Fetched::NotModified | Fetched::Nothing(_)) | Err(_) => None,
            }
        }
    }
}

/// A zip shows its names at the end too, so it is told by its first bytes alone.
fn probe_file(path: &Path) -> Option<Format> {
    use std::io::Read;
    let mut head = Vec::new();
    std::fs::File::open(path).ok()?.take(PROBE_BYTES as u64).read_to_end(&mut head).ok()?;
    if head.starts_with(b"PK\x03\x04") { Some(Format::Gtfs) } else { sniff(&head) }
}
