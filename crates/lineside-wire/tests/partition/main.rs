//! Partitions over real sockets: thousands of rows, slow ones, dead ones and lying ones among them.

mod good_and_bad;
mod peer;
mod stage;
