//! Fuzzes discovery files of GBFS systems.

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| lineside_fuzz::gbfs::discovery(bytes));
