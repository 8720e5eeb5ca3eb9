//! Normalization of a feed's entities to records. Ids are assigned, dates filled in and the timetable joined only here.

mod forecast;
mod gbfs;
mod gtfs_rt;
mod identity;
mod join;
mod vehicle_position;
mod service_date;
mod siri;

use lineside_formats::{
    gtfs::Timetable,
    gtfs_rt::proto::{
        TripDescriptor, TripUpdate,
        trip_descriptor::ScheduleRelationship,
        trip_update::{StopTimeEvent, stop_time_update},
    },
};

pub(crate) use forecast::{
    CallForecast, ScheduledRun, clamp_to_i32, event_time, parse_gtfs_date, parse_gtfs_time,
};
pub(crate) use gbfs::{ParsedSystemFile, RecordFragment, SystemFile, SystemKind, read_system_file};
pub(crate) use gtfs_rt::{RecordDraft, draft_records, nonzero_seconds, supersedes_record};
pub(crate) use identity::{TripKey, format_gtfs_date};
pub(crate) use join::{join_alert, join_trip_update, join_vehicle};
pub(crate) use service_date::nearest_service_date;
pub use siri::siri_to_gtfs_rt;
pub(crate) use siri::{
    CancelledEntity, JourneyMark, JourneyMarks, MappingRules as SiriRules, NormalizedMessage,
    SiriEntity, TripPart, TripRef, feed_header as siri_header, message_refusal as siri_refusal,
    normalize_message as normalize_siri,
};

/// The context of normalization.
#[derive(Clone, Copy, Debug)]
pub(crate) struct NormalizeContext<'a> {
    pub(crate) timetable: Option<&'a Timetable>,
    /// The message's timestamp, else the present of the data; in Unix seconds.
    pub(crate) message_time: i64,
}

/// Returns true if the schedule does not contain the trip as it runs, so that its calls come from the trip update
/// alone.
pub(crate) fn is_extra_trip(trip: &TripDescriptor) -> bool {
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
pub(crate) fn is_cancelled_extra_trip(update: &TripUpdate) -> bool {
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
pub(crate) fn nonempty_text(text: &Option<String>) -> Option<&str> {
    text.as_deref().filter(|text| !text.is_empty())
}
