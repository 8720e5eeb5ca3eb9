//! Where more is taken than the reference says: by the reference validator, which reads ids of any
//! letters and misses or follows some fields not, and for real-time rules, to which a row is there
//! whatever is wrong with a field of it.

use lineside_formats::gtfs::fields::{FieldPresence, FieldSpec};

type Field = (&'static str, &'static str);

/// Ids that it reads as any text.
const ANY_LETTERS: [Field; 5] = [
    ("booking_rules.txt", "prior_notice_service_id"),
    ("frequencies.txt", "trip_id"),
    ("timeframes.txt", "service_id"),
    ("translations.txt", "record_id"),
    ("translations.txt", "record_sub_id"),
];

/// Fields that it does not miss.
const NOT_MISSED: [Field; 1] = [("timeframes.txt", "timeframe_group_id")];

/// References that it does not follow.
const NOT_FOLLOWED: [Field; 3] = [
    ("booking_rules.txt", "prior_notice_service_id"),
    ("location_group_stops.txt", "location_group_id"),
    ("location_group_stops.txt", "stop_id"),
];

/// What real-time rules ask of a schedule: its files, each with the fields without which a row of it
/// tells them nothing.
const ASKED_BY_MESSAGES: [(&str, &[&str]); 9] = [
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

/// Which rows of a file are kept.
#[derive(Clone, Copy, Debug)]
pub(super) enum RowRetention {
    /// Those that nothing spoils: rules over schedules see no others, as the reference validator has
    /// it.
    Sound,
    /// Those that have these fields. What is wrong about others is as if it were not there.
    With(&'static [&'static str]),
}

impl RowRetention {
    /// Which rows of a file real-time rules know; none if they ask nothing of it.
    pub(super) fn for_realtime_file(file: &str) -> Option<RowRetention> {
        let asked = ASKED_BY_MESSAGES.iter().find(|(name, _)| *name == file);
        asked.map(|&(_, fields)| RowRetention::With(fields))
    }

    /// Whether a row is left out for any fault.
    pub(super) fn is_strict(self) -> bool {
        matches!(self, RowRetention::Sound)
    }

    /// Whether a row is left out without a field of it that can be read.
    pub(super) fn needs_field(self, field: &FieldSpec) -> bool {
        match self {
            RowRetention::Sound => true,
            RowRetention::With(fields) => fields.contains(&field.name),
        }
    }
}

/// Whether an id should be plain ASCII.
pub(super) fn is_plain_id(file: &'static str, field: &FieldSpec) -> bool {
    !ANY_LETTERS.contains(&(file, field.name))
}

/// Whether each row must have a field.
pub(super) fn is_required(file: &'static str, field: &FieldSpec) -> bool {
    field.presence == FieldPresence::Required && !NOT_MISSED.contains(&(file, field.name))
}

/// Whether a reference must lead to a row.
pub(crate) fn is_followed(file: &'static str, field: &FieldSpec) -> bool {
    !NOT_FOLLOWED.contains(&(file, field.name))
}
