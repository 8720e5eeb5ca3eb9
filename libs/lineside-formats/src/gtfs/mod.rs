//! GTFS schedules: decodes a zip of tables to a [`Timetable`].
//!
//! Reading is streaming: no file is ever whole in memory. Each row of each file of the reference is counted, and its
//! types are checked against the field tables. A fault becomes a [`Problem`](crate::Problem) and never stops the load.
//! The timetable holds the data that departures, maps and real-time need.

pub mod addresses;
mod departures;
pub mod fields;
mod files;
mod limits;
mod load;
pub mod rows;
mod service;
mod timetable;
pub mod values;
mod write;

pub use self::{
    departures::{ScheduledDeparture, TripInstance},
    files::{FileSet, TextFiles, ZipFiles},
    limits::DatasetLimits,
    load::{TimetableBuilder, load_timetable},
    timetable::{
        Agency, AgencyIdx, FeedInfo, Frequency, PatternIdx, Route, RouteIdx, RouteMapLine,
        ServiceIdx, ShapeIdx, Stop, StopIdx, StopTime, Timetable, Trip, TripIdx,
    },
    write::{BoardingType, InMemoryTables, StopTimeRow, TableWriter, ZipTableWriter},
};
#[cfg(feature = "netex")]
pub(crate) use self::{
    timetable::{StringInterner, TextId},
    write::format_gtfs_time,
};
