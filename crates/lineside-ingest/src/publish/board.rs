//! Publishing of stop boards with subscribers: each board is recomputed and compared with the published one.

use std::{
    collections::HashMap,
    sync::{Arc, Weak},
};

use lineside_formats::{
    gtfs::{StopIdx, Timetable},
    gtfs_rt::proto::TripUpdate,
};
use lineside_hub::ChannelRoom;
use lineside_model::departures::list_stop_channel_records;

use super::targets::{RoomKindAndId, TargetRooms};
use crate::{
    change::RecordChange,
    channel_kinds::RoomKind,
    network_state::NetworkState,
    record::{Record, RemovalReason},
    trip_identity::text_if_nonempty,
};

/// The last published board of each existing room of a stop. Bounded by these rooms.
#[derive(Debug, Default)]
pub(super) struct PublishedBoards {
    boards: HashMap<u64, PublishedBoard>,
}

#[derive(Debug)]
struct PublishedBoard {
    room: Weak<ChannelRoom>,
    departures: Vec<Arc<Record>>,
}

impl PublishedBoards {
    /// Forgets the boards, so that the next one of each room is compared with the board of the state before.
    pub(super) fn forget_boards(&mut self) {
        self.boards.clear();
    }

    /// Adds the board changes of stop rooms; `touched` are the stops to check, if not all.
    pub(super) fn add_board_changes(
        &mut self,
        targets: &mut TargetRooms,
        touched: Option<&PossiblyChangedStops<'_>>,
        before: &NetworkState,
        next: &NetworkState,
    ) {
        let mut known = std::mem::take(&mut self.boards);
        for room in targets.rooms_of_kind(RoomKind::Stop) {
            let channel = room.channel();
            let stop = channel.decoded_segments().nth(2).unwrap_or_default();
            let id = room.key().id;
            if touched.is_some_and(|touched| !touched.contains(&stop)) {
                if let Some(board) = known.remove(&id) {
                    self.boards.insert(id, board);
                }
                continue;
            }
            // An earlier room with the same key may have received another board.
            let board = known.remove(&id).filter(|board| board.room.ptr_eq(&Arc::downgrade(&room)));
            let old = board
                .map_or_else(|| list_stop_channel_records(before, &stop), |board| board.departures);
            let new = reuse_unchanged(&old, list_stop_channel_records(next, &stop));
            add_board_difference(targets, (RoomKind::Stop, id), &old, &new);
            let board = PublishedBoard { room: Arc::downgrade(&room), departures: new };
            self.boards.insert(id, board);
        }
    }
}

/// The stops whose departures a poll may have changed.
#[derive(Debug)]
pub(super) struct PossiblyChangedStops<'a> {
    timetable: &'a Timetable,
    /// One bit per stop.
    stops: Vec<u64>,
}

impl<'a> PossiblyChangedStops<'a> {
    /// Collects the scheduled and reported stops of trips with changed updates, and their stations.
    pub(super) fn from_changes(
        changes: &[RecordChange],
        timetable: &'a Timetable,
    ) -> PossiblyChangedStops<'a> {
        let stops = vec![0; timetable.stops().len().div_ceil(64)];
        let mut touched = PossiblyChangedStops { timetable, stops };
        for change in changes {
            for record in [&change.old, &change.new].into_iter().flatten() {
                if let Some(update) = record.trip_update() {
                    touched.add_stops_of_trip(update);
                }
            }
        }
        touched
    }

    fn add_stops_of_trip(&mut self, update: &TripUpdate) {
        let timetable = self.timetable;
        let trip = text_if_nonempty(&update.trip.trip_id).and_then(|id| timetable.find_trip(id));
        if let Some(pattern) = trip.and_then(|trip| timetable.trip_pattern(trip)) {
            timetable.pattern_stops(pattern).for_each(|stop| self.add_stop_and_parents(stop));
        }
        for call in &update.stop_time_update {
            let assigned = call.stop_time_properties.as_ref();
            let assigned =
                assigned.and_then(|properties| text_if_nonempty(&properties.assigned_stop_id));
            for id in [text_if_nonempty(&call.stop_id), assigned].into_iter().flatten() {
                if let Some(stop) = timetable.find_stop(id) {
                    self.add_stop_and_parents(stop);
                }
            }
        }
    }

    /// Adds a stop and its parents: a station shows the departures of all its platforms.
    fn add_stop_and_parents(&mut self, stop: StopIdx) {
        let mut next = Some(stop);
        while let Some(stop) = next {
            let (word, bit) = (stop.get() / 64, 1 << (stop.get() % 64));
            if self.stops[word] & bit != 0 {
                return;
            }
            self.stops[word] |= bit;
            next = self.timetable.stop(stop).parent;
        }
    }

    fn contains(&self, stop_id: &str) -> bool {
        let stop = self.timetable.find_stop(stop_id);
        stop.is_some_and(|stop| self.stops[stop.get() / 64] & 1 << (stop.get() % 64) != 0)
    }
}

/// Reuses the records of unchanged departures, and with them their JSON.
fn reuse_unchanged(old: &[Arc<Record>], new: Vec<Arc<Record>>) -> Vec<Arc<Record>> {
    let by_id: HashMap<&str, &Arc<Record>> =
        old.iter().map(|record| (record.id.as_str(), record)).collect();
    let reused = new.into_iter().map(|record| match by_id.get(record.id.as_str()) {
        Some(known) if known.has_same_content(&record) => Arc::clone(known),
        _ => record,
    });
    reused.collect()
}

/// A board's records are limited in number and size, so that all its changes fit into one message.
fn add_board_difference(
    targets: &mut TargetRooms,
    key: RoomKindAndId,
    old: &[Arc<Record>],
    new: &[Arc<Record>],
) {
    for record in old {
        if !new.iter().any(|other| other.id == record.id) {
            targets.add_removal_to_room(key, record, RemovalReason::Gone);
        }
    }
    for record in new {
        if !old.iter().any(|other| Arc::ptr_eq(other, record)) {
            targets.add_upsert_to_room(key, record.upsert_json());
        }
    }
}
