//! What of a schedule no rule saw, and how many rules had nothing to look at for it.
//!
//! A row with a value that cannot be read is not there for other rules, and those that rely on all of
//! its file are passed over, as the reference validator has it. Whoever mends the value gets to see
//! what they say only then, and should know that beforehand.

use lineside_formats::gtfs::fields::LOCATIONS;
use serde::{Deserialize, Serialize};

use super::flex;
use crate::gtfs::{Feed, File, Status};

/// Codes whose rules are about many files, and are asked of those that are there whole.
const ASKED_BY_FILE: [&str; 4] =
    ["foreign_key_violation", "duplicate_key", "missing_recommended_file", "missing_required_file"];

/// What is lacking of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Lack {
    /// Rows that could not be read.
    Rows,
    /// What follows a row that is too large.
    Rest,
    /// All rows, as the header is wrong.
    Header,
    /// All rows, as the text is in UTF-16.
    Encoding,
    /// Zones of services on demand that could not be read, some of them or all.
    Zones,
    /// Everything: there is nothing in the file.
    Content,
    /// The file, without which no schedule is.
    File,
}

/// A file of which rules did not see all.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Unread {
    /// The file's name.
    pub filename: String,
    /// What is lacking of it.
    pub lack: Lack,
    /// Rows that could not be read and were left out, as far as the file was read.
    pub rows: u64,
    /// Codes whose rules were passed over as they rely on the whole file.
    pub rules: u64,
}

impl Unread {
    /// All such files of a schedule, in the order of the reference.
    pub fn of(feed: &Feed) -> Vec<Unread> {
        let tables = File::ALL.into_iter().filter_map(|file| Unread::of_file(feed, file));
        tables.chain(Unread::of_zones(feed)).collect()
    }

    /// How many findings of a code may have been hidden at most; `None` if nobody knows, as where its rule relies on the whole
    /// file.
    pub fn hidden_max(&self, code: &str) -> Option<u64> {
        let file = File::of_name(&self.filename).filter(|_| self.lack == Lack::Rows)?;
        let mut relying = super::rules().filter(|rule| rule.files.contains(&file));
        let has_code = |rule: &super::GtfsRule| rule.kinds.iter().any(|kind| kind.code == code);
        if ASKED_BY_FILE.contains(&code) || relying.any(has_code) {
            return None;
        }
        // Of each row a code may be told once for each of its fields.
        Some(self.rows.saturating_mul(file.spec().fields.len() as u64))
    }

    fn of_zones(feed: &Feed) -> Option<Unread> {
        let is_unread = !matches!(feed.zones().status, Status::Parsed | Status::Missing);
        is_unread.then(|| Unread {
            filename: LOCATIONS.to_owned(),
            lack: Lack::Zones,
            rows: 0,
            rules: flex::CODES_OF_ZONES,
        })
    }

    fn of_file(feed: &Feed, file: File) -> Option<Unread> {
        let table = feed.table(file);
        let lack = match table.status() {
            Status::BadRows if table.is_cut_off() => Lack::Rest,
            Status::BadRows => Lack::Rows,
            Status::BadHeader if table.is_wide() => Lack::Encoding,
            Status::BadHeader => Lack::Header,
            Status::Empty => Lack::Content,
            Status::Missing if !feed.is_usable(file) => Lack::File,
            Status::Missing | Status::Parsed => return None,
        };
        let passed_over = super::rules().filter(|rule| rule.files.contains(&file));
        Some(Unread {
            filename: table.name().to_owned(),
            lack,
            rows: u64::from(table.n_left_out()),
            rules: passed_over.map(|rule| rule.kinds.len() as u64).sum(),
        })
    }
}

#[cfg(test)]
mod tests {
    use jiff::civil::date;

    use super::*;
    use crate::{
        Context, Notices,
        gtfs::{TextSource, load},
    };

    /// What is lacking of `levels.txt` with these rows below its header, when so many threads read it.
    fn of_levels(rows: impl Into<Vec<u8>>, threads: usize) -> Option<Unread> {
        let source = TextSource::default().with("levels.txt", rows);
        let context = Context { today: date(2026, 6, 15), country: None, threads };
        let feed = load(&source, &context, &mut Notices::new(0)).unwrap();
        Unread::of(&feed).into_iter().find(|it| it.filename == "levels.txt")
    }

    #[test]
    fn it_is_told_what_no_rule_saw_of_a_file() {
        let long = "x".repeat(5_000);
        let header = "level_id,level_index,level_name\n";
        for (file, told) in [
            (format!("{header}a,1,\nb,2,\n"), None),
            (format!("{header}a,one,\nb,2,\nc,3\nd,4,\n"), Some((Lack::Rows, 2))),
            (format!("{header}a,one,\nb,2,{long}\nc,x,\n"), Some((Lack::Rest, 1))),
            ("level_id,level_id\na,b\n".to_owned(), Some((Lack::Header, 0))),
            (String::new(), Some((Lack::Content, 0))),
        ] {
            let found = of_levels(file.as_str(), 1);
            assert_eq!(found.map(|it| (it.lack, it.rows)), told, "{file:.40}");
        }
    }

    #[test]
    fn zones_that_no_rule_saw_are_told() {
        let zone = |text: &str| {
            let source = TextSource::default().with("locations.geojson", text);
            let context = Context { today: date(2026, 6, 15), country: None, threads: 1 };
            let feed = load(&source, &context, &mut Notices::new(0)).unwrap();
            let unread = Unread::of(&feed).into_iter();
            unread.filter(|it| it.filename == "locations.geojson").collect::<Vec<_>>()
        };
        let told = zone("zone");
        assert_eq!(told.len(), 1);
        assert_eq!((told[0].lack, told[0].rules), (Lack::Zones, flex::CODES_OF_ZONES));
        assert_eq!(zone(r#"{"type":"FeatureCollection","features":[{"id":"a"}]}"#), told);
        assert_eq!(zone(r#"{"type":"FeatureCollection","features":[]}"#), []);
    }

    #[test]
    fn text_in_utf_16_is_called_so() {
        for to_bytes in [u16::to_le_bytes as fn(u16) -> [u8; 2], u16::to_be_bytes] {
            let text = "level_id,level_index\na,1\n".encode_utf16();
            let wide: Vec<u8> = [0xFEFF].into_iter().chain(text).flat_map(to_bytes).collect();
            assert_eq!(of_levels(wide, 1).map(|it| it.lack), Some(Lack::Encoding));
        }
    }

    #[test]
    fn rows_of_a_large_file_are_counted_whoever_reads_them() {
        let mut file = "level_id,level_index\n".to_owned();
        for row in 0..600_000 {
            let index = if row % 1_000 == 7 { "x" } else { "1" };
            file += &format!("{row},{index}\n");
        }
        assert!(file.len() > 4 << 20, "it is read by several threads");
        for threads in [1, 3] {
            let found = of_levels(file.as_str(), threads).unwrap();
            assert_eq!((found.lack, found.rows), (Lack::Rows, 600), "{threads}");
        }
    }

    #[test]
    fn what_a_row_that_was_left_out_may_hide_is_bounded_or_not_known() {
        let stops = |lack| Unread { filename: "stops.txt".to_owned(), lack, rows: 2, rules: 1 };
        let fields = File::Stops.spec().fields.len() as u64;
        let rows = stops(Lack::Rows);
        assert_eq!(rows.hidden_max("mixed_case_recommended_field"), Some(2 * fields));
        for code in ["foreign_key_violation", "duplicate_key", "stop_without_stop_time"] {
            assert_eq!(rows.hidden_max(code), None, "{code}");
        }
        assert_eq!(stops(Lack::Header).hidden_max("mixed_case_recommended_field"), None);
        let zones = Unread { filename: LOCATIONS.to_owned(), ..rows };
        assert_eq!(zones.hidden_max("mixed_case_recommended_field"), None);
    }

    #[test]
    fn rules_that_rely_on_the_file_are_counted_and_a_file_that_may_be_missing_is_not_missed() {
        let source = TextSource::default().with("agency.txt", "agency_name\n");
        let context = Context { today: date(2026, 6, 15), country: None, threads: 1 };
        let feed = load(&source, &context, &mut Notices::new(0)).unwrap();
        let unread = Unread::of(&feed);
        let names: Vec<&str> = unread.iter().map(|it| it.filename.as_str()).collect();
        assert_eq!(names, ["agency.txt", "routes.txt", "trips.txt", "stop_times.txt"]);
        assert_eq!(unread[0].lack, Lack::Header);
        assert!(unread.iter().skip(1).all(|it| it.lack == Lack::File && it.rules > 3));
    }
}
