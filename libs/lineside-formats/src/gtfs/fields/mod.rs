//! Tables of the files and fields of the GTFS Schedule reference (as of June 2026), including fares, flex and pathways.
//! They are the only place for facts about a single field.

mod extras;
mod fares;
mod schedule;

/// A file of the reference.
#[derive(Debug)]
pub struct FileSpec {
    /// Its name, such as `stops.txt`.
    pub name: &'static str,
    /// States whether a dataset requires the file.
    pub presence: FieldPresence,
    /// The fields whose combined values are unique to a row; empty if the reference names none, or all.
    pub key: &'static [&'static str],
    /// Its fields, in the order of the reference.
    pub fields: &'static [FieldSpec],
}

/// A field of a file.
#[derive(Debug)]
pub struct FieldSpec {
    /// Its name, such as `stop_lat`.
    pub name: &'static str,
    /// The kind of its values.
    pub kind: FieldKind,
    /// States whether a row requires the field.
    pub presence: FieldPresence,
    /// True if the column is required although its cells may be empty.
    pub column_required: bool,
    /// True if riders read the text and expect mixed case.
    pub mixed_case: bool,
}

/// The presence that the reference demands of a file or a field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FieldPresence {
    /// Always required.
    Required,
    /// Required, optional or forbidden, depending on other values.
    Conditional,
    /// Recommended.
    Recommended,
    /// Optional.
    Optional,
}

/// The kind of a field's values.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum FieldKind {
    /// An identifier of a row or a group, of any characters.
    Id,
    /// An id that occurs in one of these `file.field`s.
    Ref(&'static [&'static str]),
    /// Text for display.
    Text,
    /// An absolute `http` or `https` address.
    Url,
    /// A mail address.
    Email,
    /// A telephone number.
    Phone,
    /// Six hexadecimal digits.
    Color,
    /// `YYYYMMDD`.
    Date,
    /// `H:MM:SS` or `HH:MM:SS`, also beyond 24:00:00.
    Time,
    /// `HH:MM:SS` up to 24:00:00.
    LocalTime,
    /// Degrees within ±90.
    Latitude,
    /// Degrees within ±180.
    Longitude,
    /// A decimal number within the range.
    Float(AllowedNumberSign),
    /// A whole number within the range.
    Integer(AllowedNumberSign),
    /// One of these numbers.
    Enum(&'static [u16]),
    /// `route_type`: one of the basic list, or of the extended one.
    RouteType,
    /// Three capital letters (ISO 4217).
    Currency,
    /// A decimal amount.
    Amount,
    /// A language tag (BCP 47), or `mul`.
    Language,
    /// A name of the IANA time zone database.
    Timezone,
}

/// The sign that the numbers of a field may have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AllowedNumberSign {
    /// Any number.
    Any,
    /// Zero or positive.
    NonNegative,
    /// Positive.
    Positive,
    /// Any number but zero.
    NonZero,
}

/// All tables of the reference, in its order. `locations.geojson` is not a table and not included.
pub static FILES: [&FileSpec; 31] = [
    &schedule::AGENCY,
    &schedule::STOPS,
    &schedule::ROUTES,
    &schedule::TRIPS,
    &schedule::STOP_TIMES,
    &schedule::CALENDAR,
    &schedule::CALENDAR_DATES,
    &fares::FARE_ATTRIBUTES,
    &fares::FARE_RULES,
    &fares::TIMEFRAMES,
    &fares::RIDER_CATEGORIES,
    &fares::FARE_MEDIA,
    &fares::FARE_PRODUCTS,
    &fares::FARE_LEG_RULES,
    &fares::FARE_LEG_JOIN_RULES,
    &fares::FARE_TRANSFER_RULES,
    &fares::AREAS,
    &fares::STOP_AREAS,
    &fares::NETWORKS,
    &fares::ROUTE_NETWORKS,
    &schedule::SHAPES,
    &schedule::FREQUENCIES,
    &extras::TRANSFERS,
    &extras::PATHWAYS,
    &extras::LEVELS,
    &extras::LOCATION_GROUPS,
    &extras::LOCATION_GROUP_STOPS,
    &extras::BOOKING_RULES,
    &extras::TRANSLATIONS,
    &extras::FEED_INFO,
    &extras::ATTRIBUTIONS,
];

/// The name of the only GeoJSON file.
pub const LOCATIONS: &str = "locations.geojson";

/// Returns the table with that name.
pub fn find_file_spec(name: &str) -> Option<&'static FileSpec> {
    FILES.iter().copied().find(|file| file.name == name)
}

impl FileSpec {
    /// Returns the field with that name.
    pub fn find_field_spec(&self, name: &str) -> Option<&'static FieldSpec> {
        self.fields.iter().find(|field| field.name == name)
    }
}

const fn new_field_spec(name: &'static str, kind: FieldKind, presence: FieldPresence) -> FieldSpec {
    FieldSpec { name, kind, presence, column_required: false, mixed_case: false }
}

impl FieldSpec {
    /// Marks the field as text that riders read.
    const fn with_recommended_mixed_case(mut self) -> FieldSpec {
        self.mixed_case = true;
        self
    }

    /// Marks the column as required.
    const fn with_required_column(mut self) -> FieldSpec {
        self.column_required = true;
        self
    }
}

const fn new_file_spec(
    name: &'static str,
    presence: FieldPresence,
    key: &'static [&'static str],
    fields: &'static [FieldSpec],
) -> FileSpec {
    FileSpec { name, presence, key, fields }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn file_and_field_names_are_unique() {
        for (at, file) in FILES.iter().enumerate() {
            assert!(FILES[..at].iter().all(|other| other.name != file.name), "{}", file.name);
            for (at, field) in file.fields.iter().enumerate() {
                assert!(
                    file.fields[..at].iter().all(|other| other.name != field.name),
                    "{}",
                    field.name
                );
            }
        }
    }

    #[test]
    fn keys_and_references_refer_to_existing_fields() {
        for file in FILES {
            for key in file.key {
                assert!(file.find_field_spec(key).is_some(), "{}: {key}", file.name);
            }
            for field in file.fields {
                let FieldKind::Ref(targets) = field.kind else { continue };
                assert!(!targets.is_empty());
                for target in targets {
                    let (table, name) = target.split_once('.').unwrap();
                    let known = table == "locations"
                        || find_file_spec(&format!("{table}.txt"))
                            .is_some_and(|table| table.find_field_spec(name).is_some());
                    assert!(known, "{}.{}: {target}", file.name, field.name);
                }
            }
        }
    }
}
