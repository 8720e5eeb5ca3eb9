//! The boards of stops that somebody listens to: told anew, and compared with what was told before.

use std::{
    collections::HashMap,
    sync::{Arc, Weak},
};

use lineside_formats::{
    gtfs::{StopIdx, Timetable},
    gtfs_rt::proto::TripUpdate,
};
use lineside_hub::Room;

use super::targets::{Key, Targets};
use crate::{
    change::{Change, Why},
    channels::kinds::RoomKind,
    departures::board,
    network::NetworkState,
    normalize::given,
    record::Record,
};

/// What each living room of a stop was last told. Bound: the living rooms of stops.
#[derive(Debug, Default)]
pub(super) struct ToldBoards {
    told: HashMap<u64, Told>,
}

#[derive(Debug)]
struct Told {
    room: Weak<Room>,
    departures: Vec<Arc<Record>>,
}

impl ToldBoards {
    /// The next board of each room is compared with the state before it, not with what is kept here.
    pub(super) fn forget(&mut self) {
        self.told.clear();
    }

    /// Adds to the rooms of stops what differs on their boards; `touched` are the stops to look at, if not all.
    pub(super) fn put(
        &mut self,
        targets: &mut Targets,
        touched: Option<&Touched<'_>>,
        before: &NetworkState,
        next: &NetworkState,
    ) {
        let mut known = std::mem::take(&mut self.told);
        for room in targets.rooms_of(RoomKind::Stop) {
            let channel = room.channel();
            let stop = channel.segments().nth(2).unwrap_or_default();
            let id = room.key().id;
            if touched.is_some_and(|touched| !touched.contains(&stop)) {
                if let Some(told) = known.remove(&id) {
                    self.told.insert(id, told);
                }
                continue;
            }
            // A room that lived before under the same key may have been told something else.
            let told = known.remove(&id).filter(|told| told.room.ptr_eq(&Arc::downgrade(&room)));
            let old = told.map_or_else(|| board(before, &stop), |told| told.departures);
            let new = keep_same(&old, board(next, &stop));
            put_difference(targets, (RoomKind::Stop, id), &old, &new);
            let told = Told { room: Arc::downgrade(&room), departures: new };
            self.told.insert(id, told);
        }
    }
}

/// The stops whose departures a poll may have changed.
#[derive(Debug)]
pub(super) struct Touched<'a> {
    timetable: &'a Timetable,
    /// A bit for each stop.
    stops: Vec<u64>,
}

impl<'a> Touched<'a> {
    /// The stops that trips with changed updates call at, by schedule or by what is said, and their stations.
    pub(super) fn by(changes: &[Change], timetable: &'a Timetable) -> Touched<'a> {
        let stops = vec![0; timetable.stops().len().div_ceil(64)];
        let mut touched = Touched { timetable, stops };
        for change in changes {
            for record in [&change.old, &change.new].into_iter().flatten() {
                if let Some(update) = record.trip_update() {
                    touched.add_trip(update);
                }
            }
        }
        touched
    }

    fn add_trip(&mut self, update: &TripUpdate) {
        let timetable = self.timetable;
        let trip = given(&update.trip.trip_id).and_then(|id| timetable.find_trip(id));
        if let Some(pattern) = trip.and_then(|trip| timetable.pattern_of(trip)) {
            timetable.stops_of_pattern(pattern).for_each(|stop| self.add(stop));
        }
        for call in &update.stop_time_update {
            let assigned = call.stop_time_properties.as_ref();
            let assigned = assigned.and_then(|properties| given(&properties.assigned_stop_id));
            for id in [given(&call.stop_id), assigned].into_iter().flatten() {
                if let Some(stop) = timetable.find_stop(id) {
                    self.add(stop);
                }
            }
        }
    }

    /// A stop, and what it belongs to: a station shows the departures of all its platforms.
    fn add(&mut self, stop: StopIdx) {
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

/// Departures that say what they said keep their record, and with it their JSON.
fn keep_same(old: &[Arc<Record>], new: Vec<Arc<Record>>) -> Vec<Arc<Record>> {
    let by_id: HashMap<&str, &Arc<Record>> =
        old.iter().map(|record| (record.id.as_str(), record)).collect();
    let kept = new.into_iter().map(|record| match by_id.get(record.id.as_str()) {
        Some(known) if known.says_the_same(&record) => Arc::clone(known),
        _ => record,
    });
    kept.collect()
}

/// A board's records are bounded in number and size, so that all its changes fit one message.
fn put_difference(targets: &mut Targets, key: Key, old: &[Arc<Record>], new: &[Arc<Record>]) {
    for record in old {
        if !new.iter().any(|other| other.id == record.id) {
            targets.remove(key, record, Why::Gone);
        }
    }
    for record in new {
        if !old.iter().any(|other| Arc::ptr_eq(other, record)) {
            targets.put(key, record.upsert());
        }
    }
}
