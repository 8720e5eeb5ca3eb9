//! `stops.txt`: quays in their stop places, and a stop for each stop point that is nowhere else.
//!
//! A stop goes by the id of its quay, even if that is in no file: real-time data name quays.

use std::collections::HashSet;

use super::{
    Writer, find, first_given,
    names::{Names, place_of},
    stand_in_points::StandInPoints,
};
use crate::{
    Error,
    gtfs::Text,
    netex::record::{Degrees, StopPoint},
};

const STATION: &str = "1";
const STOP: &str = "";

/// A row of `stops.txt`.
pub(super) struct Stop {
    /// The number of the file that names it.
    file: u32,
    pub(super) id: Text,
    code: Text,
    /// Its id where it is empty.
    name: Text,
    pub(super) point: Option<Degrees>,
    kind: &'static str,
    pub(super) parent: Text,
    wheelchair: Option<bool>,
    platform: Text,
}

/// The rows so far.
#[derive(Default)]
struct Stops {
    rows: Vec<Stop>,
    ids: HashSet<Text>,
}

impl Writer<'_, '_> {
    pub(super) fn write_stops(&mut self) -> Result<(), Error> {
        let [id, code, name, lat, lon] =
            ["stop_id", "stop_code", "stop_name", "stop_lat", "stop_lon"];
        let [kind, parent, wheelchair, platform] =
            ["location_type", "parent_station", "wheelchair_boarding", "platform_code"];
        self.tables
            .begin("stops.txt", &[id, code, name, lat, lon, kind, parent, wheelchair, platform])?;
        let mut stops = Stops::default();
        let names = Names::new(self.publication, &self.index);
        let stations = self.add_stop_places(&names, &mut stops);
        self.add_quays(&names, &stations, &mut stops);
        self.place_stop_points(&names, &stations, &mut stops);
        self.write_stop_rows(&stops.rows)
    }

    /// Adds the stop places, and returns those that are stations: that have quays.
    fn add_stop_places(&mut self, names: &Names, stops: &mut Stops) -> HashSet<Text> {
        let publication = self.publication;
        let places = &publication.stop_places;
        let is_known = |id: &Text| self.index.stop_places.contains_key(id);
        let of_quays = publication.quays.iter().map(|quay| place_of(&self.index, quay));
        let stations: HashSet<Text> = of_quays.filter(is_known).collect();
        let groups: HashSet<Text> =
            places.iter().map(|place| place.parent).filter(is_known).collect();
        for place in places {
            if groups.contains(&place.id) && !stations.contains(&place.id) {
                let why = "GTFS has no stations that consist of stations";
                self.losses.push("StopPlace", why, Some(self.text(place.id)));
                continue;
            }
            if !stops.ids.insert(place.id) {
                self.complain(
                    place.file,
                    "duplicate_in_timetable",
                    "stands there twice; the first counts",
                    place.id,
                );
                continue;
            }
            let name = names.of_place(place.id);
            self.miss_name(place.file, name, place.id);
            let kind = if stations.contains(&place.id) { STATION } else { STOP };
            stops.rows.push(Stop {
                file: place.file,
                id: place.id,
                code: place.public_code,
                name,
                point: place.point,
                kind,
                parent: Text::EMPTY,
                wheelchair: place.wheelchair,
                platform: Text::EMPTY,
            });
        }
        stations
    }

    /// Tells of a stop that nothing gives a name.
    fn miss_name(&mut self, file: u32, name: Text, id: Text) {
        if name == Text::EMPTY {
            let detail = "has no name, nor has what is there; its id stands for it";
            self.complain(file, "missing_name", detail, id);
        }
    }

    fn add_quays(&mut self, names: &Names, stations: &HashSet<Text>, stops: &mut Stops) {
        let publication = self.publication;
        for quay in &publication.quays {
            if !stops.ids.insert(quay.id) {
                self.complain(
                    quay.file,
                    "duplicate_in_timetable",
                    "stands there twice; the first counts",
                    quay.id,
                );
                continue;
            }
            let place = place_of(&self.index, quay);
            let station = find(&publication.stop_places, &self.index.stop_places, place);
            if station.is_none() && place != Text::EMPTY {
                self.leads_nowhere(quay.file, "SiteRef", quay.id, place);
            }
            let name = names.of_quay(quay.id);
            self.miss_name(quay.file, name, quay.id);
            stops.rows.push(Stop {
                file: quay.file,
                id: quay.id,
                code: Text::EMPTY,
                name,
                point: quay.point.or(station.and_then(|station| station.point)),
                kind: STOP,
                parent: station
                    .map(|station| station.id)
                    .filter(|id| stations.contains(id))
                    .unwrap_or_default(),
                wheelchair: quay.wheelchair,
                platform: quay.public_code,
            });
        }
    }

    /// Says which stop each stop point is, and adds stops for those that are at no place of the publication.
    fn place_stop_points(&mut self, names: &Names, stations: &HashSet<Text>, stops: &mut Stops) {
        let publication = self.publication;
        let points = super::by_id(&publication.stop_points, |point| point.id);
        for assignment in &publication.stop_assignments {
            if self.stop_of.contains_key(&assignment.stop_point) {
                let why = "GTFS has one place for a stop; the first counts";
                let id = self.text(assignment.stop_point);
                self.losses.push("PassengerStopAssignment", why, Some(id));
                continue;
            }
            let point = find(&publication.stop_points, &points, assignment.stop_point);
            let station = assignment.stop_place;
            let stop = if assignment.quay != Text::EMPTY {
                if !self.index.quays.contains_key(&assignment.quay) {
                    self.leads_nowhere(
                        assignment.file,
                        "QuayRef",
                        assignment.stop_point,
                        assignment.quay,
                    );
                }
                assignment.quay
            } else if stations.contains(&station) || station == Text::EMPTY {
                // Nobody may call at a station as a whole, so the stop point stands in it by itself.
                assignment.stop_point
            } else {
                if !self.index.stop_places.contains_key(&station) {
                    self.leads_nowhere(
                        assignment.file,
                        "StopPlaceRef",
                        assignment.stop_point,
                        station,
                    );
                }
                station
            };
            self.stop_of.insert(assignment.stop_point, stop);
            if stops.ids.insert(stop) {
                let parent = if stations.contains(&station) { station } else { Text::EMPTY };
                let at = (assignment.file, parent, names.of_place(station));
                self.add_stop_point(stop, point, at, stops);
            }
        }
        for point in &publication.stop_points {
            let stop = *self.stop_of.entry(point.id).or_insert(point.id);
            if stop == point.id && stops.ids.insert(stop) {
                let at = (point.file, Text::EMPTY, Text::EMPTY);
                self.add_stop_point(stop, Some(point), at, stops);
            }
        }
        self.place_unknown_points(stops);
    }

    /// Adds stops for the stop points that patterns and calls name and no file has.
    fn place_unknown_points(&mut self, stops: &mut Stops) {
        let publication = self.publication;
        let of_patterns = publication.patterns.iter().flat_map(|pattern| {
            let points = &publication.pattern_points
                [pattern.points.start as usize..pattern.points.end as usize];
            // Where nobody calls there need not be a stop.
            let calls = points.iter().filter(|point| !point.use_of.passes);
            calls.map(|point| (pattern.file, pattern.id, point.stop_point))
        });
        let of_calls = publication.journeys.iter().flat_map(|journey| {
            let times = &publication.passing_times
                [journey.times.start as usize..journey.times.end as usize];
            times.iter().map(|time| (journey.file, journey.id, time.stop_point))
        });
        for (file, of, stop_point) in of_patterns.chain(of_calls) {
            if stop_point == Text::EMPTY || self.stop_of.contains_key(&stop_point) {
                continue;
            }
            self.leads_nowhere(file, "ScheduledStopPointRef", of, stop_point);
            self.stop_of.insert(stop_point, stop_point);
            if stops.ids.insert(stop_point) {
                self.add_stop_point(stop_point, None, (file, Text::EMPTY, Text::EMPTY), stops);
            }
        }
    }

    /// Adds a stop for a stop point, with the file that names it, the station that it is in and the name of its stop place,
    /// if it has them.
    fn add_stop_point(
        &mut self,
        id: Text,
        point: Option<&StopPoint>,
        (file, parent, name_of_place): (u32, Text, Text),
        stops: &mut Stops,
    ) {
        let name = point.map_or(Text::EMPTY, |point| point.name);
        let name = first_given(&[name, name_of_place]);
        // That the point is in no file is told where it is named.
        if let Some(point) = point {
            self.miss_name(point.file, name, id);
        }
        let station = find(&self.publication.stop_places, &self.index.stop_places, parent);
        let place = point.and_then(|point| point.point).or(station.and_then(|it| it.point));
        if place.is_none() {
            self.losses.push("ScheduledStopPoint", "no file says where it is", Some(self.text(id)));
        }
        stops.rows.push(Stop {
            file,
            id,
            code: point.map_or(Text::EMPTY, |point| point.public_code),
            name,
            point: place,
            kind: STOP,
            parent,
            wheelchair: None,
            platform: Text::EMPTY,
        });
    }

    /// Writes the rows, in the order in which the publication names the stops.
    fn write_stop_rows(&mut self, rows: &[Stop]) -> Result<(), Error> {
        let stand_ins = StandInPoints::new(self.publication, &self.stop_of, rows);
        for stop in rows {
            let wheelchair = match stop.wheelchair {
                None => "",
                Some(true) => "1",
                Some(false) => "2",
            };
            let [id, code, name, parent, platform] = [
                stop.id,
                stop.code,
                first_given(&[stop.name, stop.id]),
                stop.parent,
                stop.platform,
            ]
            .map(|text| self.text(text));
            let write_at = |point: Option<Degrees>| {
                let degrees = |degrees: f64| format!("{degrees:.7}");
                point.map(|(lat, lon)| (degrees(lat), degrees(lon))).unwrap_or_default()
            };
            let (lat, lon) = write_at(stop.point);
            let row = [id, code, name, &lat, &lon, stop.kind, parent, wheelchair, platform];
            if stop.point.is_some() {
                self.tables.row(&row)?;
                continue;
            }
            let stand_in = stand_ins.find(stop.id);
            // That its coordinates cannot be read is reported already.
            if !self.publication.unread.contains(&stop.id) {
                self.complain(stop.file, "stop_without_location", stand_in.detail(), stop.id);
            }
            let (lat, lon) = write_at(Some(stand_in.point()));
            let completed = [id, code, name, &lat, &lon, stop.kind, parent, wheelchair, platform];
            self.tables.incomplete_row(&row, &completed)?;
        }
        Ok(())
    }
}
