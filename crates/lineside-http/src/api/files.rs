//! The files of a GBFS system, as part of the catalog.

use lineside_config::times::format_rfc3339;
use lineside_ingest::{Feed, GbfsFeedFile};
use serde::Serialize;
use utoipa::ToSchema;

/// A file of a GBFS system: its state and its address.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct FileItem {
    /// Its name in the discovery file.
    name: String,
    /// Its language, in versions that have them.
    language: Option<String>,
    /// Its state, as for feeds: `ok`, `late`, `stale`, `failing`, `empty`, `paused` or `unknown`.
    state: &'static str,
    /// The reason of the state.
    reason: String,
    /// Time at which it was last received or confirmed.
    last_success: Option<String>,
    /// Time of the next request.
    next_poll: Option<String>,
    /// Its size in bytes; null if it has not been received yet.
    bytes: Option<usize>,
    /// The number of its problems.
    problems: u64,
    /// Its address.
    url: String,
}

pub(super) fn gbfs_file_items(system: &Feed, base: &str) -> Vec<FileItem> {
    system.gbfs_files().iter().map(|part| gbfs_file_item(system, part, base)).collect()
}

fn gbfs_file_item(system: &Feed, part: &GbfsFeedFile, base: &str) -> FileItem {
    let status = part.feed.status();
    FileItem {
        name: part.name.to_string(),
        language: part.language.as_ref().map(ToString::to_string),
        state: status.state.as_str(),
        reason: status.reason.clone(),
        last_success: status.last_success.and_then(format_rfc3339),
        next_poll: status.next_poll.and_then(format_rfc3339),
        bytes: part.feed.snapshot().map(|snapshot| snapshot.bytes.len()),
        problems: status.problems.total_count(),
        url: format!("{base}/proxy/{}/{}.json", system.id(), part.path_with_language()),
    }
}
