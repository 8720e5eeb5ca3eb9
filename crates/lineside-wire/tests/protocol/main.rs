//! The protocols of a WebSocket from outside: what a client and a server make of each other's bytes.

#[path = "../../../../fuzz/src/wire.rs"]
pub mod checks;
#[path = "../sse/network.rs"]
mod network;

mod frames;
mod handshake;
mod clients;
mod messages;
mod operators;
mod peer;
mod pushes;
