//! Check of the references in the field tables: the referenced row exists.

use lineside_formats::gtfs::fields::{FieldKind, FieldSpec};

use super::GtfsRule;
use crate::{
    Notices, ValidationContext,
    gtfs::{GtfsFeed, GtfsFile, leniency},
    notice::{NoticeKind, Severity},
};

pub(super) static RULE: GtfsRule =
    GtfsRule { kinds: &[&KIND], files: &[], check: check_foreign_keys };

pub(in crate::rules::gtfs) static KIND: NoticeKind = NoticeKind {
    code: "foreign_key_violation",
    severity: Severity::Error,
    fields: &[
        ("childFilename", "The file with the reference."),
        ("childFieldName", "The referring field."),
        ("parentFilename", "The referenced file; two files if either may contain the id."),
        ("parentFieldName", "The field of the referenced file."),
        ("fieldValue", "The id that does not exist."),
        ("csvRowNumber", "The line of the referring row."),
    ],
    page: include_str!("foreign_key_violation.md"),
};

/// O(n): each distinct id is looked up once.
fn check_foreign_keys(feed: &GtfsFeed, _: &ValidationContext, out: &mut Notices) {
    for file in GtfsFile::ALL {
        for field in file.file_spec().fields {
            let FieldKind::Ref(targets) = field.kind else { continue };
            if !leniency::is_reference_checked(file.file_name(), field) {
                continue;
            }
            // A separate rule checks references to GeoJSON zones.
            let parents: Option<Vec<_>> =
                targets.iter().map(|target| parse_reference_target(target)).collect();
            if let Some(parents) = parents {
                check_foreign_key_field(feed, file, field, &parents, out);
            }
        }
    }
}

fn parse_reference_target(target: &'static str) -> Option<(GtfsFile, &'static str)> {
    let (name, field) = target.split_once('.')?;
    Some((
        GtfsFile::ALL.into_iter().find(|f| f.file_name().strip_suffix(".txt") == Some(name))?,
        field,
    ))
}

fn check_foreign_key_field(
    feed: &GtfsFeed,
    file: GtfsFile,
    field: &'static FieldSpec,
    parents: &[(GtfsFile, &'static str)],
    out: &mut Notices,
) {
    let table = feed.table(file);
    let all_usable = parents.iter().all(|&(parent, _)| feed.can_rules_use_file(parent));
    if !table.has_column(field.name) || !feed.can_rules_use_file(file) || !all_usable {
        return;
    }
    let texts = table.text_column(field.name);
    let links: Vec<_> = parents
        .iter()
        .map(|&(parent, parent_field)| {
            feed.rows_referenced_by_field(file, field.name, parent, parent_field)
        })
        .collect();
    let is_missing: Vec<bool> = (0..texts.text_code_count() as u32)
        .map(|code| links.iter().all(|link| link.row_referenced_by_code(code).is_none()))
        .collect();
    if !is_missing.contains(&true) {
        return;
    }
    for row in table.row_numbers() {
        let Some(code) = texts.text_code_of_row(row).filter(|&code| is_missing[code as usize])
        else {
            continue;
        };
        out.count_notice_with_sample(&KIND, |sample| {
            let names: Vec<&str> = parents.iter().map(|(parent, _)| parent.file_name()).collect();
            sample
                .set_field("childFilename", table.file_name())
                .set_field("childFieldName", field.name);
            sample.set_field("parentFilename", names.join(" or "));
            sample.set_field("parentFieldName", parents.first().map(|(_, field)| *field));
            sample
                .set_field("fieldValue", texts.text_of_code(code))
                .set_field("csvRowNumber", table.line_number(row));
        });
    }
}
