//! What must hold for any bytes from a stranger, one function per decoder.
//!
//! The fuzzers call these with bytes of their own making, and tests on stable call them with every file under
//! `seeds/`. That they return at all is the first promise: no panic, no endless loop, bounded memory.

pub mod formats;
pub mod wire;
