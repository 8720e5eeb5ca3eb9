//! Normalization of a feed's entities to records. Ids are assigned, dates filled in and the timetable joined only here.

mod gbfs;
mod gtfs_rt;
mod identity;
mod join;
mod vehicle_position;
mod siri;

use lineside_formats::gtfs::Timetable;

pub(crate) use gbfs::{
    DecodedGbfsFile, GbfsFileRecords, GbfsRecordFileKind, GbfsRecordFragment, decode_file_records,
};
pub(crate) use gtfs_rt::{RecordDraft, can_replace_record, entity_to_record_drafts};
pub(crate) use join::{alert_timetable_join, trip_update_timetable_join, vehicle_timetable_join};
pub use siri::siri_to_gtfs_rt;
pub(crate) use siri::{
    CancelledEntity, DescribedTripPart, JourneyQualifierKind, JourneyQualifiers,
    MappingRules as SiriRules, NormalizedMessage, SiriEntity, TripRef,
    gtfs_rt_feed_header as siri_header, normalize_message as normalize_siri,
    refusal_reason_of_message as siri_refusal,
};

#[derive(Clone, Copy, Debug)]
pub(crate) struct NormalizeContext<'a> {
    pub(crate) timetable: Option<&'a Timetable>,
    /// The message's timestamp, else the present of the data; in Unix seconds.
    pub(crate) message_time: i64,
}
