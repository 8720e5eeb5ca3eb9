//! Fuzzes NeTEx publications.

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| lineside_fuzz::formats::netex(bytes));
