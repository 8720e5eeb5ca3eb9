//! Persistent storage: one SQLite file in the data folder, and a folder of bodies next to it.
//!
//! # Layout
//! - [`Store`]: the open file; it implements [`PollArchive`](lineside_model::PollArchive) for pollers and readers
//! - `schema`: the tables, and the migration of older files
//! - `writable_file`: the connection of the writer, which is opened later if the disk is full
//! - `writer`: the only writing thread, which batches requests in one transaction
//! - `reader_pool`: a few reading connections, which never wait for the writer
//! - `blobs`: snapshots, each in a file named by its hash, and the threads that save them
//! - `tables`: the rows of each table and their statements: snapshots and versions of schedules, validation reports,
//!   counts of late trips, notifications, runs of the server, and the deletion of old rows
//! - `store/edits.rs`: the operator's changes, committed one by one
//!
//! # Guarantees
//! Requests to write never block: they are added to a bounded queue, and dropped ones are counted. Data that
//! [`Store::flush_writes`] acknowledged survive a crash or a power cut. A failing disk is reported, writes are retried,
//! and nothing else stops. A file that cannot be used is left unchanged, and the error says what to do.
//!
//! The crate does not know HTTP and does not decide what to store. Reads and flushes block, so threads that serve
//! sockets must not call them.

mod blob_hash;
mod blobs;
mod error;
pub mod limits;
mod reader_pool;
mod schema;
mod store;
mod tables;
mod writable_file;
mod write_request;
mod writer;

pub use blob_hash::BlobHash;
pub use error::StoreError;
pub use store::{FeedOverrideEdit, NumberedOverrideEdit, Store, StoreMetrics};
pub use tables::{
    delays::DelayCountRow,
    notification::NotificationRow,
    reports::{ReportRow, ReportSummaryRow},
    retention::RetentionPolicy,
    versions::ScheduleVersion,
};
