//! The identity of trips in GTFS-Realtime, and readers of its optional fields.

use jiff::civil::Date;
use lineside_formats::gtfs_rt::proto::{
    TripDescriptor, TripUpdate,
    trip_descriptor::ScheduleRelationship,
    trip_update::{StopTimeEvent, stop_time_update},
};

/// A trip on a date, as written in ids.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TripKey<'a> {
    pub trip_id: &'a str,
    pub start_date: &'a str,
    pub start_time: &'a str,
}

impl<'a> TripKey<'a> {
    /// Returns the key of the trip that a descriptor names; `None` without a trip id.
    pub fn from_descriptor(trip: &'a TripDescriptor) -> Option<TripKey<'a>> {
        Some(TripKey {
            trip_id: text_if_nonempty(&trip.trip_id)?,
            start_date: text_if_nonempty(&trip.start_date).unwrap_or_default(),
            start_time: text_if_nonempty(&trip.start_time).unwrap_or_default(),
        })
    }

    /// Returns true if both may be the same run: missing parts match anything.
    pub fn may_be_same_run(self, other: TripKey<'_>) -> bool {
        let agree = |a: &str, b: &str| a.is_empty() || b.is_empty() || a == b;
        self.trip_id == other.trip_id
            && agree(self.start_date, other.start_date)
            && agree(self.start_time, other.start_time)
    }
}

pub fn format_gtfs_date(date: Date) -> String {
    format!("{:04}{:02}{:02}", date.year(), date.month(), date.day())
}

/// Returns true if the schedule does not contain the trip as it runs, so that its calls come from the trip update
/// alone.
pub fn is_extra_trip(trip: &TripDescriptor) -> bool {
    matches!(
        trip.schedule_relationship(),
        ScheduleRelationship::Added
            | ScheduleRelationship::New
            | ScheduleRelationship::Duplicated
            | ScheduleRelationship::Replacement
            | ScheduleRelationship::Unscheduled
    )
}

/// Returns true if an update is about a cancelled extra trip: it does not run, but its calls still state their
/// scheduled times.
pub fn is_cancelled_extra_trip(update: &TripUpdate) -> bool {
    let is_planned = |event: &Option<StopTimeEvent>| {
        event.as_ref().is_some_and(|event| event.scheduled_time.is_some())
    };
    update.trip.schedule_relationship() == ScheduleRelationship::Canceled
        && update.stop_time_update.iter().any(|call| {
            call.schedule_relationship() == stop_time_update::ScheduleRelationship::Skipped
                && (is_planned(&call.arrival) || is_planned(&call.departure))
        })
}

/// Returns a text unless it is empty: producers use both for a missing value.
pub fn text_if_nonempty(text: &Option<String>) -> Option<&str> {
    text.as_deref().filter(|text| !text.is_empty())
}

/// Returns a message's timestamp; 0 counts as missing.
pub fn timestamp_if_nonzero(timestamp: Option<u64>) -> Option<i64> {
    i64::try_from(timestamp?).ok().filter(|&seconds| seconds > 0)
}
