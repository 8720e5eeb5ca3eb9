//! An upper bound of the memory that a check of a schedule's file takes, computed in advance.
//!
//! The memory that the loader and the rules take is known only at the end, but its bound for each byte, row and text is
//! known before. `tests/memory.rs` compares it with schedules generated to take the most memory.

use std::io::Read;

use lineside_formats::{Error, gtfs::fields::LOCATIONS};

use super::{
    files::GtfsFile,
    leniency::RowRetentionRule,
    reader::{self, HeaderReadResult},
    source::ScheduleFileSource,
    table, zones,
};
use crate::notice::Notices;

/// For each byte of a table: a text is stored at most once.
const PER_BYTE: u64 = 1;
/// For each row: its numbers, and its links to other files.
const PER_ROW: u64 = 80;
/// For each row of `trips.txt` in addition: its entry in the schedule index for messages, which is built while the
/// table exists.
const PER_TRIP: u64 = 48;
/// For each cell of a text column, as if all were distinct: its code, the end of its text, and its entry in a hash
/// table that has just grown.
const PER_TEXT: u64 = 24;
/// For each byte of `locations.geojson`: two characters may be a number in a list.
const PER_ZONE_BYTE: u64 = 32;

/// The largest bound for a byte of any file: a row of two characters has at most two texts.
pub const MEMORY_PER_BYTE_MAX: u64 = 90;

/// Returns an upper bound of the memory in bytes that a check of this file takes: each byte of its size, 80 for each
/// row, 128 for a row of `trips.txt`, and 24 for each cell of a text column, or 32 for each byte of
/// `locations.geojson`. Unpacks the file to count its rows. `None` if the file is missing or not part of GTFS.
///
/// # Errors
///
/// Returns an error if the file cannot be opened or inflated.
pub fn estimate_max_memory(
    source: &dyn ScheduleFileSource,
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
    let rows = inspect_file(source, name, |file| count_line_ends(file))?.unwrap_or_default();
    Ok(Some(size.saturating_mul(PER_BYTE).saturating_add(rows.saturating_mul(per_row))))
}

/// Returns the number of text columns in the file's header that rules over schedules read or, if these cannot use the
/// header, real-time rules. `None` if the file is missing.
fn count_text_columns(
    source: &dyn ScheduleFileSource,
    name: &str,
    file: GtfsFile,
) -> Result<Option<u64>, Error> {
    for retention in [
        Some(RowRetentionRule::Faultless),
        RowRetentionRule::retention_for_realtime_rules(file.file_name()),
    ]
    .into_iter()
    .flatten()
    {
        let text_counts = inspect_file(source, name, |reader| {
            let mut out = Notices::new(0);
            reader::read_header_record(
                &mut reader::new_csv_splitter(reader),
                file.file_spec(),
                retention,
                &mut out,
            )
        })?;
        match text_counts {
            Some(HeaderReadResult::Rows(layout)) => {
                let texts = layout.cells.iter().filter(|cell| table::is_text_kind(cell.field.kind));
                return Ok(Some(texts.count() as u64));
            }
            Some(HeaderReadResult::Nothing(_)) => {}
            None => return Ok(None),
        }
    }
    Ok(Some(0))
}

/// Returns the result of `inspect` on a file; `None` if the file is missing.
fn inspect_file<T>(
    source: &dyn ScheduleFileSource,
    name: &str,
    mut inspect: impl FnMut(&mut dyn Read) -> Result<T, Error>,
) -> Result<Option<T>, Error> {
    let mut seen = None;
    source.read_file_with(name, &mut |file| seen = file.map(&mut inspect))?;
    seen.transpose().map_err(|error| error.with_file(name))
}

/// Returns an upper bound of the rows of a file: line ends may also be within quotes.
fn count_line_ends(file: &mut dyn Read) -> Result<u64, Error> {
    let mut buffer = vec![0; 1 << 16];
    let mut ends = 0;
    loop {
        let n = file.read(&mut buffer).map_err(Error::from_io)?;
        let Some(read) = buffer.get(..n).filter(|read| !read.is_empty()) else { break };
        let count = |wanted: u8| read.iter().filter(|&&byte| byte == wanted).count();
        let (feeds, returns) = (count(b'\n'), count(b'\r'));
        // A carriage return with a line feed is one line end. A pair that is split between two reads counts twice.
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
    use crate::gtfs::InMemoryFiles;

    fn memory(name: &str, text: &str) -> Option<u64> {
        estimate_max_memory(
            &InMemoryFiles::default().with_file(name, text),
            name,
            text.len() as u64,
        )
        .unwrap()
    }

    #[test]
    fn the_estimate_includes_rows_and_texts() {
        assert_eq!(memory("levels.txt", "level_id,level_index\na,1\nb,2\n"), Some(29 + 4 * 104));
        // One more column, which is a text, and one that GTFS does not have, which is ignored.
        let more = "level_id,level_index,level_name,mine\na,1,x,y\n";
        assert_eq!(memory("levels.txt", more), Some(45 + 3 * 128));
        assert_eq!(memory("levels.txt", "a wrong header\nx\n"), Some(17 + 3 * 80));
    }

    #[test]
    fn the_estimate_includes_columns_used_by_real_time_rules_only() {
        for (name, text, per_row) in [
            // A duplicate column, and a missing one.
            ("stops.txt", "stop_id,stop_name,stop_id\na,b,c\n", 128),
            ("trips.txt", "trip_id,route_id\na,b\n", 128 + 48),
            // A file that real-time rules do not need, and one without the id that they need.
            ("areas.txt", "area_id,area_id\na,b\n", 80),
            ("stops.txt", "stop_name,stop_name\na,b\n", 80),
        ] {
            assert_eq!(memory(name, text), Some(text.len() as u64 + 3 * per_row), "{text}");
        }
    }

    #[test]
    fn rows_are_counted_with_every_kind_of_line_ending() {
        for ends in ["\n", "\r", "\r\n"] {
            let text = format!("level_id,level_index{ends}a,1{ends}b,2");
            assert_eq!(memory("levels.txt", &text), Some(text.len() as u64 + 3 * 104));
        }
        let text = "level_id,level_index\na,1\rb,2\n";
        assert_eq!(
            memory("levels.txt", text),
            Some(text.len() as u64 + 4 * 104),
            "one thread reads the rows"
        );
    }

    #[test]
    fn the_estimate_is_bounded_by_the_file_size() {
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
    fn zones_are_estimated_by_size_and_other_files_not_at_all() {
        assert_eq!(memory("locations.geojson", "{}"), Some(64));
        assert_eq!(memory("about.pdf", "x"), None);
        let there = estimate_max_memory(&InMemoryFiles::default(), "stops.txt", 9).unwrap();
        assert_eq!(there, None, "the file does not exist");
    }
}
