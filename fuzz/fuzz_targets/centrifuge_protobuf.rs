//! Fuzzes commands and replies in protobuf.

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| lineside_fuzz::wire::centrifuge_protobuf(bytes));
