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
        if !feed.can_rules_use_file(file) || table.is_empty() || file == GtfsFile::FeedInfo {
            continue;
        }
        let key = KeyColumns::key_columns_of_table(table);
        match (file, table.file_spec().key) {
            (GtfsFile::StopTimes, _) => check_keys_within_group(feed, file, "trip_id", &key, out),
            (GtfsFile::Shapes, _) => check_keys_within_group(feed, file, "shape_id", &key, out),
            (_, []) => {}
            (_, [_]) => check_keys_by_hash(table, &key, out, |key, row| key.is_key_complete(row)),
            _ => check_keys_by_hash(table, &key, out, |_, _| true),
        }
    }
}

/// Checks rows of one group, which are in the order of the rest of the key: duplicates are
/// neighbours.
fn check_keys_within_group(
    feed: &GtfsFeed,
    file: GtfsFile,
    field: &'static str,
    key: &KeyColumns<'_>,
    out: &mut Notices,
) {
    let table = feed.table(file);
    for (_, rows) in feed.rows_grouped_by_field(file, field).iter() {
        let mut first = rows[0];
        for &row in &rows[1..] {
            if key.have_same_key(first, row) {
                report_duplicate_key(table, key, first, row, out);
            } else {
                first = row;
            }
        }
    }
}

fn check_keys_by_hash(
    table: &GtfsTable,
    key: &KeyColumns<'_>,
    out: &mut Notices,
    counts: impl Fn(&KeyColumns<'_>, u32) -> bool,
) {
    let mut seen: HashTable<u32> = HashTable::with_capacity(table.len() as usize);
    for row in table.row_numbers().filter(|&row| counts(key, row)) {
        let hash = key.hash_key_of_row(row);
        match seen.find(hash, |&other| key.have_same_key(other, row)) {
            Some(&first) => report_duplicate_key(table, key, first, row, out),
            None => {
                seen.insert_unique(hash, row, |&other| key.hash_key_of_row(other));
            }
        }
    }
}

fn report_duplicate_key(
    table: &GtfsTable,
    key: &KeyColumns<'_>,
    first: u32,
    row: u32,
    out: &mut Notices,
) {
    out.count_notice_with_sample(&KIND, |sample| {
        let (names, values) = key.key_names_and_values(first);
        sample.set_field("filename", table.file_name());
        sample
            .set_field("oldCsvRowNumber", table.line_number(first))
            .set_field("newCsvRowNumber", table.line_number(row));
        sample.set_field("fieldName1", names).set_field("fieldValue1", values);
    });
}

struct KeyColumns<'a>(Vec<(&'static str, KeyColumn<'a>)>);

enum KeyColumn<'a> {
    Text(TextColumn<'a>),
    Number(NumberColumn<'a>),
    Time(NumberColumn<'a>),
    Date(NumberColumn<'a>),
    Float(FloatColumn<'a>),
}

impl<'a> KeyColumns<'a> {
    fn key_columns_of_table(table: &'a GtfsTable) -> KeyColumns<'a> {
        let spec = table.file_spec();
        let fields = spec.key.iter().filter_map(|name| spec.find_field_spec(name));
        let part = |kind| {
            move |name| match kind {
                FieldKind::Time | FieldKind::LocalTime => {
                    KeyColumn::Time(table.number_column(name))
                }
                FieldKind::Date => KeyColumn::Date(table.number_column(name)),
                FieldKind::Integer(_) | FieldKind::Enum(_) => {
                    KeyColumn::Number(table.number_column(name))
                }
                FieldKind::Float(_) => KeyColumn::Float(table.float_column(name)),
                _ => KeyColumn::Text(table.text_column(name)),
            }
        };
        KeyColumns(fields.map(|field| (field.name, part(field.kind)(field.name))).collect())
    }

    fn is_key_complete(&self, row: u32) -> bool {
        self.0.iter().all(|(_, part)| part.equality_bits(row) != KeyColumn::NOT_GIVEN)
    }

    fn have_same_key(&self, one: u32, other: u32) -> bool {
        self.0.iter().all(|(_, part)| part.equality_bits(one) == part.equality_bits(other))
    }

    fn hash_key_of_row(&self, row: u32) -> u64 {
        let mut bytes = [0; 8 * 8];
        for (slot, (_, part)) in bytes.chunks_exact_mut(8).zip(&self.0) {
            slot.copy_from_slice(&part.equality_bits(row).to_le_bytes());
        }
        xxh3_64(&bytes)
    }

    fn key_names_and_values(&self, row: u32) -> (String, String) {
        let present =
            self.0.iter().filter(|(_, part)| part.equality_bits(row) != KeyColumn::NOT_GIVEN);
        let (names, values): (Vec<&str>, Vec<String>) =
            present.map(|(name, part)| (*name, part.key_column_text(row))).unzip();
        (names.join(","), values.join(","))
    }
}

impl KeyColumn<'_> {
    const NOT_GIVEN: u64 = u64::MAX;

    /// Returns a number that is equal for equal values.
    fn equality_bits(&self, row: u32) -> u64 {
        match self {
            KeyColumn::Text(texts) => texts.text_code_of_row(row).map(u64::from),
            KeyColumn::Number(numbers) | KeyColumn::Time(numbers) | KeyColumn::Date(numbers) => {
                numbers.get(row).map(|number| u64::from(number.cast_unsigned()))
            }
            KeyColumn::Float(floats) => floats.get(row).map(f64::to_bits),
        }
        .unwrap_or(KeyColumn::NOT_GIVEN)
    }

    fn key_column_text(&self, row: u32) -> String {
        match self {
            KeyColumn::Text(texts) => texts.get(row).map(str::to_owned),
            KeyColumn::Number(numbers) => numbers.get(row).map(|number| number.to_string()),
            KeyColumn::Time(numbers) => numbers.get(row).map(gtfs::format_gtfs_time),
            KeyColumn::Date(numbers) => numbers.get(row).map(gtfs::format_gtfs_date),
            KeyColumn::Float(floats) => {
                floats.get(row).map(|number| Value::from(number).to_string())
            }
        }
        .unwrap_or_default()
    }
}
