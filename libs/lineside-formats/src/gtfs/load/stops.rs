//! Loads `stops.txt`: locations and their hierarchy.

use super::{
    LimitedFileSet, NOT_FOUND, TWICE, TimetableLoader, require_columns, too_many_rows_error,
};
use crate::{
    Error, Problem, Problems,
    gtfs::{
        rows::{TableColumn, TableRow},
        timetable::{GeoPoint, NONE, StopRow, TextId},
        values::{self, CellFault},
    },
};

const FILE: &str = "stops.txt";
const STATION: u8 = 1;
const BOARDING_AREA: u8 = 4;

const NEAR_ORIGIN: CellFault = CellFault {
    code: "point_near_origin",
    detail: "is close to 0,0, where there is no stop; the position is ignored",
};
const WITHOUT_LOCATION: CellFault =
    CellFault { code: "stop_without_location", detail: "has no latitude and longitude" };
const WITHOUT_PARENT: CellFault = CellFault {
    code: "location_without_parent_station",
    detail: "is missing, but the location_type requires a station",
};
const PARENT_OF_STATION: CellFault = CellFault {
    code: "station_with_parent_station",
    detail: "must be empty for a station; it is ignored",
};

/// A reference to a parent station, resolved when all rows are known.
struct ParentStationReference {
    child: u32,
    line: u64,
    parent: TextId,
}

impl TimetableLoader {
    pub(super) fn load_stops(&mut self, source: &mut LimitedFileSet<'_>) -> Result<(), Error> {
        let Some(mut rows) = source.open_table_reader(FILE, &mut self.problems)? else {
            return self.store_zero_rows_if_present(FILE, source);
        };
        let [id, code, name, platform_code, parent] =
            ["stop_id", "stop_code", "stop_name", "platform_code", "parent_station"]
                .map(|name| rows.find_column(name));
        let [lat, lon] =
            ["stop_lat", "stop_lon"].map(|name| rows.find_column_checked_by_caller(name));
        let [location_type, wheelchair] = ["location_type", "wheelchair_boarding"]
            .map(|name| rows.find_column_checked_by_caller(name));
        require_columns(FILE, &[("stop_id", id)])?;
        let mut namings = Vec::new();
        while let Some(row) = rows.next_row(&mut self.problems)? {
            if row.get(id).is_empty() {
                continue;
            }
            let number =
                u32::try_from(self.stops.rows.len()).map_err(|_| too_many_rows_error(FILE))?;
            let choose = |column, values, problems: &mut Problems| {
                row.parse_cell(column, |text| values::parse_enum_value(text, values), problems)
                    .unwrap_or(0) as u8
            };
            let location_type = choose(location_type, &[0, 1, 2, 3, 4], &mut self.problems);
            if location_type <= 2 && (row.get(lat).is_empty() || row.get(lon).is_empty()) {
                row.report_column_fault(lat, WITHOUT_LOCATION, &mut self.problems);
            }
            let stop = StopRow {
                id: self.strings.intern(row.get(id)),
                code: self.strings.intern(row.get(code)),
                name: self.strings.intern(row.get(name)),
                platform_code: self.strings.intern(row.get(platform_code)),
                point: read_coordinates(&row, lat, lon, &mut self.problems),
                parent: NONE,
                location_type,
                wheelchair: choose(wheelchair, &[0, 1, 2], &mut self.problems),
            };
            let id_of = |other: u32| self.strings.get(self.stops.rows[other as usize].id);
            if self.stops.ids.insert(row.get(id), number, id_of).is_err() {
                row.report_column_fault(id, TWICE, &mut self.problems);
                continue;
            }
            self.stops.rows.push(stop);
            match (row.get(parent).is_empty(), location_type) {
                (true, 2..=4) => {
                    row.report_column_fault(parent, WITHOUT_PARENT, &mut self.problems)
                }
                (true, _) => {}
                (false, STATION) => {
                    row.report_column_fault(parent, PARENT_OF_STATION, &mut self.problems)
                }
                (false, _) => {
                    let parent = self.strings.intern(row.get(parent));
                    namings.push(ParentStationReference {
                        child: number,
                        line: row.line_number(),
                        parent,
                    });
                }
            }
        }
        let count = rows.row_count();
        drop(rows);
        self.store_table_row_count(FILE, count);
        self.link_parent_stations(&namings);
        self.stops.build_child_stop_lists();
        Ok(())
    }

    /// Resolves parents: that of a boarding area is a platform, all others are stations. Other parents are dropped,
    /// which also excludes cycles.
    fn link_parent_stations(&mut self, namings: &[ParentStationReference]) {
        for naming in namings {
            let parent = self.strings.get(naming.parent);
            let complain = |code, detail: &str, problems: &mut Problems| {
                problems.push_lazily(FILE, code, || {
                    let problem = Problem::new(FILE, code, detail).with_line(naming.line);
                    problem.with_field("parent_station").with_value(parent)
                });
            };
            let id_of = |number: u32| self.strings.get(self.stops.rows[number as usize].id);
            let Some(found) = self.stops.ids.find_row_number(parent, id_of) else {
                complain(NOT_FOUND.code, NOT_FOUND.detail, &mut self.problems);
                continue;
            };
            let wanted = match self.stops.rows[naming.child as usize].location_type {
                BOARDING_AREA => 0,
                _ => STATION,
            };
            if self.stops.rows[found as usize].location_type == wanted {
                self.stops.rows[naming.child as usize].parent = found;
            } else {
                let detail = "is of the wrong location_type; it is ignored";
                complain("wrong_parent_location_type", detail, &mut self.problems);
            }
        }
    }
}

/// Parses a point; reports a problem and returns `None` if it cannot be right.
pub(super) fn read_coordinates(
    row: &TableRow<'_>,
    lat: TableColumn,
    lon: TableColumn,
    problems: &mut Problems,
) -> Option<GeoPoint> {
    let degrees_lat = row.parse_cell(lat, |text| values::parse_degrees(text, 90.0), problems);
    let degrees_lon = row.parse_cell(lon, |text| values::parse_degrees(text, 180.0), problems);
    let (degrees_lat, degrees_lon) = degrees_lat.zip(degrees_lon)?;
    if degrees_lat.abs() <= 1.0 && degrees_lon.abs() <= 1.0 {
        row.report_column_fault(lat, NEAR_ORIGIN, problems);
        return None;
    }
    Some(GeoPoint::new(degrees_lat, degrees_lon))
}
