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
mod document;
mod encode;
mod file;
mod hours;
mod languages;
mod limits;
mod reading;
mod record;
pub mod records;
#[cfg(test)]
mod sample;
#[cfg(test)]
mod tests;
pub mod values;
mod writing;
pub mod zones;

pub use contacts::FEED_CONTACT_STAND_IN;
pub use discovery::{Discovery, Entry, decode, rewrite};
pub use document::ttl;
pub use encode::{
    Written, encode_discovery, encode_file, station_object, status_object, vehicle_object,
};
pub use file::{Content, File, FileKind, Head, decode_file};
pub use languages::name_out;
pub use limits::{FileLimits, Limits};
pub use writing::Version;
