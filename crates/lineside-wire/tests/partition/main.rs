//! Tests of partitions over real sockets: with slow, dead and misbehaving clients.

#![expect(clippy::disallowed_methods, reason = "real sockets are waited for in real time")]

mod good_and_bad;
mod peer;
mod stage;
