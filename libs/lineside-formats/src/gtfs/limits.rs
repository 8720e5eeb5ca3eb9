//! The named bounds of reading a schedule.

/// How much of a dataset is read before it is refused. The defaults hold the largest national feeds
/// with room to spare.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DatasetLimits {
    /// Entries of the archive.
    pub entries: usize,
    /// Bytes of one file, inflated.
    pub entry_bytes: u64,
    /// Bytes of all files, inflated.
    pub total_bytes: u64,
    /// Bytes of one row; a longer one is skipped with a problem. Also how much of a file is in
    /// memory at once.
    pub line_bytes: usize,
    /// How many times larger than its compressed bytes a file may inflate, looked at from
    /// [`DatasetLimits::RATIO_FREE_BYTES`] on: tables compress 5 to 40 times, bombs about 1,000 times.
    pub ratio: u64,
    /// Rows of one file; further ones are left out with a problem. Stop times and shape points take
    /// at most 32 bytes of memory each.
    pub rows: u64,
    /// Agencies, stops, routes, weekly services or trips, likewise. These take about 100 bytes
    /// each.
    pub things: u64,
}

impl DatasetLimits {
    /// Inflated bytes of a file that are not held against it, however small it was.
    pub const RATIO_FREE_BYTES: u64 = 16 << 20;
    /// Bytes of one id, or of a reference to one; a row with a longer one is skipped with a problem.
    pub const ID_BYTES: usize = 1 << 10;
    /// Bytes of any other cell; a longer one is cut with a problem.
    pub const CELL_BYTES: usize = 64 << 10;
    /// Bytes of all distinct texts that a timetable keeps: ids, names and headsigns.
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
            things: 20_000_000,
        }
    }
}
