//! Building blocks of notices about messages.

use crate::notice::{NoticeKind, Severity};

/// A field of a notice and its meaning.
pub(super) type Field = (&'static str, &'static str);

pub(super) const ENTITY: Field = ("entityId", "The entity of the message.");
pub(super) const TRIP: Field = ("tripId", "The trip.");
pub(super) const ROUTE: Field = ("routeId", "The route.");
pub(super) const VEHICLE: Field = ("vehicleId", "The vehicle.");
pub(super) const STOP: Field = ("stopId", "The stop.");
pub(super) const SEQUENCE: Field = ("stopSequence", "The `stop_sequence` of the stop.");
pub(super) const FIELD: Field = ("fieldName", "The field of the message.");
pub(super) const TIMESTAMP: Field = ("timestamp", "The time, in seconds since 1970.");
pub(super) const HEADER: Field =
    ("headerTimestamp", "The timestamp of the header, in seconds since 1970.");
pub(super) const AGENCY: Field = ("agencyId", "The agency.");
pub(super) const AGE: Field = ("age", "The age, in seconds.");
pub(super) const DISTANCE: Field = ("distance", "The distance, in meters.");
pub(super) const LATITUDE: Field = ("latitude", "The latitude.");
pub(super) const LONGITUDE: Field = ("longitude", "The longitude.");
pub(super) const OTHER_ENTITY: Field = ("otherEntityId", "The conflicting entity.");
pub(super) const OTHER_TRIP: Field = ("otherTripId", "The other trip.");
pub(super) const SERVICE_DATE: Field = ("serviceDate", "The service day, as `YYYYMMDD`.");
pub(super) const RELATIONSHIP: Field =
    ("scheduleRelationship", "The schedule relationship, as a number.");

/// Returns an error kind, for violations of the specification.
pub(super) const fn error_kind(
    code: &'static str,
    fields: &'static [Field],
    page: &'static str,
) -> NoticeKind {
    NoticeKind { code, severity: Severity::Error, fields, page }
}

/// Returns a warning kind, for violations of recommendations.
pub(super) const fn warning_kind(
    code: &'static str,
    fields: &'static [Field],
    page: &'static str,
) -> NoticeKind {
    NoticeKind { code, severity: Severity::Warning, fields, page }
}
