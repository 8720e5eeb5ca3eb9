//! Server-sent events from outside: what a browser would make of the bytes.

mod network;
mod browser;
mod stream;
mod cut;
