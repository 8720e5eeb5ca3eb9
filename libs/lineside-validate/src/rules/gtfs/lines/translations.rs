//! Checks of translations of missing tables or records, and of forbidden fields in translations.

use std::collections::{HashMap, HashSet};

use lineside_formats::gtfs::values;

use super::GtfsRule;
use crate::{
    Notices, ValidationContext,
    gtfs::{self, GtfsFeed, GtfsFile, GtfsTable, simple},
    notice::{NoticeKind, Severity},
};

pub(super) static RULE: GtfsRule = GtfsRule {
    kinds: &[&NOT_THERE, &UNEXPECTED, &NO_TABLE],
    files: &GtfsFile::ALL,
    check: check_translations,
};

static NOT_THERE: NoticeKind = NoticeKind {
    code: "translation_foreign_key_violation",
    severity: Severity::Error,
    fields: &[
        ("csvRowNumber", "The line of the row."),
        ("tableName", "The translated table."),
        ("recordId", "The id that does not exist."),
        ("recordSubId", "The second part of the id."),
    ],
    page: include_str!("translation_foreign_key_violation.md"),
};

static UNEXPECTED: NoticeKind = NoticeKind {
    code: "translation_unexpected_value",
    severity: Severity::Error,
    fields: &[
        ("csvRowNumber", "The line of the row."),
        ("fieldName", "The field that should be empty."),
        ("fieldValue", "The value."),
    ],
    page: include_str!("translation_unexpected_value.md"),
};

static NO_TABLE: NoticeKind = NoticeKind {
    code: "translation_unknown_table_name",
    severity: Severity::Warning,
    fields: &[("csvRowNumber", "The line of the row."), ("tableName", "The table.")],
    page: include_str!("translation_unknown_table_name.md"),
};

/// O(n) in the translations and in the tables that they refer to by two ids.
fn check_translations(feed: &GtfsFeed, _: &ValidationContext, out: &mut Notices) {
    let table = feed.table(GtfsFile::Translations);
    let names = table.text_column("table_name");
    let files: Vec<Option<GtfsFile>> = (0..names.text_code_count() as u32)
        .map(|code| GtfsFile::from_name(&format!("{}.txt", names.text_of_code(code))))
        .map(|file| file.filter(|&file| feed.table(file).is_file_present()))
        .collect();
    let file_of = |row| names.text_code_of_row(row).and_then(|code| files[code as usize]);
    let pairs = TranslationsWithTwoIds::find_translations_with_two_ids(feed, file_of);
    let values = table.text_column("field_value");
    for row in table.row_numbers() {
        let has_value = values.text_code_of_row(row).is_some();
        if has_value {
            for field in ["record_id", "record_sub_id"] {
                if table.text_column(field).text_code_of_row(row).is_some() {
                    report_unexpected_field(table, row, field, out);
                }
            }
        }
        match file_of(row) {
            None => out.count_notice_with_sample(&NO_TABLE, |sample| {
                sample
                    .set_field("csvRowNumber", table.line_number(row))
                    .set_field("tableName", names.get(row));
            }),
            Some(file) if !has_value => check_translated_record(feed, file, row, &pairs, out),
            Some(_) => {}
        }
    }
}

/// Checks a translation of one record: it has as many ids as the table's key, and the record
/// exists.
fn check_translated_record(
    feed: &GtfsFeed,
    file: GtfsFile,
    row: u32,
    pairs: &TranslationsWithTwoIds,
    out: &mut Notices,
) {
    let table = feed.table(GtfsFile::Translations);
    let key = file.file_spec().key;
    for (field, is_expected) in [("record_id", !key.is_empty()), ("record_sub_id", key.len() > 1)] {
        match (table.text_column(field).text_code_of_row(row).is_some(), is_expected) {
            (true, false) => return report_unexpected_field(table, row, field, out),
            (false, true) => {
                return simple::report_field_notice(
                    &simple::MISSING_REQUIRED_FIELD,
                    table,
                    row,
                    field,
                    out,
                );
            }
            _ => {}
        }
    }
    let is_there = match key {
        [] => file == GtfsFile::FeedInfo && !feed.table(file).is_empty(),
        [id] => {
            let link = feed.rows_referenced_by_field(GtfsFile::Translations, "record_id", file, id);
            table
                .text_column("record_id")
                .text_code_of_row(row)
                .is_some_and(|code| link.row_referenced_by_code(code).is_some())
        }
        _ => pairs.found.contains(&row),
    };
    if !is_there {
        out.count_notice_with_sample(&NOT_THERE, |sample| {
            sample.set_field("csvRowNumber", table.line_number(row));
            for (name, field) in [
                ("tableName", "table_name"),
                ("recordId", "record_id"),
                ("recordSubId", "record_sub_id"),
            ] {
                sample.set_field(name, table.text_column(field).get(row).unwrap_or_default());
            }
        });
    }
}

fn report_unexpected_field(table: &GtfsTable, row: u32, field: &'static str, out: &mut Notices) {
    out.count_notice_with_sample(&UNEXPECTED, |sample| {
        sample.set_field("csvRowNumber", table.line_number(row)).set_field("fieldName", field);
        sample.set_field("fieldValue", table.text_column(field).get(row));
    });
}

/// The translations of records with two ids whose record exists.
struct TranslationsWithTwoIds {
    found: HashSet<u32>,
}

/// The tables whose records have two ids, and these ids. Records of tables with other keys of
/// several fields cannot be translated.
const TWO_IDS: [(GtfsFile, &str, &str); 5] = [
    (GtfsFile::CalendarDates, "service_id", "date"),
    (GtfsFile::StopTimes, "trip_id", "stop_sequence"),
    (GtfsFile::Shapes, "shape_id", "shape_pt_sequence"),
    (GtfsFile::Frequencies, "trip_id", "start_time"),
    (GtfsFile::Transfers, "from_stop_id", "to_stop_id"),
];
/// Further key fields of transfers; a translation can only refer to transfers without them.
const TRANSFERS_OTHERS: [&str; 4] = ["from_trip_id", "to_trip_id", "from_route_id", "to_route_id"];

impl TranslationsWithTwoIds {
    /// Reads each referenced table once, for all translations.
    fn find_translations_with_two_ids(
        feed: &GtfsFeed,
        file_of: impl Fn(u32) -> Option<GtfsFile>,
    ) -> TranslationsWithTwoIds {
        let table = feed.table(GtfsFile::Translations);
        let (ids, sub_ids) = (table.text_column("record_id"), table.text_column("record_sub_id"));
        let mut found = HashSet::new();
        for (file, id, sub_id) in TWO_IDS {
            let parent = feed.table(file);
            let parent_ids = parent.text_column(id);
            let mut wanted: HashMap<(u32, i64), Vec<u32>> = HashMap::new();
            for row in table.row_numbers().filter(|&row| file_of(row) == Some(file)) {
                let (Some(id), Some(sub)) = (ids.get(row), sub_ids.get(row)) else { continue };
                let sub = parse_record_sub_id(parent, sub_id, sub);
                if let (Some(id), Some(sub)) = (parent_ids.find_text_code(id), sub) {
                    wanted.entry((id, sub)).or_default().push(row);
                }
            }
            if wanted.is_empty() {
                continue;
            }
            for row in parent.row_numbers().filter(|&row| {
                file != GtfsFile::Transfers || is_transfer_between_stops_only(parent, row)
            }) {
                let sub = match file {
                    GtfsFile::Transfers => {
                        parent.text_column(sub_id).text_code_of_row(row).map(i64::from)
                    }
                    _ => parent.number_column(sub_id).get(row).map(i64::from),
                };
                if let (Some(id), Some(sub)) = (parent_ids.text_code_of_row(row), sub)
                    && let Some(rows) = wanted.remove(&(id, sub))
                {
                    found.extend(rows);
                }
            }
        }
        TranslationsWithTwoIds { found }
    }
}

fn is_transfer_between_stops_only(transfers: &GtfsTable, row: u32) -> bool {
    TRANSFERS_OTHERS
        .iter()
        .all(|&field| transfers.text_column(field).text_code_of_row(row).is_none())
}

/// Parses a second id as the parent's column stores it: an integer, a day, a time, or a text's
/// code.
fn parse_record_sub_id(parent: &GtfsTable, field: &'static str, text: &str) -> Option<i64> {
    match field {
        "date" => values::parse_gtfs_date(text.as_bytes())
            .ok()
            .map(|date| gtfs::day_number_from_date(date).into()),
        "start_time" => values::parse_gtfs_time(text.as_bytes()).ok().map(i64::from),
        "to_stop_id" => parent.text_column(field).find_text_code(text).map(i64::from),
        _ => text.parse::<i32>().ok().map(i64::from),
    }
}
