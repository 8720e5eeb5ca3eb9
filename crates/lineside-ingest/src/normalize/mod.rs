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
    gtfs_rt::proto::{TripDescriptor, trip_descriptor::ScheduleRelationship},
};

pub(crate) use forecast::{Forecast, Run, clamp, event_time, parse_date};
pub(crate) use gbfs::{Piece, ReadFile, SystemFile, SystemKind, read_file};
pub(crate) use gtfs_rt::{Draft, drafts_of, says_newer, seconds};
pub(crate) use identity::{TripKey, gtfs_date};
pub(crate) use join::{join_alert, join_trip_update, join_vehicle};
pub(crate) use siri::{
    Cancelled, Normalized, Rules as SiriRules, SiriEntity, TripPart, TripRef,
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

/// A text, unless it is empty: producers write both for "not given".
pub(crate) fn given(text: &Option<String>) -> Option<&str> {
    text.as_deref().filter(|text| !text.is_empty())
}
