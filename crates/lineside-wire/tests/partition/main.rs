//! Partitions over real sockets: thousands of rows, slow ones, dead ones and lying ones among them.

#![expect(clippy::disallowed_methods, reason = "real sockets are waited for in real time")]

mod good_and_bad;
mod peer;
mod stage;
