//! Where the reference validator takes more than the reference says: fields whose ids may hold any
//! letters, may be missing, or may lead nowhere.

use lineside_formats::gtfs::fields::{FieldSpec, Presence};

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

/// Whether an id should be plain ASCII.
pub(super) fn is_plain_id(file: &'static str, field: &FieldSpec) -> bool {
    !ANY_LETTERS.contains(&(file, field.name))
}

/// Whether each row must have a field.
pub(super) fn is_required(file: &'static str, field: &FieldSpec) -> bool {
    field.presence == Presence::Required && !NOT_MISSED.contains(&(file, field.name))
}

/// Whether a reference must lead to a row.
pub(crate) fn is_followed(file: &'static str, field: &FieldSpec) -> bool {
    !NOT_FOLLOWED.contains(&(file, field.name))
}
