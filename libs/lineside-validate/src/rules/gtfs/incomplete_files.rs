//! The parts of a schedule that no rule checked, and the number of rules that were skipped for them.
//!
//! As in the reference validator, other rules do not see a row with an unreadable value, and rules that need the whole
//! file are skipped. Their findings appear only after the value is fixed, so users should know of them beforehand.

use lineside_formats::gtfs::fields::LOCATIONS;
use serde::{Deserialize, Serialize};

use super::flex;
use crate::gtfs::{FileReadStatus, GtfsFeed, GtfsFile};

/// Codes of rules about many files, which check those files that are complete.
const PER_FILE_CODES: [&str; 4] =
    ["foreign_key_violation", "duplicate_key", "missing_recommended_file", "missing_required_file"];

/// The missing part of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MissingFilePart {
    /// Unreadable rows.
    Rows,
    /// The rows after a row that is too large.
    Rest,
    /// All rows, because the header is invalid.
    Header,
    /// All rows, because the text is in UTF-16.
    Encoding,
    /// Some or all zones of demand-responsive services, because they are unreadable.
    Zones,
    /// All contents: the file is empty.
    Content,
    /// The file itself, which every schedule needs.
    File,
}

/// A file that rules did not see completely.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct IncompleteFile {
    /// The name of the file.
    pub filename: String,
    /// The missing part.
    pub lack: MissingFilePart,
    /// The number of unreadable rows that were left out, as far as the file was read.
    pub rows: u64,
    /// The number of codes whose rules were skipped because they need the whole file.
    pub rules: u64,
}

impl IncompleteFile {
    /// Returns all such files of a schedule, in the order of the reference.
    pub fn incomplete_files_of_feed(feed: &GtfsFeed) -> Vec<IncompleteFile> {
        let tables = GtfsFile::ALL
            .into_iter()
            .filter_map(|file| IncompleteFile::incomplete_file_for_table(feed, file));
        tables.chain(IncompleteFile::incomplete_zones_file(feed)).collect()
    }

    /// Returns an upper bound of the hidden findings of a code; `None` if unknown, for example if its rule needs the
    /// whole file.
    pub fn max_hidden_findings(&self, code: &str) -> Option<u64> {
        let file =
            GtfsFile::from_name(&self.filename).filter(|_| self.lack == MissingFilePart::Rows)?;
        let mut relying = super::gtfs_rules().filter(|rule| rule.files.contains(&file));
        let has_code = |rule: &super::GtfsRule| rule.kinds.iter().any(|kind| kind.code == code);
        if PER_FILE_CODES.contains(&code) || relying.any(has_code) {
            return None;
        }
        // A code may be reported once for each field of a row.
        Some(self.rows.saturating_mul(file.file_spec().fields.len() as u64))
    }

    fn incomplete_zones_file(feed: &GtfsFeed) -> Option<IncompleteFile> {
        let is_unread = !matches!(
            feed.geojson_flex_zones().status,
            FileReadStatus::Parsed | FileReadStatus::Missing
        );
        is_unread.then(|| IncompleteFile {
            filename: LOCATIONS.to_owned(),
            lack: MissingFilePart::Zones,
            rows: 0,
            rules: flex::CODES_OF_ZONES,
        })
    }

    fn incomplete_file_for_table(feed: &GtfsFeed, file: GtfsFile) -> Option<IncompleteFile> {
        let table = feed.table(file);
        let lack = match table.read_status() {
            FileReadStatus::BadRows if table.is_rest_unreadable() => MissingFilePart::Rest,
            FileReadStatus::BadRows => MissingFilePart::Rows,
            FileReadStatus::BadHeader if table.is_utf16() => MissingFilePart::Encoding,
            FileReadStatus::BadHeader => MissingFilePart::Header,
            FileReadStatus::Empty => MissingFilePart::Content,
            FileReadStatus::Missing if !feed.can_rules_use_file(file) => MissingFilePart::File,
            FileReadStatus::Missing | FileReadStatus::Parsed => return None,
        };
        let passed_over = super::gtfs_rules().filter(|rule| rule.files.contains(&file));
        Some(IncompleteFile {
            filename: table.file_name().to_owned(),
            lack,
            rows: u64::from(table.dropped_row_count()),
            rules: passed_over.map(|rule| rule.kinds.len() as u64).sum(),
        })
    }
}

#[cfg(test)]
mod tests {
    use jiff::civil::date;

    use super::*;
    use crate::{
        Notices, ValidationContext,
        gtfs::{InMemoryFiles, load_schedule},
    };

    /// Returns the incomplete `levels.txt` with these rows below its header, read by this number of threads.
    fn of_levels(rows: impl Into<Vec<u8>>, threads: usize) -> Option<IncompleteFile> {
        let source = InMemoryFiles::default().with_file("levels.txt", rows);
        let context = ValidationContext { today: date(2026, 6, 15), country: None, threads };
        let feed = load_schedule(&source, &context, &mut Notices::new(0)).unwrap();
        IncompleteFile::incomplete_files_of_feed(&feed)
            .into_iter()
            .find(|it| it.filename == "levels.txt")
    }

    #[test]
    fn the_unread_part_of_a_file_is_reported() {
        let long = "x".repeat(5_000);
        let header = "level_id,level_index,level_name\n";
        for (file, expected) in [
            (format!("{header}a,1,\nb,2,\n"), None),
            (format!("{header}a,one,\nb,2,\nc,3\nd,4,\n"), Some((MissingFilePart::Rows, 2))),
            (format!("{header}a,one,\nb,2,{long}\nc,x,\n"), Some((MissingFilePart::Rest, 1))),
            ("level_id,level_id\na,b\n".to_owned(), Some((MissingFilePart::Header, 0))),
            (String::new(), Some((MissingFilePart::Content, 0))),
        ] {
            let found = of_levels(file.as_str(), 1);
            assert_eq!(found.map(|it| (it.lack, it.rows)), expected, "{file:.40}");
        }
    }

    #[test]
    fn unread_zones_are_reported() {
        let zone = |text: &str| {
            let source = InMemoryFiles::default().with_file("locations.geojson", text);
            let context = ValidationContext { today: date(2026, 6, 15), country: None, threads: 1 };
            let feed = load_schedule(&source, &context, &mut Notices::new(0)).unwrap();
            let unread = IncompleteFile::incomplete_files_of_feed(&feed).into_iter();
            unread.filter(|it| it.filename == "locations.geojson").collect::<Vec<_>>()
        };
        let incomplete = zone("zone");
        assert_eq!(incomplete.len(), 1);
        assert_eq!(
            (incomplete[0].lack, incomplete[0].rules),
            (MissingFilePart::Zones, flex::CODES_OF_ZONES)
        );
        assert_eq!(zone(r#"{"type":"FeatureCollection","features":[{"id":"a"}]}"#), incomplete);
        assert_eq!(zone(r#"{"type":"FeatureCollection","features":[]}"#), []);
    }

    #[test]
    fn a_file_in_utf_16_is_reported_with_its_encoding() {
        for to_bytes in [u16::to_le_bytes as fn(u16) -> [u8; 2], u16::to_be_bytes] {
            let text = "level_id,level_index\na,1\n".encode_utf16();
            let wide: Vec<u8> = [0xFEFF].into_iter().chain(text).flat_map(to_bytes).collect();
            assert_eq!(of_levels(wide, 1).map(|it| it.lack), Some(MissingFilePart::Encoding));
        }
    }

    #[test]
    fn rows_of_a_large_file_are_counted_with_any_number_of_threads() {
        let mut file = "level_id,level_index\n".to_owned();
        for row in 0..600_000 {
            let index = if row % 1_000 == 7 { "x" } else { "1" };
            file += &format!("{row},{index}\n");
        }
        assert!(file.len() > 4 << 20, "the file is large enough for several threads");
        for threads in [1, 3] {
            let found = of_levels(file.as_str(), threads).unwrap();
            assert_eq!((found.lack, found.rows), (MissingFilePart::Rows, 600), "{threads}");
        }
    }

    #[test]
    fn findings_hidden_by_skipped_rows_are_bounded_or_unknown() {
        let stops =
            |lack| IncompleteFile { filename: "stops.txt".to_owned(), lack, rows: 2, rules: 1 };
        let fields = GtfsFile::Stops.file_spec().fields.len() as u64;
        let rows = stops(MissingFilePart::Rows);
        assert_eq!(rows.max_hidden_findings("mixed_case_recommended_field"), Some(2 * fields));
        for code in ["foreign_key_violation", "duplicate_key", "stop_without_stop_time"] {
            assert_eq!(rows.max_hidden_findings(code), None, "{code}");
        }
        assert_eq!(
            stops(MissingFilePart::Header).max_hidden_findings("mixed_case_recommended_field"),
            None
        );
        let zones = IncompleteFile { filename: LOCATIONS.to_owned(), ..rows };
        assert_eq!(zones.max_hidden_findings("mixed_case_recommended_field"), None);
    }

    #[test]
    fn rules_are_counted_for_each_incomplete_or_required_missing_file() {
        let source = InMemoryFiles::default().with_file("agency.txt", "agency_name\n");
        let context = ValidationContext { today: date(2026, 6, 15), country: None, threads: 1 };
        let feed = load_schedule(&source, &context, &mut Notices::new(0)).unwrap();
        let unread = IncompleteFile::incomplete_files_of_feed(&feed);
        let names: Vec<&str> = unread.iter().map(|it| it.filename.as_str()).collect();
        assert_eq!(names, ["agency.txt", "routes.txt", "trips.txt", "stop_times.txt"]);
        assert_eq!(unread[0].lack, MissingFilePart::Header);
        assert!(unread.iter().skip(1).all(|it| it.lack == MissingFilePart::File && it.rules > 3));
    }
}
