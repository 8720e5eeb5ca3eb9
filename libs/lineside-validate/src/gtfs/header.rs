//! A file's header: which fields of the reference it has, and where.

use lineside_formats::gtfs::{
    fields::{FieldSpec, FileSpec, Presence},
    rows::Record,
};

use super::{
    leniency::{self, Keeps},
    reader::trimmed,
    simple,
};
use crate::notice::Notices;

/// Where a field's cells stand in a row.
#[derive(Clone, Copy, Debug)]
pub(super) struct CellPlan {
    pub(super) position: usize,
    pub(super) field: &'static FieldSpec,
    /// Whether a row is left out where this cannot be read.
    pub(super) is_needed: bool,
}

/// How the rows of a file are to be read.
#[derive(Debug)]
pub(super) struct Layout {
    pub(super) spec: &'static FileSpec,
    pub(super) keeps: Keeps,
    pub(super) n_columns: usize,
    pub(super) cells: Vec<CellPlan>,
    /// Fields that each row should have, of columns that the file lacks.
    pub(super) absent: Vec<&'static FieldSpec>,
}

/// Reads the header: how many columns there are, and where the fields of the reference stand. What is
/// wrong about it is said; `None` if rows cannot be read by it.
pub(super) fn read(
    spec: &'static FileSpec,
    keeps: Keeps,
    record: &Record<'_>,
    out: &mut Notices,
) -> Option<Layout> {
    let mut is_fine = true;
    let mut seen: Vec<(&str, usize)> = Vec::new();
    for position in 0..record.len() {
        let name = trimmed(std::str::from_utf8(record.field(position)).unwrap_or_default());
        if name.is_empty() {
            out.add(&simple::EMPTY_COLUMN_NAME, |sample| {
                sample.put("filename", spec.name).put("index", position + 1);
            });
            is_fine = false;
            continue;
        }
        match seen.iter().find(|(other, _)| *other == name) {
            Some((_, first)) => {
                out.add(&simple::DUPLICATED_COLUMN, |sample| {
                    sample.put("filename", spec.name).put("fieldName", name);
                    sample.put("firstIndex", first + 1).put("secondIndex", position + 1);
                });
                is_fine = false;
            }
            None => seen.push((name, position)),
        }
        if spec.find_field(name).is_none() {
            out.add(&simple::UNKNOWN_COLUMN, |sample| {
                sample.put("filename", spec.name).put("fieldName", name);
                sample.put("index", position + 1);
            });
        }
    }
    let (mut cells, mut absent) = (Vec::new(), Vec::new());
    for field in spec.fields {
        match seen.iter().find(|(name, _)| *name == field.name) {
            Some(&(_, position)) => {
                cells.push(CellPlan { position, field, is_needed: keeps.needs(field) });
            }
            None if leniency::is_required(spec.name, field) || field.column_required => {
                out.add(&simple::MISSING_REQUIRED_COLUMN, |sample| {
                    sample.put("filename", spec.name).put("fieldName", field.name);
                });
                is_fine = false;
            }
            None if field.presence == Presence::Recommended => absent.push(field),
            None => {}
        }
    }
    let is_fine = match keeps {
        Keeps::Sound => is_fine,
        Keeps::With(fields) => fields.len() == cells.iter().filter(|plan| plan.is_needed).count(),
    };
    is_fine.then_some(Layout { spec, keeps, n_columns: record.len(), cells, absent })
}
