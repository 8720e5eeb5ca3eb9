//! Fuzzes schedules as text, so that the mutations reach the rows.

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| lineside_fuzz::formats::gtfs_text(bytes));
