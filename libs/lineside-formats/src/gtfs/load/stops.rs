//! `stops.txt`: places, and the tree that they form.

use super::{Loader, NOT_FOUND, Source, TWICE, require, too_many};
use crate::{
    Error, Problem, Problems,
    gtfs::{
        rows::{Column, Row},
        timetable::{NONE, Point, StopRow, Text},
        values::{self, Fault},
    },
};

const FILE: &str = "stops.txt";
const STATION: u8 = 1;
const BOARDING_AREA: u8 = 4;

const NEAR_ORIGIN: Fault = Fault {
    code: "point_near_origin",
    detail: "close to 0,0, where no stop is; the place is left out",
};
const WITHOUT_LOCATION: Fault =
    Fault { code: "stop_without_location", detail: "has no latitude and longitude" };
const WITHOUT_PARENT: Fault = Fault {
    code: "location_without_parent_station",
    detail: "is of a type that belongs to a station, and names none",
};
const PARENT_OF_STATION: Fault = Fault {
    code: "station_with_parent_station",
    detail: "is a station and names one; the parent is left out",
};

/// A parent that was named, to be found when all rows are known.
struct Naming {
    child: u32,
    line: u64,
    parent: Text,
}

impl Loader {
    pub(super) fn load_stops(&mut self, source: &mut Source<'_>) -> Result<(), Error> {
        let Some(mut rows) = source.open(FILE, &mut self.problems)? else {
            return self.count_empty(FILE, source);
        };
        let [id, code, name, platform_code, parent] =
            ["stop_id", "stop_code", "stop_name", "platform_code", "parent_station"]
                .map(|name| rows.column(name));
        let [lat, lon] = ["stop_lat", "stop_lon"].map(|name| rows.claim(name));
        let [location_type, wheelchair] =
            ["location_type", "wheelchair_boarding"].map(|name| rows.claim(name));
        require(FILE, &[("stop_id", id)])?;
        let mut namings = Vec::new();
        while let Some(row) = rows.next_row(&mut self.problems)? {
            if row.get(id).is_empty() {
                continue;
            }
            let number = u32::try_from(self.stops.rows.len()).map_err(|_| too_many(FILE))?;
            let choose = |column, values, problems: &mut Problems| {
                row.parse(column, |text| values::choice(text, values), problems).unwrap_or(0) as u8
            };
            let location_type = choose(location_type, &[0, 1, 2, 3, 4], &mut self.problems);
            if location_type <= 2 && (row.get(lat).is_empty() || row.get(lon).is_empty()) {
                row.complain_of(lat, WITHOUT_LOCATION, &mut self.problems);
            }
            let stop = StopRow {
                id: self.strings.intern(row.get(id)),
                code: self.strings.intern(row.get(code)),
                name: self.strings.intern(row.get(name)),
                platform_code: self.strings.intern(row.get(platform_code)),
                point: read_point(&row, lat, lon, &mut self.problems),
                parent: NONE,
                location_type,
                wheelchair: choose(wheelchair, &[0, 1, 2], &mut self.problems),
            };
            let id_of = |other: u32| self.strings.get(self.stops.rows[other as usize].id);
            if self.stops.ids.insert(row.get(id), number, id_of).is_err() {
                row.complain_of(id, TWICE, &mut self.problems);
                continue;
            }
            self.stops.rows.push(stop);
            match (row.get(parent).is_empty(), location_type) {
                (true, 2..=4) => row.complain_of(parent, WITHOUT_PARENT, &mut self.problems),
                (true, _) => {}
                (false, STATION) => row.complain_of(parent, PARENT_OF_STATION, &mut self.problems),
                (false, _) => {
                    let parent = self.strings.intern(row.get(parent));
                    namings.push(Naming { child: number, line: row.line(), parent });
                }
            }
        }
        let count = rows.count();
        drop(rows);
        self.count(FILE, count);
        self.link_parents(&namings);
        self.stops.link();
        Ok(())
    }

    /// A boarding area belongs to a platform, everything else to a station. Other parents are left
    /// out, which also keeps the tree free of cycles.
    fn link_parents(&mut self, namings: &[Naming]) {
        for naming in namings {
            let parent = self.strings.get(naming.parent);
            let complain = |code, detail: &str, problems: &mut Problems| {
                problems.push_with(FILE, code, || {
                    let problem = Problem::new(FILE, code, detail).at_line(naming.line);
                    problem.in_field("parent_station").with_value(parent)
                });
            };
            let id_of = |number: u32| self.strings.get(self.stops.rows[number as usize].id);
            let Some(found) = self.stops.ids.find(parent, id_of) else {
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
                let detail = "names a parent of the wrong location_type, which is left out";
                complain("wrong_parent_location_type", detail, &mut self.problems);
            }
        }
    }
}

/// A place; none, and a problem, where it cannot be right.
pub(super) fn read_point(
    row: &Row<'_>,
    lat: Column,
    lon: Column,
    problems: &mut Problems,
) -> Option<Point> {
    let degrees_lat = row.parse(lat, |text| values::degrees(text, 90.0), problems);
    let degrees_lon = row.parse(lon, |text| values::degrees(text, 180.0), problems);
    let (degrees_lat, degrees_lon) = degrees_lat.zip(degrees_lon)?;
    if degrees_lat.abs() <= 1.0 && degrees_lon.abs() <= 1.0 {
        row.complain_of(lat, NEAR_ORIGIN, problems);
        return None;
    }
    Some(Point::new(degrees_lat, degrees_lon))
}
