//! Access to the stop times of trips for real-time rules.

use std::sync::Arc;

use super::schedule_index::{NONE, StopTimeEntry, TripEntry};
use crate::gtfs::{GtfsFeed, GtfsFile, NumberColumn, RowGroups, TextDict, UNRECOGNIZED};

/// Returns the time of a row, if present and readable.
pub(super) fn read_time(times: &NumberColumn<'_>, row: u32) -> Option<i32> {
    times.get(row).filter(|&time| time != UNRECOGNIZED)
}

/// The rows of `stop_times.txt` by trip.
pub(super) struct StopTimeReader<'a> {
    feed: &'a GtfsFeed,
    groups: Arc<RowGroups>,
    /// The stop's code by the code of the row's `stop_id`.
    stops: Vec<u32>,
}

impl<'a> StopTimeReader<'a> {
    pub(super) fn new(feed: &'a GtfsFeed, stops: &TextDict) -> StopTimeReader<'a> {
        let ids = feed.table(GtfsFile::StopTimes).text_column("stop_id");
        let codes = 0..ids.count_codes() as u32;
        let stops =
            codes.map(|code| stops.find_code(ids.text_of_code(code)).unwrap_or(NONE)).collect();
        StopTimeReader { feed, groups: feed.row_groups(GtfsFile::StopTimes, "trip_id"), stops }
    }

    pub(super) fn read_trip_times(
        &self,
        all: &mut Vec<StopTimeEntry>,
        trip: &mut TripEntry,
        id: &str,
    ) {
        let table = self.feed.table(GtfsFile::StopTimes);
        let (trip_ids, stop_ids) = (table.text_column("trip_id"), table.text_column("stop_id"));
        let sequences = table.number_column("stop_sequence");
        let (arrivals, departures) =
            (table.number_column("arrival_time"), table.number_column("departure_time"));
        let first = all.len() as u32;
        let rows = trip_ids.find_code(id).map_or(&[][..], |code| self.groups.rows_of_code(code));
        if let Some(&row) = rows.first() {
            trip.start = read_time(&arrivals, row).or_else(|| read_time(&departures, row));
        }
        if let Some(&row) = rows.last() {
            trip.end = read_time(&departures, row).or_else(|| read_time(&arrivals, row));
        }
        all.extend(rows.iter().filter_map(|&row| {
            let stop = stop_ids.code_of_row(row).map_or(NONE, |code| self.stops[code as usize]);
            Some(StopTimeEntry {
                sequence: u32::try_from(sequences.get(row)?).ok()?,
                stop,
                has_arrival: arrivals.get(row).is_some(),
                has_departure: departures.get(row).is_some(),
            })
        }));
        trip.stop_times = (first, all.len() as u32);
    }
}
