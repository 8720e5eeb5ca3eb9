//! The timetable: a compact schedule in memory, indexed for queries.
//!
//! All references are indices. Texts are stored once in an arena, and repeating trips share their stop times (see
//! `patterns`). A timetable is immutable: a new dataset becomes a new timetable.

mod agencies;
mod frequencies;
mod groups;
mod idx;
mod patterns;
mod routes;
mod services;
mod shapes;
mod stops;
mod string_arena;
mod trips;

use std::collections::BTreeMap;

use jiff::{civil::Date, tz::TimeZone};

pub(crate) use self::{
    agencies::AgencyRow,
    frequencies::FrequencyTable,
    groups::ItemsByKey,
    idx::{NONE, index_unless_none},
    patterns::{
        CallFlags, CallTimes, NO_TIME, PatternCall, PatternRow, PatternTable, TimeProfileRow,
    },
    routes::{RouteRow, RouteTable},
    services::{ServiceException, ServiceRow, ServiceTable},
    shapes::{ShapeRow, ShapeTable},
    stops::{GeoPoint, StopRow, StopTable},
    string_arena::{RowNumberById, StringArena, StringInterner, TextId},
    trips::{NO_DIRECTION, TripRow, TripTable},
};
pub use self::{
    agencies::{Agency, FeedInfo},
    frequencies::Frequency,
    idx::{AgencyIdx, PatternIdx, RouteIdx, ServiceIdx, ShapeIdx, StopIdx, TripIdx},
    patterns::StopTime,
    routes::{Route, RouteMapLine},
    stops::Stop,
    trips::Trip,
};

/// A GTFS schedule: compact, immutable and indexed for queries.
#[derive(Debug)]
pub struct Timetable {
    pub(crate) row_counts: BTreeMap<Box<str>, u64>,
    pub(crate) timezone: TimeZone,
    pub(crate) timezone_name: Box<str>,
    pub(crate) feed_info: Option<FeedInfo>,
    pub(crate) strings: StringArena,
    pub(crate) agencies: Vec<AgencyRow>,
    pub(crate) stops: StopTable,
    pub(crate) routes: RouteTable,
    pub(crate) services: ServiceTable,
    pub(crate) service_range: Option<(Date, Date)>,
    pub(crate) shapes: ShapeTable,
    pub(crate) trips: TripTable,
    pub(crate) patterns: PatternTable,
    pub(crate) frequencies: FrequencyTable,
    /// The earliest and the latest time of any call, in seconds after noon minus 12 h of its service day.
    pub(crate) day_span: (i32, i32),
}

impl Timetable {
    /// Returns the number of rows of each reference file in the dataset, without headers; for `locations.geojson` the
    /// number of features.
    pub fn row_counts(&self) -> &BTreeMap<Box<str>, u64> {
        &self.row_counts
    }

    /// Returns the time zone of the agencies, which is that of all times in the schedule.
    pub fn timezone(&self) -> &TimeZone {
        &self.timezone
    }

    /// Returns the IANA name of the [time zone](Timetable::timezone); `UTC` if the feed has no known one.
    pub fn timezone_name(&self) -> &str {
        &self.timezone_name
    }

    /// Returns the number of stop times of all trips.
    pub fn stop_time_count(&self) -> u64 {
        self.trips
            .rows
            .iter()
            .filter_map(|row| index_unless_none(row.profile))
            .map(|p| self.patterns.time_profile_times(p).len() as u64)
            .sum()
    }

    /// Returns the memory that the timetable uses in bytes, without allocator overhead.
    pub fn memory_bytes(&self) -> usize {
        size_of::<Timetable>()
            + self.strings.memory_bytes()
            + self.agencies.capacity() * size_of::<AgencyRow>()
            + self.stops.memory_bytes()
            + self.routes.memory_bytes()
            + self.services.memory_bytes()
            + self.shapes.memory_bytes()
            + self.trips.memory_bytes()
            + self.patterns.memory_bytes()
            + self.frequencies.memory_bytes()
    }

    /// Returns the memory used by stop times in bytes: calls, times and their indexes.
    pub fn stop_time_memory_bytes(&self) -> usize {
        self.patterns.memory_bytes()
    }
}
