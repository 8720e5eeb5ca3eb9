//! Public-transport formats: bytes to records and back. No I/O, no clock, no network.

#[cfg(feature = "gtfs")]
pub mod gtfs;
#[cfg(feature = "gtfs-rt")]
pub mod gtfs_rt;
