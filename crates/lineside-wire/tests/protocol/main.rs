//! Tests of the WebSocket protocols through the public interface: a client and a server read each other's bytes.

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
