//! The files of a GBFS system in the catalog.

use lineside_ingest::{Feed, Part};
use serde::Serialize;
use utoipa::ToSchema;

use crate::http::times::rfc3339;

/// A file of a system: how it is, and where to read it.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct FileItem {
    /// Its name, as the discovery file has it.
    name: String,
    /// Its language, in versions that have them.
    language: Option<String>,
    /// As of a feed: `ok`, `late`, `stale`, `failing`, `empty`, `paused` or `unknown`.
    state: &'static str,
    /// Why, in words.
    reason: String,
    /// When it last came or was confirmed.
    last_success: Option<String>,
    /// When it is asked for next.
    next_poll: Option<String>,
    /// How long it is; null if it has not come yet.
    bytes: Option<usize>,
    /// Complaints about what it says.
    problems: u64,
    /// Where to read it.
    url: String,
}

pub(super) fn items(system: &Feed, base: &str) -> Vec<FileItem> {
    system.parts().iter().map(|part| item(system, part, base)).collect()
}

fn item(system: &Feed, part: &Part, base: &str) -> FileItem {
    let status = part.feed.status();
    FileItem {
        name: part.name.to_string(),
        language: part.language.as_ref().map(ToString::to_string),
        state: status.state.as_str(),
        reason: status.reason.clone(),
        last_success: status.last_success.and_then(rfc3339),
        next_poll: status.next_poll.and_then(rfc3339),
        bytes: part.feed.snapshot().map(|snapshot| snapshot.bytes.len()),
        problems: status.problems.total(),
        url: format!("{base}/proxy/{}/{}.json", system.id(), part.path()),
    }
}
