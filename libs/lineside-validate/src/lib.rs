//! What is wrong with public-transport data: rules over its files, as notices and a report.
//!
//! Pure: bytes, the day and the country come in as arguments; nothing is fetched or written. Read
//! in this order:
//!
//! - [`notice`]: what a rule says, and how many are kept;
//! - [`gtfs`]: a schedule's files as typed columns, the checks of each cell, and what rules ask them;
//! - [`rules`]: a table for each format, and a page for each kind of notice;
//! - [`report`]: what was found, in the shape of the reference validator's `report.json`.
//!
//! Our own faults (a rule that panics) stand apart from the data's and are never mixed with them.

#![warn(missing_docs)]

pub mod gtfs;
pub mod notice;
pub mod report;
pub mod rules;
mod cancel;

pub use cancel::{CancelToken, RowNumbers};
pub use notice::{NoticeKind, Notices, Severity};

use jiff::civil::Date;

/// What rules are told besides the data.
#[derive(Clone, Copy, Debug)]
pub struct ValidationContext {
    /// The day on which the data is judged, in no particular zone.
    pub today: Date,
    /// The country whose telephone numbers are expected (ISO 3166, capitals); unknown: numbers are
    /// not judged.
    pub country: Option<[u8; 2]>,
    /// How many threads may work; at least one does.
    pub threads: usize,
}
