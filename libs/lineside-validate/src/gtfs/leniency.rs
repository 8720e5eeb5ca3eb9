//! Exceptions from the reference. The reference validator accepts ids of any characters, and ignores some missing
//! fields and some references. For real-time rules, a row counts even if other fields are invalid.

use lineside_formats::gtfs::fields::{FieldPresence, FieldSpec};

type FileAndFieldName = (&'static str, &'static str);

/// Ids that the reference validator accepts as any text.
const ANY_LETTERS: [FileAndFieldName; 5] = [
    ("booking_rules.txt", "prior_notice_service_id"),
    ("frequencies.txt", "trip_id"),
    ("timeframes.txt", "service_id"),
    ("translations.txt", "record_id"),
    ("translations.txt", "record_sub_id"),
];

/// Required fields that the reference validator does not report as missing.
const NOT_REPORTED_MISSING: [FileAndFieldName; 1] = [("timeframes.txt", "timeframe_group_id")];

/// References that the reference validator does not check.
const UNCHECKED_REFERENCES: [FileAndFieldName; 3] = [
    ("booking_rules.txt", "prior_notice_service_id"),
    ("location_group_stops.txt", "location_group_id"),
    ("location_group_stops.txt", "stop_id"),
];

/// The files that real-time rules need, each with the fields without which a row is useless to them.
const REALTIME_FIELDS: [(&str, &[&str]); 9] = [
    ("agency.txt", &[]),
    ("stops.txt", &["stop_id"]),
    ("routes.txt", &["route_id"]),
    ("trips.txt", &["trip_id"]),
    ("stop_times.txt", &["trip_id", "stop_sequence"]),
    ("calendar.txt", &["service_id"]),
    ("calendar_dates.txt", &["service_id"]),
    ("shapes.txt", &["shape_id", "shape_pt_sequence"]),
    ("frequencies.txt", &["trip_id"]),
];

/// The rows of a file that are retained.
#[derive(Clone, Copy, Debug)]
pub(super) enum RowRetentionRule {
    /// Rows without faults, the only ones that rules over schedules see, as in the reference validator.
    Faultless,
    /// Rows with these fields. Other faults are ignored.
    WithFields(&'static [&'static str]),
}

impl RowRetentionRule {
    /// Returns the rows of a file that real-time rules see; `None` if they do not need the file.
    pub(super) fn retention_for_realtime_rules(file: &str) -> Option<RowRetentionRule> {
        let entry = REALTIME_FIELDS.iter().find(|(name, _)| *name == file);
        entry.map(|&(_, fields)| RowRetentionRule::WithFields(fields))
    }

    /// Returns true if a row is dropped for any fault.
    pub(super) fn drops_row_for_any_fault(self) -> bool {
        matches!(self, RowRetentionRule::Faultless)
    }

    /// Returns true if a row is dropped when this field cannot be read.
    pub(super) fn drops_row_without_field(self, field: &FieldSpec) -> bool {
        match self {
            RowRetentionRule::Faultless => true,
            RowRetentionRule::WithFields(fields) => fields.contains(&field.name),
        }
    }
}

/// Returns true if an id should be plain ASCII.
pub(super) fn must_id_be_ascii(file: &'static str, field: &FieldSpec) -> bool {
    !ANY_LETTERS.contains(&(file, field.name))
}

/// Returns true if each row must have the field.
pub(super) fn is_missing_value_reported(file: &'static str, field: &FieldSpec) -> bool {
    field.presence == FieldPresence::Required && !NOT_REPORTED_MISSING.contains(&(file, field.name))
}

/// Returns true if a reference must match a row.
pub(crate) fn is_reference_checked(file: &'static str, field: &FieldSpec) -> bool {
    !UNCHECKED_REFERENCES.contains(&(file, field.name))
}
