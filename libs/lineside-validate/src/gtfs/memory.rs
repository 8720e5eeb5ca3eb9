//! How much memory a look at a file of a schedule takes at most, reckoned before it begins.
//!
//! What the loader and the rules do is known only when they are done; what they can do with a byte, a row and a text is known
//! before. `tests/memory.rs` holds made schedules against it, of the shapes that take the most.

use std::io::Read;

use lineside_formats::{Error, gtfs::fields::LOCATIONS};

use super::{
    files::GtfsFile,
    leniency::RowRetention,
    reader::{self, HeaderOutcome},
    source::FileSource,
    table, zones,
};
use crate::notice::Notices;

/// Bytes for each byte of a table: no text is kept more than once.
const PER_BYTE: u64 = 1;
/// For each row: its numbers, and what leads from one file to another.
const PER_ROW: u64 = 80;
/// For each row of `trips.txt` besides: what messages are held against is made of the table while that is there.
const PER_TRIP: u64 = 48;
/// For each cell of a column of texts, as if no two were equal: its code, where its text ends, and its place in a hash table that
/// has just grown.
const PER_TEXT: u64 = 24;
/// For each byte of `locations.geojson`: two signs may be a number of a list.
const PER_ZONE_BYTE: u64 = 32;

/// No file takes more for each of its bytes: a row of two signs has two texts at most.
pub const MEMORY_PER_BYTE_MAX: u64 = 90;

/// The memory in bytes that a look at this file takes at most, which has so many bytes: each byte, 80 for each row, 128 for one
/// of `trips.txt`, and 24 for each cell of a column of texts, or 32 for each byte of `locations.geojson`. Unpacks the file to
/// count its rows. None if it is no file of GTFS, or is not there.
///
/// # Errors
///
/// If the file cannot be opened or inflated.
pub fn estimate_memory(
    source: &dyn FileSource,
    name: &str,
    size: u64,
) -> Result<Option<u64>, Error> {
    if name.eq_ignore_ascii_case(LOCATIONS) {
        return Ok(Some(size.min(zones::BYTES_MAX).saturating_mul(PER_ZONE_BYTE)));
    }
    let Some(file) = GtfsFile::from_name(name) else { return Ok(None) };
    let Some(texts) = count_text_columns(source, name, file)? else { return Ok(None) };
    let per_trip = if file == GtfsFile::Trips { PER_TRIP } else { 0 };
    let per_row = PER_ROW + per_trip + PER_TEXT * texts;
    let rows = read_with(source, name, |file| count_rows_max(file))?.unwrap_or_default();
    Ok(Some(size.saturating_mul(PER_BYTE).saturating_add(rows.saturating_mul(per_row))))
}

/// Columns of texts that the file's header names and that are read, by the rules over schedules or, where those cannot read by
/// it, by the rules over messages; none if it is not there.
fn count_text_columns(
    source: &dyn FileSource,
    name: &str,
    file: GtfsFile,
) -> Result<Option<u64>, Error> {
    for keeps in [Some(RowRetention::Sound), RowRetention::for_realtime_file(file.file_name())]
        .into_iter()
        .flatten()
    {
        let begun = read_with(source, name, |reader| {
            let mut out = Notices::new(0);
            reader::read_header_record(
                &mut reader::record_splitter(reader),
                file.file_spec(),
                keeps,
                &mut out,
            )
        })?;
        match begun {
            Some(HeaderOutcome::Rows(layout)) => {
                let texts = layout.cells.iter().filter(|cell| table::is_text_kind(cell.field.kind));
                return Ok(Some(texts.count() as u64));
            }
            Some(HeaderOutcome::Nothing(_)) => {}
            None => return Ok(None),
        }
    }
    Ok(Some(0))
}

/// What a look at a file gives; nothing if it is not there.
fn read_with<T>(
    source: &dyn FileSource,
    name: &str,
    mut look: impl FnMut(&mut dyn Read) -> Result<T, Error>,
) -> Result<Option<T>, Error> {
    let mut seen = None;
    source.read_file(name, &mut |file| seen = file.map(&mut look))?;
    seen.transpose().map_err(|error| error.with_file(name))
}

/// The rows of a file at most: what ends a line may also stand within quotes.
fn count_rows_max(file: &mut dyn Read) -> Result<u64, Error> {
    let mut buffer = vec![0; 1 << 16];
    let mut ends = 0;
    loop {
        let n = file.read(&mut buffer).map_err(Error::from_io)?;
        let Some(read) = buffer.get(..n).filter(|read| !read.is_empty()) else { break };
        let count = |wanted: u8| read.iter().filter(|&&byte| byte == wanted).count();
        let (feeds, returns) = (count(b'\n'), count(b'\r'));
        // Both together are one end. A pair of which this is the first half counts twice.
        let pairs = match returns {
            0 => 0,
            _ => read.windows(2).filter(|pair| *pair == b"\r\n").count(),
        };
        ends += (feeds + returns - pairs) as u64;
    }
    Ok(ends + 1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gtfs::TextSource;

    fn memory(name: &str, text: &str) -> Option<u64> {
        estimate_memory(&TextSource::default().with_file(name, text), name, text.len() as u64)
            .unwrap()
    }

    #[test]
    fn rows_and_texts_count_besides_bytes() {
        assert_eq!(memory("levels.txt", "level_id,level_index\na,1\nb,2\n"), Some(29 + 4 * 104));
        // A name more, which is a text; one that GTFS does not have, which is left out.
        let more = "level_id,level_index,level_name,mine\na,1,x,y\n";
        assert_eq!(memory("levels.txt", more), Some(45 + 3 * 128));
        assert_eq!(memory("levels.txt", "a wrong header\nx\n"), Some(17 + 3 * 80));
    }

    #[test]
    fn what_only_messages_are_held_against_counts_too() {
        for (name, text, per_row) in [
            // A column twice, and one that is missing.
            ("stops.txt", "stop_id,stop_name,stop_id\na,b,c\n", 128),
            ("trips.txt", "trip_id,route_id\na,b\n", 128 + 48),
            // Messages ask nothing of it, and of this one not without an id.
            ("areas.txt", "area_id,area_id\na,b\n", 80),
            ("stops.txt", "stop_name,stop_name\na,b\n", 80),
        ] {
            assert_eq!(memory(name, text), Some(text.len() as u64 + 3 * per_row), "{text}");
        }
    }

    #[test]
    fn lines_may_end_in_any_way() {
        for ends in ["\n", "\r", "\r\n"] {
            let text = format!("level_id,level_index{ends}a,1{ends}b,2");
            assert_eq!(memory("levels.txt", &text), Some(text.len() as u64 + 3 * 104));
        }
        let text = "level_id,level_index\na,1\rb,2\n";
        assert_eq!(
            memory("levels.txt", text),
            Some(text.len() as u64 + 4 * 104),
            "one after the other"
        );
    }

    #[test]
    fn no_file_takes_more_than_its_bytes_allow() {
        for (name, header) in [
            ("levels.txt", "level_id,level_index"),
            ("areas.txt", "area_id,area_name"),
            ("trips.txt", "trip_id,block_id"),
        ] {
            let text = format!("{header}\n{}", ",\n".repeat(1_000));
            let memory = memory(name, &text).unwrap();
            assert!(memory <= text.len() as u64 * MEMORY_PER_BYTE_MAX, "{name}: {memory}");
        }
    }

    #[test]
    fn zones_are_reckoned_by_their_bytes_and_other_files_not_at_all() {
        assert_eq!(memory("locations.geojson", "{}"), Some(64));
        assert_eq!(memory("about.pdf", "x"), None);
        let there = estimate_memory(&TextSource::default(), "stops.txt", 9).unwrap();
        assert_eq!(there, None, "it is not there");
    }
}
