//! Fuzzes GTFS-Realtime messages.

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| lineside_fuzz::formats::gtfs_rt(bytes));
