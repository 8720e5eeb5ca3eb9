//! The header of a file: the fields of the reference that it has, and their positions.

use lineside_formats::gtfs::{
    fields::{FieldPresence, FieldSpec, FileSpec},
    rows::CsvRecord,
};

use super::{
    leniency::{self, RowRetentionRule},
    reader::trim_cell,
    simple,
};
use crate::notice::Notices;

/// The position of a field's cells in a row.
#[derive(Clone, Copy, Debug)]
pub(super) struct FieldPosition {
    pub(super) position: usize,
    pub(super) field: &'static FieldSpec,
    /// True if a row is dropped when this field cannot be read.
    pub(super) is_needed: bool,
}

/// The layout by which the rows of a file are read.
#[derive(Debug)]
pub(super) struct TableRowLayout {
    pub(super) spec: &'static FileSpec,
    pub(super) retention: RowRetentionRule,
    pub(super) n_columns: usize,
    pub(super) cells: Vec<FieldPosition>,
    /// Required or recommended fields whose columns the file lacks.
    pub(super) absent: Vec<&'static FieldSpec>,
}

/// Reads the header: the number of columns, and the positions of the fields of the reference. Reports its faults.
/// Returns `None` if rows cannot be read by it.
pub(super) fn parse_header(
    spec: &'static FileSpec,
    retention: RowRetentionRule,
    record: &CsvRecord<'_>,
    out: &mut Notices,
) -> Option<TableRowLayout> {
    let mut is_fine = true;
    let mut seen: Vec<(&str, usize)> = Vec::new();
    for position in 0..record.len() {
        let name = trim_cell(std::str::from_utf8(record.field_bytes(position)).unwrap_or_default());
        if name.is_empty() {
            out.count_notice_with_sample(&simple::EMPTY_COLUMN_NAME, |sample| {
                sample.set_field("filename", spec.name).set_field("index", position + 1);
            });
            is_fine = false;
            continue;
        }
        match seen.iter().find(|(other, _)| *other == name) {
            Some((_, first)) => {
                out.count_notice_with_sample(&simple::DUPLICATED_COLUMN, |sample| {
                    sample.set_field("filename", spec.name).set_field("fieldName", name);
                    sample
                        .set_field("firstIndex", first + 1)
                        .set_field("secondIndex", position + 1);
                });
                is_fine = false;
            }
            None => seen.push((name, position)),
        }
        if spec.find_field_spec(name).is_none() {
            out.count_notice_with_sample(&simple::UNKNOWN_COLUMN, |sample| {
                sample.set_field("filename", spec.name).set_field("fieldName", name);
                sample.set_field("index", position + 1);
            });
        }
    }
    let (mut cells, mut absent) = (Vec::new(), Vec::new());
    for field in spec.fields {
        match seen.iter().find(|(name, _)| *name == field.name) {
            Some(&(_, position)) => {
                cells.push(FieldPosition {
                    position,
                    field,
                    is_needed: retention.drops_row_without_field(field),
                });
            }
            None if leniency::is_missing_value_reported(spec.name, field)
                || field.column_required =>
            {
                out.count_notice_with_sample(&simple::MISSING_REQUIRED_COLUMN, |sample| {
                    sample.set_field("filename", spec.name).set_field("fieldName", field.name);
                });
                is_fine = false;
            }
            None if field.presence == FieldPresence::Recommended => absent.push(field),
            None => {}
        }
    }
    let is_fine = match retention {
        RowRetentionRule::Faultless => is_fine,
        RowRetentionRule::WithFields(fields) => {
            fields.len() == cells.iter().filter(|plan| plan.is_needed).count()
        }
    };
    is_fine.then_some(TableRowLayout { spec, retention, n_columns: record.len(), cells, absent })
}
