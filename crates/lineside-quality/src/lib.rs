//! Whether data are good: checks, validation reports, conversions, and the tasks that create them.
//!
//! # Layout
//! - [`check`]: validation of files. [`convert`]: conversion of files to other formats.
//! - [`reports`], [`external_validators`]: the reports on feeds, by the rules and by the operator's own validators
//! - [`validation_tasks`]: the background tasks that create the reports
//! - [`uploads`]: validation of uploaded files. [`trip_matching`]: the match of real-time data with the timetable
//! - [`context`]: the parts of the server that background tasks and handlers share
//!
//! The crate uses no HTTP server. Long work runs on blocking threads, within limits of time and memory.

pub mod archive_reader;
pub mod check;
pub mod context;
pub mod convert;
pub mod external_validators;
pub mod job_queue;
pub mod json;
pub mod keyed_change;
pub mod last_stops;
pub mod notification_counts;
pub mod ops_channels;
pub mod reports;
pub mod shutdown;
pub mod trip_matching;
pub mod uploads;
pub mod validation_tasks;
