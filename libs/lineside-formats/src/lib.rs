//! Public-transport formats: bytes to records and back.
//!
//! Decoders are total: any bytes give records and [`Problems`], or a refusal ([`Error`]), in
//! bounded memory. They do no I/O of their own, know no clock and no network; bytes and dates come
//! in as arguments. One feature per format.

#![warn(missing_docs)]

mod error;
#[cfg(feature = "loss")]
mod loss;
mod problem;
mod sniff;
#[cfg(feature = "gbfs")]
pub mod gbfs;
#[cfg(feature = "gtfs")]
pub mod gtfs;
#[cfg(feature = "gtfs-rt")]
pub mod gtfs_rt;
#[cfg(feature = "netex")]
pub mod netex;
#[cfg(feature = "siri")]
pub mod siri;
#[cfg(any(feature = "netex", feature = "siri"))]
mod span;
#[cfg(any(feature = "netex", feature = "siri"))]
mod xml;

pub use error::{Error, ErrorKind};
#[cfg(feature = "loss")]
pub use loss::{Loss, Losses};
pub use problem::{Problem, Problems};
pub use sniff::{Format, begins_as_schedule, is_json_twin, looks_like_html, sniff, sniff_schedule};
