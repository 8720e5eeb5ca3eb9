//! What a field of a file may hold, and in which versions it is there.

use super::version::Version;

/// What a field holds.
#[derive(Clone, Copy, Debug)]
pub(super) enum Is {
    /// Fields of its own.
    Object,
    /// Values in a row, at least so many.
    List(usize),
    /// Any text.
    Text,
    /// The id of this record, which no other record of its kind has.
    Key(Of),
    /// The id of another record.
    Ref(Of),
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
    NumbersBy(Of),
    /// An area as GeoJSON has it: a `MultiPolygon`.
    Area,
}

/// Records that have ids.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Of {
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
pub(super) const COUNT: Is = Is::Whole(0, i64::MAX);
/// A number that measures something.
pub(super) const AMOUNT: Is = Is::Number(0.0, f64::MAX);
/// A part of a whole.
pub(super) const PART: Is = Is::Number(0.0, 1.0);
pub(super) const LAT: Is = Is::Number(-90.0, 90.0);
pub(super) const LON: Is = Is::Number(-180.0, 180.0);

/// A field.
#[derive(Clone, Copy, Debug)]
pub(super) struct Field {
    /// Where it stands below `data`: names with dots between them, `[]` for each of a list.
    pub(super) path: &'static str,
    pub(super) is: Is,
    /// Whether it must be there if what it stands in is there.
    pub(super) must: bool,
    pub(super) from: Version,
    pub(super) to: Version,
}

/// A field that may be there, in all versions.
pub(super) const fn may(path: &'static str, is: Is) -> Field {
    Field { path, is, must: false, from: Version::V1_0, to: Version::V3_1 }
}

/// A field that must be there, in all versions.
pub(super) const fn must(path: &'static str, is: Is) -> Field {
    Field { must: true, ..may(path, is) }
}

impl Field {
    /// The same, from this version on.
    pub(super) const fn from(self, from: Version) -> Field {
        Field { from, ..self }
    }

    /// The same, up to this version.
    pub(super) const fn to(self, to: Version) -> Field {
        Field { to, ..self }
    }
}
