//! Fuzzes SIRI messages in JSON.

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| lineside_fuzz::formats::siri_json(bytes));
