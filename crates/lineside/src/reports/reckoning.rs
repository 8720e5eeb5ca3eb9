//! How much memory a look at a version takes, reckoned before it begins.

use lineside_formats::gtfs::Limits;
use lineside_validate::gtfs::{MEMORY_PER_BYTE_MAX, Source as _, ZipSource, memory_of};

/// What a look needs for each byte of anything but GTFS, such as XML.
const PER_OTHER_BYTE: u64 = 2;
/// How much larger XML is than a zip of it, about.
const XML_RATIO: u64 = 20;

/// The memory in bytes that a look at these bytes takes, at most, as the zip's own list has it, which reading is held to. The rows
/// of GTFS are counted only if `allowed` might not do, as all has to be unpacked for that.
pub(super) fn memory_for(bytes: &[u8], allowed: u64) -> u64 {
    let packed = bytes.len() as u64;
    let is_zip = bytes.starts_with(b"PK");
    let Ok(source) = ZipSource::new(bytes, &Limits::default()) else {
        let text = if is_zip { packed.saturating_mul(XML_RATIO) } else { packed };
        return text.saturating_mul(PER_OTHER_BYTE);
    };
    // For messages a schedule is read in a folder, too.
    let nested = ZipSource::in_any_folder(bytes, &Limits::default()).ok();
    let nested = nested.filter(ZipSource::is_in_a_folder);
    let sources: Vec<ZipSource<'_>> = [source].into_iter().chain(nested).collect();
    let files =
        || sources.iter().flat_map(|source| source.list().into_iter().map(move |it| (source, it)));
    let all = files().map(|(_, (_, size))| size).fold(0, u64::saturating_add);
    let at_most = all.saturating_mul(MEMORY_PER_BYTE_MAX);
    if at_most <= allowed {
        return at_most;
    }
    let of_file = |(source, (name, size)): (&ZipSource<'_>, (String, u64))| {
        memory_of(source, &name, size).unwrap_or_else(|| size.saturating_mul(PER_OTHER_BYTE))
    };
    files().map(of_file).fold(0, u64::saturating_add)
}

#[cfg(test)]
mod tests {
    use std::io::{Cursor, Write as _};

    use zip::{ZipWriter, write::SimpleFileOptions};

    use super::*;

    fn zip(files: &[(&str, &str)]) -> Vec<u8> {
        let mut zip = ZipWriter::new(Cursor::new(Vec::new()));
        for (name, text) in files {
            zip.start_file(*name, SimpleFileOptions::default()).unwrap();
            zip.write_all(text.as_bytes()).unwrap();
        }
        zip.finish().unwrap().into_inner()
    }

    #[test]
    fn rows_are_counted_only_where_they_may_matter() {
        let levels = format!("level_id,level_index\n{}", "1,2\n".repeat(50));
        let bytes = zip(&[("levels.txt", &levels), ("about.pdf", &"x".repeat(779))]);
        assert_eq!(memory_for(&bytes, 90_000), 90_000);
        assert_eq!(memory_for(&bytes, 89_999), 221 + 52 * 104 + 2 * 779);
    }

    #[test]
    fn a_schedule_in_a_folder_counts_too() {
        let levels = format!("level_id,level_index\n{}", "1,2\n".repeat(50));
        let bytes = zip(&[("feed/levels.txt", &levels), ("feed/stops.txt", "stop_id\nA\n")]);
        assert_eq!(memory_for(&bytes, 0), 221 + 52 * 104 + 10 + 3 * 104);
    }

    #[test]
    fn a_folder_counts_by_any_path_and_only_where_it_is_read() {
        let levels = format!("level_id,level_index\n{}", "1,2\n".repeat(50));
        let backslashes =
            zip(&[(r"feed\levels.txt", &levels), (r"feed\stops.txt", "stop_id\nA\n")]);
        assert_eq!(memory_for(&backslashes, 0), 221 + 52 * 104 + 10 + 3 * 104);
        let old = zip(&[("levels.txt", &levels), ("old/stops.txt", "stop_id\nA\n")]);
        assert_eq!(memory_for(&old, 0), 221 + 52 * 104);
    }

    #[test]
    fn what_is_no_schedule_is_reckoned_by_its_size() {
        assert_eq!(memory_for(b"<xml/>", 0), 12);
        assert_eq!(memory_for(b"PK, but no zip", 0), 14 * XML_RATIO * PER_OTHER_BYTE);
    }
}
