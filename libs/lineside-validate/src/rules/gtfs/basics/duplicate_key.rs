//! The keys of the field tables: what identifies a row identifies one row only.

use hashbrown::HashTable;
use lineside_formats::gtfs::fields::Kind as FieldKind;
use serde_json::Value;
use xxhash_rust::xxh3::xxh3_64;

use super::GtfsRule;
use crate::{
    Context, Notices,
    gtfs::{self, Feed, File, Floats, Numbers, Table, Texts},
    notice::{Kind, Severity},
};

pub(super) static RULE: GtfsRule = GtfsRule { kinds: &[&KIND], files: &[], check };

static KIND: Kind = Kind {
    code: "duplicate_key",
    severity: Severity::Error,
    fields: &[
        ("filename", "The file."),
        ("oldCsvRowNumber", "The line of the first row with this key."),
        ("newCsvRowNumber", "The line of the row that has it again."),
        ("fieldName1", "The fields of the key, with commas between them."),
        ("fieldValue1", "Their values, with commas between them."),
    ],
    page: include_str!("duplicate_key.md"),
};

/// O(n), and O(n log n) for stop times and shape points.
fn check(feed: &Feed, _: &Context, out: &mut Notices) {
    for file in File::ALL {
        let table = feed.table(file);
        if !feed.is_usable(file) || table.is_empty() || file == File::FeedInfo {
            continue;
        }
        let key = Key::of(table);
        match (file, table.spec().key) {
            (File::StopTimes, _) => check_groups(feed, file, "trip_id", &key, out),
            (File::Shapes, _) => check_groups(feed, file, "shape_id", &key, out),
            (_, []) => {}
            (_, [_]) => check_rows(table, &key, out, |key, row| key.is_given(row)),
            _ => check_rows(table, &key, out, |_, _| true),
        }
    }
}

/// Rows of one group that come in the order of the rest of the key: equal ones are neighbours.
fn check_groups(feed: &Feed, file: File, field: &'static str, key: &Key<'_>, out: &mut Notices) {
    let table = feed.table(file);
    for (_, rows) in feed.groups(file, field).iter() {
        let mut first = rows[0];
        for &row in &rows[1..] {
            if key.is_same(first, row) {
                say(table, key, first, row, out);
            } else {
                first = row;
            }
        }
    }
}

fn check_rows(
    table: &Table,
    key: &Key<'_>,
    out: &mut Notices,
    counts: impl Fn(&Key<'_>, u32) -> bool,
) {
    let mut seen: HashTable<u32> = HashTable::with_capacity(table.len() as usize);
    for row in table.rows().filter(|&row| counts(key, row)) {
        let hash = key.hash(row);
        match seen.find(hash, |&other| key.is_same(other, row)) {
            Some(&first) => say(table, key, first, row, out),
            None => {
                seen.insert_unique(hash, row, |&other| key.hash(other));
            }
        }
    }
}

fn say(table: &Table, key: &Key<'_>, first: u32, row: u32, out: &mut Notices) {
    out.add(&KIND, |sample| {
        let (names, values) = key.texts(first);
        sample.put("filename", table.name());
        sample.put("oldCsvRowNumber", table.line(first)).put("newCsvRowNumber", table.line(row));
        sample.put("fieldName1", names).put("fieldValue1", values);
    });
}

/// The columns of a key.
struct Key<'a>(Vec<(&'static str, Part<'a>)>);

enum Part<'a> {
    Text(Texts<'a>),
    Number(Numbers<'a>),
    Time(Numbers<'a>),
    Date(Numbers<'a>),
    Float(Floats<'a>),
}

impl<'a> Key<'a> {
    fn of(table: &'a Table) -> Key<'a> {
        let spec = table.spec();
        let fields = spec.key.iter().filter_map(|name| spec.find_field(name));
        let part = |kind| {
            move |name| match kind {
                FieldKind::Time | FieldKind::LocalTime => Part::Time(table.numbers(name)),
                FieldKind::Date => Part::Date(table.numbers(name)),
                FieldKind::Integer(_) | FieldKind::Enum(_) => Part::Number(table.numbers(name)),
                FieldKind::Float(_) => Part::Float(table.floats(name)),
                _ => Part::Text(table.texts(name)),
            }
        };
        Key(fields.map(|field| (field.name, part(field.kind)(field.name))).collect())
    }

    fn is_given(&self, row: u32) -> bool {
        self.0.iter().all(|(_, part)| part.bits(row) != Part::NOT_GIVEN)
    }

    fn is_same(&self, one: u32, other: u32) -> bool {
        self.0.iter().all(|(_, part)| part.bits(one) == part.bits(other))
    }

    fn hash(&self, row: u32) -> u64 {
        let mut bytes = [0; 8 * 8];
        for (slot, (_, part)) in bytes.chunks_exact_mut(8).zip(&self.0) {
            slot.copy_from_slice(&part.bits(row).to_le_bytes());
        }
        xxh3_64(&bytes)
    }

    fn texts(&self, row: u32) -> (String, String) {
        let given = self.0.iter().filter(|(_, part)| part.bits(row) != Part::NOT_GIVEN);
        let (names, values): (Vec<&str>, Vec<String>) =
            given.map(|(name, part)| (*name, part.text(row))).unzip();
        (names.join(","), values.join(","))
    }
}

impl Part<'_> {
    const NOT_GIVEN: u64 = u64::MAX;

    /// A number that is the same for equal values.
    fn bits(&self, row: u32) -> u64 {
        match self {
            Part::Text(texts) => texts.code(row).map(u64::from),
            Part::Number(numbers) | Part::Time(numbers) | Part::Date(numbers) => {
                numbers.get(row).map(|number| u64::from(number.cast_unsigned()))
            }
            Part::Float(floats) => floats.get(row).map(f64::to_bits),
        }
        .unwrap_or(Part::NOT_GIVEN)
    }

    fn text(&self, row: u32) -> String {
        match self {
            Part::Text(texts) => texts.get(row).map(str::to_owned),
            Part::Number(numbers) => numbers.get(row).map(|number| number.to_string()),
            Part::Time(numbers) => numbers.get(row).map(gtfs::time_text),
            Part::Date(numbers) => numbers.get(row).map(gtfs::date_text),
            Part::Float(floats) => floats.get(row).map(|number| Value::from(number).to_string()),
        }
        .unwrap_or_default()
    }
}
