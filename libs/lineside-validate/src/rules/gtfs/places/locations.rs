//! The location types of the rows of `stops.txt`, and their stations.

use std::sync::Arc;

use crate::{
    gtfs::{GtfsFeed, GtfsFile, GtfsTable, NumberColumn, ReferencedRows, TextColumn},
    notice::NoticeSample,
};

/// A stop or, within a station, a platform; the meaning of an empty `location_type`.
pub(super) const STOP: i32 = 0;
pub(super) const STATION: i32 = 1;
pub(super) const ENTRANCE: i32 = 2;
pub(super) const GENERIC_NODE: i32 = 3;
pub(super) const BOARDING_AREA: i32 = 4;

/// The notice fields that most of these rules share.
pub(super) const LINE: (&str, &str) = ("csvRowNumber", "The line of the row.");
pub(super) const STOP_ID: (&str, &str) = ("stopId", "The location.");
pub(super) const STOP_NAME: (&str, &str) = ("stopName", "Its name.");
pub(super) const LOCATION_TYPE: (&str, &str) = ("locationType", "The location type.");
pub(super) const PARENT: (&str, &str) = ("parentStation", "The parent station.");

pub(super) fn location_type_report_name(location_type: i32) -> &'static str {
    match location_type {
        STOP => "STOP",
        STATION => "STATION",
        ENTRANCE => "ENTRANCE",
        GENERIC_NODE => "GENERIC_NODE",
        BOARDING_AREA => "BOARDING_AREA",
        _ => "UNRECOGNIZED",
    }
}

/// Fills in the line, id and name of a location.
pub(super) fn set_stop_fields<'a>(
    sample: &'a mut NoticeSample,
    stops: &GtfsTable,
    row: u32,
) -> &'a mut NoticeSample {
    sample.set_field("csvRowNumber", stops.line_number(row));
    sample.set_field("stopId", stops.text_column("stop_id").get(row));
    sample.set_field("stopName", stops.text_column("stop_name").get(row))
}

/// The number of levels that are searched for a station: a boarding area, its platform, and the
/// station. This also ends cycles of parents.
const LEVELS: usize = 3;

/// The hierarchy of the locations in `stops.txt`.
pub(super) struct LocationHierarchy<'a> {
    pub(super) table: &'a GtfsTable,
    pub(super) ids: TextColumn<'a>,
    pub(super) parents: TextColumn<'a>,
    types: NumberColumn<'a>,
    rows_of_ids: Arc<ReferencedRows>,
    rows_of_parents: Arc<ReferencedRows>,
}

impl<'a> LocationHierarchy<'a> {
    pub(super) fn location_hierarchy_of_feed(feed: &'a GtfsFeed) -> LocationHierarchy<'a> {
        let table = feed.table(GtfsFile::Stops);
        LocationHierarchy {
            table,
            ids: table.text_column("stop_id"),
            parents: table.text_column("parent_station"),
            types: table.number_column("location_type"),
            rows_of_ids: feed.rows_referenced_by_field(
                GtfsFile::Stops,
                "stop_id",
                GtfsFile::Stops,
                "stop_id",
            ),
            rows_of_parents: feed.rows_referenced_by_field(
                GtfsFile::Stops,
                "parent_station",
                GtfsFile::Stops,
                "stop_id",
            ),
        }
    }

    pub(super) fn location_type(&self, row: u32) -> i32 {
        self.types.cell_value_or(row, STOP)
    }

    /// Returns the first row with the id of a row: the row itself, unless ids repeat.
    pub(super) fn first_row_of_id(&self, row: u32) -> Option<u32> {
        self.rows_of_ids.row_referenced_by_code(self.ids.text_code_of_row(row)?)
    }

    pub(super) fn parent_row(&self, row: u32) -> Option<u32> {
        self.rows_of_parents.row_referenced_by_code(self.parents.text_code_of_row(row)?)
    }

    /// Returns true if the location is the parent of others.
    pub(super) fn has_children(&self, row: u32) -> bool {
        self.ids.get(row).is_some_and(|id| self.parents.find_text_code(id).is_some())
    }

    /// Returns the row of the station that a row belongs to, or is.
    pub(super) fn enclosing_station_row(&self, row: u32) -> Option<u32> {
        std::iter::successors(self.first_row_of_id(row), |&row| self.parent_row(row))
            .take(LEVELS)
            .find(|&row| self.location_type(row) == STATION)
    }
}
