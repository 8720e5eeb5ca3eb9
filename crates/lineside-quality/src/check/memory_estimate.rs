//! Estimates the memory of a check before it begins.

use lineside_config::format_size;
use lineside_formats::gtfs::{DatasetLimits, FileSet};
use lineside_formats::{Error, Format, netex, sniff_format};
use lineside_validate::CancelToken;
use lineside_validate::gtfs::{
    CancellableFileSource, MEMORY_PER_BYTE_MAX, ScheduleFileSource, ZipFileSource,
    estimate_max_memory as estimate_table_memory,
};
use lineside_validate::rules::netex as of_xml;

use super::progress::CancellableFileSet;

/// Bytes of memory per byte of a zipped file that is neither GTFS nor XML.
const MEMORY_PER_OTHER_BYTE: u64 = 2;

/// Returns an upper bound of the memory that a check takes, in bytes. It is computed from the sizes in the zip's
/// directory, which reading enforces. Only if that exceeds `allowed` are all files unpacked to count the rows of GTFS
/// and the elements of NeTEx.
///
/// # Errors
/// Returns an error if a counted file inflates far beyond its compressed size, or cannot be unpacked.
pub fn estimate_memory(bytes: &[u8], allowed: u64) -> Result<u64, Error> {
    estimate_until_cancelled(bytes, allowed, &CancelToken::default())
}

/// Estimates like [`estimate_memory`] until `stop` is cancelled.
///
/// # Errors
/// Returns the errors of [`estimate_memory`], and an error if it was cancelled before all was counted.
pub fn estimate_until_cancelled(
    bytes: &[u8],
    allowed: u64,
    stop: &CancelToken,
) -> Result<u64, Error> {
    // XML files in a GTFS zip are never read.
    let is_publication = sniff_format(bytes) != Some(Format::Gtfs);
    let publication =
        || netex::PublicationSource::new(bytes, &netex::PublicationLimits::default().files).ok();
    let mut publication = is_publication.then(publication).flatten();
    let publication_bytes = publication.as_mut().map_or(0, |files| {
        let names = files.file_names();
        let sizes = names.iter().map(|name| files.file_size_hint(name).unwrap_or(0));
        sizes.fold(0, u64::saturating_add).saturating_mul(of_xml::MEMORY_PER_BYTE_MAX)
    });
    let sources = open_gtfs_zip_sources(bytes);
    let files = || {
        sources
            .iter()
            .flat_map(|source| source.list_files().into_iter().map(move |it| (source, it)))
    };
    // XML files are estimated as NeTEx, in any folder.
    let is_read = |name: &str| is_publication && name.to_ascii_lowercase().ends_with(".xml");
    let files = || files().filter(|(_, (name, _))| !is_read(name));
    let all = files().map(|(_, (_, size))| size).fold(0, u64::saturating_add);
    let at_most = all.saturating_mul(MEMORY_PER_BYTE_MAX).saturating_add(publication_bytes);
    if at_most <= allowed {
        return Ok(at_most);
    }
    let mut sum = match &mut publication {
        Some(files) => of_xml::estimate_max_memory(&mut CancellableFileSet::new(files, stop))?,
        None => 0,
    };
    for (source, (name, size)) in files() {
        let source = CancellableFileSource::new(source, stop);
        let other_bytes = || size.saturating_mul(MEMORY_PER_OTHER_BYTE);
        sum = sum.saturating_add(
            estimate_table_memory(&source, &name, size)?.unwrap_or_else(other_bytes),
        );
    }
    Ok(sum)
}

/// Returns the GTFS sources of a zip; none for other bytes.
fn open_gtfs_zip_sources(bytes: &[u8]) -> Vec<ZipFileSource<'_>> {
    let source = ZipFileSource::new(bytes, &DatasetLimits::default()).ok();
    // For real-time messages, a schedule in a folder of the zip is read too.
    let nested = || ZipFileSource::open_with_any_folder(bytes, &DatasetLimits::default()).ok();
    let nested = source.as_ref().and_then(|_| nested()).filter(ZipFileSource::are_tables_in_folder);
    source.into_iter().chain(nested).collect()
}

/// Returns the limits of reading a publication in `allowed` bytes of memory. The estimate covers its records; the sets
/// of days, which may span any number of years, are counted as they are built.
pub fn netex_limits_for_memory(allowed: u64) -> netex::PublicationLimits {
    let mut limits = netex::PublicationLimits::default();
    limits.record_bytes = limits.record_bytes.min(usize::try_from(allowed).unwrap_or(usize::MAX));
    limits
}

/// Describes an estimate above the limit; `None` if it is within. `by` names the setting of the limit.
pub fn describe_if_over_memory_limit(needed: u64, allowed: u64, setting: &str) -> Option<String> {
    let needs = format_size(needed.div_ceil(1 << 20).saturating_mul(1 << 20));
    let allowed_text = format_size(allowed);
    (needed > allowed).then(|| {
        format!("it would take about {needs} of memory, and {setting} allows {allowed_text}")
    })
}

#[cfg(test)]
mod tests {
    use std::io::{Cursor, Write as _};

    use lineside_formats::ErrorKind;
    use zip::{CompressionMethod, ZipWriter, write::SimpleFileOptions};

    use super::*;

    fn zip(files: &[(&str, &str)]) -> Vec<u8> {
        let mut zip = ZipWriter::new(Cursor::new(Vec::new()));
        for (name, text) in files {
            let options = SimpleFileOptions::default();
            // The strongest compression.
            let options = options.compression_method(CompressionMethod::Deflated);
            let options = options.compression_level(Some(9));
            zip.start_file(*name, options).unwrap();
            zip.write_all(text.as_bytes()).unwrap();
        }
        zip.finish().unwrap().into_inner()
    }

    #[test]
    fn rows_are_counted_only_if_the_estimate_may_exceed_the_limit() {
        let levels = format!("level_id,level_index\n{}", "1,2\n".repeat(50));
        let bytes = zip(&[("levels.txt", &levels), ("about.pdf", &"x".repeat(779))]);
        assert_eq!(estimate_memory(&bytes, 90_000).unwrap(), 90_000);
        assert_eq!(estimate_memory(&bytes, 89_999).unwrap(), 221 + 52 * 104 + 2 * 779);
    }

    #[test]
    fn counting_ends_when_cancelled() {
        let levels = format!("level_id,level_index\n{}", "1,2\n".repeat(50));
        let (bytes, stop) = (zip(&[("levels.txt", &levels)]), CancelToken::default());
        assert_eq!(
            estimate_until_cancelled(&bytes, 0, &stop).unwrap(),
            estimate_memory(&bytes, 0).unwrap()
        );
        stop.cancel();
        let stopped = estimate_until_cancelled(&bytes, 0, &stop).unwrap_err();
        assert_eq!(stopped.kind(), ErrorKind::Io, "{stopped}");
        assert!(
            estimate_until_cancelled(&bytes, u64::MAX, &stop).is_ok(),
            "counting was not necessary"
        );
    }

    #[test]
    fn a_schedule_in_a_folder_of_the_zip_is_counted() {
        let levels = format!("level_id,level_index\n{}", "1,2\n".repeat(50));
        let bytes = zip(&[("feed/levels.txt", &levels), ("feed/stops.txt", "stop_id\nA\n")]);
        assert_eq!(estimate_memory(&bytes, 0).unwrap(), 221 + 52 * 104 + 10 + 3 * 104);
    }

    #[test]
    fn a_folder_with_backslashes_is_counted_and_an_unread_one_is_not() {
        let levels = format!("level_id,level_index\n{}", "1,2\n".repeat(50));
        let backslashes =
            zip(&[(r"feed\levels.txt", &levels), (r"feed\stops.txt", "stop_id\nA\n")]);
        assert_eq!(estimate_memory(&backslashes, 0).unwrap(), 221 + 52 * 104 + 10 + 3 * 104);
        let old = zip(&[("levels.txt", &levels), ("old/stops.txt", "stop_id\nA\n")]);
        assert_eq!(estimate_memory(&old, 0).unwrap(), 221 + 52 * 104);
    }

    #[test]
    fn a_zip_bomb_is_refused_without_being_unpacked() {
        let rows = "S1,59.9,10.7\n".repeat(4 << 20);
        let bytes = zip(&[("stops.txt", &rows)]);
        let refusal = estimate_memory(&bytes, 1 << 20).unwrap_err();
        assert_eq!((refusal.kind(), refusal.file_name()), (ErrorKind::Bomb, Some("stops.txt")));
    }

    #[test]
    fn exceeded_memory_is_described_with_the_option_that_limits_it() {
        assert_eq!(describe_if_over_memory_limit(1 << 20, 1 << 20, "--memory"), None);
        let message = describe_if_over_memory_limit((1 << 20) + 1, 1 << 20, "--memory").unwrap();
        assert_eq!(message, "it would take about 2MiB of memory, and --memory allows 1MiB");
    }

    #[test]
    fn xml_is_estimated_in_any_folder_and_counted_only_near_the_limit() {
        let text = format!("<PublicationDelivery><Line id=\"L\"/>{}", "\n".repeat(1_000));
        let memory_max = text.len() as u64 * of_xml::MEMORY_PER_BYTE_MAX;
        let counted = text.len() as u64 * 3 + 256 + 72;
        let bodies = [
            text.clone().into_bytes(),
            zip(&[("stops.xml", &text)]),
            zip(&[("feed/deep/stops.XML", &text)]),
        ];
        for bytes in &bodies {
            assert_eq!(estimate_memory(bytes, memory_max).unwrap(), memory_max);
            assert_eq!(estimate_memory(bytes, memory_max - 1).unwrap(), counted);
            let stop = CancelToken::default();
            stop.cancel();
            assert!(estimate_until_cancelled(bytes, 0, &stop).is_err());
            assert!(
                estimate_until_cancelled(bytes, memory_max, &stop).is_ok(),
                "counting was not necessary"
            );
        }
        let both = zip(&[("a.xml", &text), ("b/a.xml", &text), ("about.pdf", "123")]);
        let more = text.len() as u64 * 2 + 256 + 72;
        assert_eq!(estimate_memory(&both, 0).unwrap(), counted + more + 2 * 3);
        let schedule = zip(&[("stops.txt", "stop_id\n"), ("a.xml", &text), ("b/a.xml", &text)]);
        let stops_bytes = estimate_memory(&zip(&[("stops.txt", "stop_id\n")]), 0).unwrap();
        assert_eq!(estimate_memory(&schedule, 0).unwrap(), stops_bytes + 2 * text.len() as u64);
        assert_eq!(
            estimate_memory(b"PK\x03\x04, not a zip", 0).unwrap(),
            0,
            "an unreadable zip counts as 0"
        );
    }
}
