//! `routes.txt`.

use super::{Loader, NOT_FOUND, Source, TWICE, require, too_many};
use crate::{
    Error,
    gtfs::{
        timetable::{NONE, RouteRow},
        values,
    },
};

const FILE: &str = "routes.txt";
/// What a route is taken for whose type is missing or unknown: a bus.
const KIND_UNKNOWN: u16 = 3;

impl Loader {
    pub(super) fn load_routes(&mut self, source: &mut Source<'_>) -> Result<(), Error> {
        let Some(mut rows) = source.open(FILE, &mut self.problems)? else {
            return self.count_empty(FILE, source);
        };
        let [id, agency, short_name, long_name] =
            ["route_id", "agency_id", "route_short_name", "route_long_name"]
                .map(|name| rows.column(name));
        let [kind, color, text_color, sort_order] =
            ["route_type", "route_color", "route_text_color", "route_sort_order"]
                .map(|name| rows.claim(name));
        require(FILE, &[("route_id", id)])?;
        while let Some(row) = rows.next_row(&mut self.problems)? {
            if row.get(id).is_empty() {
                continue;
            }
            let number = u32::try_from(self.routes.rows.len()).map_err(|_| too_many(FILE))?;
            let agency_number = match row.get(agency) {
                "" => (self.agencies.len() == 1).then_some(0),
                wanted => self.find_agency(wanted),
            };
            if agency_number.is_none() && !row.get(agency).is_empty() {
                row.complain_of(agency, NOT_FOUND, &mut self.problems);
            }
            let route = RouteRow {
                id: self.strings.intern(row.get(id)),
                agency: agency_number.unwrap_or(NONE),
                short_name: self.strings.intern(row.get(short_name)),
                long_name: self.strings.intern(row.get(long_name)),
                kind: row
                    .parse(kind, values::route_type, &mut self.problems)
                    .unwrap_or(KIND_UNKNOWN),
                color: row.parse(color, values::color, &mut self.problems),
                text_color: row.parse(text_color, values::color, &mut self.problems),
                sort_order: row.parse(sort_order, values::unsigned, &mut self.problems),
            };
            let id_of = |other: u32| self.strings.get(self.routes.rows[other as usize].id);
            if self.routes.ids.insert(row.get(id), number, id_of).is_err() {
                row.complain_of(id, TWICE, &mut self.problems);
                continue;
            }
            self.routes.rows.push(route);
        }
        let count = rows.count();
        drop(rows);
        self.routes.rows.shrink_to_fit();
        self.count(FILE, count);
        Ok(())
    }

    fn find_agency(&self, id: &str) -> Option<u32> {
        let id_of = |number: u32| self.strings.get(self.agencies[number as usize].id);
        self.agency_ids.find(id, id_of)
    }
}
