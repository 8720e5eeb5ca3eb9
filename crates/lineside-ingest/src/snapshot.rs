//! The last good bytes of a feed, with what is known of them.

use bytes::Bytes;
use lineside_formats::Format;
use lineside_sync::UnixMillis;
use smol_str::{SmolStr, format_smolstr};
use xxhash_rust::xxh3::xxh3_128;

/// One version of a feed's bytes.
#[derive(Clone, Debug)]
pub struct Snapshot {
    /// The body as the source sent it, inflated.
    pub bytes: Bytes,
    /// Hash of the bytes.
    pub hash: u128,
    /// What the bytes are.
    pub format: Format,
    /// The source's media type, else the usual one of the format.
    pub content_type: String,
    /// A name for downloads.
    pub file_name: String,
    /// When these bytes first came.
    pub fetched_at: UnixMillis,
    /// When the source says that they changed.
    pub last_modified: Option<UnixMillis>,
}

impl Snapshot {
    /// The hash that tells one body from another.
    pub(crate) fn hash_of(bytes: &[u8]) -> u128 {
        xxh3_128(bytes)
    }

    /// A strong entity tag, in quotes.
    pub fn etag(&self) -> SmolStr {
        format_smolstr!("\"{:032x}\"", self.hash)
    }

    /// When the content changed: by the source, else when it was first seen.
    pub fn modified(&self) -> UnixMillis {
        self.last_modified.unwrap_or(self.fetched_at)
    }
}

/// The usual media type of a format.
pub(crate) fn media_type(format: Format) -> &'static str {
    match format {
        Format::Gtfs => "application/zip",
        Format::GtfsRt => "application/x-protobuf",
        Format::Raw => "application/octet-stream",
    }
}

/// A file name for a feed whose address ends in none.
pub(crate) fn default_file_name(feed: &str, format: Format) -> String {
    match format {
        Format::Gtfs => format!("{feed}.zip"),
        Format::GtfsRt => format!("{feed}.pb"),
        Format::Raw => feed.to_owned(),
    }
}
