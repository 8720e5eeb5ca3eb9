//! Sessions on the wire: what a session delivers, as the bytes that clients read.
//!
//! A transport pulls from its session when its socket can take more, so a slow socket slows only
//! itself. What many sockets are sent is encoded once and shared.
//!
//! What it must not know: HTTP servers and their types. A transport takes text and gives bytes.

pub mod partition;
pub mod sse;
pub mod websocket;
pub mod auth;
pub mod centrifuge;

mod frames;
mod json;
