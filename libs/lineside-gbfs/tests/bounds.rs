//! Bodies that are too large are refused by their length, before they are read.

use lineside_formats::{Error, ErrorKind};

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

const DECODERS: [(&str, Decode); 2] = [
    ("a file", |body| {
        let limits = lineside_gbfs::FileLimits::default();
        lineside_gbfs::decode_gbfs_file(
            lineside_gbfs::FileKind::StationStatus,
            &body,
            "en",
            &limits,
        )
        .map(drop)
    }),
    ("the discovery file", |body| {
        lineside_gbfs::decode_discovery_file(&body, &lineside_gbfs::DiscoveryLimits::default())
            .map(drop)
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
