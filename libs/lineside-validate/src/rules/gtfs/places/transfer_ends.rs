//! The two ends of a transfer, and whether the trips there call at the stops there.

use crate::gtfs::{Feed, File};

/// `transfer_type` of trips between which riders may stay seated.
pub(super) const IN_SEAT: i32 = 4;
/// `transfer_type` of trips between which riders have to get off, though the vehicle goes on.
pub(super) const NOT_IN_SEAT: i32 = 5;

/// The fields of one end of a transfer.
#[derive(Clone, Copy)]
pub(super) struct End {
    pub(super) stop: &'static str,
    pub(super) route: &'static str,
    pub(super) trip: &'static str,
}

/// Where a transfer begins, and where it ends.
pub(super) const ENDS: [End; 2] = [
    End { stop: "from_stop_id", route: "from_route_id", trip: "from_trip_id" },
    End { stop: "to_stop_id", route: "to_route_id", trip: "to_trip_id" },
];

/// Whether the trip at one end of a transfer calls at the stop there.
#[derive(Clone, Copy, Default)]
pub(super) struct Call {
    /// At the stop itself.
    pub(super) at_stop: bool,
    /// At one that is part of it.
    pub(super) at_part: bool,
}

/// One end of a transfer with a trip that has stop times, and a stop.
struct Question {
    /// The trip's code in stop_times.txt.
    trip: u32,
    /// The stop's code among the ids of stops.txt.
    stop: u32,
    transfer: u32,
    end: usize,
}

/// The [`Call`]s at the [`ENDS`] of each transfer that is wanted. Each trip is walked once, however
/// many transfers it has: O(stop times of these trips + transfers · log transfers).
pub(super) fn calls(feed: &Feed, wanted: impl Fn(u32) -> bool) -> Vec<[Call; 2]> {
    let n_transfers = feed.table(File::Transfers).len() as usize;
    let mut calls = vec![[Call::default(); 2]; n_transfers];
    let mut questions = questions(feed, wanted);
    if questions.is_empty() {
        return calls;
    }
    questions.sort_unstable_by_key(|question| question.trip);
    let stop_times = feed.groups(File::StopTimes, "trip_id");
    let places = feed.table(File::StopTimes).texts("stop_id");
    let stops_of_places = feed.link(File::StopTimes, "stop_id", File::Stops, "stop_id");
    let same_id = feed.groups(File::Stops, "stop_id");
    let stops = feed.table(File::Stops);
    let (ids, parents) = (stops.texts("stop_id"), stops.texts("parent_station"));
    // Which trip called last at each id, and at a part of each parent.
    let mut at_stop: Vec<Option<u32>> = vec![None; ids.n_codes()];
    let mut at_part: Vec<Option<u32>> = vec![None; parents.n_codes()];
    for questions in questions.chunk_by(|one, other| one.trip == other.trip) {
        let Some(trip) = questions.first().map(|question| question.trip) else { continue };
        for &row in stop_times.rows(trip) {
            let stop = places.code(row).and_then(|place| stops_of_places.row(place));
            let Some(id) = stop.and_then(|stop| ids.code(stop)) else { continue };
            if at_stop[id as usize].replace(trip) == Some(trip) {
                continue;
            }
            for parent in same_id.rows(id).iter().filter_map(|&stop| parents.code(stop)) {
                at_part[parent as usize] = Some(trip);
            }
        }
        for question in questions {
            let parent = parents.find(ids.text(question.stop));
            calls[question.transfer as usize][question.end] = Call {
                at_stop: at_stop[question.stop as usize] == Some(trip),
                at_part: parent.is_some_and(|parent| at_part[parent as usize] == Some(trip)),
            };
        }
    }
    calls
}

fn questions(feed: &Feed, wanted: impl Fn(u32) -> bool) -> Vec<Question> {
    let transfers = feed.table(File::Transfers);
    let trip_ids = feed.table(File::StopTimes).texts("trip_id");
    let stop_ids = feed.table(File::Stops).texts("stop_id");
    let mut questions = Vec::new();
    for (end, fields) in ENDS.iter().enumerate() {
        let (trips, stops) = (transfers.texts(fields.trip), transfers.texts(fields.stop));
        for transfer in transfers.rows().filter(|&row| wanted(row)) {
            let trip = trips.get(transfer).and_then(|id| trip_ids.find(id));
            let stop = stops.get(transfer).and_then(|id| stop_ids.find(id));
            if let (Some(trip), Some(stop)) = (trip, stop) {
                questions.push(Question { trip, stop, transfer, end });
            }
        }
    }
    questions
}
