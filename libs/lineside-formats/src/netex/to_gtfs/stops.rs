//! `stops.txt`: quays in their stop places, and a stop for each stop point that is nowhere else.
//!
//! A stop goes by the id of its quay, even if that is in no file: real-time data name quays.

use std::collections::HashSet;

use super::{
    Writer, find, first_given,
    names::{Names, place_of},
};
use crate::{
    Error,
    gtfs::Text,
    netex::record::{Degrees, StopPoint},
};

const STATION: &str = "1";
const STOP: &str = "";

/// A row.
struct Stop<'a> {
    id: Text,
    code: Text,
    /// Its id where it is empty.
    name: Text,
    point: Option<Degrees>,
    kind: &'a str,
    parent: Text,
    wheelchair: Option<bool>,
    platform: Text,
}

impl Writer<'_, '_> {
    pub(super) fn write_stops(&mut self) -> Result<(), Error> {
        let [id, code, name, lat, lon] =
            ["stop_id", "stop_code", "stop_name", "stop_lat", "stop_lon"];
        let [kind, parent, wheelchair, platform] =
            ["location_type", "parent_station", "wheelchair_boarding", "platform_code"];
        self.tables
            .begin("stops.txt", &[id, code, name, lat, lon, kind, parent, wheelchair, platform])?;
        let mut written = HashSet::new();
        let names = Names::new(self.publication, &self.index);
        let stations = self.write_stop_places(&names, &mut written)?;
        self.write_quays(&names, &stations, &mut written)?;
        self.place_stop_points(&names, &stations, &mut written)
    }

    /// Writes the stop places, and gives back those that are stations: that have quays.
    fn write_stop_places(
        &mut self,
        names: &Names,
        written: &mut HashSet<Text>,
    ) -> Result<HashSet<Text>, Error> {
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
            if !written.insert(place.id) {
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
            self.write_stop(&Stop {
                id: place.id,
                code: place.public_code,
                name,
                point: place.point,
                kind,
                parent: Text::EMPTY,
                wheelchair: place.wheelchair,
                platform: Text::EMPTY,
            })?;
        }
        Ok(stations)
    }

    /// Tells of a stop that nothing gives a name.
    fn miss_name(&mut self, file: u32, name: Text, id: Text) {
        if name == Text::EMPTY {
            let detail = "has no name, nor has what is there; its id stands for it";
            self.complain(file, "missing_name", detail, id);
        }
    }

    fn write_quays(
        &mut self,
        names: &Names,
        stations: &HashSet<Text>,
        written: &mut HashSet<Text>,
    ) -> Result<(), Error> {
        let publication = self.publication;
        for quay in &publication.quays {
            if !written.insert(quay.id) {
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
            self.write_stop(&Stop {
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
            })?;
        }
        Ok(())
    }

    /// Says which stop each stop point is, and writes stops for those that are at no place of the publication.
    fn place_stop_points(
        &mut self,
        names: &Names,
        stations: &HashSet<Text>,
        written: &mut HashSet<Text>,
    ) -> Result<(), Error> {
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
            if written.insert(stop) {
                let parent = if stations.contains(&station) { station } else { Text::EMPTY };
                self.write_stop_point(stop, point, (parent, names.of_place(station)))?;
            }
        }
        for point in &publication.stop_points {
            let stop = *self.stop_of.entry(point.id).or_insert(point.id);
            if stop == point.id && written.insert(stop) {
                self.write_stop_point(stop, Some(point), <(Text, Text)>::default())?;
            }
        }
        self.place_unknown_points(written)
    }

    /// Writes stops for the stop points that patterns and calls name and no file has.
    fn place_unknown_points(&mut self, written: &mut HashSet<Text>) -> Result<(), Error> {
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
            if written.insert(stop_point) {
                self.write_stop_point(stop_point, None, <(Text, Text)>::default())?;
            }
        }
        Ok(())
    }

    /// Writes a stop for a stop point, with the station that it is in and the name of its stop place, if it has them.
    fn write_stop_point(
        &mut self,
        id: Text,
        point: Option<&StopPoint>,
        (parent, name_of_place): (Text, Text),
    ) -> Result<(), Error> {
        let name = point.map_or(Text::EMPTY, |point| point.name);
        let name = first_given(&[name, name_of_place]);
        // That the point is in no file is told where it is named.
        if let Some(point) = point {
            self.miss_name(point.file, name, id);
        }
        if point.is_none_or(|point| point.point.is_none()) {
            self.losses.push("ScheduledStopPoint", "no file says where it is", Some(self.text(id)));
        }
        self.write_stop(&Stop {
            id,
            code: point.map_or(Text::EMPTY, |point| point.public_code),
            name,
            point: point.and_then(|point| point.point),
            kind: STOP,
            parent,
            wheelchair: None,
            platform: Text::EMPTY,
        })
    }

    fn write_stop(&mut self, stop: &Stop<'_>) -> Result<(), Error> {
        let degrees = |degrees: f64| format!("{degrees:.7}");
        let (lat, lon) =
            stop.point.map(|(lat, lon)| (degrees(lat), degrees(lon))).unwrap_or_default();
        let wheelchair = match stop.wheelchair {
            None => "",
            Some(true) => "1",
            Some(false) => "2",
        };
        self.tables.row(&[
            self.text(stop.id),
            self.text(stop.code),
            self.text(first_given(&[stop.name, stop.id])),
            &lat,
            &lon,
            stop.kind,
            self.text(stop.parent),
            wheelchair,
            self.text(stop.platform),
        ])
    }
}
