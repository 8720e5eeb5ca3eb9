//! Stops, stations and entrances: the locations of `stops.txt` and their hierarchy.

use super::{ItemsByKey, PatternIdx, RouteIdx, RowNumberById, StopIdx, TextId, Timetable, idx};

/// Steps of a stored coordinate per degree: a step is 1e-7°, about a centimeter.
const STEPS_PER_DEGREE: f64 = 1e7;

/// A row of `stops.txt`.
#[derive(Clone, Copy, Debug)]
pub struct Stop<'a> {
    /// Its index.
    pub idx: StopIdx,
    /// `stop_id`.
    pub id: &'a str,
    /// `stop_code`: the code shown to riders.
    pub code: Option<&'a str>,
    /// `stop_name`; empty if the feed has none.
    pub name: &'a str,
    /// `stop_lat` in degrees; `None` if it is missing or cannot be right.
    pub lat: Option<f64>,
    /// `stop_lon` in degrees; `None` if it is missing or cannot be right.
    pub lon: Option<f64>,
    /// `location_type`: 0 stop or platform, 1 station, 2 entrance, 3 node, 4 boarding area.
    pub location_type: u8,
    /// `parent_station`.
    pub parent: Option<StopIdx>,
    /// `platform_code`.
    pub platform_code: Option<&'a str>,
    /// `wheelchair_boarding`: 0 unknown or as the parent, 1 possible, 2 not.
    pub wheelchair: u8,
}

/// A point on Earth in steps of 1e-7°, latitude first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct GeoPoint {
    pub(crate) lat: i32,
    pub(crate) lon: i32,
}

impl GeoPoint {
    /// Creates a point from degrees, which are within ±90 and ±180.
    pub(crate) fn new(lat: f64, lon: f64) -> GeoPoint {
        GeoPoint {
            lat: (lat * STEPS_PER_DEGREE).round() as i32,
            lon: (lon * STEPS_PER_DEGREE).round() as i32,
        }
    }

    /// Returns latitude and longitude in degrees.
    pub(crate) fn to_degrees(self) -> (f64, f64) {
        (f64::from(self.lat) / STEPS_PER_DEGREE, f64::from(self.lon) / STEPS_PER_DEGREE)
    }
}

#[derive(Debug)]
pub(crate) struct StopRow {
    pub(crate) id: TextId,
    pub(crate) code: TextId,
    pub(crate) name: TextId,
    pub(crate) platform_code: TextId,
    pub(crate) point: Option<GeoPoint>,
    pub(crate) parent: u32,
    pub(crate) location_type: u8,
    pub(crate) wheelchair: u8,
}

#[derive(Debug, Default)]
pub(crate) struct StopTable {
    pub(crate) rows: Vec<StopRow>,
    pub(crate) ids: RowNumberById,
    pub(crate) children: ItemsByKey<StopIdx>,
}

impl StopTable {
    /// Builds the lists of children after all rows are loaded.
    pub(crate) fn build_child_stop_lists(&mut self) {
        let parents = self.rows.iter().enumerate().filter_map(|(number, row)| {
            idx::index_unless_none(row.parent)
                .map(|parent| (parent as usize, StopIdx::new(number as u32)))
        });
        self.children = ItemsByKey::new(self.rows.len(), parents);
        self.rows.shrink_to_fit();
    }

    pub(crate) fn memory_bytes(&self) -> usize {
        self.rows.capacity() * size_of::<StopRow>()
            + self.ids.memory_bytes()
            + self.children.memory_bytes()
    }
}

impl Timetable {
    /// Returns all rows of `stops.txt`, in the order of the file: stops, stations, entrances, nodes and boarding areas.
    pub fn stops(&self) -> impl ExactSizeIterator<Item = Stop<'_>> {
        (0..self.stops.rows.len() as u32).map(|number| self.stop(StopIdx::new(number)))
    }

    /// Returns a stop of this timetable.
    pub fn stop(&self, idx: StopIdx) -> Stop<'_> {
        let row = &self.stops.rows[idx.get()];
        let degrees = row.point.map(GeoPoint::to_degrees);
        Stop {
            idx,
            id: self.strings.get(row.id),
            code: self.strings.get_non_empty(row.code),
            name: self.strings.get(row.name),
            lat: degrees.map(|(lat, _)| lat),
            lon: degrees.map(|(_, lon)| lon),
            location_type: row.location_type,
            parent: idx::index_unless_none(row.parent).map(StopIdx::new),
            platform_code: self.strings.get_non_empty(row.platform_code),
            wheelchair: row.wheelchair,
        }
    }

    /// Returns the stop with that `stop_id`.
    pub fn find_stop(&self, id: &str) -> Option<StopIdx> {
        let id_of = |number: u32| self.strings.get(self.stops.rows[number as usize].id);
        self.stops.ids.find_row_number(id, id_of).map(StopIdx::new)
    }

    /// Returns the stops that have this one as `parent_station`.
    pub fn child_stops(&self, idx: StopIdx) -> &[StopIdx] {
        self.stops.children.items_of_key(idx.get())
    }

    /// Returns the stop with all its descendants: a station's platforms and their boarding areas.
    pub fn stop_and_descendants(&self, idx: StopIdx) -> Vec<StopIdx> {
        let mut all = vec![idx];
        let mut at = 0;
        // The loader excludes cycles of parents, so this ends.
        while let Some(&stop) = all.get(at) {
            all.extend_from_slice(self.child_stops(stop));
            at += 1;
        }
        all
    }

    /// Returns the patterns that call at the stop itself.
    pub fn patterns_at_stop(&self, idx: StopIdx) -> &[PatternIdx] {
        self.patterns.patterns_at_stop(idx)
    }

    /// Returns the routes that call at the stop, or at any stop of the station, ordered by index.
    pub fn routes_at_stop(&self, idx: StopIdx) -> impl Iterator<Item = RouteIdx> {
        let mut routes: Vec<RouteIdx> = self
            .stop_and_descendants(idx)
            .into_iter()
            .flat_map(|stop| self.patterns.patterns_at_stop(stop))
            .map(|&pattern| self.patterns.pattern_route(pattern))
            .collect();
        routes.sort_unstable();
        routes.dedup();
        routes.into_iter()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn coordinates_keep_seven_decimals() {
        for (lat, lon) in
            [(59.911491, 10.757933), (-33.8688197, 151.2092955), (0.0, -180.0), (90.0, 180.0)]
        {
            assert_eq!(GeoPoint::new(lat, lon).to_degrees(), (lat, lon));
        }
    }
}
