//! Fuzzes SIRI messages in XML.

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| lineside_fuzz::formats::siri_xml(bytes));
