//! `trips.txt`.

use super::{Loader, NOT_FOUND, Source, TWICE, TableRows, require, too_many};
use crate::{
    Error, Problems,
    gtfs::{
        RouteIdx,
        rows::{Column, Row},
        timetable::{NO_DIRECTION, NO_TIME, NONE, TripRow},
        values,
    },
};

const FILE: &str = "trips.txt";

/// Where the fields of a trip stand.
struct Columns {
    id: Column,
    route: Column,
    service: Column,
    shape: Column,
    headsign: Column,
    short_name: Column,
    block: Column,
    direction: Column,
    wheelchair: Column,
    bikes: Column,
}

impl Columns {
    fn find(rows: &mut TableRows<'_>) -> Result<Columns, Error> {
        let columns = Columns {
            id: rows.column("trip_id"),
            route: rows.column("route_id"),
            service: rows.column("service_id"),
            shape: rows.column("shape_id"),
            headsign: rows.column("trip_headsign"),
            short_name: rows.column("trip_short_name"),
            block: rows.column("block_id"),
            direction: rows.claim("direction_id"),
            wheelchair: rows.claim("wheelchair_accessible"),
            bikes: rows.claim("bikes_allowed"),
        };
        let Columns { id, route, service, .. } = columns;
        require(FILE, &[("trip_id", id), ("route_id", route), ("service_id", service)])?;
        Ok(columns)
    }
}

impl Loader {
    pub(super) fn load_trips(&mut self, source: &mut Source<'_>) -> Result<(), Error> {
        let Some(mut rows) = source.open(FILE, &mut self.problems)? else {
            return self.count_empty(FILE, source);
        };
        let columns = Columns::find(&mut rows)?;
        while let Some(row) = rows.next_row(&mut self.problems)? {
            let number = u32::try_from(self.trips.rows.len()).map_err(|_| too_many(FILE))?;
            let Some(trip) = self.trip_row(&row, &columns)? else { continue };
            let id_of = |other: u32| self.strings.get(self.trips.rows[other as usize].id);
            if self.trips.ids.insert(row.get(columns.id), number, id_of).is_err() {
                row.complain_of(columns.id, TWICE, &mut self.problems);
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

    /// The trip of a row; `None` if the row lacks what every trip has, or names a route that is not
    /// there.
    fn trip_row(&mut self, row: &Row<'_>, columns: &Columns) -> Result<Option<TripRow>, Error> {
        let &Columns { id, route, service, shape, .. } = columns;
        if [id, route, service].into_iter().any(|column| row.get(column).is_empty()) {
            return Ok(None);
        }
        let Some(route_number) = self.find_route(row.get(route)) else {
            row.complain_of(route, NOT_FOUND, &mut self.problems);
            return Ok(None);
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
        let problems = &mut self.problems;
        Ok(Some(TripRow {
            id: self.strings.intern(row.get(id)),
            route: RouteIdx::new(route_number),
            service: service_idx,
            headsign: self.strings.intern(row.get(columns.headsign)),
            short_name: self.strings.intern(row.get(columns.short_name)),
            block_id: self.strings.intern(row.get(columns.block)),
            shape: shape_number.unwrap_or(NONE),
            profile: NONE,
            start: NO_TIME,
            direction: choose(columns.direction, &[0, 1], problems).unwrap_or(NO_DIRECTION),
            wheelchair: choose(columns.wheelchair, &[0, 1, 2], problems).unwrap_or(0),
            bikes: choose(columns.bikes, &[0, 1, 2], problems).unwrap_or(0),
            has_frequencies: false,
        }))
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
