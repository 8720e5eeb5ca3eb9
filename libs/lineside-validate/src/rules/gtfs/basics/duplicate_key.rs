//! Check of the keys in the field tables: a key identifies only one row.

use hashbrown::HashTable;
use lineside_formats::gtfs::fields::FieldKind;
use serde_json::Value;
use xxhash_rust::xxh3::xxh3_64;

use super::GtfsRule;
use crate::{
    Notices, ValidationContext,
    gtfs::{self, FloatColumn, GtfsFeed, GtfsFile, GtfsTable, NumberColumn, TextColumn},
    notice::{NoticeKind, Severity},
};

pub(super) static RULE: GtfsRule =
    GtfsRule { kinds: &[&KIND], files: &[], check: check_duplicate_keys };

static KIND: NoticeKind = NoticeKind {
    code: "duplicate_key",
    severity: Severity::Error,
    fields: &[
        ("filename", "The file."),
        ("oldCsvRowNumber", "The line of the first row with this key."),
        ("newCsvRowNumber", "The line of the later row with this key."),
        ("fieldName1", "The fields of the key, separated by commas."),
        ("fieldValue1", "The values of these fields, separated by commas."),
    ],
    page: include_str!("duplicate_key.md"),
};

/// O(n), and O(n log n) for stop times and shape points.
fn check_duplicate_keys(feed: &GtfsFeed, _: &ValidationContext, out: &mut Notices) {
    for file in GtfsFile::ALL {
        let table = feed.table(file);
        if !feed.is_file_usable(file) || table.is_empty() || file == GtfsFile::FeedInfo {
            continue;
        }
        let key = RowKey::from_table(table);
        match (file, table.file_spec().key) {
            (GtfsFile::StopTimes, _) => check_group_keys(feed, file, "trip_id", &key, out),
            (GtfsFile::Shapes, _) => check_group_keys(feed, file, "shape_id", &key, out),
            (_, []) => {}
            (_, [_]) => check_row_keys(table, &key, out, |key, row| key.has_key(row)),
            _ => check_row_keys(table, &key, out, |_, _| true),
        }
    }
}

/// Checks rows of one group, which are in the order of the rest of the key: duplicates are
/// neighbours.
fn check_group_keys(
    feed: &GtfsFeed,
    file: GtfsFile,
    field: &'static str,
    key: &RowKey<'_>,
    out: &mut Notices,
) {
    let table = feed.table(file);
    for (_, rows) in feed.row_groups(file, field).iter() {
        let mut first = rows[0];
        for &row in &rows[1..] {
            if key.have_same_key(first, row) {
                report_duplicate(table, key, first, row, out);
            } else {
                first = row;
            }
        }
    }
}

fn check_row_keys(
    table: &GtfsTable,
    key: &RowKey<'_>,
    out: &mut Notices,
    counts: impl Fn(&RowKey<'_>, u32) -> bool,
) {
    let mut seen: HashTable<u32> = HashTable::with_capacity(table.len() as usize);
    for row in table.rows().filter(|&row| counts(key, row)) {
        let hash = key.hash_key(row);
        match seen.find(hash, |&other| key.have_same_key(other, row)) {
            Some(&first) => report_duplicate(table, key, first, row, out),
            None => {
                seen.insert_unique(hash, row, |&other| key.hash_key(other));
            }
        }
    }
}

fn report_duplicate(table: &GtfsTable, key: &RowKey<'_>, first: u32, row: u32, out: &mut Notices) {
    out.add_notice(&KIND, |sample| {
        let (names, values) = key.key_texts(first);
        sample.set_field("filename", table.file_name());
        sample
            .set_field("oldCsvRowNumber", table.line_number(first))
            .set_field("newCsvRowNumber", table.line_number(row));
        sample.set_field("fieldName1", names).set_field("fieldValue1", values);
    });
}

/// The columns of a key.
struct RowKey<'a>(Vec<(&'static str, KeyPart<'a>)>);

enum KeyPart<'a> {
    Text(TextColumn<'a>),
    Number(NumberColumn<'a>),
    Time(NumberColumn<'a>),
    Date(NumberColumn<'a>),
    Float(FloatColumn<'a>),
}

impl<'a> RowKey<'a> {
    fn from_table(table: &'a GtfsTable) -> RowKey<'a> {
        let spec = table.file_spec();
        let fields = spec.key.iter().filter_map(|name| spec.find_field_spec(name));
        let part = |kind| {
            move |name| match kind {
                FieldKind::Time | FieldKind::LocalTime => KeyPart::Time(table.number_column(name)),
                FieldKind::Date => KeyPart::Date(table.number_column(name)),
                FieldKind::Integer(_) | FieldKind::Enum(_) => {
                    KeyPart::Number(table.number_column(name))
                }
                FieldKind::Float(_) => KeyPart::Float(table.float_column(name)),
                _ => KeyPart::Text(table.text_column(name)),
            }
        };
        RowKey(fields.map(|field| (field.name, part(field.kind)(field.name))).collect())
    }

    fn has_key(&self, row: u32) -> bool {
        self.0.iter().all(|(_, part)| part.comparable_bits(row) != KeyPart::NOT_GIVEN)
    }

    fn have_same_key(&self, one: u32, other: u32) -> bool {
        self.0.iter().all(|(_, part)| part.comparable_bits(one) == part.comparable_bits(other))
    }

    fn hash_key(&self, row: u32) -> u64 {
        let mut bytes = [0; 8 * 8];
        for (slot, (_, part)) in bytes.chunks_exact_mut(8).zip(&self.0) {
            slot.copy_from_slice(&part.comparable_bits(row).to_le_bytes());
        }
        xxh3_64(&bytes)
    }

    fn key_texts(&self, row: u32) -> (String, String) {
        let present =
            self.0.iter().filter(|(_, part)| part.comparable_bits(row) != KeyPart::NOT_GIVEN);
        let (names, values): (Vec<&str>, Vec<String>) =
            present.map(|(name, part)| (*name, part.part_text(row))).unzip();
        (names.join(","), values.join(","))
    }
}

impl KeyPart<'_> {
    const NOT_GIVEN: u64 = u64::MAX;

    /// Returns a number that is equal for equal values.
    fn comparable_bits(&self, row: u32) -> u64 {
        match self {
            KeyPart::Text(texts) => texts.code_of_row(row).map(u64::from),
            KeyPart::Number(numbers) | KeyPart::Time(numbers) | KeyPart::Date(numbers) => {
                numbers.get(row).map(|number| u64::from(number.cast_unsigned()))
            }
            KeyPart::Float(floats) => floats.get(row).map(f64::to_bits),
        }
        .unwrap_or(KeyPart::NOT_GIVEN)
    }

    fn part_text(&self, row: u32) -> String {
        match self {
            KeyPart::Text(texts) => texts.get(row).map(str::to_owned),
            KeyPart::Number(numbers) => numbers.get(row).map(|number| number.to_string()),
            KeyPart::Time(numbers) => numbers.get(row).map(gtfs::format_time),
            KeyPart::Date(numbers) => numbers.get(row).map(gtfs::format_date),
            KeyPart::Float(floats) => floats.get(row).map(|number| Value::from(number).to_string()),
        }
        .unwrap_or_default()
    }
}
