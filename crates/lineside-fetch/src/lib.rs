//! Fetching: the current bytes of one source, or the reason why there are none.
//!
//! # Layout
//! - [`fetch`]: requests over HTTP, local files and folders, recordings, and the tokens of sources
//! - [`poll_schedule`]: the time of the next poll, and [`rate_limit`]: whether the host's rate limit allows it
//! - [`subprocess`]: programs of the operator that convert or validate bytes, within limits
//! - [`PublicOnlyHttpClient`]: requests to addresses that strangers name, which reach public hosts only
//!
//! # Guarantees
//! A source's secrets appear in no message. Time, size and the number of redirects of each request are bounded. Formats
//! are used only to detect that of a probed source, to pack the files of a GTFS folder, and to read the timestamps of
//! recorded messages. A caller that wants the reason inside an error body passes a reader of it.

pub mod dns_lookup;
pub mod fetch;
pub mod limits;
pub mod poll_schedule;
pub mod public_only;
pub mod rate_limit;
pub mod subprocess;

use lineside_model::{feed_config, feed_id, fetch_failure, snapshot_store, source};

pub use fetch::{
    detect_source_format, fetch_once_into_writer, fetch_source_once, zip_schedule_folder,
};
pub use public_only::{PublicOnlyHttpClient, UrlRejection, is_public};
pub use subprocess::{
    OutputRedactor, ProgramError, ValidatorOutput, run_external_validator, run_program,
};
