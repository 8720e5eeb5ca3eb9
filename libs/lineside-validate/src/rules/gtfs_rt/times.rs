//! The stop times of trips, as real-time rules ask for them.

use std::sync::Arc;

use super::timetable::{NONE, StopTime, Trip};
use crate::gtfs::{Dict, Feed, File, Groups, Numbers, UNRECOGNIZED};

/// The time of a row, if there is one that can be read.
pub(super) fn read(times: &Numbers<'_>, row: u32) -> Option<i32> {
    times.get(row).filter(|&time| time != UNRECOGNIZED)
}

/// The rows of stop_times.txt by trip.
pub(super) struct Times<'a> {
    feed: &'a Feed,
    groups: Arc<Groups>,
    /// The stop's code by that of the row's stop_id.
    stops: Vec<u32>,
}

impl<'a> Times<'a> {
    pub(super) fn new(feed: &'a Feed, stops: &Dict) -> Times<'a> {
        let ids = feed.table(File::StopTimes).texts("stop_id");
        let codes = 0..ids.n_codes() as u32;
        let stops = codes.map(|code| stops.find(ids.text(code)).unwrap_or(NONE)).collect();
        Times { feed, groups: feed.groups(File::StopTimes, "trip_id"), stops }
    }

    pub(super) fn add_to(&self, all: &mut Vec<StopTime>, trip: &mut Trip, id: &str) {
        let table = self.feed.table(File::StopTimes);
        let (trip_ids, stop_ids) = (table.texts("trip_id"), table.texts("stop_id"));
        let sequences = table.numbers("stop_sequence");
        let (arrivals, departures) =
            (table.numbers("arrival_time"), table.numbers("departure_time"));
        let first = all.len() as u32;
        let rows = trip_ids.find(id).map_or(&[][..], |code| self.groups.rows(code));
        if let Some(&row) = rows.first() {
            trip.start = read(&arrivals, row).or_else(|| read(&departures, row));
        }
        if let Some(&row) = rows.last() {
            trip.end = read(&departures, row).or_else(|| read(&arrivals, row));
        }
        all.extend(rows.iter().filter_map(|&row| {
            let stop = stop_ids.code(row).map_or(NONE, |code| self.stops[code as usize]);
            Some(StopTime {
                sequence: u32::try_from(sequences.get(row)?).ok()?,
                stop,
                has_arrival: arrivals.get(row).is_some(),
                has_departure: departures.get(row).is_some(),
            })
        }));
        trip.stop_times = (first, all.len() as u32);
    }
}
