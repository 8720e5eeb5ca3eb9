//! Tests of server-sent events through the public interface: the bytes as a browser reads them.

mod network;
mod browser;
mod stream;
mod cut;
