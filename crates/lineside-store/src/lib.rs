//! Persistent storage: one SQLite file in the data folder, and a folder of bodies next to it.
//!
//! # Layout
//! - [`Store`]: the open file; it implements [`PollArchive`](lineside_ingest::PollArchive) for pollers and readers
//! - `schema`: the tables, and the migration of older files
//! - `writable_file`: the connection of the writer, which is opened later if the disk is full
//! - `writer`: the only writing thread, which batches requests in one transaction
//! - `reader_pool`: a few reading connections, which never wait for the writer
//! - `blobs`: snapshots, each in a file named by its hash, and the threads that save them
//! - `snapshots`: the references from feeds to snapshots
//! - `versions`: the versions of schedules and their periods
//! - `reports`: validation reports
//! - `delays`: counts of late trips over the day
//! - `edits`: the operator's changes, committed one by one
//! - `notification`: the last notifications of each target
//! - `retention`: the deletion of old rows
//!
//! # Guarantees
//! Requests to write never block: they are added to a bounded queue, and dropped ones are counted. Data that
//! [`Store::flush_writes`] acknowledged survive a crash or a power cut. A failing disk is reported, writes are retried,
//! and nothing else stops. A file that cannot be used is left unchanged, and the error says what to do.
//!
//! The crate does not know HTTP and does not decide what to store. Reads and flushes block, so threads that serve
//! sockets must not call them.

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
