//! Writes `stops.txt`: stop places, their quays, and a stop for each stop point without either.
//!
//! A stop has the id of its quay, even if that is in no file, because real-time data refer to quays.

use std::collections::HashSet;

use super::{
    GtfsWriter, find_record_by_id, first_non_empty,
    placeholder_points::PlaceholderStopLocations,
    stop_names::{StopNames, parent_stop_place},
};
use crate::{
    Error,
    gtfs::TextId,
    netex::record::{LatLonDegrees, ScheduledStopPoint},
};

const STATION: &str = "1";
const STOP: &str = "";

/// A row of `stops.txt`.
pub(super) struct GtfsStop {
    /// The number of the file that refers to it.
    file: u32,
    pub(super) id: TextId,
    code: TextId,
    /// The name; the id is written if it is empty.
    name: TextId,
    pub(super) point: Option<LatLonDegrees>,
    kind: &'static str,
    pub(super) parent: TextId,
    wheelchair: Option<bool>,
    platform: TextId,
}

/// The rows so far.
#[derive(Default)]
struct GtfsStopRows {
    rows: Vec<GtfsStop>,
    ids: HashSet<TextId>,
}

impl GtfsWriter<'_, '_> {
    pub(super) fn write_stops(&mut self) -> Result<(), Error> {
        let [id, code, name, lat, lon] =
            ["stop_id", "stop_code", "stop_name", "stop_lat", "stop_lon"];
        let [kind, parent, wheelchair, platform] =
            ["location_type", "parent_station", "wheelchair_boarding", "platform_code"];
        self.tables.begin_table(
            "stops.txt",
            &[id, code, name, lat, lon, kind, parent, wheelchair, platform],
        )?;
        let mut stops = GtfsStopRows::default();
        let names = StopNames::new(self.publication, &self.index);
        let stations = self.add_stop_place_rows(&names, &mut stops);
        self.add_quay_rows(&names, &stations, &mut stops);
        self.assign_stop_points_to_stops(&names, &stations, &mut stops);
        self.write_stop_rows(&stops.rows)
    }

    /// Adds the stop places, and returns the stations: those with quays.
    fn add_stop_place_rows(
        &mut self,
        names: &StopNames,
        stops: &mut GtfsStopRows,
    ) -> HashSet<TextId> {
        let publication = self.publication;
        let places = &publication.stop_places;
        let is_known = |id: &TextId| self.index.stop_places.contains_key(id);
        let of_quays = publication.quays.iter().map(|quay| parent_stop_place(&self.index, quay));
        let stations: HashSet<TextId> = of_quays.filter(is_known).collect();
        let groups: HashSet<TextId> =
            places.iter().map(|place| place.parent).filter(is_known).collect();
        for place in places {
            if groups.contains(&place.id) && !stations.contains(&place.id) {
                let why = "GTFS has no nested stations";
                self.losses.record_dropped_object(
                    "StopPlace",
                    why,
                    Some(self.resolve_text(place.id)),
                );
                continue;
            }
            if !stops.ids.insert(place.id) {
                self.report_record_problem(
                    place.file,
                    "duplicate_in_timetable",
                    "appears twice; the first is used",
                    place.id,
                );
                continue;
            }
            let name = names.stop_place_name(place.id);
            self.report_stop_if_unnamed(place.file, name, place.id);
            let kind = if stations.contains(&place.id) { STATION } else { STOP };
            stops.rows.push(GtfsStop {
                file: place.file,
                id: place.id,
                code: place.public_code,
                name,
                point: place.point,
                kind,
                parent: TextId::EMPTY,
                wheelchair: place.wheelchair,
                platform: TextId::EMPTY,
            });
        }
        stations
    }

    /// Reports a stop for which no name was found.
    fn report_stop_if_unnamed(&mut self, file: u32, name: TextId, id: TextId) {
        if name == TextId::EMPTY {
            let detail = "has no name, and neither have its parts; its id is used instead";
            self.report_record_problem(file, "missing_name", detail, id);
        }
    }

    fn add_quay_rows(
        &mut self,
        names: &StopNames,
        stations: &HashSet<TextId>,
        stops: &mut GtfsStopRows,
    ) {
        let publication = self.publication;
        for quay in &publication.quays {
            if !stops.ids.insert(quay.id) {
                self.report_record_problem(
                    quay.file,
                    "duplicate_in_timetable",
                    "appears twice; the first is used",
                    quay.id,
                );
                continue;
            }
            let place = parent_stop_place(&self.index, quay);
            let station =
                find_record_by_id(&publication.stop_places, &self.index.stop_places, place);
            if station.is_none() && place != TextId::EMPTY {
                self.report_dangling_reference(quay.file, "SiteRef", quay.id, place);
            }
            let name = names.quay_name(quay.id);
            self.report_stop_if_unnamed(quay.file, name, quay.id);
            stops.rows.push(GtfsStop {
                file: quay.file,
                id: quay.id,
                code: TextId::EMPTY,
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

    /// Determines the stop of each stop point, and adds stops for those at no place of the publication.
    fn assign_stop_points_to_stops(
        &mut self,
        names: &StopNames,
        stations: &HashSet<TextId>,
        stops: &mut GtfsStopRows,
    ) {
        let publication = self.publication;
        let points = super::index_by_id(&publication.stop_points, |point| point.id);
        for assignment in &publication.stop_assignments {
            if self.stop_of.contains_key(&assignment.stop_point) {
                let why = "GTFS has one position per stop; the first is used";
                let id = self.resolve_text(assignment.stop_point);
                self.losses.record_dropped_object("PassengerStopAssignment", why, Some(id));
                continue;
            }
            let point = find_record_by_id(&publication.stop_points, &points, assignment.stop_point);
            let station = assignment.stop_place;
            let stop = if assignment.quay != TextId::EMPTY {
                if !self.index.quays.contains_key(&assignment.quay) {
                    self.report_dangling_reference(
                        assignment.file,
                        "QuayRef",
                        assignment.stop_point,
                        assignment.quay,
                    );
                }
                assignment.quay
            } else if stations.contains(&station) || station == TextId::EMPTY {
                // A trip cannot call at a station as a whole, so the stop point becomes a stop in it.
                assignment.stop_point
            } else {
                if !self.index.stop_places.contains_key(&station) {
                    self.report_dangling_reference(
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
                let parent = if stations.contains(&station) { station } else { TextId::EMPTY };
                let at = (assignment.file, parent, names.stop_place_name(station));
                self.add_stop_for_stop_point(stop, point, at, stops);
            }
        }
        for point in &publication.stop_points {
            let stop = *self.stop_of.entry(point.id).or_insert(point.id);
            if stop == point.id && stops.ids.insert(stop) {
                let at = (point.file, TextId::EMPTY, TextId::EMPTY);
                self.add_stop_for_stop_point(stop, Some(point), at, stops);
            }
        }
        self.add_undefined_stop_points(stops);
    }

    /// Adds stops for stop points that are in no file but that patterns and calls refer to.
    fn add_undefined_stop_points(&mut self, stops: &mut GtfsStopRows) {
        let publication = self.publication;
        let of_patterns = publication.patterns.iter().flat_map(|pattern| {
            let points = &publication.pattern_points
                [pattern.points.start as usize..pattern.points.end as usize];
            // A point without a call does not need a stop.
            let calls = points.iter().filter(|point| !point.use_of.passes);
            calls.map(|point| (pattern.file, pattern.id, point.stop_point))
        });
        let of_calls = publication.journeys.iter().flat_map(|journey| {
            let times = &publication.passing_times
                [journey.times.start as usize..journey.times.end as usize];
            times.iter().map(|time| (journey.file, journey.id, time.stop_point))
        });
        for (file, of, stop_point) in of_patterns.chain(of_calls) {
            if stop_point == TextId::EMPTY || self.stop_of.contains_key(&stop_point) {
                continue;
            }
            self.report_dangling_reference(file, "ScheduledStopPointRef", of, stop_point);
            self.stop_of.insert(stop_point, stop_point);
            if stops.ids.insert(stop_point) {
                self.add_stop_for_stop_point(
                    stop_point,
                    None,
                    (file, TextId::EMPTY, TextId::EMPTY),
                    stops,
                );
            }
        }
    }

    /// Adds a stop for a stop point, with the file that refers to it, its station and the name of its stop place, if it
    /// has them.
    fn add_stop_for_stop_point(
        &mut self,
        id: TextId,
        point: Option<&ScheduledStopPoint>,
        (file, parent, name_of_place): (u32, TextId, TextId),
        stops: &mut GtfsStopRows,
    ) {
        let name = point.map_or(TextId::EMPTY, |point| point.name);
        let name = first_non_empty(&[name, name_of_place]);
        // A missing point is reported where it is referred to.
        if let Some(point) = point {
            self.report_stop_if_unnamed(point.file, name, id);
        }
        let station =
            find_record_by_id(&self.publication.stop_places, &self.index.stop_places, parent);
        let place = point.and_then(|point| point.point).or(station.and_then(|it| it.point));
        if place.is_none() {
            self.losses.record_dropped_object(
                "ScheduledStopPoint",
                "no file has its position",
                Some(self.resolve_text(id)),
            );
        }
        stops.rows.push(GtfsStop {
            file,
            id,
            code: point.map_or(TextId::EMPTY, |point| point.public_code),
            name,
            point: place,
            kind: STOP,
            parent,
            wheelchair: None,
            platform: TextId::EMPTY,
        });
    }

    /// Writes the rows, in the order of the publication.
    fn write_stop_rows(&mut self, rows: &[GtfsStop]) -> Result<(), Error> {
        let stand_ins = PlaceholderStopLocations::new(self.publication, &self.stop_of, rows);
        for stop in rows {
            let wheelchair = match stop.wheelchair {
                None => "",
                Some(true) => "1",
                Some(false) => "2",
            };
            let [id, code, name, parent, platform] = [
                stop.id,
                stop.code,
                first_non_empty(&[stop.name, stop.id]),
                stop.parent,
                stop.platform,
            ]
            .map(|text| self.resolve_text(text));
            let write_at = |point: Option<LatLonDegrees>| {
                let degrees = |degrees: f64| format!("{degrees:.7}");
                point.map(|(lat, lon)| (degrees(lat), degrees(lon))).unwrap_or_default()
            };
            let (lat, lon) = write_at(stop.point);
            let row = [id, code, name, &lat, &lon, stop.kind, parent, wheelchair, platform];
            if stop.point.is_some() {
                self.tables.write_row(&row)?;
                continue;
            }
            let stand_in = stand_ins.placeholder_for_stop(stop.id);
            // Unreadable coordinates are already reported.
            if !self.publication.unread.contains(&stop.id) {
                self.report_record_problem(
                    stop.file,
                    "stop_without_location",
                    stand_in.problem_detail(),
                    stop.id,
                );
            }
            let (lat, lon) = write_at(Some(stand_in.coordinates()));
            let completed = [id, code, name, &lat, &lon, stop.kind, parent, wheelchair, platform];
            self.tables.write_row_with_placeholders(&row, &completed)?;
        }
        Ok(())
    }
}
