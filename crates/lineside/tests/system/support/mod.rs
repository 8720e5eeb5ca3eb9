//! What the tests of the whole share.

pub mod events;
pub mod http;
pub mod process;
