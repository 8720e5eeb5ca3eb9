//! The timetable: a schedule in memory, small and ready to be asked.
//!
//! Everything refers to everything else by index; texts stand once in one arena; stop times are
//! shared between trips that repeat (see `patterns`). A timetable never changes: a new dataset
//! becomes a new one.

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
    groups::GroupedItems,
    idx::{NONE, number_unless_none},
    patterns::{CallFlags, CallTimes, NO_TIME, PatternCall, PatternRow, PatternTable, ProfileRow},
    routes::{RouteRow, RouteTable},
    services::{ServiceException, ServiceRow, ServiceTable},
    shapes::{ShapeRow, ShapeTable},
    stops::{GeoPoint, StopRow, StopTable},
    string_arena::{IdIndex, StringArena, StringInterner, TextId},
    trips::{NO_DIRECTION, TripRow, TripTable},
};
pub use self::{
    agencies::{Agency, FeedInfo},
    frequencies::Frequency,
    idx::{AgencyIdx, PatternIdx, RouteIdx, ServiceIdx, ShapeIdx, StopIdx, TripIdx},
    patterns::StopTime,
    routes::{Route, RouteLine},
    stops::Stop,
    trips::Trip,
};

/// A GTFS schedule, indexed: compact, never changing, ready to be asked.
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
    /// The earliest and the latest second of a service day, after noon minus 12 h, at which
    /// anything calls.
    pub(crate) day_span: (i32, i32),
}

impl Timetable {
    /// The rows of each file of the reference that the dataset holds, without headers; for
    /// `locations.geojson` its features.
    pub fn row_counts(&self) -> &BTreeMap<Box<str>, u64> {
        &self.row_counts
    }

    /// The time zone of the agencies, in which all times of the schedule are.
    pub fn timezone(&self) -> &TimeZone {
        &self.timezone
    }

    /// The IANA name of the [time zone](Timetable::timezone); `UTC` if the feed names none that is
    /// known.
    pub fn timezone_name(&self) -> &str {
        &self.timezone_name
    }

    /// How many rows of `stop_times.txt` the trips have.
    pub fn stop_time_count(&self) -> u64 {
        self.trips
            .rows
            .iter()
            .filter_map(|row| number_unless_none(row.profile))
            .map(|p| self.patterns.profile_times(p).len() as u64)
            .sum()
    }

    /// The bytes that the timetable takes in memory, allocator overhead aside.
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

    /// The bytes of it that hold stop times: calls, times, and the indexes over them.
    pub fn stop_time_bytes(&self) -> usize {
        self.patterns.memory_bytes()
    }
}
