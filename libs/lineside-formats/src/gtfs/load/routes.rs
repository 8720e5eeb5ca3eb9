//! Loads `routes.txt`.

use super::{
    LimitedFileSet, NOT_FOUND, TWICE, TimetableLoader, require_columns, too_many_rows_error,
};
use crate::{
    Error,
    gtfs::{
        timetable::{NONE, RouteRow},
        values,
    },
};

const FILE: &str = "routes.txt";
/// The type of a route whose own is missing or unknown: bus.
const KIND_UNKNOWN: u16 = 3;

impl TimetableLoader {
    pub(super) fn load_routes(&mut self, source: &mut LimitedFileSet<'_>) -> Result<(), Error> {
        let Some(mut rows) = source.open_table_reader(FILE, &mut self.problems)? else {
            return self.store_zero_rows_if_present(FILE, source);
        };
        let [id, agency, short_name, long_name] =
            ["route_id", "agency_id", "route_short_name", "route_long_name"]
                .map(|name| rows.find_column(name));
        let [kind, color, text_color, sort_order] =
            ["route_type", "route_color", "route_text_color", "route_sort_order"]
                .map(|name| rows.find_column_checked_by_caller(name));
        require_columns(FILE, &[("route_id", id)])?;
        while let Some(row) = rows.next_row(&mut self.problems)? {
            if row.get(id).is_empty() {
                continue;
            }
            let number =
                u32::try_from(self.routes.rows.len()).map_err(|_| too_many_rows_error(FILE))?;
            let agency_number = match row.get(agency) {
                "" => (self.agencies.len() == 1).then_some(0),
                wanted => self.find_agency_index(wanted),
            };
            if agency_number.is_none() && !row.get(agency).is_empty() {
                row.report_column_fault(agency, NOT_FOUND, &mut self.problems);
            }
            let route = RouteRow {
                id: self.strings.intern(row.get(id)),
                agency: agency_number.unwrap_or(NONE),
                short_name: self.strings.intern(row.get(short_name)),
                long_name: self.strings.intern(row.get(long_name)),
                kind: row
                    .parse_cell(kind, values::parse_route_type, &mut self.problems)
                    .unwrap_or(KIND_UNKNOWN),
                color: row.parse_cell(color, values::parse_color, &mut self.problems),
                text_color: row.parse_cell(text_color, values::parse_color, &mut self.problems),
                sort_order: row.parse_cell(sort_order, values::parse_unsigned, &mut self.problems),
            };
            let id_of = |other: u32| self.strings.get(self.routes.rows[other as usize].id);
            if self.routes.ids.insert(row.get(id), number, id_of).is_err() {
                row.report_column_fault(id, TWICE, &mut self.problems);
                continue;
            }
            self.routes.rows.push(route);
        }
        let count = rows.row_count();
        drop(rows);
        self.routes.rows.shrink_to_fit();
        self.store_table_row_count(FILE, count);
        Ok(())
    }

    fn find_agency_index(&self, id: &str) -> Option<u32> {
        let id_of = |number: u32| self.strings.get(self.agencies[number as usize].id);
        self.agency_ids.find_row_number(id, id_of)
    }
}
