//! What is remembered on the disk: one SQLite file in the data folder, and a folder of bodies beside it.
//!
//! # Layout
//! - [`Store`]: the file, open; it is an [`Archive`](lineside_ingest::PollArchive) for those who poll and those who ask
//! - `schema`: the tables, and how an older file comes to have them
//! - `writable_file`: the connection that writes, and its opening once a full disk has room
//! - `writer`: the one thread that writes, many things in one transaction
//! - `readers`: a few connections that read, and never wait for the writer
//! - `blobs`: last good bytes, each in a file named by its hash, and the threads that keep them
//! - `snapshots`: which of them is which feed's
//! - `versions`: what schedules were, and when
//! - `reports`: what was found in them
//! - `delays`: how many trips were late over the day
//! - `edits`: what the operator changes, committed one by one
//! - `notification`: what targets of notifications were told
//! - `keeping`: what is let go of, and when
//!
//! # What it promises
//! Telling never waits: a bounded queue takes it, and what does not fit is counted. What [`Store::flush`] has
//! acknowledged is there after the process is killed, or the power is cut. A disk that fails is told of, tried again, and
//! stops nothing else. A file that cannot be used is left as it is, and the error says what to do.
//!
//! It knows nothing of HTTP, and does not decide what is worth remembering. Reading and flushing block: they are not for
//! threads that serve sockets.

mod blobs;
mod delays;
mod edits;
mod error;
mod retention;
mod life;
pub mod limits;
mod notification;
mod reader_pool;
mod reports;
mod schema;
mod snapshots;
mod store;
mod versions;
mod writable_file;
mod writer;

pub use blobs::BlobHash;
pub use delays::DelayRow;
pub use edits::{NumberedEdit, OverrideEdit};
pub use error::StoreError;
pub use notification::NotificationRow;
pub use reports::{ReportRow, ReportSummaryRow};
pub use store::{RetentionPolicy, Store, StoreMetrics};
pub use versions::ScheduleVersion;
