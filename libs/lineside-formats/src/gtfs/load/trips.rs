//! `trips.txt`.

use super::{Loader, NOT_FOUND, Source, TWICE, require, too_many};
use crate::{
    Error, Problems,
    gtfs::{
        RouteIdx,
        timetable::{NO_DIRECTION, NO_TIME, NONE, TripRow},
        values,
    },
};

const FILE: &str = "trips.txt";

impl Loader {
    pub(super) fn load_trips(&mut self, source: &mut Source<'_>) -> Result<(), Error> {
        let Some(mut rows) = source.open(FILE, &mut self.problems)? else {
            return self.count_empty(FILE, source);
        };
        let [id, route, service, shape] =
            ["trip_id", "route_id", "service_id", "shape_id"].map(|name| rows.column(name));
        let [headsign, short_name, block] =
            ["trip_headsign", "trip_short_name", "block_id"].map(|name| rows.column(name));
        let [direction, wheelchair, bikes] =
            ["direction_id", "wheelchair_accessible", "bikes_allowed"].map(|name| rows.claim(name));
        require(FILE, &[("trip_id", id), ("route_id", route), ("service_id", service)])?;
        while let Some(row) = rows.next_row(&mut self.problems)? {
            if [id, route, service].into_iter().any(|column| row.get(column).is_empty()) {
                continue;
            }
            let number = u32::try_from(self.trips.rows.len()).map_err(|_| too_many(FILE))?;
            let Some(route_number) = self.find_route(row.get(route)) else {
                row.complain_of(route, NOT_FOUND, &mut self.problems);
                continue;
            };
            let shape_number = self.find_shape(row.get(shape));
            if shape_number.is_none() && !row.get(shape).is_empty() {
                row.complain_of(shape, NOT_FOUND, &mut self.problems);
            }
            let n_services = self.service_rows.len();
            let service_idx = self.service_of(row.get(service), FILE)?;
            if service_idx.get() == n_services {
                row.complain_of(service, NOT_FOUND, &mut self.problems);
            }
            let choose = |column, values, problems: &mut Problems| {
                row.parse(column, |text| values::choice(text, values), problems)
                    .map(|value| value as u8)
            };
            let trip = TripRow {
                id: self.strings.intern(row.get(id)),
                route: RouteIdx::new(route_number),
                service: service_idx,
                headsign: self.strings.intern(row.get(headsign)),
                short_name: self.strings.intern(row.get(short_name)),
                block_id: self.strings.intern(row.get(block)),
                shape: shape_number.unwrap_or(NONE),
                profile: NONE,
                start: NO_TIME,
                direction: choose(direction, &[0, 1], &mut self.problems).unwrap_or(NO_DIRECTION),
                wheelchair: choose(wheelchair, &[0, 1, 2], &mut self.problems).unwrap_or(0),
                bikes: choose(bikes, &[0, 1, 2], &mut self.problems).unwrap_or(0),
                has_frequencies: false,
            };
            let id_of = |other: u32| self.strings.get(self.trips.rows[other as usize].id);
            if self.trips.ids.insert(row.get(id), number, id_of).is_err() {
                row.complain_of(id, TWICE, &mut self.problems);
                continue;
            }
            self.trips.rows.push(trip);
        }
        let count = rows.count();
        drop(rows);
        self.trips.rows.shrink_to_fit();
        self.count(FILE, count);
        Ok(())
    }

    fn find_route(&self, id: &str) -> Option<u32> {
        self.routes.ids.find(id, |number| self.strings.get(self.routes.rows[number as usize].id))
    }

    fn find_shape(&self, id: &str) -> Option<u32> {
        self.shapes.ids.find(id, |number| self.strings.get(self.shapes.rows[number as usize].id))
    }

    pub(super) fn find_trip(&self, id: &[u8]) -> Option<u32> {
        self.trips.ids.find(id, |number| self.strings.get(self.trips.rows[number as usize].id))
    }

    pub(super) fn find_stop(&self, id: &[u8]) -> Option<u32> {
        self.stops.ids.find(id, |number| self.strings.get(self.stops.rows[number as usize].id))
    }
}
