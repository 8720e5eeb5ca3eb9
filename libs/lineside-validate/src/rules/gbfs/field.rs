//! What a field of a file may hold, and in which versions it is there.

use super::version::SpecVersion;

/// What a field holds.
#[derive(Clone, Copy, Debug)]
pub(super) enum FieldType {
    /// Fields of its own.
    Object,
    /// Values in a row, at least so many.
    List(usize),
    /// Any text.
    Text,
    /// The id of this record, which no other record of its kind has.
    Key(RecordIdKind),
    /// The id of another record.
    Ref(RecordIdKind),
    /// A text in several languages.
    Texts,
    /// An address in several languages.
    Urls,
    /// An address of any scheme.
    Url,
    /// An address of mail.
    Mail,
    /// A telephone number after E.164.
    Phone,
    /// A language after BCP 47.
    Language,
    /// A time zone of the IANA database.
    Zone,
    /// A point in time: seconds since 1970 before 3.0, RFC 3339 from then on.
    Instant,
    /// A point in time that is RFC 3339 in every version.
    DateTime,
    /// A day.
    Date,
    /// A time of the day, `hh:mm:ss`.
    Time,
    /// A country after ISO 3166.
    Country,
    /// A currency after ISO 4217.
    Currency,
    /// A color as `#rrggbb`.
    Color,
    /// One of these words.
    Word(&'static [&'static str]),
    /// The number of a version.
    VersionNumber,
    /// Yes or no: a number before 2.0.
    Flag,
    /// A whole number from one to another.
    Whole(i64, i64),
    /// Any number from one to another.
    Number(f64, f64),
    /// Numbers by id.
    NumbersBy(RecordIdKind),
    /// An area as GeoJSON has it: a `MultiPolygon`.
    Area,
}

/// Records that have ids.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum RecordIdKind {
    Station,
    /// The state of a station: its id stands once in the file and is that of a station.
    StationState,
    Vehicle,
    /// When a vehicle can be rented: its id stands once in the file.
    Availability,
    VehicleType,
    Plan,
    Region,
    Alert,
    Dataset,
}

/// A whole number that counts something.
pub(super) const COUNT: FieldType = FieldType::Whole(0, i64::MAX);
/// A number that measures something.
pub(super) const AMOUNT: FieldType = FieldType::Number(0.0, f64::MAX);
/// A part of a whole.
pub(super) const PART: FieldType = FieldType::Number(0.0, 1.0);
pub(super) const LAT: FieldType = FieldType::Number(-90.0, 90.0);
pub(super) const LON: FieldType = FieldType::Number(-180.0, 180.0);

/// A field.
#[derive(Clone, Copy, Debug)]
pub(super) struct FieldRule {
    /// Where it stands below `data`: names with dots between them, `[]` for each of a list.
    pub(super) path: &'static str,
    pub(super) is: FieldType,
    /// Whether it must be there if what it stands in is there.
    pub(super) must: bool,
    pub(super) from: SpecVersion,
    pub(super) to: SpecVersion,
}

/// A field that may be there, in all versions.
pub(super) const fn optional_field(path: &'static str, is: FieldType) -> FieldRule {
    FieldRule { path, is, must: false, from: SpecVersion::V1_0, to: SpecVersion::V3_1 }
}

/// A field that must be there, in all versions.
pub(super) const fn required_field(path: &'static str, is: FieldType) -> FieldRule {
    FieldRule { must: true, ..optional_field(path, is) }
}

impl FieldRule {
    /// The same, from this version on.
    pub(super) const fn since_version(self, from: SpecVersion) -> FieldRule {
        FieldRule { from, ..self }
    }

    /// The same, up to this version.
    pub(super) const fn until_version(self, to: SpecVersion) -> FieldRule {
        FieldRule { to, ..self }
    }
}
