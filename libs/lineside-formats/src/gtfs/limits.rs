//! Limits on reading a schedule.

/// Limits beyond which a dataset is refused. The defaults leave ample room for the largest national feeds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DatasetLimits {
    /// Maximum number of files in the archive.
    pub entries: usize,
    /// Maximum size of one file, in bytes, uncompressed.
    pub entry_bytes: u64,
    /// Maximum size of all files, in bytes, uncompressed.
    pub total_bytes: u64,
    /// Maximum length of one row, in bytes; a longer one is skipped with a problem. No more of a file is
    /// in memory at once.
    pub line_bytes: usize,
    /// Maximum compression ratio of a file, checked from [`DatasetLimits::RATIO_FREE_BYTES`] on: tables compress 5 to
    /// 40 times, zip bombs about 1,000 times.
    pub ratio: u64,
    /// Maximum number of rows of one file; further ones are dropped with a problem. Stop times and shape points take at
    /// most 32 bytes of memory each.
    pub rows: u64,
    /// Maximum number of agencies, stops, routes, weekly services or trips, each; further ones are dropped with a
    /// problem. These take about 100 bytes each.
    pub entities: u64,
}

impl DatasetLimits {
    /// Number of uncompressed bytes of a file up to which its compression ratio is not checked.
    pub const RATIO_FREE_BYTES: u64 = 16 << 20;
    /// Maximum length of an id or a reference to one, in bytes; a row with a longer one is skipped with a problem.
    pub const ID_BYTES: usize = 1 << 10;
    /// Maximum length of any other cell, in bytes; a longer one is cut with a problem.
    pub const CELL_BYTES: usize = 64 << 10;
    /// Maximum total size of the distinct texts of a timetable, in bytes: ids, names and headsigns.
    pub const TEXT_BYTES: usize = 2 << 30;
}

impl Default for DatasetLimits {
    fn default() -> DatasetLimits {
        DatasetLimits {
            entries: 1_000,
            entry_bytes: 6 << 30,
            total_bytes: 12 << 30,
            line_bytes: 1 << 20,
            ratio: 250,
            rows: 200_000_000,
            entities: 20_000_000,
        }
    }
}
