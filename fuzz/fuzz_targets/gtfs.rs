//! Fuzzes zip archives that claim to be schedules.

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| lineside_fuzz::formats::gtfs(bytes));
