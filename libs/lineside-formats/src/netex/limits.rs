//! The named bounds of reading a publication.

use crate::gtfs;

/// How much of a publication is read before it is refused. The defaults hold national publications.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PublicationLimits {
    /// Bounds on the archive, and on each file as it inflates. A file is in memory while it is read.
    pub files: gtfs::DatasetLimits,
    /// Longest text of one element, in bytes; a longer one is left out with a problem.
    pub text_bytes: usize,
    /// Most memory of all records and of the sets of days that they come to, in bytes, besides their texts.
    pub record_bytes: usize,
}

impl PublicationLimits {
    /// Deepest nesting of elements; frames in frames reach about 20.
    pub const DEPTH: usize = 100;
    /// Most days that calendars name one by one, all together.
    pub const EXCEPTIONS: u64 = 20_000_000;
    /// Most points of a pattern, and most calls of a journey.
    pub const CALLS: usize = 10_000;
    /// Most calls of all journeys: five times those of a national publication.
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
