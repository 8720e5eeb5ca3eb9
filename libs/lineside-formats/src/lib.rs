//! Decoders and encoders of public-transport formats.
//!
//! Decoders are total: any bytes give records and [`Problems`], or a refusal ([`Error`]), in bounded memory. They do no
//! I/O of their own and use no clock or network; bytes and dates are arguments. Each format is a feature.

#![warn(missing_docs)]

mod body_prefix;
mod error;
mod format;
mod limits;
#[cfg(feature = "loss")]
mod conversion_report;
mod problem;
mod sniff;
#[cfg(feature = "gtfs")]
pub mod gtfs;
#[cfg(feature = "gtfs-rt")]
pub mod gtfs_rt;
#[cfg(feature = "netex")]
pub mod netex;
#[cfg(feature = "siri")]
pub mod siri;
#[cfg(any(feature = "netex", feature = "siri"))]
mod xsd_duration;
#[cfg(any(feature = "netex", feature = "siri"))]
mod xml;

pub use body_prefix::looks_like_html;
#[cfg(feature = "loss")]
pub use conversion_report::{ConversionReport, DroppedObjectsByReason};
pub use error::{Error, ErrorKind};
pub use format::{Format, FormatKind};
pub use problem::{Problem, Problems};
pub use sniff::{
    guess_format_by_name, is_gtfs_rt_json, may_be_schedule, schedule_format_by_file, sniff_format,
    sniff_schedule_format,
};
