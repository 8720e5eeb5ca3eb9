//! Placeholder coordinates in a GTFS zip for stops without a location in the publication.
//!
//! GTFS software refuses a stop without coordinates. A station gets the location of its first stop, any other stop that
//! of the nearest stop before or after it on a pattern or journey. The remaining stops are placed around the middle of
//! the located stops, or around a point in the city of the time zone if no stop is located: OpenTripPlanner refuses a
//! schedule whose stops are all at one point.

use std::collections::{HashMap, HashSet};

use super::stops::GtfsStop;
use crate::{
    gtfs::TextId,
    netex::record::{LatLonDegrees, Publication},
};

/// Cities of time zones, for publications without any coordinates.
const CITIES: [(&str, LatLonDegrees); 21] = [
    ("Europe/Amsterdam", (52.3791, 4.9003)),
    ("Europe/Athens", (37.9838, 23.7275)),
    ("Europe/Berlin", (52.5251, 13.3694)),
    ("Europe/Brussels", (50.8357, 4.3364)),
    ("Europe/Budapest", (47.5003, 19.0840)),
    ("Europe/Copenhagen", (55.6727, 12.5646)),
    ("Europe/Dublin", (53.3531, -6.2459)),
    ("Europe/Helsinki", (60.1719, 24.9414)),
    ("Europe/Lisbon", (38.7140, -9.1222)),
    ("Europe/Ljubljana", (46.0583, 14.5110)),
    ("Europe/London", (51.5308, -0.1238)),
    ("Europe/Luxembourg", (49.6000, 6.1342)),
    ("Europe/Madrid", (40.4066, -3.6905)),
    ("Europe/Oslo", (59.9109, 10.7528)),
    ("Europe/Paris", (48.8809, 2.3553)),
    ("Europe/Prague", (50.0830, 14.4352)),
    ("Europe/Rome", (41.9010, 12.5018)),
    ("Europe/Stockholm", (59.3300, 18.0590)),
    ("Europe/Vienna", (48.1852, 16.3774)),
    ("Europe/Warsaw", (52.2288, 21.0031)),
    ("Europe/Zurich", (47.3782, 8.5402)),
];
/// The Greenwich observatory: readers of GTFS consider 0, 0 a mistake.
const GREENWICH: LatLonDegrees = (51.4779, -0.0015);
/// Distance in degrees between two stops that are placed around one point, about 20 m.
const SPACING: f64 = 0.0002;

/// A placeholder location of a stop.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum PlaceholderPoint {
    /// The location of an adjacent or contained stop.
    Neighbour(LatLonDegrees),
    /// The middle of all located stops.
    Middle(LatLonDegrees),
    /// The city of the time zone, because no stop of the publication is located.
    City(LatLonDegrees),
}

impl PlaceholderPoint {
    /// Moves the point by some degrees.
    fn moved_by_degrees(self, (lat, lon): LatLonDegrees) -> PlaceholderPoint {
        let offset_point = |point: LatLonDegrees| (point.0 + lat, point.1 + lon);
        match self {
            PlaceholderPoint::Neighbour(point) => PlaceholderPoint::Neighbour(offset_point(point)),
            PlaceholderPoint::Middle(point) => PlaceholderPoint::Middle(offset_point(point)),
            PlaceholderPoint::City(point) => PlaceholderPoint::City(offset_point(point)),
        }
    }

    pub(super) fn coordinates(self) -> LatLonDegrees {
        match self {
            PlaceholderPoint::Neighbour(point)
            | PlaceholderPoint::Middle(point)
            | PlaceholderPoint::City(point) => point,
        }
    }

    /// Returns the detail of the stop's problem.
    pub(super) fn problem_detail(self) -> &'static str {
        match self {
            PlaceholderPoint::Neighbour(_) => {
                "no file has its position; the GTFS zip has the position of a neighbouring stop"
            }
            PlaceholderPoint::Middle(_) => {
                "no file has the position of it or a neighbouring stop; the GTFS zip has the \
                center of all stops"
            }
            PlaceholderPoint::City(_) => {
                "no file has the position of any stop; the GTFS zip has the city of the time zone"
            }
        }
    }
}

pub(super) struct PlaceholderStopLocations {
    by_stop_id: HashMap<TextId, PlaceholderPoint>,
    /// The location of a stop that was not among the rows.
    elsewhere: PlaceholderPoint,
}

impl PlaceholderStopLocations {
    /// Computes locations for the `rows` without one. `stop_of` has the `stop_id` of each stop point.
    pub(super) fn new(
        publication: &Publication,
        stop_of: &HashMap<TextId, TextId>,
        rows: &[GtfsStop],
    ) -> PlaceholderStopLocations {
        let elsewhere = compute_default_placeholder(publication, rows);
        let without = rows.iter().filter(|row| row.point.is_none());
        let mut search = PlaceholderLocationSearch {
            missing: without.map(|row| row.id).collect(),
            located: rows.iter().filter_map(|row| Some((row.id, row.point?))).collect(),
            found: HashMap::new(),
        };
        if !search.missing.is_empty() && !search.located.is_empty() {
            search.locate_stations_by_stops(rows);
            search.locate_stops_by_neighbours(publication, stop_of);
            // Some stations have a stop with a location only now.
            search.locate_stations_by_stops(rows);
        }
        let neighbours = search.found.into_iter();
        let mut by_stop_id: HashMap<TextId, PlaceholderPoint> =
            neighbours.map(|(stop, point)| (stop, PlaceholderPoint::Neighbour(point))).collect();
        // The order of the rows makes the zip deterministic.
        let unplaced = rows.iter().filter(|row| search.missing.contains(&row.id));
        by_stop_id.extend(
            unplaced
                .zip(square_grid_offsets(search.missing.len()))
                .map(|(row, offset)| (row.id, elsewhere.moved_by_degrees(offset))),
        );
        PlaceholderStopLocations { by_stop_id, elsewhere }
    }

    /// Returns the placeholder coordinates of a stop without a location.
    pub(super) fn placeholder_for_stop(&self, stop: TextId) -> PlaceholderPoint {
        self.by_stop_id.get(&stop).copied().unwrap_or(self.elsewhere)
    }
}

/// Returns offsets in degrees that fill a square around 0, 0 row by row.
fn square_grid_offsets(n: usize) -> impl Iterator<Item = LatLonDegrees> {
    let side = (1..).find(|side| side * side >= n).unwrap_or(1);
    let offset = move |at: usize| (at as f64 - (side - 1) as f64 / 2.0) * SPACING;
    (0..n).map(move |at| (offset(at / side), offset(at % side)))
}

/// Returns the location of stops without a located stop nearby.
fn compute_default_placeholder(publication: &Publication, rows: &[GtfsStop]) -> PlaceholderPoint {
    let points = || rows.iter().filter_map(|row| row.point);
    let n = points().count();
    if n > 0 {
        let (lat, lon) = points().fold((0.0, 0.0), |sum, it| (sum.0 + it.0, sum.1 + it.1));
        return PlaceholderPoint::Middle((lat / n as f64, lon / n as f64));
    }
    let zone = publication.timezone.as_deref();
    let city = CITIES.iter().find(|(known, _)| Some(*known) == zone);
    PlaceholderPoint::City(city.map_or(GREENWICH, |(_, point)| *point))
}

/// A search for locations of stops.
struct PlaceholderLocationSearch {
    missing: HashSet<TextId>,
    /// Locations in the publication.
    located: HashMap<TextId, LatLonDegrees>,
    found: HashMap<TextId, LatLonDegrees>,
}

impl PlaceholderLocationSearch {
    /// Gives stations the location of their first located stop.
    fn locate_stations_by_stops(&mut self, rows: &[GtfsStop]) {
        for row in rows {
            if let Some(point) = row.point.or_else(|| self.found.get(&row.id).copied())
                && self.missing.remove(&row.parent)
            {
                self.found.insert(row.parent, point);
            }
        }
    }

    /// Gives stops the location of the nearest stop on a pattern or journey.
    fn locate_stops_by_neighbours(
        &mut self,
        publication: &Publication,
        stop_of: &HashMap<TextId, TextId>,
    ) {
        let stop_at = |stop_point: TextId| stop_of.get(&stop_point).copied().unwrap_or_default();
        let mut stops = Vec::new();
        for pattern in &publication.patterns {
            let points = pattern.points.start as usize..pattern.points.end as usize;
            let points = publication.pattern_points.get(points).unwrap_or_default();
            stops.clear();
            stops.extend(points.iter().map(|point| stop_at(point.stop_point)));
            self.locate_stops_of_sequence(&stops);
        }
        for journey in &publication.journeys {
            let times = journey.times.start as usize..journey.times.end as usize;
            let times = publication.passing_times.get(times).unwrap_or_default();
            stops.clear();
            stops.extend(times.iter().map(|time| stop_at(time.stop_point)));
            self.locate_stops_of_sequence(&stops);
        }
    }

    fn locate_stops_of_sequence(&mut self, stops: &[TextId]) {
        if self.missing.is_empty() || !stops.iter().any(|stop| self.missing.contains(stop)) {
            return;
        }
        let nearest = nearest_located_neighbours(stops, &self.located);
        for (stop, nearest) in stops.iter().zip(nearest) {
            if let Some(point) = nearest
                && self.missing.remove(stop)
            {
                self.found.insert(*stop, point);
            }
        }
    }
}

/// Returns, for each stop of a sequence, the location of the nearest located stop before or after it.
fn nearest_located_neighbours(
    stops: &[TextId],
    located: &HashMap<TextId, LatLonDegrees>,
) -> Vec<Option<LatLonDegrees>> {
    let mut nearest: Vec<Option<(usize, LatLonDegrees)>> = vec![None; stops.len()];
    let forward = (0..stops.len()).map(|at| (at, at.checked_sub(1)));
    let backward = (0..stops.len()).rev().map(|at| (at, Some(at + 1)));
    for (at, neighbour) in forward.chain(backward) {
        let known = neighbour.and_then(|it| *nearest.get(it)?);
        let through = known.map(|(distance, point)| (distance + 1, point));
        let own = located.get(&stops[at]).map(|point| (0, *point));
        let candidates = [own, nearest[at], through];
        nearest[at] = candidates.into_iter().flatten().min_by_key(|(distance, _)| *distance);
    }
    nearest.into_iter().map(|it| it.map(|(_, point)| point)).collect()
}
