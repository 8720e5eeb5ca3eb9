//! Fuzzes the files of GBFS systems except the discovery file.

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| lineside_fuzz::gbfs::file(bytes));
