//! GBFS 1.0 to 3.1. Reads and rewrites the discovery file of a system; reads every other file to one set of records
//! with the names of version 3, and writes these as 2.3 or 3.0.
//!
//! A discovery file is never re-encoded when it is forwarded. Only its URLs are replaced, so all else stays as its
//! producer wrote it, down to the digits of its numbers.
//!
//! Each field of a record is read independently (see `record.rs`), and common deviations from the specification are
//! accepted. Every deviation is a problem that names file and field; a bad field does not affect the others.

#![warn(missing_docs)]

mod contacts;
mod discovery;
mod encode;
mod envelope;
mod file;
mod hours;
mod languages;
mod limits;
mod record;
pub mod records;
#[cfg(test)]
mod sample;
#[cfg(test)]
mod tests;
pub mod values;
pub mod zones;

pub use contacts::FEED_CONTACT_STAND_IN;
pub use discovery::{DiscoveryEntry, DiscoveryFile, decode_discovery_file, rewrite_discovery_urls};
pub use encode::{
    EncodedGbfsFile, encode_discovery_file, encode_gbfs_file, encode_station_information,
    encode_station_status, encode_vehicle,
};
pub use envelope::parse_file_ttl;
pub use file::{FileContent, FileHeader, FileKind, GbfsFile, decode_gbfs_file};
pub use languages::output_file_name;
pub use limits::{DiscoveryLimits, FileLimits};
pub use record::writer::WritableGbfsVersion;
