//! Checks of the files of GBFS systems.

/// Checks a discovery file of a GBFS system: one that was read can be written, and then lists the same files.
///
/// # Panics
///
/// Panics if it does not.
pub fn discovery(bytes: &[u8]) {
    let limits = lineside_gbfs::DiscoveryLimits::default();
    let _ = lineside_gbfs::parse_file_ttl(bytes);
    let Ok((discovery, _)) = lineside_gbfs::decode_discovery_file(bytes, &limits) else { return };
    let same = lineside_gbfs::rewrite_discovery_urls(bytes, &limits, |_| None)
        .expect("it was read before");
    assert_eq!(same, bytes);
    let others = lineside_gbfs::rewrite_discovery_urls(bytes, &limits, |entry| {
        Some(format!("x:{}", entry.name))
    });
    let others = others.expect("it was read before");
    let (again, _) = lineside_gbfs::decode_discovery_file(&others, &limits)
        .expect("it was only given other addresses");
    assert_eq!(again.entries.len(), discovery.entries.len());
    for (new, old) in again.entries.iter().zip(&discovery.entries) {
        assert_eq!((&new.language, &new.name), (&old.language, &old.name));
        assert_eq!(*new.url, *format!("x:{}", old.name));
    }
}

/// Checks any other file of a system as every kind of file. A file that was read can be written as version 3, and then
/// has the same records and no problems; as version 2 it has no more than these.
///
/// # Panics
///
/// Panics if it does not.
pub fn file(bytes: &[u8]) {
    let limits = lineside_gbfs::FileLimits::default();
    for kind in lineside_gbfs::FileKind::ALL {
        let Ok((file, _)) = lineside_gbfs::decode_gbfs_file(kind, bytes, "en", &limits) else {
            continue;
        };
        for version in lineside_gbfs::WritableGbfsVersion::ALL {
            let written = lineside_gbfs::encode_gbfs_file(&file.content, &file.head, version, "en");
            let Some(written) = written else { continue };
            let again = lineside_gbfs::decode_gbfs_file(kind, &written.body, "en", &limits);
            let (again, problems) = again.expect("it was written by us");
            assert_eq!(again.content.record_count(), file.content.record_count());
            assert!(problems.is_empty(), "{:?}", problems.retained_problems());
        }
    }
}
