//! Building blocks of notices about messages.

use crate::notice::{NoticeKind, Severity};

pub(super) type NoticeFieldMeaning = (&'static str, &'static str);

pub(super) const ENTITY: NoticeFieldMeaning = ("entityId", "The entity of the message.");
pub(super) const TRIP: NoticeFieldMeaning = ("tripId", "The trip.");
pub(super) const ROUTE: NoticeFieldMeaning = ("routeId", "The route.");
pub(super) const VEHICLE: NoticeFieldMeaning = ("vehicleId", "The vehicle.");
pub(super) const STOP: NoticeFieldMeaning = ("stopId", "The stop.");
pub(super) const SEQUENCE: NoticeFieldMeaning =
    ("stopSequence", "The `stop_sequence` of the stop.");
pub(super) const FIELD: NoticeFieldMeaning = ("fieldName", "The field of the message.");
pub(super) const TIMESTAMP: NoticeFieldMeaning = ("timestamp", "The time, in seconds since 1970.");
pub(super) const HEADER: NoticeFieldMeaning =
    ("headerTimestamp", "The timestamp of the header, in seconds since 1970.");
pub(super) const AGENCY: NoticeFieldMeaning = ("agencyId", "The agency.");
pub(super) const AGE: NoticeFieldMeaning = ("age", "The age, in seconds.");
pub(super) const DISTANCE: NoticeFieldMeaning = ("distance", "The distance, in meters.");
pub(super) const LATITUDE: NoticeFieldMeaning = ("latitude", "The latitude.");
pub(super) const LONGITUDE: NoticeFieldMeaning = ("longitude", "The longitude.");
pub(super) const OTHER_ENTITY: NoticeFieldMeaning = ("otherEntityId", "The conflicting entity.");
pub(super) const OTHER_TRIP: NoticeFieldMeaning = ("otherTripId", "The other trip.");
pub(super) const SERVICE_DATE: NoticeFieldMeaning =
    ("serviceDate", "The service day, as `YYYYMMDD`.");
pub(super) const RELATIONSHIP: NoticeFieldMeaning =
    ("scheduleRelationship", "The schedule relationship, as a number.");

/// Returns an error kind, for violations of the specification.
pub(super) const fn new_error_kind(
    code: &'static str,
    fields: &'static [NoticeFieldMeaning],
    page: &'static str,
) -> NoticeKind {
    NoticeKind { code, severity: Severity::Error, fields, page }
}

/// Returns a warning kind, for violations of recommendations.
pub(super) const fn new_warning_kind(
    code: &'static str,
    fields: &'static [NoticeFieldMeaning],
    page: &'static str,
) -> NoticeKind {
    NoticeKind { code, severity: Severity::Warning, fields, page }
}
