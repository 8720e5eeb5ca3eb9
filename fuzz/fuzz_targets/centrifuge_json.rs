//! Fuzzes commands and replies in JSON.

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| lineside_fuzz::wire::centrifuge_json(bytes));
