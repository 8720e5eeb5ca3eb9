//! Translations of what is not there.

use std::collections::{HashMap, HashSet};

use lineside_formats::gtfs::values;

use super::GtfsRule;
use crate::{
    Context, Notices,
    gtfs::{self, Feed, File, Table, simple},
    notice::{Kind, Severity},
};

pub(super) static RULE: GtfsRule =
    GtfsRule { kinds: &[&NOT_THERE, &UNEXPECTED, &NO_TABLE], files: &File::ALL, check };

static NOT_THERE: Kind = Kind {
    code: "translation_foreign_key_violation",
    severity: Severity::Error,
    fields: &[
        ("csvRowNumber", "The line of the row."),
        ("tableName", "The table that it is about."),
        ("recordId", "The id that is not there."),
        ("recordSubId", "The second part of the id."),
    ],
    page: include_str!("translation_foreign_key_violation.md"),
};

static UNEXPECTED: Kind = Kind {
    code: "translation_unexpected_value",
    severity: Severity::Error,
    fields: &[
        ("csvRowNumber", "The line of the row."),
        ("fieldName", "The field that should be empty."),
        ("fieldValue", "The value."),
    ],
    page: include_str!("translation_unexpected_value.md"),
};

static NO_TABLE: Kind = Kind {
    code: "translation_unknown_table_name",
    severity: Severity::Warning,
    fields: &[("csvRowNumber", "The line of the row."), ("tableName", "The table.")],
    page: include_str!("translation_unknown_table_name.md"),
};

/// O(n) over the translations and the tables that they name by ids of two parts.
fn check(feed: &Feed, _: &Context, out: &mut Notices) {
    let table = feed.table(File::Translations);
    let names = table.texts("table_name");
    let files: Vec<Option<File>> = (0..names.n_codes() as u32)
        .map(|code| File::of_name(&format!("{}.txt", names.text(code))))
        .map(|file| file.filter(|&file| feed.table(file).is_there()))
        .collect();
    let file_of = |row| names.code(row).and_then(|code| files[code as usize]);
    let pairs = Pairs::of(feed, file_of);
    let values = table.texts("field_value");
    for row in table.rows() {
        let has_value = values.code(row).is_some();
        if has_value {
            for field in ["record_id", "record_sub_id"] {
                if table.texts(field).code(row).is_some() {
                    say_unexpected(table, row, field, out);
                }
            }
        }
        match file_of(row) {
            None => out.add(&NO_TABLE, |sample| {
                sample.put("csvRowNumber", table.line(row)).put("tableName", names.get(row));
            }),
            Some(file) if !has_value => check_record(feed, file, row, &pairs, out),
            Some(_) => {}
        }
    }
}

/// A translation of one record: it gives as many ids as the table has, and there is such a record.
fn check_record(feed: &Feed, file: File, row: u32, pairs: &Pairs, out: &mut Notices) {
    let table = feed.table(File::Translations);
    let key = file.spec().key;
    for (field, is_expected) in [("record_id", !key.is_empty()), ("record_sub_id", key.len() > 1)] {
        match (table.texts(field).code(row).is_some(), is_expected) {
            (true, false) => return say_unexpected(table, row, field, out),
            (false, true) => {
                return simple::say_field(&simple::MISSING_REQUIRED_FIELD, table, row, field, out);
            }
            _ => {}
        }
    }
    let is_there = match key {
        [] => file == File::FeedInfo && !feed.table(file).is_empty(),
        [id] => {
            let link = feed.link(File::Translations, "record_id", file, id);
            table.texts("record_id").code(row).is_some_and(|code| link.row(code).is_some())
        }
        _ => pairs.found.contains(&row),
    };
    if !is_there {
        out.add(&NOT_THERE, |sample| {
            sample.put("csvRowNumber", table.line(row));
            for (name, field) in [
                ("tableName", "table_name"),
                ("recordId", "record_id"),
                ("recordSubId", "record_sub_id"),
            ] {
                sample.put(name, table.texts(field).get(row).unwrap_or_default());
            }
        });
    }
}

fn say_unexpected(table: &Table, row: u32, field: &'static str, out: &mut Notices) {
    out.add(&UNEXPECTED, |sample| {
        sample.put("csvRowNumber", table.line(row)).put("fieldName", field);
        sample.put("fieldValue", table.texts(field).get(row));
    });
}

/// The translations of records with two ids whose record is there.
struct Pairs {
    found: HashSet<u32>,
}

/// The tables whose records are found by two ids: those ids. Others with keys of several fields
/// cannot be translated by record.
const TWO_IDS: [(File, &str, &str); 5] = [
    (File::CalendarDates, "service_id", "date"),
    (File::StopTimes, "trip_id", "stop_sequence"),
    (File::Shapes, "shape_id", "shape_pt_sequence"),
    (File::Frequencies, "trip_id", "start_time"),
    (File::Transfers, "from_stop_id", "to_stop_id"),
];
/// What makes transfers more special than two stops do; a translation can only mean those without.
const TRANSFERS_OTHERS: [&str; 4] = ["from_trip_id", "to_trip_id", "from_route_id", "to_route_id"];

impl Pairs {
    /// Looks at each table that is named once, for all translations at a time.
    fn of(feed: &Feed, file_of: impl Fn(u32) -> Option<File>) -> Pairs {
        let table = feed.table(File::Translations);
        let (ids, sub_ids) = (table.texts("record_id"), table.texts("record_sub_id"));
        let mut found = HashSet::new();
        for (file, id, sub_id) in TWO_IDS {
            let parent = feed.table(file);
            let parent_ids = parent.texts(id);
            let mut wanted: HashMap<(u32, i64), Vec<u32>> = HashMap::new();
            for row in table.rows().filter(|&row| file_of(row) == Some(file)) {
                let (Some(id), Some(sub)) = (ids.get(row), sub_ids.get(row)) else { continue };
                let sub = sub_id_of(parent, sub_id, sub);
                if let (Some(id), Some(sub)) = (parent_ids.find(id), sub) {
                    wanted.entry((id, sub)).or_default().push(row);
                }
            }
            if wanted.is_empty() {
                continue;
            }
            for row in parent.rows().filter(|&row| file != File::Transfers || is_plain(parent, row))
            {
                let sub = match file {
                    File::Transfers => parent.texts(sub_id).code(row).map(i64::from),
                    _ => parent.numbers(sub_id).get(row).map(i64::from),
                };
                if let (Some(id), Some(sub)) = (parent_ids.code(row), sub)
                    && let Some(rows) = wanted.remove(&(id, sub))
                {
                    found.extend(rows);
                }
            }
        }
        Pairs { found }
    }
}

fn is_plain(transfers: &Table, row: u32) -> bool {
    TRANSFERS_OTHERS.iter().all(|&field| transfers.texts(field).code(row).is_none())
}

/// A second id as the parent's column holds it: a whole number, a day, a time, or a text's code.
fn sub_id_of(parent: &Table, field: &'static str, text: &str) -> Option<i64> {
    match field {
        "date" => values::date(text.as_bytes()).ok().map(|date| gtfs::day_of(date).into()),
        "start_time" => values::time(text.as_bytes()).ok().map(i64::from),
        "to_stop_id" => parent.texts(field).find(text).map(i64::from),
        _ => text.parse::<i32>().ok().map(i64::from),
    }
}
