//! Wire protocols: a session's deliveries as the bytes that clients read.
//!
//! A transport pulls from its session when its socket can accept more, so a slow socket slows only itself. Data for
//! many sockets is encoded once and shared.
//!
//! This crate does not know HTTP servers and their types: a transport takes text and returns bytes.

pub mod partition;
pub mod sse;
pub mod websocket;
pub mod auth;
pub mod centrifuge;

mod close_reason;
pub mod codes;
mod frames;
mod json;
mod protocol_format;
mod thread_codecs;
