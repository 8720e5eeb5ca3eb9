//! Trips and their patterns.

use super::{
    PatternIdx, RouteIdx, RowNumberById, ServiceIdx, ShapeIdx, TextId, Timetable, TripIdx, idx,
};

/// A row of `trips.txt`.
#[derive(Clone, Copy, Debug)]
pub struct Trip<'a> {
    /// Its index.
    pub idx: TripIdx,
    /// `trip_id`.
    pub id: &'a str,
    /// Its route.
    pub route: RouteIdx,
    /// Its service: the days on which it runs.
    pub service: ServiceIdx,
    /// `trip_headsign`.
    pub headsign: Option<&'a str>,
    /// `trip_short_name`, such as a train's number.
    pub short_name: Option<&'a str>,
    /// `direction_id`: 0 or 1.
    pub direction: Option<u8>,
    /// Its shape.
    pub shape: Option<ShapeIdx>,
    /// `block_id`: trips of one vehicle.
    pub block_id: Option<&'a str>,
    /// `wheelchair_accessible`: 0 unknown, 1 possible, 2 not.
    pub wheelchair: u8,
    /// `bikes_allowed`: 0 unknown, 1 possible, 2 not.
    pub bikes: u8,
    /// True if `frequencies.txt` repeats the trip; its own times are then only a pattern.
    pub has_frequencies: bool,
}

/// The value for a missing `direction_id`.
pub(crate) const NO_DIRECTION: u8 = u8::MAX;

#[derive(Debug)]
pub(crate) struct TripRow {
    pub(crate) id: TextId,
    pub(crate) route: RouteIdx,
    pub(crate) service: ServiceIdx,
    pub(crate) headsign: TextId,
    pub(crate) short_name: TextId,
    pub(crate) block_id: TextId,
    pub(crate) shape: u32,
    /// The profile, pattern and relative times; [`NONE`](idx::NONE) until the trip has stop times.
    pub(crate) profile: u32,
    /// The start of the profile's times, in seconds after noon minus 12 h.
    pub(crate) start: i32,
    pub(crate) direction: u8,
    pub(crate) wheelchair: u8,
    pub(crate) bikes: u8,
    pub(crate) has_frequencies: bool,
}

#[derive(Debug, Default)]
pub(crate) struct TripTable {
    pub(crate) rows: Vec<TripRow>,
    pub(crate) ids: RowNumberById,
}

impl TripTable {
    pub(crate) fn memory_bytes(&self) -> usize {
        self.rows.capacity() * size_of::<TripRow>() + self.ids.memory_bytes()
    }
}

impl Timetable {
    /// Returns the trips, in the order of the file.
    pub fn trips(&self) -> impl ExactSizeIterator<Item = Trip<'_>> {
        (0..self.trips.rows.len() as u32).map(|number| self.trip(TripIdx::new(number)))
    }

    /// Returns a trip of this timetable.
    pub fn trip(&self, idx: TripIdx) -> Trip<'_> {
        let row = &self.trips.rows[idx.get()];
        Trip {
            idx,
            id: self.strings.get(row.id),
            route: row.route,
            service: row.service,
            headsign: self.strings.get_non_empty(row.headsign),
            short_name: self.strings.get_non_empty(row.short_name),
            direction: (row.direction != NO_DIRECTION).then_some(row.direction),
            shape: idx::index_unless_none(row.shape).map(ShapeIdx::new),
            block_id: self.strings.get_non_empty(row.block_id),
            wheelchair: row.wheelchair,
            bikes: row.bikes,
            has_frequencies: row.has_frequencies,
        }
    }

    /// Returns the trip with that `trip_id`.
    pub fn find_trip(&self, id: &str) -> Option<TripIdx> {
        let id_of = |number: u32| self.strings.get(self.trips.rows[number as usize].id);
        self.trips.ids.find_row_number(id, id_of).map(TripIdx::new)
    }

    /// Returns the pattern of a trip; `None` if it has no stop times.
    pub fn trip_pattern(&self, idx: TripIdx) -> Option<PatternIdx> {
        idx::index_unless_none(self.trips.rows[idx.get()].profile)
            .map(|profile| self.patterns.profiles[profile as usize].pattern)
    }
}
