//! Validation of public-transport data: rules over its files that produce notices and a report.
//!
//! The crate is pure: bytes, the day and the country are arguments; nothing is fetched or written. Read the modules in
//! this order:
//!
//! - [`notice`]: notices, their totals and their samples;
//! - [`gtfs`]: a schedule's files as typed columns, the checks of each cell, and the lookups that rules use;
//! - [`rules`]: a table of rules for each format, and a page for each kind of notice;
//! - [`report`]: the findings in the shape of the reference validator's `report.json`.
//!
//! Faults of the validator itself (a rule that panics) are reported apart from findings about the data.

#![warn(missing_docs)]

pub mod gtfs;
pub mod notice;
pub mod report;
pub mod rules;
mod cancel;
mod jobs;

pub use cancel::{CancelToken, CancellableRowNumbers};
pub use notice::{NoticeKind, Notices, Severity};

use jiff::civil::Date;

/// The inputs of rules besides the data.
#[derive(Clone, Copy, Debug)]
pub struct ValidationContext {
    /// The day for which the data is judged, in no particular time zone.
    pub today: Date,
    /// The country whose telephone numbers are expected (ISO 3166, capitals). If unknown, telephone numbers are not
    /// checked.
    pub country: Option<[u8; 2]>,
    /// The number of worker threads; at least one is used.
    pub threads: usize,
}
