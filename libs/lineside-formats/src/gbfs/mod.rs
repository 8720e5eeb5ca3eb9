//! GBFS 1.0 to 3.1: the discovery file of a system, read and rewritten, and every other file, read into one set of
//! records with the words of version 3 and written as 2.3 or 3.0.
//!
//! A discovery file is never put together anew when it is passed on: the addresses in it are cut out and others put in
//! their place, so that everything else stays as its producer wrote it, down to the digits of its numbers.
//!
//! Of a record every field is read for itself (`record.rs` has how), by what producers write and not only by what they
//! should: whatever is odd is a problem that names file and field, and a bad field costs nothing else.

mod contacts;
mod discovery;
mod envelope;
mod encode;
mod file;
mod hours;
mod languages;
mod limits;
mod record_reader;
mod record;
pub mod records;
#[cfg(test)]
mod sample;
#[cfg(test)]
mod tests;
pub mod values;
mod record_writer;
pub mod zones;

pub use contacts::FEED_CONTACT_STAND_IN;
pub use discovery::{DiscoveryEntry, DiscoveryFile, decode_discovery, rewrite_discovery};
pub use encode::{
    EncodedFile, encode_discovery, encode_file, encode_station, encode_station_status,
    encode_vehicle,
};
pub use envelope::parse_ttl;
pub use file::{FileContent, FileHeader, FileKind, GbfsFile, decode_file};
pub use languages::output_name;
pub use limits::{DiscoveryLimits, FileLimits};
pub use record_writer::GbfsVersion;
