//! Limits on reading a publication.

use crate::gtfs;

/// Limits beyond which a publication is refused. The defaults suffice for national publications.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PublicationLimits {
    /// Limits on the archive, and on each uncompressed file. One file at a time is in memory.
    pub files: gtfs::DatasetLimits,
    /// Longest text of one element, in bytes; a longer one is dropped with a problem.
    pub text_bytes: usize,
    /// Most memory of all records and the sets of days derived from them, in bytes, without their texts.
    pub record_bytes: usize,
}

impl PublicationLimits {
    /// Deepest nesting of elements; nested frames reach about 20.
    pub const DEPTH: usize = 100;
    /// Maximum number of individual days in all calendars.
    pub const EXCEPTIONS: u64 = 20_000_000;
    /// Maximum number of points of a pattern, and of calls of a journey.
    pub const CALLS: usize = 10_000;
    /// Maximum number of calls of all journeys: five times those of a national publication.
    pub const CALLS_IN_ALL: u64 = 50_000_000;
}

impl Default for PublicationLimits {
    fn default() -> PublicationLimits {
        PublicationLimits {
            files: gtfs::DatasetLimits {
                entries: 20_000,
                entry_bytes: 1 << 30,
                ..gtfs::DatasetLimits::default()
            },
            text_bytes: 64 << 10,
            record_bytes: 4 << 30,
        }
    }
}
