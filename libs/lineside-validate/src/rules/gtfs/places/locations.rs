//! What the rows of stops.txt are, and which station they are part of.

use std::sync::Arc;

use crate::{
    gtfs::{Feed, File, Link, Numbers, Table, Texts},
    notice::Sample,
};

/// A stop or, if it is part of a station, a platform: what an empty `location_type` means.
pub(super) const STOP: i32 = 0;
pub(super) const STATION: i32 = 1;
pub(super) const ENTRANCE: i32 = 2;
pub(super) const GENERIC_NODE: i32 = 3;
pub(super) const BOARDING_AREA: i32 = 4;

/// The notice fields that most of these rules share.
pub(super) const LINE: (&str, &str) = ("csvRowNumber", "The line of the row.");
pub(super) const STOP_ID: (&str, &str) = ("stopId", "The location.");
pub(super) const STOP_NAME: (&str, &str) = ("stopName", "Its name.");
pub(super) const LOCATION_TYPE: (&str, &str) = ("locationType", "What kind of location it is.");
pub(super) const PARENT: (&str, &str) = ("parentStation", "The location that it is part of.");

/// The name of a location type, as reports write it.
pub(super) fn type_name(location_type: i32) -> &'static str {
    match location_type {
        STOP => "STOP",
        STATION => "STATION",
        ENTRANCE => "ENTRANCE",
        GENERIC_NODE => "GENERIC_NODE",
        BOARDING_AREA => "BOARDING_AREA",
        _ => "UNRECOGNIZED",
    }
}

/// Says which location a notice is about: its line, id and name.
pub(super) fn put_stop<'a>(sample: &'a mut Sample, stops: &Table, row: u32) -> &'a mut Sample {
    sample.put("csvRowNumber", stops.line(row));
    sample.put("stopId", stops.texts("stop_id").get(row));
    sample.put("stopName", stops.texts("stop_name").get(row))
}

/// How far up a station is looked for: a boarding area is part of a platform, and that of a
/// station. Parents that go in circles end here, too.
const LEVELS: usize = 3;

/// The rows of stops.txt as places that are part of others.
pub(super) struct Locations<'a> {
    pub(super) table: &'a Table,
    pub(super) ids: Texts<'a>,
    pub(super) parents: Texts<'a>,
    types: Numbers<'a>,
    rows_of_ids: Arc<Link>,
    rows_of_parents: Arc<Link>,
}

impl<'a> Locations<'a> {
    pub(super) fn of(feed: &'a Feed) -> Locations<'a> {
        let table = feed.table(File::Stops);
        Locations {
            table,
            ids: table.texts("stop_id"),
            parents: table.texts("parent_station"),
            types: table.numbers("location_type"),
            rows_of_ids: feed.link(File::Stops, "stop_id", File::Stops, "stop_id"),
            rows_of_parents: feed.link(File::Stops, "parent_station", File::Stops, "stop_id"),
        }
    }

    /// What a row is.
    pub(super) fn type_of(&self, row: u32) -> i32 {
        self.types.get_or(row, STOP)
    }

    /// The first row with the id of a row: itself, unless ids repeat.
    pub(super) fn first(&self, row: u32) -> Option<u32> {
        self.rows_of_ids.row(self.ids.code(row)?)
    }

    /// The row of the location that a row is part of.
    pub(super) fn parent(&self, row: u32) -> Option<u32> {
        self.rows_of_parents.row(self.parents.code(row)?)
    }

    /// Whether others say that they are part of the location of a row.
    pub(super) fn has_parts(&self, row: u32) -> bool {
        self.ids.get(row).is_some_and(|id| self.parents.find(id).is_some())
    }

    /// The row of the station that a row is part of, or is.
    pub(super) fn station(&self, row: u32) -> Option<u32> {
        std::iter::successors(self.first(row), |&row| self.parent(row))
            .take(LEVELS)
            .find(|&row| self.type_of(row) == STATION)
    }
}
