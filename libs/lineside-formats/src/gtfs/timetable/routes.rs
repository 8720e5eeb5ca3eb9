//! Routes with their trips, patterns and lines on a map.

use std::collections::BTreeSet;

use super::{
    AgencyIdx, ItemsByKey, PatternIdx, RouteIdx, RowNumberById, ShapeIdx, StopIdx, TextId,
    Timetable, TripIdx, idx,
};

/// A row of `routes.txt`.
#[derive(Clone, Copy, Debug)]
pub struct Route<'a> {
    /// Its index.
    pub idx: RouteIdx,
    /// `route_id`.
    pub id: &'a str,
    /// The agency of `agency_id`, or the only one.
    pub agency: Option<AgencyIdx>,
    /// `route_short_name`, such as `12`; may be empty.
    pub short_name: &'a str,
    /// `route_long_name`, such as `Harbour – Airport`; may be empty.
    pub long_name: &'a str,
    /// `route_type`, of the basic list (0 tram, 3 bus, …) or of the extended one (100 to 1702).
    pub kind: u16,
    /// `route_color`: red, green, blue.
    pub color: Option<[u8; 3]>,
    /// `route_text_color`: red, green, blue.
    pub text_color: Option<[u8; 3]>,
    /// `route_sort_order`.
    pub sort_order: Option<u32>,
}

impl<'a> Route<'a> {
    /// Returns the short name, else the long name, else the id.
    pub fn display_name(&self) -> &'a str {
        [self.short_name, self.long_name]
            .into_iter()
            .find(|name| !name.is_empty())
            .unwrap_or(self.id)
    }
}

#[derive(Debug)]
pub(crate) struct RouteRow {
    pub(crate) id: TextId,
    pub(crate) agency: u32,
    pub(crate) short_name: TextId,
    pub(crate) long_name: TextId,
    pub(crate) sort_order: Option<u32>,
    pub(crate) kind: u16,
    pub(crate) color: Option<[u8; 3]>,
    pub(crate) text_color: Option<[u8; 3]>,
}

#[derive(Debug, Default)]
pub(crate) struct RouteTable {
    pub(crate) rows: Vec<RouteRow>,
    pub(crate) ids: RowNumberById,
    pub(crate) trips: ItemsByKey<TripIdx>,
}

impl RouteTable {
    pub(crate) fn memory_bytes(&self) -> usize {
        self.rows.capacity() * size_of::<RouteRow>()
            + self.ids.memory_bytes()
            + self.trips.memory_bytes()
    }
}

/// One line of a route on a map: a shape, or the stops of a pattern without one.
#[derive(Clone, Debug, PartialEq)]
pub struct RouteMapLine {
    /// The shape of the line.
    pub shape: Option<ShapeIdx>,
    /// Latitude and longitude in degrees; at least two points.
    pub points: Vec<(f64, f64)>,
}

impl Timetable {
    /// Returns the routes, in the order of the file.
    pub fn routes(&self) -> impl ExactSizeIterator<Item = Route<'_>> {
        (0..self.routes.rows.len() as u32).map(|number| self.route(RouteIdx::new(number)))
    }

    /// Returns a route of this timetable.
    pub fn route(&self, idx: RouteIdx) -> Route<'_> {
        let row = &self.routes.rows[idx.get()];
        Route {
            idx,
            id: self.strings.get(row.id),
            agency: idx::index_unless_none(row.agency).map(AgencyIdx::new),
            short_name: self.strings.get(row.short_name),
            long_name: self.strings.get(row.long_name),
            kind: row.kind,
            color: row.color,
            text_color: row.text_color,
            sort_order: row.sort_order,
        }
    }

    /// Returns the route with that `route_id`.
    pub fn find_route(&self, id: &str) -> Option<RouteIdx> {
        let id_of = |number: u32| self.strings.get(self.routes.rows[number as usize].id);
        self.routes.ids.find_row_number(id, id_of).map(RouteIdx::new)
    }

    /// Returns the trips of a route, in the order of the file.
    pub fn route_trips(&self, idx: RouteIdx) -> &[TripIdx] {
        self.routes.trips.items_of_key(idx.get())
    }

    /// Returns the distinct stops of the route's trips, ordered by index.
    pub fn route_stops(&self, idx: RouteIdx) -> Vec<StopIdx> {
        let mut stops: Vec<StopIdx> = self
            .route_patterns(idx)
            .into_iter()
            .flat_map(|pattern| self.pattern_stops(pattern))
            .collect();
        stops.sort_unstable();
        stops.dedup();
        stops
    }

    /// Returns the patterns of a route, the one with the most trips first.
    pub fn route_patterns(&self, idx: RouteIdx) -> Vec<PatternIdx> {
        let mut counts: Vec<(usize, PatternIdx)> = Vec::new();
        let mut patterns: Vec<PatternIdx> =
            self.route_trips(idx).iter().filter_map(|&trip| self.trip_pattern(trip)).collect();
        patterns.sort_unstable();
        for run in patterns.chunk_by(|a, b| a == b) {
            counts.push((run.len(), run[0]));
        }
        counts.sort_by(|a, b| b.0.cmp(&a.0).then(a.1.cmp(&b.1)));
        counts.into_iter().map(|(_, pattern)| pattern).collect()
    }

    /// Returns a few lines that together cover the stops of the route. The first is the most frequent variant; each
    /// further line adds stops that the previous ones lack.
    pub fn route_map_lines(&self, idx: RouteIdx) -> Vec<RouteMapLine> {
        let mut lines: Vec<RouteMapLine> = Vec::new();
        let mut seen: BTreeSet<StopIdx> = BTreeSet::new();
        let mut drawn: BTreeSet<ShapeIdx> = BTreeSet::new();
        for (pattern, shape) in self.route_pattern_shape_pairs(idx) {
            let stops: Vec<StopIdx> = self.pattern_stops(pattern).collect();
            if stops.iter().all(|stop| seen.contains(stop)) {
                continue;
            }
            let points: Vec<(f64, f64)> = match shape {
                Some(shape) => self.shape_points(shape).collect(),
                None => stops
                    .iter()
                    .filter_map(|&stop| self.stops.rows[stop.get()].point)
                    .map(|p| p.to_degrees())
                    .collect(),
            };
            seen.extend(stops);
            if points.len() >= 2 && shape.is_none_or(|shape| drawn.insert(shape)) {
                lines.push(RouteMapLine { shape, points });
            }
        }
        lines
    }

    /// Returns the pairs of pattern and shape of the route's trips, the most frequent first.
    fn route_pattern_shape_pairs(&self, idx: RouteIdx) -> Vec<(PatternIdx, Option<ShapeIdx>)> {
        let mut ways: Vec<(PatternIdx, Option<ShapeIdx>)> = self
            .route_trips(idx)
            .iter()
            .filter_map(|&trip| {
                self.trip_pattern(trip).map(|pattern| (pattern, self.trip(trip).shape))
            })
            .collect();
        ways.sort_unstable();
        let mut runs: Vec<&[(PatternIdx, Option<ShapeIdx>)]> =
            ways.chunk_by(|a, b| a == b).collect();
        runs.sort_by_key(|run| std::cmp::Reverse(run.len()));
        runs.into_iter().map(|run| run[0]).collect()
    }
}
