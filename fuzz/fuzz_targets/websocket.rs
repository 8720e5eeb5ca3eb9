//! Fuzzes the bytes of a WebSocket connection.

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| lineside_fuzz::wire::websocket(bytes));
