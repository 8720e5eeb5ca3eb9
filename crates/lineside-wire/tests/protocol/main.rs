//! The protocols of a WebSocket from outside: what a client and a server make of each other's bytes.

#[path = "../../../../fuzz/src/wire.rs"]
pub mod checks;

mod frames;
mod handshake;
