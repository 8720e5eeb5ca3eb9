//! The two ends of a transfer, and the calls of their trips at their stops.

use crate::gtfs::{GtfsFeed, GtfsFile};

/// The `transfer_type` of trips between which riders may stay seated.
pub(super) const IN_SEAT: i32 = 4;
/// The `transfer_type` of trips between which riders must get off, although the vehicle continues.
pub(super) const NOT_IN_SEAT: i32 = 5;

#[derive(Clone, Copy)]
pub(super) struct TransferEndFields {
    pub(super) stop: &'static str,
    pub(super) route: &'static str,
    pub(super) trip: &'static str,
}

/// The start and the end of a transfer.
pub(super) const ENDS: [TransferEndFields; 2] = [
    TransferEndFields { stop: "from_stop_id", route: "from_route_id", trip: "from_trip_id" },
    TransferEndFields { stop: "to_stop_id", route: "to_route_id", trip: "to_trip_id" },
];

/// The calls of the trip at one end of a transfer at the stop there.
#[derive(Clone, Copy, Default)]
pub(super) struct TransferEndCalls {
    /// True if the trip calls at the stop itself.
    pub(super) at_stop: bool,
    /// True if the trip calls at a child of the stop.
    pub(super) at_part: bool,
}

/// One end of a transfer with a stop, and a trip that has stop times.
struct TransferEndToSearch {
    /// The trip's code in `stop_times.txt`.
    trip: u32,
    /// The stop's code in `stop_id` of `stops.txt`.
    stop: u32,
    transfer: u32,
    end: usize,
}

/// Returns the [`TransferEndCalls`]s at both [`ENDS`] of each wanted transfer. Each trip is visited once, regardless of
/// its number of transfers: O(stop times of these trips + transfers · log transfers).
pub(super) fn find_calls_at_transfer_ends(
    feed: &GtfsFeed,
    wanted: impl Fn(u32) -> bool,
) -> Vec<[TransferEndCalls; 2]> {
    let n_transfers = feed.table(GtfsFile::Transfers).len() as usize;
    let mut calls = vec![[TransferEndCalls::default(); 2]; n_transfers];
    let mut questions = list_transfer_ends_to_search(feed, wanted);
    if questions.is_empty() {
        return calls;
    }
    questions.sort_unstable_by_key(|question| question.trip);
    let stop_times = feed.rows_grouped_by_field(GtfsFile::StopTimes, "trip_id");
    let places = feed.table(GtfsFile::StopTimes).text_column("stop_id");
    let stops_of_places =
        feed.rows_referenced_by_field(GtfsFile::StopTimes, "stop_id", GtfsFile::Stops, "stop_id");
    let same_id = feed.rows_grouped_by_field(GtfsFile::Stops, "stop_id");
    let stops = feed.table(GtfsFile::Stops);
    let (ids, parents) = (stops.text_column("stop_id"), stops.text_column("parent_station"));
    // The last trip that called at each id, and at a child of each parent.
    let mut at_stop: Vec<Option<u32>> = vec![None; ids.text_code_count()];
    let mut at_part: Vec<Option<u32>> = vec![None; parents.text_code_count()];
    for questions in questions.chunk_by(|one, other| one.trip == other.trip) {
        let Some(trip) = questions.first().map(|question| question.trip) else { continue };
        for &row in stop_times.rows_with_text_code(trip) {
            let stop = places
                .text_code_of_row(row)
                .and_then(|place| stops_of_places.row_referenced_by_code(place));
            let Some(id) = stop.and_then(|stop| ids.text_code_of_row(stop)) else { continue };
            if at_stop[id as usize].replace(trip) == Some(trip) {
                continue;
            }
            for parent in same_id
                .rows_with_text_code(id)
                .iter()
                .filter_map(|&stop| parents.text_code_of_row(stop))
            {
                at_part[parent as usize] = Some(trip);
            }
        }
        for question in questions {
            let parent = parents.find_text_code(ids.text_of_code(question.stop));
            calls[question.transfer as usize][question.end] = TransferEndCalls {
                at_stop: at_stop[question.stop as usize] == Some(trip),
                at_part: parent.is_some_and(|parent| at_part[parent as usize] == Some(trip)),
            };
        }
    }
    calls
}

fn list_transfer_ends_to_search(
    feed: &GtfsFeed,
    wanted: impl Fn(u32) -> bool,
) -> Vec<TransferEndToSearch> {
    let transfers = feed.table(GtfsFile::Transfers);
    let trip_ids = feed.table(GtfsFile::StopTimes).text_column("trip_id");
    let stop_ids = feed.table(GtfsFile::Stops).text_column("stop_id");
    let mut questions = Vec::new();
    for (end, fields) in ENDS.iter().enumerate() {
        let (trips, stops) =
            (transfers.text_column(fields.trip), transfers.text_column(fields.stop));
        for transfer in transfers.row_numbers().filter(|&row| wanted(row)) {
            let trip = trips.get(transfer).and_then(|id| trip_ids.find_text_code(id));
            let stop = stops.get(transfer).and_then(|id| stop_ids.find_text_code(id));
            if let (Some(trip), Some(stop)) = (trip, stop) {
                questions.push(TransferEndToSearch { trip, stop, transfer, end });
            }
        }
    }
    questions
}
