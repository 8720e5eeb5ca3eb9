//! Bodies that are too large are refused by their length, before they are read.
#![cfg(all(feature = "gtfs-rt", feature = "siri"))]

use jiff::tz::TimeZone;
use lineside_formats::{Error, ErrorKind, gtfs_rt, siri};

/// Returns 200 MB of zeros, which take no memory until they are read.
fn untouched() -> Vec<u8> {
    vec![0; 200_000_000]
}

/// Returns the peak resident size of this process in KiB; `None` if the system does not report it.
fn peak_kib() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    line.split_whitespace().next()?.parse().ok()
}

type Decode = fn(Vec<u8>) -> Result<(), Error>;

const DECODERS: [(&str, Decode); 3] = [
    ("siri, JSON", |body| {
        siri::decode_json_message(&body, &TimeZone::UTC, &siri::MessageLimits::default()).map(drop)
    }),
    ("siri, XML", |body| {
        siri::decode_xml_message(&body, &TimeZone::UTC, &siri::MessageLimits::default()).map(drop)
    }),
    ("gtfs-rt, JSON", |body| {
        gtfs_rt::decode_json(&body, &gtfs_rt::FeedMessageLimits::default()).map(drop)
    }),
];

#[test]
fn json_of_200_mb_is_refused_before_parsing() {
    for (name, decode) in DECODERS {
        let error = decode(untouched()).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::TooLarge, "{name}: {error}");
    }
    if let Some(peak) = peak_kib() {
        assert!(peak < 150_000, "{peak} KiB: the body was read");
    }
}
