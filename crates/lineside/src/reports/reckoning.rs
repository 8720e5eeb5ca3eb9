//! How much memory a look at a version takes, reckoned before it begins.

use std::io::Read;

use lineside_formats::gtfs::Limits;
use lineside_validate::gtfs::{Source as _, ZipSource};

/// What a look needs for each byte of text of a GTFS file, at most, beside what its rows need.
const PER_BYTE: u64 = 1;
/// For each row: its place in each column, what is shared by equal values, and what leads from one file to another. Six million
/// trips of eleven characters took 62 bytes a row with their text, rows of a usual width some 40 more than their text.
const PER_ROW: u64 = 64;
/// For each byte of anything else, such as XML.
const PER_OTHER_BYTE: u64 = 2;
/// No text takes more for each byte: its rows are not counted if that much is allowed.
const PER_BYTE_MAX: u64 = 12;
/// How much larger XML is than a zip of it, about.
const XML_RATIO: u64 = 20;

/// The memory in bytes that a look at these bytes takes, at most, as the zip's own list has it, which reading is held to. Rows are
/// counted only if `allowed` might not do, as all has to be unpacked for that.
pub(super) fn memory_for(bytes: &[u8], allowed: u64) -> u64 {
    let packed = bytes.len() as u64;
    let is_zip = bytes.starts_with(b"PK");
    let Ok(source) = ZipSource::new(bytes, &Limits::default()) else {
        let text = if is_zip { packed.saturating_mul(XML_RATIO) } else { packed };
        return text.saturating_mul(PER_OTHER_BYTE);
    };
    let files = source.list();
    let all: u64 = files.iter().map(|(_, size)| size).sum();
    let at_most = all.saturating_mul(PER_BYTE_MAX);
    if at_most <= allowed {
        return at_most;
    }
    let of_file = |(name, size): &(String, u64)| match rows(&source, name) {
        Some(rows) => size.saturating_mul(PER_BYTE).saturating_add(rows.saturating_mul(PER_ROW)),
        None => size.saturating_mul(PER_OTHER_BYTE),
    };
    files.iter().map(of_file).fold(0, u64::saturating_add)
}

/// The lines of a file of a schedule; none if it is something else or cannot be read.
fn rows(source: &ZipSource<'_>, name: &str) -> Option<u64> {
    let is_text = name.rsplit_once('.').is_some_and(|(_, ending)| ending == "txt");
    let mut counted = None;
    let mut count = |reader: Option<&mut dyn Read>| counted = reader.and_then(lines);
    if is_text {
        source.read(name, &mut count).ok()?;
    }
    counted
}

fn lines(reader: &mut dyn Read) -> Option<u64> {
    let mut buffer = vec![0; 1 << 16];
    let (mut feeds, mut returns) = (0, 0);
    loop {
        let n = reader.read(&mut buffer).ok()?;
        let Some(read) = buffer.get(..n).filter(|read| !read.is_empty()) else { break };
        let count = |wanted: u8| read.iter().filter(|&&byte| byte == wanted).count() as u64;
        feeds += count(b'\n');
        returns += count(b'\r');
    }
    // Lines end with one, with the other, or with both.
    Some(feeds.max(returns) + 1)
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
    fn short_rows_need_more_than_long_ones() {
        let short = zip(&[("trips.txt", &"1\n".repeat(30_000))]);
        let long = zip(&[("trips.txt", &format!("{}\n", "1".repeat(59)).repeat(1_000))]);
        let (short, long) = (memory_for(&short, 0), memory_for(&long, 0));
        assert_eq!(short, 60_000 + 30_001 * PER_ROW);
        assert_eq!(long, 60_000 + 1_001 * PER_ROW);
    }

    #[test]
    fn rows_are_counted_only_where_they_may_matter() {
        let bytes = zip(&[("trips.txt", &"1\n".repeat(50)), ("about.pdf", &"x".repeat(900))]);
        assert_eq!(memory_for(&bytes, 12_000), 12_000);
        assert_eq!(memory_for(&bytes, 11_999), 100 + 51 * PER_ROW + 1_800);
    }

    #[test]
    fn what_is_no_schedule_is_reckoned_by_its_size() {
        assert_eq!(memory_for(b"<xml/>", 0), 12);
        assert_eq!(memory_for(b"PK, but no zip", 0), 14 * XML_RATIO * PER_OTHER_BYTE);
    }
}
