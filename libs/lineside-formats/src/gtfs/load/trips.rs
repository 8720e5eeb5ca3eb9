//! Loads `trips.txt`.

use super::{
    BoxedTableReader, LimitedFileSet, NOT_FOUND, TWICE, TimetableLoader, require_columns,
    too_many_rows_error,
};
use crate::{
    Error, Problems,
    gtfs::{
        RouteIdx,
        rows::{TableColumn, TableRow},
        timetable::{NO_DIRECTION, NO_TIME, NONE, TripRow},
        values,
    },
};

const FILE: &str = "trips.txt";

struct TripColumns {
    id: TableColumn,
    route: TableColumn,
    service: TableColumn,
    shape: TableColumn,
    headsign: TableColumn,
    short_name: TableColumn,
    block: TableColumn,
    direction: TableColumn,
    wheelchair: TableColumn,
    bikes: TableColumn,
}

impl TripColumns {
    fn find_trip_columns(rows: &mut BoxedTableReader<'_>) -> Result<TripColumns, Error> {
        let columns = TripColumns {
            id: rows.find_column("trip_id"),
            route: rows.find_column("route_id"),
            service: rows.find_column("service_id"),
            shape: rows.find_column("shape_id"),
            headsign: rows.find_column("trip_headsign"),
            short_name: rows.find_column("trip_short_name"),
            block: rows.find_column("block_id"),
            direction: rows.find_column_checked_by_caller("direction_id"),
            wheelchair: rows.find_column_checked_by_caller("wheelchair_accessible"),
            bikes: rows.find_column_checked_by_caller("bikes_allowed"),
        };
        let TripColumns { id, route, service, .. } = columns;
        require_columns(FILE, &[("trip_id", id), ("route_id", route), ("service_id", service)])?;
        Ok(columns)
    }
}

impl TimetableLoader {
    pub(super) fn load_trips(&mut self, source: &mut LimitedFileSet<'_>) -> Result<(), Error> {
        let Some(mut rows) = source.open_table_reader(FILE, &mut self.problems)? else {
            return self.store_zero_rows_if_present(FILE, source);
        };
        let columns = TripColumns::find_trip_columns(&mut rows)?;
        while let Some(row) = rows.next_row(&mut self.problems)? {
            let number =
                u32::try_from(self.trips.rows.len()).map_err(|_| too_many_rows_error(FILE))?;
            let Some(trip) = self.read_trip_row(&row, &columns)? else { continue };
            let id_of = |other: u32| self.strings.get(self.trips.rows[other as usize].id);
            if self.trips.ids.insert(row.get(columns.id), number, id_of).is_err() {
                row.report_column_fault(columns.id, TWICE, &mut self.problems);
                continue;
            }
            self.trips.rows.push(trip);
        }
        let count = rows.row_count();
        drop(rows);
        self.trips.rows.shrink_to_fit();
        self.store_table_row_count(FILE, count);
        Ok(())
    }

    /// Returns the trip of a row; `None` if the row lacks a required value or its route does not exist.
    fn read_trip_row(
        &mut self,
        row: &TableRow<'_>,
        columns: &TripColumns,
    ) -> Result<Option<TripRow>, Error> {
        let &TripColumns { id, route, service, shape, .. } = columns;
        if [id, route, service].into_iter().any(|column| row.get(column).is_empty()) {
            return Ok(None);
        }
        let Some(route_number) = self.find_route_index(row.get(route)) else {
            row.report_column_fault(route, NOT_FOUND, &mut self.problems);
            return Ok(None);
        };
        let shape_number = self.find_shape_index(row.get(shape));
        if shape_number.is_none() && !row.get(shape).is_empty() {
            row.report_column_fault(shape, NOT_FOUND, &mut self.problems);
        }
        let n_services = self.service_rows.len();
        let service_idx = self.find_or_add_service(row.get(service), FILE)?;
        if service_idx.get() == n_services {
            row.report_column_fault(service, NOT_FOUND, &mut self.problems);
        }
        let choose = |column, values, problems: &mut Problems| {
            row.parse_cell(column, |text| values::parse_enum_value(text, values), problems)
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

    fn find_route_index(&self, id: &str) -> Option<u32> {
        self.routes
            .ids
            .find_row_number(id, |number| self.strings.get(self.routes.rows[number as usize].id))
    }

    fn find_shape_index(&self, id: &str) -> Option<u32> {
        self.shapes
            .ids
            .find_row_number(id, |number| self.strings.get(self.shapes.rows[number as usize].id))
    }

    pub(super) fn find_trip_index(&self, id: &[u8]) -> Option<u32> {
        self.trips
            .ids
            .find_row_number(id, |number| self.strings.get(self.trips.rows[number as usize].id))
    }

    pub(super) fn find_stop_index(&self, id: &[u8]) -> Option<u32> {
        self.stops
            .ids
            .find_row_number(id, |number| self.strings.get(self.stops.rows[number as usize].id))
    }
}
