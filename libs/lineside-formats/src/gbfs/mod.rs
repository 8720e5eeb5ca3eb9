//! GBFS, as far as a system is passed on: its discovery file of version 1, 2 and 3, read and rewritten, and the `ttl` of
//! any of its files. What the other files say is not read.
//!
//! A discovery file is never put together anew: the addresses in it are cut out and others put in their place, so that
//! everything else stays as its producer wrote it, down to the digits of its numbers.

mod discovery;
mod document;
mod limits;

pub use discovery::{Discovery, Entry, decode, rewrite};
pub use document::ttl;
pub use limits::Limits;
