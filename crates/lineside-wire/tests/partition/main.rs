//! Tests of partitions over real sockets: with slow, dead and misbehaving clients.

#![expect(clippy::disallowed_methods, reason = "these tests wait for real sockets in real time")]

mod good_and_bad;
mod other_transport;
mod peer;
mod stage;
