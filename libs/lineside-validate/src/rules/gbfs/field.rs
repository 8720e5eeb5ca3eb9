//! The types of GBFS fields, and the versions that have them.

use super::version::GbfsVersion;

#[derive(Clone, Copy, Debug)]
pub(super) enum GbfsFieldType {
    /// An object with fields.
    Object,
    /// A list with at least this many values.
    List(usize),
    Text,
    /// The id of this record, unique among the records of its kind.
    Key(RecordIdKind),
    /// The id of another record.
    Ref(RecordIdKind),
    /// A text in several languages.
    Texts,
    /// A URL in several languages.
    Urls,
    /// A URL of any scheme.
    Url,
    /// An email address.
    Mail,
    /// A telephone number in E.164.
    Phone,
    /// A BCP 47 language code.
    Language,
    /// A time zone of the IANA database.
    Zone,
    /// A point in time: seconds since 1970 before 3.0, RFC 3339 from then on.
    Instant,
    /// A point in time that is RFC 3339 in every version.
    DateTime,
    Date,
    /// A time of the day, `hh:mm:ss`.
    Time,
    /// An ISO 3166 country code.
    Country,
    /// An ISO 4217 currency code.
    Currency,
    /// A color as `#rrggbb`.
    Color,
    /// One of these enum values.
    Word(&'static [&'static str]),
    VersionNumber,
    /// A boolean; before 2.0 a number.
    Flag,
    /// An integer in an inclusive range.
    Whole(i64, i64),
    /// A number in an inclusive range.
    Number(f64, f64),
    /// An object of numbers by id.
    NumbersBy(RecordIdKind),
    /// A GeoJSON area: a `MultiPolygon`.
    Area,
}

/// The kinds of records with ids.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum RecordIdKind {
    Station,
    /// The status of a station. Its id occurs once in the file and is the id of a station.
    StationState,
    Vehicle,
    /// The availability of a vehicle. Its id occurs once in the file.
    Availability,
    VehicleType,
    Plan,
    Region,
    Alert,
    Dataset,
}

/// An integer that counts things.
pub(super) const COUNT: GbfsFieldType = GbfsFieldType::Whole(0, i64::MAX);
/// A number that measures something; not negative.
pub(super) const AMOUNT: GbfsFieldType = GbfsFieldType::Number(0.0, f64::MAX);
/// A fraction from 0 to 1.
pub(super) const PART: GbfsFieldType = GbfsFieldType::Number(0.0, 1.0);
pub(super) const LAT: GbfsFieldType = GbfsFieldType::Number(-90.0, 90.0);
pub(super) const LON: GbfsFieldType = GbfsFieldType::Number(-180.0, 180.0);

/// The rule for a field of a file.
#[derive(Clone, Copy, Debug)]
pub(super) struct GbfsFieldRule {
    /// The path below `data`: names separated by dots, with `[]` for each element of a list.
    pub(super) path: &'static str,
    pub(super) field_type: GbfsFieldType,
    /// True if the field is required whenever its parent is present.
    pub(super) is_required: bool,
    pub(super) from: GbfsVersion,
    pub(super) to: GbfsVersion,
}

/// Returns an optional field of all versions.
pub(super) const fn optional_field(path: &'static str, field_type: GbfsFieldType) -> GbfsFieldRule {
    GbfsFieldRule {
        path,
        field_type,
        is_required: false,
        from: GbfsVersion::V1_0,
        to: GbfsVersion::V3_1,
    }
}

/// Returns a required field of all versions.
pub(super) const fn required_field(path: &'static str, field_type: GbfsFieldType) -> GbfsFieldRule {
    GbfsFieldRule { is_required: true, ..optional_field(path, field_type) }
}

impl GbfsFieldRule {
    /// Restricts the field to this version and later ones.
    pub(super) const fn since_version(self, from: GbfsVersion) -> GbfsFieldRule {
        GbfsFieldRule { from, ..self }
    }

    /// Restricts the field to this version and earlier ones.
    pub(super) const fn until_version(self, to: GbfsVersion) -> GbfsFieldRule {
        GbfsFieldRule { to, ..self }
    }
}
