//! Access to the stop times of trips for real-time rules.

use std::sync::Arc;

use super::schedule_index::{IndexedStopTime, IndexedTrip, NONE};
use crate::gtfs::{DistinctTexts, GtfsFeed, GtfsFile, NumberColumn, RowsByTextCode, UNRECOGNIZED};

/// Returns the time of a row, if present and readable.
pub(super) fn readable_time_of_row(times: &NumberColumn<'_>, row: u32) -> Option<i32> {
    times.get(row).filter(|&time| time != UNRECOGNIZED)
}

/// The rows of `stop_times.txt` by trip.
pub(super) struct StopTimeReader<'a> {
    feed: &'a GtfsFeed,
    groups: Arc<RowsByTextCode>,
    /// The stop's code by the code of the row's `stop_id`.
    stops: Vec<u32>,
}

impl<'a> StopTimeReader<'a> {
    pub(super) fn new(feed: &'a GtfsFeed, stops: &DistinctTexts) -> StopTimeReader<'a> {
        let ids = feed.table(GtfsFile::StopTimes).text_column("stop_id");
        let codes = 0..ids.text_code_count() as u32;
        let stops = codes
            .map(|code| stops.find_text_code(ids.text_of_code(code)).unwrap_or(NONE))
            .collect();
        StopTimeReader {
            feed,
            groups: feed.rows_grouped_by_field(GtfsFile::StopTimes, "trip_id"),
            stops,
        }
    }

    pub(super) fn read_stop_times_of_trip(
        &self,
        all: &mut Vec<IndexedStopTime>,
        trip: &mut IndexedTrip,
        id: &str,
    ) {
        let table = self.feed.table(GtfsFile::StopTimes);
        let (trip_ids, stop_ids) = (table.text_column("trip_id"), table.text_column("stop_id"));
        let sequences = table.number_column("stop_sequence");
        let (arrivals, departures) =
            (table.number_column("arrival_time"), table.number_column("departure_time"));
        let first = all.len() as u32;
        let rows = trip_ids
            .find_text_code(id)
            .map_or(&[][..], |code| self.groups.rows_with_text_code(code));
        if let Some(&row) = rows.first() {
            trip.start = readable_time_of_row(&arrivals, row)
                .or_else(|| readable_time_of_row(&departures, row));
        }
        if let Some(&row) = rows.last() {
            trip.end = readable_time_of_row(&departures, row)
                .or_else(|| readable_time_of_row(&arrivals, row));
        }
        all.extend(rows.iter().filter_map(|&row| {
            let stop =
                stop_ids.text_code_of_row(row).map_or(NONE, |code| self.stops[code as usize]);
            Some(IndexedStopTime {
                sequence: u32::try_from(sequences.get(row)?).ok()?,
                stop,
                has_arrival: arrivals.get(row).is_some(),
                has_departure: departures.get(row).is_some(),
            })
        }));
        trip.stop_times = (first, all.len() as u32);
    }
}
