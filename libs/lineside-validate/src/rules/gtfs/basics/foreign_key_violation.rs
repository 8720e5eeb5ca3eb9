//! The references of the field tables: an id that names a row elsewhere names one that is there.

use lineside_formats::gtfs::fields::{FieldSpec, Kind as FieldKind};

use super::GtfsRule;
use crate::{
    Context, Notices,
    gtfs::{Feed, File, leniency},
    notice::{Kind, Severity},
};

pub(super) static RULE: GtfsRule = GtfsRule { kinds: &[&KIND], files: &[], check };

pub(in crate::rules::gtfs) static KIND: Kind = Kind {
    code: "foreign_key_violation",
    severity: Severity::Error,
    fields: &[
        ("childFilename", "The file with the reference."),
        ("childFieldName", "The field that refers."),
        ("parentFilename", "The file that it refers to; two, if the id may be in either."),
        ("parentFieldName", "The field there."),
        ("fieldValue", "The id that is not there."),
        ("csvRowNumber", "The line of the row that refers."),
    ],
    page: include_str!("foreign_key_violation.md"),
};

/// O(n): each distinct id is looked up once.
fn check(feed: &Feed, _: &Context, out: &mut Notices) {
    for file in File::ALL {
        for field in file.spec().fields {
            let FieldKind::Ref(targets) = field.kind else { continue };
            if !leniency::is_followed(file.name(), field) {
                continue;
            }
            // Zones of demand-responsive services are GeoJSON, with a rule of their own.
            let parents: Option<Vec<_>> = targets.iter().map(|target| target_of(target)).collect();
            if let Some(parents) = parents {
                check_field(feed, file, field, &parents, out);
            }
        }
    }
}

fn target_of(target: &'static str) -> Option<(File, &'static str)> {
    let (name, field) = target.split_once('.')?;
    Some((File::ALL.into_iter().find(|f| f.name().strip_suffix(".txt") == Some(name))?, field))
}

fn check_field(
    feed: &Feed,
    file: File,
    field: &'static FieldSpec,
    parents: &[(File, &'static str)],
    out: &mut Notices,
) {
    let table = feed.table(file);
    let all_usable = parents.iter().all(|&(parent, _)| feed.is_usable(parent));
    if !table.has(field.name) || !feed.is_usable(file) || !all_usable {
        return;
    }
    let texts = table.texts(field.name);
    let links: Vec<_> = parents
        .iter()
        .map(|&(parent, parent_field)| feed.link(file, field.name, parent, parent_field))
        .collect();
    let is_missing: Vec<bool> = (0..texts.n_codes() as u32)
        .map(|code| links.iter().all(|link| link.row(code).is_none()))
        .collect();
    if !is_missing.contains(&true) {
        return;
    }
    for row in table.rows() {
        let Some(code) = texts.code(row).filter(|&code| is_missing[code as usize]) else {
            continue;
        };
        out.add(&KIND, |sample| {
            let names: Vec<&str> = parents.iter().map(|(parent, _)| parent.name()).collect();
            sample.put("childFilename", table.name()).put("childFieldName", field.name);
            sample.put("parentFilename", names.join(" or "));
            sample.put("parentFieldName", parents.first().map(|(_, field)| *field));
            sample.put("fieldValue", texts.text(code)).put("csvRowNumber", table.line(row));
        });
    }
}
