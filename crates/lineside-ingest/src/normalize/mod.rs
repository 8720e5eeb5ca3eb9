//! Normalization of a feed's entities to records. Ids are assigned, dates filled in and the timetable joined only here.

mod gbfs;
mod gtfs_rt;
mod identity;
mod join;
mod vehicle_position;
mod siri;

use lineside_formats::gtfs::Timetable;

pub(crate) use gbfs::{ParsedSystemFile, RecordFragment, SystemFile, SystemKind, read_system_file};
pub(crate) use gtfs_rt::{RecordDraft, draft_records, supersedes_record};
pub(crate) use join::{join_alert, join_trip_update, join_vehicle};
pub use siri::siri_to_gtfs_rt;
pub(crate) use siri::{
    CancelledEntity, JourneyMark, JourneyMarks, MappingRules as SiriRules, NormalizedMessage,
    SiriEntity, TripPart, TripRef, feed_header as siri_header, message_refusal as siri_refusal,
    normalize_message as normalize_siri,
};

#[derive(Clone, Copy, Debug)]
pub(crate) struct NormalizeContext<'a> {
    pub(crate) timetable: Option<&'a Timetable>,
    /// The message's timestamp, else the present of the data; in Unix seconds.
    pub(crate) message_time: i64,
}
