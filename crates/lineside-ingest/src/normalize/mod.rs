//! Normalization: a feed's entities become records. The one place where ids are made, dates filled in and the
//! timetable joined.

mod forecast;
mod gbfs;
mod gtfs_rt;
mod identity;
mod join;
mod place;
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

pub(crate) use forecast::{Forecast, Run, clamp, event_time, parse_date, parse_time};
pub(crate) use gbfs::{Piece, ReadFile, SystemFile, SystemKind, read_file};
pub(crate) use gtfs_rt::{Draft, drafts_of, says_newer, seconds};
pub(crate) use identity::{TripKey, gtfs_date};
pub(crate) use join::{join_alert, join_trip_update, join_vehicle};
pub(crate) use service_date::nearest_service_date;
pub(crate) use siri::{
    Cancelled, Mark, Marks, Normalized, Rules as SiriRules, SiriEntity, TripPart, TripRef,
    header as siri_header, normalize as normalize_siri, refusal as siri_refusal,
};
pub use siri::{IdKind, IdTable, IdTableError, SiriIds, siri_to_gtfs_rt};

/// What normalization knows besides the entity.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Context<'a> {
    pub(crate) timetable: Option<&'a Timetable>,
    /// The message's own time, else the present of the data; Unix seconds.
    pub(crate) message_time: i64,
}

/// Whether the schedule does not hold the trip as it runs, so that its calls come from the trip update alone.
pub(crate) fn is_extra(trip: &TripDescriptor) -> bool {
    matches!(
        trip.schedule_relationship(),
        ScheduleRelationship::Added
            | ScheduleRelationship::New
            | ScheduleRelationship::Duplicated
            | ScheduleRelationship::Replacement
            | ScheduleRelationship::Unscheduled
    )
}

/// Whether an update is of a trip that was to run on top of the schedule and does not run after all: it is cancelled, and its
/// calls say all the same when they would have been.
pub(crate) fn is_extra_off(update: &TripUpdate) -> bool {
    let is_planned = |event: &Option<StopTimeEvent>| {
        event.as_ref().is_some_and(|event| event.scheduled_time.is_some())
    };
    update.trip.schedule_relationship() == ScheduleRelationship::Canceled
        && update.stop_time_update.iter().any(|call| {
            call.schedule_relationship() == stop_time_update::ScheduleRelationship::Skipped
                && (is_planned(&call.arrival) || is_planned(&call.departure))
        })
}

/// A text, unless it is empty: producers write both for "not given".
pub(crate) fn given(text: &Option<String>) -> Option<&str> {
    text.as_deref().filter(|text| !text.is_empty())
}
